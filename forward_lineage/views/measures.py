"""The values that are counted and added up: the parts that the aggregates of a view are made of.

count(*) is the part ROWS; count(x) the rows that have an x; sum(x) and avg(x) are made of the sum and that count. Sums
of integers and decimals (their unscaled values) are added up in 64 bits, and refused beforehand if these might not do.
So they are exact, in any order. Sums of floats are what adding them in some order gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from forward_lineage.views.membership import Array, Membership
from udafs.errors import NotTracedError

Numbers = npt.NDArray[Any]  # int64, of floats float64
Counted = dict["MeasurePart", Numbers]
"""For each part one number a bar, that of no bar included."""

_BEYOND = 2**63


class MeasurePart(NamedTuple):
    """A number that is added up for every bar.

    Attributes:
        kind: ``rows``, ``valid`` (rows that have a value) or ``sum``.
        measure: which measure; -1 of rows.

    """

    kind: Literal["rows", "valid", "sum"]
    measure: int = -1


ROWS = MeasurePart("rows")


@dataclass(frozen=True, eq=False)
class Measure:
    """A column of values, one for each base row.

    Attributes:
        values: of a signed integer type or float64, 0 where there is none; shape (rows,).
        valid: whether there is a value; None: there always is.

    """

    values: npt.NDArray[Any]
    valid: npt.NDArray[np.bool_] | None = None

    @property
    def exact(self) -> bool:
        """Whether sums do not depend on the order, so that they can be taken apart again."""
        return self.values.dtype.kind == "i"

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is to be kept, by name."""
        return {"values": self.values} if self.valid is None else {"values": self.values, "valid": self.valid}


def check_sums(name: str, ends: tuple[int, int], rows: int) -> None:
    """Check that no sum of values leaves 64 bits.

    Args:
        name: what messages call the values.
        ends: the least and the most of them.
        rows: how many there may be.

    Raises:
        NotTracedError: a sum might.

    """
    most = max(abs(ends[0]), abs(ends[1]))
    if most * rows >= _BEYOND:
        raise NotTracedError(
            f"sums of {name}, of {rows:,} rows with values up to {most:,}, may not fit into 64 bits",
            instead="Add up something narrower, such as the value in thousands.",
        )


def weights(part: MeasurePart, measures: tuple[Measure, ...], rows: Array | slice) -> Any:
    """Return what each of some rows adds to a part; one number where it is the same for all."""
    if part.kind == "rows":
        return 1
    measure = measures[part.measure]
    if part.kind == "valid":
        return 1 if measure.valid is None else measure.valid[rows].astype(np.int64)
    values = measure.values[rows]
    return values.astype(np.int64 if measure.exact else np.float64)


def nothing(part: MeasurePart, measures: tuple[Measure, ...], size: int) -> Numbers:
    """Return zeros to add to."""
    floats = part.kind == "sum" and not measures[part.measure].exact
    return np.zeros(size, np.float64 if floats else np.int64)


class Tally:
    """The parts of one view, added up over rows that come in batches.

    Args:
        membership: which bars rows are in.
        parts: what is added up.
        measures: the columns of values.

    """

    def __init__(self, membership: Membership, parts: Iterable[MeasurePart], measures: tuple[Measure, ...]) -> None:
        self._membership, self._measures = membership, measures
        self.counted: Counted = {part: nothing(part, measures, membership.bars + 1) for part in parts}

    def add(self, rows: Array) -> None:
        """Add some rows."""
        bars, of = self._membership.places(rows)
        at = bars.astype(np.intp)
        for part, total in self.counted.items():
            added = weights(part, self._measures, rows)
            np.add.at(total, at, added if of is None or isinstance(added, int) else added[of])


def combined(terms: Iterable[tuple[int, Counted]]) -> Counted:
    """Return a sum of counts, each with a sign."""
    found: Counted = {}
    for sign, counted in terms:
        for part, numbers in counted.items():
            found[part] = found[part] + sign * numbers if part in found else sign * numbers
    return found
