"""The guard notices whatever a tree lost, gained or changed on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from forward_lineage.frontend.lexing import lex, meaningful
from forward_lineage.frontend.roundtrip import check_printed_as_read
from forward_lineage.frontend.statement import parse
from udafs.errors import LineageError, Position

SQL = "SELECT DISTINCT a AS x, sum(b) FROM t AS u WHERE c > 1 GROUP BY a"


def _check(sql: str, tree: exp.Expr) -> None:
    check_printed_as_read(sql, meaningful(lex(sql)), tree)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.set("distinct", None),
        lambda tree: tree.set("where", None),
        lambda tree: tree.set("limit", exp.Limit(expression=exp.Literal.number(1))),
        lambda tree: tree.set("expressions", tree.expressions[:1]),
        lambda tree: tree.find(exp.GT).replace(exp.condition("c > 2")),
        lambda tree: tree.find(exp.GT).replace(exp.condition("c >= 1")),
        lambda tree: tree.find(exp.Anonymous).set("this", "SUM"),
        lambda tree: tree.find(exp.Alias).args["alias"].set("this", "X"),
        lambda tree: tree.find(exp.Alias).args["alias"].set("quoted", True),
        lambda tree: tree.find(exp.Table).set("alias", None),
    ],
)
def test_a_changed_tree_is_refused(change: Callable[[exp.Expr], None]) -> None:
    tree = parse(SQL).tree
    _check(SQL, tree)
    change(tree)
    with pytest.raises(LineageError, match="not understood"):
        _check(SQL, tree)


def test_the_first_difference_is_named() -> None:
    tree = parse(SQL).tree
    tree.set("where", None)
    with pytest.raises(LineageError) as refusal:
        _check(SQL, tree)
    assert refusal.value.at == Position(1, 44)
    assert "`WHERE c > 1 GROUP BY a`" in refusal.value.what
    assert "`GROUP BY a`" in refusal.value.what


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select a from t", "SELECT a FROM t"),
        ("SELECT a b FROM t u", "SELECT a AS b FROM t AS u"),
        ("SELECT a != b, a == b, ! c", "SELECT a <> b, a = b, NOT c"),
        ("SELECT 1 MINUS SELECT 2", "SELECT 1 EXCEPT DISTINCT SELECT 2"),
        ("SELECT count(ALL a) FROM t", "SELECT count(a) FROM t"),
        ("INSERT INTO TABLE t SELECT 1", "INSERT INTO t SELECT 1"),
        ("SELECT * FROM t FOR VERSION AS OF 1", "SELECT * FROM t VERSION AS OF 1"),
        ("SELECT a REGEXP b", "SELECT a RLIKE b"),
    ],
)
def test_words_that_say_nothing(one: str, other: str) -> None:
    _check(one, parse(other).tree)
    _check(other, parse(one).tree)


@pytest.mark.parametrize(
    ("wrote", "read"),
    [
        ("SELECT TABLE t", "SELECT TABLE AS t"),
        ("SELECT A FROM t", "SELECT a FROM t"),
        ("SELECT 'a' FROM t", "SELECT 'A' FROM t"),
        ("SELECT AS FROM t", "SELECT a FROM t"),
        ("SELECT 1 UNION ALL SELECT 2", "SELECT 1 UNION SELECT 2"),
        ("SELECT f(all) FROM t", "SELECT f() FROM t"),
        ("SELECT all FROM t", "SELECT a FROM t"),
        ("SELECT `a` FROM t", "SELECT a FROM t"),
        ("SELECT a, b FROM t", "SELECT a b FROM t"),
        ("SELECT 1.0", "SELECT 1"),
    ],
)
def test_what_looks_alike_is_not_the_same(wrote: str, read: str) -> None:
    tree = parse(read).tree
    with pytest.raises(LineageError, match="not understood"):
        _check(wrote, tree)
