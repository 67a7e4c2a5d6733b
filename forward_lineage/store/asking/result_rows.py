"""Rows of saved things, to look for those that meet a condition: of small ones without a Spark job.

A view that somebody clicks on has few rows, and a job over them costs more than all else that is done for the answer.
The rows of a version never change, so those of small ones are kept as a local relation: Spark evaluates a condition
over it while it plans, as it does over VALUES.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import cast

from pyspark.sql import DataFrame, SparkSession

from forward_lineage.spark.errors import spark_errors
from forward_lineage.store.asking.rows import IdentifiedRows, hidden_view
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved import Saved
from udafs.requests import ask_frame

MOST_ROWS, MOST_BYTES = 20_000, 1 << 20
"""Of a result that is kept: rows, and bytes of its files."""
MOST_RESULTS = 32
"""Results that are kept, at most: those that were asked last."""


class ResultRows:
    """Opens versions of saved results to be asked which rows meet a condition.

    Args:
        spark: the session.

    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._kept: OrderedDict[tuple[str, int], IdentifiedRows] = OrderedDict()

    def of(self, saved: Saved) -> IdentifiedRows:
        """Return the rows of a version.

        Raises:
            LineageError: a file is missing or damaged; the message names it.

        """
        if saved.rows > MOST_ROWS or sum(file.size for file in saved.content_files) > MOST_BYTES:
            return IdentifiedRows.of_saved(self._spark, saved)
        check_row_files(saved)
        key = str(saved.folder), saved.version
        if key not in self._kept:
            self._kept[key] = self._local(IdentifiedRows.of_saved(self._spark, saved))
        self._kept.move_to_end(key)
        if len(self._kept) > MOST_RESULTS:
            _, forgotten = self._kept.popitem(last=False)
            self._spark.catalog.dropTempView(str(forgotten.view))
        return self._kept[key]

    def _local(self, rows: IdentifiedRows) -> IdentifiedRows:
        with spark_errors():
            frame = cast(DataFrame, ask_frame("collected", rows.frame))
        return IdentifiedRows(frame, hidden_view(frame))
