"""WITH: rewrite each CTE once; every use of its name gets the hidden columns.   [Zhang 2007, §3.3: views compose]

WITH c AS (Q) …  →  WITH c AS (Q') …
WITH c(a, …) AS (Q) …  →  WITH c(a, …, __dl_t, …) AS (Q') …
Requires: –
Ensures:  a CTE shadows tables and outer CTEs of its name, and sees the CTEs before it; the WITH clause stays in front.
Nulls:    those of the CTE.
Raises:   NotTracedError for WITH RECURSIVE.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.aliases import renamed
from rewrites.environment import Environment, TracedQuery
from rewrites.refusals import refuse


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite the CTEs of a query, then the query in which their names are bound."""
    with_clause = query.args.get("with_")
    if with_clause is None:
        return None
    if with_clause.args.get("recursive"):
        refuse(with_clause, "WITH RECURSIVE is not traced", "Unroll the recursion, or run it without lineage.")
    correlated = False
    for cte in with_clause.expressions:
        bound = _bound(cte, env)
        correlated = correlated or bound.correlated
        env = env.with_cte(cte.alias, bound)
    query.set("with_", None)
    traced = env.rewrite(query, env)
    traced.tree.set("with_", with_clause)
    return replace(traced, correlated=correlated or traced.correlated)


def _bound(cte: exp.CTE, env: Environment) -> TracedQuery:
    traced = env.rewrite(cte.this, env)
    cte.set("this", traced.tree)
    return replace(traced, columns=renamed(cte, traced.columns, traced.hidden))
