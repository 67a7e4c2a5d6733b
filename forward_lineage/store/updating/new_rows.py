"""Rows of a version put together: those that stay, under the numbers that they have, and those that were made again.

A row that stays is where it was: in a file that both versions have, or in a copy of its file without the rows that
went. A row that was made again takes the number of the row that it replaces, or one that no row ever had. Each file has
the rows of consecutive numbers, so that a row's number is that of its file's first row and its place in it, as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.relations import segment as segments
from forward_lineage.relations.relation import Numbers
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SavedResult, SegmentEntry
from forward_lineage.store.saving.tasks import MOST_RUNS, open_parquet, write_segment
from forward_lineage.store.updating.joining_rows import NotProvableError
from udafs.lineage_set import LineageSet

MOST_FILES = 512
"""Of the rows of a version; with more it is made anew, and they are few again."""

Pairs = tuple[Numbers, Numbers]


@dataclass(frozen=True)
class MadeAgain:
    """Rows that were made again, and which rows they replace.

    Attributes:
        rows: them, as in the files of the version before.
        lineage: table, in lower case → pairs of place in `rows` and id.
        numbers: of each the number of the row that it replaces; −1: it is a new one.
        went: numbers of all rows of the version before that are not there as they were.

    """

    rows: pa.Table
    lineage: Mapping[str, Pairs]
    numbers: Numbers
    went: LineageSet

    def numbered(self, end: int) -> Numbers:
        """Return the number that each has now, `end` being the first that no row had."""
        new = self.numbers < 0
        return np.where(new, end + np.cumsum(new) - 1, self.numbers)


@dataclass(frozen=True)
class Written:
    """The parts of a version that were written or taken over.

    Attributes:
        row_files: of its rows, in order of their numbers.
        segments: of its lineage, in each table.
        shared: paths of files that are the files of the version before.
        ids_end: the first number that no row has had.

    """

    row_files: tuple[RowFile, ...]
    segments: Mapping[str, tuple[SegmentEntry, ...]]
    shared: tuple[str, ...]
    ids_end: int


def write_new_rows(saved: SavedResult, made: MadeAgain, folder: Path) -> Written:
    """Write what is new of a version.

    Args:
        saved: the version before.
        made: the rows that were made again.
        folder: the data folder of the new version.

    Raises:
        NotProvableError: the rows would be in very many files.

    """
    files, new = _row_files(saved, made, folder)
    lineage = {table.name: tuple(_segments(saved, place, made, folder)) for place, table in enumerate(saved.tables)}
    paths = [file.path for file in files] + [entry.path for each in lineage.values() for entry in each]
    shared = [path for path in paths if not (folder / path).exists()]
    return Written(tuple(files), lineage, tuple(shared), saved.numbers_end + new)


def _row_files(saved: SavedResult, made: MadeAgain, folder: Path) -> tuple[list[RowFile], int]:
    """The files of the rows, and how many rows have new numbers."""
    end = saved.numbers_end
    numbers = made.numbered(end)
    pieces = [piece for file in saved.row_files if file.rows for piece in _pieces(file, made, numbers)]
    if len(pieces) > MOST_FILES:
        raise NotProvableError(f"its rows would be in {len(pieces):,} files")
    (folder / "rows").mkdir()
    files = [_written_piece(saved, piece, made, folder) for piece in pieces]
    new = np.flatnonzero(made.numbers < 0)
    if new.size or not files:
        files.append(_write(made.rows.take(new), end, folder))
    return files, int(new.size)


# ------------------------------------------------------------ files of rows


@dataclass(frozen=True)
class _Piece:
    """Rows of a file that stay together: the file, their first number, the number of each, and the others."""

    file: RowFile
    first: int
    rows: int
    replaced: Pairs  # place in the piece, place among the rows that were made again


def _pieces(file: RowFile, made: MadeAgain, numbers: Numbers) -> Iterator[_Piece]:
    end = file.first_row + file.rows
    went = (made.went.below(end) - made.went.below(file.first_row)).ids()
    again = np.flatnonzero((made.numbers >= file.first_row) & (made.numbers < end))
    gone = np.setdiff1d(went, numbers[again])
    starts, ends = np.append(file.first_row, gone + 1), np.append(gone, end)
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        if first < last:
            mine = again[(numbers[again] >= first) & (numbers[again] < last)]
            yield _Piece(file, first, last - first, (numbers[mine] - first, mine))


def _written_piece(saved: SavedResult, piece: _Piece, made: MadeAgain, folder: Path) -> RowFile:
    places, again = piece.replaced
    if piece.rows == piece.file.rows and not places.size:
        return piece.file
    table = pq.read_table(saved.folder / piece.file.path).slice(piece.first - piece.file.first_row, piece.rows)
    if places.size:
        taken = np.arange(piece.rows)
        taken[places] = piece.rows + again
        table = pa.concat_tables([table, made.rows.cast(table.schema)]).take(taken)
    return _write(table, piece.first, folder)


def _write(table: pa.Table, first: int, folder: Path) -> RowFile:
    path = f"rows/part-{first:019}.parquet"
    with open_parquet(folder / path, table.schema) as file:
        file.write_table(table)
    return row_file(folder, path, first, table.num_rows)


# ------------------------------------------------------------ lineage


def _segments(saved: SavedResult, place: int, made: MadeAgain, folder: Path) -> Iterator[SegmentEntry]:
    """The segments of a table: those before, without rows that went, and one of the numbers that are new."""
    table, end = saved.tables[place], saved.numbers_end
    rows, ids = made.lineage.get(table.name.lower(), (np.empty(0, np.int64), np.empty(0, np.int64)))
    pairs = made.numbered(end)[rows], ids
    suffix = f"{place}/{{:019}}-{saved.version + 1}.lineage"
    for entry in table.segments:
        behind = entry.first_row + entry.rows
        if not (made.went.below(behind) - made.went.below(entry.first_row)):
            yield entry
            continue
        relation = _read(saved, entry)
        old = relation.pairs()
        stays = ~np.isin(old[0] + entry.first_row, made.went.ids())
        mine = (pairs[0] >= entry.first_row) & (pairs[0] < behind)
        kept = np.append(old[0][stays], pairs[0][mine] - entry.first_row), np.append(old[1][stays], pairs[1][mine])
        yield from _write_segments(entry.first_row, entry.rows, kept, folder, suffix)
    new = int((made.numbers < 0).sum())
    if new:
        mine = pairs[0] >= end
        yield from _write_segments(end, new, (pairs[0][mine] - end, pairs[1][mine]), folder, suffix)


def _read(saved: SavedResult, entry: SegmentEntry) -> RunsRelation:
    claim = segments.Claim(0, entry.rows, entry.pairs)
    return RunsRelation.of(segments.read(saved.folder / entry.path, entry.checksum, claim).relation)


def _write_segments(first: int, rows: int, pairs: Pairs, folder: Path, name: str) -> Iterator[SegmentEntry]:
    for count, part in RunsRelation.from_pairs(*pairs).split(rows, MOST_RUNS):
        path = f"lineage/{name.format(first)}"
        yield write_segment(folder, path, part, first_row=first, rows=count, form="auto")
        first += count
