"""Ctrl-C while Spark starts or works: what was begun ends, and it is said once."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from udafs.attach import is_remote

#: What py4j writes with a traceback, some sixty lines, before the caller has the error itself.
_SAID_BY_PY4J = frozenset(
    {
        "Exception occurred while shutting down connection",
        "Exception while sending command.",
        "KeyboardInterrupt while sending command.",
    }
)
#: Where it writes that: past its own loggers, and with one of them.
_LOGGERS = (None, "py4j.clientserver")
_SECONDS_TO_END = 5
#: Threads in which Spark starts; whether another one has ended that.
_starting: dict[int, bool] = {}


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C end the block with KeyboardInterrupt and nothing written to the console, and Spark's jobs with it.

    PySpark's own handler asks Spark to cancel its jobs from within the call that was interrupted, on the same
    connection: what comes back are errors of py4j. Here the call ends first.

    Args:
        spark: the session whose jobs the block waits for.

    """
    pressed: list[int] = []

    def press(number: int, _: FrameType | None) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    # Only the main thread may say what a signal does; and a process that ignores this one goes on ignoring it.
    main = threading.current_thread() is threading.main_thread()
    heard = main and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    before = signal.signal(signal.SIGINT, press) if heard else None
    try:
        with _quiet_py4j():
            yield
    except BaseException as error:
        if not pressed and not isinstance(error, KeyboardInterrupt):
            raise
        _cancel_jobs(spark)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise KeyboardInterrupt from None  # what failed on the way out, such as a call on a connection that was closed
    finally:
        if before is not None:  # else nothing was set, or what was there is none of Python's
            signal.signal(signal.SIGINT, before)


@contextmanager
def interruptible_start() -> Iterator[None]:
    """Let Ctrl-C end the block, in which Spark starts, and the Java process that it has started.

    That process would stay: it writes where it listens into a folder that PySpark has removed by then, fails, and does
    not end. PySpark would also keep a connection to it, for whoever starts Spark next.
    """
    if SparkContext._gateway is not None:  # it runs already, and is somebody else's
        yield
        return
    thread = threading.get_ident()
    _starting[thread] = False
    try:
        with _quiet_py4j():
            yield
    except BaseException as error:
        if not (_starting[thread] or _is_interrupt(error)):
            raise
        _end_java(_started_in(_frames_of(error)))
        raise KeyboardInterrupt from None
    finally:
        del _starting[thread]


def stop_work_of(thread: threading.Thread) -> None:
    """End what another thread does with Spark: its start, else whatever jobs there are.

    Args:
        thread: which one.

    """
    if thread.ident in _starting:
        _starting[thread.ident] = True
        _end_java(_started_in(_outwards(sys._current_frames().get(thread.ident))))
    elif (context := SparkContext._active_spark_context) is not None:
        with suppress(Exception):  # Spark may have ended, too
            context.cancelAllJobs()


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """Keep off the console what py4j writes there before it raises the same."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]

    def says_more(record: logging.LogRecord) -> bool:  # a filter of this block alone: blocks may stand in one another
        return record.getMessage() not in _SAID_BY_PY4J

    for logger in loggers:
        logger.addFilter(says_more)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(says_more)


def _is_interrupt(error: BaseException | None) -> bool:
    """Tell whether it is one, or came out of one: py4j may fail where it cleans up after the interrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _frames_of(error: BaseException | None) -> Iterator[FrameType]:
    while error is not None:
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next
        error = error.__context__


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _started_in(frames: Iterator[FrameType]) -> list[subprocess.Popen[bytes]]:
    """The processes that functions were starting: until PySpark is connected to its own, only it knows of it."""
    found: dict[int, subprocess.Popen[bytes]] = {}
    for frame in frames:
        if frame.f_code.co_name in ("launch_gateway", "__init__"):
            for each in frame.f_locals.values():
                if isinstance(each, subprocess.Popen):
                    found[id(each)] = each
    return list(found.values())


def _end_java(started: list[subprocess.Popen[bytes]]) -> None:
    """End processes that were started, and the one that PySpark is connected to; a new start begins anew."""
    gateway: Any = SparkContext._gateway
    if gateway is not None and getattr(gateway, "proc", None) is not None:
        started = [*started, gateway.proc]
    for process in started:
        with suppress(AttributeError, OSError):  # it had no number yet, or has ended
            process.terminate()
            _wait_for(process)
    context: Any = SparkContext
    context._gateway = context._jvm = context._active_spark_context = None
    session: Any = SparkSession
    session._instantiatedSession = None


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_SECONDS_TO_END)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()


def _cancel_jobs(spark: SparkSession) -> None:
    with suppress(Exception):  # Spark may have ended, too; what is said is that somebody stopped it
        if is_remote(spark):
            spark.interruptAll()
        else:
            spark.sparkContext.cancelAllJobs()
