"""What is spoilt: where valid ones come from, how they are spoilt under a right checksum, what a reader must give."""

from __future__ import annotations

import json
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from forward_lineage.relations import segment as segments
from forward_lineage.relations.columns import Reader, Writer
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Claim
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.registration_store import REGISTRATION
from forward_lineage.storage.sealed import seal
from forward_lineage.store.library.library import Library
from tests.conftest import REPOSITORY
from tests.mutations.spoiling import EXTREMES, parts, spoilt, spoilt_json, varint
from udafs.errors import DamagedError, SetupError
from udafs.lineage_set import LineageSet

REFUSED = "refused"
#: Sets up to this size are compared id by id between the languages, larger ones by their size.
COMPARED = 1 << 16
_HOME = REPOSITORY / "tests" / "forward_lineage" / "storage" / "format_1"
_VECTORS = REPOSITORY / "udafs" / "vectors"
_SEGMENTS = REPOSITORY / "tests" / "forward_lineage" / "relations" / "vectors"


class Kind(ABC):
    """One kind of bytes.

    Attributes:
        kernel: what the kernel calls them, if it reads them as well.
        seeds: valid ones.

    """

    kernel: str | None = None
    seeds: Sequence[bytes]

    @abstractmethod
    def spoilt(self, dice: Random) -> bytes:
        """Return bytes that are one of the seeds, changed."""

    @abstractmethod
    def judged(self, data: bytes) -> str:
        """Return `REFUSED`, or what was read, as the kernel says it; raises whatever is not an error of ours.

        What is read is well-formed: AssertionError if not.
        """

    def for_the_kernel(self, data: bytes) -> bytes:
        """Return what the kernel is given of them."""
        return data


class LineageValues(Kind):
    """Values of a column of lineage, see udafs/FORMAT.md."""

    kernel = "values"

    def __init__(self) -> None:
        found = [
            vector.get(name)
            for file in ("sets", "readable", "malformed")
            for vector in json.loads((_VECTORS / f"{file}.json").read_text())["vectors"]
            for name in ("hex", "auto", "set", "bdd", "roaring")
        ]
        seeds = {bytes.fromhex(each) for each in found if each and len(each) < 4000}
        dice = Random(1)
        for spread in (64, 2**10, 2**18, 2**40):
            for size in (3, 20, 60):
                made = LineageSet(sorted({dice.randrange(spread) for _ in range(size)}))
                seeds |= {made.to_bytes(each) for each in ("set", "bdd", "roaring")}
        self.seeds = sorted(seeds)

    def spoilt(self, dice: Random) -> bytes:
        return spoilt(dice.choice(self.seeds), dice, self.seeds)

    def judged(self, data: bytes) -> str:
        try:
            found = LineageSet.from_bytes(data)
        except DamagedError:
            return REFUSED
        if data[0] < 2:  # there is one way only to write a set so
            assert found.to_bytes("bdd" if data[0] else "set") == data
        if found.cardinality > COMPARED:
            return "large" if found.cardinality > 2**63 - 1 else f"{found.cardinality}"
        ids = found.ids()
        assert not (ids[:1] < 0).any() and (ids[1:] > ids[:-1]).all()
        return f"{ids.size} {zlib.crc32(ids.astype('<i8').tobytes())}"


class Segments(Kind):
    """Segment files, read as the store reads them, which knows from the manifest how many rows and pairs there are."""

    def __init__(self) -> None:
        files = sorted(_SEGMENTS.glob("*.lineage"))
        self.seeds = [data for data in map(Path.read_bytes, files) if 11 < len(data) < 4000]
        self._claims = {data: _claim(data) or Claim(0, 3, 5) for data in self.seeds}

    def spoilt(self, dice: Random) -> bytes:
        """The claim stands in front: five varints, as this test writes them, 0 for what is not known, else one more."""
        data = dice.choice(self.seeds)
        claim = self._claims[data]
        match dice.randrange(8):
            case 0:
                data = spoilt(data, dice, self.seeds)
            case 1 | 2:
                data, claim = _columns_of_anything(dice)
            case _:
                body = spoilt(data[11:], dice, [each[11:] for each in self.seeds])
                data = _sealed(data[6] if dice.randrange(20) else dice.randrange(4), body)
        match dice.randrange(6):
            case 0:  # the manifest may have been spoilt, too
                bounds = dice.choice(((None, None), (0, 0), (0, 5), (3, 2), (2, 2**63 - 1)))
                claim = Claim(claim.first_row, claim.rows, dice.choice((0, 1, 2, 5, 100, 10_000)), *bounds)
            case 1 | 2 | 3:  # or say what the file says
                claim = _claim(data) or claim
        return b"".join(varint(0 if each is None else each + 1) for each in claim) + data

    def judged(self, data: bytes) -> str:
        numbers, at = [], 0
        for _ in Claim._fields:
            number = shift = 0
            while True:
                number |= (data[at] & 127) << shift
                at, shift = at + 1, shift + 7
                if data[at - 1] < 128:
                    break
            numbers.append(number - 1 if number else None)
        claim = Claim(*numbers)
        try:
            found = segments.decode(data[at:], "x", claim)
        except DamagedError:
            return REFUSED
        assert found.relation.cardinality == claim.pairs
        if claim.pairs > COMPARED:
            return "large"
        rows, ids = found.pairs()
        assert rows.size == claim.pairs and found.first_row == claim.first_row and found.rows == claim.rows
        assert rows.size == 0 or (claim.first_row <= rows[0] and rows[-1] < claim.first_row + claim.rows)
        if claim.first_id is not None and isinstance(found.relation, RunsRelation):
            assert (ids.min(), ids.max()) == (claim.first_id, claim.last_id)
        assert ((rows[1:] > rows[:-1]) | (rows[1:] == rows[:-1]) & (ids[1:] > ids[:-1])).all() and (ids >= 0).all()
        assert found.backward(LineageSet(rows)) == LineageSet(ids) and found.forward(LineageSet(ids)) == LineageSet(
            rows
        )
        return f"{rows.size}"


def _claim(data: bytes) -> Claim | None:
    """What a file says of itself; nothing of one that no reader takes, or that could be a bomb."""
    try:
        reader = Reader(data[11:])
        reader.most_numbers = COMPARED
        found = segments._decode_body(reader, segments._STORED[segments._NAMES[data[6]]], None)
    except (DamagedError, ValueError, IndexError, OSError, KeyError):
        return None
    known = found.relation.id_range if isinstance(found.relation, RunsRelation) else None
    return Claim(found.first_row, found.rows, found.relation.cardinality, *(known or (None, None)))


def _sealed(form: int, body: bytes) -> bytes:
    return segments.MAGIC + bytes([segments.VERSION, form]) + zlib.crc32(body).to_bytes(4, "little") + body


def _columns_of_anything(dice: Random) -> tuple[bytes, Claim]:
    """Columns of the right lengths whose numbers are anything: what only the meaning of the numbers forbids."""
    claim = Claim(0, dice.choice((3, 2**63 - 1)), dice.choice((1, 2, 3, 4, 5, 8, 10_000)))

    def some(size: int, most: int = 3) -> Any:
        pool = [*range(most), *(dice.choice(EXTREMES[:-1]) for _ in range(dice.choice((0, 0, 1, 3))))]
        return np.array([dice.choice(pool) for _ in range(size)], np.int64)

    writer = Writer()
    writer.number(claim.first_row)
    writer.number(claim.rows)
    if dice.randrange(3):
        rows = dice.randrange(4)
        back = np.array([dice.choice((0, 0, 1, 2)) for _ in range(rows)], np.int64)
        more = some(int((back == 0).sum()))
        more = np.minimum(more, 3) if dice.randrange(4) else more
        runs = min(int(np.minimum(more, 9).sum()) + more.size, 99)
        writer.number(rows)
        for column in (some(rows), back, more, some(more.size), some(runs - more.size), some(runs)):
            writer.column(column)
        return _sealed(2, writer.bytes()), claim
    row_bits, id_bits = dice.choice((0, 1, 2, 63)), dice.choice((0, 1, 2, 63))
    for number in (row_bits, id_bits, dice.choice((0, 1, 2))):
        writer.number(number)
    count = np.array([dice.choice((0, 0, 1, 1, 2)) for _ in range(row_bits + id_bits)], np.int64)
    for column in (count, some(int(count.sum())), some(int(count.sum()), 5)):
        writer.column(column)
    return _sealed(1, writer.bytes()), claim


class Manifests(Kind):
    """Manifests of either format, under a right checksum more often than not.

    In front of the bytes stand the name and the number of the version, each with a NUL behind it.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._read = [(file.parent.name, file.stem, file.read_text()) for file in files]
        read = [json.loads(text) for *_, text in self._read]
        self.seeds = [seal({key: each[key] for key in each if key not in ("format", "checksum")}) for each in read]
        self._parts = parts(read)

    def spoilt(self, dice: Random) -> bytes:
        which = dice.randrange(len(self._read))
        name, number, text = self._read[which]
        if dice.randrange(50) == 0:
            name = dice.choice(self._read)[0]
        match dice.randrange(6):
            case 0:
                data = spoilt(self.seeds[which], dice, self.seeds)
            case 1:
                data = _sealed_text(spoilt(self.seeds[which].rpartition(b',\n "checksum"')[0], dice, self.seeds))
            case _:
                data = _written(spoilt_json(json.loads(text), dice, self._parts), dice)
        return f"{name}\0{number}\0".encode() + data

    def for_the_kernel(self, data: bytes) -> bytes:
        return data.split(b"\0", 2)[2]

    def _manifest(self, kind: Any, data: bytes) -> Any:
        """What is read; None when it was refused."""
        name, number, data = data.split(b"\0", 2)
        try:
            return kind.of_bytes(data, name.decode(), int(number), "x")
        except (DamagedError, SetupError):
            return None


def _sealed_text(body: bytes) -> bytes:
    return body + b',\n "checksum": %d\n}\n' % zlib.crc32(body)


def _written(value: Any, dice: Random) -> bytes:
    """As format 1, which has a checksum in its fields if at all, or sealed as format 2."""
    if not isinstance(value, dict) or len(value) < 2:
        return json.dumps(value).encode()
    rest = {key: each for key, each in value.items() if key != "checksum"}
    if dice.randrange(3) == 0:
        if "checksum" in value:
            rest["checksum"] = zlib.crc32(json.dumps(rest, sort_keys=True).encode())
        return json.dumps(rest, indent=1).encode()
    if dice.randrange(10):
        rest["format"] = 2
    return _sealed_text(json.dumps(rest, indent=1).removesuffix("\n}").encode())


class Registrations(Manifests):
    """What registering a table writes; the kernel reads the files and the ids of their rows."""

    kernel = "manifests"

    def __init__(self) -> None:
        super().__init__(sorted(_HOME.glob("tables/*/*.json")))

    def judged(self, data: bytes) -> str:
        found = self._manifest(REGISTRATION, data)
        if found is None:
            return REFUSED
        again = REGISTRATION.of_bytes(seal(found.to_data()), data.split(b"\0", 1)[0].decode(), found.version, "x")
        assert again == found
        if not (found.provider.by_position or found.provider is Provider.DICTIONARY):
            return "not for the kernel"
        given = sorted((file.offset, file.offset + file.rows) for file in found.files if file.rows)
        assert all(one[1] <= other[0] for one, other in pairwise(given)) and all(
            end <= found.next_id for _, end in given
        )
        # The kernel's clock counts milliseconds, and Java cuts towards zero.
        numbers = [(file.size, int(Fraction(file.modified, 10**6)), file.offset) for file in found.files]
        return f"{len(numbers)} {zlib.crc32(b''.join(struct.pack('<qqq', *each) for each in numbers))}"


class Results(Manifests):
    """What saving a result writes."""

    def __init__(self) -> None:
        super().__init__(sorted(_HOME.glob("results/*/*.json")))
        self._kind = Library(Path("/home/results"))._versions.kind

    def judged(self, data: bytes) -> str:
        found = self._manifest(self._kind, data)
        if found is None:
            return REFUSED if data.count(b"dropped") < 2 else "dropped"
        again = self._kind.of_bytes(seal(found.to_data()), found.name.lower(), found.version, "x")
        assert again == found
        own = [found.data, *(file.path for file in found.row_files)]
        own += [each.path for table in found.tables for each in (*table.segments, *table.dictionary_files)]
        assert not any(each.startswith("/") or ".." in each.split("/") for each in own)
        for table in found.tables:
            assert sum(each.rows for each in table.segments) == found.rows
            assert (table.registration() is None) == table.is_result
        return "read"


KINDS: dict[str, Callable[[], Kind]] = {
    "values": LineageValues,
    "segments": Segments,
    "registrations": Registrations,
    "results": Results,
}
