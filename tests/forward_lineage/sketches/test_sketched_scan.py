"""Queries that use sketches, over real files: what they return, and what they read."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import LineageError
from forward_lineage.columns.ranges import Partition, Sketch, equi_depth
from forward_lineage.sketches.sketched_scan import skipped, use
from forward_lineage.spark.versions import arrow_frame, arrow_table
from tests.forward_lineage.sketches.columns import TYPES, drawn
from tests.tiers import every_day
from udafs.attach import attach

ROWS = 6000


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    attach(own)
    return own


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    columns = {name: drawn(name, ROWS, 1) for name in TYPES}
    return pa.table({"n": pa.array(range(ROWS)), **columns})


def written(table: pa.Table, folder: Path, **how: object) -> Path:
    """Write two files of several row groups, each of several pages."""
    folder.mkdir(parents=True)
    half = table.num_rows // 2
    settings = {"row_group_size": 1500, "data_page_size": 100, "write_batch_size": 100, "write_page_index": True, **how}
    for number, part in enumerate((table.slice(0, half), table.slice(half))):
        pq.write_table(part, folder / f"{number}.parquet", **settings)  # type: ignore[arg-type]
    return folder


def sketch_of(relation: str, column: str, values: pa.ChunkedArray, seed: int, ranges: int = 60) -> Sketch:
    chance = random.Random(f"{column} {seed}")
    partition = Partition(relation, column, equi_depth(values, ranges))
    known = sorted({0, *partition.fragments_of(values).tolist()})
    return partition.sketch(chance.sample(known, min(len(known), chance.randint(1, 4))))


def rows(frame: DataFrame) -> Counter[str]:
    return Counter(map(repr, frame.collect()))


@pytest.mark.parametrize(
    ("condition", "order"),
    [
        ("whole < 40 AND text LIKE '%a%'", ["< 40", "dl_in_ranges", "Contains"]),
        ("10 / (whole - 300) < 0 AND flag = true", ["flag", "dl_in_ranges", "- 300"]),
    ],
)
def test_what_costs_little_is_asked_before_the_range(
    session: SparkSession, tmp_path: Path, condition: str, order: list[str]
) -> None:
    made = pa.table({"n": [1, 2, 3], "whole": [5, 50, 7], "text": ["a", "ba", "c"], "flag": [True, True, False]})
    pq.write_table(made, tmp_path / "few.parquet")
    relation = f"parquet.`{tmp_path / 'few.parquet'}`"
    sketch = Partition(relation, "n", pa.array([2])).sketch([1])
    frame = use(session, f"SELECT * FROM {relation} WHERE {condition}", {relation: sketch})
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    line = next(each for each in plan.splitlines() if "dl_in_ranges" in each)
    assert [line.index(each) for each in order] == sorted(line.index(each) for each in order)
    assert frame.count() == 1


HOW = ["sorted", "as drawn", "no page index", "no statistics", "dictionary off"]


@pytest.mark.parametrize("how", every_day(HOW, ["sorted", "no page index", "no statistics"]))
def test_of_every_type_just_the_rows_of_the_sketch_are_read(
    session: SparkSession, table: pa.Table, tmp_path: Path, how: str
) -> None:
    settings: dict[str, object] = {
        "no page index": {"write_page_index": False},
        "no statistics": {"write_statistics": False, "write_page_index": False},
        "dictionary off": {"use_dictionary": False, "data_page_version": "2.0"},
    }.get(how, {})
    few = {}
    for name in TYPES if how == "sorted" else ("whole", "huge", "double", "text"):
        if how == "sorted":  # Arrow has NaN last, too, and strings by their bytes
            table = table.take(pc.sort_indices(table[name]))
        folder = written(table, tmp_path / name, **settings)
        sketch = sketch_of(f"parquet.`{folder}`", name, table[name], 3)
        frame = use(session, f"SELECT n, {name} FROM parquet.`{folder}`", {sketch.partition.table: sketch})
        expected = table["n"].filter(pa.array(sketch.holds(table[name])))
        assert frame.columns == ["n", name]
        assert sorted(row.n for row in frame.collect()) == sorted(expected.to_pylist()), name
        read = skipped(session, sketch)
        assert read is not None and read.rows.all == ROWS and read.files.all == 2 and read.row_groups.all == 4
        assert read.rows.read >= len(expected) and read.bytes.read <= read.bytes.all
        if name not in ("single", "double"):  # where NaN may be is never known
            few[name] = read.rows.skipped > 0
    if how == "sorted":
        assert all(few.values()), few
    if how == "no statistics":
        assert not any(few.values())


def test_pages_that_hold_nothing_are_not_read(session: SparkSession, table: pa.Table, tmp_path: Path) -> None:
    folder = written(table.select(["n"]), tmp_path / "t")
    relation = f"parquet.`{folder}`"
    partition = Partition(relation, "n", pa.array(range(10, ROWS, 10)))
    sketch = partition.sketch([3, 4, 80])
    frame = use(session, f"SELECT n FROM {relation}", {relation: sketch})
    assert sorted(row.n for row in frame.collect()) == [*range(20, 40), *range(790, 800)]
    read = skipped(session, sketch)
    assert read is not None
    assert (read.files.read, read.row_groups.read) == (1, 1) and read.rows.read <= 400
    assert _scanned(frame) == read.rows.read  # what Spark's own scan has counted


def _scanned(frame: DataFrame) -> int:
    frame.collect()
    scans = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(int(scans.apply(i).metrics().apply("numOutputRows").value()) for i in range(scans.size()))


MONOTONE = {
    "names": "SELECT s.n, s.text AS t FROM t AS s WHERE s.n > 70",
    "self-join": "SELECT a.n, b.n AS m FROM t a JOIN t b ON a.tiny = b.tiny AND a.n < b.n",
    "cte": "WITH t AS (SELECT n, tiny FROM t), u AS (SELECT * FROM t) SELECT * FROM u JOIN t USING (tiny)",
    "subquery": """SELECT n FROM t WHERE tiny IN (SELECT tiny FROM t WHERE n > 300)
        AND EXISTS (SELECT 1 FROM t u WHERE u.n = t.n + 1)""",
    "view": "SELECT v.key, t.n FROM v JOIN t ON v.key = t.n",
    "union": "SELECT n FROM t UNION ALL SELECT key FROM v UNION SELECT n FROM (VALUES (1L), (NULL)) AS x(n)",
    "path": "SELECT n FROM parquet.`{folder}`",
    "lateral": "SELECT t.n, x.key FROM t, LATERAL (SELECT key FROM v WHERE v.key = t.n) AS x",
}


# How a relation is found in a query does not depend on the type of the column: each type has one query every day.
CUT_DOWN = list(product(MONOTONE, ("n", "text", "money")))


@pytest.mark.parametrize(
    ("query", "column"),
    every_day(CUT_DOWN, lambda case: case[1] == "n" or case in [("self-join", "text"), ("lateral", "money")]),
)
def test_every_access_is_cut_down(
    session: SparkSession, table: pa.Table, tmp_path: Path, query: str, column: str
) -> None:
    folder = written(table.slice(0, 600), tmp_path / "t")
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM parquet.`{folder}`")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT n AS key FROM t")
    sketch = sketch_of("t", column, table.slice(0, 600)[column], 9, ranges=8)
    sql = MONOTONE[query].format(folder=folder)
    found = use(session, sql, {"t": sketch})
    assert found.schema == session.sql(sql).schema
    part = written(table.slice(0, 600).filter(pa.array(sketch.holds(table.slice(0, 600)[column]))), tmp_path / "part")
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM parquet.`{part}`")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT n AS key FROM t")
    assert rows(found) == rows(session.sql(MONOTONE[query].format(folder=part)))


def test_tables_of_catalogs_partitions_and_rows_in_memory(session: SparkSession, table: pa.Table) -> None:
    part = table.select(["n", "tiny", "text", "day"]).slice(0, 400)
    arrow_frame(session, part).selectExpr("*", "n % 7 AS week").createOrReplaceTempView("in_memory")
    session.sql("DROP TABLE IF EXISTS weeks")
    session.sql("CREATE TABLE weeks USING parquet PARTITIONED BY (week) AS SELECT * FROM in_memory")
    session.sql("DROP TABLE IF EXISTS lines")
    session.sql("CREATE TABLE lines USING csv AS SELECT * FROM in_memory")
    try:
        for name in ("weeks", "lines", "in_memory"):
            for column in ("week", "n", "text"):
                values = arrow_table(session.table(name).select(column))[column]
                sketch = sketch_of(name, column, values, 2, ranges=7)
                holds = dict(zip(values.to_pylist(), sketch.holds(values).tolist(), strict=True))
                found = rows(use(session, f"SELECT * FROM {name}", {name: sketch}))
                assert found == Counter(repr(row) for row in session.table(name).collect() if holds[row[column]])
                assert (skipped(session, sketch) is not None) == (name == "weeks" and column != "week")
        sketch = sketch_of("weeks", "week", arrow_table(session.table("weeks").select("week"))["week"], 5, ranges=7)
        plan = use(session, "SELECT * FROM weeks", {"weeks": sketch})._jdf.queryExecution().toString()
        assert "PartitionFilters: [dl_in_ranges(week" in plan
    finally:
        session.sql("DROP TABLE weeks")
        session.sql("DROP TABLE lines")


def test_a_cached_table_stays_cached(session: SparkSession, table: pa.Table, tmp_path: Path) -> None:
    session.read.parquet(str(written(table.select(["n"]), tmp_path / "t"))).createOrReplaceTempView("kept")
    session.table("kept").cache()
    try:
        sketch = Partition("kept", "n", pa.array([10])).sketch([1])
        frame = use(session, "SELECT n FROM kept", {"kept": sketch})
        assert frame.count() == 10 and "InMemoryTableScan" in frame._jdf.queryExecution().toString()
    finally:
        session.table("kept").unpersist()


def test_small_tables_are_planned_as_small(session: SparkSession, tmp_path: Path) -> None:
    """What is left of a table is what Spark plans joins by."""
    wide = pa.table({"n": range(200_000), "x": [random.Random(i).randbytes(10) for i in range(200_000)]})
    folder = written(wide, tmp_path / "t", row_group_size=20_000, data_page_size=1 << 14, write_batch_size=1024)
    session.read.parquet(str(folder)).createOrReplaceTempView("wide")
    sketch = Partition("wide", "n", pa.array(range(100, 200_000, 100))).sketch([7])
    sql = "SELECT a.n FROM wide a JOIN wide b ON a.n = b.n + 1"
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "500k")
    try:
        assert "SortMergeJoin" in session.sql(sql)._jdf.queryExecution().toString()
        assert "BroadcastHashJoin" in use(session, sql, {"wide": sketch})._jdf.queryExecution().toString()
    finally:
        session.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.mark.parametrize(
    ("sql", "column", "said"),
    [
        ("SELECT 1 AS one", "n", "does not read t"),
        ("CREATE TABLE x AS SELECT 1 AS one", "n", "only a query"),
        ("SELECT n FROM t", "text", "no ranges of STRING"),
        ("SELECT n FROM t", "nothing", "not one column nothing"),
        ("SELECT nothing FROM t", "n", "nothing"),
    ],
)
def test_what_is_refused(
    session: SparkSession, table: pa.Table, tmp_path: Path, sql: str, column: str, said: str
) -> None:
    session.read.parquet(str(written(table.slice(0, 9), tmp_path / "t"))).createOrReplaceTempView("t")
    sketch = Partition("t", column, pa.array([1])).sketch([1])
    with pytest.raises(LineageError, match=said):
        use(session, sql, {"t": sketch})
