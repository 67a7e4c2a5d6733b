"""A driver in a process of its own, which runs functions for a test: one Python process has one Spark context."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from tests.cluster.processes import die_with_parent, marked, wait_for
from tests.cluster.standalone import Cluster
from tests.structure import REPOSITORY

T = TypeVar("T")

#: Seconds: as long as a busy machine may need, less than the timeouts of the tests.
PATIENCE = 1500

_RUNNING: list[SparkSession] = []  # in the driver's process: its session


class Driver:
    """A Spark session of a cluster, in a process of its own that ends with this one; a context manager.

    Attributes:
        pid: the process.
        java: the JVM below it.

    Args:
        cluster: where executors run.
        log: Spark's log.
        settings: of Spark, beside those that a user has to give (docs/deploying.md).

    """

    def __init__(self, cluster: Cluster, log: Path, settings: Mapping[str, str] | None = None) -> None:
        self._cluster = cluster
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, context, _begin, (cluster.url, cluster.environment(), log, settings or {}))
        self.pid: int = self._pool.submit(os.getpid).result(PATIENCE)
        self.java: int = self._pool.submit(_java).result()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._pool.submit(_end).result(120)
        except Exception:  # it is dead, or busy with what nobody waits for any more
            with contextlib.suppress(ProcessLookupError):
                self.kill()
        self._pool.shutdown()
        wait_for("the driver's end", lambda: self.java not in marked(self._cluster.mark))
        wait_for("its executors' end", lambda: not self._cluster.executors())

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function of a module over there, with the session in front of its arguments, and return what it did."""
        return self.submit(function, *args).result(PATIENCE)

    def submit(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Do the same without waiting."""
        return self._pool.submit(_call, function, *args)

    def kill(self) -> None:
        """Kill the process, not the JVM below it, which notices."""
        os.kill(self.pid, signal.SIGKILL)


def _begin(url: str, environment: Mapping[str, str], log: Path, settings: Mapping[str, str]) -> None:
    die_with_parent()
    os.environ.update(environment)
    given = {
        "spark.executor.memory": "1g",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        "spark.executorEnv.PYTHONPATH": str(REPOSITORY),  # for functions of the tests
        "spark.sql.warehouse.dir": str(log.parent / "warehouse"),
        "spark.buffer.pageSize": "256k",
        "spark.network.timeout": "900s",  # of a busy machine; death is noticed by the connection
        **settings,
    }
    spelled: dict[str, Any] = {key.replace(".", "__"): value for key, value in given.items()}
    _RUNNING.append(local_session("cluster", master=url, driver_memory="1g", log=log, **spelled))


def _java() -> int:
    process: Any = _RUNNING[0].sparkContext._gateway.proc
    return int(process.pid)


def _call(function: Callable[..., Any], *args: Any) -> Any:
    return function(_RUNNING[0], *args)


def _end() -> None:
    _RUNNING[0].stop()
