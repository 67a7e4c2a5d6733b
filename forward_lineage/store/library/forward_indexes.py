"""Indexes for forward questions, made on demand, beside the data folders of a result.

    HOME/results/<name>/index-<first>/    for the versions whose rows have the numbers of version <first>
        index.json                        says what is in the folder, sealed; its fields are those of `WrittenIndexes`
        <random>/*.lineage                segments of an index: its rows are ids, its ids are rows of the result

They are derived files (`storage.derived`): a folder gets its name at one stroke, may be deleted at any time, and says
nothing that the segments do not say. It does not cover segments of rows that are appended; these are read as before.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from forward_lineage.relations.forward_index import (
    CoveredSegment,
    ForwardIndex,
    IndexSegment,
    Progress,
    build,
    worth_an_index,
)
from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from forward_lineage.storage.derived import take_place
from forward_lineage.storage.fields import made
from forward_lineage.storage.local_folder import LocalFolder, sync_folders, writable
from forward_lineage.storage.locks import only_one
from forward_lineage.storage.own_files import read_file
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.store.library.made_of import SegmentEntry, StageLineage, TableLineage, TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.write_marks import BUSY
from udafs.delta import MAX_ID
from udafs.errors import DamagedError, LineageError
from udafs.lineage_set import LineageSet

INDEX = "index"
Part = TracedTable | TableLineage | StageLineage
"""Lineage of rows of a result, or of a stage: a relation that may have an index."""
_MANIFEST = "index.json"


@dataclass(frozen=True)
class WrittenIndex:
    """The index of one relation of a result.

    Attributes:
        relation: which, as `relations_of` names it.
        folder: of its files, in that of all.
        covers: the segments that it was made of.
        segments: its own.
        left_out: ids that it leaves out, because very many rows were made of them.

    """

    relation: str
    folder: str
    covers: tuple[CoveredSegment, ...]
    segments: tuple[IndexSegment, ...]
    left_out: tuple[int, ...] = ()


@dataclass(frozen=True)
class WrittenIndexes:
    """The content of a folder."""

    indexes: tuple[WrittenIndex, ...]


@dataclass(frozen=True)
class IndexReport:
    """What an index of a saved result took.

    Attributes:
        name: of the result.
        version: of the result.
        pairs: how many (row, id) pairs are in the index; 0 if forward questions are quick without one.
        size: bytes on disk.
        seconds: how long it took to make.

    """

    name: str
    version: int
    pairs: int
    size: int
    seconds: float


def relations_of(saved: Saved) -> Iterator[tuple[str, tuple[SegmentEntry, ...]]]:
    """Yield the segments of each relation that questions about a result read, and a name for each."""
    own: list[Part] = [*saved.tables, *saved.refers]
    yield from ((relation_name(each), each.segments) for each in own)
    for number, stage in enumerate(saved.stages):
        inner: list[Part] = [*stage.tables, *stage.stages]
        yield from ((relation_name(each, number), each.segments) for each in inner)


def relation_name(part: Part, stage: int | None = None) -> str:
    """Return what a relation is called among the indexes of its result.

    Args:
        part: the lineage.
        stage: whose rows have it; None: those of the result.

    """
    if isinstance(part, StageLineage):
        name = f"stage {part.stage}"
    else:
        name = f"table {(part.name if isinstance(part, TracedTable) else part.table).lower()}"
    return name if stage is None else f"stage {stage} {name}"


class ForwardIndexes:
    """The indexes of the results of a home.

    Args:
        place: where results are kept.

    """

    def __init__(self, place: LocalFolder) -> None:
        self._place = place
        self._cache = SegmentCache(read=self._bytes_of)
        self._known: dict[Path, tuple[tuple[int, int], dict[str, ForwardIndex]]] = {}

    def find(self, saved: Saved, relation: str) -> ForwardIndex | None:
        """Return the index of a relation of a version, as it is now; None: there is none, or it is damaged."""
        key = _key(saved)
        folder = self._place.path(key)
        try:
            file = os.lstat(folder / _MANIFEST)
        except OSError:
            self._known.pop(folder, None)
            return None
        written = file.st_ino, file.st_mtime_ns
        if folder not in self._known or self._known[folder][0] != written:
            self._known[folder] = written, self._opened(key)
        return self._known[folder][1].get(relation)

    def _opened(self, key: str) -> dict[str, ForwardIndex]:
        place = self._place.path(f"{key}/{_MANIFEST}")
        try:
            data = unseal(read_file(self._place.root, f"{key}/{_MANIFEST}"), str(place))
            found = made(WrittenIndexes, {name: value for name, value in data.items() if name != "format"})
            return {each.relation: self._index(each, place.parent) for each in found.indexes}
        except (LineageError, ValueError, KeyError, TypeError, OverflowError, OSError):
            return {}  # questions read the segments, as before

    def _index(self, written: WrittenIndex, folder: Path) -> ForwardIndex:
        _check_sound(written)
        files = [each.file_in(folder / written.folder) for each in written.segments]
        return ForwardIndex(written.covers, LineageSet(written.left_out), StoredRelation(files, self._cache))

    def _bytes_of(self, path: Path, size: int | None) -> bytes:
        try:
            return read_file(self._place.root, path.relative_to(self._place.root).as_posix())
        except DamagedError as error:
            raise CorruptSegmentError(error.what) from error

    def make(self, saved: Saved, reads: SegmentCache, folder: Path, progress: Progress) -> IndexReport:
        """Make the index of a version, in the place of the one before.

        Args:
            saved: the version, with all lineage that is captured.
            reads: reads its segments.
            folder: a data folder that holds nothing else; it is gone afterwards.
            progress: is told how much is done.

        Raises:
            CorruptSegmentError: a segment is damaged.
            SetupError: the home cannot be written.

        """
        begun = time.perf_counter()
        wanted = [
            (relation, files)
            for relation, segments in relations_of(saved)
            if (files := worth_an_index(saved.segment_files(segments)))
        ]
        with writable(folder), only_one(self._place.root, saved.name.lower(), ".indexing"):
            indexes = []
            for number, (relation, files) in enumerate(wanted):
                share = _Share(progress, number, len(wanted))
                own = folder / uuid.uuid4().hex[:12]  # no file has the name of one before, which others may have kept
                indexes.append(_written(own, relation, files, reads, share))
            found = WrittenIndexes(tuple(indexes))
            target = self._place.path(_key(saved))
            shutil.rmtree(target, ignore_errors=True)
            if indexes:
                self._publish(folder, target, found)
        segments = [each for index in indexes for each in index.segments]
        pairs, size = sum(each.pairs for each in segments), sum(each.size for each in segments)
        return IndexReport(saved.name, saved.version, pairs, size, time.perf_counter() - begun)

    def _publish(self, folder: Path, target: Path, found: WrittenIndexes) -> None:
        with (folder / _MANIFEST).open("xb") as file:
            file.write(seal(asdict(found)))
            file.flush()
            os.fsync(file.fileno())
        sync_folders(folder)
        take_place(folder, target, _MANIFEST)
        (target / BUSY).unlink(missing_ok=True)  # it came along


def _check_sound(written: WrittenIndex) -> None:
    """Check what a right checksum does not say: an index that nobody made of these segments must not answer.

    Raises:
        ValueError: it cannot be right.

    """
    for name in (written.folder, *(each.path for each in written.segments)):
        if "/" in name or name.startswith("."):
            raise ValueError(f"{name} is no file of an index")
    for each in written.segments:
        if not 0 <= each.first_id <= each.last_id <= MAX_ID:
            raise ValueError(f"ids from {each.first_id} to {each.last_id}")
    there, listed = sum(each.pairs or 0 for each in written.covers), sum(each.pairs for each in written.segments)
    if listed > there or (listed < there and not written.left_out):
        raise ValueError(f"{listed} pairs of {there}")


class _Share:
    """Tells the progress of one of several relations."""

    def __init__(self, progress: Progress, number: int, count: int) -> None:
        self._progress, self._number, self._count = progress, number, count

    def __call__(self, done: float) -> None:
        self._progress((self._number + done) / self._count)


def _written(
    folder: Path, relation: str, files: list[SegmentFile], reads: SegmentCache, progress: Progress
) -> WrittenIndex:
    folder.mkdir()
    segments, left_out = build(files, reads, folder, progress)
    covers = tuple(map(CoveredSegment.of, files))
    return WrittenIndex(relation, folder.name, covers, tuple(segments), tuple(left_out))


def _key(saved: Saved) -> str:
    return f"{saved.name.lower()}/{INDEX}-{saved.keeps_numbers_of}"
