"""A command in the session of a test: what it does with Spark, without the time that starting one takes."""

from __future__ import annotations

from unittest.mock import patch

from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from forward_lineage.cli import main


def invoke(session: SparkSession, *arguments: object, stdin: str | None = None) -> Result:
    words = [str(argument) for argument in arguments]
    # Several sessions share the suite's Spark, and the active one is whichever made the last data frame.
    with patch.object(SparkSession, "getActiveSession", lambda: session):
        return CliRunner().invoke(main, words, input=stdin, env={"COLUMNS": "120"}, catch_exceptions=False)
