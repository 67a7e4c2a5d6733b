"""The lineage of one saved result on one base table: its segments, read when a question needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

import numpy as np

from forward_lineage.relations import segment as segments
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import CorruptSegmentError, Segment
from udafs.errors import LineageError
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

    """

    path: Path
    first_row: int
    rows: int
    moved: int = 0
    checksum: int | None = None


class SegmentCache:
    """Segments that were read lately, up to a number of bytes of their files; safe to share between threads.

    A segment in memory takes up to ten times its file; one with a loaded BDD manager takes more. What falls out of the
    cache gives its manager back.
    """

    def __init__(self, most_bytes: int = 256 << 20) -> None:
        """Args: most_bytes: of the files altogether; a single larger segment is kept until the next one is read."""
        self.most_bytes = most_bytes
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
        found = segments.read(file.path, file.checksum)
        found = replace(found, first_row=found.first_row + file.moved)
        has, expected = f"{found.first_row} + {found.rows}", f"{file.first_row} + {file.rows}"
        if has != expected:
            raise CorruptSegmentError(
                f"{file.path} has rows {has}, the manifest says {expected}",
                instead="It belongs to another version of the result; save the result again.",
            )
        with self._lock:
            if file.path not in self._kept:
                size = file.path.stat().st_size
                self._kept[file.path] = found, size
                self._bytes += size
                self._shrink()
        return found

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _shrink(self) -> None:
        while self._bytes > self.most_bytes and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size


class StoredRelation:
    """The questions of `LineageRelation`, over the segments of a result; row numbers are those of the result."""

    def __init__(self, files: Sequence[SegmentFile], cache: SegmentCache) -> None:
        """Of the segments of one version of a result, for one base table.

        Raises:
            LineageError: two segments answer for the same row.

        """
        self.files = sorted(files, key=lambda file: file.first_row)
        for before, after in zip(self.files, self.files[1:], strict=False):
            if before.first_row + before.rows > after.first_row:
                raise LineageError(f"{before.path.name} and {after.path.name} answer for the same rows")
        self.cache = cache

    def backward(self, rows: LineageSet) -> LineageSet:
        """The base ids of any of the rows; only segments that have such rows are read."""
        found = LineageSet()
        for file in self.files:
            mine = rows.below(file.first_row + file.rows) - rows.below(file.first_row)
            if mine:
                found = found | self.cache.get(file).backward(mine)
        return found

    def forward(self, ids: LineageSet) -> LineageSet:
        """The rows of any of the ids."""
        found = [self.cache.get(file).forward(ids).ids() for file in self.files] if ids else []
        # Segments follow each other, and so do their answers.
        return LineageSet(np.concatenate(found) if found else ())

    def relation(self) -> LineageRelation:
        """The whole relation in memory, to compose it or to join with it."""
        rows, ids = [], []
        for file in self.files:
            segment_rows, segment_ids = self.cache.get(file).relation.pairs()
            rows.append(segment_rows + file.first_row)
            ids.append(segment_ids)
        if not rows:
            return RunsRelation.from_pairs((), ())
        return RunsRelation.from_pairs(np.concatenate(rows), np.concatenate(ids))


def trace_forward(path: Sequence[StoredRelation], ids: LineageSet) -> LineageSet:
    """The rows at the end of a pipeline that any of the ids reach.

    Args:
        path: the relation of each step, the first on the base table, each next one on the result before it.
        ids: of the base table.

    A set goes through the steps one by one, which gives what the composed relation would give without composing it.

    """
    for step in path:
        ids = step.forward(ids)
    return ids


def trace_backward(path: Sequence[StoredRelation], rows: LineageSet) -> LineageSet:
    """The base ids that any of the rows at the end of a pipeline come from; `path` as for `trace_forward`."""
    for step in reversed(path):
        rows = step.backward(rows)
    return rows
