"""A corpus with every outcome on purpose, checked once by a real child."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import SetupError
from forward_lineage.checking.child import Child, Settings
from forward_lineage.checking.corpus import Entry, Run
from forward_lineage.checking.data import tables_in
from forward_lineage.checking.outcomes import Outcome, Rows
from forward_lineage.checking.scoreboard import Scoreboard
from forward_lineage.checking.statements import read_files
from tests.spark_programs import interpreted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CORPUS = {
    "a_good.sql": """
-- a view that holds its rows has base rows; what is made of it is traced
CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a', 1.5D), (2, 'b', 2.5D), (3, NULL, 0.1D) AS t(id, k, v);
SET spark.sql.ansi.enabled = false;
SELECT k, sum(v) AS s FROM t GROUP BY k ORDER BY k;
CREATE TABLE x (a INT, b STRING);
INSERT INTO x VALUES (1, 'a'), (2, 'b'), (2, 'c');
CREATE VIEW w AS SELECT a, b FROM x;
SELECT t.id, w.b FROM t JOIN w ON t.id = w.a WHERE v > 0.2;
INSERT INTO x VALUES (3, 'd');
SELECT max(a) AS last FROM x;
SELECT 1 AS DL;
SELECT n FROM numbers WHERE n IN (SELECT a FROM x);
CREATE DATABASE other;
CREATE TABLE other.far (f INT);
INSERT INTO other.far VALUES (1), (2);
SELECT max(far.f) AS m FROM other.far;
""",
    "b_ties.sql": """
SELECT big % 3 AS r, big FROM ties ORDER BY r LIMIT 4;
SELECT row_number() OVER (ORDER BY big % 2) AS n, big FROM ties;
""",
    "c_bad.sql": """
SELECT * FROM t;
SELECT FROM WHERE;
SELECT {{ column }} FROM numbers;
SELECT n FROM numbers TABLESAMPLE (50 PERCENT);
INSERT OVERWRITE DIRECTORY '/nowhere' SELECT 1;
SELECT rand() AS r, n FROM numbers;
INSERT INTO numbers VALUES (7);
""",
    "d_deadly.sql": """
CREATE TEMPORARY VIEW mine AS SELECT * FROM VALUES (1), (2) AS mine(a);
CREATE TEMPORARY VIEW before_mine AS SELECT a FROM mine;
SELECT reflect('java.lang.Thread', 'sleep', 600000L) FROM mine;
SELECT a FROM before_mine;
SELECT reflect('java.lang.System', 'exit', a) FROM mine;
SELECT a + 1 AS b FROM mine;
""",
    "e_open.sql": "SELECT 'it",
}


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder for temporary files while the corpus is checked."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory, temporary: Path) -> Iterator[dict[str, Entry]]:
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in CORPUS.items():
        (folder / name).write_text(text)
    data = folder / "data"
    data.mkdir()
    pq.write_table(pa.table({"n": [1, 2, 3, 9]}), data / "numbers.parquet")
    (data / "ties.csv").write_text("big\n" + "\n".join(map(str, range(12))))
    before = {each: each.read_bytes() for each in data.iterdir()}
    settings = Settings("local[2]", "1g", tables_in(data), timeout=25)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", interpreted(os.environ, lists_tables=True)["SPARK_SUBMIT_OPTS"])
        found = {entry.place: entry for entry in Run(read_files(folder), settings).entries()}
    yield found
    assert {each: each.read_bytes() for each in data.iterdir()} == before


def outcomes(entry: Entry) -> set[Outcome]:
    assert set(entry.verdicts) == {"data", "control"}
    return {verdict.outcome for verdict in entry.verdicts.values()}


@pytest.mark.parametrize(
    ("place", "outcome"),
    {
        "a_good.sql:3": Outcome.SET_UP,
        "a_good.sql:4": Outcome.SET_UP,
        "a_good.sql:5": Outcome.REWRITTEN,
        "a_good.sql:9": Outcome.REWRITTEN,
        "a_good.sql:11": Outcome.REWRITTEN,
        "a_good.sql:12": Outcome.REWRITTEN,
        "a_good.sql:13": Outcome.REWRITTEN,
        "a_good.sql:17": Outcome.REWRITTEN,
        "b_ties.sql:2": Outcome.REWRITTEN,
        "b_ties.sql:3": Outcome.NOT_DETERMINISTIC,
        "c_bad.sql:2": Outcome.WRONG,
        "c_bad.sql:3": Outcome.WRONG,
        "c_bad.sql:4": Outcome.WRONG,
        "c_bad.sql:5": Outcome.REFUSED,
        "c_bad.sql:6": Outcome.PASSED_OVER,
        "c_bad.sql:7": Outcome.NOT_DETERMINISTIC,
        "c_bad.sql:8": Outcome.WRONG,
        "d_deadly.sql:2": Outcome.SET_UP,
        "d_deadly.sql:3": Outcome.SET_UP,
        "d_deadly.sql:4": Outcome.TIMED_OUT,
        "d_deadly.sql:5": Outcome.REWRITTEN,
        "d_deadly.sql:6": Outcome.DIED,
        "d_deadly.sql:7": Outcome.REWRITTEN,
        "e_open.sql:1": Outcome.WRONG,
    }.items(),
)
def test_outcomes(place: str, outcome: Outcome, entries: dict[str, Entry]) -> None:
    assert outcomes(entries[place]) == {outcome}, entries[place]


def test_what_is_rewritten_is_equal_and_its_witnesses_hold(entries: dict[str, Entry]) -> None:
    tables = {
        "a_good.sql:5": ("t",),
        "a_good.sql:9": ("t", "x"),
        "a_good.sql:11": ("x",),
        "a_good.sql:12": (),
        "a_good.sql:13": ("numbers", "x"),
        "a_good.sql:17": ("other.far",),
        "d_deadly.sql:5": ("mine",),
        "d_deadly.sql:7": ("mine",),
    }
    for place, names in tables.items():
        verdict, laws = entries[place].verdicts["control"], entries[place].laws
        assert verdict.rows is Rows.EQUAL and verdict.tables == names, entries[place]
        assert not laws.witness.failed and not laws.witness.not_tried and bool(laws.witness.held) == bool(names)
    assert entries["a_good.sql:5"].laws.witness.held == 3
    assert entries["a_good.sql:9"].laws.necessity.held == 4, "two rows, one dropped in and one out of each"
    assert entries["a_good.sql:11"].laws.minimality == [4.0], "the largest alone is a witness of the four"
    assert entries["b_ties.sql:2"].verdicts["data"].rows in (Rows.EQUAL, Rows.UNDETERMINED)


def test_the_scoreboard_adds_up(entries: dict[str, Entry]) -> None:
    board = Scoreboard()
    for entry in entries.values():
        board.add(entry)
    assert board.good, board.bad
    assert sum(counts["data"] for counts in board.outcomes.values()) == board.statements == len(entries)
    assert board.without_base_rows == 1
    assert board.minimality is not None and board.minimality >= 1
    assert board.to_json()["witness"]["failed"] == 0
    assert [each.count for each in board.reasons[Outcome.REFUSED].values()] == [1]


def test_a_process_that_does_not_start(temporary: Path) -> None:
    with pytest.raises(SetupError, match=r"does not start: .*heap"):
        Child(Settings(memory="1k"))
    assert list(temporary.iterdir()) == []


def test_nothing_is_left(entries: dict[str, Entry], temporary: Path) -> None:
    assert entries
    assert list(temporary.iterdir()) == []
    assert not [each for each in Path("/proc").glob("[0-9]*/status") if _parent_of(each) == os.getpid() and _java(each)]


def _parent_of(status: Path) -> int | None:
    with suppress(OSError):
        return int(status.read_text().partition("PPid:")[2].split()[0])
    return None


def _java(status: Path) -> bool:
    return b"forward_lineage.checking.worker" in (status.parent / "cmdline").read_bytes()
