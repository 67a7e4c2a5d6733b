"""Spark's own errors as one line with a place: no JVM stack trace, no plan dump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException, PythonException

from forward_lineage.spark.versions import condition_in, condition_of, is_newer, logger_of, places_of, renamed, said_in
from udafs.errors import FailedQueryError, InternalError, NotTracedError, Position, SparkError, WrongSqlError

#: What Spark calls a name that means no table and no view: the `condition` of an error.
NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
#: What it calls a query of a stream; it has given it no better name.
STREAMING = "_LEGACY_ERROR_TEMP_3102"
_PLACE = re.compile(r"[(;,]?\s*line (\d+),? pos(?:ition)? (\d+)\)?")
_CONDITION = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w{5}\b")
# Spark repeats the search path after these words; the first sentence says it all.
_CHATTER = re.compile(
    r"(?:\.\s+(?:Verify the spelling|If you did not qualify|To tolerate the error)|\nSearch path:).*", re.S
)
# Columns of ours among those that Spark suggests.
_HIDDEN = re.compile(r"`__dl_\w*`, |(?:, )?`__dl_\w*`(?=\])")
_FRAMES = re.compile(r"\n\tat .*", re.S)  # of a JVM stack trace, which follows a failed task
# What `raise_error` says, and the kernel: a text of somebody's own, ours with the remedy as its last sentence.
_RAISED = "USER_RAISED_EXCEPTION"
_UNBOUND = "UNBOUND_SQL_PARAMETER"
# What Spark says where the memory ends and its process does not.
_FULL = re.compile(r"OutOfMemoryError|UNABLE_TO_ACQUIRE_MEMORY|Not enough memory|maxResultSize")
_MORE = "Give spark.driver.memory and spark.executor.memory more, or spark.sql.shuffle.partitions."
# A table whose reader fills no column that an INSERT leaves out; Spark does, since 4.1.
_LEFT_OUT = "Cannot find data for the output column `DL`"
_NEVER_MATCHED = (
    "Before Spark 4.1, write MERGE INTO … USING (SELECT …) AS s ON false WHEN NOT MATCHED THEN INSERT (…) VALUES (…)."
)
# What the system says in a task that writes shuffle files or spills.
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded")
_ROOM = "Make room where Spark keeps shuffle files and spills: spark.local.dir, or SPARK_LOCAL_DIRS of the workers."
_ENDED = "Start a new session, with more spark.driver.memory if Spark's log names an OutOfMemoryError."


_ICEBERG = "org.apache.iceberg."  # the package of its exceptions
# What gRPC says of a server that is not there, and a Spark Connect server of a session that it does not know.
_LOST = re.compile(r"StatusCode\.UNAVAILABLE|INVALID_HANDLE\.SESSION_|RETRIES_EXCEEDED")
_LOST_ENDED = "Start it again if need be, and a new session: what is registered and saved is there again."

# A user of an address, and a password, which may have a slash; of Azure's stores the container stands there.
_USER = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*)://([^/\s@]*|[^/\s@:]+:(?!\d{1,5}/)[^\s@]*)@")
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")

# PySpark writes every analysis error to the console as well, with the JVM's stack trace, before anyone can catch it.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def without_stack_traces() -> Iterator[None]:
    """Keep errors that we catch, or turn into our own, off the user's console."""
    loggers = [logger_of(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def spark_errors(sql: str | None = None, *, instead: str | None = None) -> Iterator[None]:
    """Turn what Spark says in this block into an error of ours.

    Args:
        sql: the user's own text, in which the error says where; None when Spark was given another text, since places in
            that one mean nothing to the user.
        instead: what to do, where the type's own remedy is not it: the text is not the user's statement.

    Raises:
        WrongSqlError: Spark refused the SQL, a name or a type.
        FailedQueryError: Spark began to run it and could not finish.

    """
    try:
        with without_stack_traces():
            yield
    except (Py4JJavaError, PySparkException) as error:
        raise from_spark(error, sql, instead) from None
    except (Py4JNetworkError, ConnectionRefusedError):
        raise FailedQueryError(
            "Spark's Java process has ended, as it does when its heap is full", instead=_ENDED
        ) from None


@contextmanager
def lost_server() -> Iterator[None]:
    """Around whatever asks Spark something: a Spark Connect server may go at any time.

    Raises:
        FailedQueryError: it is gone, or has forgotten the session.

    """
    try:
        yield
    except PySparkException as error:
        if not _LOST.search(str(error)):
            raise
        raise from_spark(error) from None


@contextmanager
def put_back() -> Iterator[None]:
    """Around what makes a session what it was before.

    If its Java process has ended, nothing has to be put back. The question that found it so has raised an error, which
    is not hidden behind another one.
    """
    try:
        with suppress(Py4JNetworkError, ConnectionError):
            yield
    except PySparkException as error:
        if not _LOST.search(str(error)):
            raise


@contextmanager
def rewritten_errors() -> Iterator[None]:
    """Around a rewritten query, whose original Spark has accepted: if Spark refuses it, that is a bug of ours.

    Raises:
        InternalError: Spark refused it.
        NotTracedError: it is too old to read it.
        FailedQueryError: Spark began to run it and could not finish.

    """
    try:
        with spark_errors():
            yield
    except WrongSqlError as error:
        if is_newer(error.condition):
            what = f"this Spark does not read what traces the statement: {error.what}"
            raise NotTracedError(what, instead="Use Spark 4.0 or newer, or write the subquery as a join.") from None
        raise InternalError(f"Spark refuses the rewritten SQL: {error.what}") from None


def from_spark(
    error: Py4JJavaError | PySparkException, sql: str | None = None, instead: str | None = None
) -> SparkError:
    """Say what Spark said, in one line, with the name of its error, and with line and column where Spark knows them.

    Args:
        error: what PySpark raised.
        sql: see `spark_errors`.
        instead: see `spark_errors`.

    """
    kind = WrongSqlError if isinstance(error, AnalysisException) else FailedQueryError
    text = _text(error)
    name = _condition(error) or condition_in(text)
    if isinstance(error, PySparkException) and _LOST.search(text):
        return FailedQueryError(
            "the Spark Connect server has gone, or does not know this session any more", instead=_LOST_ENDED
        )
    said, is_raised = said_in(text)
    what = _one_line(said)
    if is_raised or name == _RAISED:
        what, _, last = what.rpartition(". ") if ". " in what else (what, "", "")
        instead = f"{last}." if last else instead
    elif name == _UNBOUND:
        instead = "Give the values of parameters: args={…}."
    elif instead is None and _FULL.search(text):
        instead = _MORE
    elif instead is None and _LEFT_OUT in text:
        instead = _NEVER_MATCHED
    elif instead is None and _NO_ROOM.search(text):
        instead = _ROOM
    return kind(what, at=None if sql is None else _place(error, text, sql), instead=instead, condition=name)


def without_users(text: str) -> str:
    """Return text whose addresses name neither users nor passwords."""

    def left(found: re.Match[str]) -> str:
        return found[0] if found[1] in _CONTAINERS and ":" not in found[2] else f"{found[1]}://"

    return _USER.sub(left, text)


def _text(error: Py4JJavaError | PySparkException) -> str:
    if isinstance(error, PythonException):  # Python's own stack trace, the error itself in its last line
        return f"Spark's Python worker failed: {str(error).rstrip().splitlines()[-1]}"
    if isinstance(error, Py4JJavaError):
        java: Any = error.java_exception
        # "Failed to refresh the table", say, whose cause says that it may not be read.
        vague = java.getClass().getName().startswith(_ICEBERG) and java.getCause() is not None
        return f"{_said_by(java)}: {_said_by(java.getCause())}" if vague else _said_by(java)
    return str(error)


def _said_by(java: Any) -> str:
    """The message of an exception of Java's, or its name if it has none."""
    return str(java.getMessage() or java.toString())


def _condition(error: Py4JJavaError | PySparkException) -> str | None:
    if isinstance(error, PySparkException):
        return condition_of(error)
    java: Any = error.java_exception
    known = dir(java)
    return next((renamed(getattr(java, each)()) for each in ("getCondition", "getErrorClass") if each in known), None)


def _one_line(text: str) -> str:
    text = text.strip().split("\n\n== SQL")[0].split("\n== SQL")[0]
    text = _FRAMES.sub("", text)
    text = _CONDITION.sub("", text)
    text = _SQLSTATE.split(text)[0]  # the place and the plan follow it
    text = _CHATTER.sub("", text)
    text = _HIDDEN.sub("", text)
    return without_users(" ".join(text.split()).rstrip("."))


def _place(error: Exception, text: str, sql: str) -> Position | None:
    if isinstance(error, PySparkException):
        for start in places_of(error):
            if 0 <= start <= len(sql):
                return _position(sql, start)
    match = _PLACE.search(text)
    return Position(int(match[1]), int(match[2]) + 1) if match else None


def _position(sql: str, index: int) -> Position:
    """Return the line and column, counted from 1, of a character counted from 0."""
    line_start = sql.rfind("\n", 0, index) + 1
    return Position(sql.count("\n", 0, index) + 1, index - line_start + 1)
