"""What PySpark's doctests, read as strangers, found."""

from __future__ import annotations

import pytest
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


def test_texts_with_a_schema_and_options(store: ForwardLineage) -> None:
    rows = store.spark.table("store").select(F.struct("s_id", "s_name").alias("row"))
    options = {"sep": ";", "it's": '"'}
    frame = rows.select(
        F.from_csv(F.to_csv("row", options), "id INT, name STRING", options).alias("csv"),
        F.from_json(F.to_json("row"), "s_id BIGINT NOT NULL, `s_name` STRING").alias("json"),
        F.from_json(F.lit("{'a': [1]}"), "a ARRAY<INT>", {"allowSingleQuotes": "true"}).alias("lists"),
        F.from_xml(F.to_xml("row", {"rowTag": "one"}), "s_id INT, s_name STRING", {"rowTag": "one"}).alias("xml"),
    )
    found = store.trace(frame)
    assert found.drop("DL").collect() == frame.collect()
    assert frame.where("csv.name <> xml.s_name OR csv.id <> json.s_id").count() == 0
    assert all(len(ids["store"]) == 1 for _, ids in rows_with_lineage(found))
