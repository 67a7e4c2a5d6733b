"""A Spark that a notebook starts later: without bars between its cells, and without the log of its start."""

from __future__ import annotations

import os
from pathlib import Path

from pyspark import SparkContext

_OPTIONS = "SPARK_SUBMIT_OPTS"  # Java options that Spark's launcher adds; of two that say the same the later one counts
_CHOSEN = ("SPARK_HOME", "SPARK_CONF_DIR")
_LOG4J = Path(__file__).with_name("log4j2.properties")
_QUIET = f"-Dspark.ui.showConsoleProgress=false -Dlog4j2.configurationFile={_LOG4J.as_uri()}"


def start_quietly() -> None:
    """Let Spark start quietly, unless it runs already or somebody has set up how it starts."""
    if SparkContext._gateway is None and not any(name in os.environ for name in _CHOSEN):
        os.environ[_OPTIONS] = f"{_QUIET} {os.environ.get(_OPTIONS, '').removeprefix(_QUIET).strip()}"


def start_as_ever() -> None:
    """Undo it."""
    options = os.environ.get(_OPTIONS, "")
    if options.startswith(_QUIET):
        os.environ[_OPTIONS] = options.removeprefix(_QUIET).strip()
