"""A segment: the lineage relation of a range of a result's rows, one immutable file.

    magic "FLSEG", version 2, form, crc32 of what follows (4 bytes, little-endian), then
    varints first row and number of rows, then the columns of the form

Row numbers inside are relative to the first row. The checksum is looked at before anything else. docs/relations.md has
the format byte by byte; tests/forward_lineage/relations/vectors has files that every reader must read.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from forward_lineage.relations import bdd_bytes, boxes_bytes, gather_bytes, runs_bytes
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.columns import Reader, Writer
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.relation import LineageRelation, Numbers
from forward_lineage.relations.runs import RunsRelation
from udafs.delta import MAX_ID
from udafs.errors import CorruptLineageError, DamagedError, InternalError
from udafs.lineage_set import LISTABLE, LineageSet

Form = Literal["auto", "bdd", "runs", "boxes", "gather"]

MAGIC = b"FLSEG"
VERSION = 2
_HEADER = len(MAGIC) + 2 + 4


class _Stored(NamedTuple):
    """How a form is written: its number, which is never given a second meaning, and its columns."""

    tag: int
    encode: Callable[[LineageRelation], bytes]
    decode: Callable[[Reader, int, int | None], BddRelation | RunsRelation | BoxRelation | GatherRelation]


_STORED = {
    "bdd": _Stored(1, bdd_bytes.encode, bdd_bytes.decode),
    "runs": _Stored(2, runs_bytes.encode, runs_bytes.decode),
    "boxes": _Stored(3, boxes_bytes.encode, boxes_bytes.decode),
    "gather": _Stored(4, gather_bytes.encode, gather_bytes.decode),
}
_NAMES = {stored.tag: name for name, stored in _STORED.items()}


class CorruptSegmentError(DamagedError):
    """A file of the lineage store that is damaged or missing; the message names it."""

    remedy = "Other results are not affected; save this one again."


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

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays of the relation take in memory; what a BDD manager holds is bounded apart."""
        held = self.relation.table if isinstance(self.relation, BddRelation) else self.relation
        columns = (each if isinstance(each, tuple) else (each,) for each in vars(held).values())
        return sum(each.nbytes for column in columns for each in column if isinstance(each, np.ndarray))

    def backward(self, rows: LineageSet) -> LineageSet:
        """The base ids of any of the result's rows that are in this segment."""
        return self.relation.backward(self._inside(rows))

    def forward(self, ids: LineageSet) -> LineageSet:
        """The result's rows of any of the ids that are in this segment."""
        return LineageSet(self.relation.forward(ids).ids() + self.first_row)

    def restrict(self, *, rows: LineageSet | None = None, ids: LineageSet | None = None) -> Segment:
        """The segment of the pairs whose row is one of the result's `rows` and whose id is one of `ids`."""
        mine = None if rows is None else self._inside(rows)
        return replace(self, relation=self.relation.restrict(rows=mine, ids=ids))

    def pairs(self) -> tuple[Numbers, Numbers]:
        """All pairs, sorted by (row, id), rows being those of the result."""
        rows, ids = self.relation.pairs()
        return rows + self.first_row, ids

    def _inside(self, rows: LineageSet) -> LineageSet:
        """Those of the result's rows that are in this segment, as it numbers them."""
        mine = rows.below(self.first_row + self.rows) - rows.below(self.first_row)
        if mine.cardinality > LISTABLE:  # then those that have an id are fewer
            mine = mine & LineageSet(self.relation.rows().ids() + self.first_row)
        return LineageSet(mine.ids() - self.first_row)


def encode(segment: Segment, form: Form = "auto") -> bytes:
    """The bytes of a segment, the same for equal relations.

    Args:
        segment: any.
        form: `auto` for the smaller of what costs little to try. Boxes and gathers stay what they are, unless boxes
            are about as many as their pairs, and runs smaller; of others runs, unless a BDD has so few nodes that it
            must be smaller. `boxes` takes any relation, `gather` those of one input cell for each output cell.

    Raises:
        InternalError: a row lies outside the segment.
        NotTracedError: a column has more numbers than a segment can hold.
        BadArgumentError: the relation is none of that form.

    """
    if not _fits(segment):
        raise InternalError(f"a row number outside the {segment.rows} rows of a segment")
    if form != "auto":
        return _sealed(form, segment, _STORED[form].encode(segment.relation))
    name, columns = _smallest(segment.relation)
    return _sealed(name, segment, columns)


def _smallest(relation: LineageRelation) -> tuple[str, bytes]:
    """The form that takes the fewest bytes of those that it costs little to try, and the bytes."""
    if isinstance(relation, BoxRelation | GatherRelation) and boxes_bytes.can_hold(relation):
        name = "boxes" if isinstance(relation, BoxRelation) else "gather"
        columns = _STORED[name].encode(relation)
        if not isinstance(relation, BoxRelation) or not boxes_bytes.has_few_pairs(relation):
            return name, columns
        runs = runs_bytes.encode(relation)
        return (name, columns) if len(columns) <= len(runs) else ("runs", runs)
    listed = RunsRelation.of(relation)
    runs = runs_bytes.encode(listed)
    bdd = bdd_bytes.smaller(listed, len(runs))
    return ("runs", runs) if bdd is None else ("bdd", bdd)


def _fits(segment: Segment) -> bool:
    """Whether all rows are the segment's; of what can be asked for its last row without listing any."""
    relation = segment.relation
    if isinstance(relation, BoxRelation | GatherRelation | RunsRelation | BddRelation):
        return relation.last_row() < segment.rows
    rows = relation.rows()
    return not rows or rows == rows.below(segment.rows)


class Claim(NamedTuple):
    """The facts about a segment before it is read: a file that says something else is refused unread.

    A few bytes can stand for billions of rows. So no column is unpacked that is longer than these numbers allow.

    Attributes:
        first_row: as the file says it.
        rows: how many rows it answers for.
        pairs: how many (row, id) pairs it holds; None when that is not known.
        first_id: the first id, of runs; None when that is not known.
        last_id: the last one.

    """

    first_row: int
    rows: int
    pairs: int | None = None
    first_id: int | None = None
    last_id: int | None = None


def decode(data: bytes, name: str = "a segment", claim: Claim | None = None) -> Segment:
    """The segment of some bytes.

    Args:
        data: the bytes.
        name: what messages call it.
        claim: what it must be, when that is known.

    Raises:
        CorruptSegmentError: not the bytes of a segment, or damaged, or another one than was claimed; the message begins
            with `name`.

    """
    if data[: len(MAGIC)] != MAGIC or len(data) < _HEADER:
        raise _corrupt(name, "is not a segment of the lineage store, or is cut short")
    version, form = data[len(MAGIC)], data[len(MAGIC) + 1]
    if version != VERSION or form not in _NAMES:
        raise _corrupt(name, f"has version {version}, form {form}, which this version does not know")
    body = data[_HEADER:]
    if zlib.crc32(body) != checksum(data):
        raise _corrupt(name, "is damaged or cut short: its checksum is wrong")
    try:
        return _decode_body(Reader(body), _STORED[_NAMES[form]], claim)
    except (ValueError, IndexError, OSError, CorruptLineageError) as error:
        raise _corrupt(name, f"is damaged: {error}") from error


def _decode_body(reader: Reader, form: _Stored, claim: Claim | None) -> Segment:
    first_row, rows = reader.number(), reader.number()
    if claim is not None and (first_row, rows) != claim[:2]:
        raise ValueError(f"it has rows {first_row} + {rows}, the manifest says {claim.first_row} + {claim.rows}")
    relation = form.decode(reader, rows, None if claim is None else claim.pairs)
    reader.end()
    # Where nothing is claimed, nothing is counted: a few boxes may hold more pairs than can be.
    if claim is not None and claim.pairs is not None and claim.pairs != relation.cardinality:
        raise ValueError(f"it has {relation.cardinality} pairs, the manifest says {claim.pairs}")
    if claim is not None and claim.first_id is not None and isinstance(relation, RunsRelation):
        found = relation.id_range
        if found != (claim.first_id, claim.last_id):
            raise ValueError(f"its ids are {found}, the manifest says {claim.first_id} to {claim.last_id}")
    last = relation.last_row()
    if last >= rows or first_row + last > MAX_ID:
        raise ValueError(f"row {last} of a segment of {rows} rows from row {first_row}")
    return Segment(first_row, rows, relation)


def write_encoded(path: Path, segment: Segment, form: Form = "auto", *, to_disk: bool = True) -> tuple[bytes, str]:
    """Write a segment's file, whole or not at all; returns what it holds, and its form.

    Args:
        path: the file.
        segment: any.
        form: see `encode`.
        to_disk: False for a file that is read once, soon, and need not outlive the machine.

    """
    data = encode(segment, form)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        if to_disk:
            os.fsync(file.fileno())
    partial.replace(path)
    return data, _NAMES[data[len(MAGIC) + 1]]


def bytes_of(path: Path, size: int | None = None) -> bytes:
    """The bytes of a file; its size does not matter."""
    return path.read_bytes()


def read(
    path: Path,
    expected: int | None = None,
    claim: Claim | None = None,
    read_bytes: Callable[[Path], bytes] = bytes_of,
) -> Segment:
    """Read a segment's file.

    Args:
        path: the file.
        expected: the checksum that it must have, when somebody noted it.
        claim: what else it must be, when that is known.
        read_bytes: gives the bytes; raises an OSError, or an error that says what is wrong itself.

    Raises:
        CorruptSegmentError: it is missing, cannot be read, is damaged, or is another segment than expected; the message
            names it.

    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise _corrupt(str(path), f"cannot be read ({error.strerror})") from error
    if expected is not None and data[: len(MAGIC)] == MAGIC and checksum(data) != expected:
        raise _corrupt(str(path), "is not the segment that the manifest names: its checksum is another one")
    return decode(data, str(path), claim)


def checksum(data: bytes) -> int:
    """The checksum that the bytes of a segment carry: CRC-32 of all that follows it."""
    return int.from_bytes(data[_HEADER - 4 : _HEADER], "little")


def _corrupt(name: str, fault: str) -> CorruptSegmentError:
    return CorruptSegmentError(f"{name} {fault}")


def _sealed(form: str, segment: Segment, columns: bytes) -> bytes:
    head = Writer()
    head.number(segment.first_row)
    head.number(segment.rows)
    body = head.bytes() + columns
    return MAGIC + bytes([VERSION, _STORED[form].tag]) + zlib.crc32(body).to_bytes(4, "little") + body
