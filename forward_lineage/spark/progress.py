"""A progress bar for Spark jobs: how many of their tasks are done."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from forward_lineage.spark.errors import put_back
from udafs.attach import is_remote


@contextmanager
def spark_progress(spark: SparkSession, what: str) -> Iterator[Callable[[str], None]]:
    """Show how many tasks of the block's jobs are done, where somebody can see it.

    In a block of another one, there is one bar: it counts on, and says what is done now.

    Args:
        spark: the session that runs them.
        what: what they do, e.g. ``"saving revenue"``.

    Returns:
        what tells more of what is done now, e.g. ``"3 of 7 views"``.

    """
    outer = _OUTER.get()
    if outer is not None:
        with outer.saying(what):
            yield lambda more: outer.say(f"{what}: {more}")
    elif not sys.stderr.isatty():
        yield lambda more: None
    else:
        with _bar() as bar:
            line = _Line(bar, bar.add_task(escape(what), total=None), what)
            token = _OUTER.set(line)
            try:
                with (_told_by_server if is_remote(spark) else _watched)(spark, line):
                    yield lambda more: line.say(f"{what}: {more}")
            finally:
                _OUTER.reset(token)


@dataclass
class _Line:
    """The line of a bar, and what it says."""

    bar: Progress
    task: TaskID
    says: str
    most: int = 0

    def say(self, what: str) -> None:
        self.says = what
        self.bar.update(self.task, description=escape(what))

    @contextmanager
    def saying(self, what: str) -> Iterator[None]:
        before = self.says
        self.say(what)
        try:
            yield
        finally:
            self.say(before)

    def count(self, total: int, finished: int) -> None:
        """Count tasks; Spark forgets stages that are done, and a total that shrinks looks like work that is lost."""
        self.most = max(self.most, total)
        self.bar.update(self.task, total=self.most or None, completed=self.most - total + finished)


#: The bar that this thread has shown already.
_OUTER: ContextVar[_Line | None] = ContextVar("spark_progress", default=None)


@contextmanager
def _watched(spark: SparkSession, line: _Line) -> Iterator[None]:
    """Ask Spark for the tasks of the block, five times a second."""
    context = spark.sparkContext
    with _job_group(context, line.says) as group:
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.2):
                line.count(*_tasks(context, group))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


@contextmanager
def _told_by_server(spark: SparkSession, line: _Line) -> Iterator[None]:
    """The same of a session of Spark Connect, which tells of the tasks of each operation itself."""
    tasks: dict[str | None, tuple[int, int]] = {}

    def told(stages: Sequence[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        total, finished = sum(each.num_tasks for each in stages), sum(each.num_completed_tasks for each in stages)
        most = max(total, tasks.get(operation_id, (0, 0))[0])
        tasks[operation_id] = most, most - total + finished
        line.count(*(sum(each[place] for each in tasks.values()) for place in (0, 1)))

    spark.registerProgressHandler(told)  # type: ignore[arg-type]
    try:
        yield
    finally:
        spark.removeProgressHandler(told)  # type: ignore[arg-type]


def _bar() -> Progress:
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    both = sys.stdout.isatty()  # else what is printed below the bar must not go where the bar is
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=both)


@contextmanager
def _job_group(context: SparkContext, what: str) -> Iterator[str]:
    """Run the block's jobs as a group, by whose name they are known; the user's own group is theirs again then."""
    properties = "spark.jobGroup.id", "spark.job.description"
    before = [context.getLocalProperty(each) for each in properties]
    group = f"forward_lineage-{uuid.uuid4().hex}"
    context.setJobGroup(group, what)
    try:
        yield group
    finally:
        with put_back():
            for each, value in zip(properties, before, strict=True):
                context.setLocalProperty(each, value)  # type: ignore[arg-type]


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    known = [stage for stage in stages if stage]
    return sum(stage.numTasks for stage in known), sum(stage.numCompletedTasks for stage in known)
