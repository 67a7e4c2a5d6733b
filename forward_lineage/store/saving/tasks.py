"""The work of a Spark task on its rows: write them as Parquet, and their lineage as segments, where the data is.

Runs in the executors' Python workers. A task counts its rows from 0, since nobody knows yet how many rows the tasks
before it have. It reports its files, and only the report of a task's successful attempt is taken. So rows and lineage
always come from one and the same execution.
"""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.relations import segment as segments
from forward_lineage.relations.box_counts import pairs_of
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Form, Segment
from forward_lineage.relations.values import relation_of_values
from forward_lineage.spark.worker_sockets import acknowledge_at_once
from forward_lineage.storage.local_folder import unwritable
from forward_lineage.storage.mirror import Mirror
from forward_lineage.storage.object_store import ObjectStore
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SegmentEntry
from forward_lineage.store.saving.nested_columns import as_written
from forward_lineage.store.saving.window_frames import FrameWriter
from udafs.delta import MAX_ID
from udafs.errors import SetupError

REPORT = "partition INT, files STRING"  # what a task returns: one row, a `TaskFiles` as JSON

#: Rows are written in groups of about this many bytes in memory, lineage values are held back as long.
_GROUP = 64 << 20
#: A segment is closed at this many bytes of lineage values, so that no task holds more in memory.
_SEGMENT = 64 << 20
#: Lineage of fewer pairs is left for the driver to merge with that of the other tasks; see `merging`.
MERGED_BELOW = 1 << 17
#: The first question for a row reads its segment; so many runs of ids are read in some milliseconds.
MOST_RUNS = 1 << 18


@dataclass(frozen=True)
class Task:
    """The message for every task.

    Attributes:
        folder: data folder of the result, which driver and executors share, unless there is an address.
        schema: of the Parquet files, serialised, Spark's own description of the columns in its metadata.
        tables: how many lineage columns there are, behind the user's columns.
        form: of the segments.
        frames: how many columns of window frames there are, behind those.
        address: of that folder in an object store, where what was written is sent to; empty: it stays where it is.

    """

    folder: str
    schema: bytes
    tables: int
    form: Form
    frames: int = 0
    address: str = ""

    def arrow_schema(self) -> pa.Schema:
        """Return the schema of the Parquet files."""
        return pa.ipc.read_schema(pa.py_buffer(self.schema))


@dataclass
class TaskFiles:
    """The output of one task; row numbers are the task's own. Paths are relative to the data folder."""

    rows: list[RowFile] = field(default_factory=list)
    segments: list[list[SegmentEntry]] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.rows)

    def to_json(self) -> str:
        """Write it for the way to the driver."""
        return json.dumps(
            {
                "rows": [vars(each) for each in self.rows],
                "segments": [[vars(each) for each in table] for table in self.segments],
                "frames": self.frames,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> TaskFiles:
        """Read what `to_json` wrote."""
        data = json.loads(text)
        return cls(
            [RowFile(**each) for each in data["rows"]],
            [[SegmentEntry(**each) for each in table] for table in data["segments"]],
            data["frames"],
        )


class SaveTask:
    """The function that Spark runs over every partition."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a partition and report its files."""
        from pyspark import TaskContext  # noqa: PLC0415 - there is one in a task only

        acknowledge_at_once()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        attempt = context.taskAttemptId() if context else 0
        found = _write(self.task, batches, f"{partition:05}-{attempt}")
        yield pa.RecordBatch.from_pydict(
            {"partition": pa.array([partition], pa.int32()), "files": pa.array([found.to_json()], pa.string())}
        )


def _write(task: Task, batches: Iterator[pa.RecordBatch], name: str) -> TaskFiles:
    if not task.address:
        folder = Path(task.folder)
        _check_shared(folder)
        return _write_into(folder, task, batches, name)
    with tempfile.TemporaryDirectory(prefix="forward_lineage-") as here:
        folder = Path(here)
        found = _write_into(folder, task, batches, name)
        Mirror(ObjectStore(task.address), folder).send_all()
        return found


def _write_into(folder: Path, task: Task, batches: Iterator[pa.RecordBatch], name: str) -> TaskFiles:
    rows = RowWriter(folder, f"rows/.{name}", task.arrow_schema())
    lineage = [SegmentWriter(folder, f"lineage/{table}/.{name}", task.form) for table in range(task.tables)]
    paths = [f"frames/{number}/.{name}" for number in range(task.frames)]
    frames = [FrameWriter(folder / path) for path in paths]
    for batch in batches:
        users = batch.num_columns - task.tables - task.frames
        with _written_here(folder):
            rows.add(batch.columns[:users])
            writers: list[SegmentWriter | FrameWriter] = [*lineage, *frames]
            for writer, values in zip(writers, batch.columns[users:], strict=True):
                writer.add(values)
    with _written_here(folder):
        written = rows.close()
        for each in frames:
            each.close()
        return TaskFiles([written] if written else [], [writer.close() for writer in lineage], paths)


def _check_shared(folder: Path) -> None:
    """Check that the driver's folder is here, too, and make none in its place.

    It is not if home is no folder that all machines share. Nor is it if the driver has died and another session has
    removed its files.

    Raises:
        SetupError: it is not.

    """
    if not (folder / "rows").is_dir():
        raise SetupError(
            f"{folder}, which the driver has made, is not on {socket.gethostname()}, where an executor runs",
            instead="Pass home= a folder that driver and executors share under one path.",
        )


@contextmanager
def _written_here(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(folder, error, f" on {socket.gethostname()}") from None


class RowWriter:
    """Rows of one task as one Parquet file, in the order in which they come.

    Args:
        folder: data folder of the result.
        path: of the file, below it.
        schema: of the file.

    """

    def __init__(self, folder: Path, path: str, schema: pa.Schema) -> None:
        self.folder, self.path, self.schema = folder, path, schema
        self.rows = 0
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, columns: list[pa.Array]) -> None:
        """Take the user's columns of a batch."""
        fields = self.schema
        arrays = [as_written(each, field.type) for each, field in zip(columns, fields, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=fields)
        self.rows += batch.num_rows
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _GROUP:
            self._flush()

    def close(self) -> RowFile | None:
        """Finish the file; None when there were no rows."""
        if self.rows:
            self._flush()
        if self._writer is None:
            return None
        self._writer.close()
        return row_file(self.folder, self.path, 0, self.rows)

    def _flush(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            self._writer = open_parquet(self.folder / self.path, self.schema)
        table = pa.Table.from_batches(self._held, self.schema)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self._held, self._bytes = [], 0


def open_parquet(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Begin a Parquet file; its folder is made.

    Arrow leaves NaN out of the least and the greatest value of a column. Spark, to which NaN is greater than all
    others, would skip rows by them that it must return: columns with floating numbers say no such values.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    told = [each.name for each in schema if not pa.types.is_nested(each.type) and not pa.types.is_floating(each.type)]
    return pq.ParquetWriter(path, schema, compression="zstd", write_statistics=told)


class SegmentWriter:
    """The lineage of one task's rows in one table, as segments of a bounded size.

    Args:
        folder: data folder of the result.
        path: beginning of the files' names, below it.
        form: of the segments.

    """

    def __init__(self, folder: Path, path: str, form: Form) -> None:
        self.folder, self.path, self.form = folder, path, form
        self.written: list[SegmentEntry] = []
        self._first_row = self._rows = self._bytes = 0
        self._held: list[pa.Array] = []

    def add(self, values: pa.Array) -> None:
        """Take the lineage values of a batch."""
        self._held.append(values)
        self._rows += len(values)
        self._bytes += values.nbytes
        if self._bytes >= _SEGMENT:
            self._flush()

    def close(self) -> list[SegmentEntry]:
        """Write what is left and return all segments."""
        if self._rows:
            self._flush()
        return self.written

    def _flush(self) -> None:
        large = [values.cast(pa.large_binary()) for values in self._held]
        relation = relation_of_values(pa.chunked_array(large, pa.large_binary()))
        for rows, part in relation.split(self._rows, MOST_RUNS):
            self._write(rows, part)
        self._rows = self._bytes = 0
        self._held = []

    def _write(self, rows: int, relation: RunsRelation) -> None:
        # What the driver merges anyway need not be made as small as can be here, nor reach the disk.
        merged = self.form == "auto" and len(relation) < MERGED_BELOW
        form: Form = "runs" if merged else self.form
        path, first_row = f"{self.path}-{len(self.written)}", self._first_row
        self.written.append(
            write_segment(self.folder, path, relation, first_row=first_row, rows=rows, form=form, to_disk=not merged)
        )
        self._first_row += rows


def write_segment(
    folder: Path,
    path: str,
    relation: LineageRelation,
    *,
    first_row: int,
    rows: int,
    form: Form,
    to_disk: bool = True,
) -> SegmentEntry:
    """Write a segment whose rows count from 0, and note that they begin at `first_row`.

    `to_disk`: see `segments.write_encoded`.
    """
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    data, written = segments.write_encoded(place, Segment(0, rows, relation), form, to_disk=to_disk)
    between = relation.id_range if written == "runs" and isinstance(relation, RunsRelation) else None
    first_id, last_id = between or (None, None)
    checksum = segments.checksum(data)
    pairs = pairs_of(relation) if isinstance(relation, BoxRelation) and written == "boxes" else len(relation)
    return SegmentEntry(path, first_row, rows, min(pairs, MAX_ID), written, len(data), checksum, first_id, last_id)


def report(entry: Any) -> tuple[int, TaskFiles]:
    """Read a row that a task returned."""
    return int(entry[0]), TaskFiles.from_json(entry[1])
