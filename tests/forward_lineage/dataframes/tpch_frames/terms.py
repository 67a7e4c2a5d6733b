"""What several queries say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col

#: Gives a table by its name.
Tables = Callable[[str], DataFrame]


def price() -> Column:
    return col("l_extendedprice") * (1 - col("l_discount"))


def during(column: str, start: date, end: date) -> Column:
    """From a day on, to another that is not of it."""
    return (col(column) >= start) & (col(column) < end)
