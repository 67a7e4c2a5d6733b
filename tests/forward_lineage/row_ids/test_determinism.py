"""The same row has the same id, however Spark chooses to read: proved by reading in many ways."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.conftest import REPOSITORY
from tests.forward_lineage.row_ids import losing_an_executor
from tests.spark_settings import DEFAULTS, INTERPRETED, configured

FILES, ROWS = 5, 4000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of five files, one file with all their rows, and a partitioned folder; many row groups each.

    And one file of a few row groups with many pages, which Spark skips one by one: the rows that it reads of a row
    group are then not consecutive.
    """
    home = tmp_path_factory.mktemp("tables")
    random = np.random.default_rng(7)
    every = []
    for n in range(FILES):
        start = n * ROWS
        table = pa.table(
            {
                "v": np.arange(start, start + ROWS),
                "w": random.integers(0, 50, ROWS),
                "s": pa.array([f"text {x}" for x in random.integers(0, 10**6, ROWS)]),
            }
        )
        every.append(table)
        for place in (home / "folder", home / "parts" / f"p={n % 2}"):
            place.mkdir(parents=True, exist_ok=True)
            parquet.write_table(table, place / f"{n}.parquet", row_group_size=300)
    whole = pa.concat_tables(every)
    parquet.write_table(whole, home / "one.parquet", row_group_size=700)
    pages = {"data_page_size": 800, "write_batch_size": 50, "write_page_index": True, "use_dictionary": False}
    parquet.write_table(whole, home / "pages.parquet", row_group_size=6000, **pages)
    return home


READINGS = {
    "as usual": {},
    "tiny splits": {"spark.sql.files.maxPartitionBytes": "4096", "spark.sql.files.openCostInBytes": "0"},
    "one split": {"spark.sql.files.maxPartitionBytes": "1g", "spark.sql.files.openCostInBytes": "0"},
    "many partitions": {"spark.sql.shuffle.partitions": "37", "spark.sql.files.minPartitionNum": "23"},
    "no AQE": {"spark.sql.adaptive.enabled": "false"},
    "no vectorised reader": {"spark.sql.parquet.enableVectorizedReader": "false"},
    "small batches": {"spark.sql.parquet.columnarReaderBatchSize": "7"},
    "no filter pushdown": {"spark.sql.parquet.filterPushdown": "false"},
    "record filter": {
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.parquet.recordLevelFilter.enabled": "true",
    },
    "no generated code": INTERPRETED,
    "interpreted in stages": {"spark.sql.codegen.wholeStage": "false"},
    "bucketed by size": {"spark.sql.files.maxPartitionBytes": "65536", "spark.sql.adaptive.enabled": "false"},
}
QUICK = ("tiny splits", "no vectorised reader")
# Kin of others that are tried every day.
SELDOM = (
    "as usual", "one split", "many partitions", "no AQE", "small batches", "no filter pushdown", "record filter",
    "interpreted in stages", "bucketed by size", "no generated code",
)  # fmt: skip
PREDICATES = {
    "IN": "v IN (SELECT v + 7 FROM {t} WHERE w = 13)",
    "NOT IN": "v NOT IN (SELECT v FROM {t} WHERE w <> 13)",
    "EXISTS": "EXISTS (SELECT * FROM {t} u WHERE u.v = {t}.v + 1 AND u.w < {t}.w - 40)",
    "EXISTS or not": "w = 13 AND (v > 15000 OR EXISTS (SELECT * FROM {t} u WHERE u.v = {t}.v AND u.w < 20))",
    "IN and NOT EXISTS": """v IN (SELECT v FROM {t} WHERE w > 45)
        AND NOT EXISTS (SELECT * FROM {t} u WHERE u.v = {t}.v + 3 AND u.w < 25)""",
}
# Pushed-down filters, row-group skipping, column pruning, shuffles, sorts, a join with itself; and the tables to ask.
QUERIES = {
    "all": ("SELECT v FROM {t}", "one", "folder", "parts"),
    "a row group": ("SELECT v FROM {t} WHERE v BETWEEN 5100 AND 5150", "one", "folder", "parts", "pages"),
    "ends of files": (
        "SELECT v FROM {t} WHERE v IN (0, 3999, 4000, 11999, 12000, 19999)", "one", "folder", "parts", "pages",
    ),
    "another column": ("SELECT v FROM {t} WHERE w = 13", "one", "folder", "parts"),
    "shuffled": ("SELECT /*+ REPARTITION(9) */ v FROM {t} WHERE s LIKE '%7'", "folder"),
    "grouped": ("SELECT v, max(w) FROM {t} WHERE v % 97 = 0 GROUP BY v", "one"),
    "joined": ("SELECT a.v FROM {t} a JOIN {t} b ON a.v = b.v WHERE b.w < 3", "parts"),
    "NOT IN": (f"SELECT v FROM {{t}} WHERE {PREDICATES['NOT IN']}", "one"),
    "EXISTS or not": (f"SELECT v FROM {{t}} WHERE {PREDICATES['EXISTS or not']}", "one"),
}  # fmt: skip


def _tier(reading: str) -> list[pytest.MarkDecorator]:
    return [] if reading in QUICK else [pytest.mark.long if reading in SELDOM else pytest.mark.slow]


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tables: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("home"))
    lineage.register("one", path=tables / "one.parquet")
    lineage.register("folder", path=tables / "folder")
    lineage.register("parts", path=tables / "parts")
    lineage.register("pages", path=tables / "pages.parquet")
    return lineage


@pytest.fixture
def reading(registered: ForwardLineage, request: pytest.FixtureRequest) -> Iterator[str]:
    with configured(registered.spark, {**DEFAULTS, **READINGS[request.param]}):
        yield request.param


def expected(table: str, v: int) -> int:
    """Where the row with this value is: files are numbered in the order of their paths."""
    if table != "parts":
        return v
    order = [0, 2, 4, 1, 3]  # p=0 before p=1
    return order.index(v // ROWS) * ROWS + v % ROWS


@pytest.mark.parametrize(
    "reading",
    [pytest.param(name, marks=_tier(name)) for name in READINGS],
    indirect=True,
)
def test_ids_do_not_depend_on_how_spark_reads(registered: ForwardLineage, reading: str) -> None:
    turn = list(READINGS).index(reading)
    for place, (name, (query, *tables)) in enumerate(QUERIES.items()):
        if reading not in QUICK and (turn + place) % 2:
            continue  # every other reading asks this one
        for table in tables:
            frame = registered.sql(query.format(t=table))
            rows = frame.selectExpr("v", f"dl_ids(DL.{table}) AS ids").collect()
            assert rows, name
            wrong = [row for row in rows if row.ids != [expected(table, row.v)]]
            assert not wrong, f"{name} of {table}: {wrong[:3]}"


def test_positions_are_counted(registered: ForwardLineage) -> None:
    """Spark takes them one by one from an iterator, a seventh of a narrow scan: not to come back unnoticed."""
    base = registered.registrations.base_table(registered.tables()["one"])
    frame = registered.spark.sql(f"SELECT v, {base.row_id} AS id FROM {base.relation} WHERE w = 13")
    scan = frame._jdf.queryExecution().sparkPlan().collectLeaves().head()
    assert scan.relation().fileFormat().getClass().getSimpleName() == "PositionedParquet"


@pytest.mark.parametrize("predicate", PREDICATES.values(), ids=PREDICATES)
def test_only_the_id_travels(registered: ForwardLineage, predicate: str) -> None:
    """Spark makes joins of such predicates below the ids, and their rows would carry the path of the file."""
    plan = registered.sql(f"SELECT v FROM one WHERE {predicate.format(t='one')}")._jdf.queryExecution().executedPlan()
    assert "dl_row_id(file_path" in plan.toString() and "named_struct(file_path" not in plan.toString()


def test_unread_ids_cost_nothing(registered: ForwardLineage) -> None:
    """Under data semantics a scalar subquery has no lineage, but its relation was resolved with `_metadata`."""
    plan = (
        registered.sql("SELECT v FROM one WHERE w = (SELECT min(w) FROM folder)")._jdf.queryExecution().executedPlan()
    )
    assert plan.toString().count("_tmp_metadata_row_index#") == registered.sql(
        "SELECT v FROM one"
    )._jdf.queryExecution().executedPlan().toString().count("_tmp_metadata_row_index#")


@pytest.mark.long
def test_ids_survive_the_loss_of_an_executor(tables: Path, tmp_path: Path) -> None:
    """Two executor processes; the first task of the scan kills its own, and Spark computes its rows again elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", losing_an_executor.__name__, str(tables / "folder"), str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["executors_lost"] >= 1
    assert found["pairs"] == [[v, v] for v in range(0, FILES * ROWS, 41)]
