"""`forward-lineage check`: what it prints and how it ends. What it finds is in `tests/forward_lineage/checking`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.checking.child import Settings
from forward_lineage.checking.corpus import Entry
from forward_lineage.checking.outcomes import Law, Laws, Outcome, Rows, Verdict
from forward_lineage.cli import check as command
from forward_lineage.cli import main
from tests.conftest import REPOSITORY
from tests.spark_programs import interpreted

EQUAL = Verdict(Outcome.REWRITTEN, rows=Rows.EQUAL, tables=("t",), result_rows=2)
GOOD = Entry("a.sql", 1, "SELECT 1", {"data": EQUAL, "control": EQUAL}, Laws(Law(2), Law(1), [1.0, 4.0]), 0.5)
REFUSED = Entry("a.sql", 2, "SELECT 2", dict.fromkeys(("data", "control"), Verdict(Outcome.REFUSED, "no `a`", "no …")))
FAILED = Entry("b.sql", 1, "SELECT 3", {"data": EQUAL, "control": Verdict(Outcome.FAILED, "KeyError: 'x'", "KeyError")})
DIFFERENT = Verdict(Outcome.REWRITTEN, "3 rows where plain Spark gives 2", rows=Rows.DIFFERENT)
ODD = Entry("b.sql", 9, "SELECT 4", {"data": DIFFERENT, "control": EQUAL})
BROKEN = Entry("c.sql", 1, "SELECT 5", {"data": EQUAL, "control": EQUAL}, Laws(Law(1, ["row [1]"], {"no time": 3})))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.sql").write_text("SELECT 1; SELECT 2")
    return tmp_path


def invoke(monkeypatch: pytest.MonkeyPatch, folder: Path, *words: str, found: list[Entry | None]) -> Result:
    """Run the command over a corpus in which these entries are found; None: Ctrl-C."""

    class FoundRun:
        def __init__(self, *_: object) -> None:
            pass

        def entries(self) -> Iterator[Entry]:
            for entry in found:
                if entry is None:
                    raise KeyboardInterrupt
                yield entry

    monkeypatch.setattr(command, "Run", FoundRun)
    return CliRunner().invoke(main, ["check", str(folder), *words], env={"COLUMNS": "100"})


def test_a_good_run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    done = invoke(monkeypatch, folder, found=[GOOD, REFUSED])
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.stdout.splitlines() if line][:7] == [
        ["2", "statements", "of", "1", "file"],
        ["data", "control"],
        ["rewritten", "1", "1"],
        ["equal", "1", "1"],
        ["refused", "1", "1"],
        ["witness:", "2", "held,", "0", "failed"],
        ["necessity:", "1", "held,", "0", "failed"],
    ]
    assert "minimality: lineage is 2.00 times the smallest found, 2 rows" in done.stdout
    assert "a.sql:2" in done.stdout and "no `a`" in done.stdout, "refusals by reason, with the first place"
    assert "0 s" in done.stderr


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (FAILED, "failed: KeyError: 'x'"),
        (ODD, "different: 3 rows where plain Spark gives 2"),
        (BROKEN, "witness failed: row [1]"),
    ],
)
def test_a_bad_run(monkeypatch: pytest.MonkeyPatch, folder: Path, entry: Entry, told: str) -> None:
    done = invoke(monkeypatch, folder, found=[GOOD, entry])
    assert done.exit_code == 3
    assert told in done.stdout and entry.place in done.stdout


def test_json(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    done = invoke(monkeypatch, folder, "--json", found=[GOOD, BROKEN])
    first, _, board = map(json.loads, done.stdout.splitlines())
    assert first["data"] == {"outcome": "rewritten", "rows": "equal", "tables": ["t"], "result_rows": 2}
    assert (first["file"], first["line"], first["sql"]) == ("a.sql", 1, "SELECT 1")
    assert board["scoreboard"]["witness"] == {"held": 3, "failed": 1, "not_tried": {"no time": 3}}
    assert board["scoreboard"]["bad"] == [{"place": "c.sql:1", "what": "witness failed: row [1]"}]


def test_ctrl_c_shows_what_there_is(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    done = invoke(monkeypatch, folder, found=[GOOD, None, BROKEN])
    assert done.exit_code == 130
    assert "1 statement of 1 file" in done.stdout and "interrupted" in done.stdout


def test_tables_and_results_of_the_home_are_there(
    spark: SparkSession, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, files = tmp_path / "home", tmp_path / "shelf.parquet"
    spark.range(3).write.parquet(str(files))
    lineage = ForwardLineage(spark, home)
    lineage.register("shelf", path=files)
    lineage.register("other", path=files, key="id", trusted=True)
    saved = lineage.save("SELECT count(*) AS n FROM shelf", "how_many")
    spark.range(1).createOrReplaceTempView("a_view")
    lineage.register("a_view", key="id")
    seen: list[Settings] = []

    class FoundRun:
        def __init__(self, files: object, settings: Settings, now: object) -> None:
            seen.append(settings)

        def entries(self) -> Iterator[Entry]:
            yield GOOD

    monkeypatch.setattr(command, "Run", FoundRun)
    done = CliRunner().invoke(main, ["check", str(folder), "--home", str(home)], catch_exceptions=False)
    assert seen[0].data == {"shelf": files, "other": files, "how_many": saved.rows_folder}
    assert "Note: a_view of the home cannot be read here" in done.stderr and done.exit_code == 0
    lineage.unregister("a_view")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["."], "no .sql file in"),
        ([".", "--data", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_bad_input(words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "--data" in words:
        (tmp_path / "a.sql").write_text("SELECT 1")
    done = CliRunner().invoke(main, ["check", *words])
    assert done.exit_code == 1
    assert done.stdout == "" and told in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1 AS a;" * 50)
    (tmp_path / "temporary").mkdir()
    run = subprocess.Popen(
        [sys.executable, "-m", "forward_lineage", "check", str(tmp_path), "--json", "--master", "local[1]"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**interpreted(os.environ, lists_tables=True), "TMPDIR": str(tmp_path / "temporary")},
    )
    assert run.stdout is not None
    assert json.loads(run.stdout.readline())["data"]["outcome"] == "rewritten"
    worker = [each for each in Path("/proc").glob("[0-9]*") if _is_child(each, run.pid)]
    assert worker
    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert json.loads(rest.splitlines()[-1])["scoreboard"]["finished"] is False
    assert not any(each.exists() for each in worker)
    assert not [each for each in (tmp_path / "temporary").iterdir() if each.name.startswith("forward_lineage-check")]


def _is_child(process: Path, parent: int) -> bool:
    try:
        return f"PPid:\t{parent}\n" in (process / "status").read_text()
    except OSError:
        return False
