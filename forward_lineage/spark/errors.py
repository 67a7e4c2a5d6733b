"""Spark's own errors as one line with a place: no JVM stack trace, no plan dump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.logger import PySparkLogger

from udafs.errors import LineageError, Position

_PLACE = re.compile(r"[(;,]?\s*line (\d+),? pos(?:ition)? (\d+)\)?")
_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}\b")
# Spark repeats the search path after these words; the first sentence says it all.
_CHATTER = re.compile(
    r"(?:\.\s+(?:Verify the spelling|If you did not qualify|To tolerate the error)|\nSearch path:).*", re.S
)


# PySpark writes every analysis error to the console as well, with the JVM's stack trace, before anyone can catch it.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def without_stack_traces() -> Iterator[None]:
    """Keep errors that we catch, or turn into our own, off the user's console."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def spark_errors(sql: str) -> Iterator[None]:
    """Turn what Spark says about this text into a `LineageError`.

    Raises:
        LineageError: the block raised one of Spark's analysis or parse errors.

    """
    try:
        with without_stack_traces():
            yield
    except (AnalysisException, ParseException, Py4JJavaError, PySparkException) as error:
        raise from_spark(error, sql) from None


def from_spark(error: Exception, sql: str) -> LineageError:
    """Say what Spark said, in one line, with line and column where Spark knows them."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    return LineageError(_one_line(text), at=_place(error, text, sql))


def condition(error: PySparkException) -> str:
    """Return the name of Spark's error, e.g. TABLE_OR_VIEW_NOT_FOUND."""
    return error.getCondition() or ""


def _one_line(text: str) -> str:
    text = text.strip().split("\n\n== SQL")[0].split("\n== SQL")[0]
    text = _CONDITION.sub("", text)
    text = _SQLSTATE.split(text)[0]  # the place and the plan follow it
    text = _CHATTER.sub("", text)
    return " ".join(text.split()).rstrip(".")


def _place(error: Exception, text: str, sql: str) -> Position | None:
    if isinstance(error, PySparkException):
        for context in error.getQueryContext() or ():
            start = context.startIndex()
            if 0 <= start <= len(sql):
                return position(sql, start)
    match = _PLACE.search(text)
    return Position(int(match[1]), int(match[2]) + 1) if match else None


def position(sql: str, index: int) -> Position:
    """Return the line and column, counted from 1, of a character counted from 0."""
    line_start = sql.rfind("\n", 0, index) + 1
    return Position(sql.count("\n", 0, index) + 1, index - line_start + 1)
