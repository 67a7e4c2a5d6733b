"""Spark's facts about a table or view: columns, its kind, the files it reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from forward_lineage.spark.errors import NOT_FOUND, spark_errors
from forward_lineage.spark.fidelity import canonical
from forward_lineage.spark.names import in_backticks, quoted_name, split_name
from forward_lineage.spark.paths import is_local, local_path
from rewrites.tables import FILE_METADATA
from udafs.errors import NotTracedError, WrongSqlError
from udafs.requests import ask, ask_json

_NOTHING_ASKED: dict[str, str | None] = {}
_ASKED_BEFORE: ContextVar[dict[str, str | None]] = ContextVar("view texts", default=_NOTHING_ASKED)

CHECK_FILES = "Check that it is there and whole: without lineage Spark cannot read it either."
"""What to do where Spark cannot read something."""


def open_table(spark: SparkSession, name: str) -> DataFrame:
    """Return the table or view that Spark knows by this name.

    Raises:
        WrongSqlError: there is none, its condition being `NOT_FOUND`, or Spark cannot read it.

    """
    try:
        return open_relation(
            spark, quoted_name(name), instead=f"Correct {name}: Spark cannot read it as it is defined."
        )
    except WrongSqlError as error:
        if error.condition != NOT_FOUND:
            raise
        raise WrongSqlError(
            f"Spark knows no table or view {name}",
            instead=f'Create it first, or name its files: lineage.register("{name}", path="…"); or '
            "give rows themselves, such as those of foreachBatch: source=frame.",
            condition=NOT_FOUND,
        ) from None


def open_relation(spark: SparkSession, relation: str, *, instead: str | None = None) -> DataFrame:
    """Return what stands after FROM, e.g. ``parquet.`/data/x```.

    Args:
        spark: the session.
        relation: SQL, its names quoted.
        instead: what to do when Spark cannot read it.

    Raises:
        WrongSqlError: Spark cannot read it.

    """
    with spark_errors(instead=instead or CHECK_FILES):
        return spark.sql(f"SELECT * FROM {relation}")


def check_expression(spark: SparkSession, sql: str, instead: str) -> None:
    """Check that SQL is one expression: it will stand in the middle of other SQL, which it must not end or go on.

    Args:
        spark: the session.
        sql: the text.
        instead: what to do when it is not.

    Raises:
        WrongSqlError: it is not; the error says where.

    """
    with spark_errors(sql, instead=instead):
        ask(spark, "expression", sql=sql)


def columns_of(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """Return names and types of the columns, the types as Spark SQL writes them."""
    return columns_in(frame.schema)


def columns_in(schema: StructType) -> tuple[tuple[str, str], ...]:
    """Return the same of a schema."""
    return tuple((field.name, type_name(field.dataType)) for field in schema.fields)


def is_char(field: StructField) -> bool:
    """Say whether a column is of type CHAR, or has it inside: to `dataType` that is a string."""
    return "char(" in str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).lower().replace("varchar", "")


def refuse_file_metadata(columns: Iterable[str], name: str) -> None:
    """Refuse rows whose places in Parquet files are to be their ids, where a column hides what Spark says of files.

    Raises:
        NotTracedError: a column is called `_metadata`.

    """
    for column in columns:
        if column.lower() == FILE_METADATA:
            raise NotTracedError(
                f"column {column} of {name} hides what Spark says of a row's place in its file, which its id is",
                instead="Give it another name.",
            )


def type_name(data_type: DataType) -> str:
    """Return a type as Spark SQL writes it."""
    return data_type.simpleString()


def full_name(spark: SparkSession, name: str) -> str | None:
    """Return the full name of a table of Spark's catalog, in backticks; None for a temporary view or a path."""
    table = spark.catalog.getTable(quoted_name(name))
    if table.isTemporary or table.catalog is None or not table.namespace:
        return None
    return ".".join(map(in_backticks, (table.catalog, *table.namespace, table.name)))


def only_row(frame: DataFrame) -> Row:
    """Compute a frame that has one row, such as an aggregate without groups.

    Raises:
        FailedQueryError: Spark cannot compute it.

    """
    with spark_errors():
        return frame.collect()[0]


def fingerprint(frame: DataFrame) -> str:
    """Return a checksum of what a table or view is: its definition, not its rows."""
    definition = ask(frame.sparkSession, "definition", frame)
    return hashlib.sha256(canonical(definition).encode()).hexdigest()[:16]


def parquet_location(spark: SparkSession, identity: str) -> str | None:
    """Return the folder of a catalog table that is stored as Parquet files, or its address; else None."""
    with spark_errors():
        said = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {identity}").collect()}
    if (said.get("Provider") or "").lower() != "parquet" or not said.get("Location"):
        return None
    location = said["Location"]
    return str(local_path(location)) if is_local(location) else str(location)


def last_part(name: str) -> str:
    """Return the table's own name, without catalog and database."""
    return split_name(name, keep_case=True)[-1]


def view_text(spark: SparkSession, name: str) -> str | None:
    """Return the SQL of a temporary view, None when there is no view of that name that was made from SQL."""
    asked = _ASKED_BEFORE.get()
    if (place := last_part(name)) in asked:
        return asked.pop(place)
    text = ask_json(spark, "view text", name=place)
    return None if text is None else str(text)


@contextmanager
def view_texts_at_once(spark: SparkSession, names: Iterable[str]) -> Iterator[None]:
    """Ask for the SQL of some views in one request; while the block runs, each answer serves `view_text` once.

    Once, since whoever asks again has changed the view meanwhile.
    """
    places = [place for name in names if "\n" not in (place := last_part(name))]
    texts = ask_json(spark, "view texts", names="\n".join(places)) if places else []
    token = _ASKED_BEFORE.set(dict(zip(places, texts, strict=True)))
    try:
        yield
    finally:
        _ASKED_BEFORE.reset(token)
