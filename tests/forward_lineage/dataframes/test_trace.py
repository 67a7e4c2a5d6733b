"""DataFrames with their lineage: each operator beside the SQL that says the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.conftest import rows_with_lineage
from tests.shared_state import drop_views
from tests.tiers import every_day

pytestmark = pytest.mark.slow

Frame = Callable[[SparkSession], DataFrame]


def by_store() -> WindowSpec:
    return Window.partitionBy("s_id").orderBy("t_id")


def sales(spark: SparkSession) -> DataFrame:
    return spark.table("sales")


def stores(spark: SparkSession) -> DataFrame:
    return spark.table("store")


def doubled(column: str) -> Column:
    return F.udf(lambda value: 2 * value, "int")(column)


CASES: dict[str, tuple[Frame, str]] = {
    "select and filter": (
        lambda s: sales(s).filter("price > 30").select("t_id", (F.col("price") * F.col("num")).alias("sum")),
        "SELECT t_id, price * num AS sum FROM sales WHERE price > 30",
    ),
    "withColumn after withColumn": (
        lambda s: sales(s).withColumn("a", F.col("price") + 1).withColumn("b", F.col("a") * 2).drop("num"),
        "SELECT t_id, s_id, i_id, price, price + 1 AS a, (price + 1) * 2 AS b FROM sales",
    ),
    "join by name, names twice": (
        lambda s: sales(s).join(stores(s), "s_id").join(stores(s).alias("again"), "s_id"),
        "SELECT s_id, t_id, i_id, price, num, a.s_name, a.city, a.state, b.s_name, b.city, b.state"
        " FROM sales JOIN store a USING (s_id) JOIN store b USING (s_id)",
    ),
    "left join": (
        lambda s: stores(s).join(sales(s).filter("price > 60"), "s_id", "left").select("s_id", "t_id"),
        "SELECT store.s_id, t_id FROM store LEFT JOIN (SELECT * FROM sales WHERE price > 60) x ON store.s_id = x.s_id",
    ),
    "full join": (
        lambda s: stores(s).join(sales(s).filter("price > 60"), "s_id", "full").select("s_id", "t_id"),
        "SELECT s_id, t_id FROM store FULL JOIN (SELECT * FROM sales WHERE price > 60) x USING (s_id)",
    ),
    "semi and anti join, a hint": (
        lambda s: (
            stores(s)
            .join(F.broadcast(sales(s).filter("num > 2000")), "s_id", "left_semi")
            .join(sales(s).filter("price > 60"), "s_id", "left_anti")
        ),
        "SELECT * FROM store LEFT SEMI JOIN (SELECT * FROM sales WHERE num > 2000) a ON store.s_id = a.s_id"
        " LEFT ANTI JOIN (SELECT * FROM sales WHERE price > 60) b ON store.s_id = b.s_id",
    ),
    "cross join": (
        lambda s: stores(s).crossJoin(s.table("item").filter("i_id < 3")).select("s_id", "i_id"),
        "SELECT s_id, i_id FROM store CROSS JOIN (SELECT * FROM item WHERE i_id < 3)",
    ),
    "groups, filtered": (
        lambda s: sales(s).groupBy("s_id").agg(F.sum("num").alias("n"), F.count_distinct("i_id")).filter("n > 3000"),
        "SELECT s_id, sum(num) AS n, count(DISTINCT i_id) FROM sales GROUP BY s_id HAVING sum(num) > 3000",
    ),
    "one group of all rows": (
        lambda s: sales(s).agg(F.max("price"), F.first("t_id", ignorenulls=True)),
        "SELECT max(price), first(t_id, true) FROM sales",
    ),
    "rollup": (
        lambda s: sales(s).rollup("s_id", "i_id").agg(F.sum("num"), F.grouping_id()),
        "SELECT s_id, i_id, sum(num), grouping_id() FROM sales GROUP BY ROLLUP (s_id, i_id)",
    ),
    "cube": (
        lambda s: sales(s).cube("s_id", F.col("price") > 30).agg(F.count("*"), F.grouping("s_id")),
        "SELECT s_id, dear, count(*), grouping(s_id) FROM (SELECT *, price > 30 AS dear FROM sales)"
        " GROUP BY CUBE (s_id, dear)",
    ),
    "unpivot": (
        lambda s: sales(s).filter("t_id < 3").unpivot("t_id", ["price", "num"], "what", "value"),
        "SELECT t_id, what, value FROM (SELECT t_id, price, num FROM sales WHERE t_id < 3)"
        " UNPIVOT INCLUDE NULLS (value FOR what IN (price, num))",
    ),
    "windows beside each other": (
        lambda s: (
            sales(s)
            .withColumn("n", F.row_number().over(by_store()))
            .withColumn("before", F.lag("price", 1, 0).over(by_store()))
            .withColumn("near", F.sum("num").over(by_store().rowsBetween(-1, 1)))
        ),
        "SELECT *, row_number() OVER w AS n, lag(price, 1, 0) OVER w AS before, sum(num) OVER"
        " (PARTITION BY s_id ORDER BY t_id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS near"
        " FROM sales WINDOW w AS (PARTITION BY s_id ORDER BY t_id)",
    ),
    "a filter by a window": (
        lambda s: sales(s).withColumn("n", F.row_number().over(by_store())).filter("n = 2").select("t_id"),
        "SELECT t_id FROM (SELECT *, row_number() OVER (PARTITION BY s_id ORDER BY t_id) AS n FROM sales) WHERE n = 2",
    ),
    "a window over groups": (
        lambda s: (
            sales(s)
            .groupBy("s_id")
            .agg(F.sum("num").alias("n"))
            .withColumn("r", F.rank().over(Window.orderBy(F.desc("n"))))
        ),
        "SELECT s_id, sum(num) AS n, rank() OVER (ORDER BY sum(num) DESC) AS r FROM sales GROUP BY s_id",
    ),
    "union by name": (
        lambda s: sales(s).select("s_id", "i_id").unionByName(sales(s).select("i_id", "s_id")),
        "SELECT s_id, i_id FROM sales UNION ALL SELECT s_id, i_id FROM sales",
    ),
    "union with columns that one side lacks": (
        lambda s: stores(s).select("s_id").unionByName(s.table("item").select("i_id"), allowMissingColumns=True),
        "SELECT s_id, NULL AS i_id FROM store UNION ALL SELECT NULL, i_id FROM item",
    ),
    "intersect, subtract, exceptAll": (
        lambda s: (
            stores(s)
            .select("s_id")
            .intersect(sales(s).select("s_id"))
            .subtract(sales(s).filter("price > 60").select("s_id"))
            .exceptAll(sales(s).filter("num = 0").select("s_id"))
        ),
        "((SELECT s_id FROM store INTERSECT SELECT s_id FROM sales) EXCEPT SELECT s_id FROM sales WHERE price > 60)"
        " EXCEPT ALL SELECT s_id FROM sales WHERE num = 0",
    ),
    "distinct": (lambda s: sales(s).select("s_id").distinct(), "SELECT DISTINCT s_id FROM sales"),
    "dropDuplicates": (
        lambda s: sales(s).select("s_id", F.lit(1).alias("one")).dropDuplicates(["s_id"]),
        "SELECT s_id, first(1) AS one FROM sales GROUP BY s_id",
    ),
    "explode": (
        lambda s: stores(s).select("s_id", F.explode(F.split("city", " ")).alias("word")),
        "SELECT s_id, word FROM store LATERAL VIEW explode(split(city, ' ')) AS word",
    ),
    "a generator beside each row": (
        lambda s: (
            stores(s)
            .select("s_id", F.split("city", " ").alias("words"), F.array(F.struct("state", "s_name")).alias("two"))
            .lateralJoin(s.tvf.posexplode(F.col("words").outer()))
            .lateralJoin(s.tvf.explode(F.col("two").outer()).select("col.*", F.upper("col.s_name").alias("name")))
            .select("s_id", "pos", "words", "state", "name")
        ),
        "SELECT s_id, pos, split(city, ' ') AS words, state, upper(s_name) AS name FROM store"
        " LATERAL VIEW posexplode(split(city, ' ')) AS pos, col",
    ),
    "observed": (
        lambda s: sales(s).observe("seen", F.count("*").alias("n")).filter("price > 50").select("t_id"),
        "SELECT t_id FROM sales WHERE price > 50",
    ),
    "a list in an order": (
        lambda s: s.sql(
            "SELECT s_id, listagg(DISTINCT price, '; ') WITHIN GROUP (ORDER BY price DESC) AS prices,"
            " percentile_cont(0.5) WITHIN GROUP (ORDER BY num) AS middle FROM sales GROUP BY s_id"
        ),
        "SELECT s_id, listagg(DISTINCT price, '; ') WITHIN GROUP (ORDER BY price DESC) AS prices,"
        " percentile(num, 0.5) AS middle FROM sales GROUP BY s_id",
    ),
    "a grouping set twice": (
        lambda s: sales(s).groupingSets([["s_id"], ["s_id"], []], "s_id").agg(F.count("*").alias("n")),
        "SELECT s_id, count(*) AS n FROM sales GROUP BY GROUPING SETS ((s_id), (s_id), ())",
    ),
    "sort, limit, offset": (
        lambda s: sales(s).orderBy(F.desc("num"), "t_id").offset(1).limit(3).select("t_id"),
        "SELECT t_id FROM sales ORDER BY num DESC, t_id LIMIT 3 OFFSET 1",
    ),
    "lambdas, structs": (
        lambda s: (
            sales(s)
            .withColumn("both", F.transform(F.array("price", "num"), lambda each: each + 1))
            .select(F.struct("t_id", F.col("both")[0].alias("p")).alias("pair"))
            .select("pair.t_id", "pair.p")
        ),
        "SELECT t_id, price + 1 AS p FROM sales",
    ),
    "na": (
        lambda s: stores(s).na.drop(thresh=2, subset=["s_name", "city"]).na.fill("?").na.replace("CA", "California"),
        "SELECT s_id, coalesce(s_name, '?') AS s_name, coalesce(city, '?') AS city, CASE WHEN state = 'CA' THEN"
        " 'California' ELSE coalesce(state, '?') END AS state FROM store",
    ),
    "a function of Python's": (
        lambda s: sales(s).filter(doubled("price") > 100).select("t_id"),
        "SELECT t_id FROM sales WHERE 2 * price > 100",
    ),
    "cache, repartition, transform": (
        lambda s: sales(s).cache().repartition(3, "s_id").transform(lambda each: each.groupBy("s_id").count()),
        "SELECT s_id, count(*) AS count FROM sales GROUP BY s_id",
    ),
    "SQL inside": (
        lambda s: s.sql(
            "WITH a AS (SELECT s_id, max(price) AS p FROM sales GROUP BY s_id)"
            " SELECT * FROM a WHERE p IN (SELECT price FROM sales)"
        ).filter("s_id > 1"),
        "WITH a AS (SELECT s_id, max(price) AS p FROM sales GROUP BY s_id)"
        " SELECT * FROM (SELECT * FROM a WHERE p IN (SELECT price FROM sales)) WHERE s_id > 1",
    ),
    "subqueries": (
        lambda s: (
            stores(s)
            .alias("st")
            .filter(sales(s).alias("sa").filter(F.col("sa.s_id") == F.col("st.s_id").outer()).exists())
            .select("s_id", sales(s).agg(F.max("price")).scalar().alias("most"))
        ),
        "SELECT s_id, (SELECT max(price) FROM sales) AS most FROM store st WHERE EXISTS"
        " (SELECT * FROM sales sa WHERE sa.s_id = st.s_id)",
    ),
}


# What PySpark, or SQL, has not had always.
NEWER = {
    "a generator beside each row": pytest.mark.since("4.0", "lateralJoin"),
    "a list in an order": pytest.mark.since("4.2", "listagg of distinct values in their order, which are cast"),
    "a grouping set twice": pytest.mark.since("4.0", "groupingSets"),
    "subqueries": pytest.mark.since("4.0", "subqueries that are DataFrames"),
}
# How a plan is written as SQL is not for the semantics to say, which are those of that SQL.
DECIDED = ("semi and anti join, a hint", "subqueries", "SQL inside")


@pytest.mark.parametrize(
    ("name", "semantics"),
    [
        pytest.param(*case.values, marks=[*case.marks, *([NEWER[case.values[0]]] if case.values[0] in NEWER else [])])
        for case in every_day(product(CASES, ("data", "control")), lambda case: case[1] == "data" or case[0] in DECIDED)
    ],
)
def test_as_the_same_in_sql(shop: ForwardLineage, name: str, semantics: str) -> None:
    make, sql = CASES[name]
    frame = make(shop.spark)
    traced = shop.trace(frame, semantics)
    assert traced.columns == [*frame.columns, "DL"]
    by_place = [f"c{place}" for place in range(len(frame.columns))]
    rows = rows_with_lineage(traced.toDF(*by_place, "DL"))
    assert rows == rows_with_lineage(shop.sql(sql, semantics).toDF(*by_place, "DL"))
    assert sorted((row for row, _ in rows), key=repr) == sorted(map(tuple, frame.collect()), key=repr)
    frame.unpersist()


def test_a_summary_is_made_of_all_rows(shop: ForwardLineage) -> None:
    frame = sales(shop.spark).describe("price", "num")
    rows = rows_with_lineage(shop.trace(frame))
    assert [row for row, _ in rows] == sorted(map(tuple, frame.collect()), key=repr)
    assert {tuple(ids["sales"]) for _, ids in rows} == {tuple(range(1, 12))}


REFUSED: dict[str, tuple[Frame, str]] = {
    "a sample": (lambda s: sales(s).sample(0.5), "a sample, which is left to chance.*save the sample"),
    "mapInArrow": (
        lambda s: sales(s).mapInArrow(lambda batches: batches, sales(s).schema),
        r"mapInArrow\(<lambda>\) says nothing of which rows its rows are made of.*row_by_row",
    ),
    "a checkpoint": (lambda s: sales(s).localCheckpoint(), "rows that are not registered.*source=frame"),
    "rows of the program": (lambda s: s.createDataFrame([(1,)], ["a"]), "rows that are not registered"),
    "a limit after rows were spread": (lambda s: sales(s).repartition(3).limit(2), "spread anew.*Sort them before"),
    "a window without a name": (
        lambda s: s.sql("SELECT t_id FROM sales QUALIFY count(*) OVER (PARTITION BY s_id) > 2"),
        "may be QUALIFY",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.since("4.2", "QUALIFY")] if "QUALIFY" in said else [])
        for name, (_, said) in REFUSED.items()
    ],
)
def test_refused_by_name(shop: ForwardLineage, name: str) -> None:
    make, said = REFUSED[name]
    with pytest.raises(LineageError, match=f"(?s){said}"):
        shop.trace(make(shop.spark))


def test_what_is_no_data_frame_of_the_session(shop: ForwardLineage) -> None:
    with pytest.raises(LineageError, match="SQL or a DataFrame of Spark, not int"):
        shop.trace(3)  # type: ignore[arg-type]
    with pytest.raises(LineageError, match="another Spark session"):
        shop.trace(shop.spark.newSession().range(3))
    with pytest.raises(LineageError, match=r"carries the lineage of its rows.*drop\('DL'\)"):
        shop.trace(shop.sql("SELECT t_id FROM sales"))


def test_saved_explained_and_asked(store: ForwardLineage) -> None:
    frame = sales(store.spark).groupBy("s_id").agg(F.sum("num").alias("n"))
    assert store.explain(frame).startswith("written as: SELECT r1.`s_id` AS `s_id`, sum(r1.`num`) AS `n` FROM `sales`")
    affected = store.affected(frame, "sales", "t_id = 6")
    assert rows_with_lineage(affected) == [((2, 3600), {"sales": [6]})]
    assert store.save(frame, "totals").rows == 4
    again = store.spark.table("totals").filter("n > 3300").agg(F.count("*").alias("shops"))
    assert rows_with_lineage(store.trace(again)) == rows_with_lineage(
        store.sql("SELECT count(*) AS shops FROM totals WHERE n > 3300")
    )
    assert store.save(again, "shops").rows == 1
    base = store.backward("shops", "true", table="sales").collect()
    assert {row.t_id for row in base} == {*range(1, 7), *range(9, 12)}


def test_tables_with_lineage_are_traced_through(store: ForwardLineage) -> None:
    store.sql("CREATE TABLE kept_totals USING parquet AS SELECT s_id, sum(num) AS n FROM sales GROUP BY s_id")
    try:
        frame = store.spark.table("kept_totals").filter("n > 4000").agg(F.max("n"))
        assert rows_with_lineage(store.trace(frame)) == rows_with_lineage(
            store.sql("SELECT max(n) FROM kept_totals WHERE n > 4000")
        )
    finally:
        store.spark.sql("DROP TABLE kept_totals")


def test_files_that_are_registered_under_a_name(lineage: ForwardLineage, tmp_path: Path) -> None:
    folder = str(tmp_path / "numbers")
    lineage.spark.range(10).write.parquet(folder)
    lineage.register("numbers", path=folder)
    frame = lineage.spark.read.parquet(folder).filter("id > 7")
    assert [row for row, _ in rows_with_lineage(lineage.trace(frame))] == [(8,), (9,)]
    lineage.register("figures", path=folder)
    with pytest.raises(LineageError, match="several tables have: "):
        lineage.trace(frame)
    traced = lineage.sql("SELECT id FROM numbers").drop("DL")
    with pytest.raises(LineageError, match=r"rows that lineage\.sql gave"):
        lineage.trace(traced)
    drop_views(lineage.spark)


def test_a_view_of_a_data_frame(store: ForwardLineage) -> None:
    sales(store.spark).filter("price > 40").createOrReplaceTempView("dear")
    frame = store.spark.table("dear").select("t_id")
    wanted = store.sql("SELECT t_id FROM sales WHERE price > 40")
    assert rows_with_lineage(store.trace(frame)) == rows_with_lineage(wanted)
