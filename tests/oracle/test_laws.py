"""Laws of queries, over generated ones; `python -m tests.oracle --laws` tries many."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from pyspark.sql import SparkSession

from tests.oracle.comparison import AnnotatedRow
from tests.oracle.generation import Case, many_cases
from tests.oracle.law_trials import applications, holds, try_law
from tests.oracle.laws import LAWS, Related
from tests.oracle.printing import to_sql

pytestmark = pytest.mark.timeout(1800)

FIRST_SEED = 8_000_000
# The first seed with a query that the law is for: to generate all before it takes longer than the other laws together.
SELDOM_FOR = {"a set operation commuted": 8_000_031}


class ShortCases:
    """Short queries, each generated once for all laws: that takes longer than to ask Spark."""

    def __init__(self, first_seed: int) -> None:
        self._generated = (case for _, case in many_cases(1_000_000, first_seed) if len(to_sql(case[1])) < 500)
        self._known: list[Case] = []

    def __iter__(self) -> Iterator[Case]:
        for at in itertools.count():
            if at == len(self._known):
                self._known.append(next(self._generated))
            yield self._known[at]


_short_cases = cache(ShortCases)


def short_cases(law: str) -> ShortCases:
    return _short_cases(SELDOM_FOR.get(law, FIRST_SEED))


@pytest.mark.parametrize("law", LAWS)
def test_law(tiny: SparkSession, law: str) -> None:
    verdicts = [each for found in try_law(tiny, law, 1, short_cases(law), longest=800).values() for each in found]
    assert not [each.detail for each in verdicts if each.outcome == "disagree"]
    assert any(each.outcome == "agree" for each in verdicts), verdicts


@pytest.mark.slow
def test_the_texts_of_the_laws() -> None:
    """Each law writes something else."""
    for law, (apply, _) in LAWS.items():
        case, written = next(applications(law, 1, short_cases(law), longest=800))
        assert apply(case[1].query) == written
        assert to_sql(written.query) != to_sql(case[1].query), law


def test_a_broken_law_is_noticed() -> None:
    row: AnnotatedRow = ((1,), frozenset({("r", 1)}))
    other: AnnotatedRow = ((1,), frozenset({("r", 2)}))
    assert holds(Counter([row]), Counter([row]), Related.SAME)
    assert not holds(Counter([row]), Counter([other]), Related.SAME)
    assert not holds(Counter([row]), Counter([row, row]), Related.SAME)
    assert holds(Counter([row, other]), Counter([other]), Related.FEWER)
    assert not holds(Counter([row]), Counter([other]), Related.FEWER)
