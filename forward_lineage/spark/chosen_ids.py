"""Rows with some ids, read by them."""

from __future__ import annotations

from collections.abc import Iterable

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
    return rows.where(among_listed(column, ids)) if by_value and len(ids) <= _LISTED else rows


def among_listed(column: str, ids: Iterable[int]) -> Column:
    """Return whether a column is one of a few ids."""
    return F.expr(f"{quoted(column)} IN ({written(ids) or 'NULL'})")


def written(ids: Iterable[int]) -> str:
    """Write ids for `F.expr`: given one by one, each is sent to the JVM by itself, a thousand in half a second."""
    return ", ".join(map(str, ids))


def lacking_ids(frame: DataFrame, column: str, ids: LineageSet) -> DataFrame:
    """Return the other rows of a frame."""
    return frame.where(~_among(column, ids))


def _among(column: str, ids: LineageSet) -> Column:
    return F.call_function("dl_contains", F.lit(bytearray(ids.to_bytes())), F.col(column))
