"""What is known about a saved result, written down: a manifest, one for each version.

HOME/results/<name>/<version>.json      this; immutable, the highest version counts
HOME/results/<name>/data-<random>/      rows/*.parquet, lineage/<table>/*.lineage, granules/<table>/*.parquet
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from forward_lineage.relations.stored import SegmentFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.secrets import redacted
from forward_lineage.storage.fields import made

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

    """

    path: str
    first_row: int
    rows: int
    pairs: int
    form: str
    size: int
    checksum: int


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

    """

    name: str
    version: int
    provider: Provider
    segments: tuple[SegmentEntry, ...] = field(default=(), repr=False)
    granules: tuple[str, ...] = ()
    dictionary: str | None = field(default=None, repr=False)
    dictionary_files: tuple[RowFile, ...] = field(default=(), repr=False)
    manifest: dict[str, Any] | None = field(default=None, repr=False)

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
        """Number of (row, id) pairs."""
        return sum(segment.pairs for segment in self.segments)

    @property
    def size(self) -> int:
        """Bytes of the lineage on disk."""
        return sum(segment.size for segment in self.segments)

    def registration(self) -> Manifest | None:
        """Return the registration as it was when the result was saved; None for a saved result."""
        return None if self.manifest is None else Manifest.from_data(self.manifest)


@dataclass(frozen=True)
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
        rows: number of rows; they are numbered from 0.
        row_files: where they are.
        tables: what the result was made of.
        data: name of the data folder.
        keeps_numbers_of: the first version whose rows have the same numbers still: appending keeps numbers.
        kept: whether this version, and those before it that are there, stay when a later one is saved.
        home: the folder of the result; not part of the manifest.

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
    home: Path = field(default=Path(), repr=False)

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
    def granularity(self) -> str:
        """``"granules"`` under LINEAGE ON, else ``"rows"``."""
        return "granules" if any(table.granules for table in self.tables) else "rows"

    @property
    def pairs(self) -> int:
        """Number of (row, id) pairs over all tables."""
        return sum(table.pairs for table in self.tables)

    @property
    def size(self) -> int:
        """Bytes on disk: rows and lineage, without dictionaries."""
        return sum(file.size for file in self.row_files) + sum(table.size for table in self.tables)

    def traced(self, table: str) -> TracedTable | None:
        """Return the entry of a table that the result was made of directly, whatever the case of the name."""
        return next((each for each in self.tables if each.name.lower() == table.lower()), None)

    def segment_files(self, table: TracedTable) -> list[SegmentFile]:
        """Return the segments of a table as the store reads them."""
        return [
            SegmentFile(
                self.folder / each.path,
                each.first_row,
                each.rows,
                moved=each.first_row,
                checksum=each.checksum,
                pairs=each.pairs,
                size=each.size,
            )
            for each in table.segments
        ]

    def to_data(self) -> dict[str, Any]:
        """Return the manifest as JSON-able data."""
        return {key: value for key, value in asdict(self).items() if key != "home"}

    @classmethod
    def from_data(cls, data: dict[str, Any], home: Path) -> SavedResult:
        """Read what `to_data` gave, in this release or an earlier one.

        Args:
            data: the fields of the manifest, and the format they are of.
            home: the folder of the result.

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
        return made(cls, fields, home=home)


def _check_first_format(data: dict[str, Any]) -> None:
    """Format 1 had the checksum of its own fields, as JSON in order of their names."""
    sealed = json.dumps({key: value for key, value in data.items() if key != "checksum"}, sort_keys=True)
    if data["checksum"] != zlib.crc32(sealed.encode()):
        raise ValueError("checksum")


def _without_secrets(entry: Any) -> Any:
    manifest = entry.get("manifest") if isinstance(entry, dict) else None
    if manifest is None:
        return entry
    return {**entry, "manifest": {**manifest, "source": redacted(manifest["source"])}}
