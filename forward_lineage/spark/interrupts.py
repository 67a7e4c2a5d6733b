"""Ctrl-C while Spark works: its jobs end, and it is said once."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.sql import SparkSession

from udafs.attach import is_remote

#: What py4j writes with its traceback, some sixty lines, before the caller has the KeyboardInterrupt itself.
_INTERRUPTED = "KeyboardInterrupt while sending command."


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C end the block with KeyboardInterrupt and nothing written to the console, and Spark's jobs with it.

    PySpark's own handler asks Spark to cancel its jobs from within the call that was interrupted, on the same
    connection: what comes back are errors of py4j. Here the call ends first.

    Args:
        spark: the session whose jobs the block waits for.

    """
    root = logging.getLogger()  # py4j writes it there, past its own logger
    root.addFilter(_says_more)
    main = threading.current_thread() is threading.main_thread()  # only that one may say what a signal does
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if main else None
    try:
        yield
    except KeyboardInterrupt:
        _cancel_jobs(spark)
        raise
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
        root.removeFilter(_says_more)


def _cancel_jobs(spark: SparkSession) -> None:
    with suppress(Exception):  # Spark may have ended, too; what is said is that somebody stopped it
        if is_remote(spark):
            spark.interruptAll()
        else:
            spark.sparkContext.cancelAllJobs()


def _says_more(record: logging.LogRecord) -> bool:
    return record.getMessage() != _INTERRUPTED
