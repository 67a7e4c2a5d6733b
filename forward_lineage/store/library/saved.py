"""The parts of every saved thing, whatever its kind: name and version, lineage, what it was made of.

HOME/results/<name>/<version>.json      the manifest: immutable, the highest version counts
HOME/results/<name>/data-<random>/      lineage/<table>/*.lineage, stages/<number>/lineage/<table>/*.lineage, and what
                                        its kind keeps: `saved_result`, `saved_array`

Each has rows that are numbered from 0, and lineage is about these: the rows of a query, the cells of an array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.stored import SegmentFile
from forward_lineage.row_ids.secrets import redacted
from forward_lineage.storage.fields import made
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library.made_of import RowFile, SegmentEntry, Stage, StageLineage, TableLineage, TracedTable
from udafs.lineage_set import LineageSet

KINDED = 6
"""The format of manifests that say what kind of thing they are about; earlier ones are about rows."""
SAVE_AGAIN = "Save the result again, or drop it; other results are not affected."


@dataclass(frozen=True, repr=False, kw_only=True)
class Saved(ABC):
    """One version of a saved thing.

    Attributes:
        kind: what kind of thing it is; stands in manifests of all kinds but the first, and never changes.
        called: what messages call such a thing.
        counted_in: what one of its rows is.
        contents: the folder, in the data folder, of the files that hold the thing itself.
        name: what questions and queries call it.
        version: counts from 1; every save adds one.
        semantics: ``"data"`` or ``"control"``.
        saved_at: UTC, ISO 8601.
        rows: number of rows; they are numbered from 0.
        tables: what it was made of; the lineage that its rows have by themselves.
        data: name of the data folder.
        keeps_numbers_of: the first version whose rows have the same numbers still: appending keeps numbers.
        kept: whether this version, and those before it that are there, stay when a later one is saved.
        refers: the rows' lineage in stages, which adds to that in tables; rows before the first segment have none.
        stages: inner queries, or arrays on the way, whose rows this one's were made of.
        ids_end: where some rows were replaced: the number that the next new row will have. Numbers of rows that went
            are given to no other, so that there are gaps, between files only. None: there are no gaps.
        home: the folder of the result; not part of the manifest.
        files: in that folder, wherever else they are; not part of it either.

    """

    kind: ClassVar[str]
    called: ClassVar[str]
    counted_in: ClassVar[str] = "row"
    contents: ClassVar[str]

    name: str
    version: int
    semantics: str
    saved_at: str
    rows: int
    tables: tuple[TracedTable, ...]
    data: str = field(repr=False)
    keeps_numbers_of: int = field(repr=False)
    kept: bool = False
    refers: tuple[StageLineage, ...] = ()
    stages: tuple[Stage, ...] = ()
    ids_end: int | None = field(default=None, repr=False)
    home: Path = field(default=Path(), repr=False)
    files: Files = field(default=LOCAL, repr=False, compare=False)

    # ------------------------------------------------------------ what a kind says

    @property
    @abstractmethod
    def content_files(self) -> tuple[RowFile, ...]:
        """The files that hold the thing itself, in the order of its rows."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The thing in words, as pages show it: the query of a result."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data: of the earliest format that says it all."""

    # ------------------------------------------------------------ what holds for every kind

    def _repr(self, *facts: str) -> str:
        made_of = ", ".join(table.name for table in self.tables) or "no table"
        listed = (f"version {self.version}", *facts, f"made of {made_of}", self.semantics)
        return f"{type(self).__name__}({self.name}, {', '.join(listed)}, saved at {self.saved_at})"

    @property
    def inputs(self) -> tuple[TracedTable, ...]:
        """All that it depends on: what it was made of, and what only decided which rows there are."""
        return self.tables

    @property
    def folder(self) -> Path:
        """The data folder."""
        return self.home / self.data

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
        first, rows = np.array(self.spans(), np.int64).reshape(-1, 2).T
        return LineageSet.from_intervals(first, first + rows - 1)

    def places_of(self, numbers: Numbers) -> Numbers:
        """Return at which places in the result, from 0, the rows of some numbers are."""
        if self.ids_end is None:
            return numbers
        first, rows = np.array(self.spans(), np.int64).reshape(-1, 2).T
        file = np.searchsorted(first, numbers, side="right") - 1
        places: Numbers = numbers - (first - np.cumsum(rows) + rows)[file]
        return places

    def spans(self) -> list[tuple[int, int]]:
        """Return stretches of numbers without a gap, in order: the first number, and how many there are."""
        if self.ids_end is None:
            return [(0, self.rows)] if self.rows else []
        return [(file.first_row, file.rows) for file in self.content_files if file.rows]

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
        """Bytes on disk: the thing itself and its lineage, without dictionaries."""
        return sum(file.size for file in self.content_files) + self.lineage_size

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

    def written_fields(self) -> dict[str, Any]:
        """Return all fields that stand in manifests, JSON-able."""
        return {key: value for key, value in asdict(self).items() if key not in ("home", "files")}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path, files: Files = LOCAL) -> Self:
        """Read what `to_data` gave, in this release or an earlier one.

        Args:
            data: the fields of the manifest, and the format they are of.
            home: the folder of the result.
            files: in it.

        Raises:
            ValueError: it cannot be a manifest; so may be a KeyError, TypeError or AttributeError. Fields that are
                right for themselves may still not fit together: see `soundness`.

        """
        fields = {key: value for key, value in data.items() if key not in ("format", "checksum")}
        tables = fields.get("tables")
        if isinstance(tables, list):  # what earlier releases kept of secrets is not to be seen
            fields["tables"] = [_without_secrets(entry) for entry in tables]
        return made(cls, fields, home=home, files=files)


def _without_secrets(entry: Any) -> Any:
    if not isinstance(entry, dict) or (manifest := entry.get("manifest")) is None:
        return entry
    return {**entry, "manifest": {**manifest, "source": redacted(manifest["source"])}}
