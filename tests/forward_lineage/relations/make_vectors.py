"""Segment files that all readers judge alike. To write them: `python -m tests.forward_lineage.relations.make_vectors`.

The files are a contract between versions and languages. Adding some is fine; changing one is a change of the format.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from forward_lineage.relations import segment as segments
from forward_lineage.relations.box_rows import BoxRow, Line
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Form, Segment
from tests.forward_lineage.relations import reference_segment
from tests.forward_lineage.relations.reference_segment import RefusedError

FOLDER = Path(__file__).with_name("vectors")
NOTE = (
    "Rows count from first_row. `pairs` are [row, first id, last id]: the row has all ids from the first to the last."
    " Where `canonical` is true, writing the pairs in this form gives these bytes; elsewhere they are readable only,"
    " because zstd compressed something, because no writer of ours wrote it, or because the form has several ways."
)
Runs = list[tuple[int, int, int]]


# ---------------------------------------------------------------- bytes by hand


def varints(*numbers: int) -> bytes:
    found = bytearray()
    for number in numbers:
        rest = number
        while rest > 127:
            found.append(rest & 127 | 128)
            rest >>= 7
        found.append(rest)
    return bytes(found)


def plain(*numbers: int) -> bytes:
    """A column of varints."""
    return bytes([0x10]) + varints(*numbers) if numbers else b""


def packed(*numbers: int) -> bytes:
    """A column of compressed varints."""
    inner = varints(*numbers)
    data: bytes = pa.Codec("zstd").compress(inner, asbytes=True)
    return bytes([0x20]) + varints(len(inner), len(data)) + data


def planes(width: int, *numbers: int, compressed: bool = False) -> bytes:
    """A column of byte planes."""
    found = bytes([width])
    for place in range(width):
        data: bytes = bytes(number >> 8 * place & 255 for number in numbers)
        data = pa.Codec("zstd").compress(data, asbytes=True) if compressed else data
        found += varints(len(data)) + data
    return found


def sealed(form: int, body: bytes, version: int = 2) -> bytes:
    return b"FLSEG" + bytes([version, form]) + zlib.crc32(body).to_bytes(4, "little") + body


#: Rows 0 and 2 with {3, 4, 8}, row 1 with {1}, in the way of a writer.
SMALL = (
    varints(0, 3, 3)
    + planes(0, 0, 0, 0)
    + plain(0, 0, 2)
    + plain(1, 0)
    + plain(6, 3)
    + plain(2)
    + plain(1, 0, 0)
)  # fmt: skip
#: The pairs (0, 1) and (1, 0), as a BDD.
CROSSED = varints(0, 2, 1, 1, 0) + plain(2, 1) + plain(0, 1, 2) + plain(1, 0, 2)


# ---------------------------------------------------------------- what must be read


def written() -> Iterator[tuple[str, Form, int, int, Runs]]:
    """Name, form, first row, rows, and runs of segments as our writer writes them."""
    for form in ("runs", "bdd"):
        yield f"{form}-nothing", form, 0, 0, []
        yield f"{form}-rows-without-lineage", form, 12, 1000, []
        yield f"{form}-one-pair", form, 0, 1, [(0, 5, 5)]
        yield f"{form}-zero", form, 0, 1, [(0, 0, 0)]
        yield f"{form}-shared-sets", form, 0, 6, [(0, 3, 4), (0, 8, 8), (1, 1, 1), (2, 3, 4), (2, 8, 8), (5, 1, 1)]
        yield f"{form}-gaps-between-rows", form, 2**40, 300, [(7, 10, 19), (8, 10, 19), (299, 0, 0)]
        yield f"{form}-descending-sets", form, 0, 3, [(0, 900, 901), (1, 500, 500), (2, 0, 2)]
        ends = [(0, 0, 0), (0, 2**63 - 1, 2**63 - 1), (1, 2**62, 2**62), (2**62, 2**63 - 2, 2**63 - 1)]
        yield f"{form}-63-bits", form, 1, 2**63 - 1, ends
        yield f"{form}-all-of-a-square", form, 0, 16, [(row, 0, 15) for row in range(16)]
        yield f"{form}-subsets", form, 0, 32, [(r, i, i) for r in range(32) for i in range(32) if r & i == 0]
        rng = random.Random(17)
        scattered = sorted({(rng.randrange(40), rng.randrange(1 << 22)) for _ in range(400)})
        yield f"{form}-scattered", form, 5, 40, [(row, each, each) for row, each in scattered]
    yield "runs-one-long-run", "runs", 0, 2, [(0, 0, 99_999), (1, 50_000, 149_999)]


def between_arrays() -> Iterator[tuple[str, Form, int, LineageRelation]]:
    """Name, form, rows, and relations between arrays; what their bytes are depends on how the boxes were made."""
    same = Line(0), Line(0)
    yield "boxes-negative", "boxes", 10**6, BoxRelation.elementwise((2, 3), (2, 3))
    yield "boxes-nothing", "boxes", 6, BoxRelation.nothing((2, 3), (4,))
    yield "boxes-of-a-number", "boxes", 1, BoxRelation.rule((), (), [])
    yield "boxes-sum-of-an-axis", "boxes", 3, BoxRelation.rule((3,), (3, 2), [same, (0, 1)])
    yield "boxes-diagonal", "boxes", 3, BoxRelation.rule((3,), (3, 3), [same, same])
    yield "boxes-flip-of-every-other", "boxes", 4, BoxRelation.rule((4,), (8,), [(Line(0, -2, 7), Line(0, -2, 7))])
    yield "boxes-repeat", "boxes", 6, BoxRelation.rule((6,), (3,), [(Line(0, 1, 0, 2), Line(0, 1, 0, 2))])
    yield "boxes-cumulative", "boxes", 4, BoxRelation.rule((4,), (4,), [(0, Line(0))])
    yield "boxes-window-beyond-the-ends", "boxes", 4, BoxRelation.rule((4,), (4,), [(Line(0, 1, -1), Line(0, 1, 1))])
    yield "boxes-pooling-by-halves", "boxes", 4, BoxRelation.rule((4,), (6,), [(Line(0, 3, 0, 2), Line(0, 3, 2, 2))])
    rolled = [BoxRow([(0, 1)], [(Line(0, 1, 3), Line(0, 1, 3))]), BoxRow([(2, 4)], [(Line(0, 1, -2), Line(0, 1, -2))])]
    yield "boxes-roll", "boxes", 5, BoxRelation.from_rows((5,), (5,), rolled)
    overlapping = [BoxRow([(0, 2)], [(0, 2)]), BoxRow([(1, 3)], [(1, 3)])]
    yield "boxes-that-overlap", "boxes", 4, BoxRelation.from_rows((4,), (4,), overlapping)
    yield "gather-sort-of-columns", "gather", 6, GatherRelation.from_index((3, 2), (3, 2), [4, 3, 0, 1, 2, 5])
    yield "gather-scattered", "gather", 5, GatherRelation.from_index((5,), (7,), [3, -1, 6, 0, 3])
    yield "gather-rows-of-a-matrix", "gather", 6, GatherRelation.take((4, 2), 0, [3, 0, 1])
    yield "gather-reversed", "gather", 9, GatherRelation.from_index((9,), (9,), list(range(9))[::-1])
    yield "gather-all-of-one", "gather", 9, GatherRelation.from_index((3, 3), (2,), [1] * 9)
    yield "gather-few", "gather", 10**6, GatherRelation.from_pairs((1000, 1000), (50,), [7, 8, 999_999], [3, 4, 49])
    yield "gather-nothing", "gather", 4, GatherRelation.from_index((4,), (0,), [-1] * 4)


def readable() -> Iterator[tuple[str, bytes]]:
    """Files that no writer of ours writes and every reader must read."""
    yield "by-hand-small", sealed(2, SMALL)
    yield "by-hand-crossed", sealed(1, CROSSED)
    yield "by-hand-roll", sealed(3, varints(0, 5) + ROLL)
    yield "by-hand-pick", sealed(4, varints(0, 2) + PICK)
    head = varints(0, 3, 3)
    yield "column-raw-planes", sealed(2, head + planes(2, 0, 0, 0) + SMALL[4:])
    yield "column-compressed-planes", sealed(2, head + planes(8, 0, 0, 0, compressed=True) + SMALL[4:])
    yield "column-compressed-varints", sealed(2, head + packed(0, 0, 0) + SMALL[4:])
    twice = varints(0, 2, 2) + plain(0, 0) + plain(0, 0) + plain(0, 0) + plain(6, 0) + plain(0, 0)
    yield "runs-equal-sets-twice", sealed(2, twice)
    yield "bdd-more-bits-than-needed", sealed(1, varints(0, 2, 1, 1, 0) + plain(0, 1) + plain(0) + plain(1))
    yield "bdd-every-pair", sealed(1, varints(0, 4, 2, 1, 1) + planes(0, 0, 0, 0))


# ---------------------------------------------------------------- what must be refused


def refused() -> Iterator[tuple[str, str, bytes]]:
    """Name, fault, and bytes."""
    good = sealed(2, SMALL)
    yield "no-byte", "magic", b""
    yield "no-checksum", "magic", good[:10]
    yield "another-magic", "magic", b"PAR1" + good
    yield "version-1", "version", sealed(2, SMALL, version=1)
    yield "version-3", "version", sealed(2, SMALL, version=3)
    yield "form-0", "form", sealed(0, SMALL)
    yield "form-5", "form", sealed(5, SMALL)
    yield "a-bit-turned", "checksum", good[:-1] + bytes([good[-1] ^ 4])
    yield "a-byte-missing", "checksum", good[:-1]
    yield "a-byte-too-many", "checksum", good + b"\0"
    # From here on the checksum is right.
    yield "cut-within-a-column", "cut short", sealed(2, SMALL[:-1])
    yield "cut-between-columns", "cut short", sealed(2, SMALL[:-4])
    yield "trailing-byte", "trailing", sealed(2, SMALL + b"\0")
    yield "varint-not-shortest", "varint", sealed(2, b"\x80\0" + SMALL[1:])
    yield "varint-of-ten-bytes", "varint", sealed(2, b"\xff" * 9 + b"\x01" + SMALL[1:])
    yield "column-of-way-3", "column", sealed(2, SMALL[:3] + b"\x30" + SMALL[4:])
    yield "column-of-nine-planes", "column", sealed(2, SMALL[:3] + b"\x09" + SMALL[4:])
    yield "column-of-varints-with-a-width", "column", sealed(2, SMALL[:3] + b"\x11\0\0\0" + SMALL[4:])
    yield "column-not-zstd", "column", sealed(2, SMALL[:3] + b"\x20\x03\x05hello" + SMALL[4:])
    yield "column-of-another-size", "column", sealed(2, varints(0, 3, 3) + packed(0, 0, 0, 0) + SMALL[4:])
    yield "too-many-rows", "too many numbers", sealed(2, varints(0, 1 << 40, 1 << 40) + planes(0, 0) * 2)
    yield "runs-a-row-without-a-set", "set", sealed(2, varints(0, 1, 1) + plain(0) + plain(1))
    yield "bdd-64-bits", "bits", sealed(1, varints(0, 1, 64, 0, 1) + planes(0, *[0] * 64))
    yield "bdd-beyond-the-nodes-below", "node", sealed(1, varints(0, 1, 0, 1, 0) + plain(1) + plain(2) + plain(1))
    yield "bdd-equal-children", "node", sealed(1, varints(0, 1, 0, 1, 0) + plain(1) + plain(1) + plain(1))
    yield "bdd-a-node-twice", "node", sealed(1, CROSSED[:5] + plain(3, 1) + plain(0, 0, 1, 2) + plain(1, 1, 0, 2))
    yield "bdd-a-node-unused", "node", sealed(1, CROSSED[:5] + plain(2, 1) + plain(0, 1, 0) + plain(1, 0, 2))
    yield "bdd-root-2", "root", sealed(1, varints(0, 1, 0, 0, 2))
    yield "runs-a-row-too-many", "range", sealed(2, varints(0, 1, 1) + plain(1) + plain(0) * 2 + plain(6) + plain(0))
    yield "bdd-a-row-too-many", "range", sealed(1, varints(0, 1, 1, 0, 0) + plain(1) + plain(0) + plain(1))
    beyond = varints(0, 1, 1) + plain(0) + plain(0) + plain(0) + plain(1) + plain(3)  # {2^63 − 1, …}
    yield "runs-an-id-beyond", "range", sealed(2, beyond)
    twice = varints(0, 2**63 - 1, 2) + plain(2**63 - 2, 2**63 - 1) + plain(0, 1) + plain(0) + plain(0) + plain(0)
    yield "runs-a-row-beyond", "range", sealed(2, twice)
    yield "first-row-too-high", "range", sealed(2, varints(2**63 - 1) + SMALL[1:])


#: A roll of five cells by two, and the gather of cells 3 and 0, as body behind the numbers of rows.
ROLL = (
    varints(1, 5, 1, 5, 2) + plain(0, 4) + plain(1, 2)
    + plain(1, 1) + plain(2, 2) + plain(6, 9) + planes(0, 0, 0) * 4
)  # fmt: skip
PICK = varints(1, 2, 1, 4, 1, 3) + plain(4, 1)


def refused_between_arrays() -> Iterator[tuple[str, str, bytes]]:
    """As `refused`, of the forms between arrays."""
    head = varints(0, 5)
    yield "boxes-of-65-axes", "shape", sealed(3, head + varints(65, *[1] * 65))
    yield "boxes-of-too-many-cells", "shape", sealed(3, head + varints(2, 1 << 40, 1 << 40))
    yield "boxes-too-many-rows", "too many numbers", sealed(3, head + varints(1, 5, 1, 5, 2**24 + 1) + planes(0, 0) * 9)
    yield "boxes-of-numbers-twice", "too many numbers", sealed(3, head + varints(0, 0, 2))
    yield "boxes-cut", "cut short", sealed(3, head + ROLL[:-1])
    yield "boxes-beyond-the-output", "box", sealed(3, head + ROLL.replace(plain(1, 2), plain(1, 3)))
    yield "boxes-before-the-output", "box", sealed(3, head + ROLL.replace(plain(0, 4), plain(1, 5)))
    yield "boxes-axis-that-is-not-there", "box", sealed(3, head + ROLL.replace(plain(1, 1), plain(1, 2)))
    yield "boxes-that-move-with-nothing", "box", sealed(3, head + ROLL.replace(plain(1, 1), plain(1, 0)))
    still = ROLL.replace(plain(2, 2), plain(2, 0))
    yield "boxes-that-move-by-nothing", "box", sealed(3, head + still)
    one = varints(1, 5, 1, 5, 1) + planes(0, 0) + plain(4) + plain(1)
    yield "boxes-empty-interval", "box", sealed(3, head + one + plain(2) + planes(0, 0) * 3 + plain(1) + planes(0, 0))
    yield "boxes-divisor-0", "box", sealed(3, head + one + plain(2) + planes(0, 0) * 4 + plain(1))
    far = varints(1, 5, 1, 5, 2) + plain(0, 4) + plain(1, 2) + plain(1, 1) + plain(2, 2) + plain(2**62, 2**62 + 2**61)
    yield "boxes-offset-beyond", "range", sealed(3, head + far + planes(0, 0, 0) * 4)
    yield "boxes-a-row-too-many", "range", sealed(3, varints(0, 4) + ROLL)
    yield "gather-blocks-that-do-not-fit", "shape", sealed(4, varints(0, 2, 1, 2, 1, 4, 3, 3) + plain(4, 1))
    yield "gather-block-0", "shape", sealed(4, varints(0, 2, 1, 2, 1, 4, 0, 3) + plain(4, 1))
    yield "gather-beyond-the-input", "box", sealed(4, varints(0, 2) + PICK.replace(plain(4, 1), plain(5, 1)))
    runs = varints(0, 2, 1, 2, 1, 4, 1, 1, 1)
    yield "gather-run-beyond-the-input", "box", sealed(4, runs + plain(0) + plain(1) + plain(6))
    yield "gather-run-beyond-the-output", "box", sealed(4, runs + plain(1) + plain(1) + plain(0))
    yield "gather-axis-that-is-not-there", "box", sealed(4, varints(0, 2, 1, 2, 1, 4, 1, 5) + plain(4, 1))
    yield "gather-place-beyond-the-axis", "box", sealed(4, varints(0, 2, 2, 1, 2, 2, 2, 2, 1, 4) + plain(3, 1))
    yield "gather-a-row-too-many", "range", sealed(4, varints(0, 1) + PICK)


# ---------------------------------------------------------------- the folder


def runs_of(pairs: Sequence[tuple[int, int]]) -> Runs:
    found: Runs = []
    for row, each in pairs:
        if found and found[-1][0] == row and found[-1][2] == each - 1:
            found[-1] = row, found[-1][1], each
        else:
            found.append((row, each, each))
    return found


def pairs_of(runs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(row, each) for row, first, last in runs for each in range(first, last + 1)]


def encoded(first_row: int, rows: int, runs: Sequence[Sequence[int]], form: Form) -> bytes:
    pairs = pairs_of(runs)
    relation = RunsRelation.from_pairs([row for row, _ in pairs], [each for _, each in pairs])
    return segments.encode(Segment(first_row, rows, relation), form)


def is_compressed(data: bytes) -> bool:
    """Whether a zstd frame is in it: such bytes depend on the version of zstd."""
    return b"\x28\xb5\x2f\xfd" in data


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    found: dict[str, list[dict[str, Any]]] = {"read": [], "refuse": []}
    for name, form, first_row, rows, runs in written():
        data = encoded(first_row, rows, runs, form)
        assert reference_segment.read(data) == (first_row, rows, pairs_of(runs)), name
        add(found["read"], name, data, form, canonical=not is_compressed(data))
    for name, data in readable():
        add(found["read"], name, data, ("bdd", "runs", "boxes", "gather")[data[6] - 1], canonical=False)
    for name, form, rows, relation in between_arrays():
        add(found["read"], name, segments.encode(Segment(0, rows, relation), form), form, canonical=False)
    for name, fault, data in [*refused(), *refused_between_arrays()]:
        (FOLDER / f"{name}.lineage").write_bytes(data)
        found["refuse"].append({"name": name, "fault": fault})
        try:
            reference_segment.read(data)
        except RefusedError as error:
            assert str(error) == fault, (name, error)
        else:
            raise AssertionError(name)
    (FOLDER / "vectors.json").write_text(as_text(found), encoding="utf-8")


def add(listed: list[dict[str, Any]], name: str, data: bytes, form: str, *, canonical: bool) -> None:
    (FOLDER / f"{name}.lineage").write_bytes(data)
    first_row, rows, pairs = reference_segment.read(data)
    listed.append(
        {"name": name, "form": form, "canonical": canonical, "first_row": first_row, "rows": rows,
         "pairs": runs_of(pairs)}
    )  # fmt: skip


def as_text(found: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with a vector a line."""
    parts = [f'  "note": {json.dumps(NOTE)}']
    for key, vectors in found.items():
        lines = ",\n".join(f"    {json.dumps(vector)}" for vector in vectors)
        parts.append(f'  "{key}": [\n{lines}\n  ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
