"""What is proven is not refuted; a few cases here, `python -m tests.sketches_brute` judges thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

import pytest

from tests.sketches_brute.growth_trials import growth_cases, growth_trial
from tests.sketches_brute.reuse_trials import reuse_cases
from tests.sketches_brute.trials import BruteCase, Refutation, cases, trial
from tests.sketches_brute.witness_trials import witness_cases
from tests.tiers import every_day


@pytest.mark.parametrize(
    ("seed", "of"),
    every_day(
        [*((seed, cases) for seed in range(4)), (0, witness_cases)], [(0, cases), (1, cases), (0, witness_cases)]
    ),
)
def test_safety(seed: int, of: Callable[[int], Iterator[BruteCase]]) -> None:
    random = Random(seed)
    for case in islice(of(seed), 60):
        verdict = case.verdict()
        if verdict.safe:
            assert not any(isinstance(trial(case, random, verdict.checks), Refutation) for _ in range(8)), case


@pytest.mark.parametrize("seed", every_day(range(4), (0, 1)))
def test_reuse(seed: int) -> None:
    random = Random(seed)
    for case in islice(reuse_cases(seed), 15):
        if case.verdict().safe:
            captured, checks = case.captured, case.captured.verdict_checks
            tried = (trial(captured, random, checks, case.asked) for _ in range(8))
            assert not any(isinstance(each, Refutation) for each in tried), case


@pytest.mark.parametrize("seed", every_day(range(4), (0, 1)))
def test_growth(seed: int) -> None:
    random = Random(seed)
    for case in islice(growth_cases(seed), 15):
        if case.verdict().safe:
            assert not any(isinstance(growth_trial(case, random), Refutation) for _ in range(8)), case
