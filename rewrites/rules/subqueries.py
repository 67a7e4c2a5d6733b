"""Subqueries inside expressions: IN, EXISTS, ANY, ALL, scalar; wherever they stand.   [Zhang 2007, §3.4]

                                      data lineage adds          control lineage adds
scalar subquery in the select list    the rows of the subquery   the rows of the subquery
any other subquery                    nothing                    the rows of the subquery, as evaluated for this row,
                                                                 and what keeps others out of it: `rewrites.looked_at`

[Q8 → Q9]: an uncorrelated subquery is evaluated once more, for its lineage; a correlated one for each row.
Requires: names are resolved (correlation is known after rewriting the subquery in this block's scope).
Ensures:  the subquery itself runs as the user wrote it, without hidden columns; `block.rows`, `.constants` and
          `.groups` have what subqueries add. A block without subqueries stays as it is.
Nulls:    those of NOT IN are Spark's own; a subquery that was asked for no row adds nothing.
Raises:   NotTracedError if the rows that were looked at cannot be told. Reasons are chance, LIMIT without ORDER BY, and
          a correlated subquery that mentions an alias or an aggregate of the block around it. Others are one side of
          USING below ROLLUP, and IN in ON that Spark itself does not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewrites import hoisting, own_fragments
from rewrites.answers import answered, answered_once, asked_once
from rewrites.block import Block, has_grouping_sets, is_aggregate
from rewrites.conditions import asks_for_presence, own_nodes, subqueries_in
from rewrites.environment import Semantics, TracedQuery
from rewrites.looked_at import looked_at
from rewrites.refusals import refuse
from rewrites.scope import blocks_out
from rewrites.sources import merges, merging
from rewrites.terms import HIDDEN_PREFIX, Kind, merge

_CLAUSES = ("expressions", "where", "group", "having", "qualify", "order", "sort", "windows", "laterals", "joins")
_PREDICATES = (exp.Exists, exp.In, exp.Any, exp.All)
_BEFORE_GROUPING = ("where", "group", "laterals", "joins")
_MAY_PAD_LEFT = ("RIGHT", "FULL")
_VALUES = ("expressions", "group", "laterals")  # clauses whose values are in the output
_BEHIND_WINDOWS = ("expressions", "qualify", "order", "sort")
_CONDITIONS = {"where": "this", "having": "this", "qualify": "this", "joins": "on"}  # where the condition stands
COUNTED = "counted"
"""In the `meta` of a subquery whose rows another rule has collected."""


@dataclass
class _Use:
    """A subquery and where it stands."""

    query: exp.Query
    clause: str
    clause_node: exp.Expr

    @property
    def on(self) -> exp.Join | None:
        """The join in whose ON it stands."""
        return self.clause_node if isinstance(self.clause_node, exp.Join) else None

    @property
    def is_predicate(self) -> bool:
        parent = self.query.parent
        return (isinstance(parent, _PREDICATES) and parent.this is not self.query) or isinstance(
            parent, exp.Exists | exp.Any | exp.All
        )

    @property
    def inside_aggregate(self) -> bool:
        node = self.query.parent
        while node is not None and node is not self.clause_node:
            if is_aggregate(node) or isinstance(node, exp.Filter):
                return True
            node = node.parent
        return node is not None and is_aggregate(node)

    @property
    def behind_windows(self) -> bool:
        """Whether it is evaluated after the windows: for the row itself, not for the other rows of its frame."""
        if self.clause not in _BEHIND_WINDOWS:
            return False
        inside = self.query.find_ancestor(exp.Window)
        return inside is None or inside.find_ancestor(exp.Query) is not self.query.find_ancestor(exp.Query)


def apply(block: Block) -> None:
    """Make every subquery of the block's expressions run, and collect the lineage that it adds."""
    block.claim("where", "having")
    for use in list(_uses(block)):
        inner = use.query.this if isinstance(use.query, exp.Subquery) else use.query
        original = inner.copy()
        _refuse_operand_of_both_sides(use, block)
        make_run(inner, block, use.on)
        if block.env.tracing and _contributes(use, block):
            _collect(use, original, block)


def _refuse_operand_of_both_sides(use: _Use, block: Block) -> None:
    """Spark runs `a.x + b.y IN (SELECT …)` in ON only where it finds before that the join has no rows."""
    predicate = use.query.parent
    if use.on is None or not isinstance(predicate, exp.In):
        return
    columns = [node for node in own_nodes(predicate.this) if isinstance(node, exp.Column)]
    sources = {item.alias for node in columns for item in block.scope.meant(node, use.on)}
    if {use.on.this.alias_or_name} < sources:
        what = "IN (SELECT …) in ON, of an operand with columns of both sides, is not run by Spark"
        refuse(use.query, what, "Put it into WHERE, or compute the operand in a subquery in FROM.")


def make_run(query: exp.Query, block: Block, on: exp.Join | None) -> None:
    """Rewrite a subquery of the block's expressions, maybe in ON of a join, so that it runs, without lineage."""
    holder, place = query.parent, query.arg_key
    runs = block.env.rewrite(query, block.env.inside(block.scope, on).untraced())
    if holder is not None and place is not None:  # always so: a subquery stands in an expression
        holder.set(place, runs.tree)


def _uses(block: Block) -> Iterator[_Use]:
    for clause in _CLAUSES:
        value = block.select.args.get(clause)
        for root in value if isinstance(value, list) else [value]:
            if not isinstance(root, exp.Expr):
                continue
            expression = root.args.get("on") if isinstance(root, exp.Join) else root  # what it joins is no subquery
            if expression is not None:
                yield from (_Use(query, clause, root) for query in subqueries_in(expression))


def _contributes(use: _Use, block: Block) -> bool:
    if use.query.meta.get(COUNTED) or own_fragments.is_marked(use.query):
        return False
    if use.clause == "joins" and use.clause_node.args.get("kind") == "ANTI":
        return False  # its rows counted with the right rows that match, of which there are none
    if block.env.semantics is Semantics.CONTROL:
        return True
    return use.clause in _VALUES and not use.is_predicate


def _collect(use: _Use, original: exp.Query, block: Block) -> None:
    env = block.env.inside(block.scope, use.on)
    looks = list(looked_at(original, env)) if _must_stay(use, block) else [(original, env)]
    whole = use.clause in ("where", "having") and len(looks) == 1 and looks[0][0] == original
    for query, where in looks:
        traced = block.env.rewrite(query, where)
        if traced.hidden:
            hoisting.refuse_unrepeatable(use.query)
            _count(use, traced, block, whole=whole)


def _must_stay(use: _Use, block: Block) -> bool:
    """Say whether the answer would be another one if further rows came into the subquery."""
    condition = use.clause_node.args.get(_CONDITIONS.get(use.clause, ""))
    only_presence = isinstance(condition, exp.Expr) and asks_for_presence(use.query, condition)
    return block.env.counts_what_decides and not only_presence


def _count(use: _Use, traced: TracedQuery, block: Block, *, whole: bool) -> None:
    """Add the lineage of a subquery; `whole`: what was looked at is all of it, and it stands in WHERE or HAVING."""
    if traced.correlated:
        _collect_for_each_row(use, traced, block, whole=whole)
        return
    one_row = hoisting.all_rows(traced, block.env.names.fresh("s"))
    added = answered_once(use.query, one_row, traced) if whole else None
    lineage = asked_once(use.query, traced, block) if whole and use.clause == "where" and added is None else None
    if lineage is not None:
        hidden = {each.alias.removeprefix(HIDDEN_PREFIX): Kind.SET for each in lineage.selects}
        one_row = hoisting.all_rows(TracedQuery(lineage, (), hidden), block.env.names.fresh("s"))
    if added is None:
        added = hoisting.for_all_rows(one_row)
    if not block.groups_rows or use.clause in _BEFORE_GROUPING or use.inside_aggregate:
        block.constants = merge(block.constants, added)
    else:
        block.groups = merge(block.groups, added)


def _collect_for_each_row(use: _Use, traced: TracedQuery, block: Block, *, whole: bool) -> None:
    _refuse_outer_aggregates(use.query)
    _refuse_outer_aliases(traced.tree, block)
    _refuse_merged_by_using(traced.tree, block)
    one_row = hoisting.all_rows(traced, block.env.names.fresh("s"))
    added = answered(use.query, one_row, traced, block) if whole and use.clause == "where" else None
    if added is None:
        added = hoisting.correlated(one_row, block)
    if use.behind_windows and not block.groups_rows:
        block.groups = merge(block.groups, added)
    else:
        block.rows = merge(block.rows, added)


def _refuse_outer_aliases(query: exp.Query, block: Block) -> None:
    """An alias of the SELECT around the subquery is not there yet where the lineage is computed."""
    for node in _columns_of_the_block(query):
        if node.text("table") or node.name.lower() not in block.scope.aliases:
            continue
        if all(item.has(node.name) is False for item in block.scope.seen_from(None)):
            what = f"a correlated subquery that mentions {node.name}, an alias of SELECT, is not traced"
            refuse(node, what, "Write out what the alias stands for, or compute it in a subquery in FROM.")


def _columns_of_the_block(query: exp.Query) -> Iterator[exp.Column]:
    """Yield what a subquery mentions of the block around it, by itself and not in subqueries of its own."""
    for node in query.walk(bfs=False, prune=lambda inner: isinstance(inner, exp.Query) and inner is not query):
        if isinstance(node, exp.Column) and blocks_out(node) == 1:
            yield node


def _refuse_merged_by_using(query: exp.Query, block: Block) -> None:
    """Below ROLLUP Spark finds the column that USING has made, and not that of one side: `max(b.k)` fails as well."""
    if not has_grouping_sets(block.select.args.get("group")):
        return
    merged_by = merging(block.select)
    for node in _columns_of_the_block(query):
        owners = [item for item in block.scope.seen_from(None) if item.has(node.name) is not False]
        if not node.text("table") or len(owners) < 2 or not any(merges(join, node.name) for join in merged_by):
            continue
        if owners[0].alias.lower() != node.text("table").lower() or any(
            join.side in _MAY_PAD_LEFT for join in merged_by
        ):
            what = f"Spark does not find {node.sql()}, which USING has merged, where groups are those of GROUPING SETS"
            refuse(node, what, "Join with ON instead of USING or NATURAL.")


def _refuse_outer_aggregates(query: exp.Query) -> None:
    """An aggregate in the subquery's WHERE is one of the block around it, which Spark knows in HAVING only."""
    for node in query.walk():
        where = node.find_ancestor(exp.Where, exp.Query) if is_aggregate(node) else None
        if isinstance(where, exp.Where):
            refuse(
                node,
                f"{node.name}(…) of the groups around the subquery is not traced",
                "Compute the groups in a subquery in FROM, then use WHERE instead of HAVING.",
            )
