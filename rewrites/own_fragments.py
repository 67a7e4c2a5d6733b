"""EXISTS that looks only at rows in the range of the row that asks: a plain condition to a sketch.   [Niu 2022, §4]

… FROM R o WHERE [NOT] EXISTS (SELECT … FROM R u WHERE u.a = o.a AND …), a sketch of R over ranges of a
A table cut down to a sketch has each range whole or not at all. So if the row of `o` is there, all that the subquery
looks at is, and its answer does not change. It adds no range to the lineage, and keeps out no row that could come in.
Requires: a query as the user wrote it; granules that are ranges.
Ensures:  such subqueries are marked (`is_marked`); lineage without what they look at makes a sketch that is enough.
          Of rows it would be too little: where a clause asks for lineage nothing is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
    statement = _Statement({cte.alias.lower() for cte in query.find_all(exp.CTE)}, granules, tables)
    for exists in query.find_all(exp.Exists):
        inner = exists.this
        if isinstance(inner, exp.Select) and statement.is_own(inner, exists):
            inner.meta[_OWN] = True


@dataclass(frozen=True)
class _Statement:
    """A statement: the names of its CTEs, its granules, what its names mean."""

    bound: set[str]
    granules: Mapping[str, Granules]
    tables: Tables

    def is_own(self, inner: exp.Select, exists: exp.Exists) -> bool:
        """Say whether an EXISTS in WHERE reads one table, in the range of the row outside."""
        outer = exists.find_ancestor(exp.Query)
        place = exists.find_ancestor(exp.Where, exp.Query)
        plain = {clause for clause, value in inner.args.items() if value} <= _PLAIN
        read = inner.args.get("from_")
        if not (plain and read and isinstance(outer, exp.Select) and place is outer.args.get("where")):
            return False
        table = self._base_table(read.this)
        cut = None if table is None else self.granules.get(table.name.lower())
        nested = any(each is not inner for each in inner.find_all(exp.Query))
        if nested or not isinstance(cut, Ranges):
            return False
        where = inner.args.get("where")
        conditions = conjuncts(where.this if where is not None else None)
        outside = {node.alias_or_name.lower() for node in _sources(outer) if self._base_table(node) == cut.table}
        return any(_ties(each, read.this.alias_or_name.lower(), outside, cut.column.lower()) for each in conditions)

    def _base_table(self, node: exp.Expr) -> BaseTable | None:
        return plain_base_table(node, self.bound, self.tables)


def plain_base_table(node: exp.Expr, bound: set[str], tables: Tables) -> BaseTable | None:
    """Return the table that a plain name in FROM means: no sample, no names for its columns.

    Args:
        node: what stands in FROM.
        bound: names of CTEs in lower case.
        tables: what other names mean.
    """
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


def _ties(condition: exp.Expr, inside: str, outside: set[str], column: str) -> bool:
    """Say whether a condition is `inside.column = o.column`, o the same table outside."""
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else ()
    if not sides or not all(isinstance(each, exp.Column) and len(each.parts) == 2 for each in sides):
        return False
    named = {each.table.lower() for each in sides}
    return (
        all(each.name.lower() == column for each in sides)
        and inside in named
        and len((named - {inside}) & outside) == 1
    )


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what stands in FROM, but for what only ON of its own join sees."""
    read = select.args.get("from_")
    if read is not None:
        yield read.this
    for join in select.args.get("joins") or []:
        if join.kind not in ("SEMI", "ANTI"):
            yield join.this
