"""TPC-H written with the DataFrame API: rows and lineage are those of the SQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from tests.forward_lineage.dataframes.tpch_frames import FRAMES, WITH_IN, WITH_SUBQUERIES
from tests.tpch_queries.sessions import traced_session

# Joins and groups, an outer join, groups of groups, a view; IN, EXISTS and scalar subqueries are below.
EVERY_DAY = ["q13", "q15", "q17", "q21"]
# Predicates with subqueries of each kind, so that lineage under "control" is other than under "data".
DECIDED = ["q4", "q11", "q16", "q22"]

Answer = tuple[list[tuple[str, str]], Counter[tuple[object, ...]]]


@pytest.fixture(scope="module")
def traced(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return traced_session(spark, tpch, tmp_path_factory.mktemp("home"))


def queries(every_day: list[str]) -> list[object]:
    """All of them, those that are not for every day in the long tier."""
    return [
        pytest.param(
            name,
            marks=[
                *([] if name in every_day else [pytest.mark.long]),
                *([pytest.mark.since("4.0", "subqueries that are DataFrames")] if name in WITH_SUBQUERIES else []),
                *([pytest.mark.since("4.1", "IN of a DataFrame")] if name in WITH_IN else []),
            ],
        )
        for name in tpch_queries.names()
    ]


def answer(frame: DataFrame) -> Answer:
    """Columns with types, and rows with their lineage as bytes, by table: equal sets are equal bytes."""
    columns = [(field.name, field.dataType.simpleString()) for field in frame.schema if field.name != "DL"]
    rows = (
        (*row[:-1], *sorted((name, bytes(ids)) for name, ids in row["DL"].asDict().items())) for row in frame.collect()
    )
    return columns, Counter(rows)


def same(traced: ForwardLineage, name: str, semantics: str) -> None:
    found = answer(traced.trace(FRAMES[name](traced.spark.table), semantics))
    assert found == answer(traced.sql(tpch_queries.query(name), semantics))
    assert found[1]


@pytest.mark.parametrize("name", queries(EVERY_DAY))
def test_rows_and_data_lineage_are_those_of_the_sql(traced: ForwardLineage, name: str) -> None:
    same(traced, name, "data")


@pytest.mark.parametrize("name", queries(DECIDED))
def test_control_lineage_is_that_of_the_sql(traced: ForwardLineage, name: str) -> None:
    same(traced, name, "control")
