"""A view as people see it: bars with their keys, and columns that a brush changes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from forward_lineage.views.measures import ROWS, Counted, MeasurePart, Numbers


class Aggregate(NamedTuple):
    """A column that is computed from what is added up.

    Attributes:
        function: ``count``, ``sum`` or ``avg``.
        measure: the column of values; -1: count(*).
        scale: digits behind the point of the values, 0 if they are no decimals.

    """

    function: Literal["count", "sum", "avg"]
    measure: int = -1
    scale: int = 0

    @property
    def parts(self) -> tuple[MeasurePart, ...]:
        """The values that have to be added up for it."""
        if self.measure < 0:
            return (ROWS,)
        valid = MeasurePart("valid", self.measure)
        return (valid,) if self.function == "count" else (valid, MeasurePart("sum", self.measure))

    def column(self, counted: Counted, kind: pa.DataType) -> pa.Array:
        """Compute the column, one value a bar, as Spark would.

        Args:
            counted: what was added up, for the bars alone.
            kind: the type of the column.

        """
        found = counted[self.parts[0]]
        if self.function == "count":
            return pa.array(found, kind)
        total = counted[self.parts[1]]
        none = found == 0
        if pa.types.is_decimal(kind):
            return pa.array(self._decimals(total, found, kind), kind)
        values = total if self.function == "sum" else total / np.maximum(found, 1)
        return pa.array(values, mask=none).cast(kind)

    def _decimals(self, total: Numbers, count: Numbers, kind: pa.Decimal128Type) -> list[Decimal | None]:
        unit = Decimal(1).scaleb(-kind.scale)
        with localcontext() as context:
            context.prec = 2 * kind.precision
            sums = (Decimal(each).scaleb(-self.scale) for each in total.tolist())
            if self.function == "sum":
                return [each if n else None for each, n in zip(sums, count.tolist(), strict=True)]
            return [
                (each / n).quantize(unit, ROUND_HALF_UP) if n else None
                for each, n in zip(sums, count.tolist(), strict=True)
            ]


@dataclass(frozen=True, eq=False)
class View:
    """A view.

    Attributes:
        name: what it is called.
        bars: its rows without a brush, in their order: the user's columns.
        aggregates: for each column how it is computed; None: it stays as it is.

    """

    name: str
    bars: pa.Table
    aggregates: tuple[Aggregate | None, ...]

    @property
    def parts(self) -> tuple[MeasurePart, ...]:
        """The values that have to be added up, the number of rows first."""
        wanted = [part for each in self.aggregates if each is not None for part in each.parts]
        return tuple(dict.fromkeys([ROWS, *wanted]))

    def table(self, counted: Counted) -> pa.Table:
        """Return the rows of the view with what a brush leaves."""
        shown = {part: numbers[: self.bars.num_rows] for part, numbers in counted.items()}
        columns = [
            self.bars.column(place) if each is None else each.column(shown, self.bars.schema.field(place).type)
            for place, each in enumerate(self.aggregates)
        ]
        return pa.Table.from_arrays(columns, schema=self.bars.schema)
