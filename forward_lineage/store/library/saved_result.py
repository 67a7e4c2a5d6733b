"""A kind of saved thing: the rows of a query.

HOME/results/<name>/data-<random>/      rows/*.parquet, granules/<table>/*.parquet, beside what `saved` says
HOME/results/<name>/later-<version>/    lineage that was captured after the result was saved, see `deferred_lineage`
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.showing.plain_text import counted
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library import bounds
from forward_lineage.store.library.capture_state import Recipe
from forward_lineage.store.library.made_of import RowFile as RowFile  # noqa: PLC0414 - handed on, as those below
from forward_lineage.store.library.made_of import SegmentEntry as SegmentEntry  # noqa: PLC0414
from forward_lineage.store.library.made_of import SortKey as SortKey  # noqa: PLC0414
from forward_lineage.store.library.made_of import Stage as Stage  # noqa: PLC0414
from forward_lineage.store.library.made_of import StageLineage as StageLineage  # noqa: PLC0414
from forward_lineage.store.library.made_of import TableLineage as TableLineage  # noqa: PLC0414
from forward_lineage.store.library.made_of import TracedTable as TracedTable  # noqa: PLC0414
from forward_lineage.store.library.saved import SAVE_AGAIN as SAVE_AGAIN  # noqa: PLC0414
from forward_lineage.store.library.saved import Saved

STAGED = 3  # the format of manifests that name stages
IN_PART = 4  # of those that say that some lineage was not captured with the rows
DECIDED = 8  # of those that name tables which only decide which rows there are
WITH_GAPS = 7  # of those whose rows have not the numbers of their places
SORTED = 10  # of those whose rows are in another order than their numbers
BATCHED = 11  # of those whose rows are batches of streams

#: The fields in the order in which they stand in manifests.
_WRITTEN = (
    *("name", "version", "sql", "semantics", "saved_at", "columns", "schema", "rows", "row_files", "tables", "data"),
    *("keeps_numbers_of", "kept", "refers", "stages", "recipe"),
)

_LATE = {"ids_end": WITH_GAPS, "decided_by": DECIDED, "order": SORTED, "batches": BATCHED}
"""Fields of later formats, and the first that has each."""


@dataclass(frozen=True, repr=False, kw_only=True)
class SavedResult(Saved):
    """One version of a saved result: rows of a query.

    Attributes:
        sql: the query.
        columns: names and Spark types of the columns, in order.
        schema: the same as Spark's own JSON, nullability included.
        row_files: where the rows are.
        recipe: of a result some of whose lineage was not captured with the rows.
        decided_by: tables that the query reads and that no row was traced to, such as those behind NOT EXISTS; without
            lineage. Results of earlier releases name none.
        order: of a result of ORDER BY some of whose rows were replaced, what its rows are sorted by when they are read;
            none where they are in the order of their numbers.
        batches: of each stream whose batches were appended, its name and the number of the last one.

    """

    kind: ClassVar[str] = "rows"
    called: ClassVar[str] = "result"
    contents: ClassVar[str] = "rows"

    sql: str
    columns: tuple[tuple[str, str], ...]
    schema: dict[str, Any] = field(repr=False)
    row_files: tuple[RowFile, ...] = field(repr=False)
    recipe: Recipe | None = field(default=None, repr=False)
    decided_by: tuple[TracedTable, ...] = field(default=(), repr=False)
    order: tuple[SortKey, ...] = field(default=(), repr=False)
    batches: tuple[tuple[str, int], ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return self._repr(counted(self.rows, "row"))

    def _repr_html_(self) -> str:
        facts = [("rows", f"{self.rows:,}"), ("semantics", self.semantics), ("saved at", self.saved_at)]
        if self.decided_by:
            facts.append(("decided by", ", ".join(f"{each.name}, version {each.version}" for each in self.decided_by)))
        made_of = [[table.name, str(table.version), _pairs(table)] for table in self.tables]
        title = f"{self.name}, version {self.version}"
        parts = [table_html(("made of", "version", "pairs (row, id)"), made_of)] if made_of else []
        return facts_html(title, [*facts, ("query", self.sql)], [*parts, table_html(("column", "type"), self.columns)])

    @property
    def inputs(self) -> tuple[TracedTable, ...]:
        """See `Saved`."""
        return (*self.tables, *self.decided_by)

    @property
    def content_files(self) -> tuple[RowFile, ...]:
        """The Parquet files of the rows; an earlier release named none."""
        return self.row_files

    @property
    def text(self) -> str:
        """The query."""
        return self.sql.strip()

    @property
    def rows_folder(self) -> Path:
        """The folder of the Parquet files."""
        return self.folder / self.contents

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data: of the earliest format that says it all."""
        found = self.written_fields()
        fields = {name: found[name] for name in _WRITTEN}
        for name, version in sorted(_LATE.items(), key=itemgetter(1), reverse=True):
            if getattr(self, name) not in ((), None):
                late = {each: found[each] for each, since in _LATE.items() if since <= version}
                return {"format": version, "kind": self.kind, **fields, **late}
        if bounds.are_told(fields):
            return {"format": bounds.BOUNDED, **fields}
        bounds.left_out(fields)
        if self.recipe is not None:
            return {"format": IN_PART, **fields}
        del fields["recipe"]
        fields["tables"] = [
            {key: value for key, value in table.items() if key not in ("captured", "only")}
            for table in fields["tables"]
        ]
        if self.stages:
            return {"format": STAGED, **fields}
        return {key: value for key, value in fields.items() if key not in ("refers", "stages")}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> Self:
        """See `Saved.from_data`."""
        if data["format"] == 1:
            _check_first_format(data)
        return super().from_data(data, home, files)


def _pairs(table: TracedTable) -> str:
    return f"{table.pairs:,}" if table.is_whole else "captured in part, or at the first question"


def _check_first_format(data: dict[str, Any]) -> None:
    """Format 1 had the checksum of its own fields, as JSON in order of their names."""
    sealed = json.dumps({key: value for key, value in data.items() if key != "checksum"}, sort_keys=True)
    if data["checksum"] != zlib.crc32(sealed.encode()):
        raise ValueError("checksum")
