"""The Python that does the work of saving on the executors."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from udafs.errors import SetupError

# A line of a Python stack trace, the last one; what we say ends with the remedy as its last sentence.
_SAID_BY_US = re.compile(r"^udafs\.errors\.SetupError: (?P<what>.*)\. (?P<instead>.*\.)\s*$", re.MULTILINE)
_UNFIT = re.compile(r"ModuleNotFoundError|Can't get attribute|PYTHON_VERSION_MISMATCH")  # the second: an older release
_REMEDY = "Set PYSPARK_PYTHON to an interpreter that has forward_lineage installed, before Spark starts."
_REMEDY_OF_SERVER = (
    "Start the Spark Connect server with PYSPARK_PYTHON set to an interpreter of this client's version that has "
    "forward_lineage installed."
)


@contextmanager
def interpreter_of(context: SparkContext) -> Iterator[None]:
    """Run Python functions that are made in this block by an interpreter that can import this package.

    Without PYSPARK_PYTHON Spark takes whatever `python3` is. Where executors share the driver's machine (`local[…]`,
    `local-cluster[…]`) the driver's own interpreter is always right; elsewhere nobody but the user can know.

    Raises:
        SetupError: the workers cannot import this package, or are of another Python version; or one raised that itself.

    """
    before = context.pythonExec
    if (context.master or "").startswith("local"):
        context.pythonExec = sys.executable
    try:
        with _refusals(_REMEDY):
            yield
    finally:
        context.pythonExec = before


@contextmanager
def interpreter_of_server() -> Iterator[None]:
    """Around Python functions that run where a Spark Connect server says; it alone can know by which interpreter.

    Raises:
        SetupError: as for `interpreter_of`.

    """
    with _refusals(_REMEDY_OF_SERVER):
        yield


@contextmanager
def interrupted_with(spark: SparkSession) -> Iterator[None]:
    """Stop what a Spark Connect server runs for this block when the block is left by Ctrl-C or the like.

    The client alone would go, and the server's tasks would write on.
    """
    tag = f"forward_lineage-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        yield
    except Exception:
        raise
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)


@contextmanager
def _refusals(remedy: str) -> Iterator[None]:
    try:
        yield
    except PythonException as error:
        if (ours := _SAID_BY_US.search(str(error))) is not None:
            raise SetupError(ours["what"], instead=ours["instead"]) from None
        if (reason := _cannot_import(error)) is None:
            raise
        raise SetupError(f"Spark's Python workers cannot run forward_lineage: {reason}", instead=remedy) from None


def _cannot_import(error: PythonException) -> str | None:
    """Return the line in which a worker said that it cannot import us, if it did.

    Only the text tells: Spark passes on what Python printed, whatever kind of error it was there.
    """
    lines = str(error).splitlines()  # Spark Connect adds the JVM's stack trace
    return next((line.strip() for line in reversed(lines) if _UNFIT.search(line)), None)
