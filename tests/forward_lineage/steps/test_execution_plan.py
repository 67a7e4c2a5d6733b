"""The plan of least cost, and the repairs of the thesis' program."""

from __future__ import annotations

import pytest

from forward_lineage.steps.execution_plan import Action, plan_execution
from forward_lineage.steps.step_graph import PlannedStep
from tests.forward_lineage.steps.every_plan import trials
from udafs.errors import BadArgumentError


def test_random_graphs_cost_what_the_best_of_all_plans_costs() -> None:
    assert trials(300, seed=51) == []


@pytest.mark.long
def test_more_random_graphs() -> None:
    assert trials(3_000, seed=52) == []


def test_every_parent_is_needed_not_one_of_them() -> None:
    # (A.3c) as printed holds when one of two parents is there.
    steps = [PlannedStep("a", (), 5), PlannedStep("b", (), 7), PlannedStep("c", ("a", "b"), 1)]
    plan = plan_execution(steps, ["c"])
    assert (plan.those(Action.COMPUTE), plan.cost) == (("a", "b", "c"), 13)


def test_an_unchanged_pipeline_gives_its_outputs() -> None:
    steps = [PlannedStep("a", (), 50, load=4), PlannedStep("b", ("a",), 60, load=3)]
    plan = plan_execution(steps, ["b"])
    assert plan.actions == {"a": Action.PRUNE, "b": Action.LOAD}


def test_a_changed_step_that_no_output_needs_does_not_run() -> None:
    steps = [PlannedStep("a", (), 5, load=1), PlannedStep("aside", ("a",), 900, must_run=True)]
    plan = plan_execution(steps, ["a"])
    assert plan.actions == {"a": Action.LOAD, "aside": Action.PRUNE}


def test_a_step_that_must_run_runs_although_its_reader_is_loaded() -> None:
    steps = [PlannedStep("a", (), 5, load=1, must_run=True), PlannedStep("b", ("a",), 9, load=2)]
    assert plan_execution(steps, ["b"]).actions == {"a": Action.COMPUTE, "b": Action.LOAD}


def test_of_equal_plans_it_is_the_one_with_fewer_steps() -> None:
    steps = [PlannedStep("a", (), 0, load=0), PlannedStep("b", ("a",), 4, load=4)]
    assert plan_execution(steps, ["b"]).actions == {"a": Action.PRUNE, "b": Action.LOAD}


def test_costs_beyond_what_floats_hold_are_exact() -> None:
    steps = [PlannedStep("a", (), 10**17, load=10**17 + 1)]
    assert plan_execution(steps, ["a"]).actions == {"a": Action.COMPUTE}


@pytest.mark.parametrize(
    ("steps", "outputs", "said"),
    [
        ([PlannedStep("a", ("b",), 1)], ["a"], "step a reads b, which is no step"),
        ([PlannedStep("a", ("b",), 1), PlannedStep("b", ("a",), 1)], ["a"], "in a circle"),
        ([PlannedStep("a", (), 1), PlannedStep("a", (), 1)], ["a"], "two steps a"),
        ([PlannedStep("a", (), 1)], ["z"], "there is no step z"),
        ([PlannedStep("a", (), 1.5)], ["a"], "cost to compute step a is 1.5"),  # type: ignore[arg-type]
        ([PlannedStep("a", (), 1, load=-1)], ["a"], "cost to load step a is -1"),
    ],
)
def test_what_is_no_graph_is_refused(steps: list[PlannedStep], outputs: list[str], said: str) -> None:
    with pytest.raises(BadArgumentError, match=said):
        plan_execution(steps, outputs)
