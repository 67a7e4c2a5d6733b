"""The same questions to any session: tables by position and by key, what is saved, and what leads back from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.comet.queries import KEYS
from tests.lakes.comet.session import operators
from tests.tpch_queries.neutrality import Answer, answer
from tpch_queries import TABLES

BY = ("position", "key")
"""What gives the ids of rows: where they stand in their files, or a key."""
REPORT = "SELECT o_orderdate, sum(revenue) AS revenue, count(*) AS orders FROM saved GROUP BY o_orderdate"


@dataclass(frozen=True)
class Asked:
    """A query that was asked.

    Attributes:
        answer: its rows with their lineage.
        operators: Comet's, in the plan that ran.

    """

    answer: Answer
    operators: Counter[str]


def registered(spark: SparkSession, tables: Path, home: Path, by: str) -> ForwardLineage:
    """Return the lineage of a session in which TPC-H's tables have ids.

    Args:
        spark: the session.
        tables: the folder of their files.
        home: a folder that is not there yet.
        by: of `BY`.

    """
    lineage = ForwardLineage(spark, home=home)
    for table in TABLES:
        file = tables / f"{table}.parquet"
        if by == "position":
            lineage.register(table, path=file)
        else:
            spark.read.parquet(str(file)).createOrReplaceTempView(table)
            lineage.register(table, key=KEYS[table])
    return lineage


def ask(lineage: ForwardLineage, text: str, semantics: str) -> Asked:
    """Run a query."""
    frame = lineage.sql(text, semantics=semantics)
    found = answer(frame.collect())
    return Asked(found, operators(frame))


def saved(lineage: ForwardLineage, text: str) -> dict[str, list[str]]:
    """Save TPC-H's q3, and a report of what was saved; return their rows, and those that questions lead to."""
    lineage.save(text, "saved")
    lineage.save(REPORT, "report")
    found = {"rows": lineage.result("report")}
    for table in ("lineitem", "customer"):
        found[f"backward to {table}"] = lineage.backward("report", where="orders > 1", table=table)
    found["forward"] = lineage.forward("customer", where="c_custkey < 500", result="report")
    return {name: sorted(repr(row) for row in _without_number(frame).collect()) for name, frame in found.items()}


def _without_number(frame: DataFrame) -> DataFrame:
    """Rows of a result are numbered as Spark gives them, in an order that it may choose."""
    return frame.drop("row_id")
