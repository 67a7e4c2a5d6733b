"""The commands that start Spark, most as programs of their own."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import REPOSITORY
from tests.forward_lineage.cli.in_this_process import invoke
from tests.forward_lineage.row_ids.conftest import write

pytestmark = pytest.mark.slow


def program(
    *arguments: object, stdin: str = "", width: int = 80, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "forward_lineage", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=environment.pop("cwd", REPOSITORY),
        env={**os.environ, "COLUMNS": str(width), "NO_COLOR": "1", **environment},
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "data" / "t.parquet", [3, 1, 3], w=["x", "y", "z"])
    write(tmp_path / "data" / "many" / "a.parquet", [1])
    write(tmp_path / "data" / "many" / "b.parquet", [1])
    return tmp_path / "data"


def test_run_shows_rows_and_lineage(spark: SparkSession, data: Path) -> None:
    sql = "SELECT v, count(*) AS n FROM t JOIN many USING (v) GROUP BY v"
    done = invoke(spark.newSession(), "run", "-", "--catalog", data, stdin=sql)
    assert done.exit_code == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines == ["v  n  DL", "1  2  t {1}  many {0, 1}"]
    assert not (REPOSITORY / "lineage_home").exists()


def test_run_as_json(spark: SparkSession, data: Path) -> None:
    words = ("run", "-", "--catalog", data, "--json", "--limit", 2)
    done = invoke(spark.newSession(), *words, stdin="SELECT w, nullif(w, 'x') AS n FROM t ORDER BY w")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"w": "x", "n": None, "DL": {"t": [0]}},
        {"w": "y", "n": "y", "DL": {"t": [1]}},
    ]


@pytest.mark.long  # every day the shell says it of the same mistake: test_shell.py
def test_run_says_what_is_wrong_in_one_line(data: Path) -> None:
    done = program("run", "-", "--catalog", data, "--master", "local[2]", stdin="SELECT w\nFRM t x y")
    assert done.returncode == 1
    assert done.stdout == ""
    assert [line for line in done.stderr.splitlines() if line.startswith("Error: ")] == [
        "Error: malformed SQL near `t`: it is not expected here (`FRM t x y`) (line 2, column 5). "
        "Correct it; if Spark accepts it all the same, write this part in another way."
    ]
    assert "\tat " not in done.stderr, "no JVM stack trace"


def test_ids_measures_orders(spark: SparkSession, data: Path) -> None:
    words = ("ids", "-", "--catalog", data, "--order-by", "t=v")
    done = invoke(spark.newSession(), *words, stdin="SELECT v FROM t GROUP BY v")
    assert done.exit_code == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1][:8] == ["t", "as", "they", "are", "2", "1.5", "1.0", "66.67"]
    assert lines[2][:6] == ["t", "v", "2", "1.5", "1.0", "66.67"]


def test_the_demo_reads_well_on_80_columns(spark: SparkSession, tpch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = spark.newSession()
    monkeypatch.setattr(session, "stop", session.catalog.clearCache)
    monkeypatch.setattr(importlib.import_module("forward_lineage.cli.demo"), "local_session", lambda *_, **__: session)
    monkeypatch.setenv("FORWARD_LINEAGE_DATA", str(tpch.parent.parent))
    done = invoke(session, "demo", "--scale", "0.01", width=80)
    assert done.exit_code == 0, done.stderr
    assert_reads_well(done.stdout)


@pytest.mark.long  # the same with a Spark of its own
def test_the_demo_starts_and_ends_spark(tpch: Path) -> None:
    done = program("demo", "--scale", "0.01", "--master", "local[2]", FORWARD_LINEAGE_DATA=str(tpch.parent.parent))
    assert done.returncode == 0, done.stderr
    assert_reads_well(done.stdout)


def assert_reads_well(printed: str) -> None:
    assert max(map(len, (line.rstrip() for line in printed.splitlines()))) <= 80
    for line in (
        "Target  binder  store {2}  item {1}  sales {4}",
        "Macy's   5400  item {3, 4}  store {3, 4}  sales {7, 8, 9, 10}",
        "Target   6800  sales {4}",
    ):
        assert line in printed
    assert "lineitem {" in printed
    assert "bytes per result row" in printed
