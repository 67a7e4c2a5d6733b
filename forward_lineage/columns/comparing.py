"""When two values are one: the forms in which equal to Arrow is what is equal to Spark's GROUP BY."""

from __future__ import annotations

from pyspark.sql import types as T  # noqa: N812
from sqlglot import exp

from forward_lineage.spark.versions import VARIANTS
from rewrites.refusals import refuse

WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
FLOATS = (T.FloatType, T.DoubleType)
_NESTED = (T.StructType, T.ArrayType, T.MapType, *VARIANTS)


def compared(key: exp.Expr, kind: T.DataType, where: str) -> exp.Expr:
    """Return an expression whose values are integers, strings or truth values that are equal where the key's are.

    Args:
        key: an expression.
        kind: what Spark says of its type.
        where: what messages say that it stands in, e.g. ``a view``.

    Raises:
        NotTracedError: there is no such form of its type.

    """
    if isinstance(kind, (*WHOLE, T.BooleanType, T.NullType)) or kind.simpleString() == "string":
        return key.copy()
    if isinstance(kind, T.DateType):
        return spark_call("unix_date", key.copy())
    if isinstance(kind, FLOATS):  # 0.0 and −0.0 are one group; so are all NaN, which have one spelling
        return spark_call("string", positive_zero(key, kind))
    if isinstance(kind, T.BinaryType):
        return spark_call("hex", key.copy())
    if isinstance(kind, _NESTED) or kind.simpleString().startswith(("string", "geo")):
        refuse(key, f"a key of type {kind.simpleString()} in {where}", "Make it a text: CAST(… AS STRING).")
    if isinstance(kind, T.TimestampType):
        return spark_call("unix_micros", key.copy())
    return spark_call("string", key.copy())


def positive_zero(key: exp.Expr, kind: T.DataType) -> exp.Expr:
    """Return a float with 0.0 in place of −0.0."""
    zero = spark_call("float" if isinstance(kind, T.FloatType) else "double", exp.Literal.number(0))
    return exp.Add(this=exp.Paren(this=key.copy()), expression=zero)


def spark_call(function: str, *arguments: exp.Expr) -> exp.Anonymous:
    """Return a call of a Spark function."""
    return exp.Anonymous(this=function, expressions=list(arguments))
