"""A pipeline of steps: its plan, and its runs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forward_lineage.steps.execution_plan import Action
from forward_lineage.steps.looking import Looker, Rows
from forward_lineage.steps.running import LostResultError, Run
from forward_lineage.steps.shelf import Shelf
from forward_lineage.steps.step import Step
from udafs.errors import BadArgumentError


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        values: of the targets, by name.
        actions: what was done about each step, parents first.
        reasons: why, by step; of a computed step also why it is kept or not.
        work: microseconds of all that was computed and loaded, added up.
        seconds: on the clock; less than the work where steps ran side by side.

    """

    values: dict[str, Any]
    actions: dict[str, Action]
    reasons: dict[str, str]
    work: int
    seconds: float

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __str__(self) -> str:
        lines = _lines(self.actions, self.reasons)
        return "\n".join([*lines, f"work {self.work / 1e6:.3f} s, on the clock {self.seconds:.3f} s"])


class Pipeline:
    """Steps that read each other.

    Args:
        steps: each with a name of its own.
        shelf: where results are kept.
        rows: tables and saved rows.
        parallel: how many steps may run at once.

    Raises:
        BadArgumentError: two steps have one name.

    """

    def __init__(self, steps: Iterable[Step], shelf: Shelf, rows: Rows, parallel: int = 4) -> None:
        self.steps: dict[str, Step] = {}
        for each in steps:
            if not isinstance(each, Step):
                raise BadArgumentError(f"{each!r} is no step", instead="Put @lineage.step above the function.")
            if self.steps.setdefault(each.name, each) is not each:
                raise BadArgumentError(f"there are two steps {each.name}", instead="Give one another name=.")
        self._shelf, self._rows, self._parallel = shelf, rows, parallel

    def run(
        self,
        targets: str | Sequence[str],
        parameters: Mapping[str, Any] | None = None,
        *,
        rerun: Collection[str] = (),
    ) -> Outcome:
        """Make the targets: load, compute or leave out each step, so that the work is least.

        Args:
            targets: names of steps.
            parameters: values of parameters that are no steps, by name.
            rerun: steps that are computed whatever is kept.

        Returns:
            the values of the targets, and what was done. The rows of a query are saved rows.

        Raises:
            LineageError: the steps make no pipeline, or a table is not what was registered.
            Exception: whatever a step raises. The steps that had ended are kept.

        """
        begun = time.perf_counter()
        names = self._names(targets)
        while True:
            look = self._looker().look(names, parameters or {})
            run = Run(look, self._looker(), self._shelf, self._rows, self._parallel)
            try:
                run.go(names, rerun)
            except LostResultError:
                continue  # somebody else cleared it away; it is forgotten now
            values = {name: run.give(name) for name in names}
            return Outcome(values, run.plan.actions, run.reasons, run.work, time.perf_counter() - begun)

    def explain(
        self,
        targets: str | Sequence[str],
        parameters: Mapping[str, Any] | None = None,
        *,
        rerun: Collection[str] = (),
    ) -> str:
        """Say what a run would do about each step, and why.

        Args:
            targets: as for `run`.
            parameters: the same.
            rerun: the same.

        """
        names = self._names(targets)
        look = self._looker().look(names, parameters or {})
        actions = look.plan(names, rerun).actions
        return "\n".join(_lines(actions, look.reasons(actions, rerun)))

    def _looker(self) -> Looker:
        for each in self.steps.values():
            now = getattr(each.function, "__globals__", {}).get(getattr(each.function, "__name__", ""))
            if isinstance(now, Step) and now is not each and now.name == each.name:
                raise BadArgumentError(
                    f"step {each.name} was defined again since the pipeline was made",
                    instead="Make the pipeline again, of the steps as they are now.",
                )
        return Looker(self.steps, self._shelf, self._rows)

    def _names(self, targets: str | Sequence[str]) -> list[str]:
        return [targets] if isinstance(targets, str) else list(targets)


def _lines(actions: Mapping[str, Action], reasons: Mapping[str, str]) -> list[str]:
    return [f"{action:7} {name}: {reasons[name]}" for name, action in actions.items()]
