"""How clustered and how replicated lineage is, under several id orders.   [Zhang 2007, §4.1, Table 7]

Ids that stand close together make small sets. Sort the ids of a lineage set: the *clustering factor* is the percentage
of them that have a neighbour less than 3 away. The *replication factor* is the mean number of result rows that a base
row of the lineage appears in.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import Window

from forward_lineage.row_ids.copies import sorted_rows
from forward_lineage.spark.names import field_of_dl, quoted
from forward_lineage.spark.tables import only_row
from forward_lineage.spark.versions import arrow_table

NEAR = 3  # ids less than this apart are neighbours


@dataclass(frozen=True)
class Clustering:
    """The shape of one table's lineage in a result, under one id order.

    Attributes:
        order: the order, as the user wrote it; None: the present ids.
        rows: result rows with lineage in this table.
        ids: ids in all sets together.
        replication: mean number of result rows in which an id appears.
        clustering: percentage of ids that have a neighbour in their set less than 3 away.
        size: bytes of all lineage values together, encoded as the session encodes them.

    """

    order: str | None
    rows: int
    ids: int
    replication: float
    clustering: float
    size: int

    @property
    def average(self) -> float:
        """Mean number of ids in a result row."""
        return self.ids / self.rows if self.rows else 0.0


def lineage_pairs(frame: DataFrame, table: str) -> DataFrame:
    """Return (result row, id) for every id in one table's lineage; result rows are numbered arbitrarily."""
    numbered = frame.select(F.monotonically_increasing_id().alias("result"), F.expr(field_of_dl(table)).alias("dl"))
    return numbered.selectExpr("result", "explode(dl_ids(dl)) AS id")


def measure(pairs: DataFrame, order: str | None = None, ranks: DataFrame | None = None) -> Clustering:
    """Measure pairs, with the ids replaced by their ranks if ranks are given.

    Args:
        pairs: columns ``result`` and ``id``.
        order: a name for the order.
        ranks: columns ``id`` and ``rank``: which id each row would have in another order.

    """
    placed = pairs if ranks is None else pairs.join(ranks, "id").select("result", F.col("rank").alias("id"))
    by_row = (
        placed.select("result", "id", _has_neighbour().alias("near"))
        .groupBy("result")
        .agg(
            F.count("*").alias("ids"),
            F.sum(F.col("near").cast("long")).alias("near"),
            F.expr("length(dlunion(id))").alias("size"),
        )
    )
    total = only_row(by_row.agg(F.count("*"), F.sum("ids"), F.sum("near"), F.sum("size")))
    rows, ids, near, size = (int(value or 0) for value in total)
    distinct = placed.select("id").distinct().count()
    return Clustering(order, rows, ids, ids / distinct if distinct else 0.0, 100 * near / ids if ids else 0.0, size)


def _has_neighbour() -> Column:
    in_the_set = Window.partitionBy("result").orderBy("id")
    below = F.col("id") - F.lag("id").over(in_the_set) < NEAR
    above = F.lead("id").over(in_the_set) - F.col("id") < NEAR
    return F.coalesce(below, F.lit(False)) | F.coalesce(above, F.lit(False))


def ranks_under(rows: DataFrame, order_by: Sequence[str]) -> DataFrame:
    """Return which id each row of a table would have in a materialised copy with this order.

    Args:
        rows: the table's rows with their ids in the first column.
        order_by: sort keys.

    Returns:
        columns ``id`` and ``rank``; the sorting is done.

    """
    place = F.monotonically_increasing_id()  # the partition in the upper bits, the place in it in the lower 33
    ordered = sorted_rows(rows, order_by).select(F.col(quoted(rows.columns[0])).alias("id"), place.alias("place"))
    ordered = ordered.localCheckpoint().withColumn("part", F.shiftright("place", 33))
    sizes = sorted(arrow_table(ordered.groupBy("part").count()).to_pylist(), key=lambda each: each["part"])
    before = list(itertools.accumulate((each["count"] for each in sizes), initial=0))
    starts = {each["part"]: start - (each["part"] << 33) for each, start in zip(sizes, before, strict=False)}
    table = rows.sparkSession.createDataFrame(list(starts.items()), "part BIGINT, start BIGINT")
    return ordered.join(F.broadcast(table), "part").selectExpr("id", "place + start AS rank")
