"""A query in parentheses: its rows are those of the query inside.   [Zhang 2007, §3.3: views compose]

(Q) ORDER BY … LIMIT …  →  (Q') ORDER BY … LIMIT …
Requires: WITH is bound.
Ensures:  parentheses and the clauses behind them stay where they are (unless they ask subqueries that count); the
          columns are those of Q'.
Nulls:    those of Q'.
Raises:   NotTracedError for anything else behind the parentheses.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewrites import outermost
from rewrites.environment import Environment, TracedQuery
from rewrites.refusals import refuse_others


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite the query inside."""
    if not isinstance(query, exp.Subquery):
        return None
    refuse_others(query, ("this", *outermost.CLAUSES), "a parenthesised query")
    ordered = outermost.with_questions_outside(query, env) if env.counts_what_decides else None
    if ordered is not None:
        return env.rewrite(ordered, env)
    traced = env.rewrite(query.this, env)
    query.set("this", traced.tree)
    return replace(traced, tree=query)
