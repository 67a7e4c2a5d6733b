"""Which Python runs what saving does on the executors."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.errors import PythonException

from udafs.errors import SetupError

# The last line of a Python stack trace; what we say ends with the remedy as its last sentence.
_SAID_BY_US = re.compile(r"^udafs\.errors\.SetupError: (?P<what>.*)\. (?P<instead>.*\.)\s*\Z", re.MULTILINE)
_REMEDY = "Set PYSPARK_PYTHON to an interpreter that has forward_lineage installed, before Spark starts."


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
        yield
    except PythonException as error:
        if (ours := _SAID_BY_US.search(str(error))) is not None:
            raise SetupError(ours["what"], instead=ours["instead"]) from None
        if (reason := _cannot_import(error)) is None:
            raise
        raise SetupError(f"Spark's Python workers cannot run forward_lineage: {reason}", instead=_REMEDY) from None
    finally:
        context.pythonExec = before


def _cannot_import(error: PythonException) -> str | None:
    """Return the last line of what a worker said, if it is that it cannot import us.

    Only the text tells: Spark passes on what Python printed, whatever kind of error it was there.
    """
    reason = str(error).rstrip().splitlines()[-1].strip()
    return reason if "ModuleNotFoundError" in reason or "PYTHON_VERSION_MISMATCH" in str(error) else None
