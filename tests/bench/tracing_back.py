"""Run the reverse queries of `reverse.py`: the result is there already, intermediate views are part of the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's own documentation uses

from forward_lineage import LineageError
from tests.bench.harness import Variant
from tests.bench.reverse import RESULT, ReverseQuery, reverse_query

SAMPLE = 16
"""As many result rows, spread over the result, take turns as the one that `reverse-one` traces."""


@dataclass
class TracingBack:
    """One query, run before, whose result is now to be traced back.

    Attributes:
        plain: a session that has the tables as they are.
        numbered: a session whose tables also have a column `<table>_id`.
        text: the query.
        folder: an empty folder for the result.

    """

    plain: SparkSession
    numbered: SparkSession
    text: str
    folder: Path
    _turn: int = 0
    _kept: list[DataFrame] = field(default_factory=list)

    def variants(self) -> list[Variant]:
        """Return `reverse-one` and `reverse-all`; each run materialises the intermediate views anew."""
        return [
            Variant("reverse-one", self.trace_one, self.put_away),
            Variant("reverse-all", self.trace_all, self.put_away),
        ]

    @cached_property
    def query(self) -> ReverseQuery:
        """The reverse query.

        Raises:
            LineageError: there is none.

        """
        return reverse_query(self.text)

    def trace_all(self) -> DataFrame:
        """Return each result row with each combination of base rows that it was made of."""
        query = self.query
        self._result.createOrReplaceTempView(RESULT)
        self._materialise()
        return self.numbered.sql(query.every_row(self._nullable))

    def trace_one(self) -> DataFrame:
        """Return the combinations of base rows that one result row was made of; the next call takes the next row."""
        rows = self.sample
        if not rows:
            raise LineageError("the result has no row to trace back")
        row = rows[self._turn % len(rows)]
        self._turn += 1
        return self.trace(row)

    def trace(self, row: Sequence[Any]) -> DataFrame:
        """Return the combinations of base rows that this result row was made of."""
        text, values = self.query.one_row(row, [kind for _, kind in self._result.dtypes])
        self._materialise()
        return self.numbered.sql(text, args=values)

    def put_away(self) -> None:
        """Forget the intermediate views."""
        for view in self._kept:
            view.unpersist(blocking=True)
        self._kept.clear()
        for name, _ in self.query.views:
            self.numbered.catalog.dropTempView(name)

    @cached_property
    def _result(self) -> DataFrame:
        """The query's own result, computed once and not timed."""
        result = self.plain.sql(self.text)
        names = [f"c{number}" for number in range(1, len(result.columns) + 1)]
        result.toDF(*names).write.mode("overwrite").parquet(str(self.folder))
        return self.numbered.read.parquet(str(self.folder))

    @cached_property
    def sample(self) -> list[list[Any]]:
        """Up to `SAMPLE` rows, spread evenly over the result."""
        assert self._result is not None  # written now
        rows: pa.Table = pq.read_table(self.folder)
        places = sorted({i * rows.num_rows // SAMPLE for i in range(SAMPLE)}) if rows.num_rows else []
        return [list(row.values()) for row in rows.take(pa.array(places, pa.int64())).to_pylist()]

    @cached_property
    def _nullable(self) -> list[int]:
        """Columns of the result that have NULLs, counted from 1."""
        counts = self._result.agg(*(F.count_if(F.col(name).isNull()) for name in self._result.columns)).first()
        assert counts is not None  # a global aggregate has one row
        return [number for number, count in enumerate(counts, start=1) if count]

    def _materialise(self) -> None:
        for name, text in self.query.views:
            view = self.numbered.sql(text).cache()
            view.createOrReplaceTempView(name)
            self._kept.append(view)
