"""Saved results brought up to date: what is kept, what runs again, what is left, and what a reader sees meanwhile."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.embedded.questions import Questions
from forward_lineage.spark.settings import UPDATE, configured
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.rerun import NAME
from forward_lineage.store.saving.saver import Saver
from forward_lineage.store.updating import replacing
from forward_lineage.store.updating.proving import Prover
from forward_lineage.store.updating.replacing import Replacer
from tests.forward_lineage.cli.in_this_process import invoke
from tests.forward_lineage.prepared import Prepared
from tests.forward_lineage.row_ids.conftest import write
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import NameTakenError

CSV = {"format": "csv", "options": {"header": "true", "inferSchema": "true"}}
PEOPLE = "id,city\n77,Rome\n12,Oslo\n5,Oslo\n"
RESULTS = {
    "by_city": "SELECT city, count(*) AS n FROM people GROUP BY city ORDER BY city",
    "in_oslo": "SELECT v FROM people JOIN visits ON id = v % 100 WHERE city = 'Oslo' ORDER BY v",
    "first": "SELECT min(v) AS v FROM in_oslo",
    "cities": "SELECT count(DISTINCT city) AS n FROM by_city",
    "beyond": "SELECT n + 1 AS n FROM cities",
}
Ways = dict[str, tuple[str, int]]


@pytest.fixture(scope="module")
def town_home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Prepared, Path]:
    """People by a key, visits by position, and results on top of each other; and the folder of the two tables."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "people.csv").write_text(PEOPLE)
    write(folder / "visits" / "a.parquet", [77, 12, 105])

    def make(lineage: ForwardLineage) -> None:
        lineage.register("people", path=folder / "people.csv", key="id", **CSV)  # type: ignore[arg-type]
        lineage.register("visits", path=folder / "visits")
        for name, sql in RESULTS.items():
            lineage.save(sql, name)

    return Prepared(folder, spark, make), folder


@pytest.fixture
def town(spark: SparkSession, town_home: tuple[Prepared, Path], tmp_path: Path) -> Iterator[ForwardLineage]:
    """A copy of that home; what a test makes of the tables is undone."""
    home, folder = town_home
    people = folder / "people.csv"
    written = people.stat()
    yield ForwardLineage(spark, home.copy(tmp_path / "home"))
    people.write_text(PEOPLE)
    os.utime(people, ns=(written.st_atime_ns, written.st_mtime_ns))
    for visits in (folder / "visits").glob("[!a]*"):
        visits.unlink()
    drop_views(spark)


def move(lineage: ForwardLineage, old: str, new: str) -> None:
    """Correct the file of people, and register that."""
    file = Path(lineage.tables()["people"].source["copied"]["path"])
    file.write_text(file.read_text().replace(old, new))
    lineage.refresh("people")


def ways(lineage: ForwardLineage, *name: str, **how: bool) -> Ways:
    return {row.result: (row.way, row.version) for row in lineage.update(*name, **how).collect()}


def check_in_step(lineage: ForwardLineage, results: Mapping[str, str] = RESULTS) -> None:
    """Rows and lineage of all results are those of a full run, and nothing is behind."""
    assert lineage.stale().count() == 0
    for name, sql in results.items():
        traced = lineage.sql(sql)
        tables = traced.schema["DL"].dataType.names  # type: ignore[attr-defined]
        wanted = traced.selectExpr("*", *(f"dl_ids(DL.{table}) AS dl_{table}" for table in tables)).drop("DL").collect()
        numbers = lineage._parts.questions.numbers_in_order(lineage.describe(name)).tolist()
        rows = zip(numbers, lineage.result(name).collect(), strict=True)
        found = [
            (*row, *(lineage.backward_ids(name, rows=[number], table=table).ids().tolist() for table in tables))
            for number, row in rows
        ]
        there = [tuple(row) for row in wanted]
        if not re.search(r"ORDER BY \w+$", sql):
            found, there = sorted(found), sorted(there)
        assert found == there, name


def test_one_cell(town: ForwardLineage) -> None:
    """The number of cities comes out equal, so that the wave stops there; who is in Oslo is not asked again."""
    rows = town.describe("in_oslo").row_files[0]
    inode = (town.describe("in_oslo").folder / rows.path).stat().st_ino
    move(town, "77,Rome", "77,Bonn")
    wanted = {
        "by_city": ("partly", 2),
        "in_oslo": ("untouched", 2),
        "cities": ("recomputed", 2),
        "first": ("untouched", 2),
        "beyond": ("untouched", 2),
    }
    assert ways(town) == wanted
    assert (town.describe("in_oslo").folder / rows.path).stat().st_ino == inode, "files are shared"
    check_in_step(town)
    assert ways(town) == {}
    move(town, "12,Oslo", "12,Rome")
    assert {name: way for name, (way, _) in ways(town).items()} == {
        **dict.fromkeys(RESULTS, "recomputed"),
        **dict.fromkeys(["by_city", "in_oslo", "beyond"], "partly"),
    }
    check_in_step(town)


IN_PART = {
    "groups": "SELECT city, count(*) AS n, max(id) AS top FROM people GROUP BY city",
    "folks": "SELECT id, city FROM people WHERE id > 1 UNION ALL SELECT v, 'visit' FROM visits",
    "ranks": "SELECT id, city, rank() OVER (PARTITION BY city ORDER BY id) AS place FROM people",
    "many": "SELECT city, top FROM groups WHERE n > 1",
    "sizes": "SELECT top, n * 10 AS n FROM groups",
    "met": "SELECT g.n, f.id FROM groups g JOIN folks f ON g.top = f.id",
}


def test_parts(town: ForwardLineage) -> None:
    """Rows that stay keep their numbers and their meaning to what was made of them, and those that went are told of."""
    for name, sql in IN_PART.items():
        town.save(sql, name)
    before = {name: (town.describe(name), dict(by_number(town, name))) for name in IN_PART}
    move(town, "77,Rome", "77,Bonn")
    plan = {row.result: row.way for row in town.update(plan=True).collect()}
    assert {plan[name] for name in ("groups", "folks", "ranks")} == {"partly"} and plan["met"] == "depends"
    found = ways(town)
    assert {name: found[name][0] for name in IN_PART} == {
        **dict.fromkeys(IN_PART, "partly"),
        "many": "untouched",
    }
    check_in_step(town, IN_PART)
    for name, (then, rows) in before.items():
        if name == "met":
            continue
        now = dict(by_number(town, name))
        stayed = {number for number, row in rows.items() if "Rome" not in row and 77 not in row}
        assert {number: now[number] for number in stayed} == {number: rows[number] for number in stayed}, name
        assert max(now) < town.describe(name).numbers_end >= then.numbers_end
    rome = next(number for number, row in before["groups"][1].items() if "Rome" in row)
    with pytest.raises(LineageError, match=rf"groups has no row {rome} any more: it went when the result was brought"):
        town.backward_ids("groups", rows=[rome], table="people")
    check_questions(town)
    move(town, "12,Oslo", "12,Bonn")
    assert {way for name, (way, _) in ways(town).items() if name in IN_PART} <= {"partly", "recomputed"}
    check_in_step(town, IN_PART)
    town.save(IN_PART["groups"].replace("people", "people WHERE id = 5"), "groups", mode="append")
    assert sorted(number for number, _ in by_number(town, "groups")) == sorted(town.describe("groups").numbers())
    assert town.backward_ids("groups", where="n = 1 AND top = 5", table="people").ids().tolist() == [5]


def by_number(lineage: ForwardLineage, name: str) -> Iterator[tuple[int, tuple[object, ...]]]:
    for number, *row in lineage.rows(name).collect():
        yield number, tuple(row)


def check_questions(lineage: ForwardLineage) -> None:
    """The same answers with Spark and without, of versions that were made in part."""
    without = Questions(Path(lineage.home))
    for name, bonn in (("groups", [77]), ("folks", [77]), ("sizes", [77])):
        where = "n = 10" if name == "sizes" else "city = 'Bonn'"
        assert lineage.backward_ids(name, where=where, table="people").ids().tolist() == bonn
        assert without.backward(name, where, table="people").ids.tolist() == bonn
        touched = lineage.forward_ids("people", where="id = 77", result=name)
        assert touched.ids().tolist() == without.forward("people", "id = 77", result=name).ids.tolist()
        assert len(touched) == 1
    counted = {row.result: row.rows_touched for row in lineage.impact("people", where="id = 77").collect()}
    parts = ("groups", "folks", "ranks", "sizes")
    assert {name: counted[name] for name in parts} == dict.fromkeys(parts, 1)
    assert counted == {each.result.name: len(each.rows or ()) for each in without.impact("people", "id = 77").touched}


def test_the_faster_way(town: ForwardLineage) -> None:
    """By default all of a small result is made again: one statement instead of two. The plan says both estimates."""
    town.save(IN_PART["groups"], "groups")
    move(town, "77,Rome", "77,Bonn")
    with configured(town.spark, {UPDATE: "auto"}):
        (step,) = town.update("groups", plan=True).collect()
    assert step.way == "recomputed"
    part, whole = map(float, re.findall(r"which would take about (\S+) s against (\S+) s for all of it", step.why)[0])
    assert part > whole
    assert ways(town, "groups") == {"groups": ("partly", 2)}


@pytest.mark.parametrize("step", every_day(["write_new_rows", "share_files", "publish"], ["share_files"]))
def test_a_part_that_is_cut_off(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """At each write: the version before is what is there, and the next update does all of it."""
    town.save(IN_PART["groups"], "groups")
    rows = dict(by_number(town, "groups"))
    move(town, "77,Rome", "77,Bonn")

    def cut(*_: object) -> None:
        raise RuntimeError("cut off")

    monkeypatch.setattr(Library if step == "publish" else replacing, step, cut)
    with pytest.raises(RuntimeError, match="cut off"):
        town.update("groups")
    monkeypatch.undo()
    assert (town.describe("groups").version, dict(by_number(town, "groups"))) == (1, rows)
    assert ways(town, "groups") == {"groups": ("partly", 2)}
    assert len(list((town.describe("groups").home).glob("data-*"))) == 1
    check_in_step_of(town, "groups")


def check_in_step_of(lineage: ForwardLineage, name: str) -> None:
    lineage.update()
    check_in_step(lineage, {name: IN_PART[name]})


@pytest.mark.long
def test_a_race_for_a_part(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another session saves the result while a part of it is made again, and clears away what was there before."""
    town.save(IN_PART["groups"], "groups")
    move(town, "77,Rome", "77,Bonn")
    touched = Replacer.touched

    def late(self: Replacer, *given: object) -> object:
        found = touched(self, *given)  # type: ignore[arg-type]
        town.save("SELECT 'theirs' AS city, 1L AS n, 1 AS top", "groups")
        return found

    monkeypatch.setattr(Replacer, "touched", late)
    with pytest.raises(NameTakenError, match="another session saved groups while it was being brought up to date"):
        town.update("groups")
    assert [row.city for row in town.result("groups").collect()] == ["theirs"]


def test_rows_that_come(town: ForwardLineage) -> None:
    """By position: a visit of nobody joins nothing, one of somebody does."""
    visits = Path(town.tables()["visits"].source["path"])
    write(visits / "b.parquet", [99])
    town.refresh("visits")
    assert ways(town) == {"in_oslo": ("untouched", 2), "first": ("untouched", 2)}
    check_in_step(town)
    write(visits / "c.parquet", [12])
    town.refresh("visits")
    assert ways(town, "first") == {"in_oslo": ("partly", 3), "first": ("partly", 3)}
    check_in_step(town)


def test_a_plan_writes_nothing(town: ForwardLineage) -> None:
    move(town, "77,Rome", "77,Bonn")
    plan = ways(town, plan=True)
    assert plan == {
        "by_city": ("partly", 1),
        "in_oslo": ("untouched", 1),
        "cities": ("depends", 1),
        "beyond": ("depends", 1),
        "first": ("untouched", 1),
    }
    assert town.stale().count() > 0
    assert {way for way, _ in ways(town, full=True).values()} == {"recomputed"}
    check_in_step(town)


def test_what_is_left(town: ForwardLineage) -> None:
    town.save("SELECT city FROM people WHERE id = :id", "asked", args={"id": 5})
    town.save(town.sql("SELECT city FROM people"), "framed")
    town.save("SELECT city FROM people", "grown")
    town.save("SELECT city FROM people", "grown", mode="append")
    town.save("SELECT city FROM people", "older")
    (town.describe("older").folder / NAME).unlink()
    town.save("SELECT city FROM older", "above")
    town.save("SELECT 1 AS n FROM above", "circle")
    town.save("SELECT n FROM circle", "circle")
    with pytest.warns(UserWarning, match="update leaves results as they were"):
        assert ways(town) == {"circle": ("left", 2)}
    Path(town.tables()["people"].source["copied"]["path"]).write_text(PEOPLE.replace("Rome", "Bonn"))
    with pytest.raises(
        LineageError, match=r'by_city cannot be brought up to date: .* Call lineage.refresh\("people"\)'
    ):
        town.update("by_city")
    town.refresh("people")
    with pytest.warns(UserWarning) as told:
        found = ways(town)
    assert {name for name, (way, _) in found.items() if way == "left"} == {
        *("asked", "framed", "grown", "older", "above", "circle"),
    }
    said = str(told[0].message)
    for reason in (
        "parameters",
        "a DataFrame with DL",
        "rows were appended",
        "it is not known how",
        "older, which it reads",
    ):
        assert reason in said
    assert [row.city for row in town.result("older").collect()] == ["Rome", "Oslo", "Oslo"]


@pytest.mark.parametrize("proven", every_day([True, False], [True]))
def test_a_race(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch, proven: bool) -> None:
    """Another session saves the result while it is brought up to date: the other one wins, whichever way it goes."""
    move(town, "77,Rome", "77,Bonn")
    unproven = Prover.unproven

    def late(self: Prover, *given: object) -> str | None:
        monkeypatch.setattr(Prover, "unproven", unproven)
        town.save("SELECT 'theirs' AS city, 1L AS n", "by_city")
        return None if proven else "it is tried"

    monkeypatch.setattr(Prover, "unproven", late)
    with pytest.raises(NameTakenError, match="another session saved by_city while it was being brought up to date"):
        town.update("by_city")
    assert [row.city for row in town.result("by_city").collect()] == ["theirs"]


@pytest.mark.long
@pytest.mark.parametrize("beside", ["update", "save"])
def test_another_session(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch, beside: str) -> None:
    """Of two updates one wins, and the other says so; a save of another result does not disturb."""
    move(town, "77,Rome", "77,Bonn")
    unproven = Prover.unproven

    def late(self: Prover, *given: object) -> str | None:
        monkeypatch.setattr(Prover, "unproven", unproven)
        other = ForwardLineage(town.spark, town.home)
        if beside == "update":
            assert ways(other, "by_city")["by_city"] == ("partly", 2)
        else:
            other.save("SELECT city FROM people WHERE id = 77", "of_77")
        return unproven(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Prover, "unproven", late)
    if beside == "update":
        with pytest.raises(NameTakenError, match="another session saved by_city while it was being brought up to date"):
            town.update("by_city")
    else:
        assert ways(town, "by_city") == {"by_city": ("partly", 2)}
        assert [row.city for row in town.result("of_77").collect()] == ["Bonn"]
    assert ways(town, "by_city") == {}
    town.update()
    check_in_step(town)


@pytest.mark.long
def test_an_update_while_it_is_saved(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that began before an update ended comes after it: both say what is saved, and the newest is read."""
    move(town, "77,Rome", "77,Bonn")
    publish = Library.publish

    def late(self: Library, *given: object) -> object:
        monkeypatch.setattr(Library, "publish", publish)
        assert ways(ForwardLineage(town.spark, town.home), "by_city") == {"by_city": ("partly", 2)}
        return publish(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Library, "publish", late)
    assert town.save("SELECT 'mine' AS city, 1L AS n FROM people WHERE id = 5", "by_city").version == 3
    assert [row.city for row in town.result("by_city").collect()] == ["mine"]


@pytest.mark.long
def test_a_race_for_what_it_reads(town: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was proven of one version of a result says nothing of the next."""
    town.save(RESULTS["in_oslo"], "in_oslo")
    unproven = Prover.unproven

    def late(self: Prover, *given: object) -> str | None:
        found = unproven(self, *given)  # type: ignore[arg-type]
        town.save("SELECT 1L AS v FROM visits WHERE v = 12", "in_oslo")
        return found

    monkeypatch.setattr(Prover, "unproven", late)
    with pytest.raises(LineageError, match="first cannot be brought up to date: in_oslo changed while what is made of"):
        town.update("first")
    monkeypatch.undo()
    assert ways(town) == {"first": ("recomputed", 2)}


@pytest.mark.parametrize("error", every_day([RuntimeError, KeyboardInterrupt], [KeyboardInterrupt]))
def test_an_update_that_is_cut_off(
    town: ForwardLineage, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """The version before is what is read meanwhile, and what is there then; the next update goes on from there."""
    move(town, "77,Rome", "77,Bonn")
    save: Callable[..., object] = Saver.save
    seen: list[int] = []

    def cut(self: Saver, sql: str, wish: object, *more: object) -> object:
        if "by_city" in sql:
            seen.extend(row.n for row in town.result("cities").collect())
            raise error("cut off")
        return save(self, sql, wish, *more)

    monkeypatch.setattr(Saver, "save", cut)
    with pytest.raises(error, match=r"cut off|stopped; up to date: by_city"):
        town.update("cities")
    assert seen == [2]
    monkeypatch.undo()
    assert {row.result for row in town.stale().collect()} == {"in_oslo", "first", "cities", "beyond"}
    ways(town)
    check_in_step(town)


@pytest.mark.long
def test_a_note_that_is_damaged(town: ForwardLineage) -> None:
    note = town.describe("cities").folder / NAME
    note.write_bytes(note.read_bytes().replace(b"null", b"true"))
    move(town, "5,Oslo", "5,Ulm")
    with pytest.warns(UserWarning, match=rf"cities: {note} is damaged. Save cities again."):
        assert ways(town)["beyond"] == ("left", 1)


def test_the_command(town: ForwardLineage) -> None:
    move(town, "77,Rome", "77,Bonn")

    def run(*words: str) -> list[str]:
        done = invoke(town.spark, "update", "--home", str(town.home), *words)
        assert done.exit_code == 0, done.stderr
        return done.stdout.splitlines()

    assert run("in_oslo", "--plan") == [
        "in_oslo: untouched, no row of people that went, came or changed in a column that it reads is or would be in it"
    ]
    assert run("by_city") == [
        "by_city, version 2: partly, rows of people that changed are added to its groups, or taken away"
    ]
    assert len(run("--json")) == 4
    assert run() == ["Nothing is behind."]
    assert invoke(town.spark, "update", "--home", str(town.home), "nothing").exit_code == 1
