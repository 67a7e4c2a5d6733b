"""Segments of a result together: which of them are read, their cache, what is wrong with them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import segment as segments
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import CorruptSegmentError, Segment
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from tests.forward_lineage.relations.forms import EVERYWHERE, Pairs, as_set
from udafs.lineage_set import LineageSet

ROWS = 30
small = st.integers(0, ROWS - 1)
pairs_of_rows = st.sets(st.tuples(small, small), max_size=60)


def stored(folder: Path, pairs: Pairs, cuts: list[int], cache: SegmentCache | None = None) -> StoredRelation:
    """The pairs in segments that begin at the cuts, in any form."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = sorted({0, *cuts})
    files = []
    for start, stop in zip(starts, [*starts[1:], ROWS], strict=True):
        part = {(row - start, row_id) for row, row_id in pairs if start <= row < stop}
        file = SegmentFile(folder / f"{start}.lineage", start, stop - start)
        relation = EVERYWHERE[random.choice(sorted(EVERYWHERE))](part)
        segments.write_encoded(file.path, Segment(start, stop - start, relation))
        files.append(file)
    return StoredRelation(files, SegmentCache() if cache is None else cache)


@settings(max_examples=40)
@given(pairs=pairs_of_rows, cuts=st.lists(small, max_size=4), asked=st.sets(small))
def test_questions(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs, cuts: list[int], asked: set[int]) -> None:
    relation = stored(tmp_path_factory.mktemp("store"), pairs, cuts)
    assert set(relation.backward(LineageSet(asked))) == {row_id for row, row_id in pairs if row in asked}
    assert set(relation.forward(LineageSet(asked))) == {row for row, row_id in pairs if row_id in asked}
    assert as_set(relation) == as_set(relation.relation()) == pairs
    assert as_set(relation.restrict(rows=LineageSet(asked))) == {(row, row_id) for row, row_id in pairs if row in asked}


def test_no_segment_at_all() -> None:
    relation = StoredRelation([], SegmentCache())
    assert not relation.forward(LineageSet([1])) and not relation.backward(LineageSet([1]))
    assert as_set(relation) == as_set(relation.relation()) == set()


def test_backward_reads_only_the_segments_it_needs(tmp_path: Path) -> None:
    relation = stored(tmp_path, {(row, row) for row in range(ROWS)}, [10, 20])
    (tmp_path / "20.lineage").unlink()
    assert set(relation.backward(LineageSet([3, 12]))) == {3, 12}
    assert as_set(relation.restrict(rows=LineageSet([3, 12]))) == {(3, 3), (12, 12)}
    with pytest.raises(CorruptSegmentError, match=r"20\.lineage cannot be read"):
        relation.forward(LineageSet([3]))


def test_forward_reads_only_the_segments_that_may_have_an_id(tmp_path: Path) -> None:
    files = []
    for start in range(0, ROWS, 10):
        relation = RunsRelation.from_pairs(range(10), [2 * (start + row) for row in range(10)])
        between = relation.id_range
        assert between == (2 * start, 2 * start + 18)
        path = tmp_path / f"{start}.lineage"
        segments.write_encoded(path, Segment(start, 10, relation), "runs")
        files.append(SegmentFile(path, start, 10, first_id=between[0], last_id=between[1]))
    files[2].path.unlink()
    relation = StoredRelation(files, SegmentCache())
    assert set(relation.forward(LineageSet([2, 20, 39]))) == {1, 10}
    assert as_set(relation.restrict(ids=LineageSet([2, 20, 2**62]))) == {(1, 2), (10, 20)}
    with pytest.raises(CorruptSegmentError, match=r"20\.lineage cannot be read"):
        relation.forward(LineageSet([2, 40]))


def test_a_file_of_other_ids(tmp_path: Path) -> None:
    path = tmp_path / "0.lineage"
    segments.write_encoded(path, Segment(0, 2, RunsRelation.from_pairs([0, 1], [5, 9])), "runs")
    relation = StoredRelation([SegmentFile(path, 0, 2, first_id=5, last_id=8)], SegmentCache())
    with pytest.raises(CorruptSegmentError, match=r"its ids are \(5, 9\), the manifest says 5 to 8"):
        relation.backward(LineageSet([0]))


def test_the_cache_is_bounded_and_serves_what_it_has(tmp_path: Path) -> None:
    pairs = {(row, row * row) for row in range(ROWS)}
    cache = SegmentCache()
    relation = stored(tmp_path, pairs, [10, 20], cache)
    sizes = [segments.read(file.path).nbytes for file in relation.files]
    assert min(sizes) > 0
    cache.most_bytes = sum(sizes) - 1
    assert set(relation.forward(LineageSet([25, 625]))) == {5, 25}
    assert len(cache) == 2
    for file in relation.files[1:]:
        file.path.unlink()
    assert set(relation.backward(LineageSet([15, 25]))) == {225, 625}
    assert len(cache) == 2
    relation.release()
    assert len(cache) == 0
    with pytest.raises(CorruptSegmentError):
        relation.backward(LineageSet([15]))


def test_a_file_of_other_rows(tmp_path: Path) -> None:
    file = stored(tmp_path, {(0, 0)}, []).files[0]
    moved = StoredRelation([SegmentFile(file.path, 5, ROWS)], SegmentCache())
    with pytest.raises(
        CorruptSegmentError, match=r"0\.lineage is damaged: it has rows 0 \+ 30, the manifest says 5 \+ 30"
    ):
        moved.forward(LineageSet([0]))


def test_overlapping_segments(tmp_path: Path) -> None:
    files = [SegmentFile(tmp_path / "a", 0, 10), SegmentFile(tmp_path / "b", 9, 10)]
    with pytest.raises(CorruptSegmentError, match=r"a and b answer for the same rows\. Other results are not affected"):
        StoredRelation(files, SegmentCache())


def test_a_row_beyond_its_segment(tmp_path: Path) -> None:
    file = stored(tmp_path, {(29, 0)}, []).files[0]
    segment = segments.read(file.path)
    cache = SegmentCache()
    cache._kept[file.path] = replace(segment, rows=29), 1
    with pytest.raises(AssertionError, match="no rows but the segment's"):
        StoredRelation([file], cache).assert_consistent()
