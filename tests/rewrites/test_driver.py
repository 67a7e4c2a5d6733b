"""The driver: what it leaves alone, what it promises, what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites import driver
from rewrites.driver import BLOCK_RULES, QUERY_RULES, rewrite, select_block
from rewrites.environment import Semantics, TracedQuery
from rewrites.options import Options
from rewrites.rules import (
    aggregation,
    anti_joins,
    ctes,
    distinct,
    distinct_apart,
    from_clause,
    names,
    offset_blocks,
    projection,
    semi_joins,
    skipped_rows,
    stars,
    subqueries,
    windows,
)
from rewrites.tables import Source, StoredTable, View
from tests.rewrites.plain_tables import TABLES, PlainTables, printed, read, rewritten
from udafs.errors import LineageError, NotRegisteredError, NotTracedError, WrongSqlError

BOTH = pytest.mark.parametrize("semantics", list(Semantics))


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS one",
        "SELECT * FROM VALUES (1, 2) AS x(a, b)",
        "SELECT id FROM range(5) WHERE id > 2 ORDER BY id",
        "SELECT count(*) FROM range(5)",
        "SELECT DISTINCT a FROM VALUES (1), (1) AS x(a)",
        "WITH c AS (SELECT 1 AS a) SELECT a FROM c UNION SELECT a + 1 FROM c",
        "SELECT a FROM VALUES (1) AS x(a) INTERSECT SELECT 1",
    ],
)
def test_a_query_without_tables_stays_as_it_is(sql: str, semantics: Semantics) -> None:
    result = rewritten(sql, semantics)
    assert print_sql(result.tree) == print_sql(read(sql))
    assert result.tables == ()


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, k FROM t WHERE v > 1",
        "SELECT * FROM t JOIN u ON t.k = u.k",
        "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 1",
        "SELECT DISTINCT k FROM t",
        "SELECT k FROM t UNION SELECT k FROM u",
        "SELECT k FROM t EXCEPT SELECT k FROM u",
        "SELECT id FROM t WHERE k IN (SELECT k FROM u)",
        "SELECT id, (SELECT max(w) FROM u WHERE u.k = t.k) AS m, row_number() OVER (ORDER BY id) AS n FROM t",
    ],
)
def test_an_untraced_query_stays_as_it_is(sql: str, semantics: Semantics) -> None:
    assert printed(sql, semantics, chosen=()) == print_sql(read(sql))


def test_an_untraced_table_is_only_read_where_its_rows_are() -> None:
    assert printed("SELECT l_quantity FROM lineitem", chosen=()) == "SELECT l_quantity FROM parquet.`/x` AS lineitem"


def test_only_the_chosen_tables_are_traced() -> None:
    assert rewritten("SELECT t.id FROM t JOIN u ON t.k = u.k", chosen=["U"]).tables == ("u",)


def test_the_tables_are_those_of_the_lineage_column_in_its_order() -> None:
    result = rewritten("SELECT w FROM u LEFT JOIN t USING (k) WHERE EXISTS (SELECT 1 FROM lineitem)", Semantics.CONTROL)
    assert result.tables == ("u", "t", "lineitem")
    struct = result.tree.selects[-1]
    assert struct.alias == "DL"
    assert [field.name for field in struct.this.expressions[::2]] == ["u", "t", "lineitem"]


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, v FROM t",
        "SELECT k, count(*) FROM t GROUP BY k",
        "SELECT DISTINCT k, v FROM t",
        "(SELECT k, v FROM t)",
        "SELECT k, v FROM t UNION ALL SELECT k, w FROM u",
        "SELECT k, v FROM t INTERSECT ALL SELECT k, w FROM u ORDER BY k LIMIT 1",
    ],
)
def test_nothing_hidden_is_left_in_the_result(sql: str, semantics: Semantics) -> None:
    outermost = rewritten(sql, semantics).tree
    query = outermost.find(exp.Select) if isinstance(outermost, exp.Subquery) else outermost
    assert isinstance(query, exp.Select)
    assert query.selects[-1].alias == "DL"
    assert not any(item.output_name.startswith("__") for item in query.selects)


def test_an_id_is_no_set_until_the_end() -> None:
    """SELECT … FROM … WHERE … over subqueries needs `dl_of` once a table, in the outermost select list."""
    sql = printed("SELECT q.id FROM (SELECT id, k FROM (SELECT * FROM t) WHERE v > 1) q JOIN u ON q.k = u.k")
    assert sql.count("dl_of(") == 2
    assert "dl_union" not in sql
    assert "dlunion" not in sql


def test_uncorrelated_subqueries_do_not_join_the_rows() -> None:
    sql = printed("SELECT id FROM t WHERE k IN (SELECT k FROM u)", Semantics.CONTROL)
    assert "JOIN" not in sql
    assert sql.count("dlunion") == 1


def test_order_and_limit_of_a_set_operation_stay_outermost() -> None:
    tree = rewritten("SELECT k FROM t UNION ALL SELECT k FROM u ORDER BY k LIMIT 2").tree
    assert tree.args["order"] is not None
    assert tree.args["limit"] is not None


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM t TABLESAMPLE (5 PERCENT)", "TABLESAMPLE takes other rows"),
        ("SELECT id FROM nowhere", "nowhere is not a registered table"),
        ("SELECT k FROM t UNION BY NAME SELECT k FROM u", "BY NAME"),
        (
            "WITH RECURSIVE c AS (SELECT id FROM t UNION SELECT id + 1 FROM c) SELECT id FROM c",
            "WITH RECURSIVE c with UNION",
        ),
        ("SELECT id AS DL FROM t", "already has a column DL"),
        ("(SELECT id AS DL FROM t) ORDER BY 1", "already has a column DL"),
        ("SELECT id AS DL FROM t UNION SELECT uid FROM u", "already has a column DL"),
        ("SELECT DISTINCT count(*) AS DL FROM t", "already has a column DL"),
        ("WITH c AS (SELECT id FROM t) SELECT id AS DL FROM c", "already has a column DL"),
        ("SELECT __dl_t FROM t", "reserved for lineage"),
    ],
)
def test_refusals(sql: str, message: str) -> None:
    with pytest.raises(LineageError, match=message):
        rewritten(sql)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT id FROM nowhere", NotRegisteredError),
        ("SELECT nothing FROM t", WrongSqlError),
        ("SELECT x.id FROM t", WrongSqlError),
        ("SELECT t.id FROM t LEFT SEMI JOIN u ON t.k = u.k WHERE u.w = 1", WrongSqlError),
        ("SELECT id FROM t TABLESAMPLE (5 PERCENT)", NotTracedError),
        ("SELECT id AS DL FROM t", NotTracedError),
    ],
)
def test_a_refusal_has_the_type_that_callers_catch_and_a_remedy(sql: str, kind: type[LineageError]) -> None:
    with pytest.raises(kind) as caught:
        rewritten(sql)
    assert type(caught.value) is kind
    assert caught.value.instead


@pytest.mark.parametrize("clause", ["prewhere", "match", "connect", "into", "settings"])
def test_a_clause_that_no_rule_claims_is_refused(clause: str) -> None:
    """Spark has none of these; a new sqlglot might read what a new Spark has."""
    query = read("SELECT id FROM t")
    assert isinstance(query, exp.Select)
    query.set(clause, exp.true())
    with pytest.raises(LineageError, match="is not traced"):
        rewrite(query, TABLES, read)


def test_a_rule_that_loses_a_column_is_a_bug_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "QUERY_RULES", (lambda query, _: TracedQuery(query.select("1", append=False), (), {}),))
    with pytest.raises(LineageError, match="bug of forward_lineage"):
        rewritten("SELECT id FROM t")


def test_the_shape_of_a_result_is_found_where_others_will_read_it() -> None:
    query = read("SELECT k, count(*) AS n FROM t GROUP BY k")
    assert isinstance(query, exp.Query)
    control = Options(Semantics.CONTROL)
    assert rewrite(query, TABLES, read, control).shape is None
    assert rewrite(query, TABLES, read, replace(control, to_store=True)).shape is not None


class Shown(PlainTables):
    """`shown` is a view of all columns of `kept`, a table that carries lineage."""

    def find(self, parts: Sequence[str]) -> Source | None:
        if parts[-1] == "shown":
            return View("shown", ("k", "n", "DL"), "SELECT * FROM kept")
        return StoredTable("kept", ("k", "n"), ("t",), "data", "", "x") if parts[-1] == "kept" else super().find(parts)


def test_a_view_of_a_table_with_lineage_has_the_columns_of_the_users() -> None:
    query = read("SELECT * FROM shown")
    assert isinstance(query, exp.Query)
    assert "AS shown(k, n, __dl_t)" in print_sql(rewrite(query, Shown(), read).tree)


def test_a_subquery_in_the_window_clause_decides() -> None:
    sql = "SELECT id, sum(v) OVER w AS s FROM t WINDOW w AS (PARTITION BY (SELECT max(uid) FROM u) ORDER BY id)"
    assert [rewritten(sql, semantics).tables for semantics in (Semantics.DATA, Semantics.CONTROL)] == [
        ("t",),
        ("t", "u"),
    ]


def test_the_order_of_the_rules() -> None:
    """Each pair is explained beside `BLOCK_RULES` and `QUERY_RULES`."""
    place = {rule: at for at, rule in enumerate(BLOCK_RULES)}
    assert {place[skipped_rows.apply], place[anti_joins.apply], place[from_clause.apply]} == {0, 1, 2}
    assert place[from_clause.apply] == 2
    assert place[semi_joins.apply] < place[names.apply]
    assert place[names.apply] < place[subqueries.apply] < place[aggregation.apply] < place[windows.apply]
    assert place[subqueries.apply] < place[stars.apply]
    assert place[windows.apply] < place[distinct.apply] < place[projection.apply] == len(place) - 1
    assert len(place) == len(BLOCK_RULES)
    assert QUERY_RULES[:2] == (ctes.apply, offset_blocks.apply)
    assert QUERY_RULES.index(distinct_apart.apply) < QUERY_RULES.index(select_block) == len(QUERY_RULES) - 1


def test_invented_names_are_never_given_twice() -> None:
    sql = printed("SELECT k FROM (SELECT k FROM t) UNION SELECT k FROM (SELECT k FROM u) UNION SELECT k FROM t")
    tree = read(sql)
    invented = [alias.name for alias in tree.find_all(exp.TableAlias) if alias.name.startswith("__")]
    assert len(invented) == len(set(invented)) > 2


def test_a_variable_of_the_session_is_left_to_spark() -> None:
    """In a subquery that is joined it is no key, though it stands on one side of an equality."""
    text = printed(
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND t.v = highest AND u.w <> t.v)",
        Semantics.CONTROL,
    )
    assert text.count("session.highest") == 0
    assert "AS __dl_key1" in text
    assert "__dl_key2" not in text
