"""Every form of a lineage relation, and the sets of pairs they are compared with. A new form is one line of `FORMS`."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from forward_lineage.relations import provrc
from forward_lineage.relations import segment as segments
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.paths import PathsRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from udafs.bdd_manager import Backend, available_backends
from udafs.lineage_set import LineageSet

Pairs = set[tuple[int, int]]
MOST = 2**63 - 1
#: Where the segments of a stored relation begin and end; beyond the second there are only those that have pairs.
BOUNDS = (0, 3, 12, 2**40, 2**62, 2**63)


def columns(pairs: Collection[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Rows and ids, in no order."""
    return [row for row, _ in pairs], [row_id for _, row_id in pairs]


def runs(pairs: Pairs) -> LineageRelation:
    return RunsRelation.from_pairs(*columns(pairs))


def bdd(pairs: Pairs, backend: Backend | None = None) -> LineageRelation:
    return BddRelation.from_pairs(*columns(pairs), backend=backend)


def stored(pairs: Pairs) -> LineageRelation:
    """In several segments on disk, of both forms in turn."""
    folder = Path(tempfile.mkdtemp(prefix="relation-"))
    files = []
    for number, (start, stop) in enumerate(itertools.pairwise(BOUNDS)):
        part = {(row - start, row_id) for row, row_id in pairs if start <= row < stop}
        if part or number < 2:
            data = segments.encode(Segment(0, stop - start, runs(part)), ("runs", "bdd")[number % 2])
            file = SegmentFile(folder / f"{start}.lineage", start, stop - start, start, segments.checksum(data))
            file.path.write_bytes(data)
            files.append(file)
    made = StoredRelation(files, SegmentCache())
    weakref.finalize(made, shutil.rmtree, folder)
    return made


def paths(pairs: Pairs) -> LineageRelation:
    """Every third pair directly, the others through a number of their own, some of which lead through another one."""
    listed = sorted(pairs)
    number = {pair: place for place, pair in enumerate(listed)}
    nearer = runs({(number[pair] + 7, pair[1]) for pair in listed if number[pair] % 3 > 1})
    between = runs({(place, place + 7) for place in number.values() if place % 3 > 1})
    behind = PathsRelation([(between, nearer), (runs({(number[p], p[1]) for p in listed if number[p] % 3 == 1}), None)])
    return PathsRelation(
        [
            (runs({pair for pair in listed if number[pair] % 3 == 0}), None),
            (stored({(pair[0], number[pair]) for pair in listed if number[pair] % 3}), behind),
        ]
    )


def folded(highest: int, *sizes: int) -> tuple[int, ...]:
    """A shape with some last axes that has a cell of this number; of one axis where it would have too many."""
    inner = int(np.prod(sizes))
    return (highest // inner + 1, *sizes) if highest < 2**40 else (highest + 1,)


def shapes_of(pairs: Pairs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows, ids = columns(pairs or {(0, 0)})
    return folded(max(rows), 6), folded(max(ids), 2, 5)


def boxes(pairs: Pairs) -> LineageRelation:
    """Between a matrix and an array of three axes, by the paper's encoder."""
    return provrc.encode(*shapes_of(pairs), *columns(pairs))


def gather(pairs: Pairs) -> LineageRelation:
    """The first id of every row, and the second and third: one for each row. What is left is runs."""
    place: Counter[int] = Counter()
    parts: dict[int, list[tuple[int, int]]] = {}
    for row, row_id in sorted(pairs):
        parts.setdefault(min(place[row], 3), []).append((row, row_id))
        place[row] += 1
    shapes = shapes_of(pairs)
    others = runs(set(parts.pop(3, ())))
    made = [(GatherRelation.from_pairs(*shapes, *columns(part)), None) for part in parts.values()]
    return PathsRelation([*made, (others, None)] if others else made)


FORMS: dict[str, Callable[[Pairs], LineageRelation]] = {
    "runs": runs,
    "bdd": bdd,
    "stored": stored,
    "paths": paths,
    "boxes": boxes,
    "gather": gather,
}
#: The forms, and the BDD on the slower managers too.
EVERYWHERE = FORMS | {f"bdd on {name}": partial(bdd, backend=name) for name in available_backends()[1:]}


def as_set(relation: LineageRelation) -> Pairs:
    """The pairs, once the relation has shown that it is sound."""
    relation.assert_consistent()
    rows, ids = relation.pairs()
    assert rows.dtype == ids.dtype == np.int64
    found = list(zip(rows.tolist(), ids.tolist(), strict=True))
    assert found == sorted(set(found)) and len(found) == len(relation)
    return set(found)


# ---------------------------------------------------------------- strategies

small_numbers = st.one_of(st.integers(0, 6), st.integers(0, 40), st.integers(0, 2**20))
numbers = small_numbers | st.sampled_from([2**32, 2**62, MOST - 1, MOST])
number_sets = st.sets(numbers, max_size=8).map(LineageSet)


@st.composite
def pair_sets(draw: st.DrawFn) -> Pairs:
    """Scattered pairs, rows that share runs of ids, and one-to-one stretches; one in three has numbers of 63 bits."""
    number = draw(st.sampled_from([small_numbers, small_numbers, numbers]))
    found = set(draw(st.lists(st.tuples(number, number), max_size=12)))
    blocks = st.tuples(st.lists(st.integers(0, 20), max_size=4), st.integers(0, 60), st.integers(1, 40))
    for rows, start, length in draw(st.lists(blocks, max_size=2)):
        found |= {(row, start + i) for row in rows for i in range(length)}
    start, length = draw(st.tuples(st.integers(0, 50), st.integers(0, 20)))
    return found | {(i, start + i) for i in range(length)}


#: Some relation in some form.
relations = st.builds(lambda pairs, form: FORMS[form](pairs), pair_sets(), st.sampled_from(sorted(FORMS)))
