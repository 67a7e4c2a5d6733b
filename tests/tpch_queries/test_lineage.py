"""Lineage on real data: the user's rows stay as they are, and the paper's own figures come out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from tests.tpch_queries.plain_spark import plain_session
from tpch_queries.data import generate

SEMANTICS = ("data", "control")

# [Zhang 2007, Table 7]: result rows, average number of base rows of a result row, over all tables.
TABLE_7 = {"q3": (11_620, 4.6), "q6": (1, 114_160.0), "q10": (37_967, 6.3)}


def traced_session(spark: SparkSession, folder: Path, home: Path) -> ForwardLineage:
    lineage = ForwardLineage(spark.newSession(), home=home)
    for table in tpch_queries.TABLES:
        lineage.register(table, path=folder / f"{table}.parquet")
    return lineage


@pytest.fixture(scope="module")
def traced(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return traced_session(spark, tpch, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tpch: Path) -> SparkSession:
    return plain_session(spark, tpch)


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(repr(tuple(row)) for row in frame.collect())


def user_columns(frame: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in frame.schema if field.name != "DL"]


@pytest.mark.slow
@pytest.mark.parametrize("name", tpch_queries.names())
def test_the_users_columns_do_not_change(name: str, traced: ForwardLineage, plain: SparkSession) -> None:
    text = tpch_queries.query(name)
    wanted = plain.sql(text)
    wanted_rows = rows(wanted)
    for semantics in SEMANTICS:
        found = traced.sql(text, semantics=semantics)
        assert found.columns == [*wanted.columns, "DL"]
        assert user_columns(found) == user_columns(wanted)
        assert rows(found.drop("DL")) == wanted_rows


@pytest.mark.slow
def test_figures_of_table_7(spark: SparkSession, tpch: Path, tmp_path: Path) -> None:
    folder = generate(1, tpch.parent / "sf1")
    traced = traced_session(spark, folder, tmp_path / "home")
    for name, (count, average) in TABLE_7.items():
        result = traced.sql(tpch_queries.query(name))
        tables = result.schema["DL"].dataType.fieldNames()
        size = " + ".join(f"dl_size(DL.`{table}`)" for table in tables)
        found = result.selectExpr("count(*) AS n", f"sum({size}) AS ids").first()
        assert found is not None
        assert found.n == count
        assert round(found.ids / found.n, 1) == average
