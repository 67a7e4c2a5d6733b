"""Sketches that are captured, against the fragments of what control lineage says row by row."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.columns.ranges import Partition, equi_depth
from forward_lineage.sketches.find_sketches import capture, from_ids
from forward_lineage.sketches.sketched_scan import use
from forward_lineage.spark.settings import BY_REFERENCE
from tests.tiers import every_day
from udafs.lineage_set import LineageSet

DAYS = pa.array(range(9000, 9060), pa.int32()).cast(pa.date32())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, folder: Path) -> ForwardLineage:
    """A session whose tables no test changes."""
    return ForwardLineage(spark.newSession(), folder / "home")


@pytest.fixture(scope="module")
def tables(lineage: ForwardLineage, folder: Path) -> dict[str, pa.Table]:
    made = {
        "sold": pa.table({
            "n": pa.array([i // 3 for i in range(60)]),
            "item": pa.array([None if i % 11 == 0 else f"item {i * 7 % 13}" for i in range(60)]),
            "day": DAYS,
            "price": pa.array([float(i * 37 % 50) for i in range(60)]),
        }),
        "items": pa.table({"item": [f"item {i}" for i in range(13)], "kind": [i % 4 for i in range(13)]}),
    }  # fmt: skip
    for name, table in made.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=16)
        lineage.register(name, path=str(folder / f"{name}.parquet"))
    return made


QUERIES = {
    "select": "SELECT n FROM sold WHERE price > 40",
    "join": "SELECT s.n, i.kind FROM sold s JOIN items i USING (item) WHERE i.kind = 2 AND s.price < 20",
    "top": "SELECT item, sum(price) AS total FROM sold GROUP BY item ORDER BY total DESC, item LIMIT 2",
    "having": "SELECT n FROM sold GROUP BY n HAVING sum(price) > 100",
    "in": "SELECT item FROM items WHERE item IN (SELECT item FROM sold WHERE price > 45)",
    "not in": "SELECT kind FROM items WHERE item NOT IN (SELECT item FROM sold WHERE item IS NOT NULL AND price > 5)",
    "scalar": "SELECT n FROM sold WHERE price = (SELECT max(price) FROM sold)",
    "self-join": "SELECT a.n FROM sold a JOIN sold b ON a.n = b.n + 1 WHERE a.price > 45",
    "distinct": "SELECT DISTINCT day FROM sold WHERE item = 'item 3' UNION SELECT day FROM sold WHERE n = 4",
    "window": "SELECT n, max(price) OVER (PARTITION BY n) AS m FROM sold QUALIFY m > 48",
    "cte": """WITH t AS (SELECT item, count(*) AS c FROM sold GROUP BY item)
        SELECT kind FROM items JOIN t USING (item) WHERE c > 4""",
}
PARTITIONS = [("n", 7), ("item", 5), ("day", 60), ("price", 10)] * 3


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(name, marks=[pytest.mark.since("4.2", "QUALIFY")] if "QUALIFY" in sql else [])
        for name, sql in QUERIES.items()
    ],
)
def test_a_sketch_has_the_fragments_of_control_lineage(
    lineage: ForwardLineage, tables: dict[str, pa.Table], query: str
) -> None:
    sql = QUERIES[query]
    traced = lineage.sql(sql, semantics="control")
    names = traced.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    row = traced.selectExpr(*[f"dlunion(DL.{each}) AS {each}" for each in names]).first()
    assert row is not None
    parts = lineage._parts
    for column, ranges in PARTITIONS[list(QUERIES).index(query) :][:2]:
        partitions = [Partition("sold", column, equi_depth(tables["sold"][column], ranges))]
        if "items" in names:
            partitions.append(Partition("items", "kind", pa.array([1, 3])))
        found = capture(parts.statements, parts.tables, sql, partitions)
        assert list(found) == [each.table for each in partitions]
        for each in partitions:
            ids = LineageSet.from_bytes(bytes(row[each.table]))
            values = tables[each.table][each.column].take(pa.array(list(ids), pa.int64()))  # ids are positions
            assert found[each.table] == each.sketch(each.fragments_of(values).tolist())
            assert from_ids(parts.tables, each, ids) == found[each.table]


OWN = {
    "exists": "SELECT o.n FROM sold o WHERE EXISTS (SELECT * FROM sold u WHERE u.n = o.n AND u.price > o.price + 30)",
    "not exists": """SELECT i.kind, count(*) AS c FROM sold o, items i WHERE o.item = i.item AND NOT EXISTS (
        SELECT * FROM sold u WHERE o.n = u.n AND u.price > o.price) GROUP BY i.kind ORDER BY c DESC, kind LIMIT 2""",
}


@pytest.mark.parametrize("query", OWN)
def test_what_is_asked_of_its_own_range_adds_none(
    lineage: ForwardLineage, tables: dict[str, pa.Table], query: str
) -> None:
    sql, parts = OWN[query], lineage._parts
    rows = lineage.sql(sql, semantics="control").selectExpr("dlunion(DL.sold)").first()
    data = lineage.sql(sql).selectExpr("dlunion(DL.sold)").first()
    assert rows is not None and data is not None
    for bounds in (pa.array([2, 5, 6, 11, 17]), pa.array(range(1, 20))):
        partition = Partition("sold", "n", bounds)
        found = capture(parts.statements, parts.tables, sql, [partition])["sold"]
        control = from_ids(parts.tables, partition, LineageSet.from_bytes(bytes(rows[0])))
        assert found == from_ids(parts.tables, partition, LineageSet.from_bytes(bytes(data[0])))
        assert set(found.fragments) <= set(control.fragments)
        assert use(lineage.spark, sql, {"sold": found}).collect() == lineage.spark.sql(sql).collect()


WITNESSED = {
    "global": ("SELECT max(price) AS m FROM sold", 1),
    "groups": ("SELECT item, max(price) AS m, min(day) AS d FROM sold GROUP BY item", 28),
    "latest": ("SELECT n, count(*) AS c FROM sold WHERE day = (SELECT max(day) FROM sold) GROUP BY n", 1),
    "join": """SELECT kind, max(price) AS m, min(price) AS l FROM sold JOIN items USING (item) GROUP BY kind
        HAVING max(price) > 30""",
    "padded": """SELECT kind, max(price) AS m FROM items LEFT JOIN sold ON sold.item = items.item AND n > 12
        GROUP BY kind""",
    "no value": ("SELECT n, max(CASE WHEN n > 100 THEN price END) AS m FROM sold GROUP BY n", 20),
    "cte": "WITH m AS (SELECT max(price) AS p FROM sold) SELECT n, p FROM sold, m WHERE price = p",
    "nested": "SELECT max(m) AS m FROM (SELECT n, min(price) AS m FROM sold GROUP BY n) q",
    "few": ("SELECT max(price) AS m FROM sold WHERE n < 0", 0),
}


BY_VALUE_EVERY_DAY = ("nested",)


@pytest.mark.parametrize(
    ("query", "by_reference"),
    every_day(product(WITNESSED, ("true", "false")), lambda case: case[1] == "true" or case[0] in BY_VALUE_EVERY_DAY),
)
def test_one_row_that_attains_a_value_is_enough(
    lineage: ForwardLineage, tables: dict[str, pa.Table], query: str, by_reference: str
) -> None:
    sql, most = WITNESSED[query] if isinstance(WITNESSED[query], tuple) else (WITNESSED[query], 60)
    parts, spark = lineage._parts, lineage.spark
    partitions = [Partition("sold", "day", DAYS[1:])]  # each row has a range of its own
    if "items" in sql:
        partitions.append(Partition("items", "item", equi_depth(tables["items"]["item"], 13)))
    spark.conf.set(BY_REFERENCE, by_reference)
    try:
        whole = capture(parts.statements, parts.tables, sql, partitions)
        found = capture(parts.statements, parts.tables, sql, partitions, one_witness=True)
    finally:
        spark.conf.unset(BY_REFERENCE)
    assert all(set(found[each].fragments) <= set(whole[each].fragments) for each in whole)
    assert len(found["sold"].fragments) <= most
    assert len(found["sold"].fragments) < len(whole["sold"].fragments) or query == "few"
    assert sorted(map(repr, use(spark, sql, found).collect())) == sorted(map(repr, spark.sql(sql).collect()))


def test_no_rows_have_no_fragments(lineage: ForwardLineage, tables: dict[str, pa.Table]) -> None:
    parts, partition = lineage._parts, Partition("sold", "n", pa.array([5]))
    found = capture(parts.statements, parts.tables, "SELECT n FROM sold WHERE n < 0", [partition])["sold"]
    assert found.fragments == () and use(lineage.spark, "SELECT n FROM sold", {"sold": found}).collect() == []


def test_parameters(lineage: ForwardLineage, tables: dict[str, pa.Table]) -> None:
    parts, partition = lineage._parts, Partition("sold", "n", pa.array([5, 9]))
    sql, args = "SELECT n FROM sold WHERE n = :n", {"n": 7}
    found = capture(parts.statements, parts.tables, sql, [partition], args)["sold"]
    assert found.fragments == (2,) and len(use(lineage.spark, sql, {"sold": found}, args).collect()) == 3


def test_two_names_of_one_table_are_refused(lineage: ForwardLineage, tables: dict[str, pa.Table], folder: Path) -> None:
    lineage.register("again", path=str(folder / "sold.parquet"))
    parts, partition = lineage._parts, Partition("sold", "n", pa.array([5]))
    with pytest.raises(LineageError, match="the same rows as sold and as again"):
        capture(parts.statements, parts.tables, "SELECT s.n FROM sold s JOIN again a ON s.n = a.n + 1", [partition])
    assert capture(parts.statements, parts.tables, "SELECT n FROM sold", [partition])["sold"].fragments == (1, 2)
    lineage.unregister("again")


@pytest.mark.parametrize(
    ("sql", "partition", "said"),
    [
        ("SELECT 1 AS one", Partition("sold", "n", pa.array([5])), "does not read sold"),
        ("SELECT n FROM sold", Partition("sold", "nothing", pa.array([5])), "sold has no column nothing"),
        ("SELECT n FROM sold", Partition("other", "n", pa.array([5])), "other is not registered"),
        ("CREATE TABLE x AS SELECT n FROM sold", Partition("sold", "n", pa.array([5])), "only a query has sketches"),
    ],
)
def test_what_is_refused(
    lineage: ForwardLineage, tables: dict[str, pa.Table], sql: str, partition: Partition, said: str
) -> None:
    with pytest.raises(LineageError, match=said):
        capture(lineage._parts.statements, lineage._parts.tables, sql, [partition])
