"""Cases in bulk, from Hypothesis, so that a whole batch can be judged in one Spark job."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.oracle.algebra import Database, Statement
from tests.oracle.strategies import cases

Case = tuple[Database, Statement]

# After ten examples Hypothesis begins to repeat earlier ones with small mutations; many short runs give more variety than a long one.
CASES_A_SEED = 10
_SETTINGS = settings(
    max_examples=CASES_A_SEED, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)


def cases_of(seed_number: int) -> list[Case]:
    """The cases of one seed, always the same; the trivial first one is left out."""
    found: list[Case] = []

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate])
    @given(cases())
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found[1:]


def many_cases(count: int, first_seed: int) -> Iterator[tuple[int, Case]]:
    """(seed, case) pairs, `count` of them."""
    seed_number = first_seed
    while count > 0:
        for case in cases_of(seed_number)[:count]:
            count -= 1
            yield seed_number, case
        seed_number += 1


def shrunk(seed_number: int, fails: Callable[[Case], bool], wanted: Case) -> Case:
    """The smallest case found that still fails, starting from `wanted`, which must come from the seed."""
    last: list[Case] = []

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False)
    @given(cases())
    def judge(case: Case) -> None:
        if (last or case == wanted) and fails(case):
            last.append(case)
            raise AssertionError("this case fails")

    try:
        judge()
    except AssertionError:
        return last[-1]
    return wanted
