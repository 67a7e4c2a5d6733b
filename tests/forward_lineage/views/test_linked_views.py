"""`ForwardLineage.views`: answers are those of Spark SQL over the rows that are left; what changes is made anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.settings import configured
from forward_lineage.spark.versions import arrow_table
from forward_lineage.views.cubes import Limits

LINEITEM = {
    "flags": "SELECT l_returnflag, l_linestatus, count(*) AS n, sum(l_extendedprice * (1 - l_discount)) AS revenue, "
    "avg(l_quantity) AS quantity FROM lineitem GROUP BY l_returnflag, l_linestatus ORDER BY 1, 2",
    "modes": "SELECT l.l_shipmode AS mode, count(*) AS n, avg(l.l_linenumber) AS line, count(l.l_comment) AS comments "
    "FROM lineitem AS l GROUP BY mode",
    "months": "SELECT year(l_shipdate) AS y, month(l_shipdate) AS m, count(*) AS n, sum(l_tax) AS tax FROM lineitem "
    "WHERE l_quantity > 10 GROUP BY ALL ORDER BY y, m",
}
PLAIN = {
    "modes": "SELECT l_shipmode AS mode, count(*) AS n, sum(l_quantity) AS quantity FROM lineitem GROUP BY l_shipmode",
    "days": "SELECT l_shipdate AS day, count(*) AS n, avg(l_discount) AS off FROM lineitem GROUP BY l_shipdate",
    "suppliers": "SELECT l_suppkey, sum(l_linenumber) AS lines FROM lineitem GROUP BY l_suppkey ORDER BY 1",
}


@pytest.fixture
def lineitem(lineage: ForwardLineage, tpch: Path) -> ForwardLineage:
    lineage.register("lineitem", path=tpch / "lineitem.parquet")
    return lineage


def assert_like_spark(shown: pa.Table, spark: SparkSession, sql: str, condition: str) -> None:
    """Spark leaves out groups that have no row; the bars that it has are the same in all columns and types."""
    word = "WHERE" if "WHERE" not in sql else "AND"
    expected = arrow_table(spark.sql(sql.replace("GROUP BY", f"{word} {condition} GROUP BY")))
    assert shown.schema.types == expected.schema.types
    found = [row for row in shown.to_pylist() if any(row[name] for name in ("n", "lines") if name in row)]
    assert sorted(found, key=repr) == sorted(expected.to_pylist(), key=repr)


@pytest.mark.parametrize(
    ("views", "limits"),
    [
        pytest.param(LINEITEM, Limits(cells=0, share=0), id="computed-rows"),
        pytest.param(PLAIN, Limits(), id="as they stand-cubes"),
        pytest.param(LINEITEM, Limits(), id="computed-cubes", marks=pytest.mark.long),
        pytest.param(PLAIN, Limits(cells=0, share=0), id="as they stand-rows", marks=pytest.mark.long),
    ],
)
def test_tpch(lineitem: ForwardLineage, views: dict[str, str], limits: Limits) -> None:
    linked = lineitem._parts.opening.views(views, limits=limits)
    hand = linked.hand()
    modes = [linked.bars("modes").column("mode")[bar].as_py() for bar in (0, 3)]
    answer = hand.brush("modes", [0, 3])
    others = [name for name in linked.names if name != "modes"]
    condition = f"l_shipmode IN ('{modes[0]}', '{modes[1]}')"
    for name in others:
        assert_like_spark(answer.table(name), lineitem.spark, views[name], condition)
    second = others[0]
    keys = [field for field in linked.bars(second).column_names if field in ("l_returnflag", "l_linestatus", "day")]
    key = {name: linked.bars(second).column(name)[1].as_py() for name in keys}
    answer = hand.brush(second, linked.find(second, **key))
    both = " AND ".join(
        f"{'l_shipdate' if name == 'day' else name} = {'DATE' if name == 'day' else ''} '{value}'"
        for name, value in key.items()
    )
    assert_like_spark(answer.table(others[1]), lineitem.spark, views[others[1]], f"{condition} AND {both}")
    assert_like_spark(answer.table("modes"), lineitem.spark, views["modes"], both)
    rows = lineitem.rows("lineitem", hand.ids())
    assert rows.where(f"{condition} AND {both}").count() == rows.count() == len(hand.ids()) > 0


def test_what_was_made_is_found_again(lineitem: ForwardLineage) -> None:
    first = lineitem.views(PLAIN)
    files = {path: path.stat().st_mtime_ns for path in (lineitem.home / "views").rglob("*")}
    again = ForwardLineage(lineitem.spark, lineitem.home).views(PLAIN)
    assert {path: path.stat().st_mtime_ns for path in (lineitem.home / "views").rglob("*")} == files
    for linked in (first, again):
        assert linked.brush("modes", [1]).table("days") == first.brush("modes", [1]).table("days")
    assert (again.table_name, again.version, again.trusted, again.rows) == ("lineitem", 1, False, 60175)


def sales(lineage: ForwardLineage, folder: Path, rows: Mapping[str, Any], **how: Any) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(rows), folder / f"{len(list(folder.iterdir()))}.parquet")
    lineage.register("sales", path=folder, **how)


SALES = {
    "items": "SELECT item, count(*) AS n, sum(amount) AS amount FROM sales GROUP BY item ORDER BY item",
    "regions": "SELECT region, count(*) AS n FROM sales GROUP BY region ORDER BY region",
}
ROWS = {"item": ["a", "b", "a", None], "region": [1, 1, 2, 2], "amount": [5, None, 7, 1]}


def test_a_damaged_array_is_made_anew(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    expected = lineage.views(SALES).brush("items", [1])["regions"].tolist()
    (path,) = (lineage.home / "views").rglob("0.codes")
    path.chmod(0o600)
    path.unlink()
    path.write_bytes(b"\1\1\1\1")
    assert lineage.views(SALES).brush("items", [1])["regions"].tolist() == expected
    assert path.read_bytes() != b"\1\1\1\1"


def test_a_changed_table_is_refused_and_then_made_anew(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    linked = lineage.views(SALES)
    assert linked.brush("regions", [1]).table("items").to_pydict() == {
        "item": [None, "a", "b"],
        "n": [1, 1, 0],
        "amount": [1, 7, None],
    }
    pq.write_table(pa.table({"item": ["c"], "region": [2], "amount": [9]}), tmp_path / "sales" / "more.parquet")
    with pytest.raises(LineageError, match=r"more\.parquet is new since version 1 was registered"):
        lineage.views(SALES)
    lineage.refresh("sales")
    assert lineage.views(SALES).brush("regions", [1])["items"].tolist() == [1, 1, 0, 1]
    assert linked.brush("regions", [1])["items"].tolist() == [1, 1, 0], "views of the version that they were opened at"
    assert len([path for path in (lineage.home / "views").glob("*/*") if path.is_dir()]) == 1


def test_rows_that_are_gone_leave_gaps_in_the_ids(lineage: ForwardLineage, tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    sales(lineage, folder, ROWS)
    sales(lineage, folder, ROWS)
    (folder / "0.parquet").unlink()
    lineage.refresh("sales")
    linked = lineage.views(SALES)
    hand = linked.hand()
    assert hand.brush("regions", [0])["items"].tolist() == [0, 1, 1]
    assert set(hand.ids()) == {4, 5}


@pytest.mark.parametrize("key", ["number", ["number"]], ids=["key", "dictionary"])
def test_ids_may_be_scattered(lineage: ForwardLineage, key: str | list[str]) -> None:
    lineage.spark.sql(
        "CREATE OR REPLACE TEMP VIEW scattered AS "
        "SELECT id * id * 1000 AS number, id % 3 AS three, id % 5 AS five FROM range(100)"
    )
    lineage.register("scattered", key=key)
    linked = lineage.views(
        {each: f"SELECT {each}, count(*) FROM scattered GROUP BY {each} ORDER BY 1" for each in ("three", "five")}
    )
    hand = linked.hand()
    assert hand.brush("three", [1])["five"].tolist() == [6, 7, 7, 6, 7]
    hand.brush("five", [2])
    found = lineage.rows("scattered", hand.ids()).select("number").collect()
    assert sorted(row[0] for row in found) == sorted(n * n * 1000 for n in range(100) if n % 3 == 1 and n % 5 == 2)


def test_dates_that_mean_another_day_to_spark_than_to_arrow(lineage: ForwardLineage, tmp_path: Path) -> None:
    days = pa.array([-200_000, -200_000, 0, -200_001], pa.date32())
    table = pa.table({"day": days, "two": [0, 1, 1, 1]})
    # What Spark 2 wrote counts days before 1582 in the Julian calendar.
    legacy = {"org.apache.spark.version": "3.0.0", "org.apache.spark.legacyDateTime": ""}
    pq.write_table(table.replace_schema_metadata(legacy), tmp_path / "old.parquet")
    lineage.register("old", path=tmp_path / "old.parquet")
    sql = "SELECT day, count(*) AS n FROM old GROUP BY day ORDER BY day"
    linked = lineage.views({"days": sql, "two": "SELECT two, count(*) FROM old GROUP BY two ORDER BY two"})
    assert linked.bars("days").column("day").cast(pa.int32()).to_pylist() != [-200_001, -200_000, 0]
    assert_like_spark(linked.brush("two", [1]).table("days"), lineage.spark, sql, "two = 1")


KEYS = [
    "CAST(n % 4 AS TINYINT)",
    "CAST(n % 4 AS DECIMAL(20, 3)) / 7",
    "element_at(array(0D, -0D, double('NaN'), NULL), int(n % 4) + 1)",
    "element_at(array(0F, -0F, float('NaN'), float('-Infinity')), int(n % 4) + 1)",
    "element_at(array('a', 'A', '', NULL), int(n % 4) + 1)",
    "element_at(array(X'00', X'', X'0000', NULL), int(n % 4) + 1)",
    "DATE '1500-01-01' + CAST(n % 4 AS INT)",
    "TIMESTAMP '2024-03-31 00:30:00' + make_dt_interval(0, n % 4)",
    "TIMESTAMP_NTZ '2024-03-31 00:30:00' + make_dt_interval(0, n % 4)",
    "n % 4 = 1",
    "CASE WHEN n % 4 > 1 THEN n % 4 END",
    "make_dt_interval(n % 4)",
]


def test_keys_of_every_type(lineage: ForwardLineage) -> None:
    lineage.spark.range(40).selectExpr("id", "id AS n").createOrReplaceTempView("numbers")
    lineage.register("numbers", key="id")
    views = {key: f"SELECT {key} AS key, count(*) AS n FROM numbers GROUP BY 1" for key in KEYS}
    sevens = {"sevens": "SELECT n % 7 AS seven, count(*) AS n FROM numbers GROUP BY 1 ORDER BY 1"}
    answer = lineage.views(views | sevens).brush("sevens", [3])
    for key, sql in views.items():
        found = {repr(row["key"]): row["n"] for row in answer.table(key).to_pylist() if row["n"]}
        expected = arrow_table(lineage.spark.sql(sql.replace("GROUP BY", "WHERE n % 7 = 3 GROUP BY")))
        assert found == {repr(row["key"]): row["n"] for row in expected.to_pylist()}, key


def test_sums_of_every_kind(lineage: ForwardLineage) -> None:
    lineage.spark.sql(
        """CREATE OR REPLACE TEMP VIEW amounts AS SELECT id, id % 3 AS three, id % 4 AS four,
        CAST(id * 123456789 AS BIGINT) AS big, CAST(-id AS TINYINT) AS tiny, CAST(id / 7 AS DECIMAL(12, 4)) AS price,
        CAST(id / 7 AS DECIMAL(38, 10)) AS wide, IF(id % 5 = 0, NULL, id / 4) AS x,
        CAST(id / 8 AS FLOAT) AS f FROM range(60)"""
    )
    lineage.register("amounts", key="id")
    columns = ("big", "tiny", "price", "wide", "x", "f")
    sums = ", ".join(f"sum({c}) AS s_{c}, avg({c}) AS a_{c}, count({c}) AS c_{c}" for c in columns)
    views = {
        "threes": f"SELECT three, count(*) AS n, {sums} FROM amounts GROUP BY three",
        "fours": "SELECT four, count(*) AS n FROM amounts WHERE x IS NOT NULL GROUP BY four ORDER BY four",
    }
    linked = lineage.views(views)
    for bars in ([1], [0, 1, 2, 3], [2, 3]):
        condition = f"x IS NOT NULL AND four IN ({', '.join(map(str, bars))})"
        assert_like_spark(linked.brush("fours", bars).table("threes"), lineage.spark, views["threes"], condition)
    nothing = linked.brush("fours", []).table("threes").to_pylist()
    assert all(value is None or value == 0 for row in nothing for name, value in row.items() if name != "three")


# ---------------------------------------------------------------- saved results


def common(lineage: ForwardLineage, one: str, rows: list[int], other: str, table: str) -> list[int]:
    """FORWARD(BACKWARD(one, table), other), with the number of base rows in common, pair by pair."""
    mine = set(lineage.backward_ids(one, rows=rows, table=table))
    count = lineage.describe(other).rows
    return [len(mine & set(lineage.backward_ids(other, rows=[row], table=table))) for row in range(count)]


def test_saved_results_are_linked_through_base_rows(lineitem: ForwardLineage) -> None:
    lineitem.save(
        "SELECT l_shipmode, count(*) AS n FROM lineitem WHERE l_orderkey < 400 GROUP BY 1 ORDER BY 1", "modes"
    )
    lineitem.save(
        "SELECT a.l_linenumber, count(*) AS n FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey "
        "WHERE a.l_orderkey < 300 AND b.l_quantity > 25 GROUP BY 1 ORDER BY 1", "pairs",
    )  # fmt: skip
    lineitem.save("SELECT n > 60 AS many, sum(n) AS n FROM modes GROUP BY 1 ORDER BY 1", "sizes")
    linked = lineitem.views({"modes": "modes", "pairs": "pairs", "sizes": "sizes"})
    for view in linked.names:
        for bars in ([0], [0, 1]):
            answer = linked.brush(view, bars)
            for other in linked.names:
                if other != view:
                    assert answer[other].tolist() == common(lineitem, view, bars, other, "lineitem")
    assert linked.bars("modes").to_pylist() == arrow_table(lineitem.result("modes")).to_pylist()
    assert linked.brush("pairs", [1]).table("modes") == linked.bars("modes")
    mixed = lineitem.views({"pairs": "pairs", "flags": LINEITEM["flags"]})
    hand = mixed.hand()
    flags = hand.brush("pairs", [2]).table("flags")
    ids = ", ".join(map(str, hand.ids()))
    assert set(hand.ids()) == set(lineitem.backward_ids("pairs", rows=[2]))
    numbered = lineitem.rows("lineitem")
    numbered.createOrReplaceTempView("numbered")
    sql = LINEITEM["flags"].replace("FROM lineitem", "FROM numbered")
    assert_like_spark(flags, lineitem.spark, sql, f"row_id IN ({ids})")


def test_groups_over_a_saved_result(lineitem: ForwardLineage) -> None:
    lineitem.save("SELECT l_suppkey, l_shipmode, sum(l_quantity) AS q FROM lineitem GROUP BY 1, 2", "loads")
    views = {
        "modes": "SELECT l_shipmode, count(*) AS n, sum(q) AS q FROM loads GROUP BY l_shipmode",
        "suppliers": "SELECT l_suppkey, count(*) AS n, sum(q) AS q FROM loads GROUP BY l_suppkey",
    }
    linked = lineitem.views(views)
    supplier = linked.bars("suppliers").column("l_suppkey")[5].as_py()
    shown = linked.brush("suppliers", [5]).table("modes")
    assert_like_spark(shown, lineitem.spark, views["modes"], f"l_suppkey = {supplier}")
    elsewhere = ForwardLineage(lineitem.spark.newSession(), lineitem.home)
    elsewhere.save("SELECT l_suppkey, l_shipmode, l_quantity AS q FROM lineitem WHERE l_orderkey < 200", "loads")
    assert lineitem.views(views).rows == lineitem.result("loads").count() < linked.rows


# ---------------------------------------------------------------- what is refused

REFUSED = {
    "SELECT item, max(amount) FROM sales GROUP BY item": "the aggregate max in a view (line 1, column 14). A view may",
    "SELECT item, sum(amount) + 1 FROM sales GROUP BY item": "an aggregate inside of another expression in a view",
    "SELECT item, sum(DISTINCT amount) FROM sales GROUP BY item": "sum(DISTINCT …) or of several values in a view",
    "SELECT item, sum(1) FROM sales GROUP BY item": "sum of no column in a view (line 1, column 14). Write count",
    "SELECT item FROM sales": "a view without GROUP BY (line 1, column 8). Save the query, and give the name",
    "SELECT item FROM sales GROUP BY item HAVING count(*) > 1": "HAVING in a view (line 1, column",
    "SELECT item FROM sales GROUP BY item LIMIT 2": "LIMIT in a view (line 1, column",
    "SELECT DISTINCT item FROM sales GROUP BY item": "DISTINCT in a view",
    "SELECT a.item FROM sales a JOIN sales b USING (item) GROUP BY 1": "a join in a view (line 1, column",
    "SELECT item FROM (SELECT * FROM sales) GROUP BY item": "a view over something else than a table",
    "SELECT item FROM sales WHERE amount > (SELECT 1) GROUP BY item": "a subquery in a view",
    "SELECT item FROM sales GROUP BY item UNION SELECT 'x'": "a view is one SELECT … GROUP BY",
    "SELECT item FROM sales GROUP BY item LINEAGE ON item": "a view is one SELECT … GROUP BY",
    "SELECT item FROM sales GROUP BY ROLLUP (item)": "GROUP BY with ROLLUP in a view",
    "SELECT item FROM sales GROUP BY item WITH CUBE": "GROUP BY with CUBE in a view",
    "WITH s AS (SELECT 1) SELECT item FROM sales GROUP BY item": "WITH in a view",
    "SELECT * FROM sales GROUP BY ALL": "* in a view (line 1, column 8). Name the keys.",
    "SELECT item FROM sales TABLESAMPLE (1 ROWS) GROUP BY item": "a view over something else than a table",
    "SELECT count(*) FROM sales GROUP BY item": "view v groups by more than it shows, so its bars cannot be told apart",
    "SELECT item FROM sales GROUP BY item, region": "view v groups by more than it shows",
    "SELECT array(item) FROM sales GROUP BY 1": "a key of type array<string> in a view (line 1, column 8). Make it",
    "SELECT item, sum(item) FROM sales GROUP BY item": "sum of string in a view (line 1, column 18). Make it a number",
    "SELECT rand() > 2, count(*) FROM sales GROUP BY 1": "view v is not the same at every reading",
    "SELECT current_date(), count(*) FROM sales GROUP BY 1": "view v is not the same at every reading",
    "SELECT city, count(*) FROM sales GROUP BY 1": "`city` cannot be resolved",
    "SELECT item, sum(amount * 500000000000000000) AS s FROM sales GROUP BY item": "sums of s in view v, of 4 rows "
    "with values up to 3,500,000,000,000,000,000, may not fit into 64 bits",
    "SELECT a FROM nowhere GROUP BY a": "nowhere",
    "nowhere": "there is no saved result nowhere",
    "": "there is no SQL here",
}  # fmt: skip


def test_what_is_no_view(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    for sql, message in REFUSED.items():
        with pytest.raises(LineageError, match=re.escape(message)):
            lineage.views({"v": sql})
    assert not list((lineage.home / "views").rglob("views.json"))


@pytest.mark.since("4.0", "functions written in SQL")
def test_a_function_that_reads_a_table_is_in_no_view(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    lineage.spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION most() RETURNS INT RETURN SELECT max(amount) FROM sales")
    with pytest.raises(LineageError, match="which reads a table, in a view"):
        lineage.views({"v": "SELECT most(), count(*) FROM sales GROUP BY 1"})
    lineage.spark.sql("DROP TEMPORARY FUNCTION most")
    assert not list((lineage.home / "views").rglob("views.json"))


def test_settings_under_which_sql_reads_otherwise(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    with (
        configured(lineage.spark, {"spark.sql.caseSensitive": "true"}),
        pytest.raises(LineageError, match=r"names that differ in case only"),
    ):
        lineage.views(SALES)


def test_what_is_not_linked(store: ForwardLineage) -> None:
    store.save("SELECT category, count(*) AS n FROM item GROUP BY category", "categories")
    store.save("SELECT i_id, sum(num) AS num FROM sales GROUP BY i_id", "by_item")
    store.save("SELECT category, sum(num) AS num FROM sales JOIN item USING (i_id) GROUP BY category", "sold")
    store.save("SELECT s_id, sum(num) AS num FROM sales GROUP BY s_id LINEAGE ON i_id", "granules")
    by_store = "SELECT s_id, count(*) FROM sales GROUP BY s_id"
    for views, table, message in (
        (
            {"a": "categories", "b": "by_item"},
            None,
            r"the views are over item and sales\. Say which table links them: table=",
        ),
        ({"a": "categories", "b": "by_item"}, "sales", r"categories was not made of sales"),
        ({"a": "sold", "b": "by_item"}, None, r"sold was made of item, sales\. Say which: table="),
        ({"a": "granules", "b": "by_item"}, None, r"granules was saved with LINEAGE ON i_id and knows values of sales"),
        ({"a": by_store, "b": "categories"}, None, r"categories was not made of sales"),
        (
            {"a": by_store, "b": "SELECT city FROM store GROUP BY city"},
            None,
            r"the views are over sales and store\. Save",
        ),
        ({"a": by_store, "b": "sold"}, "item", r"a view is over sales, and item is to link the views"),
        ({"a": by_store}, "staff", r"table staff is not registered"),
        ({}, None, r"views are given by name\. Write lineage\.views"),
        ([by_store], None, r"views are given by name"),
        ({"a": 3}, None, r"view 'a' is neither SQL nor the name of a saved result"),
    ):
        with pytest.raises(LineageError, match=message):
            store.views(views, table=table)  # type: ignore[arg-type]
    linked = store.views({"a": "sold", "b": "by_item"}, table="sales")
    assert linked.brush("b", [0])["a"].sum() == len(store.backward_ids("by_item", rows=[0]))


def test_a_result_of_another_version_is_refused_beside_a_query(lineage: ForwardLineage, tmp_path: Path) -> None:
    sales(lineage, tmp_path / "sales", ROWS)
    lineage.save("SELECT item, count(*) AS n FROM sales GROUP BY item", "items")
    views = {"items": "items", "regions": SALES["regions"]}
    assert lineage.views(views).brush("items", [0])["regions"].sum() > 0
    sales(lineage, tmp_path / "sales", ROWS)
    with pytest.raises(
        LineageError, match=r"items was saved with version 1 of sales, now it is version 2\. Save items"
    ):
        lineage.views(views)


def test_what_is_taken_on_trust_is_read_at_every_opening(lineage: ForwardLineage) -> None:
    def numbers(rows: int) -> None:
        lineage.spark.range(rows).selectExpr("id", "id % 2 AS odd").createOrReplaceTempView("numbers")

    numbers(10)
    lineage.register("numbers", key="id", trusted=True)
    views = {"odd": "SELECT odd, count(*) FROM numbers GROUP BY odd ORDER BY odd"}
    assert lineage.views(views).trusted
    numbers(20)
    lineage.register("numbers", key="id", trusted=True)
    assert lineage.views(views).hand().answer()["odd"].tolist() == [10, 10]


def test_a_function_may_do_something_else_at_every_opening(lineage: ForwardLineage, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([1, 2, 3], pa.int64())}), tmp_path / "numbers.parquet")
    lineage.register("numbers", path=tmp_path / "numbers.parquet")
    for most in (2, 3):
        lineage.spark.udf.register("few", lambda n, most=most: n < most, "boolean")
        linked = lineage.views({"few": "SELECT few(n) AS few, count(*) AS c FROM numbers GROUP BY few(n) ORDER BY 1"})
        assert [each["c"] for each in linked.bars("few").to_pylist()] == [4 - most, most - 1]


def test_an_empty_table_has_no_bars(lineage: ForwardLineage, tmp_path: Path) -> None:
    rows = {
        name: pa.array([], kind)
        for name, kind in (("item", pa.string()), ("region", pa.int64()), ("amount", pa.int64()))
    }
    sales(lineage, tmp_path / "sales", rows)
    linked = lineage.views(SALES)
    assert linked.brush("items", []).table("regions").num_rows == linked.rows == len(linked.hand().ids()) == 0
