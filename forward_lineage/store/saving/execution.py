"""Save the rows of a DataFrame and their lineage, both from one execution, written where the data is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from forward_lineage.relations.segment import Form
from forward_lineage.results import HIDDEN_PREFIX
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.spark.progress import spark_progress
from forward_lineage.spark.python_workers import interpreter_of, interpreter_of_server, interrupted_with
from forward_lineage.spark.settings import configured
from forward_lineage.spark.tables import refuse_file_metadata, type_name
from forward_lineage.spark.versions import arrow_schema, map_in_arrow
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SegmentEntry
from forward_lineage.store.saving.merging import settle
from forward_lineage.store.saving.nested_columns import written_schema
from forward_lineage.store.saving.servers_tasks import ServersSaveTask, release
from forward_lineage.store.saving.tasks import REPORT, SaveTask, Task, open_parquet, report
from forward_lineage.store.saving.window_frames import Frames, read_frames
from udafs.attach import is_remote
from udafs.errors import NotTracedError

#: A batch of rows on its way from Spark to Python takes at most about this much: lineage values may be large.
_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH = str(64 << 20)


@dataclass(frozen=True)
class Written:
    """The output of saving: row files, the segments of each lineage value, and the rows' window frames."""

    row_files: tuple[RowFile, ...]
    segments: tuple[tuple[SegmentEntry, ...], ...]
    frames: tuple[Frames, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(file.rows for file in self.row_files)


@dataclass(frozen=True)
class Target:
    """Where rows are written to, and how.

    Attributes:
        folder: a new folder; driver and executors share it, or have an object store behind it.
        name: of the result, for messages.
        schema: the columns of its rows.
        form: of segments.
        first_row: number of the first row.
        files: in the folder.

    """

    folder: Path
    name: str
    schema: StructType
    form: Form
    first_row: int = 0
    files: Files = LOCAL


def write_result(
    frame: DataFrame, lineage: str | None, tables: Sequence[str], target: Target, frames: Sequence[str] = ()
) -> Written:
    """Run a query once and write its rows and lineage.

    Args:
        frame: the query.
        lineage: its lineage column; None when nothing was traced.
        tables: the fields of that column.
        target: where to.
        frames: its columns that say what window frames are to a row.

    Raises:
        LineageError: a column cannot be kept as Parquet, or Spark's own complaint about the query.

    """
    spark, folder, form = frame.sparkSession, target.folder, target.form
    arrow = parquet_schema(target.schema, target.name, spark)
    task = Task(
        str(folder), arrow.serialize().to_pybytes(), len(tables), form, len(frames), target.files.address(folder)
    )
    (folder / "rows").mkdir()
    progress = spark_progress(spark, f"saving {target.name}")
    with progress, configured(spark, {_BATCH_BYTES: _BATCH}), spark_errors():
        reports = _run_tasks(_flat(frame, lineage, tables, frames), task)
    tasks = [files for _, files in sorted(map(report, reports), key=lambda each: each[0])]
    row_files, segments = settle(folder, tasks, target.first_row, form, target.files)
    if not row_files:  # Spark needs a file to know the columns
        row_files = [no_rows(folder, arrow, target.first_row)]
    target.files.fetch_all((folder / path, None, None) for each in tasks for path in each.frames)
    found = [read_frames([folder / each.frames[number] for each in tasks]) for number in range(len(frames))]
    _clear_attempts(folder, target.files)
    return Written(tuple(row_files), tuple(map(tuple, segments)) or tuple(() for _ in tables), tuple(found))


def no_rows(folder: Path, schema: pa.Schema, first_row: int) -> RowFile:
    """Write a file without rows, which says what the columns are."""
    path = f"rows/part-{first_row:019}.parquet"
    open_parquet(folder / path, schema).close()
    return row_file(folder, path, first_row, 0)


def user_schema(frame: DataFrame, *others: str | None) -> StructType:
    """Return the user's columns of a DataFrame: all but the lineage, and what else is named."""
    return StructType([field for field in frame.schema.fields if field.name not in others])


def _flat(frame: DataFrame, lineage: str | None, tables: Sequence[str], frames: Sequence[str]) -> DataFrame:
    """Return the user's columns, then one column for each table, then frames, under names of our own."""
    users = [each for each in frame.columns if each != lineage and each not in frames]
    return frame.selectExpr(
        *(f"{quoted(each)} AS c{i}" for i, each in enumerate(users)),
        *(f"{lineage}.{quoted(table)} AS l{i}" for i, table in enumerate(tables)),
        *(f"{quoted(each)} AS f{i}" for i, each in enumerate(frames)),
    )


def _run_tasks(flat: DataFrame, task: Task) -> list[Any]:
    if is_remote(flat.sparkSession):
        with interpreter_of_server(), interrupted_with(flat.sparkSession):
            return flat.mapInArrow(ServersSaveTask(task, release()), REPORT).collect()
    with interpreter_of(flat.sparkSession.sparkContext):
        return map_in_arrow(flat, SaveTask(task), REPORT).collect()


def parquet_schema(schema: StructType, name: str, spark: SparkSession) -> pa.Schema:
    """Return the schema of the files, with the metadata by which Spark knows the columns again.

    Raises:
        NotTracedError: two columns have one name, or a type cannot be kept.

    """
    if not schema.fields:
        raise NotTracedError(f"{name} has no columns", instead="Select at least one.")
    _refuse_equal_names(schema, name)
    refuse_file_metadata(schema.names, name)
    zone = spark.conf.get("spark.sql.session.timeZone")
    for field in schema.fields:
        _check_kept(field, name, zone)
    return written_schema(arrow_schema(schema, zone)).with_metadata(
        {"org.apache.spark.version": spark.version, "org.apache.spark.sql.parquet.row.metadata": schema.json()}
    )


def _refuse_equal_names(schema: StructType, name: str) -> None:
    seen: set[str] = set()
    for field in schema.fields:
        if field.name.lower() in seen:
            raise NotTracedError(
                f"{name} has two columns called {field.name}", instead="Give one of them another name."
            )
        if field.name.lower().startswith(HIDDEN_PREFIX):
            raise NotTracedError(
                f"column {field.name} of {name} has a name that is reserved for lineage",
                instead="Give it another name.",
            )
        quoted(field.name)  # questions will name it
        seen.add(field.name.lower())


def _check_kept(field: StructField, name: str, zone: str | None) -> None:
    """Check that Parquet can keep a column as Spark hands it to Python."""
    kind = type_name(field.dataType)
    if kind == "void":
        raise NotTracedError(f"column {field.name} of {name} has no type, only NULLs", instead="Cast it to a type.")
    try:
        pq.ParquetWriter(io.BytesIO(), arrow_schema(StructType([field]), zone)).close()
    except (PySparkException, pa.ArrowException, ValueError):  # the last of keys that are void, those of map()
        other = kind.replace("void", "string").upper() if "void" in kind else "STRING"
        raise NotTracedError(
            f"column {field.name} of {name} has type {kind}, which cannot be saved",
            instead=f"Cast it to another type, e.g. {other}.",
        ) from None


def _clear_attempts(folder: Path, files: Files) -> None:
    """Remove what attempts wrote that failed or came second."""
    if files is LOCAL:
        left = [*folder.glob("rows/.*"), *folder.glob("lineage/*/.*")]
    else:
        parts = {path: path.relative_to(folder).parts for path in files.below(folder)}
        left = [path for path, (room, *rest) in parts.items() if room in ("rows", "lineage") and rest[-1][0] == "."]
    files.remove(left)
    files.remove_folder(folder / "frames")
