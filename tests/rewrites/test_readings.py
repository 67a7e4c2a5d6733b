"""How often a statement reads its base tables."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlglot import exp

from rewrites.driver import rewrite
from rewrites.environment import Environment, Semantics
from rewrites.readings import Read, as_written, base_tables
from rewrites.tables import BaseTable, View
from tests.rewrites.plain_tables import TABLES, PlainTables, read

ENV = Environment(TABLES, Semantics.CONTROL, lambda query, env: pytest.fail("nothing is rewritten"), read)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1", {}),
        ("SELECT * FROM t JOIN t AS x JOIN u", {"t": 2, "u": 1}),
        ("SELECT (SELECT max(v) FROM T) FROM t WHERE k IN (SELECT k FROM u)", {"t": 2, "u": 1}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c", {"t": 1}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN c AS d JOIN c AS e", {"t": 3}),
        ("WITH c AS (SELECT * FROM t), d AS (SELECT * FROM c JOIN c AS x) SELECT * FROM d JOIN d AS e", {"t": 4}),
        ("WITH c AS (SELECT * FROM t), d AS (SELECT * FROM c) SELECT * FROM d JOIN d AS e", {"t": 2}),
        ("WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c JOIN t) SELECT * FROM c", {"t": 2}),
        ("SELECT * FROM t UNION SELECT * FROM (SELECT * FROM u) AS x", {"t": 1, "u": 1}),
        ("SELECT * FROM elsewhere, range(3)", {}),
    ],
)
def test_readings(sql: str, found: dict[str, int]) -> None:
    assert +base_tables(read(sql), ENV) == found


class WithView(PlainTables):
    def find(self, parts: Sequence[str]) -> BaseTable | View | None:
        return View("a_only", ("id",), "SELECT id FROM t") if parts == ("a_only",) else super().find(parts)


def test_a_view_is_read_through() -> None:
    around = Environment(WithView(), Semantics.CONTROL, ENV.rewrite, read)
    assert base_tables(read("SELECT * FROM a_only JOIN t"), around) == {"t": 2}


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        ("SELECT 1", {}),
        ("SELECT (SELECT max(v) FROM T) FROM t WHERE k IN (SELECT k FROM u)", {"t": 2, "u": 1}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN c AS d", {"t": 1, "c": 2}),
        ("SELECT * FROM a_only JOIN a_only AS b JOIN t", {"a_only": 2, "t": 3}),
        ("WITH a_only AS (SELECT * FROM t) SELECT * FROM a_only", {"a_only": 1, "t": 1}),
        ("SELECT * FROM f(1), range(3)", {}),
    ],
)
def test_the_names_in_a_statement(sql: str, counts: dict[str, int]) -> None:
    query = read(sql)
    assert isinstance(query, exp.Query)
    assert rewrite(query, WithView(), read).read.counts == counts


def test_what_is_read_more_often_than_it_is_named() -> None:
    known = Read({"v": 1, "t": 2}, {"v": "SELECT * FROM t"})
    named = [("v",), ("v", "t"), ("t",), ("t", "files"), ("t", "files", "x")]
    assert known.unseen(named) == {}, "what a base table is made of is not looked at"
    assert known.unseen([*named, ("t",)]) == {"t": 3}
    assert known.unseen([*named, ("v", "t")]) == {"t": 3}
    assert known.unseen([*named, ("w",), ("v", "/files")]) == {"w": 1, "/files": 1}


def test_a_name_that_a_base_table_has_elsewhere_is_not_read_through() -> None:
    view, table = View("a.x", ("id",), "SELECT id FROM t"), BaseTable("b.x", ("id",), "b.x", "id")
    texts = {view.sql: {"t": 1}}
    assert as_written({"x": 2}, {("a", "x"): view}, texts) == Read({"x": 2, "t": 2}, {"x": view.sql})
    assert as_written({"x": 2}, {("a", "x"): view, ("b", "x"): table}, texts) == Read({"x": 2}, {})
