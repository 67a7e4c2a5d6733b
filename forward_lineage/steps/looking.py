"""Before a run: what each step reads, what its identity is, which record it has, and so what the best plan is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from forward_lineage.steps.execution_plan import Action, ExecutionPlan, plan_execution
from forward_lineage.steps.identity import Identity, identity_of
from forward_lineage.steps.shelf import Record, Shelf
from forward_lineage.steps.step import Step
from forward_lineage.steps.step_graph import PlannedStep, StepGraph, parents_first
from udafs.errors import BadArgumentError, NotRegisteredError

_UNKNOWN_COST = 1  # of a step that never ran, which runs whatever it costs


@dataclass(frozen=True)
class SavedRows:
    """The rows of a query, or an array, that were saved.

    Attributes:
        place: where they are, in words of whoever saved them.
        size: bytes.
        environment: what they depend on beside the query: tables with versions, settings.
        reason: why they cannot stand for the query another time; None if they can.
        took_over: the record of an earlier result that became this one, so that it is there no more.
        told: how that was done.

    """

    place: str
    size: int
    environment: dict[str, Any]
    reason: str | None = None
    took_over: Record | None = None
    told: str = ""


class Rows(Protocol):
    """Where rows of steps are kept, and what tables there are. `forward_lineage.session` has one over Spark."""

    def version(self, table: str) -> str | None:
        """Return the version of a table; None if nobody would notice that it changed.

        Raises:
            LineageError: there is no such table.

        """
        ...

    def table(self, name: str) -> Any:
        """Return what a step gets that reads a table; its `opened` may say why nobody knows what was done with it."""
        ...

    def read(self, place: str) -> Any:
        """Return what a step gets that reads saved rows."""
        ...

    def save(
        self, step: Step, query: Any, reads: tuple[str, ...], *, once: bool, earlier: Sequence[Record] = ()
    ) -> SavedRows:
        """Run a query and save its rows, or an array, under a name that `place_of` gives.

        Args:
            step: the step.
            query: what it returned.
            reads: places of the steps that it reads, whose identities say what they depend on.
            once: whether it is known already that the rows cannot stand for the query another time.
            earlier: results of the step that may be brought up to date in place of that, the last one first.

        Raises:
            LineageError: it is no query, or cannot be traced.

        """
        ...

    def watched(self) -> AbstractContextManager[Sequence[str]]:
        """Watch this thread for a step that makes a query; what it reads on its way is in the sequence afterwards."""
        ...

    def holds(self, record: Record) -> bool:
        """Tell whether what the rows of a record depend on is what it was, and they are still there."""
        ...

    def drop(self, place: str) -> None:
        """Forget saved rows."""
        ...


def place_of(step: str, *, once: bool) -> str:
    """Return a name for the rows of a step: one of their own, or that of all that are good for one run."""
    return f"step_{step}_{'again' if once else uuid4().hex[:12]}"


@dataclass
class Looked:
    """A step before a run.

    Attributes:
        step: itself.
        parents: steps that it reads.
        tables: tables that it reads.
        parameters: values that it is called with.
        identity: of its code, parameters and inputs; None if an input of it must be computed first.
        record: of its result, if there is one that holds.
        code: its identity without inputs, by which changes during the run show.
        refused: why a result of this identity was not kept when it was computed last; empty if none was refused.

    """

    step: Step
    parents: tuple[str, ...]
    tables: tuple[str, ...]
    parameters: dict[str, Any]
    code: Identity
    identity: Identity | None = None
    record: Record | None = None
    refused: str = ""

    @property
    def key(self) -> str | None:
        """Return the name of its result; None if that is not known before it is computed."""
        if self.identity is None or self.identity.digest is None:
            return None
        if self.step.returns == "value":
            return self.identity.digest
        return self.record.key if self.record else None


@dataclass
class Look:
    """All steps before a run, parents first."""

    steps: dict[str, Looked] = field(default_factory=dict)

    def graph(self, rerun: Collection[str] = ()) -> StepGraph:
        """Return the steps as a plan sees them."""
        return StepGraph(_planned(each, rerun) for each in self.steps.values())

    def plan(self, targets: Sequence[str], rerun: Collection[str] = ()) -> ExecutionPlan:
        """Return the best plan."""
        return plan_execution(self.graph(rerun), targets)

    def are_ordered(self, one: str, other: str) -> bool:
        """Return whether one of two steps is the other, or comes before it whatever the plan."""
        return one in self._above(other) or other in self._above(one)

    def _above(self, name: str) -> set[str]:
        found, waiting = {name}, [name]
        while waiting:
            new = set(self.steps[waiting.pop()].parents) - found
            found |= new
            waiting.extend(new)
        return found

    def reasons(self, actions: Mapping[str, Action], rerun: Collection[str] = ()) -> dict[str, str]:
        """Say why each step is loaded, computed or pruned."""
        again = {name for name, action in actions.items() if name in rerun and action is Action.COMPUTE}
        asked = "you asked to run it again"
        return {name: asked if name in again else self._reason(name, each) for name, each in actions.items()}

    def _reason(self, name: str, action: Action) -> str:
        each = self.steps[name]
        if action is Action.PRUNE:
            return "not needed"
        if action is Action.LOAD:
            return "all that it depends on is what it was"
        if each.identity is None:
            waits = [parent for parent in each.parents if self.steps[parent].key is None]
            return f"it reads {', '.join(waits)}, which runs"
        if each.identity.reasons:
            return "; ".join(each.identity.reasons)
        if each.record is None:
            new = "its code, parameters or inputs are new, or its tables have changed"
            return f"its result could not be kept: {each.refused}" if each.refused else new
        return "its result is not kept" if not each.record.is_kept else "that costs less than loading it"


class Looker:
    """Looks at steps.

    Args:
        steps: of the pipeline, by name.
        shelf: what was computed before.
        rows: tables and saved rows.

    """

    def __init__(self, steps: Mapping[str, Step], shelf: Shelf, rows: Rows) -> None:
        self._steps, self._shelf, self._rows = steps, shelf, rows

    def look(self, targets: Iterable[str], parameters: Mapping[str, Any]) -> Look:
        """Look at the targets and at all that they read.

        Raises:
            BadArgumentError: a target is no step, steps read each other in a circle, or nobody has a parameter.
            LineageError: a name that a step reads is no table.

        """
        look = Look()
        parents = {
            name: tuple(read for read in step.reads if read in self._steps) for name, step in self._steps.items()
        }
        order = parents_first(parents)
        needed = StepGraph(PlannedStep(name, parents[name], 0) for name in order).needed_by(list(targets))
        unread = set(parameters) - {read for name in needed for read in self._steps[name].reads}
        if unread:
            raise BadArgumentError(
                f"no step reads {', '.join(sorted(unread))}", instead="Give parameters of the steps that run."
            )
        for name in needed:
            look.steps[name] = self._look_at(self._steps[name], parents[name], parameters)
            self.identify(look, name)
        return look

    def _look_at(self, step: Step, parents: tuple[str, ...], parameters: Mapping[str, Any]) -> Looked:
        given = {read: parameters[read] for read in step.reads if read in parameters and read not in parents}
        defaults = {name: value for name, value in step.defaults.items() if name not in parents}
        values = {**defaults, **given}
        tables = tuple(read for read in step.reads if read not in parents and read not in values)
        return Looked(step, parents, tables, values, self.code_of(step, values))

    def code_of(self, step: Step, values: Mapping[str, Any]) -> Identity:
        """Return the identity of a step without its inputs, as it is now."""
        return identity_of(step.function, values, pure=step.pure)

    def identify(self, look: Look, name: str) -> None:
        """Find out the identity of a step and its record, as far as its parents' are known."""
        each = look.steps[name]
        keys = {parent: look.steps[parent].key for parent in each.parents}
        if None in keys.values() and not each.code.reasons and not each.step.chance:
            each.identity, each.record = None, None
            return
        tables = {table: self._version(each.step.name, table) for table in each.tables}
        also = (f"step {each.step.name}", f"returns {each.step.returns}")
        found = identity_of(each.step.function, each.parameters, {**keys, **tables}, pure=each.step.pure, also=also)
        each.identity = _by_chance(found) if each.step.chance else found
        if each.identity.digest:
            known = self._shelf.asked(each.identity.digest)
            each.record = self._record(each, [record for record in known if not record.refused])
            each.refused = next((record.refused for record in known if record.refused), "")
        else:
            each.record = None

    def _version(self, step: str, table: str) -> str | None:
        try:
            return self._rows.version(table)
        except NotRegisteredError:
            raise BadArgumentError(
                f"step {step} reads {table}, which is no step, no parameter and no registered table",
                instead="Give it to the run, give it a default, or register the table.",
            ) from None

    def _record(self, each: Looked, known: Iterable[Record]) -> Record | None:
        holding = [record for record in known if each.step.returns == "value" or self._rows.holds(record)]
        return max(holding, key=lambda record: record.is_kept, default=None)


def _by_chance(found: Identity) -> Identity:
    return Identity(None, ("it says that its result is left to chance", *found.reasons), found.versions)


def _planned(each: Looked, rerun: Collection[str]) -> PlannedStep:
    record = each.record
    load = record.load if record is not None and record.is_kept else None
    compute = record.compute if record is not None else _UNKNOWN_COST
    return PlannedStep(each.step.name, each.parents, compute, load, each.step.name in rerun)
