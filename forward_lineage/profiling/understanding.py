"""The meaning of attributes to Spark: their types, asked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812
from sqlglot import exp

from forward_lineage.columns.comparing import compared
from forward_lineage.columns.files import ID
from forward_lineage.columns.rows import over_rows, plain_column, rows_of
from forward_lineage.frontend import print_sql, refuse_other_readings
from forward_lineage.frontend.constraints import Attribute, Denial, errors_of, row_of
from forward_lineage.profiling.attribute_arrays import WantedAttribute
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.sources import check_repeatable
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.names import quoted, quoted_name
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import setting_of
from forward_lineage.spark.tables import last_part
from rewrites.refusals import nearest, position_of, refuse
from rewrites.tables import BaseTable
from udafs.errors import LineageError, WrongSqlError


def understood(
    spark: SparkSession, manifest: Manifest, base: BaseTable, attributes: Sequence[Attribute]
) -> list[WantedAttribute]:
    """Ask Spark about attributes of a table; nothing is computed.

    Args:
        spark: the session.
        manifest: the table.
        base: how its rows are read.
        attributes: over it.

    Raises:
        WrongSqlError: Spark does not understand one; says where.
        NotTracedError: one depends on chance, the clock or the session, or reads tables in its functions; or it was not
            understood as Spark understands it.

    """
    alias = last_part(manifest.name)
    columns = [name for name, _ in manifest.columns]
    for each in attributes:
        refuse_other_readings(setting_of(spark), each.text)
        with errors_of(each.constraint):
            _check_columns(each, alias, columns)
    kinds = _kinds(spark, base, attributes, alias)
    wanted = []
    for each, kind in zip(attributes, kinds, strict=True):
        with errors_of(each.constraint):
            compared(each.tree, kind, "a constraint")
        column = _named(plain_column(each.tree, alias), columns)
        lasting = column is not None or _check_faithful(spark, manifest, each)
        wanted.append(WantedAttribute(each, kind, alias, column, lasting))
    return wanted


def _named(column: str | None, columns: Sequence[str]) -> str | None:
    """A column as its table calls it; where two names differ in case only, the one that is written so."""
    if column is None or column in columns:
        return column
    return next(name for name in columns if name.lower() == column.lower())


def _check_columns(attribute: Attribute, alias: str, columns: Sequence[str]) -> None:
    """Say of a name that means nothing where it stands; names in a lambda may mean its own variables."""
    known = {name.lower() for name in columns}
    for column in attribute.tree.find_all(exp.Column):
        table = row_of(column)
        if attribute.tree.find(exp.Lambda) is not None or table.lower() in known:
            return
        if table and table.lower() != alias.lower():
            refuse(column, f"{table} is not {alias}", f"Write {alias}.{column.name}, or the name alone.", WrongSqlError)
        if len(column.parts) <= 2 and column.name.lower() not in known:
            refuse(column, f"{alias} has no column {column.name}", nearest(column.name, list(columns)), WrongSqlError)


def _kinds(spark: SparkSession, base: BaseTable, attributes: Sequence[Attribute], alias: str) -> list[T.DataType]:
    """The types of attributes; where Spark refuses some, it says so of the first one that it refuses alone."""
    items = [f"{print_sql(over_rows(each.tree, alias))} AS a{place}" for place, each in enumerate(attributes)]
    try:
        with spark_errors():
            frame = spark.sql(f"SELECT {', '.join([ID, *items])} FROM {rows_of(base)}")
    except WrongSqlError as error:
        at = position_of(attributes[0].tree)
        if len(attributes) > 1 or at is None:
            for each in attributes if len(attributes) > 1 else ():
                _kinds(spark, base, [each], alias)
            raise
        with errors_of(attributes[0].constraint):
            raise error.said_at(at) from None
    check_repeatable(frame, "a constraint")
    return [field.dataType for field in frame.schema.fields[1:]]


def check_denial(spark: SparkSession, manifest: Manifest, denial: Denial) -> None:
    """Check that Spark reads the condition of a denial in the same way.

    Raises:
        LineageError: as for `understood`.

    """
    table, columns = quoted_name(manifest.name), {name.lower() for name, _ in manifest.columns}
    rows = [quoted(row) for row in denial.rows if row.lower() not in columns]
    relation = ", ".join(f"{table} AS {row}" for row in rows) or table
    condition = denial.condition
    # In one pair of parentheses Spark takes a single name for a list of aliases.
    _check_texts(spark, condition, *(f"SELECT 1 FROM {relation} WHERE (({text}))" for text in _texts(condition)))


def _check_faithful(spark: SparkSession, manifest: Manifest, attribute: Attribute) -> bool:
    """Check how Spark reads an expression; tell whether it calls none of the user's functions."""
    table = quoted_name(manifest.name)
    return _check_texts(spark, attribute, *(f"SELECT {text} FROM {table}" for text in _texts(attribute)))


def _texts(attribute: Attribute) -> tuple[str, str]:
    return attribute.text, print_sql(attribute.tree)


def _check_texts(spark: SparkSession, attribute: Attribute, text: str, printed: str) -> bool:
    planner = Planner(spark)
    with errors_of(attribute.constraint):
        try:
            check_fidelity(planner.plan, text, printed)
        except LineageError as error:
            at = position_of(attribute.tree)
            raise (error if at is None else error.said_at(at)) from None
        if planner.reading_functions:
            refuse(
                attribute.tree,
                f"{planner.reading_functions}, which reads a table, in a constraint",
                "Save the query that calls it, and check the saved result.",
            )
    return not planner.functions
