"""The bar for Spark jobs: one at a time, whose total never shrinks."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from forward_lineage.spark import progress
from forward_lineage.spark.progress import spark_progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Server:
    """A session of Spark Connect, as far as it tells of its progress."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def registerProgressHandler(self, handler: Any) -> None:  # noqa: N802 - as PySpark calls it
        self.told.append(handler)

    def removeProgressHandler(self, handler: Any) -> None:  # noqa: N802
        self.told.remove(handler)


def _stage(tasks: int, done: int) -> SimpleNamespace:
    return SimpleNamespace(num_tasks=tasks, num_completed_tasks=done)


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> list[progress._Line]:
    """The bars that are shown, of a session that says nothing by itself."""
    shown: list[progress._Line] = []

    @contextmanager
    def watched(spark: object, line: progress._Line) -> Iterator[None]:
        shown.append(line)
        yield

    monkeypatch.setattr(progress, "_watched", watched)
    monkeypatch.setattr(progress, "is_remote", lambda spark: isinstance(spark, _Server))
    return shown


def _sit_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make standard error a terminal; in the test itself, as pytest puts its own there before each."""
    monkeypatch.setattr(sys, "stderr", _Terminal())


def test_a_block_in_a_block_has_the_same_bar(line: list[progress._Line], monkeypatch: pytest.MonkeyPatch) -> None:
    _sit_in_front(monkeypatch)
    spark: Any = object()
    with spark_progress(spark, "updating") as tell:
        tell("1 of 2")
        with spark_progress(spark, "saving [x]") as tell_more:
            tell_more("rows")
            assert line[0].says == "saving [x]: rows"
        assert line[0].says == "updating: 1 of 2"
    assert len(line) == 1
    with spark_progress(spark, "again"):
        assert [each.says for each in line] == ["updating: 1 of 2", "again"]


def test_a_total_never_shrinks(line: list[progress._Line], monkeypatch: pytest.MonkeyPatch) -> None:
    _sit_in_front(monkeypatch)
    with spark_progress(object(), "saving"):  # type: ignore[arg-type]
        seen = []
        for total, finished in ((4, 1), (10, 4), (6, 2), (8, 5)):  # Spark forgets a stage of 4 tasks
            line[0].count(total, finished)
            task = line[0].bar.tasks[0]
            seen.append((task.completed, task.total))
    assert seen == [(1, 4), (4, 10), (6, 10), (7, 10)]


def test_operations_of_a_server_add_up(line: list[progress._Line], monkeypatch: pytest.MonkeyPatch) -> None:
    _sit_in_front(monkeypatch)
    server: Any = _Server()
    totals: list[int] = []
    monkeypatch.setattr(progress._Line, "count", lambda self, total, finished: totals.append(total))
    with spark_progress(server, "saving"):
        for stages, operation in (([_stage(8, 8)], "a"), ([_stage(2, 0)], "b"), ([_stage(2, 1), _stage(3, 0)], "b")):
            server.told[0](stages, 0, operation, False)
    assert totals == [8, 10, 13] and not server.told


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_printed_below_a_bar_is_standard_output(
    line: list[progress._Line], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    _sit_in_front(monkeypatch)
    out = _Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    with spark_progress(object(), "updating"):  # type: ignore[arg-type]
        print("a result")
    assert ("a result" in out.getvalue()) is not terminal
