"""HAVING whose subqueries mention aggregates of the groups around them, where the rows that they read count.

SELECT a, f(x) … GROUP BY a HAVING EXISTS (SELECT … WHERE y < g(x))
→  SELECT * EXCEPT (h) FROM (SELECT a, f(x), g(x) AS h … GROUP BY a) WHERE EXISTS (SELECT … WHERE y < h)
Spark knows such an aggregate in HAVING only, not in a select list, where the lineage would be computed.
Requires: WITH is bound, DISTINCT taken away; nothing of the query is rewritten yet.
Ensures:  the columns are the query's; ORDER BY, SORT BY, LIMIT … stay outermost.
Nulls:    a condition that is unknown drops a group, in WHERE as in HAVING.
Raises:   nothing: what cannot be put like this is left, and refused where the subquery's rows are collected.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.block import is_aggregate, needs_groups
from rewrites.conditions import subqueries_in
from rewrites.environment import Environment, TracedQuery
from rewrites.terms import column, derived_table, named


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Compute the groups in a subquery in FROM, and filter them outside."""
    having = query.args.get("having")
    if not isinstance(query, exp.Select) or having is None or not env.counts_what_decides:
        return None
    if not any(True for _ in _of_the_groups(having)) or not _may_be_put_inside(query):
        return None
    query.set("having", None)
    outside = outermost.take(query)
    alias, helpers = env.names.fresh("q"), _Helpers(env)
    condition = having.this
    for node in [*_own_aggregates(condition), *_of_the_groups(having), *_keys(condition, query)]:
        node.replace(column(alias, helpers.name_of(node)))
    for value, name in helpers.names.items():
        query.append("expressions", named(value.copy(), name))
    star = exp.Star(except_=[column(alias, name) for name in helpers.names.values()])
    result = exp.Select(expressions=[star]).from_(derived_table(query, alias), copy=False).where(having.this)
    outermost.put(result, outside)
    return env.rewrite(result, env)


class _Helpers:
    """Names of columns that the groups get for their condition, one a value."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self.names: dict[exp.Expr, str] = {}

    def name_of(self, value: exp.Expr) -> str:
        """Return the name of the column with a value, a new one if need be."""
        if value not in self.names:
            self.names[value.copy()] = self._env.names.fresh("h")
        return self.names[value]


def _of_the_groups(having: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates in subqueries' WHERE: they are those of the block around."""
    for query in subqueries_in(having):
        for node in query.walk():
            if is_aggregate(node) and isinstance(node.find_ancestor(exp.Where, exp.Query), exp.Where):
                yield node


def _may_be_put_inside(query: exp.Select) -> bool:
    """Say whether the groups are the same without HAVING, and whether they can be ordered outside by their columns."""
    if query.args.get("qualify") or query.args.get("windows") or any(item.find(exp.Window) for item in query.selects):
        return False
    names = {output_name(item).lower() for item in query.selects}
    keys = [query.args[clause] for clause in outermost.SPREADING if query.args.get(clause)]
    nodes = [node for key in keys for node in key.walk()]
    if any(needs_groups(node) for node in nodes):
        return False
    return all(not node.table and node.name.lower() in names for node in nodes if isinstance(node, exp.Column))


def _own_aggregates(condition: exp.Expr) -> Iterator[exp.Expr]:
    own = condition.walk(prune=lambda node: isinstance(node, exp.Query) or needs_groups(node))
    yield from [node for node in own if needs_groups(node)]


def _keys(condition: exp.Expr, query: exp.Select) -> list[exp.Expr]:
    """Return the columns of the groups that a condition mentions, its subqueries by the name of their relation."""
    named_here = {item.alias.lower() for item in query.selects if isinstance(item, exp.Alias)}
    sources = [query.args.get("from_"), *(query.args.get("joins") or [])]
    relations = {source.this.alias_or_name.lower() for source in sources if source is not None}
    own = condition.walk(prune=lambda node: isinstance(node, exp.Query) or needs_groups(node))
    columns = [node for node in own if isinstance(node, exp.Column)]
    found: list[exp.Expr] = [
        node
        for node in columns
        if node.table.lower() in relations or not (node.table or node.name.lower() in named_here)
    ]
    for inner in subqueries_in(condition):
        theirs = {node.alias_or_name.lower() for node in inner.find_all(exp.Table, exp.Subquery)}
        for node in inner.find_all(exp.Column):
            if node.table.lower() in relations - theirs and not _inside_aggregate(node, inner):
                found.append(node)
    return found


def _inside_aggregate(node: exp.Expr, within: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None and parent is not within:
        if is_aggregate(parent):
            return True
        parent = parent.parent
    return False
