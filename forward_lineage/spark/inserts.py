"""Where the rows of an INSERT go, as Spark reads the statement, and whether their lineage has a place there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from forward_lineage.spark.errors import spark_errors
from udafs.errors import SparkError
from udafs.requests import ask_json

_INSERT = re.compile(r"\bINSERT\b", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """A table that rows are inserted into.

    Attributes:
        columns: those that the statement's rows fill, in the table's order; neither `DL` nor partitions that it names
            the values of.
        lineage: the fields of the table's column `DL`; () when it has no such column.
        meaning: what the table says of it; None: nothing.

    """

    columns: tuple[str, ...]
    lineage: tuple[str, ...]
    meaning: str | None = None


def insert_targets(spark: SparkSession, sql: str) -> list[Target] | None:
    """Return the tables that a statement inserts rows into.

    Args:
        spark: a session with the kernel attached.
        sql: one statement.

    Returns:
        one for each INSERT in it, none where rows go to a folder; None when it inserts nothing, when Spark does not
        read it (LINEAGE ON is not Spark's), or when there is no such table.

    """
    if not _INSERT.search(sql):
        return None
    try:
        with spark_errors():
            found = ask_json(spark, "insert targets", sql=sql)
    except SparkError:
        return None
    if found is None:
        return None
    return [Target(tuple(columns), tuple(lineage), next(iter(said), None)) for columns, lineage, said in found]


def lineage_target(spark: SparkSession, table: str) -> Target | None:
    """Return a table that keeps lineage, None if it keeps none or there is no such table.

    Args:
        spark: a session with the kernel attached.
        table: its name as SQL writes it.

    """
    found = insert_targets(spark, f"INSERT INTO {table} SELECT 1")
    return found[0] if found and found[0].lineage else None
