"""Cases in bulk, from Hypothesis, so that a whole batch can be judged in one Spark job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.oracle.algebra import Database, Statement
from tests.oracle.strategies import cases

Case = tuple[Database, Statement]

# After ten examples Hypothesis begins to repeat earlier ones with small mutations: many short runs give more variety.
CASES_A_SEED = 10
_SETTINGS = settings(
    max_examples=CASES_A_SEED, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)


def cases_of(seed_number: int, *, granules: bool = False) -> list[Case]:
    """The cases of one seed, always the same; the trivial first one is left out."""
    found: list[Case] = []

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate])
    @given(cases(granules=granules))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found[1:]


def many_cases(count: int, first_seed: int, *, granules: bool = False) -> Iterator[tuple[int, Case]]:
    """(seed, case) pairs, `count` of them."""
    seed_number = first_seed
    while count > 0:
        for case in cases_of(seed_number, granules=granules)[:count]:
            count -= 1
            yield seed_number, case
        seed_number += 1


def shrunk(seed_number: int, fails: Callable[[Case], bool], wanted: Case, *, granules: bool = False) -> Case:
    """The smallest failing case found from the seed of `wanted`, which is one of its failing cases."""
    last = [wanted]

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False)
    @given(cases(granules=granules))
    def judge(case: Case) -> None:
        if fails(case):
            last.append(case)
            raise AssertionError("this case fails")

    with suppress(AssertionError, ExceptionGroup):  # a group if `fails` changes its mind, as one with a time limit does
        judge()
    return last[-1]
