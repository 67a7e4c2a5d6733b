"""The differences between PySpark's versions: one function for each thing, which does it in all of them.

The versions that exist, and the differences in the kernel, are in `udafs.versions`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.sql.udf import _create_udf

from udafs.versions import check_version

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_VERSION = check_version(pyspark.__version__)

_PLAN = re.compile(r"(?:; line \d+ pos \d+)?;\n.*|; line \d+ pos \d+$|\(line \d+, pos \d+\)(?:\n.*)?$", re.S)
_RAISED_IN_TASK = re.compile(
    r"^Job aborted .*?: Lost task [^\n]*?\): "
    r"(?:java\.lang\.|org\.apache\.spark\.Spark)RuntimeException: (.*?)(?:\n\tat .*)?$",
    re.S,
)
_NAMED_IN_TASK = re.compile(
    r"^Job aborted .*?: Lost task [^\n]*?\): [\w.$]+: (\[([A-Z][A-Z0-9_.]+)\] .*?)(?:\n\tat .*)?$", re.S
)
_PYTHON_IN_TASK = re.compile(
    r"^Job aborted .*?: Lost task [^\n]*?\): org\.apache\.spark\.api\.python\.PythonException: "
    r"Traceback [^\n]*\n(?:[ \t][^\n]*\n)*(\S.*?)\s*(?:\n\tat .*)?$",
    re.S,
)
_OF_STREAMS = "Queries with streaming sources must be executed", "_LEGACY_ERROR_TEMP_3102"
_REFUSED = "_LEGACY_ERROR_TEMP_1332"  # as in udafs/scala/versions/Refusals/3.5.scala
_MAP_IN_ARROW = 207  # PythonEvalType.SQL_MAP_ARROW_ITER_UDF, which is in another module in each

#: For sessions that we start: what 4.0 does anyhow. CREATE TABLE without USING makes a Parquet table, not Hive's.
LATER_DEFAULTS = {} if _VERSION >= (4, 0) else {"spark.sql.legacy.createHiveTableByDefault": "false"}

#: What is raised where a query fails: before 4.0 PySpark has no class for what a task throws.
FAILURES: tuple[type[PySparkException], type[PySparkException | Py4JJavaError]] = (
    PySparkException,
    PySparkException if _VERSION >= (4, 0) else Py4JJavaError,
)

#: For Parquet files of ours: what 4.0 does anyhow. 3.5 refuses to write times before 1900 and dates before 1582.
OLD_TIMES_AS_THEY_ARE = (
    {}
    if _VERSION >= (4, 0)
    else {f"spark.sql.parquet.{kind}RebaseModeInWrite": "CORRECTED" for kind in ("datetime", "int96")}
)

#: VARIANT, where there is such a type.
VARIANTS: tuple[type[T.DataType], ...] = (T.VariantType,) if _VERSION >= (4, 0) else ()


def refuse_what_is_newer(tree: Expr, version: tuple[int, int] = _VERSION) -> None:
    """Refuse SQL that Spark reads, but not as it is rewritten: up to 4.1 what PIVOT gives cannot have a name.

    Raises:
        NotTracedError: there is a PIVOT, and Spark is older than 4.2.

    """
    from sqlglot import exp  # noqa: PLC0415 - a command that needs no Spark does not wait for it

    from rewrites.refusals import refuse  # noqa: PLC0415 - nor for this, which imports it

    for pivot in tree.find_all(exp.Pivot) if version < (4, 2) else ():
        if not pivot.args.get("unpivot"):
            what = f"PIVOT is not traced on Spark {version[0]}.{version[1]}"
            refuse(pivot, what, "Use Spark 4.2 or newer, or write aggregates with FILTER in place of PIVOT.")


def arrow_schema(schema: StructType, timezone: str | None) -> pa.Schema:
    """Return a schema as Arrow has it, whose TIMESTAMPs are in a time zone.

    Raises:
        PySparkException: Arrow has no such type.

    """
    if _VERSION >= (4, 2):
        return to_arrow_schema(schema, timezone=timezone)
    return in_time_zone(to_arrow_schema(schema), timezone or "UTC")  # there they are in UTC


def arrow_table(frame: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame in order, as `DataFrame.toArrow` does, whose TIMESTAMPs are in UTC.

    Raises:
        PySparkException: Spark fails; or Arrow has no such type.

    """
    if _VERSION >= (4, 0):
        return frame.toArrow()
    schema = arrow_schema(frame.schema, "UTC")
    batches = cast(Any, frame)._collect_as_arrow()
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def arrow_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a DataFrame with the rows of a table, as `SparkSession.createDataFrame` makes it of one from 4.0 on."""
    if _VERSION >= (4, 0):
        # Else times without a zone would be instants, where the session prefers these.
        return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer  # noqa: PLC0415 - it loads pandas, on 3.5

    session: Any = spark
    context, python = session._sc, session._jvm.PythonSQLUtils
    rows = context._serialize_to_jvm(
        table.to_batches(), ArrowStreamSerializer(), python.readArrowStreamFromFile, session._jvm.ArrowIteratorServer
    )
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return DataFrame(python.toDataFrame(rows, schema.json(), session._jsparkSession), spark)


def map_in_arrow(frame: DataFrame, function: Callable[..., Any], schema: str) -> DataFrame:
    """Do what `DataFrame.mapInArrow` does, without its check that pandas is installed.

    Args:
        frame: of a session with a JVM.
        function: maps batches of Arrow to batches.
        schema: of the batches that it returns, as DDL.

    """
    mapped: Any = _create_udf(function, _schema_of(schema), _MAP_IN_ARROW)
    column = mapped(*[frame[name] for name in frame.columns])._jc
    java: Any = frame._jdf
    made = java.mapInArrow(column, False, None) if _VERSION >= (4, 0) else java.pythonMapInArrow(column.expr(), False)
    return DataFrame(made, frame.sparkSession)


@cache
def _schema_of(ddl: str) -> T.DataType:
    """Spark reads it, in ten calls of its JVM."""
    return T._parse_datatype_string(ddl)


def condition_of(error: PySparkException) -> str | None:
    """Return the name of an error of Spark's, such as ``TABLE_OR_VIEW_NOT_FOUND``."""
    return error.getCondition() if _VERSION >= (4, 0) else renamed(error.getErrorClass())


def renamed(condition: str | None) -> str | None:
    """Return the newest name of an error: of what the kernel refuses, 3.5 has no name of its own."""
    return "USER_RAISED_EXCEPTION" if condition == _REFUSED else condition


def places_of(error: PySparkException) -> list[int]:
    """Return the characters of a statement, counted from 0, at which it says that it is wrong; -1: it does not know."""
    if _VERSION >= (4, 0):
        return [context.startIndex() for context in error.getQueryContext() or ()]
    java: Any = getattr(error, "_origin", None)  # PySpark has no such question
    return [int(context.startIndex()) for context in java.getQueryContext()] if _asks(java, "getQueryContext") else []


def is_newer(condition: str | None) -> bool:
    """Say whether an error of Spark's about a rewritten statement is one that newer Sparks do not have.

    Up to 3.5 a subquery may not name a column of the query around it in a side of a set operation, or below LIMIT.
    """
    return _VERSION < (4, 0) and (condition or "").startswith("UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.")


def said_in(text: str, version: tuple[int, int] = _VERSION) -> tuple[str, bool]:
    """Return the text of an error of Spark's, and whether `raise_error` says it in a task.

    Up to 3.5 a place, a plan or the statement may follow the text; and the words of a task come behind its name. Up to
    4.1 at least, the words of a function of Python's over an RDD do, too.
    """
    if python := _PYTHON_IN_TASK.search(text):
        return f"Spark's Python worker failed: {python[1].splitlines()[-1]}", False
    if version >= (4, 0):
        return text, False
    if raised := _RAISED_IN_TASK.search(text):
        return raised[1], not raised[1].startswith("[")  # the name of an error of Spark's own
    if named := _NAMED_IN_TASK.search(text):
        return named[1], False
    return _PLAN.sub("", text), False


def condition_in(text: str, version: tuple[int, int] = _VERSION) -> str | None:
    """Return the newest name of an error that has none: up to 3.5 it may stand in the text, as of what a task says."""
    if version >= (4, 0):
        return None
    if text.startswith(_OF_STREAMS[0]):
        return _OF_STREAMS[1]
    named = _NAMED_IN_TASK.search(text)
    return named[2] if named else None


def _asks(java: Any, question: str) -> bool:
    return java is not None and question in dir(java)


def logger_of(name: str) -> logging.Logger:
    """Return a logger of PySpark's, which is of a class of its own from 4.0 on."""
    if _VERSION >= (4, 0):
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - 3.5 has none

        return PySparkLogger.getLogger(name)
    return logging.getLogger(name)


def in_time_zone(schema: pa.Schema, timezone: str) -> pa.Schema:
    """Return the schema with all timestamps that have a time zone in `timezone`, at any depth."""
    return pa.schema([field.with_type(_moved(field.type, timezone)) for field in schema], schema.metadata)


def _moved(kind: pa.DataType, timezone: str) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, timezone)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_moved(field.type, timezone)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_moved(kind.value_type, timezone)))
    if pa.types.is_map(kind):
        key = kind.key_field.with_type(_moved(kind.key_type, timezone))
        return pa.map_(key, kind.item_field.with_type(_moved(kind.item_type, timezone)), kind.keys_sorted)
    return kind
