"""An index for forward questions: the answers of the segments themselves, whichever of these are there still."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forward_lineage.relations import forward_index, stored
from forward_lineage.relations import segment as segments
from forward_lineage.relations.forward_index import CoveredSegment, ForwardIndex, build, worth_an_index
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Segment
from forward_lineage.relations.stored import SegmentCache, SegmentFile, StoredRelation
from udafs.lineage_set import LineageSet

MOST = 2**63 - 1
Pairs = set[tuple[int, int]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts, segments and long answers are those of a few pairs."""
    for name, value in {"_PART": 64, "_SAMPLE": 4, "_SEGMENT": 16, "MOST_OF_AN_ID": 40}.items():
        monkeypatch.setattr(forward_index, name, value)


def written(folder: Path, first: int, rows: int, pairs: Pairs) -> SegmentFile:
    relation = RunsRelation.from_pairs([row for row, _ in pairs], [each for _, each in pairs])
    path = folder / f"{first}.lineage"
    data, _ = segments.write_encoded(path, Segment(first, rows, relation), "runs")
    ids = relation.id_range or (None, None)
    return SegmentFile(path, first, rows, 0, segments.checksum(data), len(pairs), len(data), *ids)


def scattered(folder: Path, chance: random.Random) -> tuple[list[SegmentFile], Pairs]:
    """Segments with ids that are near each other, far from each other, and in many rows."""
    files, pairs, first = list[SegmentFile](), Pairs(), 0
    for _ in range(chance.randint(9, 30)):
        rows = chance.randint(1, 20)
        draws = (lambda: chance.randrange(60), lambda: chance.randrange(4), lambda: chance.choice([0, MOST]))
        ids = [chance.choice(draws)() for _ in range(chance.randint(1, 60))] + [chance.randrange(2**63)]
        own = {(chance.randrange(rows), each) for each in ids}
        files.append(written(folder, first, rows, own))
        pairs |= {(first + row, each) for row, each in own}
        first += rows + chance.randint(0, 3)  # numbers of rows that went
    return files, pairs


def indexed(files: list[SegmentFile], folder: Path) -> ForwardIndex:
    folder.mkdir(exist_ok=True)
    shares: list[float] = []
    made, heavy = build(files, SegmentCache(0), folder, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1
    assert {each.name for each in folder.iterdir()} == {each.path for each in made}, "nothing else is left"
    own = [each.file_in(folder) for each in made]
    return ForwardIndex(map(CoveredSegment.of, files), LineageSet(heavy), StoredRelation(own, SegmentCache()))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_the_segments(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    files, pairs = scattered(tmp_path, chance)
    covered = worth_an_index(files) or files
    index = indexed(covered, tmp_path / "index")
    index.inverse.assert_consistent()
    there = [each for each in files if chance.random() < 0.9]  # of other versions some are gone
    relation = StoredRelation(there, SegmentCache(), lambda: index)
    mine = {(row, each) for row, each in pairs if any(f.first_row <= row < f.first_row + f.rows for f in there)}
    every = sorted({each for _, each in pairs})
    for _ in range(20):
        asked = {chance.choice([*every, chance.randrange(70), 1 + chance.randrange(2**62)]) for _ in range(3)}
        assert set(relation.forward(LineageSet(asked))) == {row for row, each in mine if each in asked}
    assert set(relation.forward(LineageSet(every))) == {row for row, _ in mine}


@pytest.mark.usefixtures("small")
def test_it_is_read_in_place_of_the_segments_that_it_covers(tmp_path: Path) -> None:
    files, pairs = scattered(tmp_path, random.Random(7))
    index = indexed(files[:-1], tmp_path / "index")
    relation = StoredRelation(files, SegmentCache(), lambda: index)
    light = next(each for _, each in sorted(pairs) if each not in index.left_out)
    expected = relation.forward(LineageSet([light]))
    for file in files[:-1]:
        file.path.unlink()
    asked = StoredRelation(files, SegmentCache(), lambda: index)
    assert asked.forward(LineageSet([light])) == expected
    assert index.rows_of(LineageSet([light]), 1) is None, "one file is not fewer than one"
    index.inverse.release()
    for each in index.inverse.files:
        each.path.unlink()
    with pytest.raises(segments.CorruptSegmentError, match="cannot be read"):
        index.rows_of(LineageSet([light]), 2)


@pytest.mark.usefixtures("small")
def test_a_damaged_index_is_passed_over(tmp_path: Path) -> None:
    files, pairs = scattered(tmp_path, random.Random(8))
    index = indexed(files, tmp_path / "index")
    for each in index.inverse.files:
        each.path.write_bytes(each.path.read_bytes()[:-1])
    relation = StoredRelation(files, SegmentCache(), lambda: index)
    for asked in sorted({each for _, each in pairs})[::5]:
        assert set(relation.forward(LineageSet([asked]))) == {row for row, each in pairs if each == asked}


def test_what_needs_no_index(tmp_path: Path) -> None:
    apart = [written(tmp_path, 10 * part, 10, {(row, 10 * part + row) for row in range(10)}) for part in range(20)]
    assert worth_an_index(apart) == [], "one segment has an id at most"
    (tmp_path / "few").mkdir()
    few = [written(tmp_path / "few", 10 * part, 10, {(3, 0), (4, 9)}) for part in range(stored.FEW)]
    assert worth_an_index(few) == []
    (tmp_path / "dense").mkdir()
    every = {(row, each) for row in range(10) for each in range(1_000)}
    dense = [written(tmp_path / "dense", 10 * part, 10, every) for part in range(20)]
    assert worth_an_index(dense) == [], "a run is read as quickly as an entry"
    assert worth_an_index([*few, *apart[:1], *dense]) == [*few, *apart[:1]]


@pytest.mark.usefixtures("small")
def test_work_that_is_stopped_goes_on_no_further(tmp_path: Path) -> None:
    files, _ = scattered(tmp_path, random.Random(9))
    (tmp_path / "index").mkdir()

    def stop(done: float) -> None:
        if done > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(files, SegmentCache(0), tmp_path / "index", stop)
    assert not list((tmp_path / "index").glob("*.lineage"))
