"""The content of the page of a pipeline for each step: some rows, the touched ones first, and what each was made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Protocol

from forward_lineage.cli.question_executors import Asked
from forward_lineage.cli.tables import show
from forward_lineage.drawing.page import MadeOf, Row, Shown
from forward_lineage.store.asking.pipeline import Node, Pipeline
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from udafs.errors import LineageError, listed
from udafs.lineage_set import LineageSet

#: Of a step: rows that are shown because they are touched, or the first ones; and others that these were made of.
_MOST_ROWS, _MOST_OTHERS = 50, 150
_OLDER = "An older version, which a result was made of; its rows are not shown."
#: Of a row: ids that it was made of, in one table.
_MOST_IDS = 20


class Now(Protocol):
    """The saved results of today, and what some rows touch."""

    @property
    def pipeline(self) -> Pipeline:
        """Return the graph."""

    @property
    def newest(self) -> frozenset[Node]:
        """Return which nodes are no older version."""

    @property
    def suspected(self) -> Mapping[str, LineageSet] | None:
        """Return suspected rows."""

    @property
    def touched(self) -> Mapping[str, LineageSet]:
        """Return what they touch."""

    @property
    def stale(self) -> Mapping[str, Sequence[str]]:
        """Return what has changed since results were saved, by the name of the result in lower case."""


def title_of(saved: Saved, is_newest: bool) -> str:
    """Return what the box of a result is called."""
    return saved.name if is_newest else f"{saved.name}, version {saved.version}"


def shown_of(asked: Asked, now: Now) -> dict[str, Shown]:
    """Return what is shown of each step, by its title.

    Args:
        asked: answers questions.
        now: the pipeline, and what is touched.

    """
    return _Gathering(asked, now).shown()


@dataclass
class _Gathering:
    """Gathers rows, from the last results to the base tables."""

    asked: Asked
    now: Now
    _wanted: dict[str, LineageSet] = field(default_factory=dict, init=False)

    def shown(self) -> dict[str, Shown]:
        found: dict[str, Shown] = {}
        for node in reversed(self.now.pipeline.nodes):
            saved, is_newest = self.now.pipeline.nodes[node], node in self.now.newest
            older = Shown(sql=saved.text, note=_OLDER)
            found[title_of(saved, is_newest)] = self._result(saved) if is_newest else older
        for name, edges in self._bases().items():
            found[name] = self._base(name, edges)
        return found

    def _result(self, saved: Saved) -> Shown:
        key = saved.name.lower()
        first = saved.numbers() if self.now.suspected is None else self._touched(key)
        mine = _first(first, _MOST_ROWS)
        ids = mine | self._wanted.get(key, LineageSet())
        made = {int(row): self._made_of(saved, int(row)) for row in ids.ids()}
        shown = self._with_rows(saved.name, ids, made, saved.rows, saved.text)
        return replace(shown, saved=self._when_saved(saved))

    def _touched(self, key: str) -> LineageSet:
        """The rows of a result that are touched, or those of a table that are suspected."""
        suspected = self.now.suspected or {}
        return self.now.touched.get(key, suspected.get(key, LineageSet()))

    def _when_saved(self, saved: Saved) -> str:
        said = f"Saved {saved.saved_at[:16].replace('T', ' ')} UTC"
        changed = self.now.stale.get(saved.name.lower(), ())
        if not changed:
            return f"{said}."
        return f"Stale. {said}; {listed(changed)} {'has' if len(changed) == 1 else 'have'} changed since."

    def _made_of(self, saved: Saved, row: int) -> list[MadeOf]:
        found = []
        for edge in saved.tables:
            if edge.granules or not edge.is_whole:
                continue
            ids = self.now.pipeline.library.relation(saved, edge).backward(LineageSet([row]))
            of, first = self._title(edge), _first(ids, _MOST_IDS)
            if ids:
                found.append(MadeOf(of, first.ids().tolist(), len(ids)))
            if of == edge.name:
                before = self._wanted.get(of.lower(), LineageSet())
                self._wanted[of.lower()] = _first(before | first, _MOST_OTHERS)
        return found

    def _title(self, edge: TracedTable) -> str:
        node = edge.name.lower(), edge.version
        return title_of(self.now.pipeline.nodes[node], node in self.now.newest) if edge.is_result else edge.name

    def _bases(self) -> dict[str, list[TracedTable]]:
        found: dict[str, list[TracedTable]] = {}
        for saved in self.now.pipeline.nodes.values():
            for edge in saved.tables:
                if not edge.is_result:
                    found.setdefault(edge.name, []).append(edge)
        return found

    def _base(self, name: str, edges: Sequence[TracedTable]) -> Shown:
        ids = _first(self._touched(name.lower()), _MOST_ROWS) | self._wanted.get(name.lower(), LineageSet())
        if self.asked.version(name) not in {edge.version for edge in edges}:
            return Shown(note="It has changed since results were made of it; its rows are not shown.")
        return self._with_rows(name, ids, {}, None, "")

    def _with_rows(
        self, name: str, ids: LineageSet, made: Mapping[int, list[MadeOf]], rows: int | None, sql: str
    ) -> Shown:
        if not ids:
            return Shown(sql=sql, note="No row of it is touched." if self.now.suspected is not None else "")
        try:
            found = self.asked.rows_of(name, ids)
            values, _ = found.first(len(ids))
        except LineageError as error:
            return Shown(sql=sql, note=f"Rows are not shown: {error.what}.")
        numbers = [
            all(isinstance(row[place], int | float | Decimal | None) for row in values)
            for place in range(1, len(found.columns))
        ]
        more = f"{len(values):,} of {rows:,} rows." if rows is not None and rows > len(values) else ""
        touched = self._touched(name.lower())
        lines = [
            Row(int(row[0]), [show(each) for each in row[1:]], made.get(int(row[0]), []), int(row[0]) in touched)
            for row in values
        ]
        lines.sort(key=lambda row: not row.touched)
        return Shown(list(found.columns), numbers, lines, more, sql)


def _first(ids: LineageSet, most: int) -> LineageSet:
    return ids if len(ids) <= most else LineageSet(ids.ids()[:most])
