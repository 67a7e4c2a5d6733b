"""Pairs of many segments sorted by their ids: forward questions for ids in no order read one file in place of all.

The index is the inverse relation, in segments as all lineage is: its rows are ids, its ids are rows. It is sorted on
disk: parts that fit into memory are sorted one by one, then merged range by range. Neither step holds more than some
hundred megabytes, however many pairs there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from forward_lineage.relations import segment as segments
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.stored import FEW, SegmentCache, SegmentFile, StoredRelation
from udafs.delta import MAX_ID
from udafs.lineage_set import LineageSet

MOST_OF_AN_ID = 1 << 24
"""Rows of an id in the index at most. One that more rows were made of has an answer that is long itself."""
_PART = 1 << 23
"""Pairs that are sorted at once, by each thread."""
_SEGMENT = 1 << 17
"""Pairs of a segment of the index: it is read in some ten milliseconds, and decides how many files there are."""
_SAMPLE = 1 << 12
"""One id of so many says where the ranges begin."""
_DENSE = 8
"""Pairs a byte, from which on a segment is read as it is: its runs are long, and the index would list each pair."""
Progress = Callable[[float], None]
"""Is told which share of the work is done, from 0 to 1."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class CoveredSegment:
    """What tells a segment that an index covers from the others of its relation, in whatever folder it is."""

    name: str
    first_row: int
    rows: int
    pairs: int | None
    size: int | None
    checksum: int | None

    @classmethod
    def of(cls, file: SegmentFile) -> CoveredSegment:
        """Return what tells a file from the others."""
        return cls(file.path.name, file.first_row, file.rows, file.pairs, file.size, file.checksum)


@dataclass(frozen=True)
class IndexSegment:
    """A segment of an index: the rows that were made of the ids from `first_id` to `last_id`."""

    path: str
    first_id: int
    last_id: int
    pairs: int
    size: int
    checksum: int

    def file_in(self, folder: Path) -> SegmentFile:
        """Return it as the store reads it."""
        span = self.last_id - self.first_id + 1
        return SegmentFile(folder / self.path, self.first_id, span, 0, self.checksum, self.pairs, self.size)


def worth_an_index(files: Sequence[SegmentFile]) -> list[SegmentFile]:
    """Return those of some segments whose pairs had better be sorted by id; none if questions read few of them.

    Args:
        files: the segments of a relation.

    """
    scattered = [each for each in files if each.pairs and each.size and each.pairs < _DENSE * each.size]
    return scattered if _most_at_once(scattered) > FEW else []


def _most_at_once(files: Sequence[SegmentFile]) -> int:
    """Of how many segments the ids enclose one id, at most."""
    if not files:
        return 0
    first = np.sort([0 if each.first_id is None else each.first_id for each in files])
    last = np.sort([MAX_ID if each.last_id is None else each.last_id for each in files])
    return int((np.arange(1, first.size + 1) - np.searchsorted(last, first)).max())


def build(
    files: Sequence[SegmentFile], cache: SegmentCache, folder: Path, progress: Progress
) -> tuple[list[IndexSegment], list[int]]:
    """Write the index of some segments.

    Args:
        files: the segments, of rows that follow each other; the manifest says how many pairs each has.
        cache: reads them; keeps none.
        folder: where the index is written: empty. It takes 16 bytes a pair until this is done, then about eight.
        progress: is told how much is done.

    Returns:
        the segments of the index, and the ids that it leaves out because too many rows were made of them.

    Raises:
        CorruptSegmentError: a segment is damaged.
        OSError: the folder cannot be written.

    """
    told = _Told(progress, 2 * sum(each.pairs or 0 for each in files))

    def sort(part: tuple[int, list[SegmentFile]]) -> _Sorted:
        number, own = part
        pairs = (cache.read(each).pairs() for each in own)
        return _Sorted.write(folder / f"{number:06}", *_by_id((ids, rows) for rows, ids in pairs), told)

    parts = list(_in_parallel(sort, enumerate(_parts(files))))
    bounds = _bounds(np.sort(np.concatenate([each.sample for each in parts])))
    heavy: list[int] = []

    def merge(numbered: tuple[int, tuple[int, int]]) -> list[IndexSegment]:
        number, (begin, end) = numbered
        spans = [each.between(begin, end) for each in parts]
        count = sum(stop - start for start, stop in spans)
        if begin == end and count > MOST_OF_AN_ID:
            heavy.append(begin)
            found = []
        else:
            merged = _by_id(each.read(*span) for each, span in zip(parts, spans, strict=True))
            found = [_written(folder, f"{number:06}-{start:09}.lineage", *piece) for start, piece in _pieces(*merged)]
        told.add(count)
        return found

    written = [each for made in _in_parallel(merge, enumerate(bounds)) for each in made]
    for part in parts:
        part.remove()
    return written, sorted(heavy)


class _Told:
    """Adds up what threads have done."""

    def __init__(self, progress: Progress, all_of_it: int) -> None:
        self._progress, self._all, self._done, self._lock = progress, max(all_of_it, 1), 0, Lock()

    def add(self, pairs: int) -> None:
        with self._lock:
            self._done += pairs
            self._progress(self._done / self._all)


def _in_parallel(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Do some work on all items, in their order; what has not begun when one fails, or on Ctrl-C, is not begun."""
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 4))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _parts(files: Sequence[SegmentFile]) -> Iterator[list[SegmentFile]]:
    """Segments that are sorted together."""
    own: list[SegmentFile] = []
    for each in files:
        if own and sum(other.pairs or 0 for other in [*own, each]) > _PART:
            yield own
            own = []
        own.append(each)
    yield own


@dataclass(frozen=True)
class _Sorted:
    """A part of the pairs, sorted by (id, row), on disk."""

    path: Path
    size: int
    sample: Numbers

    @classmethod
    def write(cls, path: Path, ids: Numbers, rows: Numbers, told: _Told) -> _Sorted:
        found = cls(path, ids.size, ids[::_SAMPLE].copy())
        ids.tofile(path.with_suffix(".ids"))
        rows.tofile(path.with_suffix(".rows"))
        told.add(ids.size)
        return found

    def between(self, begin: int, end: int) -> tuple[int, int]:
        """Where the pairs of the ids from `begin` to `end` start and stop."""
        ids = self._opened(".ids")
        return int(np.searchsorted(ids, begin)), int(np.searchsorted(ids, end, side="right"))

    def read(self, start: int, stop: int) -> tuple[Numbers, Numbers]:
        return np.array(self._opened(".ids")[start:stop]), np.array(self._opened(".rows")[start:stop])

    def remove(self) -> None:
        for suffix in (".ids", ".rows"):
            self.path.with_suffix(suffix).unlink()

    def _opened(self, suffix: str) -> Numbers:
        return np.memmap(self.path.with_suffix(suffix), np.int64, "r", shape=(self.size,))


def _bounds(sample: Numbers) -> list[tuple[int, int]]:
    """Ranges of ids that have about as many pairs as are sorted at once; an id of more has a range of its own."""
    every = sample[:: max(_PART // _SAMPLE, 1)]
    repeated = every[1:][np.diff(every) == 0]
    # The middle keeps each range narrower than 2^63, which is more than a segment can say.
    starts = np.unique(np.concatenate([every, [0], repeated[repeated < MAX_ID] + 1, [MAX_ID // 2]])).tolist()
    return [(begin, after - 1) for begin, after in pairwise([*starts, MAX_ID + 1])]


def _by_id(parts: Iterable[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Ids and rows of parts whose rows follow each other, sorted by (id, row)."""
    ids, rows = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(ids, kind="stable")
    return ids[order], rows[order]


def _pieces(ids: Numbers, rows: Numbers) -> Iterator[tuple[int, tuple[Numbers, Numbers]]]:
    """The pairs of each segment, all of an id in one, and where they start."""
    starts = np.unique(np.searchsorted(ids, ids[::_SEGMENT])).tolist()
    for start, stop in pairwise([*starts, ids.size]):
        yield start, (ids[start:stop], rows[start:stop])


def _written(folder: Path, name: str, ids: Numbers, rows: Numbers) -> IndexSegment:
    first, last = int(ids[0]), int(ids[-1])
    relation = RunsRelation.from_pairs(ids - first, rows)
    data, _ = segments.write_encoded(folder / name, Segment(first, last - first + 1, relation), "runs")
    return IndexSegment(name, first, last, ids.size, len(data), segments.checksum(data))


class ForwardIndex:
    """The index of some segments of a relation.

    Args:
        covered: the segments.
        left_out: ids that it leaves out.
        inverse: its own segments, whose rows are ids.

    """

    def __init__(self, covered: Iterable[CoveredSegment], left_out: LineageSet, inverse: StoredRelation) -> None:
        self._covered, self.left_out, self.inverse = frozenset(covered), left_out, inverse

    def covers(self, files: Sequence[SegmentFile]) -> npt.NDArray[np.bool_]:
        """Of each segment whether its pairs are in the index."""
        return np.array([CoveredSegment.of(each) in self._covered for each in files], bool)

    def rows_of(self, ids: LineageSet, fewer_than: int) -> LineageSet | None:
        """The rows of any of the ids; None if it would not read fewer files than a number.

        Raises:
            CorruptSegmentError: a file of the index is damaged or gone.

        """
        asked = ids - self.left_out
        return self.inverse.backward(asked) if self.inverse.segments_of(asked) < fewer_than else None
