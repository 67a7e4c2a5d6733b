"""A command in the session of a test: what it does with Spark, without the time that starting one takes."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from forward_lineage.cli import main


def invoke(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch, *arguments: object, stdin: str | None = None
) -> Result:
    # Several sessions share the suite's Spark, and the active one is whichever made the last data frame.
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: session)
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, words, input=stdin, env={"COLUMNS": "120"}, catch_exceptions=False)
