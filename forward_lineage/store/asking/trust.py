"""Answers that rely on tables taken on trust say so."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.results import METADATA_KEY, TRUSTED
from forward_lineage.spark.names import in_backticks


def on_trust(frame: DataFrame, tables: Iterable[str]) -> DataFrame:
    """Say in the metadata of an answer's first column which tables it takes on trust; see `results.trusted_tables`.

    Args:
        frame: the answer.
        tables: those that it relies on and that were registered with ``trusted=True``.

    """
    names = sorted(set(tables))
    if not names:
        return frame
    first, *others = (F.col(in_backticks(column)) for column in frame.columns)
    return frame.select(first.alias(frame.columns[0], metadata={METADATA_KEY: {TRUSTED: names}}), *others)
