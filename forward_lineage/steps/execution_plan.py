"""Load, compute or prune each step, so that the outputs are there at the least total cost.  [Macke 2021, §3.5.2]

A step that is computed needs all its parents, loaded or computed. The choice is project selection, which is a minimum
cut: for each step a project "it is available", which costs what loading costs, and a project "it is computed", which
costs the difference and needs the parents' first projects.

The thesis leaves these open, or prints them wrongly:

- one prerequisite for each parent; its integer program (A.3c) sums over parents, so one of them would do;
- outputs are mandatory; else nothing would be chosen when nothing has changed;
- steps that no output needs are left out first; else changed steps among them would be computed (`must_run`);
- a step without a saved result has one project, not a load cost of infinity; a step that must run is computed by a
  mandatory project, not by a cost of -ε. So all capacities are whole numbers, and the cut is exact.

Among plans of the least cost it is the one that makes the fewest steps available; the minimal cut is unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forward_lineage.extras import import_extra
from forward_lineage.steps.step_graph import PlannedStep, StepGraph

_SOURCE, _SINK = ("source", ""), ("sink", "")


class Action(StrEnum):
    """One of three things to do about a step."""

    LOAD = "load"
    COMPUTE = "compute"
    PRUNE = "prune"


@dataclass(frozen=True)
class ExecutionPlan:
    """An action for each step.

    Attributes:
        actions: step → action, parents first; those that no output needs are pruned.
        cost: total cost of what is loaded and computed, in the unit of the steps' costs.

    """

    actions: dict[str, Action]
    cost: int

    def those(self, action: Action) -> tuple[str, ...]:
        """Return the steps with an action, parents first."""
        return tuple(name for name, each in self.actions.items() if each is action)


def plan_execution(steps: Iterable[PlannedStep] | StepGraph, outputs: Sequence[str]) -> ExecutionPlan:
    """Return the plan of least cost that makes the outputs available.

    Args:
        steps: all steps of a pipeline.
        outputs: names of the steps that are asked for.

    Raises:
        BadArgumentError: steps or outputs are not sound, see `StepGraph`.
        SetupError: networkx is not installed.

    Examples:
        Loading `features` is cheaper than computing it, so `rows` is not needed:

        >>> rows = PlannedStep("rows", (), compute=900, load=500)
        >>> features = PlannedStep("features", ("rows",), compute=50, load=20)
        >>> plan = plan_execution([rows, features, PlannedStep("model", ("features",), compute=300)], ["model"])
        >>> {name: str(action) for name, action in plan.actions.items()}, plan.cost
        ({'rows': 'prune', 'features': 'load', 'model': 'compute'}, 320)

    """
    graph = steps if isinstance(steps, StepGraph) else StepGraph(steps)
    needed = graph.needed_by(outputs)
    chosen = _selected(_projects([graph.steps[name] for name in needed], set(outputs)))
    actions = {name: _action(graph.steps[name], chosen) for name in graph.order}
    cost = sum(_cost(graph.steps[name], action) for name, action in actions.items())
    return ExecutionPlan(actions, cost)


def _projects(steps: Sequence[PlannedStep], outputs: set[str]) -> Any:
    """Return the network whose source side of a minimum cut is the selection."""
    network = _networkx().DiGraph()
    network.add_nodes_from((_SOURCE, _SINK))
    more_than_all = 1 + sum(step.compute + (step.load or 0) for step in steps)  # no cut of least cost goes through it
    available = {step.name: _available(step) for step in steps}
    for step in steps:
        computed = ("computed", step.name)
        if step.load is not None and step.may_load:
            _add(network, available[step.name], _SINK, step.load)
            _add(network, computed, available[step.name], more_than_all)
            _add(network, _SOURCE, computed, step.load - step.compute)
            _add(network, computed, _SINK, step.compute - step.load)
        else:
            _add(network, computed, _SINK, step.compute)
        for parent in step.parents:
            _add(network, computed, available[parent], more_than_all)
        if step.must_run or step.name in outputs:
            _add(network, _SOURCE, available[step.name], more_than_all)
    return network


def _available(step: PlannedStep) -> tuple[str, str]:
    """Return the project that makes a step available: the only one of a step that cannot be loaded."""
    return ("available" if step.may_load else "computed", step.name)


def _add(network: Any, start: tuple[str, str], end: tuple[str, str], capacity: int) -> None:
    if capacity > 0:
        there = network.get_edge_data(start, end, {"capacity": 0})["capacity"]
        network.add_edge(start, end, capacity=there + capacity)


def _selected(network: Any) -> set[tuple[str, str]]:
    """Return what can be reached where a greatest flow leaves room: the smallest source side of a least cut."""
    residual = _networkx().algorithms.flow.preflow_push(network, _SOURCE, _SINK)
    reached, waiting = {_SOURCE}, [_SOURCE]
    while waiting:
        for other, edge in residual[waiting.pop()].items():
            if edge["flow"] < edge["capacity"] and other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def _action(step: PlannedStep, chosen: set[tuple[str, str]]) -> Action:
    if ("computed", step.name) in chosen:
        return Action.COMPUTE
    return Action.LOAD if ("available", step.name) in chosen else Action.PRUNE


def _cost(step: PlannedStep, action: Action) -> int:
    if action is Action.LOAD:
        return step.load or 0
    return step.compute if action is Action.COMPUTE else 0


def _networkx() -> Any:
    return import_extra("networkx", "steps", "plans of steps need")
