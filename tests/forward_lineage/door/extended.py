"""A PySpark session that was started with the door, in a process of its own: extensions are for a whole application."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from tests.cluster.processes import die_with_parent
from tests.forward_lineage.door.thrift_server import environment, kernel_settings
from tests.spark_settings import INTERPRETED

T = TypeVar("T")
PATIENCE = 1500  # seconds, on a busy machine


class ExtendedSpark:
    """Runs functions, each with a new session; a context manager.

    Args:
        folder: an empty folder, where it runs.
        settings: beside those of docs/sql-clients.md.

    """

    def __init__(self, folder: Path, **settings: str) -> None:
        given = kernel_settings(folder / "home") | {key.replace("__", "."): value for key, value in settings.items()}
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (folder, given))

    def __enter__(self) -> ExtendedSpark:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenProcessPool):
            self._pool.submit(os._exit, 0).result(PATIENCE)
        self._pool.shutdown(cancel_futures=True)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function of a module over there, with a session in front of its arguments, and return what it did."""
        return self._pool.submit(_call, function, *args).result(PATIENCE)


def _begin(folder: Path, settings: dict[str, str]) -> None:
    die_with_parent()
    os.chdir(folder)
    os.environ.update(environment())
    small = {**INTERPRETED, "spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    given = {key.replace(".", "__"): value for key, value in (small | settings).items()}
    local_session("door", master="local[2]", driver_memory="2g", log=folder / "spark.log", **given)


def _call(function: Callable[..., Any], *args: Any) -> Any:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    try:
        return function(spark.newSession(), *args)
    except Exception:
        raise RuntimeError(traceback.format_exc()) from None  # one of Spark's cannot be sent
