"""Hypothesis strategies: small base tables, and queries over them with every operator, nested.

Queries are generated with types and scopes at hand, so that nearly all of them are valid Spark SQL. What nobody can
know beforehand (ties cut by a LIMIT, a scalar subquery with two rows) the interpreter finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.oracle.algebra import (
    Agg,
    AliasRef,
    BaseTable,
    Between,
    Case,
    Col,
    Cte,
    Database,
    Derived,
    Exists,
    Explode,
    ExplodeItem,
    Expr,
    Frame,
    Func,
    GroupBy,
    Grouping,
    InList,
    InQuery,
    IsNull,
    Item,
    Join,
    LateralView,
    LineageOn,
    Lit,
    Not,
    Op,
    Over,
    Query,
    Rel,
    Scalar,
    Select,
    SetOp,
    SortKey,
    Star,
    Statement,
    Table,
    Value,
    Values,
)
from tests.oracle.expressions import has_aggregate
from tests.oracle.scoping import AmbiguousError, Column, Scope, resolve

Atom = tuple[Expr, str]
Scopes = tuple[Scope, ...]

SCHEMAS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "r": (("rid", "a", "b", "s"), ("int", "int", "int", "str")),
    "t": (("tid", "a", "c", "s"), ("int", "int", "int", "str")),
    "u": (("uid", "b", "c", "f"), ("int", "int", "int", "bool")),
}
VALUES: dict[str, list[Value]] = {
    "int": [1, 2, None, 0, 3],
    "str": ["x", "y", None, ""],
    "bool": [True, False, None],
}
COMPARISONS = ["=", "<>", "<=", ">=", "<>", "<=", ">=", "<", ">", "<=>"]


def databases() -> st.SearchStrategy[Database]:
    """The three base tables, each of up to five rows with NULLs, duplicates and ties; keys are unique but not dense."""

    @st.composite
    def table(draw: st.DrawFn, name: str) -> BaseTable:
        columns, kinds = SCHEMAS[name]
        count = draw(st.sampled_from([0, 1, 2, 3, 3, 4, 4, 5, 5, 5]))
        keys = draw(st.lists(st.integers(0, 7), min_size=count, max_size=count, unique=True))
        rows = [(key, *(draw(st.sampled_from(VALUES[kind])) for kind in kinds[1:])) for key in keys]
        return BaseTable(columns, kinds, tuple(rows))

    return st.fixed_dictionaries({name: table(name) for name in SCHEMAS})


@st.composite
def statements(draw: st.DrawFn, size: int = 5, *, granules: bool = False) -> Statement:
    """A query of at most about `size` SELECT blocks, with a LINEAGE ON list when `granules`."""
    writer = QueryWriter(draw, draw(st.sampled_from([1, 2, 3, 3, 4, size])))
    query, _ = writer.query((), None)
    return Statement(query, writer.lineage_on() if granules else None)


def cases(*, granules: bool = False) -> st.SearchStrategy[tuple[Database, Statement]]:
    """A database and a statement over it, with LINEAGE ON when `granules`."""
    return st.tuples(databases(), statements(granules=granules))


@dataclass(frozen=True)
class Site:
    """Where expressions are written: what they may mention, and what their subqueries may mention of it."""

    atoms: tuple[Atom, ...]
    scopes: Scopes
    outer: tuple[Atom, ...] = ()
    subqueries: bool = True

    def of(self, kind: str) -> list[Expr]:
        return [expr for expr, k in self.atoms if k == kind]


class QueryWriter:
    """Writes one query; `draw` makes every choice, so that Hypothesis can shrink it."""

    def __init__(self, draw: st.DrawFn, size: int) -> None:
        self._draw = draw
        self._fuel = size
        self._names = 0
        self._ctes: list[tuple[str, Scope]] = []
        self._meanings: dict[str, set[str]] = {}  # qualifier → the base tables (or "") it stands for

    # --- choices --------------------------------------------------------------------------------------------

    def pick(self, options: Sequence[Any]) -> Any:
        return self._draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return self._draw(st.integers(0, one_in - 1)) == one_in - 1

    def number(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def some(self, options: Sequence[Any], least: int, most: int) -> list[Any]:
        return [self.pick(options) for _ in range(self.number(least, most))] if options else []

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def spend(self) -> bool:
        """Whether another SELECT block may be written."""
        self._fuel -= 1
        return self._fuel >= 0

    # --- queries --------------------------------------------------------------------------------------------

    def query(self, outer: Scopes, want: Sequence[str] | None) -> tuple[Query, Scope]:
        """A query with columns of the wanted kinds (any when None) and its output columns."""
        mark = len(self._ctes)
        ctes = tuple(self._cte() for _ in range(self.number(0, 2))) if self._fuel > 1 and self.chance(5) else ()
        body, columns, source = self._body(outer, want)
        order, limit, offset = self._order_and_limit(body, columns, source)
        del self._ctes[mark:]
        return Query(body, ctes, order, limit, offset), columns

    def _cte(self) -> Cte:
        query, columns = self.query((), None)
        taken = [name for name, _ in self._ctes]
        name = self.pick([n for n in SCHEMAS if n not in taken] or ["r"]) if self.chance(4) else self.fresh("w")
        names = tuple(self.fresh("m") for _ in columns) if self.chance(4) else ()
        if names:
            columns = tuple(replace(column, name=n) for column, n in zip(columns, names, strict=True))
        self._ctes.append((name, columns))
        return Cte(name, query, names)

    def _body(self, outer: Scopes, want: Sequence[str] | None) -> tuple[Select | SetOp, Scope, Scope]:
        if self._fuel > 1 and self.chance(6):
            left, columns, _ = self._body(outer, want)
            kinds = [column.kind for column in columns]
            right: Select | SetOp | Query
            if isinstance(left, Select) and self.chance(2):
                # The same block under another filter: sides that really have rows in common.
                right = replace(left, where=None, distinct=self.chance(3))
            elif self.chance(6):
                right, _ = self.query(outer, kinds)
            else:
                right, _, _ = self._body(outer, kinds)
            op = self.pick(["UNION", "INTERSECT", "EXCEPT"])
            return SetOp(op, left, right, all=self.chance(2)), columns, ()
        self.spend()
        return self._select(outer, want)

    def _order_and_limit(
        self, body: Select | SetOp, columns: Scope, source: Scope
    ) -> tuple[tuple[SortKey, ...], int | None, int | None]:
        if not self.chance(4):
            return (), None, None
        order = [self._sort_key(Lit(i + 1)) for i in range(len(columns)) if self.chance(2)]
        if isinstance(body, Select) and not body.distinct:
            qualified = [column for column, _ in references((source,)) if column.qualifier]
            order += [self._sort_key(column) for column in self.some(qualified, 0, 1)]
        if not self.chance(2):
            return tuple(order), None, None
        # Every output column is a key: then only rows that differ in lineage alone can tie at the cut.
        order += [self._sort_key(Lit(i + 1)) for i in range(len(columns))]
        return tuple(order), self.number(0, 4), self.number(0, 2) if self.chance(4) else None

    def _sort_key(self, expr: Expr) -> SortKey:
        return SortKey(expr, self.chance(3), self.pick([None, "FIRST", "LAST"]))

    # --- SELECT ---------------------------------------------------------------------------------------------

    def _select(self, outer: Scopes, want: Sequence[str] | None) -> tuple[Select, Scope, Scope]:
        if self.chance(25):
            site = Site((), outer, outer_atoms(outer))
            return self._finish(Select(()), site, (), want)
        source, scope = self._source(outer)
        views = []
        if self.chance(10):
            view, column = self._lateral_view(scope, outer)
            views.append(view)
            scope = (*scope, column)
        site = Site(tuple(references((scope, *outer), level=0)), (scope, *outer), outer_atoms((scope, *outer)))
        where = self.predicate(site, 2) if self.chance(2) or outer else None
        select = Select((), source, tuple(views), where)
        if self.chance(3) and scope:
            return self._grouped(select, site, scope, want)
        return self._finish(select, site, scope, want)

    def _finish(
        self, select: Select, site: Site, scope: Scope, want: Sequence[str] | None, *, grouped: bool = False
    ) -> tuple[Select, Scope, Scope]:
        """The select list, windows and DISTINCT."""
        if want is None and not grouped and scope and self.chance(5):
            qualifiers = {column.qualifier for column in scope if column.qualifier}
            hidden = any(column.hidden for column in scope)
            star = Star(self.pick([None, *sorted(qualifiers)]) if qualifiers and not hidden else None)
            columns = [c for c in scope if not c.hidden and star.qualifier in (None, c.qualifier)]
            shown = tuple(Column(c.name, None, c.kind) for c in columns)
            return replace(select, items=(star,), distinct=self.chance(4)), shown, scope
        distinct = self.chance(5)
        if distinct:
            site = replace(site, outer=())  # Spark allows no outer column beneath a DISTINCT
        windowed = bool(scope) and self.chance(6)
        qualify = None
        # Spark takes QUALIFY's names from the select list first, and fails where they are grouped, merged or ambiguous.
        if windowed and not grouped and not any(column.hidden for column in scope) and self.chance(3):
            qualify = Op(self.pick(COMPARISONS), self._over("int", site), self.literal("int"))
        kinds = want or [self.pick(["int", "int", "str", "bool", "dbl"]) for _ in range(self.number(1, 3))]
        items: list[Any] = []
        columns: list[Column] = []
        for kind in kinds:
            if kind == "int" and items and columns[-1].kind == "int" and self.chance(6):
                previous = items[-1]
                if (previous.alias or "").startswith("k"):  # a name of its own, which no column can have
                    expr = Op("+", AliasRef(previous.alias, previous.expr), Lit(1))
                    items.append(Item(expr, self.fresh("k")))
                    columns.append(Column(items[-1].alias, None, kind))
                    continue
            over = windowed and kind in ("int", "dbl") and self.chance(2)
            expr: Expr = self._over(kind, site) if over else self.expr(kind, site, 2)
            if isinstance(expr, Over) and qualify is None and not grouped and self.chance(4):
                expr = replace(expr, name=self.fresh("o"))
            bare = isinstance(expr, Col) and self.chance(2)
            alias = self.fresh("k") if qualify else None if bare else self._alias(grouped)
            items.append(Item(expr, alias))
            columns.append(Column(alias or (expr.name if isinstance(expr, Col) else None), None, kind))
        if want is None and not grouped and not windowed and scope and self.chance(8):
            elements, kind = self._array(site)
            items.append(ExplodeItem(elements, self.fresh("k"), self.chance(2)))
            columns.append(Column(items[-1].alias, None, kind))
        select = replace(select, items=tuple(items), qualify=qualify, distinct=distinct)
        return select, tuple(columns), () if grouped else scope

    def _alias(self, grouped: bool) -> str:
        return self.pick(["a", "b", "c", "s"]) if not grouped and self.chance(4) else self.fresh("k")

    def _grouped(
        self, select: Select, site: Site, scope: Scope, want: Sequence[str] | None
    ) -> tuple[Select, Scope, Scope]:
        chosen = {position_of(scope, expr): (expr, kind) for expr, kind in self.some(site.atoms, 0, 2)}
        keys: list[Atom] = list(chosen.values())
        group = GroupBy(tuple(expr for expr, _ in keys))
        atoms: list[Atom] = list(keys)
        if keys and self.chance(4):
            group = self._grouping_sets([expr for expr, _ in keys])
            atoms += [(Grouping(expr), "int") for expr, _ in keys]
        elif keys and self.chance(4):
            key = (Func("coalesce", (keys[0][0], self.literal(keys[0][1]))), keys[0][1])
            keys[0] = atoms[0] = key
            group = GroupBy(tuple(expr for expr, _ in keys))
        atoms += [self._aggregate(site) for _ in range(self.number(1, 3))]
        usable = {position_of(scope, expr) for expr, _ in keys if isinstance(expr, Col) and not group.kind}
        masked = tuple(c if i in usable else replace(c, kind="") for i, c in enumerate(scope))
        # In the HAVING of a ROLLUP, CUBE or GROUPING SETS Spark resolves neither a subquery nor a new grouping().
        inner = Site(tuple(atoms), (masked, *site.scopes[1:]), site.outer, subqueries=not group.kind)
        filtered = replace(inner, atoms=tuple(atom for atom in atoms if not isinstance(atom[0], Grouping)))
        having = self.predicate(filtered, 1) if self.chance(3) else None
        # Spark allows neither outer columns nor correlated scalar subqueries in the select list of a grouped block.
        inner = replace(inner, scopes=(), outer=(), subqueries=True)
        select = replace(select, group=group if group.plain or group.kind else None, having=having)
        if want is None:
            want = [kind for _, kind in keys] + [kind for _, kind in self.some(atoms[len(keys) :], 1, 2)]
        select, columns, _ = self._finish(select, inner, scope, want, grouped=True)
        if select.group and not group.kind and self.chance(3):
            select = replace(select, group=replace(group, spelling=self._spelling(select.items, group.plain)))
        if select.group is None and having is None and not any(has_aggregate(item) for item in select.items):
            # Without GROUP BY only an aggregate makes the block a grouped one.
            select = replace(select, having=Op(">=", Agg("count"), Lit(0)))
        return select, columns, ()

    def _spelling(self, items: Sequence[Any], keys: tuple[Expr, ...]) -> str | None:
        """GROUP BY by position, by alias or ALL, where the select list allows it."""
        exprs = [item.expr for item in items]
        if any(key not in exprs for key in keys):
            return None
        aliases = [items[exprs.index(key)].alias for key in keys]
        spellings = [", ".join(str(exprs.index(key) + 1) for key in keys)]
        if all(aliases):
            spellings.append(", ".join(aliases))
        if all(expr in keys or isinstance(expr, Agg) for expr in exprs):
            spellings.append("ALL")
        return self.pick(spellings)  # type: ignore[no-any-return]

    def _grouping_sets(self, keys: list[Expr]) -> GroupBy:
        kind = self.pick(["ROLLUP", "CUBE", "GROUPING SETS"])
        if kind == "GROUPING SETS":
            sets = [tuple(key for key in keys if self.chance(2)) for _ in range(self.number(1, 3))]
            return GroupBy((), kind, (tuple(keys), *sets))
        plain = tuple(keys[:1]) if len(keys) > 1 and self.chance(3) else ()
        return GroupBy(plain, kind, tuple((key,) for key in keys[len(plain) :]))

    def _aggregate(self, site: Site, kind: str | None = None) -> Atom:
        kind = kind or self.pick(["int", "int", "str", "dbl", "bool"])
        names = {"int": ["count", "sum", "min", "max"], "str": ["min", "max"], "dbl": ["avg"]}
        name = self.pick(names.get(kind, ["bool_or", "bool_and", "min", "max"]))
        where = self.predicate(replace(site, subqueries=False, outer=()), 1) if self.chance(6) else None
        if name == "count" and self.chance(2):
            return Agg("count", where=where), "int"
        takes = {"count": self.pick(["int", "str", "bool"]), "avg": "int"}.get(name, kind)
        plain = replace(site, outer=(), subqueries=site.subqueries and self.chance(6))
        args: tuple[Expr, ...] = (self.expr(takes, plain, 1),)
        distinct = name in ("count", "sum", "min", "avg") and self.chance(4)
        if name == "count" and distinct and self.chance(3):
            args = (*args, self.expr("str", replace(plain, subqueries=False), 0))
        return Agg(name, args, distinct, where), kind

    def _over(self, kind: str, site: Site) -> Over:
        site = replace(site, subqueries=False, outer=())
        partition = tuple(expr for expr, _ in self.some(site.atoms, 0, 1) if not isinstance(expr, Lit))
        everything = tuple(self._sort_key(expr) for expr, _ in site.atoms)
        some = tuple(self._sort_key(expr) for expr, _ in self.some(site.atoms, 1, 2))
        name = self.pick(
            {"int": ["sum", "count", "min", "max", "rank", "dense_rank", "row_number", "ntile", "lag", "lead"]}.get(
                kind, ["avg", "percent_rank", "cume_dist"]
            )
        )
        if name in ("sum", "count", "min", "max", "avg"):
            where = self.predicate(site, 1) if self.chance(8) else None
            function = Agg(name, (self.expr("int", site, 1),), False, where)
            shape = self.pick(["partition", "default", "rows", "range"])
            if shape == "partition":
                return Over(function, partition)
            if shape == "default":
                return Over(function, partition, some)
            if shape == "rows" or not site.of("int"):
                return Over(function, partition, everything, Frame("ROWS", *self._bounds()))
            key = self._sort_key(self.pick(site.of("int")))
            return Over(function, partition, (key,), Frame("RANGE", *self._bounds()))
        if name in ("lag", "lead"):
            args = (self.expr("int", site, 0), Lit(self.number(1, 2)), *([Lit(0)] if self.chance(2) else []))
            return Over(Func(name, args), partition, everything)
        if name == "ntile":
            return Over(Func(name, (Lit(self.number(1, 3)),)), partition, everything)
        return Over(Func(name, ()), partition, everything if name == "row_number" else some)

    def _bounds(self) -> tuple[int | None, int | None]:
        start = self.pick([None, -1, 0, -2, 1])
        end = self.pick([b for b in (None, 0, 1, 2, -1) if start is None or b is None or b >= start])
        return start, end

    # --- FROM -----------------------------------------------------------------------------------------------

    def _source(self, outer: Scopes) -> tuple[Rel, Scope]:
        taken: set[str] = set()
        rel, scope = self._primary(outer, taken)
        for _ in range(self.pick([0, 0, 1, 1, 2])):
            rel, scope = self._join(rel, scope, outer, taken)
        return rel, scope

    def _qualifier(self, taken: set[str], meaning: str = "") -> str:
        name: str = self.pick([n for n in ("x", "y", "z", "v", "q") if n not in taken])
        return self._take(name, taken, meaning)

    def _take(self, name: str, taken: set[str], meaning: str) -> str:
        taken.add(name)
        self._meanings.setdefault(name, set()).add(meaning)
        return name

    def _primary(self, outer: Scopes, taken: set[str]) -> tuple[Rel, Scope]:
        if self._fuel > 0 and self.chance(5):
            query, columns = self.query((), None)
            return self._derived(query, columns, taken)
        if self.chance(15):
            return self._values(taken)
        known: dict[str, Scope | None] = dict.fromkeys(SCHEMAS)
        known.update(self._ctes)
        name = self.pick([cte for cte, _ in self._ctes]) if self._ctes and self.chance(2) else self.pick(list(known))
        scope, meaning = known[name], ""
        if scope is None:
            meaning = name
            scope = tuple(Column(c, name, kind) for c, kind in zip(*SCHEMAS[name], strict=True))
        aliased = name in taken or self.chance(2)
        qualifier = self._qualifier(taken, meaning) if aliased else self._take(name, taken, meaning)
        return Table(name, qualifier if aliased else None), tuple(replace(c, qualifier=qualifier) for c in scope)

    def _derived(
        self, query: Query, columns: Scope, taken: set[str], *, lateral: bool = False
    ) -> tuple[Derived, Scope]:
        alias = self._qualifier(taken)
        names = tuple(self.fresh("n") for _ in columns) if self.chance(4) else ()
        renamed = tuple(
            Column(names[i] if names else column.name, alias, column.kind) for i, column in enumerate(columns)
        )
        return Derived(query, alias, names, lateral), renamed

    def _values(self, taken: set[str]) -> tuple[Values, Scope]:
        kinds = tuple(self.some(["int", "str"], 1, 2))
        rows = tuple(tuple(self.pick(VALUES[kind]) for kind in kinds) for _ in range(self.number(1, 3)))
        alias = self._qualifier(taken)
        names = tuple(self.fresh("v") for _ in kinds)
        return Values(rows, kinds, alias, names), tuple(
            Column(name, alias, kind) for name, kind in zip(names, kinds, strict=True)
        )

    def _lateral_view(self, scope: Scope, outer: Scopes) -> tuple[LateralView, Column]:
        items, kind = self._array(Site(tuple(references((scope, *outer), level=0)), (scope, *outer)))
        alias, name = self.fresh("e"), self.fresh("p")
        return LateralView(items, alias, name, self.chance(3)), Column(name, alias, kind)

    def _array(self, site: Site) -> tuple[tuple[Expr, ...], str]:
        kind = self.pick(["int", "str"])
        return tuple(self.expr(kind, replace(site, subqueries=False), 0) for _ in range(self.number(1, 2))), kind

    def _join(self, left: Rel, scope: Scope, outer: Scopes, taken: set[str]) -> tuple[Rel, Scope]:
        style = self.pick(["ON", "ON", "ON", "ON", "CROSS", "COMMA", "USING", "NATURAL", "SEMI", "LATERAL", "EXPLODE"])
        if style == "LATERAL" and self._fuel > 0:
            query, columns = self.query((scope, *outer), None)
            derived, added = self._derived(query, columns, taken, lateral=True)
            return self._lateral_join(left, derived, scope, added)
        if style == "EXPLODE":
            items, kind = self._array(Site(tuple(references((scope,))), (scope,)))
            alias, name = self._qualifier(taken), self.fresh("p")
            return Join(self.pick(["COMMA", "CROSS"]), left, Explode(items, alias, name)), (
                *scope,
                Column(name, alias, kind),
            )
        right, added = self._primary(outer, taken)
        if self.chance(10):
            nested, more = self._primary(outer, taken)
            on = self._on(added, more)
            right, added = Join(self.pick(["INNER", "LEFT"]), right, nested, on), (*added, *more)
        both = (*scope, *added)
        if style in ("USING", "NATURAL"):
            common = common_names(scope, added)
            # NATURAL takes every name both sides show; one that a side shows twice would be ambiguous.
            if common is not None and (common or style == "NATURAL"):
                kind = self.pick(["INNER", "LEFT", "RIGHT", "FULL"])
                using = common if style == "NATURAL" else tuple(dict.fromkeys(self.some(common, 1, 2)))
                joined = Join(kind, left, right, None, () if style == "NATURAL" else using, style == "NATURAL")
                return joined, merged_scope(using, both)
        if style in ("CROSS", "COMMA"):
            return Join(style, left, right), both
        if style == "SEMI":
            on = self._on(scope, added, subqueries=self.chance(4))
            return Join(self.pick(["SEMI", "ANTI"]), left, right, on), scope
        kind = self.pick(["INNER", "LEFT", "RIGHT", "FULL"])
        return Join(kind, left, right, self._on(scope, added, subqueries=self.chance(8))), both

    def _lateral_join(self, left: Rel, right: Derived, scope: Scope, added: Scope) -> tuple[Rel, Scope]:
        kind = self.pick(["COMMA", "CROSS", "INNER", "LEFT"])
        on = self._on(scope, added) if kind in ("INNER", "LEFT") and self.chance(2) else None
        if kind == "LEFT" and on is None:
            on = Lit(True, "bool")
        return Join(kind, left, right, on), (*scope, *added)

    def _on(self, left: Scope, right: Scope, *, subqueries: bool = False) -> Expr:
        """Mostly an equality between the sides, which is what joins are made of."""
        both = (*left, *right)
        mine = [(e, k) for e, k in references((both,)) if position_of(both, e) < len(left)]
        theirs = [(e, k) for e, k in references((both,)) if (e, k) not in mine]
        pairs = [(a, b) for a, k in mine for b, j in theirs if k == j]
        # No outer scope, so that a subquery in ON is never correlated.
        site = Site(tuple(references((both,))), (), (), subqueries)
        on: Expr = self.predicate(site, 1) if not pairs or self.chance(5) else self._comparison(*self.pick(pairs))
        if self.chance(4) or subqueries:
            on = Op("AND", on, self.predicate(site, 1))
        return on

    def _comparison(self, left: Expr, right: Expr) -> Expr:
        return Op("=" if not self.chance(3) else self.pick(COMPARISONS), left, right)

    # --- expressions ----------------------------------------------------------------------------------------

    def literal(self, kind: str) -> Expr:
        if kind == "dbl":
            return Func("double", (Lit(self.pick([1, 2])),))
        values = [value for value in VALUES[kind] if value is not None]
        return Lit(None if self.chance(12) else self.pick(values), kind)

    def expr(self, kind: str, site: Site, depth: int) -> Expr:
        atoms = site.of(kind)
        if atoms and (depth == 0 or not self.chance(3)):
            return self.pick(atoms)  # type: ignore[no-any-return]
        if depth == 0:
            return self.literal(kind)
        if site.subqueries and self._fuel > 0 and self.chance(3):
            return self.scalar(kind, site)
        if kind == "bool":
            return self.predicate(site, depth - 1)
        below: Callable[[], Expr] = lambda: self.expr(kind, site, depth - 1)  # noqa: E731
        shapes: list[Callable[[], Expr]] = [
            lambda: self.literal(kind),
            lambda: Func("coalesce", (below(), below())),
            lambda: Func("nullif", (below(), below())),
            lambda: Case(((self.predicate(site, depth - 1), below()),), below() if self.chance(2) else None),
        ]
        outer = [e for e, k in site.outer if k == kind]
        if outer and site.subqueries:
            shapes.append(lambda: self.pick(outer))
        if kind == "int":
            shapes += [
                lambda: Op(self.pick(["+", "-", "*"]), below(), below()),
                lambda: Op("%", below(), Lit(self.pick([2, 3]))),
                lambda: Func(self.pick(["abs", "negative"]), (below(),)),
                lambda: Func("length", (self.expr("str", site, depth - 1),)),
            ]
        if kind == "str":
            shapes += [lambda: Op("||", below(), below()), lambda: Func("upper", (below(),))]
        return self.pick(shapes)()  # type: ignore[no-any-return]

    def scalar(self, kind: str, site: Site) -> Scalar:
        """A scalar subquery: an aggregate over no GROUP BY, or one row cut out by LIMIT 1."""
        if self.chance(5):
            query, columns = self.query(site.scopes, [kind])
            order = tuple(self._sort_key(Lit(i + 1)) for i in range(len(columns)))
            if len(columns) == 1:
                return Scalar(replace(query, order=order, limit=1, offset=None))
        self.spend()
        source, scope = self._source(site.scopes)
        here = self._correlated_site(scope, site)
        where = self._correlation(here) if self.chance(2) else self.predicate(here, 1) if self.chance(2) else None
        aggregate, _ = self._aggregate(replace(here, subqueries=False), kind)
        return Scalar(Query(Select((Item(aggregate),), source, (), where)))

    def _correlated_site(self, scope: Scope, site: Site) -> Site:
        scopes = (scope, *site.scopes)
        return Site(tuple(references(scopes, level=0)), scopes, outer_atoms(scopes))

    def _correlation(self, site: Site) -> Expr:
        """Inner column = outer column, most of the time; sometimes they are compared once more, in another way."""
        pairs = [(a, b) for a, k in site.atoms for b, j in site.outer if k == j]
        if pairs and self.chance(3):
            return Op("AND", Op("=", *self.pick(pairs)), self._comparison(*self.pick(pairs)))
        found = self._comparison(*self.pick(pairs)) if pairs else self.predicate(site, 1)
        return Op("AND", found, self.predicate(site, 1)) if self.chance(4) else found

    def subquery(self, want: Sequence[str] | None, site: Site) -> Query:
        """A subquery of EXISTS or IN: any query, or more often a simple correlated one."""
        if self.chance(3):
            query, columns = self.query(site.scopes, want)
            if want is None or len(columns) == len(want):
                return query
        self.spend()
        source, scope = self._source(site.scopes)
        here = self._correlated_site(scope, site)
        where = self._correlation(here) if self.chance(2) else self.predicate(here, 1) if self.chance(2) else None
        kinds = want or ["int"]
        return Query(Select(tuple(Item(self.expr(k, replace(here, outer=()), 1)) for k in kinds), source, (), where))

    def predicate(self, site: Site, depth: int) -> Expr:
        if site.subqueries and self._fuel > 0 and depth > 0 and self.chance(2):
            return self._subquery_predicate(site)
        pairs = [(a, b) for a, k in site.atoms for b, j in site.outer if k == j]
        if pairs and self.chance(3):
            return self._comparison(*self.pick(pairs))
        kind = self.pick(["int", "int", "str", "bool", "dbl"])
        if not site.of(kind):
            kind = next((k for _, k in site.atoms), "int")
        plain = replace(site, subqueries=site.subqueries and self.chance(8))
        low = max(depth - 1, 0)
        one: Callable[[], Expr] = lambda: self.expr(kind, plain, low)  # noqa: E731
        shapes: list[Callable[[], Expr]] = [
            lambda: Op(self.pick(COMPARISONS), one(), self.literal(kind)),
            lambda: Op(self.pick(COMPARISONS), one(), one()),
            lambda: IsNull(one(), self.chance(2)),
            lambda: InList(one(), (self.literal(kind), one()), self.chance(3)),
        ]
        if kind != "bool":
            shapes.append(lambda: Between(one(), self.literal(kind), one()))
        if kind == "str":
            shapes.append(lambda: Op("LIKE", one(), Lit(self.pick(["x%", "%", "_", "%y"]), "str")))
        if kind == "bool" and site.of("bool"):
            shapes.append(lambda: self.pick(site.of("bool")))
        if depth > 0:
            shapes += [
                lambda: Op("AND", self.predicate(site, depth - 1), self.predicate(site, depth - 1)),
                lambda: Op("OR", self.predicate(site, depth - 1), self.predicate(site, depth - 1)),
                lambda: Not(self.predicate(site, depth - 1)),
            ]
        return self.pick(shapes)()  # type: ignore[no-any-return]

    def _subquery_predicate(self, site: Site) -> Expr:
        shape = self.pick(["EXISTS", "IN", "scalar", "pair"])
        plain = replace(site, subqueries=False, outer=())
        kind = self.pick(["int", "int", "str"])
        if shape == "EXISTS":
            return Exists(self.subquery(None, site), self.chance(2))
        if shape == "scalar":
            return Op(self.pick(COMPARISONS), self.expr(kind, plain, 1), self.scalar(kind, site))
        if shape == "pair" and self.chance(3):
            operands = (self.expr(kind, plain, 0), self.expr("int", plain, 0))
            return InQuery(operands, self.subquery([kind, "int"], site), self.chance(2))
        return InQuery((self.expr(kind, plain, 1),), self.subquery([kind], site), self.chance(2))

    # --- LINEAGE ON -----------------------------------------------------------------------------------------

    def lineage_on(self) -> tuple[LineageOn, ...]:
        """Expressions over base tables, by a name that means one base table throughout the statement."""
        certain = sorted((q, *m) for q, m in self._meanings.items() if len(m) == 1 and m != {""})
        chosen = dict.fromkeys(self.some(certain, 0, 2)) if certain else {}
        found = []
        for qualifier, table in chosen:
            column = self.pick(SCHEMAS[table][0])
            expr: Expr = Col(column, qualifier)
            if self.chance(3) and column != "f" and column != "s":
                expr = Op("%", expr, Lit(2))
            found.append(LineageOn(table, qualifier, expr))
        return tuple(found)


def references(scopes: Scopes, level: int | None = None) -> list[tuple[Col, str]]:
    """Every way to name a column of the scopes (or of one level) such that exactly it is meant."""
    found = []
    for at, scope in enumerate(scopes):
        if level is not None and at != level:
            continue
        for position, column in enumerate(scope):
            for qualifier in dict.fromkeys((None, column.qualifier)):
                # An outer column is always qualified: an alias of the same select list would capture a bare name.
                if (
                    column.name
                    and column.kind
                    and (qualifier or at == 0)
                    and _means(scopes, column, qualifier, at, position)
                ):
                    found.append((Col(column.name, qualifier), column.kind))
    return found


def _means(scopes: Scopes, column: Column, qualifier: str | None, level: int, position: int) -> bool:
    try:
        return resolve(scopes, column.name or "", qualifier) == (level, position)
    except AmbiguousError:
        return False


def position_of(scope: Scope, expr: Expr) -> int:
    """Where a column stands in its scope; -1 for any other expression."""
    found = resolve([scope], expr.name, expr.qualifier) if isinstance(expr, Col) else None
    return found[1] if found else -1


def outer_atoms(scopes: Scopes) -> tuple[Atom, ...]:
    """Columns of the next outer query; Spark does not see further than one level."""
    return tuple(references(scopes, 1)) if len(scopes) > 1 else ()


def common_names(left: Scope, right: Scope) -> tuple[str, ...] | None:
    """Names both sides show; None if one of them is not unique on a side or differs in type."""
    names = {c.name for c in right if not c.hidden and c.name}
    common = tuple(dict.fromkeys(c.name for c in left if not c.hidden and c.name in names and c.name))
    for name in common:
        sides = [[c.kind for c in side if c.name == name and not c.hidden] for side in (left, right)]
        if any(len(kinds) != 1 for kinds in sides) or sides[0] != sides[1]:
            return None
    return common


def merged_scope(common: Sequence[str], both: Scope) -> Scope:
    """The scope after USING: the common columns first and unqualified, the two of each hidden."""
    kinds = {c.name: c.kind for c in both if not c.hidden}
    hidden = tuple(c.hide() if c.name in common and not c.hidden else c for c in both)
    return (*(Column(name, None, kinds[name]) for name in common), *hidden) if common else both
