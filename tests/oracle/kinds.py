"""Types and names that the generator lacks: the interpreter has no such values, so plain Spark and a law judge.

Every shape of query is written over columns of every type, under names that are hard to read. Its rows must be those of
plain Spark, and the base tables, cut down to the control lineage of a row, must give that row back. A campaign
(`--typed N`) draws from them, and goes on with what is returned, in a session that has other settings than the first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.checking.continuations import Steps, lineages, some_steps, surroundings
from forward_lineage.checking.results import collect
from forward_lineage.checking.values import Value
from tests.oracle.spark_answers import FAILURES
from tests.spark_settings import configure
from udafs.lineage_set import LineageSet

# Type of the column → what its values are written as, NULL and a duplicate among them; in `x`, and in `y`.
KINDS: dict[str, tuple[str, ...]] = {
    "CHAR(3)": ("'a'", "'a '", "'ab'", "NULL", "''"),
    "CHAR(7)": ("'a'", "'a   '", "'ab'", "NULL", "''"),
    "VARCHAR(5)": ("'a'", "'a '", "'A'", "NULL", "''"),
    "STRING COLLATE UTF8_LCASE": ("'a'", "'A'", "'é'", "NULL", "'b'"),
    "STRING COLLATE UNICODE_CI": ("'a'", "'A'", "'É'", "NULL", "'é'"),
    "DECIMAL(38, 6)": ("1", "1.000001", "99999999999999999999999999999999.999999", "NULL", "1"),
    "DECIMAL(38, 0)": ("1", "2", "-99999999999999999999999999999999999999", "NULL", "1"),
    "TIMESTAMP_NTZ": ("'2024-01-01 00:00:00'", "'2024-01-01 00:00:00.000001'", "'0001-01-01'", "NULL", "'2024-01-01'"),
    "TIMESTAMP": (
        "'2024-03-31 02:30:00'",
        "'2024-03-31 02:30:00'",
        "'1969-12-31 23:59:59.999999'",
        "NULL",
        "'2024-01-01'",
    ),
    "DATE": ("'2024-02-29'", "'2024-02-29'", "'0001-01-01'", "NULL", "'9999-12-31'"),
    "INTERVAL DAY TO SECOND": (
        "INTERVAL '1' DAY",
        "INTERVAL '24' HOUR",
        "INTERVAL '-1' SECOND",
        "NULL",
        "INTERVAL '0' DAY",
    ),
    "INTERVAL YEAR TO MONTH": (
        "INTERVAL '1' YEAR",
        "INTERVAL '12' MONTH",
        "INTERVAL '-1' MONTH",
        "NULL",
        "INTERVAL '0' YEAR",
    ),
    "BINARY": ("X'00'", "X'00'", "X''", "NULL", "X'FF00'"),
    "DOUBLE": ("'NaN'", "'-0.0'", "0.0", "NULL", "'NaN'"),
    "FLOAT": ("'NaN'", "'-0.0'", "0.0", "NULL", "1.5"),
    "TINYINT": ("1", "1", "-128", "NULL", "127"),
    "ARRAY<DOUBLE>": ("array(1D, NULL)", "array(1D, NULL)", "array(double('NaN'))", "NULL", "array(-0.0D)"),
    "STRUCT<a: INT, b: STRUCT<c: STRING>>": (
        "named_struct('a', 1, 'b', named_struct('c', 'x'))",
        "named_struct('a', 1, 'b', named_struct('c', 'x'))",
        "named_struct('a', NULL, 'b', NULL)",
        "NULL",
        "named_struct('a', 2, 'b', named_struct('c', ''))",
    ),
    "MAP<STRING, INT>": ("map('a', 1)", "map('a', 1)", "map('b', NULL)", "NULL", "map()"),
    "VARIANT": ("parse_json('1')", "parse_json('1')", "parse_json('{\"a\": [1]}')", "NULL", "parse_json('\"x\"')"),
}
# Kinds that are compared with another one on the other side.
PAIRS = {
    "CHAR(3)": "CHAR(7)",
    "VARCHAR(5)": "CHAR(3)",
    "DATE": "TIMESTAMP",
    "TINYINT": "DECIMAL(38, 6)",
    "FLOAT": "DOUBLE",
}

NAMES = ("v", "all", "__dl_x", "a.b", "naïve Spalte", "tick`ed", "select", "ÄÖ", "V w", "DL_")

# {v} and {w}: the columns of x and y; {x} and {y}: the tables.
SHAPES = {
    "rows": "SELECT id, {v} FROM {x} WHERE {v} IS NOT NULL",
    "groups": "SELECT {v}, count(*) AS n FROM {x} GROUP BY {v}",
    "distinct": "SELECT DISTINCT {v} FROM {x}",
    "union": "SELECT {v} FROM {x} UNION SELECT {w} FROM {y}",
    "union all": "SELECT {v} FROM {x} UNION ALL SELECT {w} FROM {y}",
    "intersect": "SELECT {v} FROM {x} INTERSECT SELECT {w} FROM {y}",
    "except": "SELECT {v} FROM {x} EXCEPT SELECT {w} FROM {y}",
    "join": "SELECT a.id, b.{w} FROM {x} AS a JOIN {y} AS b ON a.{v} = b.{w}",
    "outer join": "SELECT a.id, a.{v}, b.{w} FROM {x} AS a FULL JOIN {y} AS b ON a.{v} <=> b.{w}",
    "semi join": "SELECT a.id FROM {x} AS a LEFT SEMI JOIN {y} AS b ON a.{v} = b.{w}",
    "exists": (
        "SELECT a.id, a.{v} FROM {x} AS a WHERE EXISTS (SELECT 1 FROM {y} AS b WHERE b.{w} = a.{v} AND b.k >= a.k)"
    ),
    "not exists": "SELECT a.id FROM {x} AS a WHERE NOT EXISTS (SELECT 1 FROM {y} AS b WHERE b.{w} = a.{v})",
    "in": "SELECT a.id FROM {x} AS a WHERE a.{v} IN (SELECT b.{w} FROM {y} AS b WHERE b.k >= 1)",
    "not in": "SELECT a.id FROM {x} AS a WHERE a.{v} NOT IN (SELECT b.{w} FROM {y} AS b WHERE b.{w} IS NOT NULL)",
    "compared with a maximum": (
        "SELECT a.id FROM {x} AS a WHERE a.{v} <= (SELECT max(b.{w}) FROM {y} AS b WHERE b.k = a.k)"
    ),
    "a maximum of the key": (
        "SELECT a.id FROM {x} AS a WHERE a.k <= (SELECT max(b.k) FROM {y} AS b WHERE b.{w} = a.{v})"
    ),
    "having": "SELECT {v}, max(k) AS m FROM {x} GROUP BY {v} HAVING count(*) > 1",
    "window": "SELECT id, {v}, sum(k) OVER (PARTITION BY {v} ORDER BY id) AS s FROM {x}",
    "groups joined": (
        "WITH g AS (SELECT {v}, max(k) AS m FROM {x} GROUP BY {v}) SELECT a.{v}, b.m FROM g AS a JOIN g AS b"
        " ON a.{v} <=> b.{v} WHERE b.m >= 1"
    ),
    "sort and limit": "SELECT {v}, id FROM {x} ORDER BY {v}, id LIMIT 3",
    "largest": "SELECT max({v}) AS m, min({v}) AS n FROM {x}",
    "constants": "SELECT id, {v}, CAST('x' AS INT) AS i, 1 / 0 AS q FROM {x} WHERE k + CAST('1' AS INT) >= 1",
    "windows joined": (
        "WITH w AS (SELECT id, {v}, sum(k) OVER (PARTITION BY k ORDER BY id) AS s FROM {x})"
        " SELECT a.id, a.{v}, b.s FROM w AS a JOIN w AS b ON a.id = b.id WHERE b.s >= 0"
    ),
}
TABLES_AT_A_TIME = 20  # queries of one type and name

# A session of its own folds constants under its own settings, whatever the first session has.
OTHER_SETTINGS = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Kathmandu"}


@dataclass(frozen=True)
class Typed:
    """A query over columns of some types, under some names."""

    shape: str
    kind: str
    name: str

    @property
    def other(self) -> str:
        """The type of the other table's column."""
        return PAIRS.get(self.kind, self.kind)

    def sql(self, x: str = "x", y: str = "y") -> str:
        column = quoted(self.name)
        return SHAPES[self.shape].format(v=column, w=column, x=x, y=y)


def all_typed() -> list[Typed]:
    """Every shape over every type; names in turn, so that each meets many shapes."""
    pairs = [(shape, kind) for kind in KINDS for shape in SHAPES]
    return [Typed(shape, kind, NAMES[place % len(NAMES)]) for place, (shape, kind) in enumerate(pairs)]


_databases = count()


def many_typed(number_of: int, seed: int) -> list[tuple[int, Typed, Steps]]:
    """Random queries with what is done next, always the same for a seed; twenty after each other have one type."""
    found = []
    for number in range(seed, seed + number_of):
        of_table, dice = Random(number // TABLES_AT_A_TIME), Random(number)
        kind, name = of_table.choice(list(KINDS)), of_table.choice(NAMES)
        found.append((number, Typed(dice.choice(list(SHAPES)), kind, name), some_steps(dice)))
    return found


@contextmanager
def session_apart(spark: SparkSession, home: Path, settings: Mapping[str, str]) -> Iterator[ForwardLineage]:
    """A session of its own, in a database of its own."""
    session = spark.newSession()
    configure(session, settings)
    database = f"kinds_{next(_databases)}"
    session.sql(f"CREATE DATABASE {database}")
    session.catalog.setCurrentDatabase(database)
    yield ForwardLineage(session, home=home)
    session.sql(f"DROP DATABASE {database} CASCADE")


class Tables:
    """The two tables of a type and a name, as Parquet tables, registered; dropped at the end."""

    def __init__(self, lineage: ForwardLineage, typed: Typed) -> None:
        self.lineage, self.spark = lineage, lineage.spark
        column = quoted(typed.name)
        for table, kind in (("x", typed.kind), ("y", typed.other)):
            self.spark.sql(f"DROP TABLE IF EXISTS {table}")
            self.spark.sql(f"CREATE TABLE {table} (id BIGINT, k INT, {column} {kind}) USING parquet")
            rows = ", ".join(f"({n}L, {n % 3})" for n in range(len(KINDS[kind])))
            cases = " ".join(f"WHEN {n} THEN CAST({value} AS {cast_type(kind)})" for n, value in enumerate(KINDS[kind]))
            self.spark.sql(f"INSERT INTO {table} SELECT id, k, CASE id {cases} END FROM VALUES {rows} AS r(id, k)")
            lineage.register(table, key="id")

    def drop(self) -> None:
        for table in ("x", "y"):
            self.lineage.unregister(table)
            self.spark.sql(f"DROP TABLE IF EXISTS {table}")


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def cast_type(kind: str) -> str:
    """What a value is cast to, for a column of a type: Spark casts nothing to CHAR."""
    return "STRING" if kind.startswith(("CHAR", "VARCHAR")) else kind


def problems(tables: Tables, typed: Typed, semantics: str, then: Steps | None = None) -> Iterator[str]:
    """What is wrong with a query, or what is done with its frame: nothing where plain Spark refuses it, or we do."""
    try:
        plain = Counter(_keys(collect(tables.spark.sql(typed.sql())).rows))
    except FAILURES:
        return
    try:
        frame = tables.lineage.sql(typed.sql(), semantics)
        found = collect(frame, traced=True)
    except LineageError as refusal:
        if "bug of forward_lineage" in str(refusal):
            yield f"{typed.sql()}: {refusal}"
        return
    except FAILURES as error:
        yield f"{typed.sql()}: fails: {str(error)[:300]}"
        return
    if Counter(_keys(found.rows)) != plain:
        yield f"{typed.sql()}: rows {sorted(_keys(found.rows))}, plain Spark {sorted(plain.elements())}"
        return
    without = Counter(_keys(collect(frame.drop("DL")).rows))
    if without != plain:
        yield f"{typed.sql()}: without DL rows {sorted(without.elements())}, plain Spark {sorted(plain.elements())}"
    if then is not None:
        yield from _continued(tables.spark.sql(typed.sql()), frame, typed, then)
    if semantics == "control":
        for row, sets in dict(zip(_keys(found.rows), found.lineage, strict=True)).items():
            cut = dict(zip(found.tables, (list(LineageSet.from_bytes(each)) for each in sets), strict=True))
            if row not in _again(tables.spark, typed, cut):
                yield f"{typed.sql()}: {cut} does not give back {row}"


def _continued(plain: DataFrame, traced: DataFrame, typed: Typed, then: Steps) -> Iterator[str]:
    """What differs after the same steps; which of several equal values a group shows is Spark's to choose."""
    if "COLLATE" in typed.kind:
        return
    with surroundings() as around:
        try:
            expected = Counter(_keys(collect(then.applied(plain, around)).rows))
        except FAILURES:
            return
        try:
            frame = then.applied(traced, around)
            found = Counter(_keys(collect(frame.drop(*lineages(frame))).rows))
        except FAILURES as error:
            yield f"{typed.sql()}: then {then!r}: fails: {str(error)[:300]}"
            return
    if found != expected:
        yield f"{typed.sql()}: then {then!r}: rows {sorted(found.elements())}, plain {sorted(expected.elements())}"


def _again(spark: SparkSession, typed: Typed, ids: dict[str, list[int]]) -> set[str]:
    """The rows of a query over the base rows of some lineage."""
    for table in ("x", "y"):
        _cut(spark.table(table), ids.get(table, [])).createOrReplaceTempView(f"{table}_left")
    return set(_keys(collect(spark.sql(typed.sql("x_left", "y_left"))).rows))


def _cut(table: DataFrame, ids: list[int]) -> DataFrame:
    return table.filter(F.col("id").isin(ids))


def keys_of(frame: DataFrame) -> list[str]:
    """The rows of a frame, as texts that are equal where the values are."""
    return _keys(collect(frame).rows)


def _keys(rows: Sequence[Value]) -> list[str]:
    return [json.dumps([row.exact, [repr(number) for number, _ in row.floats]]) for row in rows]
