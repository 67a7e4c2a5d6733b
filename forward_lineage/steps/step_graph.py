"""Steps as a plan sees them: what each reads, and what it costs to compute or load it.

Costs are whole numbers of one unit, such as microseconds, so that sums and comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from udafs.errors import BadArgumentError


@dataclass(frozen=True)
class PlannedStep:
    """One step of a graph.

    Attributes:
        name: what its readers and outputs call it.
        parents: names of the steps whose results it reads.
        compute: what computing it costs once its parents are there, >= 0.
        load: what loading its saved result costs, >= 0; None if no saved result may stand for it.
        must_run: compute it whenever an output needs it or comes after it, even if it has a saved result.

    """

    name: str
    parents: tuple[str, ...]
    compute: int
    load: int | None = None
    must_run: bool = False

    @property
    def may_load(self) -> bool:
        """Whether loading is allowed."""
        return self.load is not None and not self.must_run


class StepGraph:
    """Steps by name, parents before those that read them.

    Args:
        steps: in any order; the order is kept where the graph leaves a choice.

    Raises:
        BadArgumentError: a name is there twice, a parent is missing, steps read each other in a circle, or a cost is
            not a whole number of at least 0.

    Examples:
        >>> graph = StepGraph([PlannedStep("report", ("rows",), 5), PlannedStep("rows", (), 90, load=7)])
        >>> graph.order, graph.needed_by(["rows"])
        (('rows', 'report'), ('rows',))

    """

    def __init__(self, steps: Iterable[PlannedStep]) -> None:
        self.steps: dict[str, PlannedStep] = {}
        for step in steps:
            if step.name in self.steps:
                raise BadArgumentError(f"there are two steps {step.name}", instead="Give each step a name of its own.")
            self.steps[step.name] = _checked(step)
        self.order = parents_first({step.name: step.parents for step in self.steps.values()})

    def needed_by(self, outputs: Sequence[str]) -> tuple[str, ...]:
        """Return the outputs and all that they read, directly or not, parents first.

        Raises:
            BadArgumentError: there is no such step.

        """
        for name in outputs:
            if name not in self.steps:
                raise BadArgumentError(f"there is no step {name}", instead=f"Steps are: {', '.join(self.order)}.")
        needed = set(outputs)
        for name in reversed(self.order):
            if name in needed:
                needed.update(self.steps[name].parents)
        return tuple(name for name in self.order if name in needed)


def parents_first(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return names in an order in which each comes after its parents.

    Args:
        parents: name → names of its parents, each a key as well.

    Raises:
        BadArgumentError: a parent is missing, or names read each other in a circle.

    """
    for name, its in parents.items():
        for parent in its:
            if parent not in parents:
                raise BadArgumentError(
                    f"step {name} reads {parent}, which is no step", instead=f"Steps are: {', '.join(parents)}."
                )
    try:
        return tuple(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise BadArgumentError(
            f"steps read each other in a circle: {circle}", instead="Let one of them read something else."
        ) from None


def _checked(step: PlannedStep) -> PlannedStep:
    for what, cost in (("compute", step.compute), ("load", step.load)):
        if cost is not None and (type(cost) is not int or cost < 0):
            raise BadArgumentError(
                f"the cost to {what} step {step.name} is {cost!r}", instead="Give whole numbers, at least 0."
            )
    return step
