"""Ids from an integer key: the id of a row is its key.   [Zhang 2007, §2: "we use the key as the lineage"]"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody gives it
from pyspark.sql.types import IntegralType

from forward_lineage.catalog import key_table
from forward_lineage.row_ids.data_files import input_files
from forward_lineage.row_ids.file_locations import relation_of
from forward_lineage.row_ids.formats.watching import logs_read
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.sources import (
    check_rows,
    check_source,
    contents,
    digest_of,
    is_of_a_program,
    row_hash,
)
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted, quoted_name
from forward_lineage.spark.tables import (
    check_expression,
    columns_of,
    fingerprint,
    full_name,
    only_row,
    open_relation,
    open_table,
    type_name,
)
from udafs.errors import BadArgumentError
from udafs.requests import ask


def from_key(
    spark: SparkSession, name: str, key: str, *, path: Mapping[str, Any] | None = None, trusted: bool = False
) -> Manifest:
    """Register a table or view by a unique, non-negative integer column.

    Args:
        spark: the session that knows the table.
        name: the table's name.
        key: the column.
        path: where Parquet files are that the name is to mean, see `source_of`; None: Spark knows the name.
        trusted: take uniqueness on trust; no row is read.

    Raises:
        WrongSqlError: there is no such table, or Spark cannot read it.
        BadArgumentError: there is no such column, or the column is not such a key.
        NotTracedError: rows that may change unnoticed, or by themselves; see `check_source`.

    """
    opened = _open(spark, name, path)
    table = key_table(name, [column for column, _ in opened.columns], key, relation=opened.relation)
    field = next(field for field in opened.frame.schema.fields if field.name.lower() == key.lower())
    if not isinstance(field.dataType, IntegralType):
        raise BadArgumentError(
            f"key {field.name} of {name} is {type_name(field.dataType).upper()}, not an integer",
            instead=f'Use key=["{field.name}"]: a dictionary then gives every value of it an id.',
        )
    check_source(opened.frame, name, trusted=trusted)
    kept = {}
    if not trusted:
        digest = check_unique_ids(
            opened.frame, quoted(field.name), f"key {field.name} of {name}", None if path else name, field.name
        )
        kept = contents(opened.frame, digest)
    return opened.manifest(Provider.KEY, table.row_id, (field.name,), trusted, kept)


def from_expression(spark: SparkSession, name: str, row_id: str, *, trusted: bool = False) -> Manifest:
    """Register a table by what is a row id already, e.g. Delta's `_metadata.row_id` or Iceberg's `_row_id`.

    Args:
        spark: the session that knows the table.
        name: the table's name.
        row_id: Spark SQL over the table, its hidden columns included.
        trusted: take uniqueness on trust; no row is read.

    Raises:
        WrongSqlError: there is no such table, or Spark does not understand the expression.
        BadArgumentError: the expression is no integer, or not unique and non-negative.
        NotTracedError: rows or ids that may change unnoticed, or by themselves; see `check_source`.

    """
    opened = _open(spark, name, None)
    sql = f"SELECT {row_id} AS id FROM {opened.relation}"
    instead = f"Correct row_id=: it is Spark SQL over {name}."
    check_expression(spark, row_id, instead)
    with spark_errors(instead=instead):
        ids = spark.sql(sql)
    kind = ids.schema.fields[0].dataType
    if not isinstance(kind, IntegralType):
        raise BadArgumentError(
            f"row id {row_id} of {name} is {type_name(kind).upper()}, not an integer",
            instead="Use another expression, or key=[…]: a dictionary then gives every value an id.",
        )
    check_rows(opened.frame, name)
    check_source(ids, name, trusted=trusted)
    kept = {}
    if not trusted:
        check_unique_ids(ids, "id", f"row id {row_id} of {name}", name)
        kept = contents(opened.frame)
    return opened.manifest(Provider.COLUMN, f"CAST({row_id} AS BIGINT)", (row_id,), trusted, kept)


@dataclass(frozen=True)
class _Opened:
    name: str
    frame: DataFrame
    relation: str
    identity: str | None
    view: str | None
    source: dict[str, Any]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return columns_of(self.frame)

    def manifest(
        self, provider: Provider, row_id: str, key: tuple[str, ...], trusted: bool, kept: Mapping[str, Any]
    ) -> Manifest:
        # A name that is ours leads to these files until `refresh`; who trusts a table of Spark's may let it grow.
        files = () if trusted and self.view is None else input_files(self.frame)
        logs = logs_read(self.frame, (file.path for file in files)) if files else {}
        return Manifest(
            name=self.name,
            provider=provider,
            columns=self.columns,
            relation=self.relation,
            row_id=row_id,
            view=self.view,
            key=key,
            source={**self.source, "fingerprint": fingerprint(self.frame), **kept, **({"logs": logs} if logs else {})},
            identity=self.identity,
            files=files,
            trusted=trusted,
        )


def _open(spark: SparkSession, name: str, path: Mapping[str, Any] | None) -> _Opened:
    if path is not None:
        relation = relation_of(path)
        frame = open_relation(spark, relation)
        return _Opened(name, frame, relation, None, f"SELECT * FROM {relation}", dict(path))
    frame = open_table(spark, name)
    identity = full_name(spark, name)
    return _Opened(name, frame, identity or quoted_name(name), identity, None, {"table": name})


def check_unique_ids(
    frame: DataFrame, expression: str, what: str, table: str | None = None, column: str | None = None
) -> str | None:
    """Check in one aggregate pass that an expression is never NULL, never negative and never twice the same.

    When it is, a second pass finds out what is wrong.

    Args:
        frame: the rows.
        expression: Spark SQL over them, of an integer type.
        what: how messages call it.
        table: what Spark calls the rows, so that they can be copied; None: nothing.
        column: the one that it is; None: another expression.

    Returns:
        the digest of the rows (see `digest_of`) if they are those of a program's DataFrame, else None.

    Raises:
        BadArgumentError: it is; the message says which, how often, and gives an example.

    """
    ids = frame.select(F.expr(expression).cast("bigint").alias("id"))
    digested = is_of_a_program(frame)
    if not digested and _fits_in_a_set(frame) and _is_a_set(ids):
        return None
    hashes = row_hash(frame) if digested else F.lit(0)
    found = _faults(frame.select(F.expr(expression).cast("bigint").alias("id"), hashes.alias("hash")))
    wrong = None
    if found.nulls:
        wrong = f"NULL in {rows(found.nulls)}"
    elif found.negatives:
        wrong = f"negative in {rows(found.negatives)}, e.g. {found.smallest}"
        if column is not None and table and not found.repeats:
            raise BadArgumentError(
                f"{what} is {wrong}", instead=f'Use key=["{column}"]: a dictionary then gives every value of it an id.'
            )
    elif found.repeats:
        wrong = f"not unique: {rows(found.repeats)} repeat a value, e.g. {found.repeated}"
    if wrong is not None:
        raise BadArgumentError(f"{what} is {wrong}", instead=f"{_OTHER_IDS} {a_copy(table)}" if table else _OTHER_IDS)
    return str(found.digest) if digested else None


def _faults(ids: DataFrame) -> Row:
    groups = ids.groupBy("id").agg(F.count("*").alias("n"), F.bit_xor("hash").alias("hash"))
    counts = groups.agg(
        F.sum(F.when(F.col("id").isNull(), F.col("n"))).alias("nulls"),
        F.sum(F.when(F.col("id") < 0, F.col("n"))).alias("negatives"),
        F.min("id").alias("smallest"),
        F.sum(F.when(F.col("id").isNotNull() & (F.col("n") > 1), F.col("n") - 1)).alias("repeats"),
        F.min(F.when(F.col("n") > 1, F.col("id"))).alias("repeated"),
        digest_of(F.col("hash"), F.coalesce(F.sum("n"), F.lit(0))).alias("digest"),
    )
    return only_row(counts)


def _fits_in_a_set(frame: DataFrame) -> bool:
    """A set of all ids takes up to 16 bytes an id in one task; grouping, which is slower, can spill to disk."""
    return int(ask(frame.sparkSession, "size", frame)) < _MOST_BYTES


def _is_a_set(ids: DataFrame) -> bool:
    """Tell whether there are as many different ids as rows, none NULL or negative."""
    counts = ids.agg(
        F.count("*").alias("rows"),
        F.count_if(F.col("id") >= 0).alias("valid"),
        F.expr("dl_size(dlunion(CASE WHEN id >= 0 THEN id END))").alias("different"),
    )
    found = only_row(counts)
    return bool(found.rows == found.valid == found.different)


_MOST_BYTES = 8 << 30  # of the table, as Spark estimates it
_OTHER_IDS = "Use another key, several columns (key=[…]), or path= for ids by position."


def a_copy(name: str) -> str:
    """Say how a copy is registered, whose rows get ids whatever they hold."""
    return f'Or a copy, all rows of which get ids: lineage.register("another_name", source="{name}").'


def rows(count: int) -> str:
    """Write a number of rows."""
    return f"{count} row" if count == 1 else f"{count} rows"
