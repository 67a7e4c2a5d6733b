"""The paper's store example in a Spark session, with lineage attached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.demo import register_store_example
from forward_lineage.results import LINEAGE_COLUMN


@pytest.fixture
def lineage(spark: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """A session's lineage with an empty home; temporary views are dropped afterwards."""
    yield ForwardLineage(spark, tmp_path / "home")
    drop_views(spark)


@pytest.fixture
def store(lineage: ForwardLineage) -> ForwardLineage:
    """Lineage with the paper's tables store, item and sales."""
    register_store_example(lineage.spark, lineage)
    return lineage


def drop_views(spark: SparkSession) -> None:
    spark._jsparkSession.sessionState().catalog().clearTempTables()  # listing them reads each


def kinds(spark: SparkSession) -> dict[str, str]:
    """What there is in the current schema, and temporary views: by name TABLE or VIEW."""
    views = {row.viewName for row in spark.sql("SHOW VIEWS").collect()}
    names = [row.tableName for row in spark.sql("SHOW TABLES").collect()]
    return {name: "VIEW" if name in views else "TABLE" for name in names}


def rows_with_lineage(frame: DataFrame) -> list[tuple[tuple[object, ...], dict[str, list[int]]]]:
    """Collect (user's values, ids by table), sorted."""
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    users = frame.columns[:-1]
    ids = [f"dl_ids(DL.`{table}`) AS `__ids_{table}`" for table in tables]
    rows = frame.selectExpr(*[f"`{column}`" for column in users], *ids).collect()
    found = [
        (tuple(row[: len(users)]), {table: list(row[len(users) + place]) for place, table in enumerate(tables)})
        for row in rows
    ]
    return sorted(found, key=repr)
