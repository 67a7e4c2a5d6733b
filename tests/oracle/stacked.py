"""Queries whose blocks stand on groups and windows: where lineage travels by reference, and where plans are shared.

Blocks that group or number rows are joined with each other, or one is read twice as a CTE; windows go over the join,
and filters and groups stand above. `strategies` writes any query, and such a one rarely.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st

from tests.oracle.algebra import (
    Cte,
    Database,
    Expr,
    GroupBy,
    Item,
    Join,
    Op,
    Query,
    Rel,
    Select,
    SortKey,
    Statement,
    Table,
)
from tests.oracle.algebra import Lit as Literal
from tests.oracle.scoping import Column, Scope
from tests.oracle.strategies import QueryWriter, Site, databases, references


@st.composite
def stacked_statements(draw: st.DrawFn) -> Statement:
    """A query of some blocks over groups and windows."""
    return Statement(StackedWriter(draw, 2).stacked())


def stacked_cases() -> st.SearchStrategy[tuple[Database, Statement]]:
    return st.tuples(databases(), stacked_statements())


def _site(scope: Scope) -> Site:
    """A place over columns of which one at least can be named: of two tables that share all their names none can."""
    site = Site(tuple(references((scope,))), (scope,), (), subqueries=False)
    assume(site.atoms)
    return site


class StackedWriter(QueryWriter):
    """Writes a stacked query; of further queries its blocks have a few in their filters."""

    def fresh(self, prefix: str) -> str:
        """Return a name that may stand before earlier ones in the alphabet: Spark sorts columns that it prunes."""
        name = super().fresh(prefix)
        return f"{'zkcq'[self._names % 4]}{name}"

    def stacked(self) -> Query:
        ctes = []
        for _ in range(self.pick([0, 1, 1, 2])):
            query, columns = self._made(1)
            name = self.fresh("w")
            self._ctes.append((name, columns))
            ctes.append(Cte(name, query))
        source, scope = self._joined()
        query, columns = self._windowed(source, scope) if self.chance(4) else self._numbered(source, scope)
        for _ in range(self.pick([0, 1, 1, 1, 2])):
            query, columns = self._above(query, columns)
        return replace(query, ctes=tuple(ctes))

    # --- blocks -----------------------------------------------------------------------------------------------

    def _made(self, depth: int) -> tuple[Query, Scope]:
        """A block whose rows stand for many: groups, or rows with a window."""
        source, scope = self._base(depth)
        site = _site(scope)
        select = Select((), source, (), self._filter(site))
        if self.chance(3):
            return self._numbered(source, scope)
        key, kind = self.pick(site.atoms)
        items = [Item(key, self.fresh("k"))]
        columns = [Column(items[0].alias, None, kind)]
        for _ in range(self.number(1, 2)):
            aggregate, kind = self._aggregate(site, self.pick(["int", "int", "int", "str"]))
            items.append(Item(aggregate, self.fresh("k")))
            columns.append(Column(items[-1].alias, None, kind))
        return Query(replace(select, items=tuple(items), group=GroupBy((key,)))), tuple(columns)

    def _base(self, depth: int) -> tuple[Rel, Scope]:
        if depth and self.chance(4):
            query, columns = self._made(depth - 1)
            return self._derived(query, columns, set())
        taken: set[str] = set()
        rel, scope = self._primary((), taken)
        if self.chance(3):
            other, added = self._primary((), taken)
            return Join(self.pick(["INNER", "LEFT"]), rel, other, self._on(scope, added)), (*scope, *added)
        return rel, scope

    def _joined(self) -> tuple[Rel, Scope]:
        """Blocks joined; a CTE with itself, a block with a table, two blocks."""
        taken: set[str] = set()
        left, scope = self._side(taken)
        for _ in range(self.pick([0, 1, 1, 1, 2])):
            right, added = self._side(taken)
            on = self._on(scope, added)
            kind = self.pick(["INNER", "INNER", "LEFT", "RIGHT", "FULL", "FULL", "SEMI", "ANTI"])
            left = Join(kind, left, right, on)
            scope = scope if kind in ("SEMI", "ANTI") else (*scope, *added)
        return left, scope

    def _side(self, taken: set[str]) -> tuple[Rel, Scope]:
        if self._ctes and self.chance(2):
            name, columns = self.pick(self._ctes)
            alias = self._qualifier(taken)
            return Table(name, alias), tuple(replace(column, qualifier=alias) for column in columns)
        if self.chance(4):
            return self._primary((), taken)
        query, columns = self._made(1)
        return self._derived(query, columns, taken)

    def _filter(self, site: Site) -> Expr | None:
        """Sometimes with a subquery: a stage that has one is put in place later than others."""
        return self.predicate(replace(site, subqueries=self.chance(2)), 1) if self.chance(3) else None

    def _windowed(self, source: Rel, scope: Scope) -> tuple[Query, Scope]:
        """Any select list over a source, groups included."""
        site = _site(scope)
        select = Select((), source, (), self._filter(site))
        written, columns, _ = (
            self._grouped(select, site, scope, None) if self.chance(2) else self._finish(select, site, scope, None)
        )
        return Query(written), columns

    def _numbered(self, source: Rel, scope: Scope) -> tuple[Query, Scope]:
        """Columns of a source beside windows over it; the order of rows is often total, so that all is determined."""
        site = _site(scope)
        where = self._filter(site)
        kept = self.some(site.atoms, 1, 3)
        items = [Item(expr, self.fresh("k")) for expr, _ in kept]
        kinds = [kind for _, kind in kept]
        for _ in range(self.number(1, 2)):
            kind = self.pick(["int", "int", "int", "dbl"])
            items.append(Item(self._over(kind, site), self.fresh("k")))
            kinds.append(kind)
        columns = tuple(Column(item.alias, None, kind) for item, kind in zip(items, kinds, strict=True))
        return Query(Select(tuple(items), source, (), where)), columns

    def _above(self, query: Query, columns: Scope) -> tuple[Query, Scope]:
        """A filter, groups or windows over a query."""
        derived, scope = self._derived(query, columns, set())
        site = _site(scope)
        shape = self.pick(["filter", "filter", "filter", "group", "window", "limit"])
        if shape == "window":
            return self._numbered(derived, scope)
        if shape == "group":
            written, made, _ = self._grouped(Select((), derived), site, scope, None)
            return Query(written), made
        chosen = site.atoms if self.chance(2) else tuple(self.some(site.atoms, 1, 3))
        once = {expr.name: (expr, kind) for expr, kind in chosen}  # type: ignore[attr-defined]
        items = tuple(Item(expr, self.fresh("k")) for expr, _ in once.values())
        made = tuple(Column(i.alias, None, kind) for i, (_, kind) in zip(items, once.values(), strict=True))
        numbers = site.of("int")
        test = (
            Op(self.pick([">", ">=", "<="]), self.pick(numbers), Literal(self.number(0, 3)))
            if numbers and self.chance(2)
            else self.predicate(site, 1)
        )
        select = Select(items, derived, (), test)
        if shape == "limit":
            order = tuple(SortKey(Literal(i + 1)) for i in range(len(items)))
            return Query(select, order=order, limit=self.number(1, 4)), made
        return Query(select), made
