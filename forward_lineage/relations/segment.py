"""A segment: the lineage relation of a range of a result's rows, one immutable file.

    magic "FLSEG", version 2, form, crc32 of what follows (4 bytes, little-endian), then
    varints first row and number of rows, then the columns of the form

Forms are append-only: `runs` are shared runs of ids, `bdd` is a roBDD's node table, which is written where it is far
smaller. Row numbers inside are relative to the first row. The checksum is looked at before anything else.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.columns import MOST_NUMBERS, Reader, Writer
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation
from udafs import robdd_build, robdd_bytes
from udafs.errors import CorruptLineageError, DamagedError, LineageError
from udafs.lineage_set import LineageSet

Form = Literal["auto", "bdd", "runs"]

MAGIC = b"FLSEG"
VERSION = 2
BDD, RUNS = 1, 2
_HEADER = len(MAGIC) + 2 + 4

#: Beyond this many pairs no BDD is tried: building it could take longer than saving the result.
_MOST_PAIRS = 1 << 22
#: A node takes 1.5 to 2 bytes unless the lineage is very regular, so a BDD of many more nodes than a third of the bytes
#: would win little or nothing; a BDD of few nodes is tried in any case.
_CHEAP = 20_000


class CorruptSegmentError(DamagedError):
    """A file of the lineage store that is damaged or missing; the message names it."""


@dataclass(frozen=True)
class Segment:
    """The lineage of the rows first_row … first_row + rows − 1 of a result.

    Attributes:
        first_row: number of the first row in the result.
        rows: how many rows the segment answers for, rows without lineage included.
        relation: its pairs; row numbers are relative to `first_row`.

    """

    first_row: int
    rows: int
    relation: LineageRelation

    def backward(self, rows: LineageSet) -> LineageSet:
        """The base ids of any of the result's rows, as far as they are in this segment."""
        mine = rows.below(self.first_row + self.rows) - rows.below(self.first_row)
        return self.relation.backward(LineageSet(mine.ids() - self.first_row))

    def forward(self, ids: LineageSet) -> LineageSet:
        """The result's rows of any of the ids, as far as they are in this segment."""
        return LineageSet(self.relation.forward(ids).ids() + self.first_row)

    @property
    def form(self) -> str:
        """`bdd` or `runs`."""
        return "bdd" if isinstance(self.relation, BddRelation) else "runs"


def encode(segment: Segment, form: Form = "auto") -> bytes:
    """The bytes of a segment, the same for equal relations.

    Args:
        segment: any.
        form: `auto` for runs unless a BDD has so few nodes that it must be smaller.

    Raises:
        LineageError: a row lies outside the segment.

    """
    rows = segment.relation.rows()
    if rows and rows != rows.below(segment.rows):
        raise LineageError(f"a row number outside the {segment.rows} rows of a segment")
    if form == "bdd":
        return _sealed(BDD, segment, _bdd_columns(BddRelation.of(segment.relation)))
    relation = _as_runs(segment.relation)
    runs = _runs_columns(relation)
    if form == "auto" and len(relation) <= _MOST_PAIRS:
        bdd = _smaller_bdd(relation, len(runs))
        if bdd is not None:
            return _sealed(BDD, segment, bdd)
    return _sealed(RUNS, segment, runs)


def decode(data: bytes, name: str = "a segment") -> Segment:
    """The segment of some bytes.

    Raises:
        CorruptSegmentError: not the bytes of a segment, or damaged; the message begins with `name`.

    """
    if data[: len(MAGIC)] != MAGIC or len(data) < _HEADER:
        raise _corrupt(name, "is not a segment of the lineage store, or is cut short")
    version, form = data[len(MAGIC)], data[len(MAGIC) + 1]
    if version != VERSION or form not in (BDD, RUNS):
        raise _corrupt(name, f"has version {version}, form {form}, which this version does not know")
    body = data[_HEADER:]
    if zlib.crc32(body) != checksum(data):
        raise _corrupt(name, "is damaged or cut short: its checksum is wrong")
    reader = Reader(body)
    try:
        first_row, rows = reader.number(), reader.number()
        relation = _read_bdd(reader) if form == BDD else _read_runs(reader)
        reader.end()
    except (ValueError, IndexError, OSError, CorruptLineageError) as error:
        raise _corrupt(name, f"is damaged: {error}") from error
    return Segment(first_row, rows, relation)


def write(path: Path, segment: Segment, form: Form = "auto") -> int:
    """Write a segment's file, whole or not at all; returns how many bytes it has."""
    return len(write_encoded(path, segment, form)[0])


def write_encoded(path: Path, segment: Segment, form: Form = "auto") -> tuple[bytes, str]:
    """Write a segment's file, whole or not at all; returns what it holds, and its form (`runs` or `bdd`)."""
    data = encode(segment, form)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return data, "bdd" if data[len(MAGIC) + 1] == BDD else "runs"


def read(path: Path, expected: int | None = None) -> Segment:
    """Read a segment's file.

    Args:
        path: the file.
        expected: the checksum that it must have, when somebody noted it.

    Raises:
        CorruptSegmentError: it is missing, cannot be read, is damaged, or is another segment than expected; the message
            names it.

    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _corrupt(str(path), f"cannot be read ({error.strerror})") from error
    segment = decode(data, str(path))
    if expected is not None and checksum(data) != expected:
        raise _corrupt(str(path), "is not the segment that the manifest names: its checksum is another one")
    return segment


def checksum(data: bytes) -> int:
    """The checksum that the bytes of a segment carry: CRC-32 of all that follows it."""
    return int.from_bytes(data[_HEADER - 4 : _HEADER], "little")


def _corrupt(name: str, fault: str) -> CorruptSegmentError:
    return CorruptSegmentError(f"{name} {fault}", instead="Other results are not affected; save this one again.")


def _sealed(form: int, segment: Segment, columns: bytes) -> bytes:
    head = Writer()
    head.number(segment.first_row)
    head.number(segment.rows)
    body = head.bytes() + columns
    return MAGIC + bytes([VERSION, form]) + zlib.crc32(body).to_bytes(4, "little") + body


# ---------------------------------------------------------------- form: bdd


def _bdd_columns(relation: BddRelation) -> bytes:
    writer = Writer()
    for number in (relation.row_bits, relation.id_bits, relation.table.root if not relation.table.nodes else 0):
        writer.number(number)
    for column in robdd_bytes.columns(relation.table):  # the nodes of each level, then two numbers a node
        writer.column(column)
    return writer.bytes()


def _read_bdd(reader: Reader) -> BddRelation:
    row_bits, id_bits, root = reader.number(), reader.number(), reader.number()
    count = reader.column(row_bits + id_bits)
    lo, hi = (reader.column(_total(count)).astype(np.uint64) for _ in range(2))
    return BddRelation(robdd_bytes.from_columns(count.astype(np.uint64), lo, hi, root), row_bits, id_bits)


def _smaller_bdd(relation: RunsRelation, size: int) -> bytes | None:
    """The columns of the relation's BDD if they take less than `size` bytes."""
    rows, ids = relation.pairs()
    row_bits, id_bits = (int(side.max(initial=0)).bit_length() for side in (rows, ids))
    upper, lower = rows.view(np.uint64), ids.view(np.uint64)
    try:
        table = robdd_build.from_pairs(upper, lower, row_bits, id_bits, at_most=_CHEAP + size // 3)
    except robdd_build.TooManyNodesError:
        return None
    columns = _bdd_columns(BddRelation(table, row_bits, id_bits))
    return columns if len(columns) < size else None


# ---------------------------------------------------------------- form: runs

_MAX = 2**63 - 1


def _as_runs(relation: LineageRelation) -> RunsRelation:
    return relation if isinstance(relation, RunsRelation) else RunsRelation.from_pairs(*relation.pairs())


def _runs_columns(relation: RunsRelation) -> bytes:
    count = np.diff(relation.set_starts)
    opens = np.zeros(relation.first.size, bool)
    opens[relation.set_starts[:-1]] = True
    gap = (relation.first[1:] - relation.last[:-1])[~opens[1:]]
    known = np.maximum.accumulate(np.append(-1, relation.set_of_row))[:-1] + 1
    writer = Writer()
    writer.number(relation.row.size)
    writer.column(np.diff(relation.row, prepend=-1) - 1)
    writer.column(known - relation.set_of_row)  # 0 where the row's set is a new one
    writer.column(count - 1)
    writer.column(_zigzag(np.diff(relation.first[opens], prepend=0)))
    writer.column(gap - 2)
    writer.column(relation.last - relation.first)
    return writer.bytes()


def _zigzag(step: Numbers) -> Numbers:
    """Steps between numbers below 2^63, modulo 2^63, as numbers below 2^63 that are small for either sign."""
    centred = (step + (1 << 62) & _MAX) - (1 << 62)
    return centred << 1 ^ centred >> 63


def _read_runs(reader: Reader) -> RunsRelation:
    rows = reader.number()
    row_gap, back = reader.column(rows), reader.column(rows)
    more = reader.column(int((back == 0).sum()))  # than one run, each set
    runs, count = _total(more) + more.size, more + 1
    step, gap, length = reader.column(count.size), reader.column(runs - count.size), reader.column(runs)
    row = np.cumsum(row_gap + 1) - 1
    set_of_row = np.cumsum(back == 0) - back
    set_of_row[back == 0] -= 1
    if rows and set_of_row.min() < 0:
        raise ValueError("a row without a set")
    set_starts = np.append(0, np.cumsum(count))
    opens = np.zeros(runs, bool)
    opens[set_starts[:-1]] = True
    # Within a set a run begins its gap behind the end of the one before; each set begins at its own id.
    begin = np.zeros(runs, np.int64)
    begin[~opens] = gap + 2
    begin[1:] += np.where(opens[1:], 0, length[:-1])
    opening = np.cumsum(step >> 1 ^ -(step & 1)) & _MAX
    total = np.cumsum(begin)
    first = total - np.repeat(total[set_starts[:-1]] - opening, count)
    return RunsRelation(row, set_of_row, set_starts, first, first + length)


def _total(count: Numbers) -> int:
    """The sum of a column, which is the size of another: one that damaged bytes cannot make overflow."""
    if int(count.max(initial=0)) > MOST_NUMBERS:
        raise ValueError(f"{count.max()} numbers announced, a segment has at most {MOST_NUMBERS}")
    return int(count.sum())
