"""Lineage captured in part or later: whatever is asked is answered as if all of it had been captured, or refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.settings import configured
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.deferred_lineage import LATER, WHOLE
from forward_lineage.store.library.library import Library
from forward_lineage.store.saving.scope import When
from tests.forward_lineage.prepared import Prepared
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import BadArgumentError, ChangedError, NotTracedError, SetupError
from udafs.lineage_set import LineageSet

JOIN = "SELECT r.g, s.h, sum(r.v) AS v, count(*) AS n FROM r JOIN s ON r.k = s.k GROUP BY r.g, s.h"
STAGED = "SELECT r.k, r.v, t.total FROM r JOIN (SELECT g, sum(v) AS total FROM r GROUP BY g) t ON r.g = t.g"
QUERIES = [
    JOIN,
    f"{JOIN} ORDER BY v DESC, g, h",
    STAGED,
    "SELECT g, v FROM r UNION ALL SELECT h, k FROM s",
    "SELECT g, v, sum(v) OVER (PARTITION BY g ORDER BY k, v) AS so_far FROM r",
    "SELECT DISTINCT g FROM r WHERE k IN (SELECT k FROM s WHERE h > 1)",
]


@pytest.fixture(scope="module")
def registered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A home where r and s are registered, files that no test changes."""
    data = tmp_path_factory.mktemp("data")
    return Prepared(tmp_path_factory.mktemp("home"), spark, lambda lineage: write(lineage, data, 7))


@pytest.fixture
def tables(spark: SparkSession, registered: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(spark, registered.copy(tmp_path / "home"))
    drop_views(spark)


@pytest.fixture
def changing(lineage: ForwardLineage, tmp_path: Path) -> ForwardLineage:
    """The same tables, of files in `tmp_path`."""
    write(lineage, tmp_path, 7)
    return lineage


def write(lineage: ForwardLineage, folder: Path, seed: int) -> None:
    """Two random tables r(k, g, v) and s(k, h), of small values that repeat, some of them NULL."""
    chance = random.Random(seed)

    def column(most: int) -> list[int | None]:
        return [None if chance.random() < 0.1 else chance.randint(0, most) for _ in range(30)]

    for name, columns in {"r": {"k": 6, "g": 3, "v": 4}, "s": {"k": 6, "h": 2}}.items():
        place = folder / name
        place.mkdir(exist_ok=True)
        listed = {each: pa.array(column(most), pa.int64()) for each, most in columns.items()}
        parquet.write_table(pa.table(listed), place / f"{seed}.parquet")
        lineage.register(name, path=place)


def pairs(lineage: ForwardLineage, name: str, table: str) -> set[tuple[int, int]]:
    return {(row.row, row.id) for row in lineage.table(f"lineage_of({name}, {table})").collect()}


def rows(lineage: ForwardLineage, name: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lineage.result(name).collect()]


def by_values(lineage: ForwardLineage, name: str, table: str) -> list[tuple[object, list[int]]]:
    """Each row of a result with its ids: two saves of a query may put the rows in different orders."""
    found: dict[int, list[int]] = {number: [] for number in range(lineage.describe(name).rows)}
    for row, base in sorted(pairs(lineage, name, table)):
        found[row].append(base)
    return sorted(zip(rows(lineage, name), found.values(), strict=True), key=repr)


class TestTables:
    @pytest.mark.parametrize("query", every_day(QUERIES[2:5], [QUERIES[2]]), ids=range(2, 5))
    def test_what_is_captured_is_what_would_be(self, tables: ForwardLineage, query: str) -> None:
        everything = {table.name for table in tables.save(query, "all_of_it").tables}
        for table in sorted(everything):
            saved = tables.save(query, "part", tables=[table])
            assert {each.name for each in saved.tables} == everything, "it was made of all of them still"
            assert {each.name for each in saved.tables if each.captured is Captured.NOW} == {table}
            assert by_values(tables, "part", table) == by_values(tables, "all_of_it", table)
            assert not list(saved.home.glob("whole-*")), "nothing was captured again"

    def test_the_rest_is_captured_when_asked_for(self, tables: ForwardLineage) -> None:
        tables.save(JOIN, "all_of_it")
        saved = tables.save(JOIN, "part", tables=["r"])
        assert saved.traced("s") is not None and not saved.is_whole
        wanted = tables.backward_ids("all_of_it", "g = 1", table="s")
        assert wanted and tables.backward_ids("part", "g = 1", table="s") == wanted
        assert (saved.home / f"{WHOLE}-{saved.version}").is_dir()
        assert by_values(tables, "part", "s") == by_values(tables, "all_of_it", "s")

    def test_forward_impact_and_views_of_a_pruned_table(self, tables: ForwardLineage) -> None:
        tables.save(f"{JOIN} ORDER BY ALL", "all_of_it")
        tables.save(f"{JOIN} ORDER BY ALL", "part", tables=["r"])
        assert tables.forward_ids("s", "h = 1", result="part") == tables.forward_ids("s", "h = 1", result="all_of_it")
        touched = {row.result: row.rows_touched for row in tables.impact("s", where="h = 1").collect()}
        assert touched["part"] == touched["all_of_it"] > 0
        assert tables.stale().collect() == []

    def test_a_pipeline_through_a_pruned_step(self, tables: ForwardLineage) -> None:
        for name, only in {"whole": None, "pruned": ["s"]}.items():
            tables.save(f"{JOIN} ORDER BY ALL", name, tables=only)
            tables.save(f"SELECT max(v) AS v FROM {name} WHERE n > 1", f"{name}_top")
        assert pairs(tables, "pruned_top", "r") == pairs(tables, "whole_top", "r") != set()
        seen = tables.sql("SELECT count(*) FROM BACKWARD(pruned_top, r)").first()
        assert seen is not None and seen[0] == len({each for _, each in pairs(tables, "whole_top", "r")})

    def test_a_pruned_step_that_was_saved_again(self, tables: ForwardLineage) -> None:
        """The version that the report was made of is asked, not the newest."""
        tables.save(f"{JOIN} ORDER BY ALL", "step", tables=["s"])
        tables.save("SELECT max(v) AS v FROM step WHERE n > 1", "report")
        tables.save("SELECT 1 AS v, 2 AS n, g FROM r WHERE g = 0", "step")
        tables.save(f"{JOIN} ORDER BY ALL", "whole")
        tables.save("SELECT max(v) AS v FROM whole WHERE n > 1", "whole_top")
        assert pairs(tables, "report", "r") == pairs(tables, "whole_top", "r")

    def test_of_no_table_at_all(self, tables: ForwardLineage) -> None:
        saved = tables.save(JOIN, "part", tables=[])
        assert saved.pairs == 0 and saved.lineage_size == 0
        tables.save(JOIN, "all_of_it")
        assert by_values(tables, "part", "r") == by_values(tables, "all_of_it", "r")

    def test_what_is_no_table_of_the_query(self, tables: ForwardLineage) -> None:
        with pytest.raises(BadArgumentError, match=r"^the query is not traced to t\. It is traced to r, s\.$"):
            tables.save(JOIN, "part", tables=["t"])
        with pytest.raises(BadArgumentError, match="names of tables"):
            tables.save(JOIN, "part", tables="r")
        with pytest.raises(BadArgumentError, match="LINEAGE ON says itself"):
            tables.save("SELECT g FROM r LINEAGE ON r.g", "part", tables=["r"])
        with pytest.raises(BadArgumentError, match="a DataFrame has its lineage already"):
            tables.save(tables.sql(JOIN), "part", tables=["r"])

    def test_nothing_is_appended_to_a_part(self, tables: ForwardLineage) -> None:
        tables.save(JOIN, "part", tables=["r"])
        with pytest.raises(BadArgumentError, match="not all lineage was captured"):
            tables.save(JOIN, "part", mode="append")


class TestWhere:
    def test_a_question_needs_all_of_it(self, tables: ForwardLineage) -> None:
        """Lineage in some rows answers for these rows only."""
        tables.save(JOIN, "all_of_it")
        saved = tables.save(JOIN, "part", where={"r": "v > 2"})
        assert 0 < saved.pairs < tables.describe("all_of_it").pairs
        assert by_values(tables, "part", "r") == by_values(tables, "all_of_it", "r")
        assert by_values(tables, "part", "s") == by_values(tables, "all_of_it", "s")

    @pytest.mark.parametrize("query", QUERIES[2:4], ids=["staged", "union"])
    def test_what_is_captured_is_that_of_these_rows(self, tables: ForwardLineage, query: str) -> None:
        tables.save(query, "all_of_it")
        saved = tables.save(query, "part", where={"r": "v > 2 OR g IS NULL"})
        chosen = {row.row_id for row in tables.rows("r").where("v > 2 OR g IS NULL").collect()}
        library = tables._parts.library
        table = saved.traced("r")
        assert table is not None
        number, base = library.lineage.relation_within(saved, table).pairs()
        found: dict[int, list[int]] = {row: [] for row in range(saved.rows)}
        for row, each in zip(number.tolist(), base.tolist(), strict=True):
            found[row].append(each)
        wanted = [(row, [each for each in ids if each in chosen]) for row, ids in by_values(tables, "all_of_it", "r")]
        assert sorted(zip(rows(tables, "part"), found.values(), strict=True), key=repr) == sorted(wanted, key=repr)

    def test_a_condition_that_says_something_else_now(self, tables: ForwardLineage) -> None:
        """The same text is met by other rows under other settings: those that were captured are not enough."""
        only = "hour(timestamp_seconds(v * 3600)) > 2"
        saved, asked = "SELECT g, count(*) AS n FROM r GROUP BY g", f"SELECT v FROM BACKWARD(part, r) WHERE {only}"
        with configured(tables.spark, {"spark.sql.session.timeZone": "UTC"}):
            tables.save(saved, "part", where={"r": only})
        for zone, recomputed in {"UTC": 0, "Etc/GMT-2": 1}.items():  # two hours later
            with configured(tables.spark, {"spark.sql.session.timeZone": zone}):
                found = sorted(row.v for row in tables.sql(asked).collect())
                assert found == sorted(row.v for row in tables.spark.sql(f"SELECT v FROM r WHERE {only}").collect())
            assert tables._parts.library.lineage.recomputed == recomputed

    @pytest.mark.parametrize("when", ["now", "later"])
    def test_bad_conditions(self, tables: ForwardLineage, when: When) -> None:
        wrong = {
            "x > 1": "x",
            "v > rand()": "depends on",
            "v > (SELECT 1)": "a subquery",
        }
        for condition, message in wrong.items():
            with pytest.raises(LineageError, match=message):
                tables.save(JOIN, "part", where={"r": condition}, capture=when)
        with pytest.raises(BadArgumentError, match="restricts lineage in r, of which tables= captures none"):
            tables.save(JOIN, "part", tables=["s"], where={"r": "v > 1"})

    @pytest.mark.since("4.0", "functions written in SQL")
    @pytest.mark.parametrize("when", ["now", "later"])
    def test_a_function_of_the_users_in_a_condition(self, tables: ForwardLineage, when: When) -> None:
        tables.spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION most() RETURNS INT RETURN 2")
        with pytest.raises(LineageError, match="a function of"):
            tables.save(JOIN, "part", where={"r": "v > most()"}, capture=when)


class TestLater:
    @pytest.mark.parametrize("query", every_day(QUERIES[1:5], [QUERIES[1]]), ids=range(1, 5))
    def test_the_first_question_captures(self, tables: ForwardLineage, query: str) -> None:
        tables.save(query, "now")
        saved = tables.save(query, "later", capture="later")
        assert rows(tables, "later") and saved.pairs == 0
        assert not list(saved.folder.rglob("*.lineage")) and not list(saved.home.glob("later-*"))
        for table in saved.tables:
            assert by_values(tables, "later", table.name) == by_values(tables, "now", table.name)
        folder = saved.home / f"{LATER}-{saved.version}"
        assert folder.is_dir() and not (folder / "rows").exists()
        files = {path.stat().st_mtime_ns for path in folder.rglob("*")}
        other = ForwardLineage(tables.spark, tables.home)
        assert by_values(other, "later", "r") == by_values(tables, "now", "r")
        assert files == {path.stat().st_mtime_ns for path in folder.rglob("*")}, "another session finds it"

    def test_tables_and_conditions_of_later(self, tables: ForwardLineage) -> None:
        tables.save(JOIN, "now")
        saved = tables.save(JOIN, "later", tables=["r"], where={"r": "v > 2"}, capture="later")
        tables.capture("later")
        assert [each.name for each in saved.home.glob("*-1")] == ["later-1"]
        assert by_values(tables, "later", "s") == by_values(tables, "now", "s")
        assert by_values(tables, "later", "r") == by_values(tables, "now", "r")

    def test_tables_that_changed(self, changing: ForwardLineage, tmp_path: Path) -> None:
        changing.save(JOIN, "later", capture="later")
        write(changing, tmp_path, 8)
        with pytest.raises(ChangedError, match=r"^lineage of later that was not captured .* version 1 of r, now it is"):
            changing.backward_ids("later", table="r")
        assert rows(changing, "later"), "its rows can be read still"

    def test_a_table_that_changes_and_is_not_registered_again(self, changing: ForwardLineage, tmp_path: Path) -> None:
        changing.save(JOIN, "later", capture="later")
        (tmp_path / "r" / "7.parquet").unlink()
        with pytest.raises(ChangedError, match=r"cannot be captured any more: .*Save later again\.$"):
            changing.backward_ids("later", table="r")

    def test_a_view_that_says_something_else(self, tables: ForwardLineage) -> None:
        """Its rows are the same, and are made of other rows."""
        tables.spark.sql("CREATE OR REPLACE TEMP VIEW both AS SELECT 1 AS x FROM r WHERE g = 1")
        tables.save("SELECT DISTINCT x FROM both", "later", capture="later")
        tables.spark.sql("CREATE OR REPLACE TEMP VIEW both AS SELECT 1 AS x FROM r WHERE g = 2")
        with pytest.raises(ChangedError, match="a view that it reads says something else now"):
            tables.backward_ids("later")

    def test_settings_are_those_of_then(self, tables: ForwardLineage) -> None:
        tables.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        tables.save("SELECT g, count(*) AS n FROM r WHERE hour(timestamp_seconds(v)) = 9 GROUP BY g", "later",
                    capture="later")  # fmt: skip
        tables.spark.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            assert len(tables.backward_ids("later")) > 10
            assert tables.spark.conf.get("spark.sql.session.timeZone") == "UTC"
        finally:
            tables.spark.conf.unset("spark.sql.session.timeZone")

    def test_what_cannot_be_made_again(self, tables: ForwardLineage) -> None:
        tables.save("SELECT g FROM r", "step")
        for query, message in {
            "SELECT g, rand() AS x FROM r": "its rows depend on",
            "SELECT g FROM BACKWARD(step, r)": r"reads BACKWARD\(…\)",
        }.items():
            with pytest.raises(NotTracedError, match=message):
                tables.save(query, "later", capture="later")
            assert tables.save(query, "auto", capture="auto").is_whole
        tables.spark.sql("CREATE OR REPLACE TEMP VIEW w AS SELECT 1 AS k, 2 AS v")
        tables.register("w", key="k", trusted=True)
        with pytest.raises(NotTracedError, match="taken on trust"):
            tables.save("SELECT v FROM w", "later", capture="later")

    def test_auto_leaves_lineage_for_later_where_much_is_read(
        self, tables: ForwardLineage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert tables.save(JOIN, "small", capture="auto").is_whole
        monkeypatch.setattr("forward_lineage.store.saving.auto.MOST_BYTES", 10)
        assert tables.save(JOIN, "large", capture="auto").pairs == 0
        assert by_values(tables, "large", "r") == by_values(tables, "small", "r")

    def test_a_pipeline_over_what_is_captured_later(self, tables: ForwardLineage) -> None:
        for name, when in {"now": "now", "late": "later"}.items():
            tables.save(f"{JOIN} ORDER BY ALL", name, capture=when)  # type: ignore[arg-type]
            tables.save(f"SELECT max(v) AS v FROM {name} WHERE n > 1", f"{name}_top", capture=when)  # type: ignore[arg-type]
        assert pairs(tables, "late_top", "r") == pairs(tables, "now_top", "r") != set()
        tables.save("SELECT g, g AS n, g AS v FROM r", "late")
        assert pairs(tables, "late_top", "r") == pairs(tables, "now_top", "r")

    def test_what_goes_with_its_version(self, tables: ForwardLineage) -> None:
        saved = tables.save(JOIN, "later", capture="later")
        tables.capture("later")
        tables.save(JOIN, "later")
        assert not list(saved.home.glob("later-*"))
        tables.save(JOIN, "later", capture="later")
        tables.capture("later")
        tables.drop("later")
        assert not list(saved.home.glob("later-*"))

    def test_damage_and_another_result(self, tables: ForwardLineage) -> None:
        saved = tables.save(JOIN, "later", capture="later")
        tables.capture("later")
        manifest = saved.home / "later-1" / "lineage.json"
        manifest.write_bytes(manifest.read_bytes().replace(b'"stages"', b'"stales"'))
        with pytest.raises(LineageError, match=r"lineage\.json is damaged"):
            ForwardLineage(tables.spark, tables.home).backward_ids("later", table="r")


def test_without_a_session_it_is_refused(tables: ForwardLineage) -> None:
    tables.save(JOIN, "part", tables=["r"])
    library = Library(tables.home)
    saved = library.get("part")
    table = saved.traced("s")
    assert table is not None
    with pytest.raises(NotTracedError, match="the lineage of part in s was not captured"):
        library.relation(saved, table)


def test_earlier_releases_refuse_it_by_name(tables: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.save(JOIN, "whole")
    tables.save(JOIN, "part", tables=["r"])
    monkeypatch.setattr("forward_lineage.store.library.library.LATEST", 3)
    library = Library(tables.home)
    assert library.get("whole").is_whole
    with pytest.raises(SetupError, match="has manifest format 4, this release reads up to 3"):
        library.get("part")


def test_two_sessions_that_ask_first(tables: ForwardLineage) -> None:
    """One captures, the other waits and finds it."""
    saved = tables.save(JOIN, "later", capture="later")
    sessions = [ForwardLineage(tables.spark.newSession(), tables.home) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda lineage: lineage.backward_ids("later", table="r"), sessions))
    assert found[0] == found[1] != LineageSet()
    assert sorted(path.name for path in saved.home.glob("*-*")) == [saved.data, "later-1"]


def test_a_capture_that_is_cut_off_leaves_nothing(tables: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = tables.save(JOIN, "later", capture="later")
    with monkeypatch.context() as patched:
        patched.setattr("forward_lineage.store.saving.deferred_capture.matched", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            tables.capture("later")
    assert [path.name for path in saved.home.glob("*-*")] == [saved.data]
    tables.capture("later")
    assert not list((saved.home / "later-1").glob(".*")), "nothing but lineage"


def test_no_secret_is_kept(tables: ForwardLineage) -> None:
    tables.spark.conf.set("spark.sql.catalog.mine.password", "hunter2")
    try:
        saved = tables.save(JOIN, "later", capture="later")
        assert saved.recipe is not None and "hunter2" not in saved.manifest_path.read_text()
        tables.capture("later")
        assert tables.spark.conf.get("spark.sql.catalog.mine.password") == "hunter2"
    finally:
        tables.spark.conf.unset("spark.sql.catalog.mine.password")
