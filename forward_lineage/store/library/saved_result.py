"""What is known about a saved result, written down: a manifest, one for each version.

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

from forward_lineage.relations.stored import SegmentFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.secrets import redacted
from forward_lineage.storage.fields import made
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library import bounds
from forward_lineage.store.library.captured import Captured, Recipe
from forward_lineage.store.library.described import Described

STAGED = 3  # the format of manifests that name stages
IN_PART = 4  # of those that say that some lineage was not captured with the rows
LATEST = bounds.BOUNDED
SAVE_AGAIN = "Save the result again, or drop it; other results are not affected."


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
        pairs: how many (row, id) pairs it holds.
        form: ``runs`` or ``bdd``.
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
        known = {name: getattr(self, name) for name in ("checksum", "pairs", "size", "first_id", "last_id")}
        return SegmentFile(folder / self.path, self.first_row, self.rows, moved=self.first_row, **known)


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
        manifest: the registration as it was, as JSON-able data; None for a saved result, which has a manifest itself.
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
        """Return the registration as it was when the result was saved; None for a saved result."""
        return None if self.manifest is None else Manifest.from_data(self.manifest)


@dataclass(frozen=True)
class TableLineage:
    """What rows of a stage were made of in a base table; `TracedTable` knows more of it."""

    table: str
    segments: tuple[SegmentEntry, ...] = field(repr=False)


@dataclass(frozen=True)
class StageLineage:
    """What rows were made of in a stage: numbers of its rows.

    Attributes:
        stage: the number of the stage in `SavedResult.stages`.
        segments: the lineage.

    """

    stage: int
    segments: tuple[SegmentEntry, ...] = field(repr=False)


@dataclass(frozen=True)
class Stage:
    """Rows of an inner query, or places in the order of a window, of which rows of the result were made.

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


@dataclass(frozen=True, repr=False)
class SavedResult(Described):
    """One version of a saved result.

    Attributes:
        name: what questions and queries call it.
        version: counts from 1; every save adds one.
        sql: the query.
        semantics: ``"data"`` or ``"control"``.
        saved_at: UTC, ISO 8601.
        columns: names and Spark types of the columns, in order.
        schema: the same as Spark's own JSON, nullability included.
        rows: number of rows; they are numbered from 0.
        row_files: where they are.
        tables: what the result was made of; the lineage that its rows have by themselves.
        data: name of the data folder.
        keeps_numbers_of: the first version whose rows have the same numbers still: appending keeps numbers.
        kept: whether this version, and those before it that are there, stay when a later one is saved.
        refers: the rows' lineage in stages, which adds to that in tables; rows before the first segment have none.
        stages: inner queries whose rows the result's were made of.
        recipe: of a result some of whose lineage was not captured with the rows.
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
    home: Path = field(default=Path(), repr=False)
    files: Files = field(default=LOCAL, repr=False, compare=False)

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
            ValueError: it cannot be a manifest; so may be a KeyError, TypeError or AttributeError. What is right for
                itself may still not fit together: see `soundness`.

        """
        if data["format"] == 1:
            _check_first_format(data)
        fields = {key: value for key, value in data.items() if key not in ("format", "checksum")}
        tables = fields.get("tables")
        if isinstance(tables, list):  # what earlier releases kept of secrets is not to be seen
            fields["tables"] = [_without_secrets(entry) for entry in tables]
        return made(cls, fields, home=home, files=files)


def _check_first_format(data: dict[str, Any]) -> None:
    """Format 1 had the checksum of its own fields, as JSON in order of their names."""
    sealed = json.dumps({key: value for key, value in data.items() if key != "checksum"}, sort_keys=True)
    if data["checksum"] != zlib.crc32(sealed.encode()):
        raise ValueError("checksum")


def _without_secrets(entry: Any) -> Any:
    if not isinstance(entry, dict) or (manifest := entry.get("manifest")) is None:
        return entry
    return {**entry, "manifest": {**manifest, "source": redacted(manifest["source"])}}
