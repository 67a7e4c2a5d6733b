"""WITH: rewrite each CTE once; every use of its name gets the hidden columns.   [Zhang 2007, §3.3: views compose]

WITH c AS (Q) …  →  WITH c AS (Q') …
WITH c(a, …) AS (Q) …  →  WITH c(a, …, __dl_t, …) AS (Q') …
Requires: –
Ensures:  a CTE shadows tables and outer CTEs of its name, and sees the CTEs before it; the WITH clause stays in front.
Nulls:    those of the CTE.
Raises:   NotTracedError for WITH RECURSIVE that reads a traced table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from rewrites.aliases import listed, renamed, table_name
from rewrites.conditions import is_asked
from rewrites.environment import Definition, Environment, TracedQuery
from rewrites.refusals import refuse


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite the CTEs of a query, then the query in which their names are bound."""
    with_clause = query.args.get("with_")
    if with_clause is None:
        return None
    correlated = False
    united = query.find(exp.SetOperation) is not None  # Spark puts a CTE in where it is used
    asked = _asked(query, with_clause.expressions)
    for cte in with_clause.expressions:
        inside = replace(env, in_set_operation=True) if united else env
        inside = inside.by_value() if cte.alias.lower() in asked else inside
        bound = _recursive(cte, inside) if with_clause.args.get("recursive") else _bound(cte, inside)
        correlated = correlated or bound.correlated
        env = env.with_cte(cte.alias, bound)
    query.set("with_", None)
    traced = env.rewrite(query, env)
    traced.tree.set("with_", with_clause)
    return replace(traced, correlated=correlated or traced.correlated)


def _asked(query: exp.Query, ctes: Sequence[exp.CTE]) -> set[str]:
    """Return the CTEs that a subquery of an expression, or LATERAL, reads, by itself or through others.

    They refer to no stage, see `rewrites.stages.asked`; the rest of the statement may.
    """
    found = {name for name, node in _read(query) if is_asked(node, query)}
    for cte in reversed(ctes):
        if cte.alias.lower() in found:
            found.update(name for name, _ in _read(cte.this))
    return found


def _read(query: exp.Query) -> Iterator[tuple[str, exp.Table]]:
    for node in query.find_all(exp.Table):
        parts = table_name(node)
        if len(parts) == 1:
            yield parts[0].lower(), node


def _recursive(cte: exp.CTE, env: Environment) -> TracedQuery:
    """A CTE that may read itself: rows of one step are made of rows of the step before, and in the end of no table."""
    if cte.alias.lower() not in {name for name, _ in _read(cte.this)}:
        return _bound(cte, env)
    itself = TracedQuery(cte.this, listed(cte) or None, {})
    bound = _bound(cte, env.with_cte(cte.alias, itself))
    if bound.hidden:
        what = "WITH RECURSIVE over a table that is traced is not traced"
        refuse(cte.args["alias"], what, "Unroll the recursion, or run it without lineage.")
    return bound


def _bound(cte: exp.CTE, env: Environment) -> TracedQuery:
    written = Definition(cte.this.copy(), env, listed(cte)) if env.counts_what_decides else None
    traced = env.rewrite(cte.this, env.nested())
    cte.set("this", traced.tree)
    columns = renamed(cte, traced.columns, traced.hidden)
    return replace(traced, columns=columns, definition=written, cte=cte, around=env.ctes)
