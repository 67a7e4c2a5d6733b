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
