"""The queries of TPC-DS in Spark's dialect, and sessions over its tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlglot
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.tpcds_queries.data import TEXTS, texts_of_duckdb

TABLES = (
    "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address",
    "customer_demographics", "date_dim", "household_demographics", "income_band", "inventory", "item", "promotion",
    "reason", "ship_mode", "store", "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
    "web_sales", "web_site",
)  # fmt: skip
NAMES = tuple(f"q{number:02}" for number in range(1, 100))


def query(folder: Path, name: str) -> str:
    """Return a query's text in Spark's dialect.

    Args:
        folder: of the data, see `data.generate`.
        name: `q01` … `q99`.

    """
    return _texts(folder / TEXTS)[name]


@cache
def _texts(file: Path) -> dict[str, str]:
    texts = texts_of_duckdb(file.parent)
    return {name: sqlglot.transpile(text, read="duckdb", write="spark", pretty=True)[0] for name, text in texts.items()}


def register(lineage: ForwardLineage, folder: Path) -> None:
    """Register the tables, with ids from the positions of their rows."""
    for table in TABLES:
        lineage.register(table, path=folder / f"{table}.parquet")


def read_plainly(spark: SparkSession, folder: Path) -> None:
    """Make temporary views of the tables in a session without lineage."""
    for table in TABLES:
        spark.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
