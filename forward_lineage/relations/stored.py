"""The lineage of one saved result on one base table: its segments, read when a question needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from forward_lineage.relations import segment as segments
from forward_lineage.relations.algebra import empty
from forward_lineage.relations.relation import LineageRelation, Numbers, united
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Claim, CorruptSegmentError, Segment
from udafs.delta import MAX_ID, Ids
from udafs.lineage_set import LISTABLE, LineageSet

FEW = 8
"""Segments that a forward question reads without an index: some tens of milliseconds."""


@dataclass(frozen=True)
class SegmentFile:
    """The manifest's entry for a segment: its file, and the rows first_row … first_row + rows − 1 it answers for.

    Attributes:
        path: of the file.
        first_row: number of the first row in the result.
        rows: how many rows.
        moved: what is to be added to row numbers in the file; a segment is written before it is known how many rows
            others have.
        checksum: the CRC-32 that the file must have, when the manifest says.
        pairs: how many (row, id) pairs it must have, when the manifest says.
        size: how many bytes the file must have, when the manifest says.
        first_id: the first id that it has, when the manifest says.
        last_id: the last one; a question for ids that lie elsewhere does not read the file.

    """

    path: Path
    first_row: int
    rows: int
    moved: int = 0
    checksum: int | None = None
    pairs: int | None = None
    size: int | None = None
    first_id: int | None = None
    last_id: int | None = None

    def among(self, rows: LineageSet) -> LineageSet:
        """Those of some rows that the segment answers for."""
        return rows.below(self.first_row + self.rows) - rows.below(self.first_row)


class Index(Protocol):
    """What a relation's index is asked; see `forward_index.ForwardIndex`."""

    @property
    def left_out(self) -> LineageSet:
        """Ids that it knows nothing of."""
        ...

    def covers(self, files: Sequence[SegmentFile]) -> npt.NDArray[np.bool_]:
        """Of each segment whether its pairs are in the index."""
        ...

    def rows_of(self, ids: LineageSet, fewer_than: int) -> LineageSet | None:
        """The rows of any of the ids; None if it would not read fewer files than a number.

        Raises:
            CorruptSegmentError: a file of the index is damaged or gone.

        """
        ...


class SegmentCache:
    """Segments that were read lately, up to a number of bytes in memory; safe to share between threads.

    A segment in memory takes up to sixty times its file. One with a loaded BDD manager takes more than is counted here;
    what falls out of the cache gives its manager back.
    """

    def __init__(
        self, most_bytes: int = 1 << 30, read: Callable[[Path, int | None], bytes] = segments.bytes_of
    ) -> None:
        """A cache of some bytes.

        Args:
            most_bytes: of the segments altogether; a single larger one is kept until the next one is read.
            read: gives the bytes of a file, which has so many if that is known; raises an OSError or a DamagedError.

        """
        self.most_bytes, self._read = most_bytes, read
        self._kept: OrderedDict[Path, tuple[Segment, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, file: SegmentFile) -> Segment:
        """The segment of a file, which must be the one that the manifest says.

        Raises:
            CorruptSegmentError: missing, damaged, or of other rows; the message names the file.

        """
        with self._lock:
            if file.path in self._kept:
                self._kept.move_to_end(file.path)
                return self._kept[file.path][0]
        found = self.read(file)
        with self._lock:
            if file.path not in self._kept:
                self._kept[file.path] = found, found.nbytes
                self._bytes += found.nbytes
                self._shrink()
        return found

    def read(self, file: SegmentFile) -> Segment:
        """The same, read now, and not kept."""
        claim = Claim(file.first_row - file.moved, file.rows, file.pairs, file.first_id, file.last_id)
        found = segments.read(file.path, file.checksum, claim, lambda path: self._read(path, file.size))
        return replace(found, first_row=file.first_row)

    def forget(self, file: SegmentFile) -> None:
        """Give a segment back, if it is kept."""
        with self._lock:
            _, size = self._kept.pop(file.path, (None, 0))
            self._bytes -= size

    def _shrink(self) -> None:
        while self._bytes > self.most_bytes and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size


class StoredRelation(LineageRelation):
    """The segments of a result, one after the other; row numbers are those of the result.

    Questions read what they need of them; what gives a relation again gives it in memory.
    """

    def __init__(
        self, files: Sequence[SegmentFile], cache: SegmentCache, indexed: Callable[[], Index | None] = lambda: None
    ) -> None:
        """Of the segments of one version of a result, for one base table.

        Args:
            files: the segments.
            cache: reads them.
            indexed: returns an index that covers some of them, if there is one now.

        Raises:
            CorruptSegmentError: two segments answer for the same row.

        """
        self.files = sorted(files, key=lambda file: file.first_row)
        for before, after in pairwise(self.files):
            if before.first_row + before.rows > after.first_row:
                raise CorruptSegmentError(f"{before.path.name} and {after.path.name} answer for the same rows")
        self._first_rows = np.array([file.first_row for file in self.files], np.int64)
        self._first_ids = np.array([0 if file.first_id is None else file.first_id for file in self.files], np.int64)
        self._last_ids = np.array([MAX_ID if file.last_id is None else file.last_id for file in self.files], np.int64)
        self._last_rows = np.array([file.first_row + file.rows - 1 for file in self.files], np.int64)
        self.cache, self._indexed = cache, indexed
        self._covered: tuple[Index, npt.NDArray[np.bool_]] | None = None

    def _segments(self) -> Iterator[Segment]:
        """Every segment, read when it is its turn.

        Raises:
            CorruptSegmentError: one is missing, damaged, or of other rows.

        """
        return map(self.cache.get, self.files)

    # ------------------------------------------------------------ the whole

    @property
    def cardinality(self) -> int:
        """The number of pairs, as `len`, which ends at 2^63 − 1."""
        return sum(segment.relation.cardinality for segment in self._segments())

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Rows and ids of all pairs, sorted by (row, id): two int64 arrays of shape (len,)."""
        return _joined(segment.pairs() for segment in self._segments())

    def rows(self) -> LineageSet:
        """The projection on the rows: those that have an id."""
        return LineageSet(self.counts()[0])

    def ids(self) -> LineageSet:
        """The projection on the ids: those that have a row."""
        return united(segment.relation.ids() for segment in self._segments())

    def counts(self) -> tuple[Numbers, Numbers]:
        """Every row that has an id, ascending, and how many ids it has: two int64 arrays of shape (rows,)."""
        found = ((segment.first_row, *segment.relation.counts()) for segment in self._segments())
        return _joined((rows + first_row, count) for first_row, rows, count in found)

    def relation(self) -> LineageRelation:
        """The whole relation in memory, to combine it with others or to ask it often."""
        parts = [(segment.first_row, RunsRelation.of(segment.relation)) for segment in self._segments()]
        return RunsRelation.stacked(parts) if parts else empty()

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> RunsRelation:
        """The pairs whose row is one of `rows` and whose id is one of `ids`; None restricts nothing.

        Only segments that have such rows are read.
        """
        asked = ((self.files[place], None) for place in self._with(ids)) if rows is None else self._having(rows)
        parts = [self.cache.get(file).restrict(rows=mine, ids=ids).pairs() for file, mine in asked]
        return RunsRelation.from_pairs(*_joined(parts))

    def backward(self, rows: LineageSet) -> LineageSet:
        """The ids of any of the rows. Only segments that have such rows are read."""
        found = LineageSet()
        for file, mine in self._having(rows):
            found = found | self.cache.get(file).backward(mine)
        return found

    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids. Segments whose ids all lie elsewhere are not read, nor those of an index."""
        places = self._with(ids)
        index = self._indexed() if len(places) > FEW and ids.cardinality <= LISTABLE else None
        if index is None:
            return self._read(places, ids)
        covered = places[self._covered_by(index)[places]]
        try:
            rows = index.rows_of(ids, covered.size)
        except CorruptSegmentError:  # it says nothing that the segments do not say
            rows = None
        if rows is None:
            return self._read(places, ids)
        found = self._in(covered, rows) | self._read(np.setdiff1d(places, covered, assume_unique=True), ids)
        left_out = ids & index.left_out
        return found | self._read(covered, left_out) if left_out else found

    def _read(self, places: Numbers, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids in some segments, in the order of their rows."""
        found = [self.cache.get(self.files[place]).forward(ids).ids() for place in places.tolist()]
        return LineageSet(np.concatenate(found) if found else ())

    def _in(self, places: Numbers, rows: LineageSet) -> LineageSet:
        """Those of some rows that some segments answer for."""
        listed, first, last = rows.ids(), self._first_rows[places], self._last_rows[places]
        at = np.maximum(np.searchsorted(first, listed, side="right") - 1, 0)
        return LineageSet(listed[(first[at] <= listed) & (listed <= last[at])])

    def _covered_by(self, index: Index) -> npt.NDArray[np.bool_]:
        """Of each segment whether an index covers it."""
        if self._covered is None or self._covered[0] is not index:
            self._covered = index, index.covers(self.files)
        return self._covered[1]

    def segments_of(self, rows: LineageSet) -> int:
        """How many segments a backward question for some rows reads."""
        return sum(1 for _ in self._having(rows))

    def _having(self, rows: LineageSet) -> Iterator[tuple[SegmentFile, LineageSet]]:
        """The segments that answer for some of the rows, and for which; of thousands, without a look at each."""
        if rows.cardinality > LISTABLE:
            yield from ((file, mine) for file in self.files if (mine := file.among(rows)))
            return
        asked = rows.ids()
        for place, begin, end in _between(asked, self._first_rows, self._last_rows):
            yield self.files[place], LineageSet(asked[begin:end])

    def _with(self, ids: LineageSet | None) -> Numbers:
        """The places of the segments that may have some of the ids; None: all."""
        if ids is None or ids.cardinality > LISTABLE:
            return np.arange(len(self.files))
        return np.array([place for place, _, _ in _between(ids.ids(), self._first_ids, self._last_ids)], np.int64)

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """Give back what only speeds questions up; the next question builds it anew. The cache forgets the segments."""
        for file in self.files:
            self.cache.forget(file)

    def assert_consistent(self) -> None:
        """Check every invariant of the form; raises AssertionError."""
        for segment in self._segments():
            segment.relation.assert_consistent()
            rows = segment.relation.rows()
            assert rows == rows.below(segment.rows), "no rows but the segment's"


def _between(asked: Ids, first: Numbers, last: Numbers) -> Iterator[tuple[int, int, int]]:
    """Of intervals of numbers those that have some that are asked for, and from where to where these stand."""
    begins, ends = np.searchsorted(asked, first), np.searchsorted(asked, last, side="right")
    for place in np.flatnonzero(begins < ends):
        yield int(place), int(begins[place]), int(ends[place])


def _joined(parts: Iterable[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Columns of segments that follow each other, one behind the other."""
    none = np.empty(0, np.int64)
    left, right = zip((none, none), *parts, strict=True)
    return np.concatenate(left), np.concatenate(right)
