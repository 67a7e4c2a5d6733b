"""Trees that another parser made are refused; those of our front end never are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlglot
from sqlglot import exp

import tpch_queries
from forward_lineage.frontend.statement import parse
from rewrites.driver import rewrite
from rewrites.environment import Names, Semantics
from rewrites.own_trees import OWN_GRAMMAR, accept
from rewrites.tables import BaseTable, View
from tests.golden.cases import read_all
from tests.rewrites.plain_tables import TABLES, PlainTables, printed, read, rewritten
from udafs.errors import BadArgumentError, LineageError

# A text for each of `OWN_GRAMMAR`.
OPERATORS = (
    "SELECT CASE WHEN id = 1 AND v = 1 OR v = 2 THEN 1 END, CAST(id AS STRING), v::INT, TRY_CAST(k AS INT) FROM t"
    " WHERE k RLIKE 'a' AND EXISTS (SELECT 1 FROM u) AND k COLLATE UTF8_LCASE = 'A'"
)


def plain(sql: str) -> exp.Expr:
    """What sqlglot itself makes of a text."""
    return sqlglot.parse_one(sql, dialect="spark")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT id FROM t WHERE rand() < 0.5", "RAND() was read as exp.Rand: … (line 1, column 24)"),
        ("SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE rand() < 2)", "RAND() was read as exp.Rand: …"),
        ("SELECT k,\nsum(v) FROM t GROUP BY k", "SUM(v) was read as exp.Sum: … (line 2, column 1)"),
        ("SELECT nvl(k, 'a') FROM t", "COALESCE(k, 'a') was read as exp.Coalesce: … (line 1, column 8)"),
        ("SELECT id FROM t UNION SELECT max(uid) FROM u", "MAX(uid) was read as exp.Max: … (line 1, column 31)"),
    ],
)
def test_a_plain_tree_is_refused(sql: str, message: str) -> None:
    query = plain(sql)
    assert isinstance(query, exp.Query)
    with pytest.raises(BadArgumentError) as caught:
        rewrite(query, TABLES, read)
    assert str(caught.value).startswith(message.replace("…", "this tree is not the front end's"))
    assert caught.value.instead is not None
    assert "FaithfulSpark" in caught.value.instead


def test_the_expressions_of_lineage_on_count_too() -> None:
    query = read("SELECT id FROM t")
    assert isinstance(query, exp.Query)
    with pytest.raises(BadArgumentError, match=r"exp\.Upper"):
        rewrite(query, TABLES, read, lineage_on=[plain("upper(t.k)")])


class Others(PlainTables):
    """Beside the plain tables a view, and a table whose id is computed."""

    def find(self, parts: Sequence[str]) -> BaseTable | View | None:  # type: ignore[override]
        others = {
            "random": View("random", ("id",), "SELECT id FROM t WHERE rand() < 0.5"),
            "hashed": BaseTable("hashed", ("a",), "hashed", "abs(a)"),
            "ours": View("ours", ("k",), "SELECT k FROM t AS __q1"),
        }
        return others.get(parts[0]) or super().find(parts)


@pytest.mark.parametrize("sql", ["SELECT id FROM random", "SELECT a FROM hashed"])
def test_texts_of_the_catalog_come_through_the_same_front_end(sql: str) -> None:
    query = read(sql)
    assert isinstance(query, exp.Query)
    with pytest.raises(LineageError, match=r"was read as exp\.") as caught:
        rewrite(query, Others(), plain)
    assert type(caught.value) is BadArgumentError
    again = read(sql)
    assert isinstance(again, exp.Query)
    rewrite(again, Others(), read)


def test_names_in_the_text_of_a_view_are_not_given_again() -> None:
    query = read("SELECT k FROM (SELECT k FROM ours)")
    assert isinstance(query, exp.Query)
    sql = rewrite(query, Others(), read).tree.sql("spark")
    assert "AS __q1" in sql
    assert "AS __q2" in sql


def test_the_refusal_of_chance_is_there_for_our_trees() -> None:
    with pytest.raises(LineageError, match=r"rand\(\) may give other values"):
        printed("SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE rand() < 2)", Semantics.CONTROL)


def test_operators_that_sqlglot_counts_as_functions_are_ours() -> None:
    found = {type(node) for node in read(OPERATORS).walk() if isinstance(node, exp.Func)}
    assert found == OWN_GRAMMAR
    assert rewritten(OPERATORS).tables == ("t",)


def test_every_tree_of_the_front_end_is_accepted() -> None:
    texts = [*(case.sql for case in read_all()), *(tpch_queries.query(name) for name in tpch_queries.names())]
    accepted = 0
    for text in texts:
        try:
            tree = parse(text).tree
        except LineageError:
            continue  # refused by the front end
        assert accept(tree, Names()) is tree
        accepted += 1
    assert accepted > 400
