"""The facts that the rows of a table or view depend on, by Spark's analysed plan: sources, chance, order, own rows."""

from __future__ import annotations

from pyspark.sql import DataFrame

from forward_lineage.spark.errors import spark_errors
from udafs.requests import ask, ask_json


def unwatched_sources(frame: DataFrame) -> list[str]:
    """Return, in words, what may change unnoticed: sources other than files and rows, functions by their name."""
    return list(ask_json(frame.sparkSession, "unwatched", frame))


def unrepeatable_parts(frame: DataFrame) -> list[str]:
    """Return, in words, what is left to chance, to the clock or to the session, so that rows may differ every time."""
    return list(ask_json(frame.sparkSession, "unrepeatable", frame))


def open_orders(frame: DataFrame) -> list[str]:
    """Return, in words, the orders on which rows depend and in which some rows are equal; runs a job for each.

    Raises:
        FailedQueryError: Spark cannot compute the rows.

    """
    with spark_errors():
        return list(ask_json(frame.sparkSession, "ties", frame))


def files_read(frame: DataFrame) -> list[str]:
    """Return the URIs of the files that a table or view reads, also where Spark has its rows in a cache."""
    return list(ask_json(frame.sparkSession, "files", frame))


def written_rows(frame: DataFrame) -> str:
    """Return a checksum of the rows that stand in the plan itself, as those of VALUES do; empty when there are none."""
    return ask(frame.sparkSession, "written rows", frame)


def collections(frame: DataFrame) -> tuple[str, ...]:
    """Return names for the RDDs that the plan reads, each good for one Spark application; () when there are none."""
    return tuple(ask_json(frame.sparkSession, "collections", frame))
