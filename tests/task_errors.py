"""What PySpark raises where a task, or an expression that needs none, refuses its input.

From 4.0 on it is an error of a class of PySpark's. 3.5 knows that class for expressions that the driver computes; what
a task throws comes as an error of py4j's there, with the same text somewhere in it. (What users call says both in one
line: `forward_lineage.spark.errors`.)
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import SparkRuntimeException

from forward_lineage.spark.versions import said_in
from udafs.build import spark_version
from udafs.versions import check_version

_NAMED = check_version(spark_version()) >= (4, 0)
_NAME, _STATE = ("[USER_RAISED_EXCEPTION] ", " SQLSTATE: P0001") if _NAMED else ("", "")

#: For `pytest.raises`.
REFUSED: tuple[type[Exception], ...] = (SparkRuntimeException,) if _NAMED else (SparkRuntimeException, Py4JJavaError)


def said(error: Exception) -> str:
    """Return what the kernel said, without the name and the state that Spark gives it from 4.0 on."""
    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    text = said_in(text)[0]
    assert text.startswith(_NAME) and text.endswith(_STATE), text
    return text.removeprefix(_NAME).removesuffix(_STATE)
