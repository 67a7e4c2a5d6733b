"""A statement is parsed once: looked at, and rewritten as often as one likes."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage import LineageError, rewrite_sql
from forward_lineage.frontend import GranuleDictionary, described_granules, parse, rewrite_statement
from forward_lineage.frontend.parsing import read_fragment
from rewrites.tables import BaseTable
from tests.golden.tables import Known, catalog
from udafs.errors import BadArgumentError, InternalError, NotTracedError, WrongSqlError

CATALOG = catalog()


@pytest.mark.parametrize(
    ("sql", "is_query", "is_command", "verb"),
    [
        ("SELECT 1", True, False, "SELECT"),
        ("SELECT 1 UNION SELECT 2", True, False, "UNION"),
        ("(SELECT 1)", True, False, "SUBQUERY"),
        ("VALUES (1)", True, False, "VALUES"),
        ("TABLE t", True, False, "SELECT"),
        ("WITH c AS (SELECT 1) SELECT * FROM c LINEAGE ON ()", True, False, "SELECT"),
        ("CREATE TABLE x AS SELECT 1", False, True, "CREATE"),
        ("CREATE OR REPLACE TEMP VIEW x AS SELECT 1", False, True, "CREATE"),
        ("INSERT INTO x VALUES (1)", False, True, "INSERT"),
        ("WITH c AS (SELECT 1) INSERT INTO x SELECT * FROM c", False, True, "INSERT"),
        ("CREATE TABLE x (a INT) USING parquet", False, False, "CREATE"),
        ("DELETE FROM t", False, False, "DELETE"),
        ("show tables", False, False, "SHOW"),
    ],
)
def test_what_a_statement_is(sql: str, is_query: bool, is_command: bool, verb: str) -> None:
    statement = parse(sql)
    assert (statement.is_query, statement.is_command, statement.verb) == (is_query, is_command, verb)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE w > ?) AND v = ? LINEAGE ON v, t.k",
        "WITH c AS (SELECT k FROM u) INSERT INTO x (a) SELECT id FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.k = t.k)",
        "CREATE TABLE x AS SELECT k, count(*) AS n FROM t TABLESAMPLE (3 ROWS) GROUP BY k",
    ],
)
def test_rewriting_leaves_a_statement_as_it_is(sql: str) -> None:
    statement = parse(sql)
    before = repr(statement)
    first = [rewrite_statement(statement, CATALOG, semantics) for semantics in ("data", "control")]
    assert repr(statement) == before
    again = [rewrite_statement(statement, CATALOG, semantics) for semantics in ("control", "data")]
    assert first == again[::-1]


@pytest.mark.parametrize(
    ("sql", "rewritten"),
    [
        ("INSERT INTO x VALUES (1), (2)", "INSERT INTO x VALUES (1), (2)"),
        ("CREATE VIEW x AS VALUES (1) AS v(a)", "CREATE VIEW x AS VALUES (1) AS v(a)"),
        ("INSERT INTO x SELECT 1", "INSERT INTO x SELECT 1"),
        ("VALUES (1)", "SELECT * FROM VALUES (1)"),
    ],
)
def test_what_reads_no_table_stays(sql: str, rewritten: str) -> None:
    assert rewrite_sql(sql, CATALOG.catalog) == rewritten


def test_the_lineage_of_a_command_has_a_column_of_its_own() -> None:
    rewritten = rewrite_sql("INSERT INTO x (a) SELECT id FROM t", CATALOG.catalog)
    assert rewritten.startswith("INSERT INTO x (a, DL) SELECT id, dl_into(named_struct('t', ")


def test_granules_are_described_as_plain_data() -> None:
    statement = parse("SELECT id FROM t LINEAGE ON v + 1, K")
    granules = rewrite_statement(statement, CATALOG).granules
    assert list(granules) == ["t"]
    assert isinstance(granules["t"], GranuleDictionary)
    assert described_granules(granules) == {
        "t": {
            "expressions": ("v + 1", "K"),
            "dictionary": "SELECT value_1, value_2, CAST((row_number() OVER (ORDER BY value_1, value_2) - 1) AS "
            "BIGINT) AS __id FROM (SELECT DISTINCT v + 1 AS value_1, K AS value_2 FROM t) AS __granule",
        }
    }


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        ("SELECT a FORM t WHERE b", WrongSqlError, "malformed SQL"),
        ("", WrongSqlError, "no SQL here"),
        ("SELECT id FROM t LINEAGE ON vv", WrongSqlError, "no table of the query has a column vv"),
        ("DELETE FROM t", NotTracedError, "DELETE changes base rows"),
        ("DESCRIBE t", NotTracedError, "DESCRIBE is no query"),
        (f"SELECT {'(' * 2000}1{')' * 2000}", NotTracedError, "nested too deeply"),
    ],
)
def test_errors_have_a_type_and_a_remedy(sql: str, kind: type[LineageError], message: str) -> None:
    with pytest.raises(kind, match=message) as refusal:
        rewrite_statement(parse(sql), CATALOG)
    assert refusal.value.instead


def test_another_semantics() -> None:
    with pytest.raises(BadArgumentError, match=r"^there is no semantics 'why'"):
        rewrite_statement(parse("SELECT 1"), CATALOG, "why")


class _Odd(Known):
    def find(self, parts: object) -> BaseTable:
        return BaseTable("odd", ("a",), "odd SELECT", "a")


def test_a_catalog_that_cannot_be_read() -> None:
    with pytest.raises(NotTracedError, match="catalog's or a view's SQL is not understood: malformed SQL") as refusal:
        rewrite_statement(parse("SELECT a FROM odd"), _Odd(CATALOG.catalog))
    assert refusal.value.at is None


def test_fragments_are_parsed_once_and_belong_to_their_callers() -> None:
    first, second = read_fragment("SELECT 1 FROM t"), read_fragment("SELECT 1 FROM t")
    assert first == second
    assert first is not second
    assert isinstance(first, exp.Select)


def test_what_breaks_while_reading_is_a_bug_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("Unsupported expression type Foo")

    monkeypatch.setattr("forward_lineage.frontend.statement.check_printed_as_read", broken)
    with pytest.raises(InternalError, match=r"ValueError: Unsupported .* Foo \(line 2, column 3\)\. This is a bug"):
        parse("\n  SELECT 1")


def test_what_breaks_while_printing_is_a_bug_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(tree: exp.Expr) -> str:
        raise ValueError(f"Unsupported expression type {type(tree).__name__}")

    statement = parse("SELECT id FROM t")
    monkeypatch.setattr("forward_lineage.frontend.rewriting.print_sql", broken)
    with pytest.raises(InternalError, match=r"Unsupported expression type Select \(line 1, column 8\)"):
        rewrite_statement(statement, CATALOG)
