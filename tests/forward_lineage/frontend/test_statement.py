"""Statements: text, positions, what holds no query, and every refusal with its message."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.frontend.dialect import print_sql
from rewrites.refusals import position_of
from tests.forward_lineage.frontend.plans import FIXTURES, statements
from udafs.errors import LineageError, Position


def _refusals() -> list[tuple[str, str]]:
    """Pairs of SQL and message: a line of SQL, and under it, indented, what is said."""
    lines = (FIXTURES / "refusals.txt").read_text(encoding="utf-8").splitlines()
    return [(sql, message.strip()) for sql, message in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize(("sql", "message"), _refusals())
def test_each_refusal_says_what_the_fixture_says(sql: str, message: str) -> None:
    with pytest.raises(LineageError) as refusal:
        parse(sql)
    assert str(refusal.value) == message


@pytest.mark.parametrize("sql", list(statements()))
def test_statements_of_the_fixtures_are_silent(sql: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parse(sql)
    assert not caplog.records


def test_positions_are_those_of_the_users_text() -> None:
    sql = "-- first\nSELECT a.b,\n       'x' || f(c)\nFROM   t JOIN /* y */ u ON a = b\nLINEAGE ON t.c,\n  g(d)"
    statement = parse(sql)
    found = {print_sql(node): position_of(node) for node in statement.tree.walk()}
    assert found["a.b"] == Position(2, 8)
    assert found["'x'"] == Position(3, 8)
    assert found["f(c)"] == Position(3, 15)
    assert found["c"] == Position(3, 17)
    assert found["u"] == Position(4, 23)
    assert found["a = b"] == Position(4, 28)
    assert statement.lineage_on is not None
    assert [position_of(node) for node in statement.lineage_on] == [Position(5, 12), Position(6, 3)]
    assert position_of(exp.column("made", "here")) is None


def test_the_text_is_verbatim() -> None:
    sql = "  select  A -- c\n  from t\t;  -- behind\n"
    assert parse(sql).text == "select  A -- c\n  from t"


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("SHOW TABLES", "SHOW"),
        ("SET spark.sql.ansi.enabled=true", "SET"),
        ("USE db", "USE"),
        ("UPDATE t SET a = 1", "UPDATE"),
        ("DELETE FROM t WHERE a = 1", "DELETE"),
        ("WITH c AS (SELECT 1) DELETE FROM t", "DELETE"),
        ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "MERGE"),
        ("DROP TABLE t", "DROP"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b STRING) USING parquet", "CREATE"),
        ("CREATE FUNCTION f AS 'x'", "CREATE"),
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        ("DESCRIBE t", "DESCRIBE"),
        ("MAP a USING 'cat' FROM t", "MAP"),
    ],
)
def test_what_holds_no_query_is_a_command(sql: str, verb: str) -> None:
    tree = parse(sql).tree
    assert isinstance(tree, exp.Command)
    assert tree.this == verb


def test_deep_and_long_statements() -> None:
    long = "SELECT a FROM t WHERE " + " OR ".join(f"a = {i} AND b <> 'x{i}'" for i in range(1000))
    assert print_sql(parse(long).tree) == long
    deep = f"SELECT {'(' * 20}a{')' * 20} FROM {'(SELECT * FROM ' * 15}t{')' * 15}"
    assert print_sql(parse(deep).tree) == deep
    with pytest.raises(LineageError, match="nested too deeply"):
        parse(f"SELECT {'(' * 2000}a{')' * 2000}")


def test_fixture_files_are_utf8_and_end_with_a_line_break() -> None:
    paths: list[Path] = [*FIXTURES.glob("*")]
    assert paths
    for path in paths:
        assert path.read_text(encoding="utf-8").endswith("\n")
