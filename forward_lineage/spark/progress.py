"""A progress bar for Spark jobs: how many of their tasks are done."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from forward_lineage.spark.errors import put_back
from udafs.attach import is_remote


@contextmanager
def spark_progress(spark: SparkSession, what: str) -> Iterator[Callable[[str], None]]:
    """Show how many tasks of the block's jobs are done, where somebody can see it.

    Args:
        spark: the session that runs them.
        what: what they do, e.g. ``"saving revenue"``.

    Returns:
        what tells more of what is done now, e.g. ``"3 of 7 views"``.

    """
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    if is_remote(spark):
        with _remote_progress(spark, what) as tell:
            yield tell
        return
    context = spark.sparkContext
    with _job_group(context, what) as group, _bar() as bar:
        task, done = bar.add_task(what, total=None), threading.Event()

        def watch() -> None:
            most = 0  # Spark forgets stages that are done, and a total that shrinks looks like work that is lost
            while not done.wait(0.2):
                total, finished = _tasks(context, group)
                most = max(most, total)
                bar.update(task, total=most or None, completed=most - total + finished)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield lambda more: bar.update(task, description=escape(f"{what}: {more}"))
        finally:
            done.set()
            watcher.join()


@contextmanager
def _remote_progress(spark: SparkSession, what: str) -> Iterator[Callable[[str], None]]:
    """The same of a session of Spark Connect, which tells of its tasks itself."""
    with _bar() as bar:
        task = bar.add_task(what, total=None)

        def told(stages: Sequence[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
            total, finished = sum(each.num_tasks for each in stages), sum(each.num_completed_tasks for each in stages)
            bar.update(task, total=total or None, completed=finished)

        spark.registerProgressHandler(told)  # type: ignore[arg-type]
        try:
            yield lambda more: bar.update(task, description=escape(f"{what}: {more}"))
        finally:
            spark.removeProgressHandler(told)  # type: ignore[arg-type]


def _bar() -> Progress:
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True)


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
