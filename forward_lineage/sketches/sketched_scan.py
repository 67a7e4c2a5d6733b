"""A query that reads of some tables only the rows in a sketch.   [Niu 2022, §5]

Q[𝒫]:  R  →  σ_{a in the ranges of 𝒫}(R)  for every access of R in Q, by whatever name
Ensures:  the user's columns and names; rows as the query gives them over the tables cut down to their sketches.
          Whether these are the rows that it gives over the whole tables, `sketches.safety` proves.
Accesses: whatever reads the same relation as the table's name does: two names of the same files are one table.
Reads:    of Parquet files only those, and of these only the row groups and pages, that may have such rows. The exact
          test comes last. Of other sources everything, and the exact test decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.columns.ranges import Sketch
from forward_lineage.frontend import parse
from forward_lineage.sketches.sketched_query import QueriedTable
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.planning import Arguments
from udafs.errors import BadArgumentError
from udafs.requests import ask_frame, ask_json


def use(
    spark: SparkSession,
    sql: str,
    sketches: Mapping[str, Sketch],
    args: Arguments = None,
    *,
    relations: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return what a query gives when it reads of each table only the rows in its sketch.

    Args:
        spark: a session with the kernel attached.
        sql: a query.
        sketches: by table.
        args: values of the query's parameters.
        relations: by table, the text behind FROM to read its rows; the table's name by default.

    Raises:
        LineageError: no query, or Spark's own complaint; a sketch of a table that the query does not read, or of
            another type than its column.

    """
    if not parse(sql).is_query:
        raise BadArgumentError("only a query can use sketches", instead="Give the query of this command alone.")
    return cut_down(as_it_is(spark, sql, args), sketches, relations)


def as_it_is(spark: SparkSession, sql: str, args: Arguments = None) -> DataFrame:
    """Return what Spark gives for a statement.

    Raises:
        LineageError: Spark's own complaint.

    """
    with spark_errors(sql):
        return spark.sql(sql, args=args) if args else spark.sql(sql)


def cut_down(frame: DataFrame, sketches: Mapping[str, Sketch], relations: Mapping[str, str] | None = None) -> DataFrame:
    """Return a query that reads of each table only the rows in its sketch.

    Args:
        frame: the query, over the whole tables; its session has the kernel attached.
        sketches: by table.
        relations: as for `use`.

    Raises:
        LineageError: as for `use`.

    """
    spark = frame.sparkSession
    for table, sketch in sketches.items():
        partition, rows = sketch.partition, _rows(spark, table, relations)
        with spark_errors():
            used = ask_frame("with sketch", frame, rows, column=partition.column, **_packed(sketch))
        if used is None:
            raise BadArgumentError(f"the query does not read {table}", instead="Give sketches of its tables.")
        frame = used
    return frame


@dataclass(frozen=True)
class ReadShare:
    """How much of something is read: `read` of `all`."""

    read: int
    all: int

    @property
    def skipped(self) -> int:
        """How much is not."""
        return self.all - self.read


@dataclass(frozen=True)
class Skipped:
    """The part that an access of a table reads with a sketch, and the whole.

    Attributes:
        files: Parquet files.
        row_groups: of them.
        rows: in pages that are read; the exact test leaves fewer.
        bytes: of these, of all columns, in their stored size; an estimate, by rows.

    """

    files: ReadShare
    row_groups: ReadShare
    rows: ReadShare
    bytes: ReadShare


def skipped(spark: SparkSession, sketch: Sketch, relation: str | None = None) -> Skipped | None:
    """Return what a sketch saves an access of its table; None where files say nothing: then all is read.

    Args:
        spark: a session with the kernel attached.
        sketch: of a table.
        relation: what stands behind FROM to read its rows; None: the table's name.

    """
    partition = sketch.partition
    rows = _rows(spark, partition.table, {partition.table: relation} if relation else None)
    with spark_errors():
        said = ask_json(spark, "skipped", rows, column=partition.column, **_packed(sketch))
    found = list(map(int, said))
    return Skipped(*(ReadShare(found[i + 1], found[i]) for i in range(0, 8, 2))) if found else None


def kept_size(spark: SparkSession, table: QueriedTable, sketch: Sketch | None) -> int:
    """Return how many bytes of a table's files are read with a sketch, about; None: it has none."""
    read = skipped(spark, sketch) if sketch is not None else None
    return table.size if read is None else round(table.size * read.bytes.read / max(read.bytes.all, 1))


def said_of(sketch: Sketch, saved: Skipped | None) -> str:
    """Return in a line what a sketch saves an access of its table."""
    partition = sketch.partition
    called = f"{partition.table} by {partition.column}, {len(sketch.fragments):,} of {partition.fragments:,} ranges"
    if saved is None:
        return f"{called}: everything is read and tested"
    parts = {"rows": saved.rows, "row groups": saved.row_groups, "files": saved.files, "bytes": saved.bytes}
    read = ", ".join(f"{part.read:,} {what}" for what, part in parts.items())
    left_out = ", ".join(f"{part.skipped:,} {what}" for what, part in parts.items())
    return f"{called}: reads {read}; skips {left_out}"


def _packed(sketch: Sketch) -> dict[str, bytes]:
    return {"bounds": sketch.partition.packed, "fragments": sketch.packed_fragments()}


def _rows(spark: SparkSession, table: str, relations: Mapping[str, str] | None) -> DataFrame:
    relation = (relations or {}).get(table, table)
    with spark_errors():
        return spark.sql(f"SELECT * FROM {relation}")
