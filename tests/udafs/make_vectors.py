"""Write `udafs/vectors/*.json` with the reference implementation: `python -m tests.udafs.make_vectors`.

Vectors are a contract between languages. Adding some is fine; changing one is a change of the byte format.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.udafs.reference_format import MalformedError, decode, encode

FOLDER = Path(__file__).resolve().parents[2] / "udafs" / "vectors"
SETTINGS = ("auto", "bdd", "set", "roaring")


def expand(recipe: dict[str, Any]) -> list[int]:
    """The ids of a vector: `ids`, and the half-open `ranges` [start, stop, step], united."""
    ids = set(recipe.get("ids", ()))
    for start, stop, step in recipe.get("ranges", ()):
        ids.update(range(start, stop, step))
    return sorted(ids)


def sets() -> Iterable[dict[str, Any]]:
    """Recipes of sets: every boundary of the format, and the shapes that lineage has."""
    yield {"name": "empty", "ids": []}
    for row_id in (0, 1, 2, 5, 63, 64, 127, 128, 129):
        yield {"name": f"only {row_id}", "ids": [row_id]}
    for power in (14, 16, 21, 28, 31, 32, 35, 42, 49, 56, 62):
        for off in (-1, 0, 1):
            yield {"name": f"only 2^{power}{off:+d}", "ids": [2**power + off]}
    yield {"name": "only 2^63-1", "ids": [2**63 - 1]}
    yield {"name": "both ends", "ids": [0, 2**63 - 1]}
    yield {"name": "boundaries", "ids": [0, *(2**p + d for p in (16, 31, 32, 48, 62) for d in (-1, 0, 1)), 2**63 - 1]}
    yield {"name": "the paper's figure 2", "ids": [0, 1, 2, 3, 4, 9, 10, 11, 12]}
    yield {"name": "the paper's figure 3, second set", "ids": [0, 1, 2, 3, 4, 8, 9, 10]}
    yield {"name": "root below the top level", "ids": [1, 3]}
    yield {"name": "odd numbers", "ranges": [[1, 4096, 2]]}
    yield {"name": "all of 0 … 2^16-1", "ranges": [[0, 65536, 1]]}
    yield {"name": "all but the last of 0 … 2^12-1", "ranges": [[0, 4095, 1]]}
    yield {"name": "one run across two containers", "ranges": [[65000, 66000, 1]]}
    yield {"name": "one run across a multiple of 2^32", "ranges": [[2**32 - 300, 2**32 + 300, 1]]}
    yield {"name": "array and run of equal size", "ids": [7, 8, 9]}
    yield {"name": "run of four", "ids": [7, 8, 9, 10]}
    yield {"name": "array of 4096", "ranges": [[0, 3 * 4096, 3]]}
    yield {"name": "bitmap of 4097", "ranges": [[0, 3 * 4097, 3]]}
    yield {
        "name": "bitmap and runs of equal size",
        "ranges": [[32 * i, 32 * i + 20, 1] for i in range(2047)] + [[65504, 65515, 2]],
    }
    yield {"name": "three kinds of container", "ids": [5, 90], "ranges": [[65536, 66536, 1], [131072, 160000, 3]]}
    yield {"name": "four containers, no run", "ids": [1, 65537, 131073, 196609]}
    yield {"name": "four containers, one run", "ids": [1, 65537, 131073], "ranges": [[196609, 196700, 1]]}
    yield {"name": "nine runs", "ranges": [[65536 * i + i, 65536 * i + 100, 1] for i in range(9)]}
    yield {"name": "every 1000th", "ranges": [[0, 1_000_000, 1000]]}
    yield {"name": "clusters", "ranges": [[start, start + 7, 1] for start in range(0, 60_000, 97)]}
    rng = random.Random(2007)
    for bits, count in ((8, 60), (12, 300), (16, 900), (23, 900), (40, 200), (63, 60)):
        yield {"name": f"random, {bits} bits", "ids": sorted({rng.getrandbits(bits) for _ in range(count)})}


def readable() -> Iterable[dict[str, Any]]:
    """Valid bytes that no writer of ours writes."""
    yield {"name": "tag 02, an empty 32-bit bitmap", "ids": [], "hex": "02 0100000000000000 00000000 3a300000 00000000"}
    yield {
        "name": "tag 02, an array that a run would shorten",
        "ids": [1, 2, 3, 4],
        "hex": "02 0100000000000000 00000000 3a300000 01000000 0000 0300 10000000 0100 0200 0300 0400",
    }
    yield {
        "name": "tag 02, a run that an array would shorten",
        "ids": [1, 7],
        "hex": "02 0100000000000000 00000000 3b300000 01 0000 0100 0200 0100 0000 0700 0000",
    }
    yield {
        "name": "tag 02, two runs that touch",
        "ids": [1, 2, 3],
        "hex": "02 0100000000000000 00000000 3b300000 01 0000 0200 0200 0100 0000 0200 0100",
    }
    yield {
        "name": "tag 02, run cookie without a run container",
        "ids": [9],
        "hex": "02 0100000000000000 00000000 3b300000 00 0000 0000 0900",
    }
    yield {
        "name": "tag 02, bits of the run flags beyond the last container",
        "ids": [9],
        "hex": "02 0100000000000000 00000000 3b300000 fe 0000 0000 0900",
    }


MALFORMED = [
    ("no byte", "empty", ""),
    ("tag 03", "tag", "03 00"),
    ("tag ff", "tag", "ff"),
    ("set: no count", "truncated", "00"),
    ("set: count without ids", "truncated", "00 01"),
    ("set: one id of two", "truncated", "00 02 05"),
    ("set: an id cut within its varint", "truncated", "00 01 80"),
    ("set: a count of 2^62", "truncated", "00 80 80 80 80 80 80 80 80 40 01"),
    ("set: trailing byte", "trailing", "00 01 05 00"),
    ("set: trailing byte after the empty set", "trailing", "00 00 00"),
    ("set: count not in its shortest form", "varint", "00 81 00 05"),
    ("set: id not in its shortest form", "varint", "00 01 85 00"),
    ("set: id of ten bytes", "varint", "00 01 80 80 80 80 80 80 80 80 80 01"),
    ("set: id 2^63", "range", "00 02 ff ff ff ff ff ff ff ff 7f 00"),
    (
        "set: ids beyond 2^64",
        "range",
        "00 03 ff ff ff ff ff ff ff ff 7f ff ff ff ff ff ff ff ff 7f ff ff ff ff ff ff ff ff 7f",
    ),
    ("bdd: no nbits", "truncated", "01"),
    ("bdd: no root", "truncated", "01 00"),
    ("bdd: no level", "truncated", "01 02"),
    ("bdd: a level is missing", "truncated", "01 02 01 00 01"),
    ("bdd: half a node", "truncated", "01 01 01 00"),
    ("bdd: 2^62 nodes", "truncated", "01 01 80 80 80 80 80 80 80 80 40 00 01"),
    ("bdd: trailing byte", "trailing", "01 01 01 00 01 00"),
    ("bdd: trailing byte after the root", "trailing", "01 00 01 00"),
    ("bdd: 64 variables", "nbits", "01 40" + " 00" * 64 + " 01"),
    ("bdd: empty set of one variable", "nbits", "01 01 00 00"),
    ("bdd: idle leading variable", "nbits", "01 02 01 00 01 01 02 00"),
    ("bdd: root 02", "root", "01 00 02"),
    ("bdd: lo above base", "reference", "01 01 01 02 01"),
    ("bdd: lo far above base", "reference", "01 01 01 ff ff ff ff ff ff ff ff 7f 01"),
    ("bdd: hi below the sinks", "reference", "01 01 01 00 03"),
    ("bdd: hi names sink 1 as a node", "reference", "01 01 01 00 02"),
    ("bdd: hi names sink 0 as a node", "reference", "01 01 01 01 03"),
    ("bdd: equal children 0", "redundant", "01 01 01 00 00"),
    ("bdd: equal children 1", "redundant", "01 01 01 01 01"),
    ("bdd: equal children, a node", "redundant", "01 02 01 00 01 01 02 02"),
    ("bdd: a node twice", "order", "01 02 02 00 01 00 01 01 02 02"),
    ("bdd: hi descending", "order", "01 03 02 00 01 01 00 02 00 02 00 01 01 04 02"),
    ("bdd: two roots", "unused", "01 01 02 00 01 01 00"),
    ("bdd: a node that nothing uses", "unused", "01 02 02 00 01 01 00 01 00 03"),
    ("bdd: varint not in its shortest form", "varint", "01 01 81 00 00 01"),
    ("roaring: no count", "truncated", "02 00 00"),
    ("roaring: 2^63 bitmaps", "truncated", "02 0000000000000080"),
    ("roaring: no bitmap", "truncated", "02 0100000000000000 00000000"),
    ("roaring: no container", "truncated", "02 0100000000000000 00000000 3a300000 01000000"),
    ("roaring: array cut", "truncated", "02 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0100 02"),
    ("roaring: bitmap cut", "truncated", "02 0100000000000000 00000000 3a300000 01000000 0000 ffff 10000000 ffff"),
    ("roaring: runs cut", "truncated", "02 0100000000000000 00000000 3b300000 01 0000 0300 ffff 0000 0300"),
    ("roaring: trailing byte", "trailing", "02 0000000000000000 00"),
    ("roaring: unknown cookie", "roaring", "02 0100000000000000 00000000 39300000 00000000"),
    ("roaring: id above 2^63-1", "range", "02 0100000000000000 00000080 3a300000 01000000 0000 0000 10000000 0100"),
    (
        "roaring: high half twice",
        "roaring",
        "02 0200000000000000 00000000 3a300000 01000000 0000 0000 10000000 0100"
        " 00000000 3a300000 01000000 0000 0000 10000000 0200",
    ),
    (
        "roaring: key twice",
        "roaring",
        "02 0100000000000000 00000000 3a300000 02000000 0000 0000 0000 0000 18000000 1a000000 0100 0200",
    ),
    ("roaring: wrong offset", "roaring", "02 0100000000000000 00000000 3a300000 01000000 0000 0000 11000000 0100"),
    ("roaring: offset far away", "roaring", "02 0100000000000000 00000000 3a300000 01000000 0000 0000 ffffffff 0100"),
    (
        "roaring: array descending",
        "roaring",
        "02 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0100",
    ),
    (
        "roaring: value twice in an array",
        "roaring",
        "02 0100000000000000 00000000 3a300000 01000000 0000 0100 10000000 0200 0200",
    ),
    (
        "roaring: overlapping runs",
        "roaring",
        "02 0100000000000000 00000000 3b300000 01 0000 0300 0200 0100 0100 0200 0100",
    ),
    ("roaring: run beyond 65535", "roaring", "02 0100000000000000 00000000 3b300000 01 0000 0200 0100 feff 0200"),
    ("roaring: run cardinality", "roaring", "02 0100000000000000 00000000 3b300000 01 0000 0100 0100 0100 0200"),
    ("roaring: no runs", "roaring", "02 0100000000000000 00000000 3b300000 01 0000 0000 0000"),
    (
        "roaring: bitmap cardinality",
        "roaring",
        "02 0100000000000000 00000000 3a300000 01000000 0000 ffff 10000000" + " ff" * 8191 + " 7f",
    ),
]


def write(name: str, note: str, vectors: list[dict[str, Any]]) -> None:
    lines = ",\n".join("    " + json.dumps(vector, ensure_ascii=False) for vector in vectors)
    text = f'{{\n  "note": {json.dumps(note, ensure_ascii=False)},\n  "vectors": [\n{lines}\n  ]\n}}\n'
    (FOLDER / name).write_text(text, encoding="utf-8")


def compact(text: str) -> str:
    return text.replace(" ", "")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    canonical = [{**recipe, **{s: encode(expand(recipe), s).hex() for s in SETTINGS}} for recipe in sets()]
    write(
        "sets.json",
        "The set is the union of `ids` and of the half-open `ranges` [start, stop, step]. Writing it under a setting"
        " gives these bytes (hex), `roaring` being tag 02; reading any of them gives the set.",
        canonical,
    )
    others = [{**each, "hex": compact(each["hex"])} for each in readable()]
    for each in others:
        assert decode(bytes.fromhex(each["hex"])) == each["ids"], each
    write("readable.json", "Valid bytes that our writers never write; reading them gives the set.", others)
    malformed = [{"name": name, "keyword": keyword, "hex": compact(text)} for name, keyword, text in MALFORMED]
    for each in malformed:
        try:
            decode(bytes.fromhex(each["hex"]))
        except MalformedError as error:
            assert str(error) == each["keyword"], (each["name"], error)
        else:
            raise AssertionError(each["name"])
    write("malformed.json", "Every reader refuses these bytes with a message that contains the keyword.", malformed)


if __name__ == "__main__":
    main()
