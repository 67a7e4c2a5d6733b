"""What PySpark's versions do in different ways: one function for each thing, which does it in all of them.

Which versions there are, and what differs in the kernel, is in `udafs.versions`.
"""

from __future__ import annotations

import pyarrow as pa
import pyspark
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from sqlglot import exp

from rewrites.refusals import refuse
from udafs.versions import check_version

_VERSION = check_version(pyspark.__version__)


def refuse_what_is_newer(tree: exp.Expr, version: tuple[int, int] = _VERSION) -> None:
    """Refuse SQL that Spark reads, but not as it is rewritten: up to 4.1 what PIVOT gives cannot have a name.

    Raises:
        NotTracedError: there is a PIVOT, and Spark is older than 4.2.

    """
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
