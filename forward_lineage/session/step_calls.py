"""Calls about steps: functions that run again only when something that they depend on has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from forward_lineage.session.components import Parts
from forward_lineage.session.step_rows import RowsOfSteps, Saving
from forward_lineage.steps.pipeline import Pipeline
from forward_lineage.steps.shelf import Shelf
from forward_lineage.steps.step import Returns, Step, step
from forward_lineage.storage.homes import Home, folder_of
from forward_lineage.storage.local_folder import LocalFolder


class StepCalls:
    """The calls of `ForwardLineage` about steps. docs/steps.md describes them."""

    home: Home
    _parts: Parts

    def step(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        returns: Returns = "value",
        chance: bool = False,
        pure: Collection[str] = (),
    ) -> Any:
        """Make a function a step of a pipeline; `forward_lineage.step` is the same without a session.

        A parameter of the function is another step, a parameter of the run, a default, or else a table.

        Args:
            function: what the step does.
            name: letters, digits and _; the function's name when not given.
            returns: ``"query"`` if the function returns a query, as a text or DataFrame. Its rows are saved with their
                lineage. ``"array"`` or ``"model"`` if it returns an array, or a model of `forward_lineage.models.fit`,
                that is saved with its lineage. ``"value"``: anything else.
            chance: say so if the result is left to chance, the clock or files; then it runs again each time.
            pure: packages that you vouch for: their functions depend on their arguments and their version alone.

        Returns:
            the step, which you can still call as the function.

        Raises:
            LineageError: the name cannot be one, or a parameter has no name.

        Examples:
            >>> @lineage.step
            ... def doubled(amounts):
            ...     return [2 * amount for amount in amounts]
            >>> doubled.reads, doubled([1])
            (('amounts',), [2])

        """
        if function is not None:
            return step(function)
        return step(name=name, returns=returns, chance=chance, pure=pure)

    def pipeline(self, *steps: Step | ModuleType, budget: int | None = None, parallel: int = 4) -> Pipeline:
        """Put steps together. A run loads, computes or leaves out each of them, so that the work is least.

        Args:
            steps: steps, or modules all of whose steps are meant.
            budget: bytes that all kept results of steps may have; None for no limit.
            parallel: how many steps run at once. Queries run one after the other, each on all cores.
                [Macke 2021, §3.5.2, §3.5.3; docs/steps.md]

        Returns:
            the pipeline, with `run(targets)` and `explain(targets)`.

        Raises:
            LineageError: two steps have one name.

        Examples:
            >>> @lineage.step(returns="query")
            ... def per_item(sales):
            ...     return f"SELECT item, sum(amount) AS amount FROM {sales} GROUP BY item"
            >>> @lineage.step
            ... def best(per_item):
            ...     return max(amount for item, amount in per_item.rows())
            >>> pipeline = lineage.pipeline(per_item, best)
            >>> pipeline.run("best")["best"]
            110
            >>> list(pipeline.run("best").actions)
            ['per_item', 'best']

        """
        rows = RowsOfSteps(self._parts, cast(Saving, self))
        shelf = Shelf(LocalFolder(Path(folder_of(self.home)) / "steps"), budget)
        return Pipeline(_every(steps), shelf, rows, parallel)


def _every(steps: tuple[Step | ModuleType, ...]) -> Iterator[Step]:
    for each in steps:
        if isinstance(each, ModuleType):
            yield from (value for value in vars(each).values() if isinstance(value, Step))
        else:
            yield each
