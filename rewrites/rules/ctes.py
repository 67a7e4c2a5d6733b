"""Rewrite each CTE once; every use of its name gets the hidden columns.   [Zhang 2007, §3.3: views compose]

WITH c AS (Q) …  →  WITH c AS (Q') …
Scope: a CTE shadows tables and outer CTEs of its name, and sees the CTEs before it.
Raises: LineageError for WITH RECURSIVE.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites.environment import Environment
from rewrites.refusals import refuse
from rewrites.scope import Scope
from rewrites.terms import hidden_column, name


def bind(query: exp.Query, env: Environment, scope: Scope) -> Environment:
    """Rewrite the WITH clause of `query` and return the environment in which its names are bound."""
    with_clause = query.args.get("with_")
    if with_clause is None:
        return env
    if with_clause.args.get("recursive"):
        refuse(with_clause, "WITH RECURSIVE is not traced", "Unroll the recursion, or run it without lineage.")
    for cte in with_clause.expressions:
        traced = env.rewrite(cte.this, env)
        cte.set("this", traced.tree)
        scope.correlated = scope.correlated or traced.correlated
        listed = cte.args["alias"].args.get("columns")
        if listed:
            traced = replace(traced, columns=tuple(identifier.name for identifier in listed))
            for table in traced.hidden:
                cte.args["alias"].append("columns", name(hidden_column(table)))
        env = env.with_cte(cte.alias, traced)
    return env
