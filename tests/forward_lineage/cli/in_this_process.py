"""A command in the session of a test: what it does with Spark, without the time that starting one takes."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from forward_lineage.cli import main
from forward_lineage.cli.opening import Opening


def invoke(session: SparkSession, *arguments: object, stdin: str | None = None, width: int = 120) -> Result:
    words = [str(argument) for argument in arguments]
    # Several sessions share the suite's Spark, and the active one is whichever made the last data frame.
    with patch.object(SparkSession, "getActiveSession", lambda: session):
        return CliRunner().invoke(main, words, input=stdin, env={"COLUMNS": str(width)}, catch_exceptions=False)


def without_spark(*words: object, stdin: str = "SELECT 1 AS one") -> Result:
    """A command that must not start Spark: any use of it fails."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("forward_lineage.spark.local.local_session", _no_spark)
        patched.setattr(SparkSession, "getActiveSession", _no_spark)
        patched.setattr(Opening, "is_running", False)  # the suite's own is none of the command's
        return CliRunner().invoke(
            main, [str(word) for word in words], stdin, {"COLUMNS": "120"}, catch_exceptions=False
        )


def good(done: Result) -> str:
    """Return what a command printed that must have done its work."""
    assert done.exit_code == 0, done.stderr
    return done.stdout


def _no_spark(*_: object, **__: object) -> None:
    raise AssertionError("Spark was started")
