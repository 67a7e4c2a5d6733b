"""Joins of lake tables: the side that is broadcast is that of the query without lineage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.lakes.comparing import TRACKED
from tests.lakes.engines import CATALOG, FORMATS
from tests.udafs.test_weightless_lineage import JOINS, chosen_joins

SHAPES = ["inner", "behind a filter", "left", "right", "full", "not of equals"]
_NAMESPACE = {"delta": "spark_catalog.default", "iceberg": f"{CATALOG}.db"}


@pytest.fixture(params=FORMATS)
def tables(request: pytest.FixtureRequest, lineage: ForwardLineage) -> Iterator[list[str]]:
    """Make two tables; the rows of the first take few bytes in its files."""
    spark, kind = lineage.spark, request.param
    names = [f"{_NAMESPACE[kind]}.joined_{each}" for each in "rs"]
    wide = "repeat('x', 100)", "uuid()"
    for name, rows, text in zip(names, (3000, 1000), wide, strict=True):
        spark.range(0, rows, 1, 1).selectExpr("id AS k", "id * 7 AS v", f"{text} AS w").createOrReplaceTempView("rows")
        spark.sql(f"CREATE TABLE {name} USING {kind} TBLPROPERTIES ({TRACKED[kind]}) AS SELECT * FROM rows")
        lineage.register(name)
    spark.sql(f"DELETE FROM {names[0]} WHERE k % 10 = 3")
    lineage.refresh(names[0])
    yield names
    for name in names:
        spark.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_side_is_that_of_the_formats_reader(
    lakes: SparkSession, lineage: ForwardLineage, tables: list[str], shape: str
) -> None:
    query = JOINS[shape].format(", r.w", *(f"{name} AS {name[-1]}" for name in tables))
    chosen = chosen_joins(lakes, query, lineage.rewrite(query))
    assert len(chosen) > 1 or shape == "full"
