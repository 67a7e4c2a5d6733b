"""Ranges of a column that hold about as many rows each, as far as files and a sample tell.   [Niu 2022, §4.4]"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, TimestampType

from forward_lineage.columns.ranges import equi_depth, type_ordered
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from forward_lineage.spark.versions import arrow_table
from rewrites.tables import BaseTable
from udafs.errors import BadArgumentError

_SAMPLED = 100  # rows of the sample for each range, about
_LEAST = 100_000  # rows of a sample, if there are as many
_SEED = 1


class KnownRanges:
    """Finds the ranges of columns of registered tables, once for each version of a registration.

    Args:
        tables: the registered tables.

    """

    def __init__(self, tables: RegisteredTables) -> None:
        self._tables = tables
        self._found: dict[tuple[object, ...], pa.Array] = {}

    def bounds(self, table: BaseTable, column: str, ranges: int) -> pa.Array:
        """Return where at most so many ranges begin, ascending; fewer where there are fewer values.

        Raises:
            BadArgumentError: a type that has no ranges.
            LineageError: the table is not what was registered.

        """
        (manifest,) = self._tables.check_unchanged([table.name])
        key = (manifest.name, manifest.digest(), column, ranges)
        if key not in self._found:
            self._found[key] = self._sampled(manifest, self._column(table, column), ranges)
        return self._found[key]

    def _column(self, table: BaseTable, column: str) -> DataFrame:
        with spark_errors():
            frame = self._tables.spark.sql(f"SELECT {quoted(column)} AS value FROM {table.relation}")
        kind = frame.schema["value"].dataType
        if isinstance(kind, StringType) and kind != StringType():
            raise BadArgumentError(
                f"no ranges of {column}, whose strings have a collation", instead="Take a column in UTF8_BINARY."
            )
        return frame

    def _sampled(self, manifest: Manifest, values: DataFrame, ranges: int) -> pa.Array:
        empty = _arrow(values.limit(0))
        type_ordered(empty.type, "the column")
        with spark_errors():
            rows = sum(file.rows for file in manifest.files) or values.count()
            wanted = max(_LEAST, _SAMPLED * ranges)
            if rows <= wanted:
                return equi_depth(_arrow(values), ranges)
            distinct = values.distinct().limit(ranges + 2)
            sample = _arrow(values.sample(fraction=wanted / rows, seed=_SEED))
            bounds = equi_depth(sample, ranges)
            if len(bounds) + 1 < ranges:  # perhaps there are no more values than ranges
                every = _arrow(distinct)
                bounds = equi_depth(every, ranges) if len(every) <= ranges + 1 else bounds
            return bounds


def _arrow(values: DataFrame) -> pa.ChunkedArray:
    column = arrow_table(values)["value"]
    if isinstance(values.schema["value"].dataType, TimestampType):  # the same instants, whatever the session's zone
        return column.cast(pa.timestamp("us", tz="UTC"))
    return column
