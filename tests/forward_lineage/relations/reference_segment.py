"""A segment file read by docs/relations.md and nothing else: plain Python, number by number, no code of the project."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Iterator

import pyarrow as pa

Node = tuple[int, int, int]  # level, lo, hi


class RefusedError(Exception):
    """The bytes are not a segment; the message is the fault that docs/relations.md lists."""


def check(condition: bool, fault: str) -> None:
    if not condition:
        raise RefusedError(fault)


class Body:
    """What follows the checksum, read from front to end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        check(count <= len(self.data) - self.at, "cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = 0
        for group in range(9):
            byte = self.take(1)[0]
            value |= (byte & 127) << 7 * group
            if byte < 128:
                check(byte > 0 or group == 0, "varint")
                return value
        raise RefusedError("varint")

    def column(self, size: int) -> list[int]:
        check(size <= 1 << 27, "too many numbers")
        if not size:
            return []
        way, width = divmod(self.take(1)[0], 16)
        check((way == 0 and width <= 8) or (way in (1, 2) and width == 0), "column")
        if way == 1:
            return [self.varint() for _ in range(size)]
        if way == 2:
            length, packed = self.varint(), self.varint()
            check(length <= 9 * size, "column")
            inner = Body(unpacked(self.take(packed), length))
            numbers = [inner.varint() for _ in range(size)]
            check(inner.at == length, "column")
            return numbers
        planes = [self.plane(size) for _ in range(width)]
        return [sum(plane[i] << 8 * place for place, plane in enumerate(planes)) for i in range(size)]

    def plane(self, size: int) -> bytes:
        packed = self.varint()
        data = self.take(packed)
        return data if packed == size else unpacked(data, size)


def unpacked(data: bytes, size: int) -> bytes:
    try:
        found: bytes = pa.Codec("zstd").decompress(data, size, asbytes=True)
    except (OSError, ValueError) as error:
        raise RefusedError("column") from error
    check(len(found) == size, "column")
    return found


def read(data: bytes) -> tuple[int, int, list[tuple[int, int]]]:
    """First row, number of rows, and the pairs, sorted; rows count from the first row."""
    check(data[:5] == b"FLSEG" and len(data) >= 11, "magic")
    check(data[5] == 2, "version")
    check(data[6] in READERS, "form")
    check(zlib.crc32(data[11:]) == int.from_bytes(data[7:11], "little"), "checksum")
    body = Body(data[11:])
    first_row, rows = body.varint(), body.varint()
    pairs = list(READERS[data[6]](body))
    if data[6] == 3:  # several rows may have a pair
        pairs = sorted(set(pairs))
    check(body.at == len(body.data), "trailing")
    check(all(row < rows and first_row + row < 2**63 and row_id < 2**63 for row, row_id in pairs), "range")
    return first_row, rows, pairs


def runs(body: Body) -> Iterator[tuple[int, int]]:
    size = body.varint()
    row_gaps, backs = body.column(size), body.column(size)
    counts = [more + 1 for more in body.column(backs.count(0))]
    steps = body.column(len(counts))
    gaps = iter(body.column(sum(counts) - len(counts)))
    lengths = iter(body.column(sum(counts)))
    sets: list[list[tuple[int, int]]] = []
    opening = 0
    for count, step in zip(counts, steps, strict=True):
        opening = (opening + (step >> 1 if step % 2 == 0 else -(step >> 1) - 1)) % 2**63
        found = [(opening, opening + next(lengths))]
        for _ in range(count - 1):
            first = found[-1][1] + 2 + next(gaps)
            found.append((first, first + next(lengths)))
        sets.append(found)
    row, known = -1, 0
    listed = []
    for gap, back in zip(row_gaps, backs, strict=True):
        row += gap + 1
        known += back == 0
        number = known - 1 if back == 0 else known - back
        check(number >= 0, "set")
        listed += [(row, each) for first, last in sets[number] for each in range(first, last + 1)]
    yield from listed


def bdd(body: Body) -> Iterator[tuple[int, int]]:
    row_bits, id_bits, root = body.varint(), body.varint(), body.varint()
    check(row_bits <= 63 and id_bits <= 63, "bits")
    check(root <= 1, "root")
    counts = body.column(row_bits + id_bits)
    lo_steps, hi_codes = body.column(sum(counts)), body.column(sum(counts))
    nodes: list[Node] = []
    for level, count in enumerate(counts):
        base, lo = 2 + len(nodes), 0
        for at in range(len(nodes), len(nodes) + count):
            lo = lo_steps[at] + (lo if at + 2 > base else 0)
            hi = hi_codes[at] if hi_codes[at] < 2 else 1 + base - hi_codes[at]
            check(lo < base and (hi_codes[at] < 2 or 2 <= hi < base), "node")
            check(lo != hi and (at + 2 == base or (nodes[-1][1:] < (lo, hi))), "node")
            nodes.append((level, lo, hi))
    used = {1 + len(nodes)}.union(*({lo, hi} for _, lo, hi in nodes))
    check(all(2 + at in used for at in range(len(nodes))), "node")
    codes = list(below(nodes, 1 + len(nodes) if nodes else root, row_bits + id_bits))
    yield from ((code >> id_bits, code % 2**id_bits) for code in codes)


def below(nodes: list[Node], reference: int, bits: int) -> Iterator[int]:
    """All codes of so many bits, ascending."""
    if reference == 0:
        return
    if bits == 0:
        yield 0
        return
    level, lo, hi = nodes[reference - 2] if reference > 1 else (-1, 1, 1)
    if level < bits - 1:
        lo = hi = reference
    yield from below(nodes, lo, bits - 1)
    yield from (1 << bits - 1 | code for code in below(nodes, hi, bits - 1))


# ---------------------------------------------------------------- between arrays


def unzigzag(written: int) -> int:
    return written >> 1 if written % 2 == 0 else -(written >> 1) - 1


def sums(moved: list[int]) -> list[int]:
    found = list(itertools.accumulate(moved))
    check(all(abs(each) < 2**62 for each in found), "range")
    return found


def shape(body: Body) -> list[int]:
    axes = body.varint()
    check(axes <= 64, "shape")
    sizes = [body.varint() for _ in range(axes)]
    check(math.prod(sizes) <= 2**60, "shape")
    return sizes


def number_in(sizes: list[int], places: tuple[int, ...]) -> int:
    number = 0
    for size, place in zip(sizes, places, strict=True):
        number = number * size + place
    return number


def boxes(body: Body) -> Iterator[tuple[int, int]]:
    out, into = shape(body), shape(body)
    rows = body.varint()
    check(rows <= (2**24 if out or into else 1), "too many numbers")
    corners = []
    for _ in out:
        first = sums([unzigzag(each) for each in body.column(rows)])
        corners.append([(low, low + more) for low, more in zip(first, body.column(rows), strict=True)])
    lines = []
    for _ in into:
        axis = [each - 1 for each in body.column(rows)]
        scale = [unzigzag(each) for each in body.column(rows)]
        offset = sums([unzigzag(each) for each in body.column(rows)])
        divisor = [each + 1 for each in body.column(rows)]
        more = [unzigzag(each) for each in body.column(rows)]
        further = sums([unzigzag(each) for each in body.column(rows)])
        other = [unzigzag(each) for each in body.column(rows)]
        high = zip(map(sum, zip(scale, more, strict=True)), map(sum, zip(offset, further, strict=True)),
                   map(sum, zip(divisor, other, strict=True)), strict=True)  # fmt: skip
        lines.append(list(zip(axis, zip(scale, offset, divisor, strict=True), high, strict=True)))
    for row in range(rows):
        box = [corner[row] for corner in corners]
        check(all(low >= 0 and high < size for (low, high), size in zip(box, out, strict=True)), "box")
        bounds = [line[row] for line in lines]
        for axis, low, high in bounds:
            check(axis < len(out) and low[2] > 0 and high[2] > 0, "box")
            check((axis >= 0) == (low[0] != 0 or high[0] != 0), "box")
            for place in box[axis] if axis >= 0 else (0,):
                check((low[0] * place + low[1]) * high[2] <= (high[0] * place + high[1]) * low[2], "box")
        for cell in itertools.product(*(range(low, high + 1) for low, high in box)):
            places = []
            for (axis, low, high), size in zip(bounds, into, strict=True):
                at = cell[axis] if axis >= 0 else 0
                begin, end = (low[0] * at + low[1]) // low[2], (high[0] * at + high[1]) // high[2]
                places.append(range(max(begin, 0), min(end, size - 1) + 1))
            for each in itertools.product(*places):
                yield number_in(out, cell), number_in(into, each)


def gather(body: Body) -> Iterator[tuple[int, int]]:
    out, into = shape(body), shape(body)
    block, way = body.varint(), body.varint()
    check(block > 0 and math.prod(out) % block == 0 and math.prod(into) % block == 0, "shape")
    outputs, inputs = math.prod(out) // block, math.prod(into) // block
    found = list(gather_runs(body, (0, 1, -1)[way]) if way < 3 else gather_cells(body, out, into, block, way))
    check(all(row < outputs and 0 <= each < inputs for row, each in found), "box")
    yield from ((row * block + t, each * block + t) for row, each in found for t in range(block))


def gather_runs(body: Body, step: int) -> Iterator[tuple[int, int]]:
    size = body.varint()
    gaps, lengths, moved = (body.column(size) for _ in range(3))
    row, last_id = -1, 0
    for gap, length, move in zip(gaps, lengths, moved, strict=True):
        first, into = row + 1 + gap, last_id + unzigzag(move)
        row, last_id = first + length, into + step * length
        yield from ((first + k, into + step * k) for k in range(length + 1))


def gather_cells(body: Body, out: list[int], into: list[int], block: int, way: int) -> Iterator[tuple[int, int]]:
    column = body.column(math.prod(out) // block)
    if way == 3:
        yield from ((row, each - 1) for row, each in enumerate(column) if each)
        return
    axis = way - 4
    check(block == 1 and axis < len(into) and len(into) == len(out), "box")
    check(out[:axis] == into[:axis] and out[axis + 1 :] == into[axis + 1 :], "box")
    for row, cell in enumerate(itertools.product(*map(range, out))):
        if column[row]:
            check(column[row] <= into[axis], "box")
            yield row, number_in(into, (*cell[:axis], column[row] - 1, *cell[axis + 1 :]))


READERS = {1: bdd, 2: runs, 3: boxes, 4: gather}
