"""Random views, and what brushes leave of them by going through all base rows one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from forward_lineage.relations.groups import narrowest
from forward_lineage.views.cubes import Limits
from forward_lineage.views.engine import Choice, Engine, engine_of
from forward_lineage.views.engine_files import cubes_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.measures import ROWS, Counted, Measure, MeasurePart
from forward_lineage.views.membership import Dense, Membership, Sparse
from forward_lineage.views.view import Aggregate, View


@dataclass(frozen=True)
class Model:
    """Views as plain sets.

    Attributes:
        rows: how many base rows.
        bars: for each view how many bars.
        pairs: for each view the pairs (bar, row).
        values: for each measure the value of every row, None where there is none.
        measured: for each view its measures.

    """

    rows: int
    bars: tuple[int, ...]
    pairs: tuple[frozenset[tuple[int, int]], ...]
    values: tuple[tuple[float | None, ...], ...]
    measured: tuple[tuple[int, ...], ...]

    def parts(self, view: int) -> tuple[MeasurePart, ...]:
        return (ROWS, *(part for m in self.measured[view] for part in (MeasurePart("valid", m), MeasurePart("sum", m))))

    def left(self, choice: Mapping[int, np.ndarray]) -> set[int]:
        """The rows that some brushes leave."""
        found = set(range(self.rows))
        for view, chosen in choice.items():
            known = {row for _, row in self.pairs[view]}
            inside = {row for bar, row in self.pairs[view] if chosen[bar]}
            found &= inside | (set(range(self.rows)) - known if chosen[-1] else set())
        return found

    def counted(self, choice: Mapping[int, np.ndarray], view: int) -> dict[MeasurePart, list[float]]:
        """What they leave of a view; without the rows that are in no bar of it."""
        left = self.left(choice)
        found: dict[MeasurePart, list[float]] = {part: [0] * self.bars[view] for part in self.parts(view)}
        for bar, row in self.pairs[view]:
            if row in left:
                found[ROWS][bar] += 1
                for measure in self.measured[view]:
                    value = self.values[measure][row]
                    if value is not None:
                        found[MeasurePart("valid", measure)][bar] += 1
                        found[MeasurePart("sum", measure)][bar] += value
        return found

    def membership(self, view: int) -> Membership:
        bar, row = (np.array([pair[side] for pair in sorted(self.pairs[view])], np.int64) for side in (0, 1))
        if len({int(each) for each in row}) < row.size:
            return Sparse.of(bar, row, self.bars[view], self.rows)
        codes = np.full(self.rows, self.bars[view], narrowest(self.bars[view]))
        codes[row] = bar
        return Dense.of(codes, self.bars[view])

    def engine(self, limits: Limits) -> Engine:
        memberships = [self.membership(view) for view in range(len(self.bars))]
        measures = tuple(map(_measure, self.values))
        parts = [self.parts(view) for view in range(len(self.bars))]
        return engine_of(memberships, parts, measures, cubes_of(memberships, parts, measures, limits))

    def linked(self, limits: Limits) -> LinkedViews:
        views = []
        for number, bars in enumerate(self.bars):
            columns = {"bar": pa.array(range(bars), pa.int64()), "n": pa.array([0] * bars, pa.int64())}
            aggregates: list[Aggregate | None] = [None, Aggregate("count")]
            for measure in self.measured[number]:
                exact = all(isinstance(value, int | None) for value in self.values[measure])
                columns[f"m{measure}"] = pa.nulls(bars, pa.int64() if exact else pa.float64())
                aggregates.append(Aggregate("sum", measure))
            views.append(View(f"v{number}", pa.table(columns), tuple(aggregates)))
        return LinkedViews(views, self.engine(limits), ("t", 1))


def _measure(values: Sequence[float | None]) -> Measure:
    exact = all(isinstance(value, int | None) for value in values)
    filled = np.array([value or 0 for value in values], np.int32 if exact else np.float64)
    valid = np.array([value is not None for value in values], np.bool_)
    return Measure(filled, None if valid.all() else valid)


@st.composite
def models(draw: st.DrawFn) -> Model:
    rows = draw(st.integers(0, 40))
    bars = draw(st.lists(st.integers(1, 7), min_size=2, max_size=4))
    pairs = []
    for count in bars:
        if draw(st.integers(0, 3)):  # one bar a row, or none
            codes = draw(st.lists(st.integers(0, count), min_size=rows, max_size=rows))
            pairs.append(frozenset((bar, row) for row, bar in enumerate(codes) if bar < count))
        else:
            pair = st.tuples(st.integers(0, count - 1), st.integers(0, rows - 1))
            pairs.append(draw(st.frozensets(pair, max_size=60)) if rows else frozenset())
    whole = st.none() | st.integers(-(2**31), 2**31 - 1)
    floats = st.sampled_from([0.5, -1.25, 3.0, 1e9])  # sums of these are exact, in whatever order
    values = tuple(
        tuple(draw(st.lists(kind, min_size=rows, max_size=rows)))
        for kind in draw(st.lists(st.sampled_from([whole, floats]), max_size=2))
    )
    measured = tuple(tuple(m for m in range(len(values)) if draw(st.booleans())) for _ in bars)
    return Model(rows, tuple(bars), tuple(pairs), values, measured)


#: From everything in one cube to none at all; in between, cubes of the heaviest bars only.
LIMITS = st.builds(
    Limits, cells=st.sampled_from([0, 8, 20, 60, 1 << 20]), share=st.sampled_from([0, 3, 50]), heavy=st.integers(0, 8)
)


@st.composite
def choices(draw: st.DrawFn, model: Model, most: int | None = None) -> Choice:
    """Bars for some views; that of no bar is never chosen."""
    views = draw(st.lists(st.integers(0, len(model.bars) - 1), unique=True, max_size=most))
    return {view: chosen_bars(draw(st.sets(st.integers(0, model.bars[view] - 1))), model.bars[view]) for view in views}


def chosen_bars(bars: set[int], count: int) -> np.ndarray:
    found = np.zeros(count + 1, np.bool_)
    found[list(bars)] = True
    return found


def assert_counted(found: Counted, expected: Mapping[MeasurePart, Sequence[float]]) -> None:
    assert {part: numbers[:-1].tolist() for part, numbers in found.items()} == dict(expected)
