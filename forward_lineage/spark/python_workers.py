"""Which Python runs what saving does on the executors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.errors import PythonException

from udafs.errors import LineageError

_REMEDY = "Set PYSPARK_PYTHON to an interpreter that has forward_lineage installed, before Spark starts."


@contextmanager
def interpreter_of(context: SparkContext) -> Iterator[None]:
    """Run Python functions that are made in this block by an interpreter that can import this package.

    Without PYSPARK_PYTHON Spark takes whatever `python3` is. Where executors share the driver's machine (`local[…]`,
    `local-cluster[…]`) the driver's own interpreter is always right; elsewhere nobody but the user can know.

    Raises:
        LineageError: the workers cannot import this package, or are of another Python version.

    """
    before = context.pythonExec
    if (context.master or "").startswith("local"):
        context.pythonExec = sys.executable
    try:
        yield
    except PythonException as error:
        reason = str(error).rstrip().splitlines()[-1].strip()
        if "ModuleNotFoundError" in reason or "PYTHON_VERSION_MISMATCH" in str(error):
            raise LineageError(
                f"Spark's Python workers cannot run forward_lineage: {reason}", instead=_REMEDY
            ) from None
        raise
    finally:
        context.pythonExec = before
