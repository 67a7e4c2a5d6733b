"""Results whose rows were made of rows of stages: what is asked of them, and manifests that cannot be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import (
    SavedResult,
    SegmentEntry,
    Stage,
    StageLineage,
    TableLineage,
)
from forward_lineage.store.library.soundness import check_sound
from forward_lineage.store.saving.tasks import write_segment
from tests.forward_lineage.store.shelf import ROWS, Pairs, put
from udafs.errors import SetupError
from udafs.lineage_set import LineageSet

# Of two stages the second has rows of the first; the result has rows of both, and some of its own.
INNER: Pairs = {(0, 100), (0, 101), (1, 102)}
OUTER: Pairs = {(0, 1), (1, 0), (1, 1)}
REFERS_TO_INNER: Pairs = {(0, 0), (5, 1)}
REFERS_TO_OUTER: Pairs = {(0, 0), (7, 1)}
OWN: Pairs = {(5, 7), (9, 9)}
PAIRS: Pairs = OWN | {(0, 100), (0, 101), (5, 102)} | {(0, 102), (7, 100), (7, 101), (7, 102)}


def segment(folder: Path, path: str, pairs: Pairs, rows: int) -> tuple[SegmentEntry, ...]:
    relation = RunsRelation.from_pairs([row for row, _ in pairs], [each for _, each in pairs])
    return (write_segment(folder, path, relation, first_row=0, rows=rows, form="auto"),)


@pytest.fixture
def staged(tmp_path: Path) -> tuple[Library, SavedResult]:
    library = Library(tmp_path)
    plain = put(library, "r", {"t": OWN}, kept=True)
    with library.writing("r") as folder:
        for file in plain.folder.rglob("*.lineage"):
            place = folder / file.relative_to(plain.folder)
            place.parent.mkdir(parents=True)
            place.write_bytes(file.read_bytes())
        stages = (
            Stage(2, (TableLineage("t", segment(folder, "stages/0/t", INNER, 2)),)),
            Stage(2, (), (StageLineage(0, segment(folder, "stages/1/0", OUTER, 2)),)),
        )
        refers = (
            StageLineage(0, segment(folder, "lineage/0", REFERS_TO_INNER, ROWS)),
            StageLineage(1, segment(folder, "lineage/1", REFERS_TO_OUTER, ROWS)),
        )
        saved = replace(plain, data=folder.name, stages=stages, refers=refers)
        return library, library.publish(lambda newest: saved)


def test_questions_go_through_stages(staged: tuple[Library, SavedResult], tmp_path: Path) -> None:
    _, saved = staged
    again = Library(tmp_path)
    found = again.get("r")
    assert found == saved
    relation = again.relation(found, found.tables[0])
    rows, ids = relation.pairs()
    assert set(zip(rows.tolist(), ids.tolist(), strict=True)) == PAIRS
    assert set(relation.backward(LineageSet([0, 9]))) == {100, 101, 102, 9}
    assert set(relation.forward(LineageSet([102]))) == {0, 5, 7}
    assert found.pairs == len(OWN) + len(INNER)
    assert found.lineage_size == sum(path.stat().st_size for path in found.folder.rglob("*") if path.is_file())


def test_an_earlier_release_refuses_it_by_name(
    staged: tuple[Library, SavedResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forward_lineage.store.library.library.LATEST", 2)
    assert Library(tmp_path).get("r", 1).stages == ()
    with pytest.raises(SetupError, match="has manifest format 3, this release reads up to 2"):
        Library(tmp_path).get("r")


def _stage(saved: SavedResult, **changed: object) -> SavedResult:
    return replace(saved, stages=(replace(saved.stages[0], **changed), *saved.stages[1:]))  # type: ignore[arg-type]


SPOILT: dict[str, Callable[[SavedResult], SavedResult]] = {
    "in a circle": lambda saved: _stage(saved, stages=saved.stages[1].stages),
    "of no stage": lambda saved: replace(saved, refers=(replace(saved.refers[0], stage=2),)),
    "twice": lambda saved: replace(saved, refers=saved.refers[:1] * 2),
    "of another table": lambda saved: _stage(saved, tables=(replace(saved.stages[0].tables[0], table="u"),)),
    "of more rows": lambda saved: _stage(saved, rows=3),
    "before the first row": lambda saved: _refers(saved, first_row=-1),
    "behind the last row": lambda saved: _refers(saved, first_row=1),
    "elsewhere": lambda saved: _refers(saved, path="lineage/../../x"),
    "of other bytes": lambda saved: _refers(saved, form="other"),
}


def _refers(saved: SavedResult, **changed: object) -> SavedResult:
    (entry,) = saved.refers[0].segments
    spoilt = replace(saved.refers[0], segments=(replace(entry, **changed),))  # type: ignore[arg-type]
    return replace(saved, refers=(spoilt, *saved.refers[1:]))


@pytest.mark.parametrize("how", SPOILT)
def test_a_manifest_that_cannot_be_right(staged: tuple[Library, SavedResult], how: str) -> None:
    _, saved = staged
    check_sound(saved)
    with pytest.raises(ValueError, match=r"stage|rows|row|path|segment|table"):
        check_sound(SPOILT[how](saved))
