"""LATERAL with ON: the condition is asked inside.   [Zhang 2007, §3.3, join]

V JOIN LATERAL (Q') AS q ON q.a…  →  V JOIN LATERAL (SELECT * FROM (Q') AS q WHERE q.a…) AS q ON TRUE

Lineage reads its rows in another place of the statement, too. There Spark numbers the columns of Q' anew and not those
of ON, and then refuses its own plan.
Requires: names are resolved, and what subqueries in ON add is collected.
Ensures:  the same pairs of rows, also for LEFT JOIN; a condition stays in which a name may mean something else inside.
Nulls:    –
Raises:   –
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.scope import blocks_out


def apply(block: Block) -> None:
    """Have the rows of LATERAL chosen by a WHERE of its own."""
    for join in block.own_nodes():
        condition = join.args.get("on")
        if not isinstance(join, exp.Join) or not isinstance(join.this, exp.Lateral) or condition is None:
            continue
        lateral = join.this
        if _means_the_same_inside(condition, lateral, block):
            rows = exp.Subquery(this=lateral.this.this, alias=lateral.args["alias"].copy())
            lateral.this.set("this", exp.Select(expressions=[exp.Star()]).from_(rows, copy=False).where(condition))
            join.set("on", exp.true())


def _means_the_same_inside(condition: exp.Expr, lateral: exp.Lateral, block: Block) -> bool:
    """Say whether Spark finds in the subquery what it finds in ON: it looks at the columns there first."""
    item = block.scope.from_item(lateral.alias)
    named = list(condition.find_all(exp.Column))
    if not isinstance(lateral.this, exp.Subquery) or item is None or not named or condition.find(exp.Query):
        return False
    # Of a name's parts the first alone may mean something else: a column of the subquery called like a table outside.
    return not any(
        blocks_out(node) or (len(node.parts) > 1 and item.has(node.parts[0].name) is not False) for node in named
    )
