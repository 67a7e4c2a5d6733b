"""What is printed means what was read: for every construct of the fixtures, Spark's parser is the judge."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql, print_verbatim
from forward_lineage.frontend.lexing import lex
from forward_lineage.frontend.literals import LiteralParser
from forward_lineage.frontend.nodes import KeywordCall, PathExtract, TypedLiteral, UnaryPlus
from forward_lineage.frontend.pipes import PIPED
from forward_lineage.frontend.statement import parse
from tests.forward_lineage.frontend.plans import parsed_plan, statements

STATEMENTS = list(statements())
QUERIES = list(statements("calls", "combined", "literals", "names", "operators", "queries", "relations"))


def test_the_fixtures_are_many() -> None:
    assert len(STATEMENTS) > 350
    assert len(set(STATEMENTS)) == len(STATEMENTS)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_printed_as_read(spark: SparkSession, sql: str) -> None:
    tree = parse(sql).tree
    assert not isinstance(tree, exp.Command)
    plan = parsed_plan(spark, sql)
    assert parsed_plan(spark, print_verbatim(tree)) == plan
    if not any(
        PIPED in node.meta or node.meta.get("written") in ("TABLE", "VALUES", "FROM 0 alone", "FROM 1 alone")
        for node in tree.walk()
    ):
        assert parsed_plan(spark, print_sql(tree)) == plan


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("TABLE t", "SELECT * FROM t"),
        ("TABLE t ORDER BY a LIMIT 1", "SELECT * FROM t ORDER BY a LIMIT 1"),
        ("TABLE t EXCEPT TABLE u", "SELECT * FROM t EXCEPT SELECT * FROM u"),
        ("SELECT a IN (TABLE u)", "SELECT a IN (SELECT * FROM u)"),
        ("SELECT 1 UNION ALL VALUES (2)", "SELECT 1 UNION ALL SELECT * FROM VALUES (2)"),
        ("WITH c AS (VALUES (1) AS v(a)) TABLE c", "WITH c AS (SELECT * FROM VALUES (1) AS v(a)) SELECT * FROM c"),
        ("INSERT INTO x TABLE t", "INSERT INTO x SELECT * FROM t"),
        ("FROM t SELECT a WHERE b", "SELECT a FROM t WHERE b"),
        ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "SELECT 1 UNION (SELECT 2 INTERSECT SELECT 3)"),
        ("WITH c AS (SELECT 1) (SELECT * FROM c)", "WITH c AS (SELECT 1) SELECT * FROM c"),
        ("SELECT a::INT, sum(b) OVER (w)", "SELECT CAST(a AS INT), sum(b) OVER w"),
    ],
)
def test_several_spellings_have_one_tree(written: str, plain: str) -> None:
    assert print_sql(parse(written).tree) == plain
    assert print_sql(parse(plain).tree) == plain


@pytest.mark.parametrize("sql", QUERIES)
def test_operators_bind_as_in_spark(spark: SparkSession, sql: str) -> None:
    explicit = _with_every_parenthesis(parse(sql).tree)
    assert parsed_plan(spark, print_verbatim(explicit)) == parsed_plan(spark, sql)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_keywords_in_any_case(sql: str) -> None:
    lowered = "".join(token.text.lower() if token.word in _KEYWORDS else token.text for token in lex(sql))
    assert print_sql(parse(lowered).tree).lower() == print_sql(parse(sql).tree).lower()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_printing_leaves_the_tree_as_it_is(sql: str) -> None:
    tree = parse(sql).tree
    before = repr(tree)
    printed = print_sql(tree), print_verbatim(tree)
    assert repr(tree) == before
    assert (print_sql(tree), print_verbatim(tree)) == printed
    assert print_sql(tree.copy()) == printed[0]
    assert print_sql(parse(printed[0]).tree) == printed[0]


def test_calls_are_anonymous_and_keep_their_spelling() -> None:
    call = parse("SELECT NvL(a, b)").tree.find(exp.Anonymous)
    assert call is not None
    assert call.name == "NvL"
    assert [argument.sql() for argument in call.expressions] == ["a", "b"]


def test_nodes_of_our_own() -> None:
    tree = parse("SELECT TRIM(BOTH 'x' FROM a.b), DATE '2000-01-01', 1L, +c, v:a.b").tree
    trim, date, long, plus, path = tree.expressions
    assert isinstance(trim, KeywordCall)
    assert trim.args["words"] == ["BOTH", "FROM"]
    assert [column.sql() for column in trim.find_all(exp.Column)] == ["a.b"]
    assert isinstance(date, TypedLiteral)
    assert isinstance(long, TypedLiteral)  # no ordinal, not even in ORDER BY 1L
    assert isinstance(plus, UnaryPlus)
    assert isinstance(path, PathExtract)
    assert [column.sql() for column in tree.find_all(exp.Column)] == ["a.b", "c", "v"]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_sqlglots_own_generators_print_every_node(sql: str) -> None:
    """Rules and messages print a part of a tree; that must not fail, whatever is in it."""
    tree = parse(sql).tree
    assert tree.sql()
    assert tree.sql(dialect="spark")


def test_nodes_that_are_equal_mean_the_same_to_spark(spark: SparkSession) -> None:
    """Rules leave out what they have seen before: whatever has a meaning must be part of equality."""
    spellings: dict[exp.Expr, set[str]] = {}
    for sql in QUERIES:
        for node in parse(sql).tree.walk():
            if isinstance(node, exp.Condition | exp.Query) and not isinstance(node, exp.Subquery):
                spellings.setdefault(node, set()).add(print_sql(node).lower())
    several = [found for found in spellings.values() if len(found) > 1]
    assert several
    for found in several:
        queries = {text if text.startswith("select ") else f"SELECT {text}" for text in found}
        assert len({parsed_plan(spark, query) for query in queries}) == 1, found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAST(a AS INT)", "CAST(a AS STRING)"),
        ("a >> 1", "a >>> 1"),
        ("TIMESTAMP '2020-01-01'", "DATE '2020-01-01'"),
        ("INTERVAL 1 DAY", "INTERVAL 1 HOUR"),
        ("v:a", "v:A"),
        ("trim(BOTH 'x' FROM a)", "trim(LEADING 'x' FROM a)"),
        ("+a", "-a"),
    ],
)
def test_nodes_that_mean_something_else_are_not_equal(one: str, other: str) -> None:
    first, second = parse(f"SELECT {one}, {other}").tree.expressions
    assert first != second
    assert first.sql(dialect="spark") != second.sql(dialect="spark")


@pytest.mark.parametrize(
    ("text", "new", "old"),
    [
        ("'it''s' ' me'", "it's me", "its me"),
        ('"a""b"', 'a"b', "ab"),
        ("'a''''b'", "a''b", "ab"),
        ("''''", "'", ""),
        ("'a'\"b\"", "ab", "ab"),
        ("r'a''b'", "ab", "ab"),
        ("'a' '' 'b'", "ab", "ab"),
    ],
)
def test_adjacent_strings_are_one_literal(text: str, new: str, old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for doubled, value in ((True, new), (False, old)):
        monkeypatch.setattr(LiteralParser, "DOUBLED_QUOTES", doubled)
        literal = parse(f"SELECT {text}").tree.expressions[0]
        assert isinstance(literal, exp.Literal)
        assert print_sql(literal) == text
        assert literal.this == value


def test_strings_are_what_spark_says(spark: SparkSession) -> None:
    texts = ["'it''s' ' me'", '"a""b"', "'a''''b'", "''''", "'a'\"b\"", "r'a''b'", "'a' '' 'b'", "'a\\'b'"]
    sql = f"SELECT {', '.join(texts)}"
    assert [each.this for each in parse(sql).tree.expressions] == list(spark.sql(sql).collect()[0])


_KEYWORDS = set(
    """
    ALL AND AS BETWEEN BUCKET BY CASE CAST CLUSTER COMMENT CREATE CROSS CUBE CURRENT DISTINCT DISTRIBUTE ELSE END ESCAPE
    EXCEPT EXCLUDE EXISTS FILTER FOLLOWING FOR FROM GROUP GROUPING HAVING IGNORE IN INCLUDE INSERT INTERSECT INTO IS
    JOIN LAST LATERAL LEFT LIKE LIMIT LOCATION NOT NULLS OF OFFSET ON OPTIONS OR ORDER OUT OUTER OVER OVERWRITE
    PARTITION PERCENT PIVOT PRECEDING REPEATABLE REPLACE RESPECT ROLLUP ROW ROWS SELECT SETS SORT TABLE TABLESAMPLE
    TBLPROPERTIES TEMPORARY THEN UNBOUNDED UNION UNPIVOT USING VIEW WHEN WHERE WINDOW WITH WITHIN
    """.split()  # noqa: SIM905
)


def _with_every_parenthesis(tree: exp.Expr) -> exp.Expr:
    """Put parentheses around the operands of every operator and set operation, so that precedence decides nothing."""
    tree = tree.copy()
    for node in list(tree.walk(bfs=False)):
        if isinstance(node, exp.SetOperation):
            _wrap(node, "this", exp.Subquery)
            _wrap(node, "expression", exp.Subquery)
        elif isinstance(node, exp.Dot | exp.Collate | exp.Kwarg | exp.Escape):
            continue
        elif isinstance(node, exp.Binary):
            # Spark balances chains of AND and OR, so their shape says nothing.
            if not (isinstance(node, exp.Connector) and type(node.this) is type(node)):
                _wrap(node, "this", exp.Paren)
            if not isinstance(node, exp.Is):
                _wrap(node, "expression", exp.Paren)
        elif isinstance(node, exp.Not | exp.Neg | exp.BitwiseNot | UnaryPlus | exp.In):
            _wrap(node, "this", exp.Paren)
        elif isinstance(node, exp.Between):
            for part in ("this", "low", "high"):
                _wrap(node, part, exp.Paren)
    return tree


_ATOMS = (
    exp.Any,
    exp.All,
    exp.Boolean,
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Null,
    exp.Paren,
    exp.Star,
    exp.Subquery,
    exp.Tuple,
    exp.Var,
    TypedLiteral,
)


def _wrap(node: exp.Expr, part: str, wrapper: type[exp.Paren | exp.Subquery]) -> None:
    operand = node.args.get(part)
    if isinstance(operand, exp.Expr) and not isinstance(operand, _ATOMS):
        node.set(part, wrapper(this=operand))
