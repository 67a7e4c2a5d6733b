"""What is kept within a budget, against what someone would keep who knows the future."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from forward_lineage.steps.execution_plan import Action, plan_execution
from forward_lineage.steps.keeping import Keeping, cost_without
from forward_lineage.steps.step_graph import PlannedStep, StepGraph
from tests.forward_lineage.steps.edit_sequences import (
    cost_and_size,
    cost_of,
    keep_all,
    keep_nothing,
    marginal,
    random_sequence,
    ratios,
    thesis,
)
from tests.forward_lineage.steps.workflow_shapes import MEASURED, WORKFLOWS, edits_of, measured_edits_of
from udafs.errors import BadArgumentError


def test_costs_on_edit_sequences_are_near_the_best() -> None:
    assert statistics.median(ratios(25, 51, marginal)) <= 1.25


@pytest.mark.long
def test_costs_on_more_edit_sequences_are_near_the_best() -> None:
    assert statistics.median(ratios(400, 52, marginal)) <= 1.25


def test_over_many_sequences_it_costs_less_than_the_printed_algorithm_and_than_keeping_nothing() -> None:
    sequences = [random_sequence(random.Random(f"53 {number}")) for number in range(25)]
    ours, printed, nothing = (
        sum(cost_of(each, policy) for each in sequences) for policy in (marginal, thesis, keep_nothing)
    )
    assert ours < printed < nothing


@pytest.mark.parametrize("name", WORKFLOWS)
def test_on_the_shapes_of_the_thesis_it_is_near_the_better_of_all_and_nothing(name: str) -> None:
    edits = edits_of(name)
    everything, size = cost_and_size(edits, keep_all)
    better = min(everything, cost_of(edits, keep_nothing))
    assert cost_of(edits, marginal) <= 1.05 * better
    half, its_size = cost_and_size(replace(edits, budget=size // 2), marginal)
    assert half <= 1.06 * better
    assert its_size <= size / 2


@pytest.mark.parametrize("name", MEASURED)
def test_without_a_budget_half_of_the_bytes_will_do_on_what_was_measured(name: str) -> None:
    """Half of all bytes alone lets go of all features of the census, which are small, and of none of its matrix."""
    edits = measured_edits_of(name)
    everything, size = cost_and_size(edits, keep_all)
    nothing = cost_of(edits, keep_nothing)
    ours, its_size = cost_and_size(edits, marginal, limited=True)
    assert ours <= 1.05 * min(everything, nothing)
    assert 2 * its_size <= size
    assert name != "genomics" or 3 * ours <= nothing


def test_on_the_shape_of_genomics_it_is_three_times_as_fast_as_keeping_nothing() -> None:
    edits = edits_of("genomics")
    assert 3 * cost_of(edits, marginal) <= cost_of(edits, keep_nothing)


def chain(length: int, kept: Keeping) -> StepGraph:
    """The thesis' chain: loading step i costs i, computing it 3. [Macke 2021, §3.5.3, limitations]"""
    steps = []
    for number in range(1, length + 1):
        load = number if f"s{number}" in kept.kept else None
        steps.append(PlannedStep(f"s{number}", (f"s{number - 1}",) if number > 1 else (), 3, load))
    return StepGraph(steps)


@pytest.mark.parametrize("length", [20, 50])
def test_the_chain_takes_storage_in_its_length_not_in_the_square(length: int) -> None:
    keeping = Keeping()
    for number in range(1, length + 1):
        without = cost_without(chain(length, keeping), f"s{number}")
        keeping.decide(f"s{number}", size=number, write=number, load=number, without=without)
    assert keeping.size <= 2 * length  # Algorithm 3.2 keeps all: length * (length + 1) / 2
    for number in range(1, length + 1):
        again = plan_execution(chain(length, keeping), [f"s{number}"]).cost
        assert again <= 2 * number  # and none is far away


def run(keeping: Keeping, versions: dict[str, str]) -> tuple[str, ...]:
    """Run a pipeline of two steps; return what was computed."""
    first, second = versions["first"], versions["first"] + versions["second"]

    def graph() -> StepGraph:
        loads = {name: 1 if name in keeping.kept else None for name in (first, second)}
        return StepGraph(
            [PlannedStep("first", (), 50, loads[first]), PlannedStep("second", ("first",), 70, loads[second])]
        )

    plan = plan_execution(graph(), ["second"])
    for name, identity in (("first", first), ("second", second)):
        if plan.actions[name] is Action.LOAD:
            keeping.used(identity)
        if plan.actions[name] is Action.COMPUTE:
            keeping.decide(identity, size=10, write=1, load=1, without=cost_without(graph(), name))
    return plan.those(Action.COMPUTE)


def test_undoing_an_edit_computes_nothing_while_there_is_room() -> None:
    keeping = Keeping(budget=100)
    assert run(keeping, {"first": "a", "second": "x"}) == ("first", "second")
    assert run(keeping, {"first": "a", "second": "y"}) == ("second",)
    assert run(keeping, {"first": "b", "second": "x"}) == ("first", "second")
    assert run(keeping, {"first": "a", "second": "x"}) == ()


def test_within_a_small_budget_old_versions_go_first() -> None:
    keeping = Keeping(budget=20)
    run(keeping, {"first": "a", "second": "x"})
    run(keeping, {"first": "b", "second": "x"})
    run(keeping, {"first": "c", "second": "x"})
    assert keeping.size <= 20
    assert set(keeping.kept) == {"c", "cx"}


def test_what_this_run_still_loads_does_not_go() -> None:
    keeping = Keeping(budget=10)
    keeping.decide("old", size=10, write=1, load=1, without=5)
    decision = keeping.decide("new", size=10, write=1, load=1, without=500, pinned={"old"})
    assert (decision.keep, set(keeping.kept)) == (False, {"old"})


def test_a_result_that_is_worth_less_than_what_is_kept_does_not_come_in_at_first() -> None:
    keeping = Keeping(budget=10)
    keeping.decide("dear", size=10, write=1, load=1, without=500)
    assert not keeping.decide("cheap", size=10, write=1, load=1, without=5).keep
    assert set(keeping.kept) == {"dear"}


def test_a_result_that_nobody_uses_goes_in_time_however_dear_it_was() -> None:
    keeping = Keeping(budget=20)
    keeping.decide("dear", size=10, write=1, load=1, without=500)
    for number in range(200):
        keeping.decide(f"n{number}", size=10, write=1, load=1, without=90)
    assert "dear" not in keeping.kept


def test_the_same_result_again_needs_no_more_room() -> None:
    keeping = Keeping(budget=10)
    for _ in range(2):
        assert keeping.decide("a", size=10, write=1, load=1, without=5).keep
    assert keeping.size == 10


def test_a_budget_below_nothing_is_refused() -> None:
    with pytest.raises(BadArgumentError, match="budget of -1"):
        Keeping(budget=-1)
