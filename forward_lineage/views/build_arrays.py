"""From a table to the arrays of its views: every row is read once.   [Smoke, §3.2.3, the forward rid array]

If keys and values are plain columns of Parquet files, Arrow reads the files. Else Spark computes them, into files that
are read in the same way and go afterwards. Either way the arrays must agree with Spark's own answer to the view's
query, row count by row count and sum by sum. Otherwise nothing is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from forward_lineage.columns.files import Batch
from forward_lineage.relations.groups import narrowest
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.versions import arrow_table
from forward_lineage.views.encoding import Keys, numbers
from forward_lineage.views.measures import ROWS, Counted, Measure, check_sums
from forward_lineage.views.membership import Array
from forward_lineage.views.questions import ROW_COUNT, Question, aggregate_of, is_float
from forward_lineage.views.view import Aggregate, View
from udafs.errors import NotTracedError

MOST_BARS = 1 << 20

Allocate = Callable[[str, int, Any], npt.NDArray[Any]]
"""Gives an array of zeros with a name, to be kept: of so many elements, of a type."""


@dataclass(frozen=True, eq=False)
class Bars:
    """A view's bars, as Spark computed them.

    Attributes:
        question: its query.
        table: the columns of `Question.bars`.

    """

    question: Question
    table: pa.Table

    @classmethod
    def of(cls, question: Question, spark: SparkSession) -> Bars:
        """Run the query of a view: the first picture.

        Raises:
            NotTracedError: it has too many bars, or bars that cannot be told apart.

        """
        with spark_errors():
            bars = cls(question, arrow_table(question.bars(spark).limit(MOST_BARS + 1)).combine_chunks())
        if bars.table.num_rows > MOST_BARS:
            raise NotTracedError(
                f"view {question.name} has more than {MOST_BARS:,} bars", instead="Group more coarsely."
            )
        if not question.asked.keys or not bars.keys().distinct:
            raise NotTracedError(
                f"view {question.name} groups by more than it shows, so its bars cannot be told apart",
                instead="Select every key.",
            )
        return bars

    def keys(self) -> Keys:
        """The keys of the bars."""
        return Keys([self._column(f"__dl_key{place}") for place in range(len(self.question.asked.keys))])

    @property
    def shown(self) -> pa.Table:
        """The user's columns."""
        return self.table.select(range(len(self.question.asked.items))).rename_columns(self.question.frame.columns)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many rows each bar has."""
        return np.asarray(self._column(ROW_COUNT).to_numpy())

    def valid(self, place: int) -> npt.NDArray[np.int64]:
        """How many rows of each bar have a value for a column."""
        return np.asarray(self._column(f"__dl_valid{place}").to_numpy())

    def ends(self, place: int) -> tuple[int, int]:
        """The least and the most of all values that are added up for a column, of decimals unscaled."""
        found = []
        for name, function in (("least", min), ("most", max)):
            column = self._column(f"__dl_{name}{place}").drop_null()
            found.append(function(map(_unscaled, column.to_pylist()), default=0))
        return found[0], found[1]

    def totals(self, place: int) -> list[int]:
        """The sum of each bar for a column, of decimals unscaled; 0 where there is no value."""
        return [0 if value is None else _unscaled(value) for value in self._column(f"__dl_total{place}").to_pylist()]

    def _column(self, name: str) -> pa.Array:
        column = self.table.column(name).combine_chunks()
        return column if isinstance(column, pa.Array) else column.chunk(0)


@dataclass(frozen=True, eq=False)
class _Value:
    """A column of values that some column of a view is computed from.

    Attributes:
        column: that is read.
        measure: what its values go to.
        counted: whether only their number matters.
        floats: whether they are floats.

    """

    column: str
    measure: Measure
    counted: bool
    floats: bool

    def put(self, rows: slice | Array, values: pa.Array) -> None:
        """Write the values of some rows."""
        valid = np.asarray(values.is_valid().to_numpy(zero_copy_only=False)) if values.null_count else True
        if not self.counted:
            self.measure.values[rows] = numbers(values, floats=self.floats)
        if self.measure.valid is not None:
            self.measure.valid[rows] = valid


class Capture:
    """The arrays of some views over one table.

    Args:
        bars: of each view.
        views: the number of each view, by which its arrays are called.
        rows: how many base rows the table has.
        allocate: where arrays are written.

    Attributes:
        codes: for each view the bar of each row.
        rows: how many base rows the table has.
        views: as people see them.

    """

    def __init__(self, bars: Sequence[Bars], views: Sequence[int], rows: int, allocate: Allocate) -> None:
        self._bars, self._keys = bars, [each.keys() for each in bars]
        self.rows, self._allocate = rows, allocate
        self.codes = [
            allocate(f"{view}.codes", rows, narrowest(each.table.num_rows))
            for view, each in zip(views, bars, strict=True)
        ]
        self._differs: str | None = None
        self._values: list[_Value] = []
        self.views = [self._view(view, each) for view, each in enumerate(bars)]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The columns of values."""
        return tuple(value.measure for value in self._values)

    def _view(self, number: int, bars: Bars) -> View:
        aggregates: list[Aggregate | None] = []
        question = bars.question
        for place, (call, kind) in enumerate(zip(question.asked.items, question.kinds, strict=True)):
            measure = -1
            if call is not None and call.argument is not None:
                measure = len(self._values)
                counted, floats = call.function == "count", is_float(kind)
                column = self._measure(bars, place, counted, floats)
                self._values.append(_Value(f"v{number}_value{place}", column, counted, floats))
            aggregates.append(aggregate_of(call.function, measure, kind) if call is not None else None)
        return View(question.name, bars.shown, tuple(aggregates))

    def _measure(self, bars: Bars, place: int, counted: bool, floats: bool) -> Measure:
        name = f"measure{len(self._values)}"
        some_null = not np.array_equal(bars.valid(place), bars.counts)
        valid = self._allocate(f"{name}.valid", self.rows, np.bool_) if some_null else None
        if counted:
            return Measure(np.zeros(0, np.int8), valid)
        if floats:
            return Measure(self._allocate(f"{name}.values", self.rows, np.float64), valid)
        ends = bars.ends(place)
        check_sums(f"{bars.question.frame.columns[place]} in view {bars.question.name}", ends, self.rows)
        kind = np.promote_types(np.min_scalar_type(min(ends[0], -1)), np.min_scalar_type(min(-ends[1] - 1, -1)))
        return Measure(self._allocate(f"{name}.values", self.rows, kind), valid)

    def fill(self, batches: Iterable[Batch]) -> None:
        """Read all rows."""
        seen = 0
        for rows, columns in batches:
            for view, keys in enumerate(self._keys):
                self.codes[view][rows] = self._found(view, keys, columns)
            for value in self._values:
                value.put(rows, columns[value.column])
            seen += len(next(iter(columns.values())))
        if seen != self.rows:
            self._differs = f"{seen:,} rows were read where {self.rows:,} should be"

    def _found(self, view: int, keys: Keys, columns: Mapping[str, pa.Array]) -> Array:
        bars = self._bars[view]
        count = len(bars.question.asked.keys)
        found = keys.bars([columns[f"v{view}_key{place}"] for place in range(count)])
        inside = columns.get(f"v{view}_in")
        if inside is not None:
            found[~np.asarray(inside.to_numpy(zero_copy_only=False))] = bars.table.num_rows
        if np.any(found < 0):
            self._differs = f"view {bars.question.name} has no bar for some rows"
            found[found < 0] = bars.table.num_rows
        return found

    def differs(self, totals: Sequence[Counted]) -> str | None:
        """Compare what the arrays say with what Spark says; sums of floats may differ.

        Args:
            totals: what is added up for each view.

        Returns:
            what differs, None when nothing does.

        """
        for bars, view, counted in zip(self._bars, self.views, totals, strict=True):
            same = np.array_equal(counted[ROWS][:-1], bars.counts)
            for place, aggregate in enumerate(view.aggregates):
                for part in aggregate.parts if aggregate is not None else ():
                    ours = counted[part][:-1]
                    if part.kind == "valid":
                        same &= np.array_equal(ours, bars.valid(place))
                    elif part.kind == "sum" and ours.dtype.kind == "i":
                        same &= ours.tolist() == bars.totals(place)
            if not same:
                return f"the bars of view {view.name} have other rows or sums"
        return self._differs


def _unscaled(value: int | Decimal) -> int:
    """A decimal without its point."""
    if isinstance(value, int):
        return value
    sign, digits, _ = value.as_tuple()
    return (-1 if sign else 1) * int("".join(map(str, digits)))
