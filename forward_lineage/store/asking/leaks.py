"""Leaks: predictions of rows that a model, or a transformer on the way, has seen when it was fitted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from forward_lineage.store.asking.pipeline import Pipeline, Reached, node_of
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_model import SavedModel
from udafs.errors import NotSavedError
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class Leak:
    """Base rows that predictions were made of by row, and that a model was fitted on.

    Attributes:
        model: the name of the model.
        is_transformer: whether it is a transformer: then it was fitted before the rows were split.
        table: the base table.
        ids: the base rows.
        result: the predictions.
        rows: those of their rows, or cells, that were made of these base rows.

    """

    model: str
    is_transformer: bool
    table: str
    ids: LineageSet
    result: str
    rows: LineageSet

    def __str__(self) -> str:
        kind = "transformer, fitted before the split" if self.is_transformer else "model"
        made = f"{len(self.rows):,} of {self.result} were made of {len(self.ids):,} rows of {self.table}"
        return f"{made} that {self.model} ({kind}) was fitted on"


class Checks(Protocol):
    """Checks what ids mean."""

    def check_one_kind_of_ids(self, saved: Saved, reached: Reached) -> None:
        """See `Walks`."""


def leaks_of(walks: Checks, pipeline: Pipeline, saved: Saved) -> list[Leak]:
    """Return the leaks of predictions; each base row is told of predictors first, of transformers else.

    Args:
        walks: checks what ids mean.
        pipeline: what is above the predictions.
        saved: the predictions.

    Raises:
        NotSavedError: no model made them.
        LineageError: as for `ForwardLineage.backward`.

    """
    models = [each for each in pipeline.nodes.values() if isinstance(each, SavedModel)]
    if not models:
        raise NotSavedError(
            f"{saved.name} was made by no model", instead="Save what model.predict(…) of lineage.fit(…) returns."
        )
    found = []
    for table in _roots(pipeline):
        walks.check_one_kind_of_ids(saved, pipeline.backward(saved, LineageSet(), table))
        told = LineageSet()
        for model in sorted(models, key=lambda each: each.transforms):
            leak = _leak(pipeline, saved, model, table, told)
            if leak is not None:
                found.append(leak)
                told |= LineageSet() if model.transforms else leak.ids
    return found


def _leak(pipeline: Pipeline, saved: Saved, model: SavedModel, table: str, told: LineageSet) -> Leak | None:
    """The leak of a model in a table; of a cross-validation each fold counts for itself."""
    if node_of(model) not in pipeline.leading_to(table):
        return None
    ids, rows = LineageSet(), LineageSet()
    for parts in _folds(model):
        seen = pipeline.backward(model, parts, table, "row").ids
        made = pipeline.forward(model.name, partial(_of_version, model.version, parts))
        cells = made[node_of(saved)].rows if node_of(saved) in made else None
        if not cells:
            continue
        both = (seen & pipeline.backward(saved, cells, table, "row").ids) - told
        if both:
            touched = pipeline.forward(table, partial(_always, both))[node_of(saved)]
            ids, rows = ids | both, rows | (touched.by_row & cells)
    return Leak(model.name, model.transforms, table, ids, saved.name, rows) if ids else None


def _of_version(version: int, rows: LineageSet, _: Saved, edge: TracedTable) -> LineageSet | None:
    return rows if edge.version == version else None


def _always(rows: LineageSet, _: Saved, __: TracedTable) -> LineageSet:
    return rows


def _folds(model: SavedModel) -> Iterator[LineageSet]:
    """The parts of each model in it."""
    each = len(model.members) // max(model.folds, 1)
    first = 0
    for at in range(0, len(model.members), each):
        parts = sum(member.parts for member in model.members[at : at + each])
        yield LineageSet(range(first, first + parts))
        first += parts


def _roots(pipeline: Pipeline) -> list[str]:
    """The base tables, and saved things that were made of nothing."""
    bases = {edge.name for saved in pipeline.nodes.values() for edge in saved.tables if not edge.is_result}
    own = {each.name for each in pipeline.nodes.values() if not each.tables and not isinstance(each, SavedModel)}
    read = {edge.name.lower() for saved in pipeline.nodes.values() for edge in saved.tables}
    return sorted(bases | {name for name in own if name.lower() in read})
