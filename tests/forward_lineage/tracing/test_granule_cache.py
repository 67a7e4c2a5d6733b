"""Values of LINEAGE ON that were looked up once for all rows: the granules are those that a dictionary gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.results import meaning_of
from forward_lineage.tracing import granule_cache, granule_types
from tests.task_errors import REFUSED
from tests.tiers import every_day

GROUPED = "SELECT g, count(*) AS n FROM t WHERE v % 3 <> 0 GROUP BY g LINEAGE ON t.word"
QUERIES = (
    GROUPED,
    "SELECT v, word FROM t WHERE v < 40 LINEAGE ON t.word",
    "SELECT x.g, max(y.v) AS m FROM t x JOIN t y ON x.v = y.v + 1 GROUP BY x.g LINEAGE ON upper(t.word), t.g",
    "SELECT g FROM t TABLESAMPLE (30 PERCENT) REPEATABLE (3) LINEAGE ON t.word",
    "SELECT g, count(*) AS n FROM t GROUP BY g LINEAGE ON CAST(t.v / 7 AS DOUBLE)",
    "SELECT g FROM t WHERE v > (SELECT avg(v) FROM t) LINEAGE ON t.word",
)


def write(folder: Path, rows: range, name: str = "a") -> None:
    folder.mkdir(exist_ok=True)
    words = [None if i % 11 == 0 else f"word {i % 29:02}" for i in rows]
    table = pa.table({"v": list(rows), "g": [i % 5 for i in rows], "word": words})
    parquet.write_table(table, folder / f"{name}.parquet", row_group_size=50)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of 400 rows. Few words are listed in the query itself, so here none may be."""
    monkeypatch.setattr(granule_types, "MOST_LISTED", 3)
    write(tmp_path / "t", range(200), "a")
    write(tmp_path / "t", range(200, 400), "b")
    return tmp_path / "t"


@pytest.fixture
def lineage_of_t(lineage: ForwardLineage, folder: Path) -> Iterator[ForwardLineage]:
    lineage.register("t", path=folder)
    yield lineage


def answers(lineage: ForwardLineage, sql: str, semantics: str = "data") -> list[str]:
    """Rows with their values, in any order."""
    return sorted(map(str, lineage.granules(lineage.sql(sql, semantics)).collect()))


def ids(lineage: ForwardLineage, sql: str, semantics: str = "data") -> list[str]:
    frame = lineage.sql(sql, semantics)
    return sorted(map(str, frame.withColumn("DL", frame["DL"]["t"]).selectExpr("*", "dl_ids(DL) AS i").collect()))


def kept(lineage: ForwardLineage, table: str = "t") -> list[str]:
    return sorted(each.name for each in (lineage.home / "tables" / table).glob("granules-*"))


@pytest.mark.parametrize("semantics", every_day(["data", "control"], ["control"]))  # which has the ids of data, too
def test_ids_and_values_are_those_of_a_dictionary(
    lineage_of_t: ForwardLineage, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [(ids(lineage_of_t, each, semantics), answers(lineage_of_t, each, semantics)) for each in QUERIES]
    assert len(kept(lineage_of_t)) == 3
    monkeypatch.setattr(granule_cache, "MOST_ROWS", 0)
    assert [(ids(lineage_of_t, each, semantics), answers(lineage_of_t, each, semantics)) for each in QUERIES] == here


def test_no_second_pass_over_the_table(lineage_of_t: ForwardLineage) -> None:
    lineage_of_t.sql(GROUPED)
    plan = lineage_of_t.sql(GROUPED)._jdf.queryExecution().optimizedPlan().toString()
    assert "Join" not in plan and plan.count("Relation") == 1


def test_interpreted(lineage_of_t: ForwardLineage) -> None:
    generated = ids(lineage_of_t, GROUPED)
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        lineage_of_t.spark.conf.set(name, value)
    try:
        assert ids(lineage_of_t, GROUPED) == generated
    finally:
        for name in settings:
            lineage_of_t.spark.conf.unset(name)


def test_keys(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder, key="v")
    assert answers(lineage, GROUPED) == answers(lineage, GROUPED)
    assert len(kept(lineage)) == 1


def test_keys_that_are_far_apart_take_a_dictionary(lineage: ForwardLineage, folder: Path) -> None:
    write(folder, range(10**12, 10**12 + 2000, 5), "c")
    lineage.register("t", path=folder, key="v")
    assert len(answers(lineage, GROUPED)) == 5
    assert not kept(lineage)


def test_rows_that_come_are_looked_up(lineage_of_t: ForwardLineage, folder: Path) -> None:
    for number in range(3):
        answers(lineage_of_t, GROUPED)
        write(folder, range(400 + number, 401 + number), f"more{number}")
        with pytest.raises(LineageError, match="refresh"):
            lineage_of_t.sql(GROUPED)
        lineage_of_t.refresh("t")
    found = answers(lineage_of_t, GROUPED)
    assert [each.split("-")[1] for each in kept(lineage_of_t)] == ["3", "4"], "those before are removed"
    assert "word 23" in "".join(found)


def test_another_session_takes_what_is_there(lineage_of_t: ForwardLineage) -> None:
    before = answers(lineage_of_t, GROUPED)
    (one,) = kept(lineage_of_t)
    made = (lineage_of_t.home / "tables" / "t" / one / "by_row").stat().st_mtime_ns
    other = ForwardLineage(lineage_of_t.spark, lineage_of_t.home)
    assert answers(other, GROUPED) == before
    assert (lineage_of_t.home / "tables" / "t" / one / "by_row").stat().st_mtime_ns == made


def test_a_home_whose_name_is_a_pattern(lineage_of_t: ForwardLineage, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "[ab]{c}").mkdir()
    there = ForwardLineage(lineage_of_t.spark, tmp_path / "[ab]{c}" / "home")
    there.register("t", path=folder)
    assert answers(there, GROUPED) == answers(lineage_of_t, GROUPED)
    assert kept(there)


def test_they_go_with_the_registration(lineage_of_t: ForwardLineage) -> None:
    lineage_of_t.sql(GROUPED)
    assert kept(lineage_of_t)
    lineage_of_t.unregister("t")
    assert not kept(lineage_of_t)


def test_settings_that_change_values_have_files_of_their_own(lineage_of_t: ForwardLineage) -> None:
    sql = "SELECT g FROM t LINEAGE ON concat(t.word, CAST(timestamp_seconds(t.v * 3600) AS STRING))"
    zone = lineage_of_t.spark.conf.get("spark.sql.session.timeZone")
    first = answers(lineage_of_t, sql)
    try:
        lineage_of_t.spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
        assert answers(lineage_of_t, sql) != first
    finally:
        lineage_of_t.spark.conf.set("spark.sql.session.timeZone", str(zone))
    assert len(kept(lineage_of_t)) == 2


def test_a_text_for_other_sessions_names_no_file_of_the_home(lineage_of_t: ForwardLineage) -> None:
    answers(lineage_of_t, GROUPED)
    text = lineage_of_t.rewrite(GROUPED)
    assert "dl_row_granule" not in text and "granules-" not in text
    assert ids(lineage_of_t, GROUPED) == sorted(
        map(str, lineage_of_t.spark.sql(text).selectExpr("g", "n", "DL.t AS DL", "dl_ids(DL.t) AS i").collect())
    )


def test_saved(lineage_of_t: ForwardLineage) -> None:
    lineage_of_t.save(GROUPED, name="saved")
    rows = lineage_of_t.sql(GROUPED).selectExpr("dl_ids(DL.t) AS ids").collect()
    saved = [list(lineage_of_t.backward_ids("saved", rows=[i], table="t").ids()) for i in range(5)]
    assert sorted(saved) == sorted(row.ids for row in rows)


def test_a_file_that_is_damaged_or_gone(lineage_of_t: ForwardLineage) -> None:
    before = answers(lineage_of_t, GROUPED)
    (one,) = kept(lineage_of_t)
    file = lineage_of_t.home / "tables" / "t" / one / "by_row"
    whole = file.read_bytes()
    file.write_bytes(whole[:-4] + b"\0\0\0\0")
    with pytest.raises(LineageError, match="are damaged, so delete that file"):
        lineage_of_t.sql(GROUPED)
    file.unlink()
    assert answers(lineage_of_t, GROUPED) == before


def test_functions_of_the_user_s_are_not_kept(lineage_of_t: ForwardLineage) -> None:
    lineage_of_t.spark.udf.register("shout", lambda word: f"{word}!")
    sql = "SELECT g FROM t LINEAGE ON shout(t.word)"
    assert "word 07!" in "".join(answers(lineage_of_t, sql))
    assert not kept(lineage_of_t)


def test_what_it_means_is_said_as_before(lineage_of_t: ForwardLineage) -> None:
    said = meaning_of(lineage_of_t.sql(GROUPED))
    assert said is not None and set(said["granules"]["t"]) == {"expressions", "dictionary"}


def test_an_id_that_is_no_row_s(lineage_of_t: ForwardLineage) -> None:
    answers(lineage_of_t, GROUPED)
    (one,) = kept(lineage_of_t)
    file = lineage_of_t.home / "tables" / "t" / one / "by_row"
    with pytest.raises(REFUSED, match="there was no row 400 when"):
        lineage_of_t.spark.sql(f"SELECT dl_row_granule(id, '{file}') FROM range(399, 401)").collect()
