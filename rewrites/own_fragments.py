"""EXISTS that looks only at rows in the range of the row that asks: to a sketch it is a plain condition.   [Niu 2022, §4]

… FROM R o WHERE [NOT] EXISTS (SELECT … FROM R u WHERE u.a = o.a AND …), a sketch of R over ranges of a
A table cut down to a sketch has each range whole or not at all. So if the row of `o` is there, all that the subquery
looks at is, and its answer is what it was: it adds no range to the lineage, and keeps out no row that could come in.
Requires: a query as the user wrote it; granules that are ranges.
Ensures:  such subqueries are marked (`is_marked`); lineage without what they look at still makes a sketch that is enough.
          Of rows it would be too little, so where a clause asks for lineage nothing is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.conditions import conjuncts
from rewrites.granules import Granules, Ranges
from rewrites.tables import BaseTable, Tables

_OWN = "own fragment"
_PLAIN = {"expressions", "from_", "where", "hint", "kind"}


def is_marked(query: exp.Query) -> bool:
    """Say whether a subquery of an expression looks only at rows in the range of the row that asks."""
    return bool(query.meta.get(_OWN))


def mark(query: exp.Query, granules: Mapping[str, Granules], tables: Tables) -> None:
    """Mark the subqueries of a statement that look only at rows in the range of the row that asks.

    Args:
        query: the statement.
        granules: by table in lower case.
        tables: what its names mean.
    """
    bound = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    for exists in query.find_all(exp.Exists):
        inner = exists.this
        if isinstance(inner, exp.Select) and _is_own(inner, exists, bound, granules, tables):
            inner.meta[_OWN] = True


def _is_own(
    inner: exp.Select, exists: exp.Exists, bound: set[str], granules: Mapping[str, Granules], tables: Tables
) -> bool:
    outer = exists.find_ancestor(exp.Query)
    place = exists.find_ancestor(exp.Where, exp.Query)
    only = {clause for clause, value in inner.args.items() if value} <= _PLAIN
    if not (only and isinstance(outer, exp.Select) and isinstance(place, exp.Where) and place.parent is outer):
        return False
    read = inner.args.get("from_")
    node = read.this if read is not None else None
    table = _base_table(node, bound, tables)
    cut = None if table is None else granules.get(table.name.lower())
    nested = any(each is not inner for each in inner.find_all(exp.Query))
    if nested or not isinstance(cut, Ranges) or not isinstance(node, exp.Table):
        return False
    where = inner.args.get("where")
    conditions = conjuncts(where.this if where is not None else None)
    return any(_ties(each, node, outer, cut, bound, tables) for each in conditions)


def _ties(
    condition: exp.Expr, inner: exp.Table, outer: exp.Select, cut: Ranges, bound: set[str], tables: Tables
) -> bool:
    """Say whether a condition is `u.a = o.a`, u the table read in the subquery and o the same table outside."""
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
    if not all(isinstance(each, exp.Column) and len(each.parts) == 2 for each in sides):
        return False
    if any(each.name.lower() != cut.column.lower() for each in sides):
        return False
    same = {
        node.alias_or_name.lower()
        for node in _sources(outer)
        if _base_table(node, bound, tables) == cut.table and node.alias_or_name.lower() != inner.alias_or_name.lower()
    }
    named = {each.table.lower() for each in sides}
    return inner.alias_or_name.lower() in named and len(named & same) == 1


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what stands in FROM, but for what only ON of its own join sees."""
    read = select.args.get("from_")
    if read is not None:
        yield read.this
    for join in select.args.get("joins") or []:
        if join.kind not in ("SEMI", "ANTI"):
            yield join.this


def _base_table(node: exp.Expr | None, bound: set[str], tables: Tables) -> BaseTable | None:
    """Return the table that a plain name in FROM means: no sample, no names for its columns."""
    if not isinstance(node, exp.Table) or any(
        value and clause not in ("this", "db", "catalog", "alias") for clause, value in node.args.items()
    ):
        return None
    alias = node.args.get("alias")
    parts = table_name(node)
    if (alias is not None and alias.args.get("columns")) or (len(parts) == 1 and parts[0].lower() in bound):
        return None
    found = tables.find(parts)
    return found if isinstance(found, BaseTable) else None
