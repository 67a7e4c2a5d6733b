"""Random queries of the kinds in which sketches are hard: groups, top-k, subqueries, outer joins, set operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.oracle.algebra import (
    Agg,
    Between,
    Case,
    Col,
    Derived,
    Exists,
    Expr,
    Func,
    GroupBy,
    InList,
    InQuery,
    IsNull,
    Item,
    Join,
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
    Table,
)
from tests.oracle.interpreter import descendants

SCHEMAS = {"r": ("rid", "a", "b"), "t": ("tid", "a", "c"), "u": ("uid", "b", "c")}
COMPARISONS = ("<", "<=", ">", ">=", "=", "<>")


@dataclass(frozen=True)
class Source:
    """What stands in FROM, and its columns by the name under which they are mentioned."""

    rel: Rel
    columns: tuple[Col, ...]


class Writer:
    """Writes one query; all choices come from one generator of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._names = 0

    def query(self) -> Query:
        kinds = (
            self.plain, self.grouped, self.top, self.nested, self.nested, self.asking, self.asking, self.asking_scalar,
            self.asking_scalar, self.padded, self.united, self.windowed, self.asking_groups, self.total,
        )  # fmt: skip
        return self.random.choice(kinds)()

    # --- choices --------------------------------------------------------------------------------------------

    def pick(self, options: Sequence):  # type: ignore[no-untyped-def, type-arg]
        return self.random.choice(options)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def table(self, name: str | None = None) -> Source:
        name = name or self.pick("rrtu")
        alias = self.fresh(name)
        return Source(Table(name, alias), tuple(Col(column, alias) for column in SCHEMAS[name]))

    def source(self, most: int = 2) -> tuple[Source, list[Expr]]:
        """One or two tables, joined by an equality of columns most of the time."""
        found, conditions = self.table(), []
        for _ in range(self.random.randrange(most)):
            other = self.table()
            on = self.equal(found.columns, other.columns)
            if self.chance(0.3):
                found = Source(Join("CROSS", found.rel, other.rel), found.columns + other.columns)
                conditions.append(on)
            else:
                found = Source(Join("INNER", found.rel, other.rel, on), found.columns + other.columns)
        return found, conditions

    def equal(self, left: Sequence[Col], right: Sequence[Col]) -> Expr:
        common = [(a, b) for a in left for b in right if a.name == b.name]
        a, b = self.pick(common) if common and self.chance(0.8) else (self.pick(left), self.pick(right))
        return Op("=", a, b)

    def literal(self) -> Lit:
        return Lit(self.pick([0, 1, 1, 2, 2, 3, 4]))

    def condition(self, columns: Sequence[Expr]) -> Expr:
        column = self.pick(columns)
        match self.random.randrange(9):
            case 0:
                return IsNull(column, self.chance(0.6))
            case 1:
                return Between(column, Lit(self.pick([0, 1])), Lit(self.pick([1, 2, 3])))
            case 2:
                return InList(column, (self.literal(), self.literal()), self.chance(0.3))
            case 3:
                return Op(self.pick(["OR", "AND"]), self.compared(columns), self.compared(columns))
            case 4:
                return Not(self.compared(columns))
        return self.compared(columns)

    def compared(self, columns: Sequence[Expr]) -> Expr:
        right = self.pick(columns) if self.chance(0.2) else self.literal()
        return Op(self.pick(COMPARISONS), self.pick(columns), right)

    def where(self, columns: Sequence[Expr], more: Sequence[Expr], share: float = 0.5) -> Expr | None:
        conditions = [*more, *([self.condition(columns)] if self.chance(share) else [])]
        return conjunction(conditions)

    def aggregate(self, columns: Sequence[Expr]) -> Expr:
        name = self.pick(["count", "count", "sum", "sum", "max", "min", "avg"])
        if name == "count" and self.chance(0.5):
            return Agg("count")
        argument = self.pick(columns)
        if name in ("sum", "max", "min") and self.chance(0.2):
            argument = Op(self.pick("+-*"), argument, self.pick([self.literal(), self.pick(columns)]))
        distinct = name in ("count", "sum") and self.chance(0.2)
        where = self.compared(columns) if self.chance(0.1) else None
        return Agg(name, (argument,), distinct, where)

    # --- kinds of queries -----------------------------------------------------------------------------------

    def plain(self) -> Query:
        source, more = self.source(3)
        items = self.items(source.columns)
        select = Select(items, source.rel, where=self.where(source.columns, more), distinct=self.chance(0.3))
        return self.maybe_top(select, items)

    def items(self, columns: Sequence[Expr]) -> tuple[Item, ...]:
        return tuple(Item(each, self.fresh("k")) for each in self.some(columns, 3))

    def some(self, options: Sequence[Expr], most: int) -> list[Expr]:
        return self.random.sample(list(options), self.random.randrange(1, min(most, len(options)) + 1))

    def maybe_top(self, select: Select, items: Sequence[Item], share: float = 0.3) -> Query:
        if not self.chance(share):
            return Query(select)
        keys = [SortKey(Lit(i + 1), self.chance(0.5)) for i in range(len(items))]
        self.random.shuffle(keys)
        offset = 1 if self.chance(0.15) else None
        return Query(select, order=tuple(keys), limit=self.pick([1, 1, 2, 3]), offset=offset)

    def block_of_groups(self, source: Source, more: Sequence[Expr], having: float) -> tuple[Select, tuple[Item, ...]]:
        keys = self.some(source.columns, 2)
        values = [self.aggregate(source.columns) for _ in range(self.random.randrange(1, 3))]
        shown = keys if self.chance(0.8) else keys[:1]
        items = tuple(Item(each, self.fresh("k")) for each in [*shown, *values])
        passing = None
        if self.chance(having):
            value = self.pick(values) if self.chance(0.7) else self.aggregate(source.columns)
            passing = Op(self.pick(COMPARISONS), value, self.literal())
            if self.chance(0.2):
                passing = Op(self.pick(["AND", "OR"]), passing, self.compared(keys))
        where = self.where(source.columns, more, 0.4)
        return Select(items, source.rel, where=where, group=GroupBy(tuple(keys)), having=passing), items

    def grouped(self) -> Query:
        source, more = self.source()
        select, items = self.block_of_groups(source, more, 0.8)
        return self.maybe_top(select, items, 0.2)

    def top(self) -> Query:
        """Groups ordered by a value first, then by all that is shown."""
        source, more = self.source()
        select, items = self.block_of_groups(source, more, 0.2)
        value = SortKey(Lit(len(items)), self.chance(0.7))
        rest = [SortKey(Lit(i + 1), self.chance(0.3)) for i in range(len(items) - 1)]
        return Query(select, order=(value, *rest), limit=self.pick([1, 1, 2, 3]))

    def derived(self, *, having: float = 0.3) -> Source:
        source, more = self.source()
        if self.chance(0.75):
            select, items = self.block_of_groups(source, more, having)
            query = self.maybe_top(select, items, 0.1)
        else:
            items = self.items(source.columns)
            query = self.maybe_top(
                Select(items, source.rel, where=self.where(source.columns, more), distinct=self.chance(0.5)), items, 0.2
            )
        alias = self.fresh("d")
        return Source(Derived(query, alias), tuple(Col(item.alias or "", alias) for item in items))

    def nested(self) -> Query:
        inner = self.derived()
        more: list[Expr] = []
        source = inner
        if self.chance(0.4):
            other = self.table()
            source = Source(Join("INNER", inner.rel, other.rel, self.equal(inner.columns, other.columns)), ())
            source = Source(source.rel, inner.columns + other.columns)
        if self.chance(0.5):
            select, items = self.block_of_groups(source, more, 0.5)
        elif self.chance(0.3):
            items = tuple(Item(self.aggregate(source.columns), self.fresh("k")) for _ in range(2))
            select = Select(items, source.rel, where=self.where(source.columns, more))
        else:
            items = self.items(source.columns)
            select = Select(items, source.rel, where=self.where(source.columns, more, 0.7), distinct=self.chance(0.2))
        return self.maybe_top(select, items, 0.2)

    def subquery(self, outer: Sequence[Col], *, one: bool = False, columns: int = 1) -> Query:
        source, more = self.source()
        if self.chance(0.7):
            on = self.equal(source.columns, outer)
            more = [*more, on]
            if self.chance(0.2):
                more.append(Op(self.pick(COMPARISONS), self.pick(source.columns), self.pick(outer)))
        where = self.where(source.columns, more, 0.4)
        if one:
            return Query(Select((Item(self.aggregate(source.columns), self.fresh("k")),), source.rel, where=where))
        if self.chance(0.25) and not any(self._is_outer(each, outer) for each in more):
            keys = self.some(source.columns, 1)
            passing = Op(self.pick(COMPARISONS), self.aggregate(source.columns), self.literal())
            items = tuple(Item(each, self.fresh("k")) for each in keys[:columns])
            return Query(Select(items, source.rel, where=where, group=GroupBy(tuple(keys)), having=passing))
        return Query(Select((Item(self.pick(source.columns), self.fresh("k")),), source.rel, where=where))

    def _is_outer(self, condition: Expr, outer: Sequence[Col]) -> bool:
        return any(node in outer for node in descendants(condition))

    def predicate(self, columns: Sequence[Col]) -> Expr:
        match self.random.randrange(5):
            case 0 | 1:
                found: Expr = Exists(self.subquery(columns), self.chance(0.5))
            case 2:
                found = InQuery((self.pick(columns),), self.subquery(columns), False)
            case 3:
                found = InQuery((self.pick(columns),), self.subquery(columns), True)
            case _:
                found = self.scalar_predicate(columns)
        if self.chance(0.1):
            found = Op("OR", found, self.compared(columns)) if not isinstance(found, InQuery) else found
        return found

    def scalar_predicate(self, columns: Sequence[Col]) -> Expr:
        return Op(self.pick(COMPARISONS), self.pick(columns), Scalar(self.subquery(columns, one=True)))

    def asking(self) -> Query:
        source, more = self.source()
        conditions = [*more, self.predicate(source.columns)]
        if self.chance(0.25):
            conditions.append(self.predicate(source.columns))
        where = self.where(source.columns, conditions, 0.4)
        if self.chance(0.35):
            select, items = self.block_of_groups(source, [where] if where else [], 0.2)
        else:
            items = self.items(source.columns)
            select = Select(items, source.rel, where=where, distinct=self.chance(0.2))
        return self.maybe_top(select, items, 0.2)

    def asking_scalar(self) -> Query:
        source, more = self.source()
        if self.chance(0.3):
            items = (
                *self.items(source.columns),
                Item(Scalar(self.subquery(source.columns, one=True)), self.fresh("k")),
            )
            return self.maybe_top(Select(items, source.rel, where=self.where(source.columns, more)), items, 0.3)
        where = self.where(source.columns, [*more, self.scalar_predicate(source.columns)], 0.4)
        items = self.items(source.columns) if self.chance(0.6) else (Item(self.aggregate(source.columns), "k"),)
        return Query(Select(items, source.rel, where=where))

    def asking_groups(self) -> Query:
        """HAVING with a subquery."""
        source, more = self.source()
        select, items = self.block_of_groups(source, more, 0.0)
        value = self.aggregate(source.columns)
        one = Scalar(Query(Select((Item(self.aggregate((inner := self.table()).columns), "k"),), inner.rel)))
        passing = Op(self.pick(COMPARISONS), value, one)
        return Query(Select(items, select.source, where=select.where, group=select.group, having=passing))

    def padded(self) -> Query:
        left = self.table() if self.chance(0.7) else self.derived()
        right = self.table() if self.chance(0.6) else self.derived()
        kind = self.pick(["LEFT", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "ANTI"])
        on = self.equal(left.columns, right.columns)
        if self.chance(0.3):
            on = Op("AND", on, self.compared(left.columns + right.columns))
        columns = left.columns if kind in ("SEMI", "ANTI") else left.columns + right.columns
        source = Source(Join(kind, left.rel, right.rel, on), columns)
        if self.chance(0.5):
            select, items = self.block_of_groups(source, [], 0.4)
        else:
            items = self.items(source.columns)
            select = Select(items, source.rel, where=self.where(source.columns, []), distinct=self.chance(0.2))
        return self.maybe_top(select, items, 0.2)

    def united(self) -> Query:
        op, every = self.pick(["UNION", "INTERSECT", "EXCEPT", "EXCEPT"]), self.chance(0.4)
        sides = []
        for _ in range(2):
            source, more = self.source()
            if self.chance(0.3):
                select, items = self.block_of_groups(source, more, 0.3)
                items = (items[0], items[-1])
                select = Select(items, select.source, where=select.where, group=select.group, having=select.having)
            else:
                columns = [self.pick(source.columns), self.pick(source.columns)]
                items = tuple(Item(each, self.fresh("k")) for each in columns)
                select = Select(items, source.rel, where=self.where(source.columns, more))
            sides.append(select)
        body = SetOp(op, sides[0], sides[1], all=every)
        if self.chance(0.5):
            return Query(body)
        alias, (first, second) = self.fresh("d"), (sides[0].items[0].alias, sides[0].items[1].alias)
        source = Source(Derived(Query(body), alias), (Col(first or "", alias), Col(second or "", alias)))
        if self.chance(0.5):
            select, items = self.block_of_groups(source, [], 0.5)
            return self.maybe_top(select, items, 0.2)
        return Query(Select(self.items(source.columns), source.rel, where=self.where(source.columns, [], 1.0)))

    def windowed(self) -> Query:
        source, more = self.source()
        partition = tuple(self.some(source.columns, 1)) if self.chance(0.8) else ()
        order = tuple(SortKey(each, self.chance(0.3)) for each in self.some(source.columns, 2))
        function: Agg | Func = self.pick([Agg("count"), Agg("max", (self.pick(source.columns),)), Func("rank", ())])
        over = Over(function, partition, order if isinstance(function, Func) or self.chance(0.3) else ())
        items = (*self.items(source.columns), Item(over, self.fresh("k")))
        select = Select(items, source.rel, where=self.where(source.columns, more, 0.4))
        if self.chance(0.4):
            return self.maybe_top(select, items, 0.3)
        alias = self.fresh("d")
        columns = tuple(Col(item.alias or "", alias) for item in items)
        passing = Op(self.pick(COMPARISONS), columns[-1], self.literal())
        shown = self.items(columns)
        return self.maybe_top(Select(shown, Derived(Query(select), alias), where=passing), shown, 0.2)

    def total(self) -> Query:
        source, more = self.source(3)
        value = self.aggregate(source.columns)
        items: tuple[Item, ...] = (Item(value, self.fresh("k")),)
        if self.chance(0.3):
            whens = ((self.compared(source.columns), self.pick(source.columns)),)
            items = (*items, Item(Agg("sum", (Case(whens, Lit(0)),)), self.fresh("k")))
        passing = Op(self.pick(COMPARISONS), value, self.literal()) if self.chance(0.3) else None
        where = self.where(source.columns, more)
        return Query(Select(items, source.rel, where=where, having=passing))


def conjunction(conditions: Sequence[Expr]) -> Expr | None:
    found = None
    for condition in conditions:
        found = condition if found is None else Op("AND", found, condition)
    return found
