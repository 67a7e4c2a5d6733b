"""Queries that WITH names, put where they are read: so they are queries in FROM, which rules look into.

    WITH late AS (SELECT shop, n FROM sales WHERE n > 3) SELECT shop, sum(n) FROM late GROUP BY shop
    SELECT shop, sum(n) FROM (SELECT shop, n FROM sales WHERE n > 3) AS late GROUP BY shop

Only those that read a table which changed are put in place: others stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from forward_lineage.frontend.joins import table_name
from forward_lineage.store.updating import joining_rows as joined


def with_names_in_place(tree: exp.Expr, changed: Collection[str]) -> exp.Expr:
    """Return a query with those of its WITH clause that read some tables in the places where they are read.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.

    Raises:
        NotProvableError: a name means more than one thing.

    """
    named = tree.args.get("with_")
    if named is None or not joined.mentions(named, set(changed)):
        return tree
    joined.check_names(tree, set(changed))
    tree = tree.copy()
    named = tree.args["with_"]
    for cte in list(named.expressions):
        if joined.mentions(cte.this, set(changed)):
            _put_in_place(tree, cte)
    if not named.expressions:
        tree.set("with_", None)
    return tree


def _put_in_place(tree: exp.Expr, cte: exp.CTE) -> None:
    """Put a query in all its places; it is no more in WITH then."""
    query, called = cte.this, cte.args["alias"]
    cte.pop()
    for table in list(tree.find_all(exp.Table)):
        if table_name(table) != cte.alias.lower() or not isinstance(table.parent, exp.From | exp.Join):
            continue
        alias = table.args.get("alias") or exp.TableAlias(this=called.this.copy())
        alias = alias.copy()
        if called.columns and not alias.columns:
            alias.set("columns", [each.copy() for each in called.columns])
        rest = {name: value for name, value in table.args.items() if value and name not in ("this", "alias")}
        table.replace(exp.Subquery(this=query.copy(), alias=alias, **rest))
