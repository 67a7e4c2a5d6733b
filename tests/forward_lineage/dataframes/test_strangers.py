"""What PySpark's doctests, read as strangers, found."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, NotTracedError
from tests.forward_lineage.conftest import rows_with_lineage


def test_fields_of_a_struct_are_changed(store: ForwardLineage) -> None:
    stores = store.spark.table("store").select(F.struct("s_id", "s_name").alias("both"))
    frame = stores.select(
        stores.both.withField("twice", stores.both.s_id * 2).alias("more"), stores.both.dropFields("s_id").alias("less")
    ).select("more.twice", "less.s_name")
    found = store.trace(frame)
    assert found.drop("DL").collect() == frame.collect()
    assert all(len(ids["store"]) == 1 for _, ids in rows_with_lineage(found))


@pytest.mark.parametrize("spread", ["repartition", "coalesce"])
def test_what_tells_partitions_that_were_made_anew_is_refused(store: ForwardLineage, spread: str) -> None:
    frame = getattr(store.spark.table("sales"), spread)(2).select("t_id", F.spark_partition_id().alias("place"))
    with pytest.raises(NotTracedError, match="tells the partitions of rows that were spread anew"):
        store.trace(frame)


def test_rows_that_were_spread_anew_are_traced(store: ForwardLineage) -> None:
    frame = store.spark.table("sales").repartition(3).groupBy("s_id").count()
    assert rows_with_lineage(store.trace(frame)) == rows_with_lineage(
        store.sql("SELECT s_id, count(*) AS count FROM sales GROUP BY s_id")
    )


def test_what_functions_are_told_besides_columns(store: ForwardLineage) -> None:
    """Spark's own texts of these leave it out."""
    sales = store.spark.table("sales")
    frame = sales.groupBy("s_id").agg(
        F.any_value(F.when(F.col("price") > 40, F.col("t_id")), True).alias("dear"),
        F.approx_count_distinct("num", 0.3).alias("about"),
    )
    assert rows_with_lineage(store.trace(frame)) == rows_with_lineage(
        store.sql(
            "SELECT s_id, any_value(CASE WHEN price > 40 THEN t_id END, true) AS dear,"
            " approx_count_distinct(num, 0.3D) AS about FROM sales GROUP BY s_id"
        )
    )
    found = sales.filter(F.ilike(F.lit("A%"), F.lit("a/%"), F.lit("/"))).select(
        "t_id", F.when(F.col("t_id") < 0, F.raise_error(F.lit("it's less"))).otherwise("more").alias("said")
    )
    schemas = sales.filter("t_id = 1").select(
        F.schema_of_csv(F.lit("1|a"), {"sep": "|"}),
        F.schema_of_json(F.lit("{a: 1}"), {"allowUnquotedFieldNames": "true"}),
    )
    assert [row for row, _ in rows_with_lineage(store.trace(schemas))] == list(map(tuple, schemas.collect()))
    assert [row for row, _ in rows_with_lineage(store.trace(found))] == [
        (t_id, "more") for t_id in (1, 10, 11, *range(2, 10))
    ]


@pytest.mark.since("4.0", "mode that takes the least, and XML")
def test_what_newer_functions_are_told_besides_columns(store: ForwardLineage) -> None:
    sales = store.spark.table("sales")
    often = sales.groupBy("s_id").agg(F.mode("price", True).alias("often"))
    assert rows_with_lineage(store.trace(often)) == rows_with_lineage(
        store.sql("SELECT s_id, mode(price, true) AS often FROM sales GROUP BY s_id")
    )
    schema = sales.filter("t_id = 1").select(
        F.schema_of_xml(F.lit("<p><a>1</a></p>"), {"excludeAttribute": "true"}),
    )
    assert [row for row, _ in rows_with_lineage(store.trace(schema))] == list(map(tuple, schema.collect()))


REFUSED: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "sampleBy": (lambda rows: rows.sampleBy("s_id", {1: 0.5}, 3), "a function that is left to chance"),
    "freqItems": (lambda rows: rows.freqItems(["s_id"]), "a function that SQL does not know: `collect_frequent_items`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(store: ForwardLineage, name: str) -> None:
    make, said = REFUSED[name]
    with pytest.raises(NotTracedError, match=said):
        store.trace(make(store.spark.table("sales")))


@pytest.mark.since("4.3", "zipWithIndex and nearestByJoin")
def test_newer_ones_are_refused_by_name(store: ForwardLineage) -> None:
    sales, stores = store.spark.table("sales"), store.spark.table("store")
    with pytest.raises(NotTracedError, match="zipWithIndex, which numbers rows as they come"):
        store.trace(sales.zipWithIndex())
    with pytest.raises(NotTracedError, match="has nearestByJoin"):
        store.trace(sales.nearestByJoin(stores, F.abs(sales.price - stores.s_id), 1, "exact", "distance"))


@F.udtf(returnType="twice INT")
class Doubled:
    """A table function."""

    def eval(self, value: int) -> Iterator[tuple[int]]:
        yield (2 * value,)


@pytest.mark.since("4.0", "lateralJoin")
def test_a_table_function_of_pythons_is_refused(store: ForwardLineage) -> None:
    frame = store.spark.table("sales").lateralJoin(Doubled(F.col("t_id").outer())).select("twice")
    with pytest.raises(NotTracedError, match="a table function of Python's, Doubled"):
        store.trace(frame)


def test_texts_with_a_schema_and_options(store: ForwardLineage) -> None:
    rows = store.spark.table("store").select(F.struct("s_id", "s_name").alias("row"))
    options = {"sep": ";", "it's": '"'}
    frame = rows.select(
        F.from_csv(F.to_csv("row", options), "id INT, name STRING", options).alias("csv"),
        F.from_json(F.to_json("row"), "s_id BIGINT, `s_name` STRING").alias("json"),
        F.from_json(F.lit("{'a': [1]}"), "a ARRAY<INT>", {"allowSingleQuotes": "true"}).alias("lists"),
    )
    each_of_its_own(store, frame)
    assert frame.where("csv.id <> json.s_id").count() == 0


@pytest.mark.since("4.0", "SQL whose from_json reads NOT NULL")
def test_a_schema_with_columns_that_are_never_null(store: ForwardLineage) -> None:
    row = F.to_json(F.struct("s_id", "s_name"))
    frame = store.spark.table("store").select(F.from_json(row, "s_id BIGINT NOT NULL, `s_name` STRING").alias("json"))
    each_of_its_own(store, frame)


@pytest.mark.since("4.0", "XML")
def test_xml_with_a_schema_and_options(store: ForwardLineage) -> None:
    one = F.struct("s_id", "s_name").alias("row")
    frame = store.spark.table("store").select(
        "s_name",
        F.from_xml(F.to_xml(one, {"rowTag": "one"}), "s_id INT, s_name STRING", {"rowTag": "one"}).alias("xml"),
    )
    each_of_its_own(store, frame)
    assert frame.where("s_name <> xml.s_name").count() == 0


def each_of_its_own(store: ForwardLineage, frame: DataFrame) -> None:
    found = store.trace(frame)
    assert found.drop("DL").collect() == frame.collect()
    assert all(len(ids["store"]) == 1 for _, ids in rows_with_lineage(found))
