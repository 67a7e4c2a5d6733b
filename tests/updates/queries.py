"""Queries for updates: small, most of them with a condition that few rows meet, and every clause that a proof looks at.

The oracle's own generator (`tests.oracle.strategies`) writes larger ones, in which nearly every edit touches a row.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from tests.oracle.algebra import (
    Agg,
    Col,
    Cte,
    Derived,
    Exists,
    Expr,
    Func,
    GroupBy,
    InQuery,
    Item,
    Join,
    Lit,
    Node,
    Op,
    Over,
    Query,
    Rel,
    Scalar,
    Select,
    SetOp,
    SortKey,
    Statement,
    Table,
)
from tests.oracle.strategies import SCHEMAS

_INTS = {
    name: [column for column, kind in zip(columns[1:], kinds[1:], strict=True) if kind == "int"]
    for name, (columns, kinds) in SCHEMAS.items()
}
_JOINS = ["INNER", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]

_POSITIVE = ["INNER", "INNER", "CROSS", "LEFT"]


def small_query(chance: random.Random) -> Statement:
    """Return a query over r, t and u of one block or two, some with names that WITH gives."""
    found = _small_query(chance)
    return _with_a_name(found, chance) if chance.random() < 1 / 6 else found


def _with_a_name(statement: Statement, chance: random.Random) -> Statement:
    """The same query with another name for a table, by WITH, in some places or all, and perhaps fewer rows."""
    name = chance.choice(sorted(SCHEMAS))
    where = _compared(chance, Col(chance.choice(_INTS[name]))) if chance.random() < 1 / 2 else None
    named = Select(tuple(Item(Col(each), each) for each in SCHEMAS[name][0]), Table(name), where=where)
    share = chance.choice([1 / 2, 1])

    def other(table: Table) -> Table:
        return Table("w", table.alias or name) if table.name == name and chance.random() < share else table

    query = _mapped(statement.query, other)
    return Statement(replace(query, ctes=(Cte("w", Query(named)),)))


def _mapped(node: Any, other: Callable[[Table], Table]) -> Any:
    """A node with other tables in it."""
    if isinstance(node, Table):
        return other(node)
    if isinstance(node, tuple):
        return tuple(_mapped(each, other) for each in node)
    if isinstance(node, Node):
        return replace(node, **{field.name: _mapped(getattr(node, field.name), other) for field in fields(node)})
    return node


def _small_query(chance: random.Random) -> Statement:
    select = _select(chance)
    if chance.random() < 1 / 4:
        other = _select(chance, two_integers=True)
        first = _select(chance, two_integers=True)
        op = chance.choice(["UNION", "UNION", "EXCEPT", "INTERSECT"])
        body = SetOp(op, first, other, all=op == "UNION" and chance.random() < 1 / 2)
        return Statement(Query(body))
    if chance.random() < 1 / 5:
        keys = tuple(SortKey(Lit(at + 1)) for at in range(len(select.items)))
        return Statement(Query(select, order=keys, limit=chance.choice([None, 1, 2])))
    return Statement(Query(select))


def query_in_parts(chance: random.Random) -> Statement:
    """Return a query of a class that a rule for parts of results knows, each class as often as the others."""
    shape = chance.choice(
        [
            *("rows", "union all", "distinct", "group", "having", "window", "limit", "UNION", "INTERSECT", "EXCEPT"),
            *("in FROM", "in FROM", "growing", "hidden", "hidden", "first", "first", "first"),
            *["sums"] * 12,
        ]
    )
    if shape == "limit":
        select = _select(chance, chance.choice(["rows", "distinct", "group", "having"]), joins=_joins(chance))
        return Statement(Query(select, order=_keys(chance, select), limit=chance.choice([1, 2, 3])))
    if shape == "union all":
        return Statement(Query(SetOp("UNION", _select(chance, "rows"), _select(chance, "rows"), all=True)))
    if shape.isupper():
        kinds = [chance.choice(["rows", "group"]) for _ in range(2)]
        left, right = (_select(chance, kind, two_integers=True, joins=_joins(chance)) for kind in kinds)
        return Statement(Query(SetOp(shape, left, right, all=shape == "UNION" and chance.random() < 1 / 3)))
    if shape == "in FROM":
        return _with_groups_in_from(chance)
    if shape == "growing":
        return Statement(Query(_select(chance, "group", two_integers=True, joins=["INNER", "CROSS"])))
    if shape == "sums":
        found = Statement(Query(_sums(chance)))
        return _with_a_name(found, chance) if chance.random() < 1 / 5 else found
    if shape == "hidden":
        return Statement(Query(_select(chance, chance.choice(["group", "having", "window"]), joins=_POSITIVE, hides=1)))
    if shape == "first":
        select = _select(chance, chance.choice(["rows", "rows", "group"]), two_integers=True, joins=["INNER"])
        return Statement(Query(select, order=_keys(chance, select), limit=chance.choice([2, 4, 6])))
    return Statement(Query(_select(chance, shape, joins=_joins(chance))))


def _keys(chance: random.Random, select: Select) -> tuple[SortKey, ...]:
    """All columns, in any order: by values of groups first, one that LIMIT kept out may be among the first later."""
    places = chance.sample(range(len(select.items)), len(select.items))
    return tuple(SortKey(Lit(at + 1), chance.random() < 1 / 2) for at in places)


def _sums(chance: random.Random) -> Select:
    """Sums, counts and averages of groups or of all rows; mostly of one table, so that rows may go, too."""
    name = chance.choice(sorted(SCHEMAS))
    source: Rel = Table(name, "x")
    if chance.random() < 1 / 6:
        source = _source(chance, name, ["INNER", "CROSS"])
    elif chance.random() < 1 / 3:
        columns = [SCHEMAS[name][0][0], *_INTS[name]]
        below = _source(chance, name, ["INNER"]) if chance.random() < 1 / 2 else source
        inner = Select(tuple(Item(Col(each, "x"), each) for each in columns), below)
        where = _sometimes(chance, 1 / 2, [Col(each, "x") for each in columns])
        source = Derived(Query(replace(inner, where=where)), "x")
    values = [Col(SCHEMAS[name][0][0], "x"), *(Col(each, "x") for each in _INTS[name])]
    by = chance.choice(values[1:])
    functions = ["sum", "count", "avg", "avg"] + (["min", "max"] if chance.random() < 1 / 6 else [])
    of = [chance.choice(values) for _ in range(chance.choice([1, 1, 2]))]
    items = [
        Item(Agg(chance.choice(functions), (chance.choice(of),), where=_sometimes(chance, 1 / 6, values)), f"n{number}")
        for number in range(chance.choice([1, 2, 3]))
    ]
    where = _sometimes(chance, 1 / 4, values)
    if chance.random() < 1 / 4:
        return Select(tuple(items), source, where=where)
    return Select((Item(by, "k1"), *items), source, where=where, group=GroupBy((by,)))


def _sometimes(chance: random.Random, share: float, values: Sequence[Expr]) -> Expr | None:
    return _compared(chance, chance.choice(values)) if chance.random() < share else None


def _with_groups_in_from(chance: random.Random) -> Statement:
    """Groups of groups, groups that are joined or filtered, by FROM or WITH; some read twice, as the largest of all."""
    inner = _select(
        chance, chance.choice(["group", "having", "distinct", "rows"]), two_integers=True, joins=_joins(chance)
    )
    if len(inner.items) == 1:
        inner = replace(inner, items=(inner.items[0], Item(Lit(1), "k2")))
    named = chance.random() < 1 / 2
    source: Rel = Table("w", "d") if named else Derived(Query(inner), "d")
    key, number = Col("k1", "d"), Col("k2", "d")
    if chance.random() < 1 / 3:
        other = chance.choice(sorted(SCHEMAS))
        on = Op("=", key, Col(chance.choice(_INTS[other]), "y"))
        source = Join(chance.choice(["INNER", "INNER", "LEFT", "SEMI", "ANTI"]), source, Table(other, "y"), on)
    where = _compared(chance, number) if chance.random() < 1 / 3 else None
    if named and chance.random() < 1 / 2:
        most = Select((Item(Agg(chance.choice(["max", "min"]), (Col("k2", "e"),)), "one"),), Table("w", "e"))
        where = Op(chance.choice(["=", ">=", "<="]), number, Scalar(Query(most)))
    if chance.random() < 1 / 2:
        items, group = (Item(number, "k1"), Item(Agg("count", (key,)), "k2")), GroupBy((number,))
        outer = Select(items, source, where=where, group=group)
    else:
        outer = Select((Item(key, "k1"), Item(number, "k2")), source, where=where)
    return Statement(Query(outer, ctes=(Cte("w", Query(inner)),) if named else ()))


def _joins(chance: random.Random) -> Sequence[str]:
    return chance.choice([_POSITIVE, _JOINS])


def _select(
    chance: random.Random,
    only: str = "",
    *,
    two_integers: bool = False,
    joins: Sequence[str] = _JOINS,
    hides: float = 1 / 3,
) -> Select:
    name = chance.choice(sorted(SCHEMAS))
    key, value = Col(SCHEMAS[name][0][0], "x"), Col(chance.choice(_INTS[name]), "x")
    source, where = _source(chance, name, joins), _condition(chance, name)
    if only and chance.random() < 1 / 2:
        where = None
    if isinstance(source, Join) and source.kind not in ("SEMI", "ANTI") and chance.random() < 1 / 4:
        assert isinstance(source.right, Table), "it is made so"
        value = Col(chance.choice(_INTS[source.right.name]), "y")
    items = (Item(key, "k1"), Item(value, "k2"))
    shape = (
        only or "rows"
        if only or two_integers
        else chance.choice(["rows", "rows", "distinct", "group", "having", "all", "window"])
    )
    hidden = bool(only) and not two_integers and chance.random() < hides  # the keys of its parts
    aggregate = Agg(chance.choice(["count", "sum", "min", "max"]), (chance.choice([key, value]),))
    number = (
        aggregate
        if chance.random() < 1 / 3
        else Agg("count", (key,), where=_compared(chance, value) if chance.random() < 1 / 4 else None)
    )
    match shape:
        case "distinct":
            return Select((Item(value, "k1"),), source, where=where, distinct=True)
        case "group" | "having":
            least = _largest(chance) if chance.random() < 1 / 4 else Lit(1)
            having = Op(chance.choice([">", "<="]), number, least) if shape == "having" else None
            if shape == "group" and chance.random() < 1 / 8:  # a key that does not tell all its groups apart
                value_of_key = Func("coalesce", (value, Lit(1)))
                return Select(
                    (Item(value_of_key, "k1"), Item(number, "k2")), source, where=where, group=GroupBy((value,))
                )
            selected = (Item(number, "k2"),) if hidden else (Item(value, "k1"), Item(number, "k2"))
            return Select(selected, source, where=where, group=GroupBy((value,)), having=having)
        case "all":
            return Select((Item(number, "k1"), Item(Agg("max", (value,)), "k2")), source, where=where)
        case "window":
            rank = Over(Func("rank", ()), (value,), (SortKey(key),))
            qualify = Op("=", rank, Lit(1)) if chance.random() < 1 / 3 else None
            shown = items[:1] if hidden else items
            return Select((*shown, Item(rank, "k3")), source, where=where, qualify=qualify)
    return Select(items, source, where=where)


def _source(chance: random.Random, name: str, joins: Sequence[str]) -> Rel:
    """A table called x, by itself, within a subquery, or joined with one called y."""
    left: Rel = Table(name, "x")
    if chance.random() < 1 / 6:
        columns = [SCHEMAS[name][0][0], *_INTS[name]]
        where = _compared(chance, Col(chance.choice(_INTS[name])))
        left = Derived(Query(Select(tuple(Item(Col(each), each) for each in columns), Table(name), where=where)), "x")
    if chance.random() < 1 / 2:
        return left
    other = chance.choice(sorted(SCHEMAS))
    kind = chance.choice(joins)
    on = Op("=", Col(chance.choice(_INTS[name]), "x"), Col(chance.choice(_INTS[other]), "y"))
    return Join(kind, left, Table(other, "y"), None if kind == "CROSS" else on)


def _condition(chance: random.Random, name: str) -> Expr | None:
    plain = _compared(chance, Col(chance.choice(_INTS[name]), "x"))
    if chance.random() < 1 / 4:
        return Op("AND", plain, _subquery(chance, name)) if chance.random() < 1 / 2 else _subquery(chance, name)
    return plain if chance.random() < 4 / 5 else None


def _subquery(chance: random.Random, name: str) -> Expr:
    other = chance.choice(sorted(SCHEMAS))
    outer, inner = Col(chance.choice(_INTS[name]), "x"), Col(chance.choice(_INTS[other]), "z")
    negated = chance.random() < 1 / 2
    table: Rel = Table(other, "z")
    if chance.random() < 1 / 4:
        beside = chance.choice(sorted(SCHEMAS))
        on = Op("=", Col(chance.choice(_INTS[other]), "z"), Col(chance.choice(_INTS[beside]), "v"))
        table = Join(chance.choice(["INNER", "LEFT", "ANTI"]), table, Table(beside, "v"), on)
        if table.kind == "LEFT" and chance.random() < 1 / 2:
            inner = Col(chance.choice(_INTS[beside]), "v")
    match chance.choice(["exists", "in", "scalar"]):
        case "exists":
            return Exists(Query(Select((Item(Lit(1), "one"),), table, where=Op("=", outer, inner))), negated)
        case "in":
            where = _compared(chance, inner) if chance.random() < 2 / 3 else None
            group, having = None, None
            if chance.random() < 1 / 3:
                group, having = GroupBy((inner,)), Op(">", Agg("count", (Col(SCHEMAS[other][0][0], "z"),)), Lit(1))
            select = Select((Item(inner, "one"),), table, where=where, group=group, having=having)
            return InQuery((outer,), Query(select), negated)
    return Op(">=", outer, Scalar(Query(Select((Item(Agg("max", (inner,)), "one"),), table))))


def _largest(chance: random.Random) -> Expr:
    """One value of a table that no row around it is asked for."""
    other = chance.choice(sorted(SCHEMAS))
    value = Agg(chance.choice(["max", "min", "count"]), (Col(chance.choice(_INTS[other]), "z"),))
    return Scalar(Query(Select((Item(value, "one"),), Table(other, "z"))))


def _compared(chance: random.Random, column: Expr) -> Expr:
    return Op(chance.choice(["=", "=", ">", "<"]), column, Lit(chance.choice([0, 1, 2, 3])))
