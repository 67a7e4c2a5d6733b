"""The lineage of one saved result on one base table: its segments, read when a question needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock

import numpy as np

from forward_lineage.relations import segment as segments
from forward_lineage.relations.algebra import empty
from forward_lineage.relations.relation import LineageRelation, Numbers, united
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Claim, CorruptSegmentError, Segment
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class SegmentFile:
    """What the manifest says of a segment: its file, and the rows first_row … first_row + rows − 1 it answers for.

    Attributes:
        path: of the file.
        first_row: number of the first row in the result.
        rows: how many rows.
        moved: what is to be added to row numbers in the file; a segment is written before it is known how many rows
            others have.
        checksum: the CRC-32 that the file must have, when the manifest says.
        pairs: how many (row, id) pairs it must have, when the manifest says.
        size: how many bytes the file must have, when the manifest says.

    """

    path: Path
    first_row: int
    rows: int
    moved: int = 0
    checksum: int | None = None
    pairs: int | None = None
    size: int | None = None

    def among(self, rows: LineageSet) -> LineageSet:
        """Those of some rows that the segment answers for."""
        return rows.below(self.first_row + self.rows) - rows.below(self.first_row)


class SegmentCache:
    """Segments that were read lately, up to a number of bytes of their files; safe to share between threads.

    A segment in memory takes up to ten times its file; one with a loaded BDD manager takes more. What falls out of the
    cache gives its manager back.
    """

    def __init__(
        self, most_bytes: int = 256 << 20, read: Callable[[Path, int | None], bytes] = segments.bytes_of
    ) -> None:
        """A cache of some bytes.

        Args:
            most_bytes: of the files altogether; a single larger segment is kept until the next one is read.
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
        claim = Claim(file.first_row - file.moved, file.rows, file.pairs)
        found = segments.read(file.path, file.checksum, claim, lambda path: self._read(path, file.size))
        found = replace(found, first_row=file.first_row)
        with self._lock:
            if file.path not in self._kept:
                size = file.size if file.size is not None else file.path.stat().st_size
                self._kept[file.path] = found, size
                self._bytes += size
                self._shrink()
        return found

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

    def __init__(self, files: Sequence[SegmentFile], cache: SegmentCache) -> None:
        """Of the segments of one version of a result, for one base table.

        Raises:
            CorruptSegmentError: two segments answer for the same row.

        """
        self.files = sorted(files, key=lambda file: file.first_row)
        for before, after in pairwise(self.files):
            if before.first_row + before.rows > after.first_row:
                raise CorruptSegmentError(f"{before.path.name} and {after.path.name} answer for the same rows")
        self.cache = cache

    def _segments(self) -> Iterator[Segment]:
        """Every segment, read when it is its turn.

        Raises:
            CorruptSegmentError: one is missing, damaged, or of other rows.

        """
        return map(self.cache.get, self.files)

    # ------------------------------------------------------------ the whole

    @property
    def cardinality(self) -> int:
        """See `LineageRelation`."""
        return sum(segment.relation.cardinality for segment in self._segments())

    def pairs(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        return _joined(segment.pairs() for segment in self._segments())

    def rows(self) -> LineageSet:
        """See `LineageRelation`."""
        return LineageSet(self.counts()[0])

    def ids(self) -> LineageSet:
        """See `LineageRelation`."""
        return united(segment.relation.ids() for segment in self._segments())

    def counts(self) -> tuple[Numbers, Numbers]:
        """See `LineageRelation`."""
        found = ((segment.first_row, *segment.relation.counts()) for segment in self._segments())
        return _joined((rows + first_row, count) for first_row, rows, count in found)

    def relation(self) -> LineageRelation:
        """The whole relation in memory, to combine it with others or to ask it often."""
        parts = [(segment.first_row, RunsRelation.of(segment.relation)) for segment in self._segments()]
        return RunsRelation.stacked(parts) if parts else empty()

    # ------------------------------------------------------------ parts

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> RunsRelation:
        """See `LineageRelation`; only segments that have such rows are read."""
        parts = []
        for file in self.files:
            mine = None if rows is None else file.among(rows)
            if mine is None or mine:
                parts.append(self.cache.get(file).restrict(rows=mine, ids=ids).pairs())
        return RunsRelation.from_pairs(*_joined(parts))

    def backward(self, rows: LineageSet) -> LineageSet:
        """See `LineageRelation`; only segments that have such rows are read."""
        found = LineageSet()
        for file in self.files:
            mine = file.among(rows)
            if mine:
                found = found | self.cache.get(file).backward(mine)
        return found

    def forward(self, ids: LineageSet) -> LineageSet:
        """See `LineageRelation`."""
        found = [segment.forward(ids).ids() for segment in self._segments()] if ids else []
        # Segments follow each other, and so do their answers.
        return LineageSet(np.concatenate(found) if found else ())

    # ------------------------------------------------------------ the structure

    def release(self) -> None:
        """See `LineageRelation`: the cache forgets the segments."""
        for file in self.files:
            self.cache.forget(file)

    def assert_consistent(self) -> None:
        """See `LineageRelation`."""
        for segment in self._segments():
            segment.relation.assert_consistent()
            rows = segment.relation.rows()
            assert rows == rows.below(segment.rows), "no rows but the segment's"


def _joined(parts: Iterable[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Columns of segments that follow each other, one behind the other."""
    none = np.empty(0, np.int64)
    left, right = zip((none, none), *parts, strict=True)
    return np.concatenate(left), np.concatenate(right)
