"""WITH: rewrite each CTE once; every use of its name gets the hidden columns.   [Zhang 2007, §3.3: views compose]

WITH c AS (Q) …  →  WITH c AS (Q') …
WITH c(a, …) AS (Q) …  →  WITH c(a, …, __dl_t, …) AS (Q') …
Requires: –
Ensures:  a CTE shadows tables and outer CTEs of its name, and sees the CTEs before it; the WITH clause stays in front.
Nulls:    those of the CTE.
Raises:   what `recursive_ctes` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from rewrites import recursive_ctes
from rewrites.aliases import listed, renamed, table_name
from rewrites.conditions import is_asked
from rewrites.environment import Definition, Environment, TracedQuery
from rewrites.row_estimates import renamed as estimated_as


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite the CTEs of a query, then the query in which their names are bound."""
    with_clause = query.args.get("with_")
    if with_clause is None:
        return None
    correlated = False
    united = query.find(exp.SetOperation) is not None  # Spark puts a CTE in where it is used
    recursive = with_clause.args.get("recursive")
    asked = _asked(query, with_clause.expressions, recursive=recursive)
    for cte in with_clause.expressions:
        inside = replace(env, in_set_operation=True) if united else env
        inside = inside.by_value() if cte.alias.lower() in asked else inside
        bound = _recursive(cte, inside) if recursive else _bound(cte, inside)
        correlated = correlated or bound.correlated
        env = env.with_cte(cte.alias, bound)
    query.set("with_", None)
    traced = env.rewrite(query, env)
    traced.tree.set("with_", with_clause)
    return replace(traced, correlated=correlated or traced.correlated)


def _asked(query: exp.Query, ctes: Sequence[exp.CTE], *, recursive: bool) -> set[str]:
    """Return the CTEs that a subquery of an expression, LATERAL, or a recursion reads, by itself or through others.

    They refer to no stage, see `rewrites.stages.asked`; the rest of the statement may.
    """
    found = {name for name, node in _read(query) if is_asked(node, query)}
    for cte in reversed(ctes):
        if (recursive and recursive_ctes.reads_itself(cte)) or cte.alias.lower() in found:
            found.update(name for name, _ in _read(cte.this))
    return found


def _read(query: exp.Query) -> Iterator[tuple[str, exp.Table]]:
    for node in query.find_all(exp.Table):
        parts = table_name(node)
        if len(parts) == 1:
            yield parts[0].lower(), node


def _recursive(cte: exp.CTE, env: Environment) -> TracedQuery:
    """A CTE that may read itself."""
    if not recursive_ctes.reads_itself(cte):
        return _bound(cte, env)
    traced = recursive_ctes.apply(cte, env)
    return traced or _bound(cte, env.with_cte(cte.alias, TracedQuery(cte.this, listed(cte) or None, {})))


def _bound(cte: exp.CTE, env: Environment) -> TracedQuery:
    written = Definition(cte.this.copy(), env, listed(cte)) if env.counts_what_decides else None
    traced = env.rewrite(cte.this, env.nested())
    cte.set("this", traced.tree)
    columns = renamed(cte, traced.columns, traced.hidden)
    estimated = estimated_as(traced.estimated, traced.columns, columns)
    return replace(traced, columns=columns, definition=written, cte=cte, around=env.ctes, estimated=estimated)
