"""The lineage of a result, partitioned by attributes, or added up by more attributes.   [Smoke, §4.2]

Base rows that some row of the result was made of stand in the order of that row, the *bar*, and of the attributes'
values. So those that a question chooses, by its bars and by values of attributes, are few runs of entries that follow
each other. An entry is a base row (data skipping). Or it is all base rows that have the attributes and the keys in
common, with their number, sums, least and most (group-by push-down). Then there is next to nothing left to be added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.relations.groups import narrowest
from forward_lineage.workloads.columns import Array, Coded, Valued
from udafs.errors import NotTracedError

Kind = Literal["partition", "cube"]
Ints = npt.NDArray[np.int64]
_BEYOND, _EXACT_IN_DOUBLE = 2**63, 2**53
_MOST_PLACES = 1 << 62
_COUNTED = 1 << 22  # so many places are rather counted than sorted


@dataclass(frozen=True, eq=False)
class Sums:
    """The values that are added up of a column, for each entry.

    Attributes:
        kind: the type of the column.
        total: the sum; None where nobody asks for it.
        valid: how many base rows have a value; None: all of them.
        least: the least; None where nobody asks for it. Of a column of few values, places among them.
        most: the most, likewise.
        values: the different values of such a column, ascending; None: of numbers.

    """

    kind: pa.DataType
    total: Array | None
    valid: Array | None
    least: Array | None
    most: Array | None
    values: pa.Array | None = None


@dataclass(frozen=True, eq=False)
class Form:
    """The form that is made beforehand for questions of one shape.

    Attributes:
        kind: what an entry is.
        attributes: the texts of the attributes, and their different values.
        keys: the texts of the keys, and their different values.
        codes: for each key the place of each entry's value.
        measures: by the text of a column, what is added up of it.
        counts: how many base rows each entry stands for; None: one.
        run: the places (bar, attributes) that have entries, ascending.
        starts: where the entries of each run begin, and where the last end.
        order: of a partition, the base row of each entry, counted from 0.

    """

    kind: Kind
    attributes: Mapping[str, pa.Array]
    keys: Mapping[str, pa.Array]
    codes: tuple[Array, ...]
    measures: Mapping[str, Sums]
    counts: Array | None
    run: Ints
    starts: Ints
    order: Array | None = field(default=None)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many different values each attribute has."""
        return tuple(len(values) for values in self.attributes.values())

    def entries(self, bars: Sequence[int], bounds: Mapping[str, tuple[int, int]]) -> Ints | slice:
        """Return the entries of some bars, of values within bounds.

        Args:
            bars: rows of the result.
            bounds: attribute → the first place of its values, and the one behind the last.

        """
        stride = prod(self.sizes)
        if len(bars) == 1 and len(bounds) == len(self.attributes) and all(b - a == 1 for a, b in bounds.values()):
            place = bars[0]
            for text, size in zip(self.attributes, self.sizes, strict=True):
                place = place * size + bounds[text][0]
            at = int(np.searchsorted(self.run, place))
            there = at < self.run.size and int(self.run[at]) == place
            return slice(int(self.starts[at]), int(self.starts[at + 1])) if there else slice(0, 0)
        found = []
        for bar in bars:
            first, last = np.searchsorted(self.run, [bar * stride, (bar + 1) * stride])
            runs = np.arange(first, last)
            places = self.run[first:last]
            for text, size in reversed([*zip(self.attributes, self.sizes, strict=True)]):
                places, code = np.divmod(places, size)
                low, high = bounds.get(text, (0, size))
                inside = (code >= low) & (code < high)
                runs, places = runs[inside], places[inside]
            found += [np.arange(self.starts[run], self.starts[run + 1]) for run in runs]
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def places(codes: Sequence[Array], sizes: Sequence[int]) -> Ints:
    """Number combinations of codes, the first counting most.

    Raises:
        NotTracedError: there are too many.

    """
    if prod(sizes) >= _MOST_PLACES:
        raise NotTracedError("there are too many combinations of keys and attributes")
    found = codes[0].astype(np.int64)
    for each, size in zip(codes[1:], sizes[1:], strict=True):
        found *= size
        found += each
    return found


def partition(
    bars: Coded, attributes: Mapping[str, Coded], keys: Mapping[str, Coded], measures: Mapping[str, Sums], rows: Array
) -> Form:
    """Put base rows in the order of bars and attributes.

    Args:
        bars: the bar of each row.
        attributes: for each row.
        keys: for each row.
        measures: for each row.
        rows: which base row each is.

    """
    place = places([bars.codes, *(each.codes for each in attributes.values())], _sizes(bars, attributes))
    most = len(bars.values) * prod(len(each.values) for each in attributes.values())
    order = np.argsort(place.astype(narrowest(max(most - 1, 0))), kind="stable")
    run, starts = _runs(place[order])
    return Form(
        "partition",
        {text: each.values for text, each in attributes.items()},
        {text: each.values for text, each in keys.items()},
        tuple(each.codes[order] for each in keys.values()),
        {text: _taken(each, order) for text, each in measures.items()},
        None,
        run,
        starts,
        rows[order],
    )


def cells_of(bars: Coded, attributes: Mapping[str, Coded], keys: Mapping[str, Coded]) -> tuple[Ints, Ints]:
    """Return which combinations of bar, attributes and keys there are, ascending, and which one each row has."""
    coded = [*attributes.values(), *keys.values()]
    place = places([bars.codes, *(each.codes for each in coded)], [len(each.values) for each in (bars, *coded)])
    size = len(bars.values) * prod(len(each.values) for each in coded)
    if size > _COUNTED:
        found, cell = np.unique(place, return_inverse=True)
        return found, cell
    there = np.bincount(place, minlength=size) > 0
    number = np.cumsum(there) - 1
    return np.flatnonzero(there), number[place]


def cube(
    bars: Coded,
    attributes: Mapping[str, Coded],
    keys: Mapping[str, Coded],
    measures: Mapping[str, Sums],
    cells: tuple[Ints, Ints],
) -> Form:
    """Add base rows up by bar, attributes and keys.

    Args:
        bars: the bar of each row.
        attributes: for each row.
        keys: for each row.
        measures: for each row.
        cells: what `cells_of` says.

    """
    found, cell = cells
    added = {text: added_up(each, cell, found.size) for text, each in measures.items()}
    rest, codes = found, []
    for each in reversed([*keys.values()]):
        rest, code = np.divmod(rest, len(each.values))
        codes.append(code.astype(each.codes.dtype))
    run, starts = _runs(rest)
    counts = np.bincount(cell, minlength=found.size)
    values = {text: each.values for text, each in attributes.items()}
    key_values = {text: each.values for text, each in keys.items()}
    return Form("cube", values, key_values, tuple(reversed(codes)), added, counts, run, starts)


def added_up(sums: Sums, cell: Ints | npt.NDArray[np.intp], size: int) -> Sums:
    """Add up entries by the cell that each is in.

    Args:
        sums: of entries.
        cell: of each entry.
        size: how many cells there are.

    """
    valid = None
    if sums.valid is not None:
        valid = np.zeros(size, np.int64)
        np.add.at(valid, cell, sums.valid.astype(np.int64))
    total = None
    if sums.total is not None:
        total = np.zeros(size, np.float64 if sums.total.dtype.kind == "f" else np.int64)
        np.add.at(total, cell, sums.total)
    there = slice(None) if sums.valid is None else np.flatnonzero(sums.valid)
    ends: list[Array | None] = []
    for values, ufunc in ((sums.least, np.fmin), (sums.most, np.maximum)):
        if values is None:
            ends.append(None)
            continue
        start = _start(values.dtype, least=ufunc is np.fmin)
        found = np.full(size, start, values.dtype)
        with np.errstate(invalid="ignore"):  # NaN is a value like others
            ufunc.at(found, cell[there], values[there])
        ends.append(found)
    return Sums(sums.kind, total, valid, ends[0], ends[1], sums.values)


def sums_of(column: Valued | Coded, functions: frozenset[str], rows: int, what: str) -> Sums:
    """Return what is added up of a column, for each row.

    Args:
        column: a value a row; of few different ones only the least and the most can be asked for.
        functions: what is asked for.
        rows: how many rows may be added up.
        what: the column is, for messages.

    Raises:
        NotTracedError: a sum may leave 64 bits, or is not what Spark's is in every bit.

    """
    if isinstance(column, Coded):
        none = column.values.null_count
        codes = column.codes.astype(np.int32)
        valid = codes < len(column.values) - none if none else None
        wanted = codes if functions & {"min", "max"} else None
        return Sums(column.values.type, None, valid, wanted, wanted, column.values)
    summed = bool(functions & {"sum", "avg"})
    ends = bool(functions & {"min", "max"})
    if column.values.dtype.kind == "i":
        most = column.most * max(rows, 1)
        if summed and most >= _BEYOND:
            raise NotTracedError(f"sums of {what} may not fit into 64 bits")
        if "avg" in functions and pa.types.is_integer(column.kind) and most >= _EXACT_IN_DOUBLE:
            raise NotTracedError(f"averages of {what} may be rounded in another way")
    elif ends and np.any((column.values == 0) & np.signbit(column.values)):
        raise NotTracedError(f"{what} has -0.0, and which zero is the least is left to chance")
    numbers = column.values
    return Sums(column.kind, numbers if summed else None, column.valid, *((numbers, numbers) if ends else (None, None)))


def _start(kind: np.dtype[np.generic], *, least: bool) -> float | int:
    """The value that replaces NULL: for the least NaN, which Spark has above all numbers."""
    if kind.kind == "f":
        return np.nan if least else -np.inf
    info = np.iinfo(kind.str)
    return int(info.max if least else info.min)


def _taken(sums: Sums, order: Ints | npt.NDArray[np.intp]) -> Sums:
    total, valid = _at(sums.total, order), _at(sums.valid, order)
    least = total if sums.least is not None and sums.least is sums.total else _at(sums.least, order)
    return Sums(sums.kind, total, valid, least, least, sums.values)


def _at(values: Array | None, order: Ints | npt.NDArray[np.intp]) -> Array | None:
    return None if values is None else values[order]


def _sizes(bars: Coded, attributes: Mapping[str, Coded]) -> list[int]:
    return [len(bars.values), *(len(each.values) for each in attributes.values())]


def _runs(places: Ints) -> tuple[Ints, Ints]:
    """The places that are there among ascending ones, and where each begins and the last ends."""
    new = np.flatnonzero(np.diff(places, prepend=-1))
    return places[new], np.append(new, places.size)
