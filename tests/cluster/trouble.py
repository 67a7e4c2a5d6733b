"""Faults in the middle of a stage: two functions of SQL that are true of every value, and do harm when told.

`in_map(v)` stands in WHERE of a scan, so it runs in map tasks; `in_reduce(v)` is asked of aggregates, so it runs in
tasks that read a shuffle. What they do stands in a file that the test writes before, `map.action` or `reduce.action`:

    kill      the first task that comes by kills its own executor
    fail      the first task that comes by raises
    always    every task raises
    wait      the first attempt of every task waits for the file `go`
    copied    the first attempt of partition 0 waits until another attempt of it came by

So a fault happens in a task that is running, whatever the machine is busy with; nothing is a matter of seconds.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from tests.cluster.processes import own_executor, wait_for

PLACES = ("map", "reduce")


class TroubleError(Exception):
    """What a task raises that was told to."""


class Trouble:
    """The function of one place; made in the driver, called in the executors' Python workers.

    Args:
        folder: where actions are read, and what happened is noted.
        place: a name in `PLACES`.

    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder, self._place = folder, place
        self._seen: int | None = None  # the attempt of a task that has done what it was told

    def __call__(self, value: object) -> bool:
        """Do harm, once a task."""
        context = TaskContext.get()
        if context is not None and context.taskAttemptId() != self._seen:
            self._seen = context.taskAttemptId()
            with suppress(FileNotFoundError):
                self._act((self._folder / f"{self._place}.action").read_text(), context)
        return True

    def _act(self, action: str, context: TaskContext) -> None:
        note = f"{self._place} {context.stageId()} {context.partitionId()} {context.attemptNumber()} {own_executor()}"
        if action == "kill" and self._first("fired", note):
            os.kill(own_executor(), signal.SIGKILL)
        elif action == "always" or (action == "fail" and self._first("fired", note)):
            raise TroubleError(f"told to fail in {self._place}")
        elif action == "wait" and context.attemptNumber() == 0:
            self._first(f"arrived-{context.partitionId()}", note)
            wait_for("the word to go on", (self._folder / "go").exists, 240)
        elif action == "copied" and context.partitionId() == 0:
            name = "arrived" if context.attemptNumber() == 0 else "copied"
            self._first(name, note)
            if name == "arrived":
                wait_for("a copy of this task", lambda: list(self._folder.glob("copied *")), 240)

    def _first(self, what: str, note: str) -> bool:
        """Make an empty file whose name tells what happened; return whether nobody was there before."""
        with suppress(FileExistsError):
            (self._folder / what).touch(exist_ok=False)
            (self._folder / f"{what} {note}").touch()
            return True
        return False


def register(spark: SparkSession, folder: Path) -> None:
    """Make `in_map` and `in_reduce` known in a session."""
    for place in PLACES:
        spark.udf.register(f"in_{place}", udf(Trouble(folder, place), "boolean", useArrow=False))


class Told:
    """What a test tells the tasks, and what they note.

    Args:
        folder: a new one, which executors share.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def do(self, **actions: str) -> None:
        """Say what is to happen from now on, by place; what was said before is forgotten."""
        for each in self.folder.iterdir():
            each.unlink()
        for place, action in actions.items():
            (self.folder / f"{place}.action").write_text(action)

    def go_on(self) -> None:
        """Have those go on that wait, or that come by later."""
        (self.folder / "go").touch()

    def notes(self, what: str) -> list[dict[str, int]]:
        """Return who did something, as `fired`, `arrived-0`, …: `arrived*` stands for all partitions."""
        found = [each.name.split()[2:] for each in sorted(self.folder.glob(f"{what} *"))]
        names = ("stage", "partition", "attempt", "executor")
        return [dict(zip(names, map(int, each), strict=True)) for each in found]


def files_of(home: Path) -> list[str]:
    """Return all files of a home, but those that hold locks."""
    files = (each.relative_to(home).as_posix() for each in home.rglob("*") if each.is_file())
    return sorted(each for each in files if not each.endswith(".lock"))
