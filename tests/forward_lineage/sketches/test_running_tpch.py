"""All of TPC-H through `lineage.run`: captured, used, and each time the rows of `spark.sql`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from tests.bench.skipping import text_of
from tests.forward_lineage.sketches.test_running import same, ways

pytestmark = pytest.mark.long

SMALL_PAGES = {"parquet.page.row.count.limit": 200, "parquet.block.size": 1 << 18}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables in so small pages that sketches leave some out."""
    found = tmp_path_factory.mktemp("pages")
    for path in tpch.glob("*.parquet"):
        rows = spark.read.parquet(str(path)).coalesce(1)
        rows.write.options(**SMALL_PAGES).parquet(str(found / path.stem))
    return found


@pytest.fixture
def tuned(lineage: ForwardLineage, folder: Path) -> ForwardLineage:
    for path in folder.iterdir():
        lineage.register(path.name, path=path)
    lineage.tune("eager", least=0)
    return lineage


def test_rows_are_those_of_the_query(tuned: ForwardLineage) -> None:
    used = []
    for query in tpch_queries.names():
        sql = text_of(query)
        for _ in range(2):
            assert same(tuned.run(sql), tuned.spark.sql(sql)), query
        if ways(tuned)[-1] == "use":
            used.append(query)
    assert {"q3", "q10", "q18"} <= set(used), [str(each) for each in tuned.decisions()]
