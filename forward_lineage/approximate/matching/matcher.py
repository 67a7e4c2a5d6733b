"""From a question about histograms to its answer: by a scramble, or by linked views that count exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.approximate.answer import blocks_of
from forward_lineage.approximate.asked_values import is_number
from forward_lineage.approximate.drawing import DrawnOrder, ScrambleOrder
from forward_lineage.approximate.matching.block_reading import BlockReader, Candidates
from forward_lineage.approximate.matching.distance_tests import Counts, Floats, distance
from forward_lineage.approximate.matching.histsim import HistSim, Tell, Wanted
from forward_lineage.approximate.matching.matches import Matches
from forward_lineage.approximate.matching.targets import Target, place_of, target_like, target_of
from forward_lineage.approximate.rounds import interruptible
from forward_lineage.approximate.scramble import Places, Scramble
from forward_lineage.approximate.selection import Selection, Truths, selection
from udafs.errors import BadArgumentError

_MOST_CELLS = 1 << 24
_TARGET = "Give target={bar: weight, …}, or like= a candidate."


@dataclass(frozen=True)
class AskedMatch:
    """A question; for the attributes see `lineage.matching`."""

    candidates: str
    histogram: str
    target: Target
    like: object
    k: int
    error: float
    confidence: float
    least: float
    where: str | None

    def check(self) -> None:
        """Raise a BadArgumentError if something cannot be."""
        if (self.target is None) == (self.like is None):
            raise BadArgumentError("target and like: both or none", instead=_TARGET)
        for name in ("candidates", "histogram"):
            if not isinstance(getattr(self, name), str):
                raise BadArgumentError(f"{name}={getattr(self, name)!r}", instead="Name a column.")
        if self.candidates.lower() == self.histogram.lower():
            raise BadArgumentError("candidates and histogram are the same column", instead="Name two columns.")
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise BadArgumentError(f"k={self.k!r}", instead="Say how many candidates you want, at least 1.")
        for name, low, high in (("error", 0.0, 2.0), ("confidence", 0.0, 1.0)):
            if not (is_number(getattr(self, name)) and low < getattr(self, name) < high):
                raise BadArgumentError(
                    f"{name}={getattr(self, name)!r}", instead=f"It is over {low:g} and below {high:g}."
                )
        if not (is_number(self.least) and 0 <= self.least < 1):
            raise BadArgumentError(f"least={self.least!r}", instead="It is a share of all rows, such as 0.0008, or 0.")


class BarCounts(Protocol):
    """How many rows each bar of each view has."""

    def __getitem__(self, view: str) -> npt.NDArray[np.int64]:
        """Return those of a view."""


class CountedRows(Protocol):
    """The part of linked views that is needed here."""

    def bars(self, view: str) -> pa.Table:
        """Return the bars of a view."""

    def keys(self, view: str) -> list[int]:
        """Return which columns of a view say what a bar is."""

    def brush(self, view: str, bars: Iterable[int]) -> BarCounts:
        """Return what some bars of a view leave of all of them."""


# ------------------------------------------------------------ by a scramble


def matched(
    scramble: Scramble, asked: AskedMatch, tell: Tell, reason: Callable[[], str | None], *, block: int = 1
) -> Matches:
    """Answer from a scramble.

    Args:
        scramble: of the table.
        asked: what is asked.
        tell: is told how far it is.
        reason: says why the scramble is void; None: it is not.
        block: how many rows are read together. The thesis reads blocks, since a disk does, and gets rows of candidates
            that need none. Arrays in memory are read row by row: that is a quarter of the rows, in the same time.

    """
    asked.check()
    for name in (asked.candidates, asked.histogram):
        if name.lower() not in scramble.groups:
            raise BadArgumentError(
                f"{name} is not among the groups of the scramble of {scramble.manifest.name}",
                instead=f'Scramble it with groups=["{name}", …].',
            )
    chosen = selection(scramble, asked.where)
    values, rows, bars = _candidates(scramble, asked, chosen)
    own = _rows_like(rows, asked, values)
    if own is None:
        target, strange = target_of(asked.target, bars)
    else:
        target, strange = target_like(np.bincount(rows.bar[own], minlength=len(bars)), asked.like), 0
    rows = replace(rows, bars=len(bars) + strange)
    order = ScrambleOrder if scramble.begin_answer() else DrawnOrder
    with interruptible() as stop:
        reader = BlockReader(rows, order(scramble.rows), stop.is_set, block)
        wanted = Wanted(target, asked.k, asked.error, 1 - asked.confidence, asked.least, not chosen.tried)
        found = HistSim(reader, wanted, tell).run()
        interrupted = stop.is_set()
    read = np.arange(scramble.rows) if reader.whole else reader.positions[reader.read].astype(np.int64)
    if own is not None and not reader.whole:
        read = np.union1d(read, own).astype(np.int64)
    table = _Shown(asked.candidates, bars, target)
    shown = [
        table.row(values[candidate], counts, whole=whole)
        for candidate, counts, whole in zip(found.chosen, found.counts, found.whole, strict=True)
    ]

    def ids(row: int | None) -> npt.NDArray[np.int64]:
        return scramble.base_ids[read if row is None else found.rows[row]()].astype(np.int64)

    return Matches(
        shown,
        found.certified and not interrupted,
        asked.confidence,
        asked.error,
        found.left,
        found.rounds,
        int(read.size),
        scramble.blocks if reader.whole else blocks_of([read]),
        interrupted,
        f"{read.size:,} of {scramble.rows:,} rows read",
        ids,
        reason,
    )


def _candidates(
    scramble: Scramble, asked: AskedMatch, chosen: Selection
) -> tuple[list[object], Candidates, list[object]]:
    """The values of candidates, their rows, and the bars; rows that an index leaves out are of no candidate."""
    name = asked.candidates.lower()
    codes, values = scramble.codes(name)
    bar, bars = scramble.codes(asked.histogram.lower())
    if len(values) * len(bars) > _MOST_CELLS:
        raise BadArgumentError(
            f"{len(values):,} candidates with {len(bars):,} bars each are too many", instead="Use a coarser histogram."
        )
    candidate: Places = codes.astype(np.int32) if chosen.values else codes
    for column, kept in chosen.values.items():
        mine, named = scramble.codes(column)
        allowed = np.array([each in kept for each in named], np.bool_)
        candidate[~allowed[mine]] = -1

    def holds(positions: Places | slice) -> Truths | None:
        if isinstance(positions, slice):
            return chosen.holds_between(scramble, positions.start, positions.stop)
        return chosen.holds(scramble, positions)

    rows = Candidates(candidate, bar, len(values), len(bars), holds, left_out=bool(chosen.values))
    return values, rows, bars


def _rows_like(rows: Candidates, asked: AskedMatch, values: Sequence[object]) -> Places | None:
    """The positions of all rows of the candidate that the target is like; None: it is given in numbers."""
    if asked.like is None:
        return None
    return rows.all_of(place_of(asked.like, values))


@dataclass(frozen=True)
class _Shown:
    """The names that histograms are shown with."""

    column: str
    bars: Sequence[object]
    target: Floats

    def row(self, value: object, counts: Counts, *, whole: bool) -> dict[str, object]:
        total = max(int(counts.sum()), 1)
        shares = {bar: int(count) / total for bar, count in zip(self.bars, counts, strict=False)}
        return {
            self.column: value,
            "distance": distance(counts, self.target),
            "histogram": shares,
            "rows_read": int(counts.sum()),
            "exact": whole,
        }


# ------------------------------------------------------------ by linked views


def counted(views: CountedRows, asked: AskedMatch) -> Matches:
    """Answer exactly, by views that count: `candidates` and `histogram` name two of them."""
    asked.check()
    if asked.where is not None:
        raise BadArgumentError("where= with linked views", instead="Say it in the views, or ask a scramble.")
    values, bars = (_bars_of(views, name) for name in (asked.candidates, asked.histogram))
    counts = np.array([views.brush(asked.candidates, [place])[asked.histogram] for place in range(len(values))])
    counts = counts.reshape(len(values), len(bars)).astype(np.int64)
    sizes = counts.sum(axis=1)
    if asked.like is None:
        target, strange = target_of(asked.target, bars)
    else:
        target, strange = target_like(counts[place_of(asked.like, values)], asked.like), 0
    counts = np.pad(counts, ((0, 0), (0, strange)))
    left = [place for place in range(len(values)) if sizes[place] and sizes[place] >= asked.least * sizes.sum()]
    far = {place: distance(counts[place], target) for place in left}
    chosen = sorted(left, key=lambda place: far[place])[: asked.k]
    table = _Shown(asked.candidates, bars, target)
    shown = [table.row(values[place], counts[place], whole=True) for place in chosen]
    nothing_read = (0, 0, 0, False)
    return Matches(
        shown, True, 1.0, asked.error, len(left), *nothing_read, "counted by linked views", _no_ids, lambda: None
    )


def _bars_of(views: CountedRows, name: str) -> list[object]:
    table, keys = views.bars(name), views.keys(name)
    columns = [table.column(place).to_pylist() for place in keys]
    return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


def _no_ids(_: int | None) -> npt.NDArray[np.int64]:
    raise BadArgumentError("rows of counts that were made beforehand", instead="Brush the views: hand.brush(…).ids().")
