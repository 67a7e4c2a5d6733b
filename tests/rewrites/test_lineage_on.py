"""LINEAGE ON: which table an expression means."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.granules import Granules, Ranges
from rewrites.lineage_on import resolve
from rewrites.tables import BaseTable
from tests.rewrites.plain_tables import TABLES, read
from udafs.errors import BadArgumentError, WrongSqlError


def found(query: str, *clause: str) -> dict[str, Granules]:
    tree = read(query)
    assert isinstance(tree, exp.Query)
    return resolve([read(each) for each in clause], tree, TABLES, read)


def test_a_column_by_its_table() -> None:
    granules = found("SELECT 1 FROM t", "t.v")
    assert list(granules) == ["t"]
    assert [print_sql(each) for each in granules["t"].expressions] == ["v"]


def test_a_column_that_only_one_table_has() -> None:
    assert list(found("SELECT 1 FROM t JOIN u ON t.k = u.k", "w")) == ["u"]


def test_an_alias_anywhere_in_the_statement() -> None:
    assert list(found("SELECT 1 FROM (SELECT * FROM t AS inner_t) q", "inner_t.v")) == ["t"]


def test_several_expressions_of_a_table_in_their_order() -> None:
    granules = found("SELECT 1 FROM t, u", "t.v + 1", "w", "upper(t.k)")
    assert list(granules) == ["t", "u"]
    assert [print_sql(each) for each in granules["t"].expressions] == ["v + 1", "upper(k)"]


def test_the_empty_list_names_no_table() -> None:
    assert found("SELECT 1 FROM t") == {}


@pytest.mark.parametrize(
    ("query", "granule", "message"),
    [
        ("SELECT 1 FROM t, u", "k", "k is ambiguous: t and u"),
        ("SELECT 1 FROM u, t", "k", "k is ambiguous: t and u"),
        ("SELECT 1 FROM u, t", "w + v", "mixes columns of t and u"),
        ("SELECT 1 FROM t AS x, u AS x2", "t.w", "no table of the query has a column w"),
        ("SELECT 1 FROM t", "u.w", "the query reads no table u"),
        ("SELECT 1 FROM t", "w", "no table of the query has a column w"),
        ("SELECT 1 FROM t, u", "v + w", "mixes columns of t and u"),
        ("SELECT 1 FROM t", "1 + 1", "mentions no column"),
        ("SELECT 1 FROM t", "v + Rand()", "Rand does not always give the same value"),
        ("SELECT 1 FROM t", "max(v)", "max does not always give the same value"),
        ("SELECT 1 FROM t", "rank() OVER (ORDER BY v)", "rank does not always give the same value"),
        ("SELECT 1 FROM t", "explode(v)", "explode does not always give the same value"),
        ("WITH t AS (SELECT 1 AS v) SELECT v FROM t", "t.v", "the query reads no table t"),
    ],
)
def test_refusals(query: str, granule: str, message: str) -> None:
    with pytest.raises(WrongSqlError, match=message.replace("+", r"\+")):
        found(query, granule)


@pytest.mark.parametrize(
    "query",
    [
        "WITH t AS (SELECT * FROM t) SELECT v FROM t",
        "WITH a AS (SELECT * FROM t), t AS (SELECT 1 AS v) SELECT a.v FROM a, t",
        "SELECT v FROM t WHERE v IN (WITH t AS (SELECT 1 AS v) SELECT v FROM t)",
    ],
)
def test_a_cte_hides_a_table_only_where_it_is_bound(query: str) -> None:
    assert list(found(query, "t.v")) == ["t"]


class _Cut:
    """Knows ranges of every column, and nothing else."""

    def __call__(self, table: BaseTable, expressions: object) -> None:
        return None

    def ranges(self, table: BaseTable, column: str, most: int) -> Ranges:
        if column == "k":
            raise BadArgumentError("no ranges of k", instead="Take another.")
        return Ranges(table, column, "int", f"{most}".encode())


def _cut(clause: str) -> dict[str, Granules]:
    tree = read("SELECT 1 FROM t, u")
    assert isinstance(tree, exp.Query)
    return resolve([read(each) for each in clause.split("; ")], tree, TABLES, read, _Cut())


def test_ranges_are_granules() -> None:
    found = _cut("ranges(t.V, 7); u.w")
    assert list(found) == ["t", "u"]
    assert isinstance(found["t"], Ranges) and (found["t"].column, found["t"].bounds) == ("v", b"7")
    assert print_sql(found["t"].rows(exp.to_table("t"))) == "SELECT *, dl_fragment(v, X'37') AS __dl_t FROM t"
    assert print_sql(found["t"].dictionary(exp.to_table("t"))) == (
        "SELECT dl_range(__id, X'37', 'int') AS value_1, __id FROM "
        "(SELECT DISTINCT dl_fragment(v, X'37') AS __id FROM t) AS __granule"
    )
    assert [print_sql(each) for each in found["t"].values()] == ["dl_range(__id, X'37', 'int')"]


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("RANGES(t.v)", "takes a column and how many"),
        ("RANGES(t.v, 2, 3)", "takes a column and how many"),
        ("RANGES(t.v + 1, 2)", "takes a column and how many"),
        ("RANGES(t.v, t.k)", "takes a column and how many"),
        ("RANGES(t.v, 0)", "0 ranges.*Ask for 1 to 10000"),
        ("RANGES(t.v, 10001)", "10001 ranges"),
        ("RANGES(t.k, 3)", "no ranges of k.*Take another"),
        ("RANGES(t.nothing, 3)", "no table of the query has a column nothing"),
        ("RANGES(t.v, 3); t.k", "RANGES and something else over the same table"),
        ("t.k; RANGES(t.v, 3)", "RANGES and something else over the same table"),
        ("RANGES(t.v, 3); RANGES(t.v, 3)", "RANGES and something else over the same table"),
    ],
)
def test_other_ranges_are_refused(clause: str, said: str) -> None:
    with pytest.raises(WrongSqlError, match=said):
        _cut(clause)


def test_ranges_depend_on_values() -> None:
    with pytest.raises(WrongSqlError, match=r"depends on the values that a table has.*Run it"):
        found("SELECT 1 FROM t", "RANGES(t.v, 3)")
