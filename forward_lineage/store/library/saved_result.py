"""The facts about a saved result, written down: a manifest, one for each version.

HOME/results/<name>/<version>.json      this; immutable, the highest version counts
HOME/results/<name>/data-<random>/      rows/*.parquet, lineage/<table>/*.lineage, granules/<table>/*.parquet,
                                        stages/<number>/lineage/<table>/*.lineage
HOME/results/<name>/later-<version>/    lineage that was captured after the result was saved, see `late`
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.stored import SegmentFile
from forward_lineage.row_ids.secrets import redacted
from forward_lineage.showing.html import facts_html, table_html
from forward_lineage.showing.plain_text import counted
from forward_lineage.storage.fields import made
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library import bounds
from forward_lineage.store.library.capture_state import Recipe
from forward_lineage.store.library.made_of import RowFile as RowFile  # noqa: PLC0414 - handed on, as those below
from forward_lineage.store.library.made_of import SegmentEntry as SegmentEntry  # noqa: PLC0414
from forward_lineage.store.library.made_of import Stage as Stage  # noqa: PLC0414
from forward_lineage.store.library.made_of import StageLineage as StageLineage  # noqa: PLC0414
from forward_lineage.store.library.made_of import TableLineage as TableLineage  # noqa: PLC0414
from forward_lineage.store.library.made_of import TracedTable as TracedTable  # noqa: PLC0414
from udafs.lineage_set import LineageSet

STAGED = 3  # the format of manifests that name stages
IN_PART = 4  # of those that say that some lineage was not captured with the rows
WITH_GAPS = 6  # of those whose rows have not the numbers of their places
LATEST = WITH_GAPS
SAVE_AGAIN = "Save the result again, or drop it; other results are not affected."


@dataclass(frozen=True, repr=False)
class SavedResult:
    """One version of a saved result.

    Attributes:
        name: what questions and queries call it.
        version: counts from 1; every save adds one.
        sql: the query.
        semantics: ``"data"`` or ``"control"``.
        saved_at: UTC, ISO 8601.
        columns: names and Spark types of the columns, in order.
        schema: the same as Spark's own JSON, nullability included.
        rows: how many there are; they are numbered from 0.
        row_files: where they are.
        tables: what the result was made of; the lineage that its rows have by themselves.
        data: name of the data folder.
        keeps_numbers_of: the first version whose rows have the same numbers still: appending keeps numbers.
        kept: whether this version, and those before it that are there, stay when a later one is saved.
        refers: the rows' lineage in stages, which adds to that in tables; rows before the first segment have none.
        stages: inner queries whose rows the result's were made of.
        recipe: of a result some of whose lineage was not captured with the rows.
        ids_end: where some rows were replaced: the number that the next new row will have. Numbers of rows that went
            are given to no other, so that there are gaps, between files only. None: there are no gaps.
        home: the folder of the result; not part of the manifest.
        files: in that folder, wherever else they are; not part of it either.

    """

    name: str
    version: int
    sql: str
    semantics: str
    saved_at: str
    columns: tuple[tuple[str, str], ...]
    schema: dict[str, Any] = field(repr=False)
    rows: int
    row_files: tuple[RowFile, ...] = field(repr=False)
    tables: tuple[TracedTable, ...]
    data: str = field(repr=False)
    keeps_numbers_of: int = field(repr=False)
    kept: bool = False
    refers: tuple[StageLineage, ...] = ()
    stages: tuple[Stage, ...] = ()
    recipe: Recipe | None = field(default=None, repr=False)
    ids_end: int | None = field(default=None, repr=False)
    home: Path = field(default=Path(), repr=False)
    files: Files = field(default=LOCAL, repr=False, compare=False)

    def __repr__(self) -> str:
        made_of = ", ".join(table.name for table in self.tables) or "no table"
        facts = (f"version {self.version}", counted(self.rows, "row"), f"made of {made_of}", self.semantics)
        return f"SavedResult({self.name}, {', '.join(facts)}, saved at {self.saved_at})"

    def _repr_html_(self) -> str:
        facts = [("rows", f"{self.rows:,}"), ("semantics", self.semantics), ("saved at", self.saved_at)]
        made_of = [[table.name, str(table.version), _pairs(table)] for table in self.tables]
        title = f"{self.name}, version {self.version}"
        parts = [table_html(("made of", "version", "pairs (row, id)"), made_of)] if made_of else []
        return facts_html(title, [*facts, ("query", self.sql)], [*parts, table_html(("column", "type"), self.columns)])

    @property
    def folder(self) -> Path:
        """The data folder."""
        return self.home / self.data

    @property
    def rows_folder(self) -> Path:
        """The folder of the Parquet files."""
        return self.folder / "rows"

    @property
    def manifest_path(self) -> Path:
        """Where this is written."""
        return self.home / f"{self.version}.json"

    @property
    def trusted(self) -> tuple[str, ...]:
        """The tables that the result was made of directly and that were taken on trust."""
        return tuple(table.name for table in self.tables if table.trusted)

    @property
    def numbers_end(self) -> int:
        """The number that a row would have that is added."""
        return self.rows if self.ids_end is None else self.ids_end

    def numbers(self) -> LineageSet:
        """Return the numbers of all rows."""
        if self.ids_end is None:
            return LineageSet(range(self.rows))
        first, rows = self._spans()
        return LineageSet.from_intervals(first, first + rows - 1)

    def places_of(self, numbers: Numbers) -> Numbers:
        """Return at which places in the result, from 0, the rows of some numbers are."""
        if self.ids_end is None:
            return numbers
        first, rows = self._spans()
        file = np.searchsorted(first, numbers, side="right") - 1
        places: Numbers = numbers - (first - np.cumsum(rows) + rows)[file]
        return places

    def _spans(self) -> tuple[Numbers, Numbers]:
        """The number of the first row, and how many follow it, of each file that has rows."""
        spans = [(file.first_row, file.rows) for file in self.row_files if file.rows]
        first, rows = np.array(spans, np.int64).reshape(-1, 2).T
        return first, rows

    @property
    def is_whole(self) -> bool:
        """Whether all lineage was captured with the rows."""
        return all(table.is_whole for table in self.tables)

    @property
    def granularity(self) -> str:
        """``"granules"`` under LINEAGE ON, else ``"rows"``."""
        return "granules" if any(table.granules for table in self.tables) else "rows"

    @property
    def pairs(self) -> int:
        """Number of (row, id) pairs that are kept, over all tables; those of a stage once."""
        return sum(entry.pairs for table in self.tables for entry in self.kept_of(table))

    @property
    def size(self) -> int:
        """Bytes on disk: rows and lineage, without dictionaries."""
        return sum(file.size for file in self.row_files) + self.lineage_size

    @property
    def lineage_size(self) -> int:
        """Bytes of the lineage on disk."""
        return sum({entry.path: entry.size for entry in self.segments()}.values())

    def segments(self) -> Iterator[SegmentEntry]:
        """Every segment; stages may share some."""
        parts: tuple[TracedTable | StageLineage | Stage, ...] = (*self.tables, *self.refers, *self.stages)
        return (entry for part in parts for entry in part.segments)

    def kept_of(self, table: TracedTable) -> Iterable[SegmentEntry]:
        """Return the segments that hold ids of a table, of rows of the result and of rows of stages."""
        staged = [part for stage in self.stages for part in stage.tables if part.table.lower() == table.name.lower()]
        parts: tuple[TracedTable | TableLineage, ...] = (table, *staged)
        return {entry.path: entry for part in parts for entry in part.segments}.values()

    def traced(self, table: str) -> TracedTable | None:
        """Return the entry of a table that the result was made of directly, whatever the case of the name."""
        return next((each for each in self.tables if each.name.lower() == table.lower()), None)

    def segment_files(self, segments: Iterable[SegmentEntry]) -> list[SegmentFile]:
        """Return segments as the store reads them."""
        return [each.file_in(self.folder) for each in segments]

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data: of the earliest format that says it all."""
        fields = {key: value for key, value in asdict(self).items() if key not in ("home", "files")}
        if self.ids_end is not None:
            return {"format": WITH_GAPS, **fields}
        del fields["ids_end"]
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
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> SavedResult:
        """Read what `to_data` gave, in this release or an earlier one.

        Args:
            data: the fields of the manifest, and the format they are of.
            home: the folder of the result.
            files: in it.

        Raises:
            ValueError: it cannot be a manifest; so may be a KeyError, TypeError or AttributeError. Fields that are
                right for themselves may still not fit together: see `soundness`.

        """
        if data["format"] == 1:
            _check_first_format(data)
        fields = {key: value for key, value in data.items() if key not in ("format", "checksum")}
        tables = fields.get("tables")
        if isinstance(tables, list):  # what earlier releases kept of secrets is not to be seen
            fields["tables"] = [_without_secrets(entry) for entry in tables]
        return made(cls, fields, home=home, files=files)


def _pairs(table: TracedTable) -> str:
    return f"{table.pairs:,}" if table.is_whole else "captured in part, or at the first question"


def _check_first_format(data: dict[str, Any]) -> None:
    """Format 1 had the checksum of its own fields, as JSON in order of their names."""
    sealed = json.dumps({key: value for key, value in data.items() if key != "checksum"}, sort_keys=True)
    if data["checksum"] != zlib.crc32(sealed.encode()):
        raise ValueError("checksum")


def _without_secrets(entry: Any) -> Any:
    if not isinstance(entry, dict) or (manifest := entry.get("manifest")) is None:
        return entry
    return {**entry, "manifest": {**manifest, "source": redacted(manifest["source"])}}
