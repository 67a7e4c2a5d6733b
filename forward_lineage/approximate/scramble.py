"""A scramble: columns of a table in random order, with the base row of each position, and indexes of groups.

Three relations belong to it: position ↔ base row, a bijection; group → its positions; block → its positions, 64 each.
The bitmap index of the thesis is a composition of two of them: which block has a row of which group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.approximate.exact_sums import ExactSums
from forward_lineage.relations.groups import by_group, narrowest
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.row_ids.manifest import Manifest
from udafs.errors import BadArgumentError, listed

Places = npt.NDArray[np.integer]
Keep = Callable[[Any], Any]
BLOCK = 64
#: Whole numbers up to here are their own doubles.
_EXACT = 1 << 53
_MOST_CELLS = 1 << 24
_BATCH = 1 << 20


@dataclass(frozen=True)
class Numbers:
    """A column whose values are added up, in the order of the scramble.

    Attributes:
        values: whole numbers as narrow as they are, others as doubles; 0 where NULL.
        there: 1 where there is a value, 0 where NULL; None: no row is NULL.
        low: the least value of the table.
        high: the greatest.
        whole: whether all are whole numbers.
        sums: how they are added up without rounding errors; None: they are too different in size.

    """

    values: npt.NDArray[np.number]
    there: npt.NDArray[np.bool_] | None
    low: float
    high: float
    whole: bool
    sums: ExactSums | None

    def at(self, positions: Places) -> npt.NDArray[np.float64]:
        """Return the values at some positions as doubles, which they are exactly."""
        return np.asarray(self.values[positions], np.float64)


@dataclass(frozen=True)
class Index:
    """The positions of each cell, a combination of values of some columns.

    Attributes:
        columns: which ones, in lower case.
        values: for each cell the values, as they are in Python.
        starts: where the positions of each cell begin in `positions`, shape (cells + 1,).
        positions: cell after cell, ascending in each.
        cells: of each position its cell.

    """

    columns: tuple[str, ...]
    values: list[tuple[object, ...]]
    starts: npt.NDArray[np.int64]
    positions: Places
    cells: Places

    def of(self, cell: int) -> Places:
        """Return the positions of a cell, ascending."""
        return self.positions[self.starts[cell] : self.starts[cell + 1]]


@dataclass(eq=False)
class Scramble:
    """Columns of a table in random order. `lineage.scramble` makes one; `lineage.approximate` reads it.

    Attributes:
        manifest: the version of the table that was read.
        columns: by name in lower case, each an Arrow array in the order of the scramble.
        groups: the columns that rows may be grouped by, in lower case.
        base_ids: the base row of each position, uint32 where that is enough.
        keep: puts a large array where it is kept.

    """

    manifest: Manifest
    columns: Mapping[str, pa.Array]
    groups: tuple[str, ...]
    base_ids: Places
    keep: Keep = lambda array: array
    _answered: bool = field(default=False, init=False, repr=False)
    _codes: dict[str, tuple[Places, list[object]]] = field(init=False, repr=False)
    _indexes: dict[tuple[str, ...], Index] = field(init=False, repr=False)
    _numbers: dict[str, Numbers] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._codes, self._indexes, self._numbers = {}, {}, {}

    def __repr__(self) -> str:
        columns = ", ".join(self.columns)
        grouped = f", groups {', '.join(self.groups)}" if self.groups else ""
        return f"Scramble({self.manifest.name}, {self.rows:,} rows, columns {columns}{grouped})"

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.base_ids.size)

    @property
    def blocks(self) -> int:
        """How many blocks of 64 positions there are."""
        return -(-self.rows // BLOCK)

    # ------------------------------------------------------------ relations

    def base_rows(self) -> RunsRelation:
        """Return the bijection: position → base row."""
        return RunsRelation.from_pairs(np.arange(self.rows), self.base_ids.astype(np.int64))

    def positions_of(self, *columns: str) -> RunsRelation:
        """Return the index of groups as a relation: cell → positions."""
        index = self.index(tuple(name.lower() for name in columns))
        cell = np.repeat(np.arange(len(index.values)), np.diff(index.starts))
        return RunsRelation.from_pairs(cell, index.positions.astype(np.int64))

    def positions_of_blocks(self) -> RunsRelation:
        """Return the relation block → positions."""
        positions = np.arange(self.rows)
        return RunsRelation.from_pairs(positions // BLOCK, positions)

    def begin_answer(self) -> bool:
        """Tell whether nothing was answered from the scramble before; from now on something was.

        An answer reveals rows at its start. A later question may be about just these. So the order of the scramble is a
        chance order for the first answer only.
        """
        fresh, self._answered = not self._answered, True
        return fresh

    # ------------------------------------------------------------ columns

    def column(self, name: str) -> pa.Array:
        """Return a column, by its name in lower case.

        Raises:
            BadArgumentError: it was not scrambled.

        """
        if name not in self.columns:
            raise BadArgumentError(
                f"the scramble of {self.manifest.name} has no column {name}",
                instead=f"It has {listed(list(self.columns))}. Scramble the table again with columns=[…].",
            )
        return self.columns[name]

    def numbers(self, column: str) -> Numbers:
        """Return a column whose values are added up.

        Raises:
            BadArgumentError: its values are no numbers, or not such as doubles hold exactly.

        """
        if column not in self._numbers:
            self._numbers[column] = _as_numbers(column, self.column(column))
        return self._numbers[column]

    def codes(self, column: str) -> tuple[Places, list[object]]:
        """Return for each position the number of its value among the column's values, and those; NULL is one."""
        if column not in self._codes:
            encoded = self.column(column)
            if not pa.types.is_dictionary(encoded.type):
                encoded = encoded.dictionary_encode(null_encoding="encode")
            values = encoded.dictionary.to_pylist()
            codes = encoded.indices
            if codes.null_count:
                codes, values = codes.fill_null(len(values)), [*values, None]
            numbers, values = _in_order(codes.to_numpy(), values)
            self._codes[column] = self.keep(numbers), values
        return self._codes[column]

    def index(self, columns: tuple[str, ...]) -> Index:
        """Return the positions of each combination of values that occurs; made once for each list of columns."""
        if columns not in self._indexes:
            self._indexes[columns] = self._indexed(columns)
        return self._indexes[columns]

    def _indexed(self, columns: tuple[str, ...]) -> Index:
        parts = [self.codes(name) for name in columns]
        sizes = [len(values) for _, values in parts]
        if np.prod([float(size) for size in sizes]) > _MOST_CELLS:
            raise BadArgumentError(
                f"{' and '.join(columns)} have too many combinations", instead="Group by columns with fewer values."
            )
        numbers, cell = _numbered([codes for codes, _ in parts], sizes)
        present, named = numbers, []
        for (_, names), size in zip(reversed(parts), reversed(sizes), strict=True):
            present, code = np.divmod(present, size)
            named.append([names[each] for each in code.tolist()])
        values = list(zip(*reversed(named), strict=True))
        positions: Places = np.empty(self.rows, np.uint32 if self.rows < 1 << 32 else np.int64)
        starts = by_group(cell, len(values), positions)
        return Index(columns, values, starts, self.keep(positions), cell if cell is parts[0][0] else self.keep(cell))


def _numbered(parts: Sequence[Places], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], Places]:
    """Which combinations occur, ascending, and for each row the place of its own among these."""
    total, batches = math.prod(sizes), [slice(at, at + _BATCH) for at in range(0, parts[0].size, _BATCH)]

    def combined(batch: slice) -> npt.NDArray[np.integer]:
        return combination([codes[batch] for codes in parts], sizes)

    occurs = np.zeros(total, np.bool_)
    for batch in batches:
        occurs[combined(batch)] = True
    present = np.flatnonzero(occurs)
    if len(parts) == 1 and present.size == total:
        return present, parts[0]
    place: Places = np.zeros(total, narrowest(max(present.size, 1)))
    place[present] = np.arange(present.size)
    cell: Places = np.empty(parts[0].size, place.dtype)
    for batch in batches:
        cell[batch] = place[combined(batch)]
    return present, cell


def combination(codes: Sequence[Places], sizes: Sequence[int]) -> npt.NDArray[np.integer]:
    """Return for each row its codes as one number, in the narrowest type.

    Args:
        codes: of each column the number of each row's value.
        sizes: of each column how many values it has.

    Examples:
        >>> combination([np.array([0, 1]), np.array([2, 0])], [2, 3]).tolist()
        [2, 3]

    """
    if len(codes) == 1:
        return codes[0]
    kind = narrowest(math.prod(sizes))
    found = codes[0].astype(kind)
    for each, size in zip(codes[1:], sizes[1:], strict=True):
        found *= kind.type(size)
        found += each.astype(kind, copy=False)
    return found


def _in_order(codes: Places, values: list[object]) -> tuple[Places, list[object]]:
    """Number values in their own order, NULL first: their numbers say nothing of the order of rows."""
    order = sorted(range(len(values)), key=lambda place: (values[place] is not None, values[place]))
    place_of = np.empty(len(values), narrowest(max(len(values), 1)))
    place_of[order] = np.arange(len(values))
    return place_of[codes], [values[place] for place in order]


def random_order(rows: int) -> Places:
    """Return the numbers from 0 in random order: Fisher–Yates, from the entropy of the system."""
    order: Places = np.arange(rows, dtype=np.uint32 if rows < 1 << 32 else np.int64)
    np.random.default_rng().shuffle(order)
    return order


def _as_numbers(name: str, column: pa.Array) -> Numbers:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    whole, parts = pa.types.is_integer(kind), kind.scale if pa.types.is_decimal(kind) else 0
    if not (whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise BadArgumentError(f"{name}, a {kind}, cannot be added up here", instead="Name a column of numbers.")
    there = None if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    values = column if whole else column.cast(pa.float64(), safe=False)
    array = (values.fill_null(0) if values.null_count else values).to_numpy(zero_copy_only=False)  # or it is copied
    low, high = (float(each.as_py() or 0) for each in pc.min_max(values).values()) if len(array) else (0.0, 0.0)
    if not pa.types.is_floating(kind) and max(abs(low), abs(high)) * 10**parts > _EXACT:
        raise BadArgumentError(f"{name} has numbers of more than 15 digits", instead="Scramble a smaller number.")
    if not np.isfinite(array).all():
        raise BadArgumentError(f"{name} has NaN or infinity in it", instead="Scramble a column without them.")
    array = np.ascontiguousarray(array)
    least = 1.0 if whole else _least(array)
    sums = ExactSums.of(least, max(-low, high), rows=max(array.size, 1), whole=whole)
    return Numbers(array, there, low, high, whole, sums)


def _least(values: npt.NDArray[np.float64]) -> float:
    """The distance from 0 of the value nearest to it that is not 0."""
    batches = (np.abs(values[at : at + _BATCH]) for at in range(0, values.size, _BATCH))
    return min((float(np.min(each, where=each > 0, initial=math.inf)) for each in batches), default=math.inf)
