"""Delta tables with row tracking, written as the Delta Transaction Log Protocol says; deltalake writes none with it.

Data files are pyarrow's, checkpoints deltalake's. What a table has is read back by deltalake in the tests, by another
implementation of the protocol than ours.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyroaring
from pyarrow import parquet

ROW_ID, ROW_CHANGED = "_row-id-col-7f3a", "_row-commit-version-col-7f3a"
TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": ROW_ID,
    "delta.rowTracking.materializedRowCommitVersionColumnName": ROW_CHANGED,
}
FEATURES = ["rowTracking", "domainMetadata", "appendOnly", "invariants"]
TYPES = {"long": pa.int64(), "string": pa.string(), "integer": pa.int32(), "date": pa.date32(), "double": pa.float64()}

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def inline_vector(positions: Iterable[int]) -> dict[str, Any]:
    """Return a deletion vector that stands in the log itself, its bitmap by another library than ours."""
    bitmap = pyroaring.BitMap64(positions)
    data = struct.pack("<i", 1681511377) + bitmap.serialize()
    padded = data + bytes(-len(data) % 4)
    text = ""
    for at in range(0, len(padded), 4):
        number = int.from_bytes(padded[at : at + 4], "big")
        text += "".join(_Z85[number // 85**place % 85] for place in range(4, -1, -1))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(bitmap)}


@dataclass
class DeltaTable:
    """A writer of one table.

    Attributes:
        folder: where it is.
        columns: names and Delta types.
        partitioned_by: some of them.
        high: the highest id that was given.
        version: of the last commit.
        live: the actions of live files, by path.

    """

    folder: Path
    columns: dict[str, str]
    partitioned_by: list[str] = field(default_factory=list)
    configuration: Mapping[str, str] = field(default_factory=lambda: dict(TRACKED))
    features: Sequence[str] = tuple(FEATURES)
    table_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    high: int = -1
    version: int = -1
    live: dict[str, dict[str, Any]] = field(default_factory=dict)

    def create(self) -> DeltaTable:
        """Commit version 0, without rows."""
        return self.commit([self.protocol(), self.metadata()])

    def protocol(self, *readers: str) -> dict[str, Any]:
        said: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": list(self.features)}
        if readers:
            said |= {"minReaderVersion": 3, "readerFeatures": [*readers]}
            said["writerFeatures"] += readers
        return {"protocol": said}

    def metadata(self, **configuration: str) -> dict[str, Any]:
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in self.columns.items()]
        return {
            "metaData": {
                "id": self.table_id,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": self.partitioned_by,
                "createdTime": 0,
                "configuration": {**self.configuration, **configuration},
            }
        }

    def commit(self, actions: Iterable[Mapping[str, Any]]) -> DeltaTable:
        """Write a version of just these actions."""
        self.version += 1
        log = self.folder / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(action) + "\n" for action in ({"commitInfo": {"operation": "WRITE"}}, *actions)]
        (log / f"{self.version:020}.json").write_text("".join(lines))
        return self

    def file(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        name: str | None = None,
        moved: Mapping[int, tuple[int, int | None]] | None = None,
        more: Mapping[str, pa.Array] | None = None,
        **partition: str | None,
    ) -> dict[str, Any]:
        """Write a data file, and return the action that adds it in the next version.

        Args:
            rows: values by column, those of partition columns left out.
            name: of the file.
            moved: which of the rows keep an id, and when they were changed: None is with this commit.
            more: columns that are not the table's.
            partition: values of the partition columns, as the log writes them.

        """
        columns = {c: t for c, t in self.columns.items() if c not in self.partitioned_by and any(c in r for r in rows)}
        data = {c: pa.array([row.get(c) for row in rows], TYPES[t]) for c, t in columns.items()}
        if moved is not None:
            kept = [moved.get(at, (None, None)) for at in range(len(rows))]
            data[ROW_ID] = pa.array([each[0] for each in kept], pa.int64())
            data[ROW_CHANGED] = pa.array([each[1] for each in kept], pa.int64())
        name = name or f"part-{uuid.uuid4()}.parquet"
        path = "/".join([*(f"{c}={partition[c]}" for c in self.partitioned_by), name])
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table({**data, **(more or {})}), self.folder / path)
        first, self.high = self.high + 1, self.high + len(rows)
        return {
            "path": quote(path),
            "partitionValues": partition,
            "size": (self.folder / path).stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps({"numRecords": len(rows)}),
            "baseRowId": first,
            "defaultRowCommitVersion": self.version + 1,
        }

    def write(self, *added: dict[str, Any], removed: Iterable[dict[str, Any]] = ()) -> DeltaTable:
        """Commit files that come and files that go, and the highest id."""
        gone = [{"remove": {"path": each["path"], "deletionTimestamp": 0, "dataChange": True}} for each in removed]
        actions = [{"add": each} for each in added] + [self.mark()]
        for each in removed:
            del self.live[each["path"]]
        self.live |= {each["path"]: each for each in added}
        return self.commit([*gone, *actions])

    def mark(self) -> dict[str, Any]:
        said = json.dumps({"rowIdHighWaterMark": self.high})
        return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": said, "removed": False}}
