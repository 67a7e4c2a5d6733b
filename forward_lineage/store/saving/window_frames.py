"""Window frames of saved rows, as relations: row → places of its frame, place → what the row there was made of.

The kernel's `dl_frame` gives for each row its place in the order of a window, and the places before and behind it in
its frame. All partitions, one behind the other, give every row one place; a frame is then one run of places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation
from udafs.errors import NotTracedError

#: What `dl_frame` returns, see udafs/scala/stages/RelationBytes.scala. Places count from 1.
FRAME = np.dtype([("partition", "<i8"), ("place", "<i4"), ("last", "<i4"), ("size", "<i4"), ("content", "<i8")])
Frames = npt.NDArray[np.void]


@dataclass(frozen=True)
class Window:
    """The frames of one window.

    Attributes:
        place: of each row, shape (rows,), from 0.
        frames: row → the places of its frame.

    """

    place: Numbers
    frames: RunsRelation

    @property
    def in_order(self) -> bool:
        """Whether the rows stand in the order of the window, so that a place is the number of a row."""
        return bool(np.all(np.diff(self.place) == 1))

    @property
    def have_themselves(self) -> bool:
        """Whether every row is in its own frame."""
        first, last = self.frames.first[self.frames.set_of_row], self.frames.last[self.frames.set_of_row]
        return self.frames.row.size == self.place.size and bool(np.all((first <= self.place) & (self.place <= last)))

    def by_place(self, relation: LineageRelation, first_row: int = 0) -> RunsRelation:
        """Return a relation of the rows, numbered from `first_row`, as one of their places."""
        runs = RunsRelation.of(relation)
        return runs.renumbered(self.place[runs.row - first_row])


def frames_in(values: pa.Array) -> Frames:
    """Return the frames in a column of what `dl_frame` returned, shape (rows,).

    Raises:
        ValueError: it is something else.

    """
    content = b"".join(values.to_pylist())
    if len(content) != FRAME.itemsize * len(values):
        raise ValueError("a frame is missing")
    return np.frombuffer(content, FRAME)


def window_of(frames: Frames) -> Window:
    """Return the places of rows, and of their frames.

    Raises:
        NotTracedError: two partitions look alike, by chance.

    """
    partition, place = frames["partition"], frames["place"].astype(np.int64)
    order = np.arange(frames.size) if _are_whole(partition, place) else np.lexsort((place, partition))
    starts = np.flatnonzero(np.diff(partition[order], prepend=-1) != 0)
    start = np.repeat(starts, np.diff(starts, append=frames.size))
    if np.any(place[order] != np.arange(frames.size) - start + 1):
        raise NotTracedError(
            "two partitions of a window have the same hash by chance",
            instead="SET spark.forward_lineage.by_reference = false.",
        )
    at = np.empty(frames.size, np.int64)
    at[order] = np.arange(frames.size)
    rows = np.flatnonzero(frames["size"] > 0)
    last = (at - place + frames["last"])[rows]
    return Window(at, RunsRelation.from_runs(rows, last - frames["size"][rows] + 1, last))


def _are_whole(partition: Numbers, place: Numbers) -> bool:
    """Say whether the rows of each partition stand together, in its order: then they need not be moved."""
    begins = np.diff(partition, prepend=-1) != 0
    expected = np.where(begins, 1, np.roll(place, 1) + 1)
    return bool(np.all(place == expected)) and np.unique(partition[begins]).size == np.count_nonzero(begins)


class FrameWriter:
    """The frames of one task's rows, as they come.

    Args:
        path: of the file, which holds them in their memory format; none is written for no rows.

    """

    def __init__(self, path: Path) -> None:
        self._path, self._held = path, list[Frames]()

    def add(self, values: pa.Array) -> None:
        """Take the frames of a batch."""
        self._held.append(frames_in(values))

    def close(self) -> None:
        """Write them."""
        if self._held:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.concatenate(self._held).tofile(self._path)


def read_frames(paths: Sequence[Path]) -> Frames:
    """Return what writers wrote, one behind the other, and remove the files."""
    found = [np.empty(0, FRAME), *(np.fromfile(path, FRAME) for path in paths if path.exists())]
    for path in paths:
        path.unlink(missing_ok=True)
    return np.concatenate(found)
