"""`udafs/FORMAT.md` word by word, as plain as can be: the oracle of the fast code and the source of `udafs/vectors`.

No numpy, no library, nothing shared with `udafs`. `python -m tests.udafs.reference_format` writes the vectors anew.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable

MAX_ID = 2**63 - 1
CONTAINER_ARRAY, CONTAINER_RUN, CONTAINER_BITMAP = range(3)


class MalformedError(Exception):
    """The argument is a keyword of the table in FORMAT.md."""


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


# ---------------------------------------------------------------- writers


def encode(ids: Iterable[int], setting: str) -> bytes:
    ids = sorted(set(ids))
    if setting == "auto":
        return min((encode(ids, each) for each in ("set", "bdd", "roaring")), key=lambda value: (len(value), value[0]))
    return {"set": encode_set, "bdd": encode_bdd, "roaring": encode_roaring}[setting](ids)


def encode_set(ids: list[int]) -> bytes:
    out = b"\x00" + varint(len(ids))
    previous = -1
    for row_id in ids:
        out += varint(row_id - previous - 1)
        previous = row_id
    return out


def robdd(ids: list[int], nbits: int) -> tuple[object, dict[int, set[tuple[object, object, int]]]]:
    """The root, and the nodes of each level; a node is (lo, hi, level), a sink is 0 or 1."""
    nodes: dict[int, set[tuple[object, object, int]]] = defaultdict(set)

    def make(part: list[int], bits: int) -> object:
        if not part:
            return 0
        if len(part) == 2**bits:
            return 1
        half = 1 << (bits - 1)
        lo = make([row_id for row_id in part if not row_id & half], bits - 1)
        hi = make([row_id for row_id in part if row_id & half], bits - 1)
        if lo == hi:
            return lo
        nodes[bits - 1].add((lo, hi, bits - 1))
        return lo, hi, bits - 1

    return make(ids, nbits), nodes


def encode_bdd(ids: list[int]) -> bytes:
    nbits = max(ids, default=0).bit_length()
    root, nodes = robdd(ids, nbits)
    reference: dict[object, int] = {0: 0, 1: 1}
    out = bytes([1, nbits])
    for level in range(nbits):
        base = len(reference)
        pairs = sorted((reference[lo], reference[hi], (lo, hi, level)) for lo, hi, level in nodes[level])
        out += varint(len(pairs))
        previous = 0
        for number, (lo, hi, node) in enumerate(pairs):
            out += varint(lo - previous) + varint(hi if hi < 2 else 2 + (base - 1 - hi))
            previous = lo
            reference[node] = base + number
    return out if len(reference) > 2 else out + bytes([reference[root]])


def encode_roaring(ids: list[int]) -> bytes:
    bitmaps: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row_id in ids:
        bitmaps[row_id >> 32][row_id >> 16 & 0xFFFF].append(row_id & 0xFFFF)
    out = b"\x02" + len(bitmaps).to_bytes(8, "little")
    for high, containers in bitmaps.items():
        out += high.to_bytes(4, "little") + encode_bitmap32(containers)
    return out


def runs_of(values: list[int]) -> list[list[int]]:
    """Maximal runs as [start, length − 1]."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == sum(runs[-1]) + 1:
            runs[-1][1] += 1
        else:
            runs.append([value, 0])
    return runs


def encode_container(values: list[int]) -> tuple[int, bytes]:
    runs = runs_of(values)
    bitmap = sum(1 << value for value in values)
    choices = (
        (2 * len(values), CONTAINER_ARRAY, lambda: b"".join(value.to_bytes(2, "little") for value in values)),
        (
            2 + 4 * len(runs),
            CONTAINER_RUN,
            lambda: len(runs).to_bytes(2, "little") + b"".join(n.to_bytes(2, "little") for run in runs for n in run),
        ),
        (8192, CONTAINER_BITMAP, lambda: bitmap.to_bytes(8192, "little")),
    )
    _, kind, write = min(choices, key=lambda choice: choice[:2])
    return kind, write()


def encode_bitmap32(containers: dict[int, list[int]]) -> bytes:
    bodies = {key: encode_container(values) for key, values in containers.items()}
    with_runs = any(kind == CONTAINER_RUN for kind, _ in bodies.values())
    count = len(bodies)
    if with_runs:
        flags = sum(1 << i for i, (kind, _) in enumerate(bodies.values()) if kind == CONTAINER_RUN)
        out = (12347 | (count - 1) << 16).to_bytes(4, "little") + flags.to_bytes((count + 7) // 8, "little")
    else:
        out = (12346).to_bytes(4, "little") + count.to_bytes(4, "little")
    for key, values in containers.items():
        out += key.to_bytes(2, "little") + (len(values) - 1).to_bytes(2, "little")
    if not with_runs or count >= 4:
        offset = len(out) + 4 * count
        for _, body in bodies.values():
            out += offset.to_bytes(4, "little")
            offset += len(body)
    return out + b"".join(body for _, body in bodies.values())


# ---------------------------------------------------------------- reader


class Reader:
    """The bytes of one value, read from the left."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        if count > self.left():
            raise MalformedError("truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def varint(self) -> int:
        value = 0
        for group in range(9):
            byte = self.take(1)[0]
            value |= (byte & 127) << 7 * group
            if byte < 128:
                if byte == 0 and group:
                    raise MalformedError("varint")
                return value
        raise MalformedError("varint")


def decode(data: bytes) -> list[int]:
    """The ids of a value, which must not be many."""
    if not data:
        raise MalformedError("empty")
    reader = Reader(data)
    tag = reader.number(1)
    if tag > 2:
        raise MalformedError("tag")
    ids = (decode_set, decode_bdd, decode_roaring)[tag](reader)
    if reader.left():
        raise MalformedError("trailing")
    return ids()


def decode_set(reader: Reader) -> Callable[[], list[int]]:
    count = reader.varint()
    if count > reader.left():
        raise MalformedError("truncated")
    ids = []
    previous = -1
    for _ in range(count):
        previous += reader.varint() + 1
        if previous > MAX_ID:
            raise MalformedError("range")
        ids.append(previous)
    return lambda: ids


def decode_bdd(reader: Reader) -> Callable[[], list[int]]:
    nbits = reader.number(1)
    if nbits > 63:
        raise MalformedError("nbits")
    nodes = read_nodes(reader, nbits)
    used = {child for lo, hi, _ in nodes for child in (lo, hi)}
    if any(2 + i not in used for i in range(len(nodes) - 1)):
        raise MalformedError("unused")
    if not nodes:
        root = reader.number(1)
        if root > 1:
            raise MalformedError("root")
        if root == 0 and nbits > 0:
            raise MalformedError("nbits")
    else:
        root = 1 + len(nodes)
        if nodes[-1][2] == nbits - 1 and nodes[-1][1] == 0:
            raise MalformedError("nbits")

    def ids(reference: int, bits: int) -> list[int]:
        if reference == 0:
            return []
        if bits == 0:
            return [0]
        lo = hi = reference
        if reference >= 2 and nodes[reference - 2][2] == bits - 1:
            lo, hi, _ = nodes[reference - 2]
        return ids(lo, bits - 1) + [1 << (bits - 1) | row_id for row_id in ids(hi, bits - 1)]

    return lambda: ids(root, nbits)


def read_nodes(reader: Reader, nbits: int) -> list[tuple[int, int, int]]:
    nodes: list[tuple[int, int, int]] = []
    for level in range(nbits):
        base = 2 + len(nodes)
        lo, before = 0, (-1, -1)
        count = reader.varint()
        if 2 * count > reader.left():
            raise MalformedError("truncated")
        for _ in range(count):
            lo += reader.varint()
            hi = reader.varint()
            if hi >= 2:
                hi = base - 1 - (hi - 2)
                if hi < 2:
                    raise MalformedError("reference")
            if lo >= base:
                raise MalformedError("reference")
            if lo == hi:
                raise MalformedError("redundant")
            if (lo, hi) <= before:
                raise MalformedError("order")
            before = (lo, hi)
            nodes.append((lo, hi, level))
    return nodes


def decode_roaring(reader: Reader) -> Callable[[], list[int]]:
    ids: list[int] = []
    last = -1
    for _ in range(reader.number(8)):
        high = reader.number(4)
        if high >= 2**31:
            raise MalformedError("range")
        if high <= last:
            raise MalformedError("roaring")
        last = high
        ids += [high << 32 | value for value in decode_bitmap32(reader)]
    return lambda: ids


def decode_bitmap32(reader: Reader) -> list[int]:
    start = reader.at
    cookie = reader.number(4)
    if cookie & 0xFFFF == 12347:
        count = (cookie >> 16) + 1
        flags = reader.number((count + 7) // 8)
    elif cookie == 12346:
        count = reader.number(4)
        flags = 0
    else:
        raise MalformedError("roaring")
    if count > 65536:
        raise MalformedError("roaring")
    heads = [(reader.number(2), reader.number(2) + 1) for _ in range(count)]
    if any(second <= first for (first, _), (second, _) in itertools.pairwise(heads)):
        raise MalformedError("roaring")
    has_offsets = cookie == 12346 or count >= 4
    offsets = [reader.number(4) for _ in range(count)] if has_offsets else []
    values: list[int] = []
    for i, (key, cardinality) in enumerate(heads):
        if offsets and offsets[i] != reader.at - start:
            raise MalformedError("roaring")
        values += [key << 16 | low for low in decode_container(reader, cardinality, bool(flags >> i & 1))]
    return values


def decode_container(reader: Reader, cardinality: int, is_run: bool) -> list[int]:
    if is_run:
        values = []
        for _ in range(reader.number(2)):
            first, more = reader.number(2), reader.number(2)
            if first + more > 65535 or (values and first <= values[-1]):
                raise MalformedError("roaring")
            values += range(first, first + more + 1)
    elif cardinality <= 4096:
        values = [reader.number(2) for _ in range(cardinality)]
        if any(second <= first for first, second in itertools.pairwise(values)):
            raise MalformedError("roaring")
    else:
        bitmap = reader.number(8192)
        values = [value for value in range(65536) if bitmap >> value & 1]
    if len(values) != cardinality:
        raise MalformedError("roaring")
    return values
