"""The paper's store example in a Spark session, with lineage attached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.demo import register_store_example
from forward_lineage.demo.store_example import ITEM, SALES, STORE
from forward_lineage.results import LINEAGE_COLUMN
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views


@pytest.fixture
def lineage(spark: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """A session's lineage with an empty home; temporary views are dropped afterwards."""
    yield ForwardLineage(spark, tmp_path / "home")
    drop_views(spark)


@pytest.fixture(scope="session")
def store_home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A home where the paper's tables store, item and sales are registered."""
    return Prepared(tmp_path_factory.mktemp("store"), spark, with_store_tables)


@pytest.fixture
def store(spark: SparkSession, store_home: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    """Lineage with the paper's tables store, item and sales; temporary views are dropped afterwards."""
    yield from with_copy_of(store_home, spark, tmp_path)


def with_copy_of(home: Prepared, spark: SparkSession, folder: Path) -> Iterator[ForwardLineage]:
    """Give a test a copy of a home of the paper's tables, which are there meanwhile."""
    make_store_tables(spark)
    yield ForwardLineage(spark, home.copy(folder / "home"))
    drop_views(spark)


def with_store_tables(lineage: ForwardLineage) -> ForwardLineage:
    register_store_example(lineage.spark, lineage)
    return lineage


def make_store_tables(spark: SparkSession) -> None:
    """Make the tables of the store example as temporary views; they are registered elsewhere."""
    for name, rows in (("store", STORE), ("item", ITEM), ("sales", SALES)):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows}")


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
