"""Indexes of saved results: used by questions, through appends, and gone with the versions they were made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from forward_lineage import ForwardLineage
from forward_lineage.relations import forward_index, stored
from forward_lineage.relations.forward_index import ForwardIndex
from forward_lineage.storage.sealed import seal, unseal
from forward_lineage.store.library.library import Library
from tests.forward_lineage.cli.in_this_process import without_spark
from udafs.lineage_set import LineageSet


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how few files an index was asked, and answered; it is asked of any number of segments."""
    for module in (forward_index, stored):
        monkeypatch.setattr(module, "FEW", 0)
    found: list[int] = []
    asked = ForwardIndex.rows_of

    def rows_of(self: ForwardIndex, ids: LineageSet, fewer_than: int) -> LineageSet | None:
        answer = asked(self, ids, fewer_than)
        found.extend([] if answer is None else [fewer_than])
        return answer

    monkeypatch.setattr(ForwardIndex, "rows_of", rows_of)
    return found


@pytest.fixture
def parts(lineage: ForwardLineage) -> Callable[[int, str], None]:
    """Saves each fifth row of a table: the ids of one part lie between those of the others."""
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW numbers AS SELECT id, id % 3 AS k FROM range(0, 200, 1, 1)")
    lineage.register("numbers", key="id")

    def save(part: int, mode: str) -> None:
        lineage.save(f"SELECT id, k FROM numbers WHERE id % 5 = {part}", "parts", mode=mode)  # type: ignore[arg-type]

    for part in range(4):
        save(part, "append" if part else "overwrite")
    return save


def folders(lineage: ForwardLineage) -> set[str]:
    home = Library(lineage.home).folder / "parts"
    return {each.name for each in home.glob("index-*")}


def test_questions_use_it_also_after_rows_were_appended(
    lineage: ForwardLineage, parts: Callable[[int, str], None], used: list[int]
) -> None:
    def rows(*ids: int) -> set[int]:
        found = lineage.forward("numbers", ids=ids, result="parts")
        assert sorted(row.id for row in found.collect()) == sorted(ids)
        return set(lineage.forward_ids("numbers", ids=ids, result="parts"))

    before = rows(3, 7)
    report = lineage.create_index("parts")
    assert (report.name, report.version, report.pairs) == ("parts", 4, 160) and report.size and report.seconds > 0
    assert not used and rows(3, 7) == before and set(used) == {4}
    parts(4, "append")
    used.clear()
    assert rows(3, 7) == before and len(rows(4, 7)) == 2 and set(used) == {4}
    assert folders(lineage) == {"index-1"}
    assert lineage.create_index("parts").pairs == 200
    used.clear()
    assert rows(3, 7) == before and set(used) == {5}
    assert lineage.impact("numbers", ids=[4, 7]).collect()[0].rows_touched == 2


def test_it_goes_with_the_versions_it_was_made_of(
    lineage: ForwardLineage, parts: Callable[[int, str], None], used: list[int]
) -> None:
    lineage.create_index("parts")
    parts(1, "overwrite")
    assert not folders(lineage) and len(lineage.forward_ids("numbers", ids=[1, 2], result="parts")) == 1
    parts(2, "append")
    lineage.create_index("parts")
    assert len(lineage.forward_ids("numbers", ids=[1, 2], result="parts")) == 2 and len(used) == 1
    assert folders(lineage) == {"index-5"}
    lineage.drop("parts")
    assert not folders(lineage)


@pytest.mark.usefixtures("parts")
def test_a_damaged_one_is_passed_over(lineage: ForwardLineage, used: list[int]) -> None:
    lineage.create_index("parts")
    (folder,) = (Library(lineage.home).folder / "parts").glob("index-*")
    manifest = folder / "index.json"
    whole = manifest.read_bytes()
    fields = unseal(whole, "")
    damages = [whole.replace(b'"pairs": 40', b'"pairs": 41'), whole[:-1], b""]
    for name, value in {"path": "../data", "first_id": 2**64 - 1, "last_id": -1, "pairs": 39, "size": "7"}.items():
        (index,) = fields["indexes"]
        forged = {**index, "segments": [{**each, name: value} for each in index["segments"]]}
        damages.append(seal({"indexes": [forged]}))
    for damaged in damages:
        manifest.write_bytes(damaged)
        assert len(lineage.forward_ids("numbers", ids=[1, 2], result="parts")) == 2 and not used
    manifest.write_bytes(seal({**fields, "indexes": [{**fields["indexes"][0], "left_out": [-7]}]}))
    assert len(lineage.forward_ids("numbers", ids=[1, 2], result="parts")) == 2 and not used
    lineage.create_index("parts")
    assert len(lineage.forward_ids("numbers", ids=[1, 2], result="parts")) == 2 and len(used) == 1


def test_stages_have_indexes_too(lineage: ForwardLineage, used: list[int]) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW numbers AS SELECT id, id % 40 AS k FROM range(0, 400, 1, 1)")
    lineage.register("numbers", key="id")
    lineage.spark.conf.set("spark.forward_lineage.by_reference", "true")
    try:
        groups = "SELECT k, sum(id) AS total FROM numbers GROUP BY k"
        saved = lineage.save(f"SELECT n.id, g.total FROM numbers n JOIN ({groups}) g ON n.k = g.k", "joined")
    finally:
        lineage.spark.conf.unset("spark.forward_lineage.by_reference")
    assert saved.stages
    before = lineage.forward_ids("numbers", ids=[7, 300], result="joined")
    assert len(before) == 20
    assert lineage.create_index("joined").pairs > 0
    assert lineage.forward_ids("numbers", ids=[7, 300], result="joined") == before


@pytest.mark.usefixtures("parts", "used")
def test_by_the_command(lineage: ForwardLineage) -> None:
    done = without_spark("index", "parts", "--home", str(lineage.home))
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("indexed 160 pairs of parts, version 4, in ")
    lineage.save("SELECT count(*) AS n FROM numbers WHERE id < 0", "nothing")
    assert without_spark("index", "nothing", "--home", str(lineage.home)).stdout.startswith("nothing needs no index")
    done = without_spark("index", "part", "--home", str(lineage.home))
    assert (done.exit_code, done.stdout) == (1, "") and "there is no saved result part. Saved: parts" in done.stderr
