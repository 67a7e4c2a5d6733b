"""Rows with some ids, read by them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.spark.names import quoted
from udafs.lineage_set import LineageSet

_LISTED = 1000


def having_ids(frame: DataFrame, column: str, ids: LineageSet, *, by_value: bool = False) -> DataFrame:
    """Return the rows of a frame whose column is among some ids.

    Of ids by position this also says which files, row groups and pages to read: `udafs/scala/scan/ChosenRows.scala`.

    Args:
        frame: the rows.
        column: that has their ids.
        ids: which.
        by_value: whether the ids may be values of a column of files. Then up to a thousand values are listed, and the
            column is asked for them.

    """
    rows = frame.where(_among(column, ids))
    if not by_value or len(ids) > _LISTED:
        return rows
    # As text: `isin` sends each number to the JVM by itself, which takes half a second for a thousand.
    return rows.where(F.expr(f"{quoted(column)} IN ({', '.join(map(str, ids)) or 'NULL'})"))


def lacking_ids(frame: DataFrame, column: str, ids: LineageSet) -> DataFrame:
    """Return the other rows of a frame."""
    return frame.where(~_among(column, ids))


def _among(column: str, ids: LineageSet) -> Column:
    return F.call_function("dl_contains", F.lit(bytearray(ids.to_bytes())), F.col(column))
