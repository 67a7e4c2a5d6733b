"""Cases in bulk, from Hypothesis, so that a whole batch can be judged in one Spark job."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.oracle.algebra import Database, Statement
from tests.oracle.expressions import MoreThanOneRowError, NondeterministicError
from tests.oracle.interpreter import interpret
from tests.oracle.stacked import stacked_cases
from tests.oracle.strategies import cases

Case = tuple[Database, Statement]

# After ten examples Hypothesis begins to repeat earlier ones with small mutations: many short runs give more variety.
CASES_A_SEED = 10
_SETTINGS = settings(
    max_examples=CASES_A_SEED, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)


def _strategy(*, granules: bool, stacked: bool) -> st.SearchStrategy[Case]:
    return stacked_cases() if stacked else cases(granules=granules)


def cases_of(seed_number: int, *, granules: bool = False, stacked: bool = False) -> list[Case]:
    """The cases of one seed, always the same; the trivial first one is left out."""
    found: list[Case] = []

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate])
    @given(_strategy(granules=granules, stacked=stacked))
    def collect(case: Case) -> None:
        found.append(case)

    collect()
    return found[1:]


def many_cases(
    count: int, first_seed: int, *, granules: bool = False, stacked: bool = False
) -> Iterator[tuple[int, Case]]:
    """(seed, case) pairs, `count` of them; of those whose result has no lineage, which prove little, one in five."""
    empties = 0
    for seed_number in itertools.count(first_seed):
        for case in cases_of(seed_number, granules=granules, stacked=stacked):
            if not _has_lineage(case):
                empties += 1
                if empties % 5:
                    continue
            yield seed_number, case
            count -= 1
            if count == 0:
                return


def _has_lineage(case: Case) -> bool:
    database, statement = case
    try:
        return any(row.lineage for row in interpret(statement, database, "control").rows)
    except (NondeterministicError, MoreThanOneRowError):
        return False


def shrunk(
    seed_number: int, fails: Callable[[Case], bool], wanted: Case, *, granules: bool = False, stacked: bool = False
) -> Case:
    """The smallest failing case found from the seed of `wanted`, which is one of its failing cases."""
    last = [wanted]

    @seed(seed_number)
    @settings(_SETTINGS, phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False)
    @given(_strategy(granules=granules, stacked=stacked))
    def judge(case: Case) -> None:
        if fails(case):
            last.append(case)
            raise AssertionError("this case fails")

    with suppress(AssertionError, ExceptionGroup):  # a group if `fails` changes its mind, as one with a time limit does
        judge()
    return last[-1]
