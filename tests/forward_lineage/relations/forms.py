"""Every form of a lineage relation, and the sets of pairs they are compared with. A new form is one line of `FORMS`."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from forward_lineage.relations import segment as segments
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.relation import LineageRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Form, Segment
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from udafs.bdd_manager import Backend, available_backends
from udafs.lineage_set import LineageSet

Pairs = set[tuple[int, int]]
MOST = 2**63 - 1
#: Where the segments of a stored relation begin; the last one is far away, and no segment has the first rows after 12.
CUTS = ((0, 3), (3, 12), (20, 2**40), (2**62, 2**63))
SEGMENT_FORMS: tuple[Form, ...] = ("auto", "bdd", "runs")


def columns(pairs: Collection[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Rows and ids, in no order."""
    return [row for row, _ in pairs], [row_id for _, row_id in pairs]


def runs(pairs: Pairs) -> LineageRelation:
    return RunsRelation.from_pairs(*columns(pairs))


def bdd(backend: Backend, pairs: Pairs) -> LineageRelation:
    return BddRelation.from_pairs(*columns(pairs), backend=backend)


def stored(pairs: Pairs) -> LineageRelation:
    """In several segments on disk, of all forms in turn; a gap in CUTS is filled when there is a row in it."""
    folder = Path(tempfile.mkdtemp(prefix="relation-"))
    gaps = [(stop, start) for (_, stop), (start, _) in itertools.pairwise(CUTS) if stop < start]
    used = [gap for gap in gaps if any(gap[0] <= row < gap[1] for row, _ in pairs)]
    files = []
    for (start, stop), form in zip(sorted([*CUTS, *used]), itertools.cycle(SEGMENT_FORMS), strict=False):
        part = {(row - start, row_id) for row, row_id in pairs if start <= row < stop}
        data = segments.encode(Segment(0, stop - start, runs(part)), form)
        file = SegmentFile(folder / f"{start}.lineage", start, stop - start, start, segments.checksum(data))
        file.path.write_bytes(data)
        files.append(file)
    made = StoredRelation(files, SegmentCache())
    weakref.finalize(made, shutil.rmtree, folder)
    return made


FORMS: dict[str, Callable[[Pairs], LineageRelation]] = {
    "runs": runs,
    **{f"bdd-{backend}": partial(bdd, backend) for backend in available_backends()},
    "stored": stored,
}


def as_set(relation: LineageRelation) -> Pairs:
    """The pairs, once the relation has shown that it is sound."""
    relation.assert_consistent()
    rows, ids = relation.pairs()
    assert rows.dtype == ids.dtype == np.int64
    found = list(zip(rows.tolist(), ids.tolist(), strict=True))
    assert found == sorted(set(found)) and len(found) == len(relation)
    return set(found)


# ---------------------------------------------------------------- strategies

numbers = st.one_of(
    st.integers(0, 6), st.integers(0, 40), st.integers(0, 2**20), st.sampled_from([2**32, 2**62, MOST - 1, MOST])
)
number_sets = st.sets(numbers, max_size=8).map(LineageSet)


@st.composite
def pair_sets(draw: st.DrawFn, number: st.SearchStrategy[int] = numbers) -> Pairs:
    """Scattered pairs, rows that share runs of ids, and one-to-one stretches."""
    found = set(draw(st.lists(st.tuples(number, number), max_size=15)))
    blocks = st.tuples(st.lists(st.integers(0, 20), max_size=4), st.integers(0, 60), st.integers(1, 40))
    for rows, start, length in draw(st.lists(blocks, max_size=2)):
        found |= {(row, start + i) for row in rows for i in range(length)}
    start, length = draw(st.tuples(st.integers(0, 50), st.integers(0, 20)))
    return found | {(i, start + i) for i in range(length)}


#: Some relation in some form.
relations = st.builds(lambda pairs, form: FORMS[form](pairs), pair_sets(), st.sampled_from(sorted(FORMS)))
