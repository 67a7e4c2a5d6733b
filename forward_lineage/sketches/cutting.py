"""Where a column is cut into ranges that hold about as many rows each.   [Niu 2022, §4.4]"""

from __future__ import annotations

from pyspark.sql import SparkSession

from forward_lineage.sketches.ranges import MOST, Partition, equi_depth
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted

_LOOKED_AT = 1_000_000
"""Values of which ranges are made: a hundred of each where there are as many ranges as there may be."""


def cut(spark: SparkSession, relation: str, column: str, rows: int, ranges: int = MOST) -> Partition:
    """Cut a table into ranges of a column, by every k-th of its rows.

    Args:
        spark: the session.
        relation: the table, as it stands behind FROM.
        column: of it.
        rows: about how many rows it has.
        ranges: at most so many.

    Raises:
        LineageError: a column of a type that has no ranges, or Spark's own complaint.

    """
    every = max(1, -(-rows // _LOOKED_AT))
    some = f" WHERE pmod(monotonically_increasing_id(), {every}) = 0" if every > 1 else ""
    with spark_errors():
        values = spark.sql(f"SELECT {quoted(column)} AS v FROM {relation}{some}").toArrow().column(0)
    return Partition(relation, column, equi_depth(values, ranges))
