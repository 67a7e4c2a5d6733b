"""Find the sketch of each table that a query reads, by running it with lineage.   [Niu 2022, §4]

Lineage is that of ranges (`rewrites.granules.Ranges`), under control semantics, over every access of a table. It is a
number for each row that is read. Numbers are united where a group forces a set, and at the end over all rows of the
result.
Ensures:  each sketch has the fragment of every base row that control lineage of some result row has, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.columns.ranges import Partition, Sketch
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.chosen_ids import having_ids
from forward_lineage.spark.errors import rewritten_errors
from forward_lineage.spark.names import field_of_dl, quoted
from forward_lineage.spark.planning import Arguments
from forward_lineage.spark.versions import arrow_table
from forward_lineage.tracing.statements import Statements
from rewrites.granules import Ranges
from udafs.errors import BadArgumentError, NotTracedError
from udafs.lineage_set import LineageSet

_FRAGMENT = "fragment"


def capture(
    statements: Statements,
    tables: RegisteredTables,
    sql: str,
    partitions: Iterable[Partition],
    args: Arguments = None,
    *,
    one_witness: bool = False,
) -> dict[str, Sketch]:
    """Run a query and return the sketch of each table that is asked for.

    Args:
        statements: those of the session.
        tables: the registered tables.
        sql: a query.
        partitions: of the tables to find sketches of; others are not traced.
        args: values of its parameters.
        one_witness: of a group whose values are all attained by a row, `min` and `max`, take such rows alone
            (`rewrites.witnesses`).

    Returns:
        by the table's name, in the order of the partitions.

    Raises:
        LineageError: the query is not traced, does not read one of the tables, or Spark refuses it.

    """
    asked = {each.table.lower(): each for each in partitions}
    frame = capturing(statements, tables, sql, asked.values(), args, one_witness=one_witness)
    with rewritten_errors():
        row = frame.first()
    assert row is not None  # a global aggregate
    return {each.table: each.sketch(LineageSet.from_bytes(bytes(row[key]))) for key, each in asked.items()}


def capturing(
    statements: Statements,
    tables: RegisteredTables,
    sql: str,
    partitions: Iterable[Partition],
    args: Arguments = None,
    *,
    one_witness: bool = False,
) -> DataFrame:
    """Return the query of one row that has, for each table, the lineage value of its fragments; see `capture`.

    Its columns are called like the tables, in lower case.
    """
    frame = _traced(statements, tables, sql, list(partitions), args, one_witness=one_witness)
    names = frame.schema[-1].dataType.fieldNames()  # type: ignore[attr-defined]
    united = [F.call_function("dlunion", F.expr(field_of_dl(name))).alias(name.lower()) for name in names]
    with rewritten_errors():
        return frame.agg(*united)


def capture_with_rows(
    statements: Statements,
    tables: RegisteredTables,
    sql: str,
    partitions: Iterable[Partition],
    args: Arguments = None,
    *,
    one_witness: bool = False,
) -> tuple[dict[str, Sketch], pa.Table]:
    """Do what `capture` does, of a query that returns few rows, and return its rows, too, in their order."""
    asked = {each.table.lower(): each for each in partitions}
    frame = _traced(statements, tables, sql, list(asked.values()), args, one_witness=one_witness)
    users, lineage = frame.columns[:-1], frame.schema[-1]
    names = lineage.dataType.fieldNames()  # type: ignore[attr-defined]
    sets = [F.expr(field_of_dl(name)).alias(f"{lineage.name}_{i}") for i, name in enumerate(names)]
    with rewritten_errors():
        rows = arrow_table(frame.select(*(F.col(quoted(each)) for each in users), *sets))
    found = {}
    for i, name in enumerate(names):
        partition = asked[name.lower()]
        ids = {each for value in rows.column(len(users) + i) for each in LineageSet.from_bytes(value.as_py())}
        found[partition.table] = partition.sketch(ids)
    return found, rows.select(range(len(users)))


def _traced(
    statements: Statements,
    tables: RegisteredTables,
    sql: str,
    partitions: Sequence[Partition],
    args: Arguments,
    *,
    one_witness: bool,
) -> DataFrame:
    """The rows of the query, each with the lineage values of its fragments."""
    traced = statements.trace(
        sql,
        "control",
        args,
        unless_query=NotTracedError("only a query has sketches", instead="Give the query of this command alone."),
        granules=tuple(granules_of(tables, each, one_witness=one_witness) for each in partitions),
    )
    missing = {each.table.lower() for each in partitions} - {table.lower() for table in traced.rewritten.tables}
    if missing:
        reads = ", ".join(traced.rewritten.tables) or "none of the tables"
        raise BadArgumentError(f"the query does not read {', '.join(sorted(missing))}", instead=f"It reads {reads}.")
    _refuse_two_names(tables, [each.table for each in partitions], traced.rewritten.read.counts)
    return statements.run(traced)


def _refuse_two_names(tables: RegisteredTables, asked: Iterable[str], read: Iterable[str]) -> None:
    """A sketch is of all accesses of a table's files: not of those alone that go by one of two names."""
    named = set(read)
    for wanted in map(tables.registered, asked):
        files = {file.path for file in wanted.files}
        for other in tables.all().values():
            if other.name == wanted.name or other.name.split(".")[-1].lower() not in named:
                continue
            if other.relation == wanted.relation or not files.isdisjoint(file.path for file in other.files):
                raise NotTracedError(
                    f"the query reads the same rows as {wanted.name} and as {other.name}, and a sketch is of both",
                    instead="Read them by one name.",
                )


def granules_of(tables: RegisteredTables, partition: Partition, *, one_witness: bool) -> Ranges:
    """Return the granules of a registered table that a sketch is made of.

    Raises:
        LineageError: it has no such column.

    """
    manifest = tables.registered(partition.table)
    columns = {name.lower(): (name, kind) for name, kind in manifest.columns}
    if partition.column.lower() not in columns:
        raise BadArgumentError(f"{partition.table} has no column {partition.column}", instead="See its columns.")
    column = columns[partition.column.lower()]
    return Ranges(tables.base_table(manifest), *column, partition.packed, one_witness)


def from_ids(tables: RegisteredTables, partition: Partition, ids: LineageSet) -> Sketch:
    """Return the sketch of some rows of a table, by their ids: without running the query that they came from.

    Args:
        tables: the registered tables.
        partition: of the table.
        ids: of rows, such as the union of the lineage in a saved result.

    Raises:
        LineageError: the table is not what was registered.

    """
    (manifest,) = tables.check_unchanged([tables.registered(partition.table).name])
    table = tables.base_table(manifest)
    source = table.identified or table.relation
    fragment = f"dl_fragment({quoted(partition.column)}, X'{partition.packed.hex()}') AS {_FRAGMENT}"
    with rewritten_errors():
        rows = tables.spark.sql(f"SELECT {table.row_id} AS id, {fragment} FROM {source}")
        found = having_ids(rows, "id", ids).select(_FRAGMENT).distinct().collect()
    return partition.sketch(row[_FRAGMENT] for row in found)
