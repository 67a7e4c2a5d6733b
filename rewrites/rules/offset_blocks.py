"""OFFSET behind what is no SELECT block: a block is put around it.   [not in Zhang 2007]

Q1 UNION Q2 ORDER BY k OFFSET n  →  SELECT * FROM (Q1 UNION Q2) ORDER BY k OFFSET n, under control semantics alone
Requires: WITH is bound.
Ensures:  what has OFFSET is a SELECT whose rows are not grouped from outside: `skipped_rows` answers for it.
Nulls:    –
Raises:   NotTracedError where SELECT DISTINCT is ordered by what it does not select.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import outermost
from rewrites.environment import Environment, TracedQuery
from rewrites.rules.distinct_apart import needs_derived_table, sort_keys_by_name


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Put a block around a set operation, parentheses, or a SELECT DISTINCT with OFFSET."""
    if not query.args.get("offset") or not env.counts_what_decides or _is_block(query):
        return None
    outside = outermost.take(query)
    if isinstance(query, exp.Select):
        sort_keys_by_name(query, outside)
    return env.rewrite(outermost.block_around(query, outside, env), env)


def _is_block(query: exp.Query) -> bool:
    return isinstance(query, exp.Select) and not (query.args.get("distinct") and needs_derived_table(query))
