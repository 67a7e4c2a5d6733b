"""Ctrl-C while Spark starts or works: it ends at once, nothing is left behind, and it is said once."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli import main
from forward_lineage.cli.stopping import note_begun
from forward_lineage.spark.interrupts import interruptible
from tests.conftest import REPOSITORY
from tests.forward_lineage.cli.in_this_process import invoke

T = TypeVar("T")
#: Some minutes for Spark, in one job.
LONG = "SELECT t.id, sum(hash(r.id, t.id)) AS s FROM range(0, 100000000000, 1, 2) AS r CROSS JOIN t GROUP BY t.id"
_STARTS = """
from forward_lineage.spark.local import local_session
import pyspark
try:
    local_session("interrupted", driver_memory="512m")
except KeyboardInterrupt:
    print("stopped", pyspark.SparkContext._gateway)
"""


@pytest.fixture
def lineage(spark: SparkSession, tmp_path: Path) -> ForwardLineage:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id FROM range(2)")
    made = ForwardLineage(spark, tmp_path / "home")
    made.register("t", key="id")
    return made


def interrupted_in_a_job(spark: SparkSession, work: Callable[[], T]) -> T:
    """Do something, and press Ctrl-C as soon as Spark runs a job for it."""
    tracker, over = spark.sparkContext.statusTracker(), threading.Event()

    def press() -> None:
        while not over.wait(0.1):
            if tracker.getActiveJobsIds():
                os.kill(os.getpid(), signal.SIGINT)
                return

    presses = threading.Thread(target=press)
    presses.start()
    try:
        return work()
    finally:
        over.set()
        presses.join()
        _wait_until_nothing_runs(spark)


def _wait_until_nothing_runs(spark: SparkSession) -> None:
    until = time.monotonic() + 60
    while spark.sparkContext.statusTracker().getActiveJobsIds():
        assert time.monotonic() < until, "the job goes on"
        time.sleep(0.1)


def files(home: Path) -> list[Path]:
    return sorted(each for each in home.rglob("*") if each.is_file() and "lock" not in each.name)


def test_a_save_that_is_stopped_leaves_nothing(
    spark: SparkSession, lineage: ForwardLineage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, handler = files(tmp_path / "home"), signal.getsignal(signal.SIGINT)
    with caplog.at_level(logging.ERROR), pytest.raises(KeyboardInterrupt, match=r"^stopped, nothing saved$"):
        interrupted_in_a_job(spark, lambda: lineage.save(LONG, "long"))
    assert not caplog.records and signal.getsignal(signal.SIGINT) is handler
    assert files(tmp_path / "home") == before and not lineage.results()
    assert lineage.save("SELECT id FROM t", "long").rows == 2  # and the session goes on


def test_who_ignores_it_goes_on(lineage: ForwardLineage) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible(lineage.spark):
            os.kill(os.getpid(), signal.SIGINT)
            assert lineage.sql("SELECT id FROM t").count() == 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_that_is_stopped(spark: SparkSession, lineage: ForwardLineage, tmp_path: Path) -> None:
    file = tmp_path / "long.sql"
    file.write_text(LONG)
    for words, said in (
        (["save", file, "too_long"], "stopped, nothing saved.\n"),
        (["run", file], "stopped.\n"),
        (["affected", file, "--table", "t", "--where", "id = 1"], "stopped.\n"),
    ):
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(tmp_path)
            done = interrupted_in_a_job(spark, partial(invoke, spark, *words, "--home", tmp_path / "home"))
        assert (done.exit_code, done.stdout, done.stderr) == (130, "", said)


def test_a_start_that_is_stopped_leaves_no_java(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _STARTS]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    start = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment
    )
    children = Path(f"/proc/{start.pid}/task/{start.pid}/children")
    while start.poll() is None and not children.read_text().strip():
        time.sleep(0.05)
    java = int(children.read_text().split()[0])
    time.sleep(1)  # PySpark waits for it now
    start.send_signal(signal.SIGINT)
    out, err = start.communicate(timeout=60)  # until the last that could write there has ended, too
    assert (out, start.returncode) == ("stopped None\n", 0), err
    assert not err
    assert not Path(f"/proc/{java}").exists()


def test_a_command_says_what_it_has_done() -> None:
    def stops(*_: object) -> None:
        raise KeyboardInterrupt

    for command, said in (("ls", "stopped.\n"), ("save", "stopped, nothing saved.\n")):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("forward_lineage.cli.import_module", stops)
            done = CliRunner().invoke(main, [command])
        assert (done.exit_code, done.stderr) == (130, said)


def _pressed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)  # the handler runs before this ends


def test_what_follows_a_save_may_be_stopped(
    lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is there; only the session's names were not brought up to date."""
    monkeypatch.setattr(lineage._parts.result_tables, "bring_up_to_date", _pressed)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped; kept, version 1, is saved$"):
        lineage.save("SELECT id FROM t", "kept")
    assert ForwardLineage(lineage.spark, tmp_path / "home").result("kept").count() == 2


def test_an_update_says_what_it_saved_last(
    lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage.spark.range(3).write.parquet(str(tmp_path / "days"))
    lineage.register("days", path=tmp_path / "days")
    lineage.save("SELECT count(*) AS n FROM days", "counted")
    lineage.save("SELECT n + 1 AS n FROM counted", "after")
    lineage.spark.range(3, 5).write.mode("append").parquet(str(tmp_path / "days"))
    lineage.refresh("days")
    once = iter([_pressed])

    def stopped_once() -> None:
        if lineage.describe("counted").version == 2:  # it is saved, and what follows is stopped
            next(once, str)()

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt, match=r"^stopped; up to date: counted$"):
        patched.setattr(lineage._parts.result_tables, "bring_up_to_date", stopped_once)
        lineage.update()
    assert (lineage.describe("counted").version, lineage.describe("after").version) == (2, 1)


def test_a_table_that_is_registered_stays_so(lineage: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage._parts.tables, "register", _pressed)
    with pytest.raises(KeyboardInterrupt, match=r"^stopped, t is not registered again$"):
        lineage.register("t", key="id")
    with pytest.raises(KeyboardInterrupt, match=r"^stopped, u is not registered$"):
        lineage.register("u", key="id")


def test_a_command_never_says_what_it_cannot_know() -> None:
    """Once it has the session, only the session's calls know whether anything was kept."""

    def stops(*_: object) -> None:
        note_begun()
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("click.Command.invoke", stops)
        done = CliRunner().invoke(main, ["save", "q.sql", "x"])
    assert (done.exit_code, done.stderr) == (130, "stopped.\n")


@pytest.mark.parametrize("module", ["forward_lineage.cli", "click", "rich.text"])
def test_a_command_is_stopped_while_it_is_imported(module: str, tmp_path: Path) -> None:
    """As the console's script begins; Python itself, and the package's own names, come before it."""
    program = tmp_path / "began.py"
    program.write_text(
        "import os, signal, sys\n"
        "class Presses:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "from forward_lineage.__main__ import main\n"
        "sys.meta_path.insert(0, Presses())\n"
        "sys.argv = ['forward-lineage', 'ls']\n"
        "sys.exit(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped.\n")
