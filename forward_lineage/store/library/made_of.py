"""The parts of a saved result, by its manifest: files of rows, lineage in tables and in stages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forward_lineage.relations.stored import SegmentFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.store.library.capture_state import Captured


@dataclass(frozen=True)
class SortKey:
    """One of the columns that rows are in order of.

    Attributes:
        column: its place.
        descending: from the greatest value on.
        nulls_first: whether NULL comes before all values.

    """

    column: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class RowFile:
    """A Parquet file of a result's rows.

    Attributes:
        path: relative to the result's data folder.
        first_row: number of its first row in the result.
        rows: number of rows.
        size: bytes.
        checksum: CRC-32 of the whole file.

    """

    path: str
    first_row: int
    rows: int
    size: int
    checksum: int


@dataclass(frozen=True)
class SegmentEntry:
    """A segment of a result's lineage: a `RowFile`'s attributes, the rows being those the segment answers for.

    Attributes:
        path: relative to the result's data folder.
        first_row: number of its first row in the result; in the file its rows count from 0.
        rows: how many rows it answers for.
        pairs: how many (row, id) pairs it holds; of boxes how many each holds, together.
        form: ``runs`` or ``bdd``, of an array ``boxes`` or ``gather``, too.
        size: bytes.
        checksum: the CRC-32 that the file itself begins with.
        first_id: the first id that it has, where it is `runs` of a release that notes it.
        last_id: the last one.

    """

    path: str
    first_row: int
    rows: int
    pairs: int
    form: str
    size: int
    checksum: int
    first_id: int | None = field(default=None, compare=False)
    last_id: int | None = field(default=None, compare=False)

    def file_in(self, folder: Path) -> SegmentFile:
        """Return the segment as the store reads it, from the data folder of its result."""
        known = {name: getattr(self, name) for name in ("checksum", "size", "first_id", "last_id")}
        pairs = self.pairs if self.form in ("bdd", "runs") else None  # of boxes it may be too many to count each once
        return SegmentFile(folder / self.path, self.first_row, self.rows, moved=self.first_row, pairs=pairs, **known)


@dataclass(frozen=True)
class TracedTable:
    """One table that a saved result was made of.

    Attributes:
        name: as in `DL`.
        version: of the table's registration; of the result itself when the table is a saved result.
        provider: what gave the ids, ``"result"`` for a saved result; see `Manifest`.
        segments: the lineage.
        granules: under LINEAGE ON the expressions whose values the ids stand for; () when they stand for rows.
        dictionary: folder of the granules' values, relative to the data folder.
        dictionary_files: the files in it; `first_row` counts from 0 over all of them.
        manifest: the registration at that time, as JSON-able data; None for a saved result, which has a manifest
            itself.
        captured: when the lineage is captured; the segments are there if that was with the rows.
        only: a condition over the table's columns: lineage in rows that meet it is all that is captured; None: all is.

    """

    name: str
    version: int
    provider: Provider
    segments: tuple[SegmentEntry, ...] = field(default=(), repr=False)
    granules: tuple[str, ...] = ()
    dictionary: str | None = field(default=None, repr=False)
    dictionary_files: tuple[RowFile, ...] = field(default=(), repr=False)
    manifest: dict[str, Any] | None = field(default=None, repr=False)
    captured: Captured = Captured.NOW
    only: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all lineage in the table was captured with the rows."""
        return self.captured is Captured.NOW and self.only is None

    @property
    def is_result(self) -> bool:
        """Whether the table is a saved result itself."""
        return self.provider is Provider.RESULT

    @property
    def trusted(self) -> bool:
        """Whether the table was taken on trust: nobody checked that its ids are unique, or would notice a change."""
        return bool(self.manifest and self.manifest.get("trusted"))

    @property
    def pairs(self) -> int:
        """Number of (row, id) pairs that rows of the result have by themselves; see `SavedResult.kept_of`."""
        return sum(segment.pairs for segment in self.segments)

    @property
    def size(self) -> int:
        """Bytes of that lineage on disk."""
        return sum(segment.size for segment in self.segments)

    def registration(self) -> Manifest | None:
        """Return the registration at the time when the result was saved; None for a saved result."""
        return None if self.manifest is None else Manifest.from_data(self.manifest)


@dataclass(frozen=True)
class TableLineage:
    """The lineage of a stage's rows in a base table; `TracedTable` knows more of it."""

    table: str
    segments: tuple[SegmentEntry, ...] = field(repr=False)


@dataclass(frozen=True)
class StageLineage:
    """The lineage of rows in a stage: numbers of its rows.

    Attributes:
        stage: the number of the stage in `SavedResult.stages`.
        segments: the lineage.

    """

    stage: int
    segments: tuple[SegmentEntry, ...] = field(repr=False)


@dataclass(frozen=True)
class Stage:
    """Rows of an inner query, or places in the order of a window, that rows of the result were made of.

    They are no rows that anybody asks for: what is kept is their lineage, once, however many rows refer to it.

    Attributes:
        rows: how many there are, numbered from 0.
        tables: their lineage in base tables.
        stages: their lineage in stages before this one.

    """

    rows: int
    tables: tuple[TableLineage, ...]
    stages: tuple[StageLineage, ...] = ()

    @property
    def segments(self) -> Iterator[SegmentEntry]:
        """All segments; stages may share some."""
        parts: tuple[TableLineage | StageLineage, ...] = (*self.tables, *self.stages)
        return (entry for part in parts for entry in part.segments)
