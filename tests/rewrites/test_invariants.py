"""Rules that break a query on purpose, in the place of one of ours: each is caught, and named."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from rewrites import driver, lineage_column
from rewrites.block import Block
from rewrites.environment import Environment, Names, Semantics, Stages, TracedQuery
from rewrites.invariants import user_columns
from rewrites.rules import BlockRule, QueryRule, aggregation, from_clause, name_of, parentheses, projection, stars
from rewrites.scope import FromItem
from rewrites.terms import Kind, Term, column, hidden_column, named
from tests.rewrites.plain_tables import printed, read, rewritten
from udafs.errors import InternalError, NotTracedError

SQL = "SELECT id, k, v FROM t WHERE v > 1"


def drops_a_column(block: Block) -> None:
    block.select.expressions.pop(1)


def renames_a_column(block: Block) -> None:
    block.select.expressions[0] = named(block.select.expressions[0].copy(), "other")


def swaps_columns(block: Block) -> None:
    block.select.expressions[:2] = reversed(block.select.expressions[:2])


def adds_a_column(block: Block) -> None:
    block.select.append("expressions", named(exp.Literal.number(1), "one"))


def adds_a_hidden_column(block: Block) -> None:
    block.select.append("expressions", named(column("t", hidden_column("t")), hidden_column("t")))


def loses_a_table(block: Block) -> None:
    block.rows = {}
    block.constants = {}
    block.groups = {}


def traces_what_it_must_not(block: Block) -> None:
    block.groups["u"] = [Term(exp.Null(), Kind.ID)]


def adds_a_clause(block: Block) -> None:
    block.select.set("prewhere", exp.true())


def excepts_too_much(block: Block) -> None:
    star = block.select.expressions[0]
    star.set("except_", [*(star.args.get("except_") or []), exp.column("k")])


def joins_after_the_stars(block: Block) -> None:
    block.scope.from_items.append(FromItem("late", (), {"t": Kind.ID}))


def forgets_the_stars(block: Block) -> None:
    """Does nothing, in the place of the rule for stars."""


BLOCK_RULES: list[tuple[BlockRule, str, str]] = [
    (drops_a_column, SQL, "the user's columns id, k, v became id, v"),
    (renames_a_column, SQL, "the user's columns id, k, v became other, k, v"),
    (swaps_columns, SQL, "the user's columns id, k, v became k, id, v"),
    (adds_a_column, SQL, "there are columns that nobody asked for: one"),
    (adds_a_hidden_column, SQL, "there are columns that nobody asked for: __dl_t"),
    (loses_a_table, SQL, "the lineage in t is lost"),
    (traces_what_it_must_not, SQL, "u is not to be traced"),
    (adds_a_clause, SQL, "nobody answers for prewhere"),
    (excepts_too_much, "SELECT * FROM t", "the user's columns .* EXCEPT () became .* EXCEPT (k)"),
    (excepts_too_much, "SELECT * EXCEPT (v) FROM t", "the user's columns .* EXCEPT (v) became .* EXCEPT (v, k)"),
]


@pytest.mark.parametrize(("rule", "sql", "how"), BLOCK_RULES)
@pytest.mark.parametrize("before", [stars.apply, aggregation.apply, projection.apply])
def test_a_block_rule_that_breaks_something_is_named(
    rule: BlockRule, sql: str, how: str, before: BlockRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = driver.BLOCK_RULES.index(before)
    monkeypatch.setattr(driver, "BLOCK_RULES", (*driver.BLOCK_RULES[:at], rule, *driver.BLOCK_RULES[at:]))
    with pytest.raises(InternalError) as caught:
        rewritten(sql, chosen=["t"])
    assert caught.value.what == f"the rule {name_of(rule)} broke a query: {how}"
    assert "report it" in str(caught.value)


@pytest.mark.parametrize("rule", [drops_a_column, adds_a_column, renames_a_column, adds_a_hidden_column])
def test_so_is_one_behind_the_last(rule: BlockRule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "BLOCK_RULES", (*driver.BLOCK_RULES, rule))
    with pytest.raises(InternalError, match=f"the rule test_invariants.{name_of(rule).rpartition('.')[2]} broke"):
        rewritten("SELECT count(*) AS n FROM (SELECT id, k FROM t)")


@pytest.mark.parametrize("sql", ["SELECT * FROM t", "SELECT t.* FROM t, u", "SELECT DISTINCT * FROM t"])
def test_a_star_that_shows_hidden_columns_is_noticed(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tuple(forgets_the_stars if rule is stars.apply else rule for rule in driver.BLOCK_RULES)
    monkeypatch.setattr(driver, "BLOCK_RULES", rules)
    with pytest.raises(InternalError, match="a star excepts none, and the hidden columns are __dl_t"):
        rewritten(sql)


def test_a_source_that_comes_after_the_stars_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    at = driver.BLOCK_RULES.index(stars.apply) + 1
    rules = (*driver.BLOCK_RULES[:at], joins_after_the_stars, *driver.BLOCK_RULES[at:])
    monkeypatch.setattr(driver, "BLOCK_RULES", rules)
    with pytest.raises(InternalError, match="a star excepts __dl_t, and the hidden columns are __dl_t, __dl_t"):
        rewritten("SELECT * FROM t")


def test_a_rule_that_lost_the_lineage_of_from_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(block: Block) -> None:
        from_clause.apply(block)
        block.rows = {}

    monkeypatch.setattr(driver, "BLOCK_RULES", (forgetful, *driver.BLOCK_RULES[1:]))
    with pytest.raises(InternalError, match="the lineage in t is lost"):
        rewritten("SELECT id FROM t")


def _changed(change: Callable[[TracedQuery], TracedQuery]) -> QueryRule:
    """Return the rule for parentheses with one more thing done to what it makes."""

    def broken(query: exp.Query, env: Environment) -> TracedQuery | None:
        traced = parentheses.apply(query, env)
        return None if traced is None else change(traced)

    return broken


def _one_more_hidden(traced: TracedQuery) -> TracedQuery:
    traced.tree.this.append("expressions", named(exp.Null(), hidden_column("u")))
    return traced


def _one_hidden_less(traced: TracedQuery) -> TracedQuery:
    traced.tree.this.expressions.pop()
    return traced


def _renamed(traced: TracedQuery) -> TracedQuery:
    return TracedQuery(traced.tree, ("other",), traced.hidden, traced.correlated)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (_one_more_hidden, "the hidden columns are not __dl_t: id, __dl_t, __dl_u"),
        (_one_hidden_less, "the hidden columns are not __dl_t: id"),
        (_renamed, "the user's columns id became other"),
    ],
)
def test_a_query_rule_that_breaks_something_is_named(
    change: Callable[[TracedQuery], TracedQuery], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = _changed(change)
    rules = tuple(rule if each is parentheses.apply else each for each in driver.QUERY_RULES)
    monkeypatch.setattr(driver, "QUERY_RULES", rules)
    with pytest.raises(InternalError) as caught:
        rewritten("SELECT 1 AS a FROM t UNION ALL (SELECT id FROM t)")
    assert caught.value.what == f"the rule test_invariants.broken broke a query: {how}"


def test_the_result_is_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfolded(traced: TracedQuery, _names: Names, _stages: Stages) -> exp.Query:
        return traced.tree

    monkeypatch.setattr(lineage_column, "folded", unfolded)
    with pytest.raises(InternalError, match="the result has the columns id, __dl_t"):
        rewritten("SELECT id FROM t")


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a, b + 1 AS c, count(*) FROM t", ["a", "c", ""]),
        ("SELECT a FROM t UNION ALL SELECT b FROM u", ["a"]),
        ("(SELECT a FROM t)", ["a"]),
        ("SELECT a, t.* FROM t", None),
        ("SELECT * FROM t EXCEPT SELECT 1", None),
    ],
)
def test_the_columns_that_the_user_wrote(sql: str, columns: list[str] | None) -> None:
    query = read(sql)
    assert isinstance(query, exp.Query)
    assert user_columns(query) == columns


@pytest.mark.parametrize("semantics", list(Semantics))
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t SEMI JOIN u USING (k) WHERE v > (SELECT avg(w) FROM u WHERE u.k = t.k AND u.w > t.v)",
        "SELECT t.*, x.* FROM t, LATERAL (SELECT * FROM u WHERE u.k = t.k) x",
        "SELECT DISTINCT * EXCEPT (v), rank() OVER (ORDER BY v) AS r FROM t SORT BY r LIMIT 2",
        "SELECT * FROM t PIVOT (count(id) FOR k IN ('a')) UNION SELECT 1, 2",
        "SELECT *, (SELECT max(w) FROM u WHERE u.k = t.k) AS m, sum(v) OVER (PARTITION BY k) AS s FROM t",
    ],
)
def test_what_our_own_rules_make_passes(sql: str, semantics: Semantics) -> None:
    assert printed(sql, semantics).count(" AS DL") == 1


def _stumbles(block: Block) -> None:
    if block.env.outer is not None or block.select.args.get("limit"):
        raise KeyError("limit")


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT id FROM t WHERE k IN (SELECT k FROM u)", 37),
        ("SELECT id FROM (SELECT id, k FROM t LIMIT 1)", 24),
    ],
)
def test_a_rule_that_stumbles_is_reported_where_it_did(sql: str, column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "BLOCK_RULES", (*driver.BLOCK_RULES, _stumbles))
    with pytest.raises(InternalError, match=r"KeyError: 'limit' \(line 1, column \d+\)\. This is a bug") as caught:
        printed(sql, Semantics.CONTROL)
    assert caught.value.at is not None
    assert caught.value.at.column == column


def _never_ends(query: exp.Query, env: Environment) -> TracedQuery:
    return env.rewrite(query, env)


def test_a_query_that_is_nested_too_deeply_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "QUERY_RULES", (_never_ends,))
    with pytest.raises(NotTracedError, match="nested too deeply"):
        printed(SQL)
