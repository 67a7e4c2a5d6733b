"""Running a case: the user's SQL as it is, the rewritten SQL, and their rows as text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from forward_lineage.frontend import RewrittenStatement, parse, rewrite_statement
from tests.golden.cases import Case, one_line
from tests.golden.tables import Known
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

_parsed = cache(parse)  # one statement for both semantics: a rewrite must leave it as it was


def rewritten(case: Case, semantics: str, catalog: Known) -> RewrittenStatement | LineageError:
    """What the front end makes of a case."""
    try:
        return rewrite_statement(_parsed(case.sql), catalog, semantics)
    except LineageError as error:
        return error


def run(spark: SparkSession, sql: str, args: Any, places: Sequence[int] = ()) -> DataFrame:
    """Run a text; `places` says which of the positional arguments each of its `?` takes."""
    if isinstance(args, list) and places:
        args = [args[place] for place in places]
    return spark.sql(sql, args=args) if args is not None else spark.sql(sql)


def columns(frame: DataFrame, traced: bool) -> list[tuple[str, str]]:
    """Names and types of the user's columns."""
    fields = frame.schema.fields[:-1] if traced else frame.schema.fields
    return [(field.name, field.dataType.simpleString()) for field in fields]


def rows(frame: DataFrame, traced: bool) -> list[tuple[str, str]]:
    """Each row as (the user's values, the decoded lineage)."""
    found: list[tuple[str, str]] = []
    for row in frame.collect():
        values = list(row)
        lineage = values.pop() if traced else None
        names = _lineage_fields(frame) if traced else []
        found.append((" | ".join(map(_value, values)), _lineage(names, lineage)))
    return found


def as_lines(found: list[tuple[str, str]]) -> list[str]:
    return [one_line(f"{values} | {lineage}" if lineage else values) for values, lineage in found]


def _lineage_fields(frame: DataFrame) -> list[str]:
    kind = frame.schema["DL"].dataType
    assert isinstance(kind, StructType)
    return kind.fieldNames()


def _lineage(names: list[str], lineage: Row | None) -> str:
    if lineage is None:
        return ""
    decoded = [", ".join(map(str, LineageSet.from_bytes(bytes(value)))) for value in lineage]
    return " ".join(f"{name}{{{ids}}}" for name, ids in zip(names, decoded, strict=True))


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Row):
        return "{" + ", ".join(f"{name}: {_value(part)}" for name, part in value.asDict().items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(name)}: {_value(part)}" for name, part in value.items()) + "}"
    return str(value)
