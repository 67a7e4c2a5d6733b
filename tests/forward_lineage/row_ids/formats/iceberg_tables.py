"""Iceberg tables of format version 3, written as the spec says; pyiceberg writes none.

The Avro schemas of manifests are pyiceberg's, for version 3; what a table has is read back by pyiceberg in the tests.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyarrow import parquet
from pyiceberg.manifest import MANIFEST_ENTRY_SCHEMAS, MANIFEST_LIST_FILE_SCHEMAS
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

EXISTING, ADDED, DELETED = range(3)
TYPES = {"long": pa.int64(), "int": pa.int32(), "string": pa.string(), "date": pa.date32()}
ROW_ID = pa.field("_row_id", pa.int64(), metadata={b"PARQUET:field_id": b"2147483540"})
ROW_CHANGED = pa.field("_last_updated_sequence_number", pa.int64(), metadata={b"PARQUET:field_id": b"2147483539"})


@dataclass
class IcebergTable:
    """A writer of one table, without a catalog: metadata files are called v1, v2, ….

    Attributes:
        folder: where it is.
        columns: number, name and type of each.
        next_row_id, sequence, version: of the last metadata file.
        snapshots: as they stand in it.
        manifests: the rows of the last manifest list, each with its entries.

    """

    folder: Path
    columns: list[tuple[int, str, str]]
    format_version: int = 3
    table_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    next_row_id: int = 0
    sequence: int = 0
    version: int = 0
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    manifests: list[tuple[dict[str, Any], list[dict[str, Any]]]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def create(self) -> IcebergTable:
        """Write a first metadata file, without a snapshot."""
        return self.publish()

    def file(
        self, rows: Sequence[Mapping[str, Any]], *, moved: Mapping[int, tuple[int, int | None]] | None = None
    ) -> dict[str, Any]:
        """Write a data file, and return the `data_file` of its entry.

        Args:
            rows: values by column; a column that none has is left out.
            moved: which of the rows keep an id, and when they were changed: None is with this commit.

        """
        there = [column for column in self.columns if any(column[1] in row for row in rows)]
        fields = [pa.field(name, TYPES[kind], metadata={b"PARQUET:field_id": b"%d" % at}) for at, name, kind in there]
        data = [pa.array([row.get(each.name) for row in rows], each.type) for each in fields]
        if moved is not None:
            kept = [moved.get(at, (None, None)) for at in range(len(rows))]
            fields += [ROW_ID, ROW_CHANGED]
            data += [pa.array([each[part] for each in kept], pa.int64()) for part in (0, 1)]
        path = self.folder / "data" / f"{uuid.uuid4()}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(data, pa.schema(fields)), path)
        return described(path, len(rows))

    def commit(
        self,
        *added: dict[str, Any],
        removed: Iterable[dict[str, Any]] = (),
        deletes: Sequence[dict[str, Any]] = (),
    ) -> IcebergTable:
        """Write a snapshot: files that come, files that go, files of deletes."""
        self.sequence += 1
        snapshot_id = 1000 + self.sequence
        gone = {each["file_path"] for each in removed}
        kept = [each for each in self.manifests if not gone & {entry["data_file"]["file_path"] for entry in each[1]}]
        changed = [each for each in self.manifests if each not in kept]
        fresh = [self._rewritten(each, gone, snapshot_id) for each in changed]
        if added:
            fresh.append([_entry(ADDED, snapshot_id, None, each) for each in added])
        first, rows_of = self.next_row_id, []
        for entries in fresh:
            row = self._manifest(entries, snapshot_id, first=first)
            rows_of.append((row, entries))
            first += row["added_rows_count"] + row["existing_rows_count"]
        if deletes:
            entries = [_entry(ADDED, snapshot_id, None, each) for each in deletes]
            rows_of.append((self._manifest(entries, snapshot_id, first=None), entries))
        self.manifests = [*kept, *rows_of]
        name = self.folder / "metadata" / f"snap-{snapshot_id}.avro"
        write_avro(name, MANIFEST_LIST_FILE_SCHEMAS[3], "manifest_file", [row for row, _ in self.manifests])
        self.snapshots.append(
            {
                "snapshot-id": snapshot_id,
                "sequence-number": self.sequence,
                "timestamp-ms": 1700000000000 + self.sequence,
                "manifest-list": str(name),
                "summary": {"operation": "overwrite"},
                "schema-id": 0,
                "first-row-id": self.next_row_id,
                "added-rows": first - self.next_row_id,
            }
        )
        self.next_row_id = first
        return self.publish()

    def publish(self, **more: Any) -> IcebergTable:
        """Write the next metadata file."""
        self.version += 1
        fields = [{"id": at, "name": name, "required": False, "type": kind} for at, name, kind in self.columns]
        current = self.snapshots[-1]["snapshot-id"] if self.snapshots else -1
        said = {
            "format-version": self.format_version,
            "table-uuid": self.table_id,
            "location": str(self.folder),
            "last-sequence-number": self.sequence,
            "last-updated-ms": 1700000000000 + self.sequence,
            "last-column-id": max((at for at, _, _ in self.columns), default=0),
            "schemas": [{"type": "struct", "schema-id": 0, "fields": fields}],
            "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "default-spec-id": 0,
            "last-partition-id": 999,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "current-snapshot-id": current,
            "snapshots": self.snapshots,
            "refs": {"main": {"snapshot-id": current, "type": "branch"}} if self.snapshots else {},
            "next-row-id": self.next_row_id,
            **self.more,
            **more,
        }
        (self.folder / "metadata").mkdir(parents=True, exist_ok=True)
        self.metadata.write_text(json.dumps(said))
        (self.folder / "metadata" / "version-hint.text").write_text(str(self.version))
        return self

    @property
    def metadata(self) -> Path:
        """The last metadata file."""
        return self.folder / "metadata" / f"v{self.version}.metadata.json"

    def _rewritten(
        self, manifest: tuple[dict[str, Any], list[dict[str, Any]]], gone: set[str], snapshot_id: int
    ) -> list[dict[str, Any]]:
        """Entries of a manifest once more, what they inherited written out."""
        row, entries = manifest
        first, found = row["first_row_id"], []
        for entry in entries:
            if entry["status"] == DELETED:
                continue
            data_file = dict(entry["data_file"])
            if data_file["first_row_id"] is None:
                data_file["first_row_id"], first = first, first + data_file["record_count"]
            sequence = row["sequence_number"] if entry["sequence_number"] is None else entry["sequence_number"]
            status = DELETED if data_file["file_path"] in gone else EXISTING
            found.append(
                _entry(status, snapshot_id if status == DELETED else entry["snapshot_id"], sequence, data_file)
            )
        return found

    def _manifest(self, entries: list[dict[str, Any]], snapshot_id: int, *, first: int | None) -> dict[str, Any]:
        path = self.folder / "metadata" / f"{uuid.uuid4()}-m0.avro"
        write_avro(path, MANIFEST_ENTRY_SCHEMAS[3], "manifest_entry", entries)
        counts = {
            f"{word}_{what}_count": sum(
                1 if what == "files" else entry["data_file"]["record_count"]
                for entry in entries
                if entry["status"] == status
            )
            for status, word in ((ADDED, "added"), (EXISTING, "existing"), (DELETED, "deleted"))
            for what in ("files", "rows")
        }
        return {
            "manifest_path": str(path),
            "manifest_length": path.stat().st_size,
            "partition_spec_id": 0,
            "content": 0 if first is not None else 1,
            "sequence_number": self.sequence,
            "min_sequence_number": 1,
            "added_snapshot_id": snapshot_id,
            "partitions": None,
            "key_metadata": None,
            "first_row_id": first,
            **counts,
        }


def described(path: Path, rows: int, content: int = 0, **more: Any) -> dict[str, Any]:
    """Return the `data_file` of an entry."""
    names = [each.name for each in MANIFEST_ENTRY_SCHEMAS[3].find_field("data_file").field_type.fields]
    return {
        **dict.fromkeys(names),
        "content": content,
        "file_path": str(path),
        "file_format": "PARQUET",
        "partition": {},
        "record_count": rows,
        "file_size_in_bytes": path.stat().st_size,
        **more,
    }


def _entry(status: int, snapshot_id: int, sequence: int | None, data_file: dict[str, Any]) -> dict[str, Any]:
    return {
        "status": status,
        "snapshot_id": snapshot_id,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": data_file,
    }


def write_avro(path: Path, schema: Any, name: str, rows: list[dict[str, Any]]) -> None:
    """Write an Avro file of one of pyiceberg's schemas."""
    said = AvroSchemaConversion().iceberg_to_avro(schema, schema_name=name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(said), rows, metadata={"format-version": "3"})
