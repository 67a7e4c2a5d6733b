"""A PySpark session that was started with the door, in a process of its own: extensions are for a whole application."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.spark.local import local_session
from tests.cluster.processes import die_with_parent
from tests.forward_lineage.door.thrift_server import kernel_settings
from tests.other_process import OtherProcess
from tests.spark_programs import environment
from tests.spark_settings import INTERPRETED


class ExtendedSpark(OtherProcess):
    """Runs functions, each with a new session; a context manager.

    Args:
        folder: an empty folder, where it runs.
        settings: beside those of docs/sql-clients.md.

    """

    def __init__(self, folder: Path, **settings: str) -> None:
        given = kernel_settings(folder / "home") | {key.replace("__", "."): value for key, value in settings.items()}
        super().__init__(_begin, _call, folder, given)


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
