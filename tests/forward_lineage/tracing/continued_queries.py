"""Queries whose lineage goes by reference in several stages that read each other, and what is done with their frames.

Two tables, ``o(id, k, n, v)`` and ``c(id, k, n, v)``: ``n`` is a whole number, ``v`` of the type under test. Orders of
windows are total, so that plain Spark has one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

TYPES = {
    "int": "int({0})",
    "string": "repeat(chr(97 + int({0})), 1 + int({0}) % 3)",
    "decimal": "cast({0} * 1000.000001 as decimal(38, 6))",
    "double": "cast({0} as double) / 7",
    "struct": "named_struct('x', int({0}), 'y', cast({0} as string))",
}
TABLES = {"o": (24, "id * 7 % 5", "id * 13 % 17"), "c": (12, "id % 6", "id * 11 % 9")}

_UP_TO = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_BY_N = f"OVER (PARTITION BY k ORDER BY n {_UP_TO})"
_BY_ID = f"OVER (PARTITION BY k ORDER BY id {_UP_TO})"
_TWO = "OVER (PARTITION BY p.k ORDER BY p.id, q.id"


def _running(table: str) -> str:
    return f"SELECT k, n, max(max(v)) {_BY_N} AS t FROM {table} GROUP BY k, n"


_BOTH = (
    "SELECT coalesce(s.k, w.k) AS k, coalesce(s.n, w.n) AS n, s.t AS s, w.t AS w"
    f" FROM ({_running('o')}) s FULL JOIN ({_running('c')}) w ON s.k = w.k AND s.n = w.n"
)
_RUNS = "WITH w AS (SELECT id, k, n, max(v) OVER (PARTITION BY k ORDER BY id) AS t FROM o)"
_FLAGS = (
    "SELECT id, k, v, CASE WHEN n - lag(n) OVER (PARTITION BY k ORDER BY id) > 2 THEN 1 ELSE 0 END AS f FROM o"
)
SHAPES = {
    "windows over a full join, filtered": (
        f"SELECT * FROM (SELECT k, n, s, w, max(s) {_BY_N} AS m, max(w) {_BY_N} AS x FROM ({_BOTH})) WHERE m > x"
    ),
    "windows over a full join, filtered by their key": (
        f"SELECT * FROM (SELECT k, n, s, w, max(s) {_BY_N} AS m FROM ({_BOTH})) WHERE k > 2"
    ),
    "running totals joined, filtered": (
        f"SELECT s.k, s.n, s.t, w.t AS u FROM ({_running('o')}) s JOIN ({_running('c')}) w ON s.k = w.k WHERE s.t > w.t"
    ),
    "a running total read twice": (
        f"{_RUNS}, g AS (SELECT k, max(t) AS m, max(n) AS n FROM w GROUP BY k) SELECT * FROM (SELECT id, k, m,"
        f" sum(n) {_BY_ID} AS s FROM (SELECT w.id, w.k, g.m, g.n FROM w LEFT JOIN g ON w.k = g.k)) WHERE s > 20"
    ),
    "a running total joined with itself": (
        f"{_RUNS} SELECT a.id, a.t, b.t AS u FROM w a JOIN w b ON a.k = b.k AND a.id = b.id + 5 WHERE a.n > 3"
    ),
    "sessions": (
        "SELECT * FROM (SELECT id, k, v, s, max(s) OVER (PARTITION BY k) AS last FROM (SELECT id, k, v, sum(f) OVER"
        f" (PARTITION BY k ORDER BY id) AS s FROM ({_FLAGS}))) WHERE s = last"
    ),
    "sessions, grouped": (
        "SELECT k, s, max(v) AS t, count(*) AS c FROM (SELECT k, v, sum(f) OVER (PARTITION BY k ORDER BY id) AS s"
        f" FROM ({_FLAGS})) GROUP BY k, s HAVING count(*) > 1"
    ),
    "a window over a join, filtered": (
        f"SELECT * FROM (SELECT p.id, q.id AS i, p.k, q.v, sum(p.n) {_TWO}) AS s FROM o p JOIN c q ON p.k = q.k)"
        " WHERE s > 4"
    ),
    "groups joined back, in a window": (
        "WITH g AS (SELECT k, max(v) AS m, count(*) AS c FROM o GROUP BY k) SELECT * FROM (SELECT id, k, m, sum(c)"
        f" {_BY_ID} AS s FROM (SELECT o.id, o.k, g.m, g.c FROM o JOIN g ON o.k = g.k)) WHERE s > 5"
    ),
    "a lag over a left join, compared": (
        f"SELECT * FROM (SELECT p.id, p.k, q.v, lag(q.v) {_TWO}) AS b FROM o p LEFT JOIN c q ON p.k = q.k)"
        " WHERE NOT v <=> b"
    ),
    "first rows of a join": (
        f"SELECT id, k, v, t FROM (SELECT p.id, p.k, q.v, max(q.v) {_TWO} {_UP_TO}) AS t, row_number() OVER (PARTITION"
        " BY p.id ORDER BY q.n, q.id) AS r FROM o p JOIN c q ON p.k = q.k) WHERE r = 1"
    ),
    "a semi join": (
        f"{_RUNS}, g AS (SELECT k, max(t) AS m FROM w WHERE n > 4 GROUP BY k) SELECT id, k, t FROM w LEFT SEMI JOIN g"
        " ON w.k = g.k AND w.t = g.m"
    ),
    "an anti join": (
        f"{_RUNS}, g AS (SELECT k, max(t) AS m FROM w GROUP BY k) SELECT w.id, w.t, c.v FROM w JOIN c ON c.k = w.k"
        " WHERE NOT EXISTS (SELECT 1 FROM g WHERE g.k = w.k AND g.m = w.t) AND w.id > 2"
    ),
    "a union, in a window": (
        f"{_RUNS}, u AS (SELECT id, k, n, t FROM w WHERE n > 5 UNION ALL SELECT id + 100, k, n, v FROM c) SELECT * FROM"
        f" (SELECT u.id, u.k, u.t, max(t) {_BY_ID} AS m FROM u) WHERE t = m"
    ),
    "the first after a total sort": (
        f"{_RUNS} SELECT a.id, a.k, a.t, b.c FROM w a JOIN (SELECT k, count(*) AS c, max(t) AS m FROM w GROUP BY k) b"
        " ON a.k = b.k WHERE a.n > b.c ORDER BY a.id LIMIT 5"
    ),
    "groups of groups": (
        "WITH g AS (SELECT k, n % 3 AS r, max(v) AS m, sum(n) AS s FROM o GROUP BY 1, 2), h AS (SELECT r, max(m) AS m,"
        " sum(s) AS s FROM g GROUP BY r) SELECT g.k, g.r, g.m, h.s FROM g JOIN h ON g.r = h.r AND g.m = h.m"
        " WHERE g.s > 3 AND h.s > 10"
    ),
    "distinct rows of windows": (
        f"{_RUNS}, d AS (SELECT DISTINCT k, t FROM w) SELECT * FROM (SELECT d.k, d.t, c.id, count(*) OVER (PARTITION BY"
        " d.k ORDER BY c.id) AS r FROM d JOIN c ON c.k = d.k) WHERE r > 1"
    ),
}


def make_tables(spark: SparkSession, kind: str) -> None:
    for name, (rows, key, value) in TABLES.items():
        made = TYPES[kind].format(value)
        spark.range(1, rows + 1).selectExpr(
            "id", f"int({key}) AS k", f"int({value}) AS n", f"{made} AS v"
        ).createOrReplaceTempView(name)


Rows = list[tuple[Any, ...]]
_LINEAGE = "DL"


def _users(frame: DataFrame) -> list[str]:
    return [column for column in frame.columns if column != _LINEAGE]


def _joined(frame: DataFrame) -> DataFrame:
    first, *_, last = _users(frame)
    one, other = frame.alias("one"), frame.alias("other")
    met = F.col(f"one.{first}").eqNullSafe(F.col(f"other.{first}"))
    return one.join(other, met).select(f"one.{last}", f"other.{last}", f"one.{first}")


CONTINUATIONS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "without lineage": lambda frame: frame.drop(_LINEAGE),
    "columns in reverse": lambda frame: frame.select(*_users(frame)[::-1]),
    "one column": lambda frame: frame.select(_users(frame)[-1]),
    "counted": lambda frame: frame.groupBy().count(),
    "filtered and counted": lambda frame: frame.filter(F.col(_users(frame)[0]) > 2).groupBy().count(),
    "joined with itself": _joined,
}
"""What is done with a frame, and gives the same rows for one with lineage and one without."""


def rows_of(frame: DataFrame) -> Rows:
    return in_order(tuple(row) for row in frame.collect())


def in_order(rows: Iterable[tuple[Any, ...]]) -> Rows:
    return sorted(rows, key=repr)


def with_ids(frame: DataFrame) -> DataFrame:
    """Return a frame with lineage as rows that can be compared: the ids of each table."""
    tables = frame.schema[_LINEAGE].dataType.fieldNames()  # type: ignore[attr-defined]
    return frame.selectExpr(*(f"`{each}`" for each in _users(frame)), *(f"dl_ids(DL.{each}) AS {each}" for each in tables))
