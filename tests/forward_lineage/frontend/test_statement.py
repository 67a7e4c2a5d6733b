"""Statements: LINEAGE ON, scripts, positions, and every refusal with its message."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from sqlglot import exp

from forward_lineage.frontend import parse, split_script
from forward_lineage.frontend.dialect import print_sql
from rewrites.refusals import position_of
from tests.forward_lineage.frontend.plans import FIXTURES, statements
from udafs.errors import LineageError, Position


def _refusals() -> list[tuple[str, str]]:
    """Pairs of SQL and message: a line of SQL, and under it, indented, what is said."""
    lines = (FIXTURES / "refusals.txt").read_text(encoding="utf-8").splitlines()
    return [(sql, message.strip()) for sql, message in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize(("sql", "message"), _refusals())
def test_refused(sql: str, message: str) -> None:
    with pytest.raises(LineageError) as refusal:
        parse(sql)
    assert str(refusal.value) == message


@pytest.mark.parametrize("sql", list(statements()))
def test_statements_of_the_fixtures_are_silent(sql: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        parse(sql)
    assert not caplog.records


@pytest.mark.parametrize(
    ("clause", "expressions"),
    [
        ("LINEAGE ON a", ["a"]),
        ("lineage on a, t.c", ["a", "t.c"]),
        ("LINEAGE ON a, f(b, 'x'), t.c", ["a", "f(b, 'x')", "t.c"]),
        ("LINEAGE ON (a, b)", ["a", "b"]),
        ("LINEAGE ON (a)", ["a"]),
        ("LINEAGE ON ( )", []),
        ("LINEAGE ON (a + b) * 2, c", ["(a + b) * 2", "c"]),
        ("LINEAGE ON (f(a), (b + 1))", ["f(a)", "(b + 1)"]),
        ("LINEAGE ON year(a), CAST(b AS INT)::STRING", ["year(a)", "CAST(CAST(b AS INT) AS STRING)"]),
        ("LINEAGE /* the granules */ ON -- of t\n a", ["a"]),
        ("LINEAGE\nON\na ;", ["a"]),
        (
            "LINEAGE ON `lineage on`, m['x'], CASE WHEN a THEN b END",
            ["`lineage on`", "m['x']", "CASE WHEN a THEN b END"],
        ),
        ("LINEAGE ON extract(YEAR FROM a), DATE '2000-01-01'", ["extract(YEAR FROM a)", "DATE '2000-01-01'"]),
    ],
)
def test_lineage_on(clause: str, expressions: list[str]) -> None:
    statement = parse(f"SELECT a FROM t {clause}")
    assert statement.text == "SELECT a FROM t"
    assert print_sql(statement.tree) == "SELECT a FROM t"
    assert statement.lineage_on is not None
    assert [print_sql(expression) for expression in statement.lineage_on] == expressions


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lineage on_x FROM t",
        "SELECT lineage FROM t",
        "SELECT 'x lineage on y' FROM t",
        "SELECT a FROM t -- lineage on a",
        "SELECT a /* lineage on a */ FROM t",
        "SELECT `lineage` FROM `lineage on`",
        "SELECT t.lineage FROM t JOIN u ON t.a = u.a",
        "SELECT * FROM a JOIN b lineage ON a.x = lineage.x",
        "SELECT * FROM a JOIN b AS lineage ON a.x = b.x",
        "SELECT * FROM (SELECT * FROM a JOIN b lineage ON a.x = lineage.x)",
        "SELECT * FROM a JOIN (SELECT 1 AS x) lineage ON a.x = lineage.x",
    ],
)
def test_no_lineage_clause(sql: str) -> None:
    statement = parse(sql)
    assert statement.lineage_on is None
    assert statement.text == sql.partition(" --")[0]  # a comment behind the last word is left out


@pytest.mark.parametrize(
    "before",
    [
        "SELECT * FROM a, b",
        "SELECT * FROM a CROSS JOIN b",
        "SELECT * FROM a NATURAL JOIN b",
        "SELECT * FROM a JOIN b x",
        "SELECT * FROM a JOIN b USING (c)",
        "SELECT * FROM a JOIN b ON a.x = b.x",
        "SELECT a FROM t WHERE b",
        "SELECT a FROM t GROUP BY a ORDER BY a LIMIT 1",
        "SELECT a FROM t UNION SELECT b FROM u",
        "CREATE TABLE x AS SELECT a FROM t",
        "INSERT INTO x SELECT a FROM t",
        "WITH c AS (SELECT 1) SELECT * FROM c",
    ],
)
def test_lineage_on_behind_every_kind_of_statement(before: str) -> None:
    statement = parse(f"{before} LINEAGE ON t.c")
    assert statement.text == before
    assert statement.lineage_on is not None
    assert [print_sql(expression) for expression in statement.lineage_on] == ["t.c"]


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


@pytest.mark.parametrize(
    ("script", "pieces"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' AS a; SELECT \";\" -- ; x\n; /* ; */ SELECT `;`", ["SELECT ';' AS a", 'SELECT ";"', "SELECT `;`"]),
        (";; -- nothing\n; SELECT 1;;", ["SELECT 1"]),
        ("-- before\nSELECT 1 /* within */ + 2 -- behind\n;", ["SELECT 1 /* within */ + 2"]),
        (
            "SELECT begin, end FROM t; SELECT CASE WHEN a THEN b END",
            ["SELECT begin, end FROM t", "SELECT CASE WHEN a THEN b END"],
        ),
        (
            "CREATE TABLE x AS SELECT 1; SELECT a FROM x LINEAGE ON a",
            ["CREATE TABLE x AS SELECT 1", "SELECT a FROM x LINEAGE ON a"],
        ),
        (
            "SELECT 'it\\'s; so'; SELECT r'\\'; SELECT 'a''; b'",
            ["SELECT 'it\\'s; so'", "SELECT r'\\'", "SELECT 'a''; b'"],
        ),
        ("/* a /* nested; */ comment; */ SELECT 1; go; SELECT 2", ["SELECT 1", "go", "SELECT 2"]),
        ("", []),
        (" -- only\n", []),
    ],
)
def test_split_script(script: str, pieces: list[str]) -> None:
    assert split_script(script) == pieces


@pytest.mark.parametrize("script", ["BEGIN SELECT 1; SELECT 2; END", "SELECT 1; begin atomic select 2; end"])
def test_blocks_are_refused(script: str) -> None:
    with pytest.raises(LineageError, match="BEGIN … END"):
        split_script(script)


def test_fixture_files_are_utf8_and_end_with_a_line_break() -> None:
    paths: list[Path] = [*FIXTURES.glob("*")]
    assert paths
    for path in paths:
        assert path.read_text(encoding="utf-8").endswith("\n")
