"""Results saved in a live session, and questions about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from forward_lineage import ForwardLineage, LineageError, NotTracedError
from forward_lineage.demo import Q4, register_store_example
from tests.forward_lineage.conftest import make_store_tables, with_store_tables
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views

REVENUE = "SELECT s_id, sum(price) AS price, count(*) AS n FROM sales GROUP BY s_id ORDER BY s_id"


def values(frame: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame.collect()]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def revenue_home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """The store example, and the result `revenue`."""
    folder = tmp_path_factory.mktemp("revenue")
    return Prepared(folder, spark, lambda lineage: with_store_tables(lineage).save(REVENUE, "revenue"))


@pytest.fixture
def revenue(spark: SparkSession, revenue_home: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    make_store_tables(spark)
    yield ForwardLineage(spark, revenue_home.copy(tmp_path / "home"))
    drop_views(spark)


def test_rows_and_lineage_come_back(revenue: ForwardLineage) -> None:
    saved = revenue.describe("revenue")
    assert (saved.version, saved.rows, saved.pairs, saved.semantics, saved.sql) == (1, 4, 11, "data", REVENUE)
    assert saved.columns == (("s_id", "int"), ("price", "bigint"), ("n", "bigint"))
    assert [each.name for each in revenue.results()] == ["revenue"]
    assert len(repr(saved)) < 1000, "no file lists, no schema"
    plain = revenue.spark.sql(REVENUE)
    assert values(revenue.result("revenue")) == values(plain), "the order of a sorted query is kept"
    assert revenue.result("revenue").schema.simpleString() == plain.schema.simpleString()

    frame = revenue.backward("revenue", where="s_id = 2", table="sales")
    assert frame.columns == ["row_id", "t_id", "s_id", "i_id", "price", "num"]
    assert [row.t_id for row in frame.collect()] == [4, 5, 6]
    assert list(revenue.backward_ids("revenue", rows=[0, 1])) == [1, 2, 3, 4, 5, 6]
    assert values(revenue.forward("sales", where="t_id IN (4, 5)", result="revenue")) == [(1, 2, 42, 3)]
    assert list(revenue.forward_ids("sales", ids=[4, 8], result="revenue")) == [1, 2]
    assert list(revenue.forward_ids("sales", ids=[99], result="revenue")) == []


def test_a_pipeline_with_a_diamond(revenue: ForwardLineage) -> None:
    """The relation over two paths is that of the query written out in one."""
    revenue.save("SELECT s_name, sum(r.price) AS total FROM revenue r JOIN store USING (s_id) GROUP BY s_name", "names")
    revenue.save("SELECT n.s_name, n.total, r.s_id FROM names n JOIN revenue r ON r.price < n.total", "top")
    pairs = {(row.row, row.id) for row in revenue.table("lineage_of(top, sales)").collect()}
    stores = {1: "Target", 2: "Target", 3: "Macy's", 4: "Macy's"}
    sales = values(revenue.spark.sql("SELECT t_id, s_id FROM sales"))
    rows = values(revenue.result("top"))
    assert len(rows) > 4 and pairs == {
        (number, t_id)
        for number, (s_name, _, s_id) in enumerate(rows)
        for t_id, sold_in in sales
        if stores[sold_in] == s_name or sold_in == s_id
    }
    impact = {row.result: row for row in revenue.impact("sales", where="t_id = 4").collect()}
    assert list(impact) == ["revenue", "names", "top"]
    touched = len({row for row, each in pairs if each == 4})
    assert impact["top"] == Row(result="top", rows_touched=touched, rows=len(rows), path="sales → revenue → top")
    assert [row.result for row in revenue.impact("store", ids=[1]).collect()] == ["names", "top"]
    assert revenue.impact("sales", where="t_id = 99").collect() == []
    assert [row.s_id for row in revenue.backward("top", rows=[0], table="revenue").collect()] == sorted(
        s_id for s_id, s_name in stores.items() if s_name == rows[0][0] or s_id == rows[0][2]
    )
    with pytest.raises(LineageError, match=r"^top was made of sales, store\. Say which: table=…\.$"):
        revenue.backward("top")
    with pytest.raises(LineageError, match=r"^top was not made of item\. It was made of "):
        revenue.backward("top", table="item")


def test_answers_stay_right_when_a_step_is_saved_again(revenue: ForwardLineage) -> None:
    """The report keeps the version it was made of, whose rows have other numbers than the newest."""
    revenue.save("SELECT price FROM revenue WHERE s_id = 2", "report")
    assert revenue.stale().collect() == []
    again = revenue.save(REVENUE.replace("ORDER BY s_id", "ORDER BY s_id DESC"), "revenue")
    assert again.version == 2
    assert list(revenue.backward_ids("report", rows=[0])) == [4, 5, 6]
    assert [row.s_id for row in revenue.backward("report", rows=[0], table="revenue").collect()] == [2]
    assert list(revenue.forward_ids("revenue", where="s_id = 2", result="report")) == [0]
    with pytest.raises(LineageError, match=r"^row numbers of revenue are asked for, .* its version 1, whose rows have"):
        revenue.forward_ids("revenue", ids=[1], result="report")
    assert values(revenue.stale()) == [("report", "revenue", 1, 2)]
    with pytest.raises(LineageError, match=r"^result revenue has no version 7\. There are 1, 2;"):
        revenue.result("revenue", 7)
    assert values(revenue.result("revenue", 1))[0][0] == 1


def test_append_keeps_numbers(revenue: ForwardLineage) -> None:
    revenue.save("SELECT price FROM revenue WHERE s_id = 2", "report")
    more = revenue.save("SELECT s_id * 10 AS s_id, sum(price) price, count(*) n FROM sales WHERE s_id = 3 GROUP BY 1",
                        "revenue", mode="append")  # fmt: skip
    assert (more.version, more.rows, more.keeps_numbers_of) == (2, 5, 1)
    assert [row[0] for row in values(revenue.result("revenue"))] == [1, 2, 3, 4, 30]
    assert list(revenue.backward_ids("revenue", rows=[4])) == [7, 8]
    assert list(revenue.forward_ids("sales", ids=[7], result="revenue")) == [2, 4]
    assert list(revenue.forward_ids("revenue", ids=[1, 4], result="report")) == [0], "numbers still mean the same rows"
    with pytest.raises(LineageError, match=r"^revenue has other columns than the query to append\. Overwrite it\.$"):
        revenue.save("SELECT s_id FROM sales", "revenue", mode="append")
    with pytest.raises(LineageError, match=r"^there is a saved result revenue already\. Say mode="):
        revenue.save(REVENUE, "revenue", mode="error")
    assert revenue.describe("revenue").version == 2


def test_granules_are_answered_as_values(store: ForwardLineage) -> None:
    store.save(store.sql(Q4 + " LINEAGE ON d.s_name, i.category"), "units")
    assert store.describe("units").granularity == "granules"
    frame = store.backward("units", where="s_name = 'Target'", table="item")
    assert frame.columns == ["category"] and values(frame) == [("stationery",)]
    for where in ("category = 'clothing'", "i_name = 'pants'"):
        assert [row.s_name for row in store.forward("item", where=where, result="units").collect()] == ["Macy's"]
    assert [row.result for row in store.impact("item", ids=[2]).collect()] == ["units"]
    with pytest.raises(LineageError, match=r"^a result of LINEAGE ON has ids of its own and cannot be appended to"):
        store.save(Q4 + " LINEAGE ON d.s_name, i.category", "units", mode="append")


def test_data_frames(store: ForwardLineage) -> None:
    frame = store.sql("SELECT t_id, s_id, price FROM sales")
    changed = frame.where("price > 40").orderBy("t_id").withColumn("half", frame["price"] / 2).drop("s_id")
    assert store.save(changed, "dear").columns == (("t_id", "int"), ("price", "int"), ("half", "double"))
    assert [(row.row, row.id) for row in store.table("lineage_of(dear, sales)").collect()] == [
        (number, row[0]) for number, row in enumerate(values(store.result("dear")))
    ]
    other = store.sql("SELECT s_id, 0 AS b, 1 AS c FROM store")
    spark = store.spark
    numbers = spark.range(3)
    for bad, how in [
        (spark.createDataFrame([(1,)], ["a"]), "rows that are not registered"),
        (frame.join(other, "s_id"), "has several columns DL"),
        (frame.join(numbers, frame["t_id"] == numbers["id"]), r"\(Join\)"),
        (frame.union(other), r"\(Union\)"),
        (frame.dropDuplicates(["s_id"]), r"\(Deduplicate\)"),
    ]:
        with pytest.raises(LineageError, match=how):
            store.save(bad, "bad")
    with pytest.raises(LineageError, match=r"traced under the home .*/home, not .*/elsewhere"):
        ForwardLineage(spark, store.home.parent / "elsewhere").save(frame, "bad")
    assert [each.name for each in store.results()] == ["dear"]


def test_odd_results(store: ForwardLineage) -> None:
    one = store.save("SELECT 1 AS one", "constant")
    assert one.tables == () and values(store.result("constant")) == [(1,)]
    with pytest.raises(LineageError, match=r"^constant was made of no table\. There is nothing to trace\.$"):
        store.backward("constant")
    store.save("SELECT * FROM sales WHERE t_id > 99", "empty")
    assert store.result("empty").columns == ["t_id", "s_id", "i_id", "price", "num"]
    assert values(store.forward("sales", where="t_id > 0", result="empty")) == []
    odd = """
        SELECT t_id AS `a b.c;{}=\n`, map('k', array(named_struct('x', num, 'y', CAST(NULL AS INT)))) AS `größe`,
               CAST(NULL AS DATE) AS `order`, TIMESTAMP '1500-01-01 00:00:00' AS row_id, INTERVAL '3' DAY AS i,
               CAST(num AS DECIMAL(30, 4)) AS d FROM sales
    """
    store.save(odd, "odd")
    assert sorted(values(store.result("odd")), key=str) == sorted(values(store.spark.sql(odd)), key=str)
    assert store.result("odd").dtypes == store.spark.sql(odd).dtypes
    assert store.forward("sales", where="t_id = 3", result="odd").columns[0] == "_row_id"
    with pytest.raises(LineageError, match=r"^column y of bad has type interval year, which cannot be saved"):
        store.save("SELECT INTERVAL '1' YEAR AS y FROM sales", "bad")
    with pytest.raises(LineageError, match=r"^bad has two columns called A\. Give one of them another name\.$"):
        store.save("SELECT t_id AS a, 1 AS A FROM sales", "bad")


@pytest.mark.parametrize(
    ("sql", "name", "message"),
    [
        ("SELECT 1", "sales", r"^sales is a registered table\. Save the result under another name\.$"),
        ("SELECT 1", "taken", r"^Spark has a table or view taken, which queries would no longer find"),
        ("SELECT 1", "a b", r"^'a b' cannot be the name of a saved result"),
        ("CREATE TABLE t AS SELECT 1", "t", r"^a statement that is no query has no rows to save\. Save its SELECT\.$"),
        ("SELECT nix FROM sales", "t", r"nix"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing(store: ForwardLineage, sql: str, name: str, message: str) -> None:
    store.spark.sql("CREATE OR REPLACE TEMP VIEW taken AS SELECT 1")
    with pytest.raises(LineageError, match=message):
        store.save(sql, name)
    assert store.results() == [] and not store.spark.catalog.tableExists("t")


def test_rows_in_the_order_in_which_they_were_saved(lineage: ForwardLineage, tmp_path: Path) -> None:
    """Of several files, too, the largest of which Spark would read first."""
    growing = "SELECT id, repeat(sha2(CAST(id AS STRING), 256), CAST(id / 500 AS INT)) AS long FROM range(2000)"
    lineage.spark.sql(growing).write.parquet(str(tmp_path / "growing"))
    lineage.register("growing", key="id", path=tmp_path / "growing")
    saved = lineage.save("SELECT /*+ REPARTITION_BY_RANGE(2, id) */ id, long FROM growing", "in_two_files")
    assert len(saved.row_files) == 2
    pairs = lineage.table("lineage_of(in_two_files, growing)").orderBy("row").collect()
    assert [row.id for row in lineage.result("in_two_files").collect()] == [pair.id for pair in pairs]


def test_damaged_granules(store: ForwardLineage) -> None:
    saved = store.save(Q4 + " LINEAGE ON d.s_name, i.category", "units")
    file = saved.tables[0].dictionary_files[0]
    path = saved.folder / file.path
    data = path.read_bytes()
    assert (file.size, file.rows) == (len(data), 3)
    path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    with pytest.raises(LineageError, match=rf"^{path} is damaged: its checksum is wrong\. Save the result again, or"):
        store.backward("units", table=saved.tables[0].name)
    assert store.result("units").count() == saved.rows


def test_damaged_rows(revenue: ForwardLineage) -> None:
    revenue.save("SELECT * FROM store", "other")
    saved = revenue.describe("revenue")
    path = saved.folder / saved.row_files[0].path
    data = path.read_bytes()
    path.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])
    with pytest.raises(LineageError, match=rf"^{path} is damaged: its checksum is wrong\. Save the result again, or"):
        revenue.result("revenue")
    path.write_bytes(data[:-9])
    with pytest.raises(LineageError, match=rf"^{path} is damaged: it has {len(data) - 9} bytes, not {len(data)}\."):
        revenue.forward("sales", where="t_id = 4", result="revenue")
    path.unlink()
    with pytest.raises(LineageError, match=rf"^{path} cannot be read \(No such file or directory\)"):
        revenue.result("revenue")
    assert revenue.result("other").count() == 4
    assert list(revenue.backward_ids("other", rows=[0])) == [1]
    revenue.save(REVENUE, "revenue")
    assert revenue.result("revenue").count() == 4


def test_dropping_and_other_sessions(revenue: ForwardLineage) -> None:
    other = ForwardLineage(revenue.spark.newSession(), revenue.home)
    register_store_example(other.spark, other)
    assert other.sql("SELECT n FROM revenue").columns == ["n", "DL"]
    revenue.save("SELECT 7 AS n", "revenue")
    assert values(other.sql("SELECT n FROM revenue").drop("DL")) == [(7,)]
    other.drop("revenue")
    with pytest.raises(LineageError, match=r"revenue"):
        revenue.sql("SELECT n FROM revenue")
    with pytest.raises(LineageError, match=r"^there is no saved result revenue\. Nothing is saved yet\."):
        revenue.backward("revenue")
    drop_views(other.spark)


def test_a_base_table_that_changes(store: ForwardLineage, tmp_path: Path) -> None:
    spark, data = store.spark, tmp_path / "events"
    spark.range(0, 10, 1, 1).write.parquet(str(data))
    store.register("events", path=data)
    store.save("SELECT id % 3 AS k, count(*) AS n FROM events GROUP BY 1 ORDER BY 1", "counts")
    spark.range(10, 12, 1, 1).write.mode("append").parquet(str(data))
    assert values(store.stale()) == [("counts", "events", 1, None)], "changed, and not registered again"
    store.refresh("events")
    assert values(store.stale()) == [("counts", "events", 1, 2)]
    assert [row.id for row in store.backward("counts", rows=[0]).collect()] == [0, 3, 6, 9], "ids of old files are kept"
    assert [row.k for row in store.forward("events", where="id = 4", result="counts").collect()] == [1]

    spark.range(0, 5, 1, 1).write.mode("overwrite").parquet(str(data))
    store.register("events", path=data)
    assert list(store.backward_ids("counts", rows=[0])) == [0, 3, 6, 9]
    with pytest.raises(
        LineageError, match=r"^4 of the 4 rows of events that were asked for are gone: counts was saved"
    ):
        store.backward("counts", rows=[0])
    with pytest.raises(
        LineageError, match=r"^10 rows of events that counts was made of are gone, so a condition cannot"
    ):
        store.impact("events", where="id = 4")


def test_a_map_without_types_is_refused(store: ForwardLineage) -> None:
    with pytest.raises(NotTracedError, match=r"has type map<void,void>, which cannot be saved.*MAP<STRING,STRING>"):
        store.save("SELECT s_id, map() AS m FROM store", "empty")
    store.save("SELECT s_id, CAST(map() AS MAP<STRING,STRING>) AS m FROM store", "empty")
    assert store.result("empty").first().m == {}
