"""A local Spark session for the command line, the demos and the tests: quiet, small, its log in a file."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from forward_lineage.spark.interrupts import interruptible_start
from forward_lineage.spark.java import find_java
from forward_lineage.spark.java_messages import stderr_for_java
from forward_lineage.spark.versions import LATER_DEFAULTS, logger_of

_LOG4J = Path(__file__).with_name("log4j2.properties")


def local_session(
    app: str,
    *,
    master: str = "local[*]",
    driver_memory: str = "4g",
    log: Path | None = None,
    **settings: str,
) -> SparkSession:
    """Start (or return the running) Spark session.

    Args:
        app: name of the application.
        master: Spark master URL.
        driver_memory: heap of the driver, e.g. ``4g``; has no effect when a JVM already runs.
        log: file for Spark's log; `default_log()` when not given.
        settings: Spark settings, `__` standing for a dot: ``spark__sql__ansi__enabled="false"``.

    Raises:
        SetupError: Java is missing or too old.

    """
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    log = log or default_log()
    for repeating in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        # PySpark repeats every analysis error on these with the JVM's stack trace.
        logger_of(repeating).setLevel(logging.CRITICAL + 1)
    chosen = {key.replace("__", "."): value for key, value in settings.items()}
    builder = SparkSession.builder.appName(app).master(master)
    for key, value in (_small_and_quiet(driver_memory, log) | chosen).items():
        builder = builder.config(key, value)
    with interruptible_start():
        if SparkContext._gateway is None:
            _start_java(builder._options)
        return builder.getOrCreate()


def _start_java(options: Mapping[str, str]) -> None:
    """Start Spark's Java process as PySpark would, which tells of its own start."""
    launch: Any = launch_gateway
    with stderr_for_java() as stderr:
        gateway = launch(SparkConf().setAll(list(options.items())), {"stderr": stderr})
    SparkContext._ensure_initialized(gateway=gateway)


def _small_and_quiet(driver_memory: str, log: Path) -> dict[str, str]:
    return {
        **LATER_DEFAULTS,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Dforward_lineage.log={log}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        # What Spark's parser notes about its grammar grows with every kind of text, over 1 GB after some thousands.
        "spark.sql.parser.manageParserCaches": "true",
        "spark.sql.parser.parserDfaCacheFlushRatio": "20",  # percent of the driver's memory
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }


def default_log() -> Path:
    """Return where Spark's log goes when nobody says: one file for each user, in the temporary folder."""
    return Path(tempfile.gettempdir()) / f"forward_lineage-{os.getuid()}.log"
