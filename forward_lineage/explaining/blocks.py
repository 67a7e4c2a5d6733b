"""One SELECT as a way that rows take: items of FROM, joins, conditions, groups, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from forward_lineage.explaining.grounding import INSTEAD, ROW_ID
from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import OF_JOIN, join_form, join_words
from forward_lineage.spark.names import in_backticks
from rewrites.refusals import position_of, refuse
from udafs.errors import Position

_FOLLOWED = {
    *("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "kind"),
    *("hint", "qualify", "windows"),
}
_CLAUSES = {
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}


@dataclass(frozen=True)
class Item:
    """Something in FROM.

    Attributes:
        alias: its name.
        relation: its rows as they stand behind FROM, alias and `ROW_ID` included.
        columns: its columns, in order.
        node: where it stands.
        join: the join that brings it; None of the first.

    """

    alias: str
    relation: str
    columns: tuple[str, ...]
    node: exp.Expr
    join: exp.Join | None = None

    @property
    def how(self) -> str:
        """INNER, LEFT, RIGHT, FULL, SEMI or ANTI."""
        if self.join is None:
            return "INNER"
        return join_form(self.join) or "INNER"


@dataclass(frozen=True)
class Step:
    """Something that rows get past, or not.

    Attributes:
        kind: ``WHERE``, ``JOIN``, ``LEFT JOIN``, …, ``asked``.
        text: the part of the query.
        at: where it stands.
        condition: SQL that is true for rows that get past.
        joins: what is joined there; () of a condition alone.
        on: the condition of the join.
        keeps: whether rows without a partner get past.
        values: what is told of rows that do not get past: SQL by its name.
        asks: whether it looks at other rows, so that it stands behind all joins.

    """

    kind: str
    text: str
    at: Position | None
    condition: str = "true"
    joins: tuple[Item, ...] = ()
    on: str = "true"
    keeps: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False


def refuse_unfollowed(select: exp.Select) -> None:
    """Refuse a SELECT with a clause that rows are not followed through.

    Raises:
        NotTracedError: there is one; says where.

    """
    for name, value in select.args.items():
        if value and name not in _FOLLOWED:
            at = value[0] if isinstance(value, list) else value if isinstance(value, exp.Expr) else select
            _refuse(at if isinstance(at, exp.Expr) else select, _CLAUSES.get(name, name.strip("_").upper()))
    for join in select.args.get("joins") or ():
        _refuse_join(join)


def _refuse_join(join: exp.Join) -> None:
    odd = [name for name, value in join.args.items() if value and name not in OF_JOIN]
    form = join_form(join)
    if form is None or join.args.get("method"):
        _refuse(join, join_words(join))
    if odd:
        _refuse(join, f"{odd[0].strip('_').upper()} of a join")
    if join.args.get("using") and form in ("RIGHT", "FULL"):
        _refuse(join, "USING of a RIGHT or FULL JOIN")
    if (join.args.get("on") or join).find(exp.Query) not in (None, join) and join.args.get("on"):
        _refuse(join.args["on"], "a subquery in ON")


def _refuse(node: exp.Expr, what: str) -> NoReturn:
    refuse(node, f"{what} is not followed", INSTEAD)


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that AND puts together."""
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        return [part for each in (condition.this, condition.expression) for part in conjuncts(each)]
    return [condition]


def qualified(node: exp.Expr, seen: Sequence[Item]) -> exp.Expr:
    """Return an expression whose columns say of which item they are; those within subqueries stay as they are.

    Raises:
        NotTracedError: a name may be that of several items.

    """
    copied = node.copy()
    if isinstance(copied, exp.Query):
        return copied
    for column in [each for each in own(copied) if isinstance(each, exp.Column)]:
        if column.table or isinstance(column.this, exp.Star):
            continue
        owners = [item for item in seen if column.name.lower() in {each.lower() for each in item.columns}]
        if len(owners) > 1 and not _is_merged(column.name, owners):
            refuse(column, f"{column.name} may be a column of {' or '.join(each.alias for each in owners)}", INSTEAD)
        if owners:
            made = _column(column.name, owners[0].alias)
            made.meta.update(column.this.meta)
            if column is copied:
                return made
            column.replace(made)
    return copied


def _is_merged(name: str, owners: Sequence[Item]) -> bool:
    """Whether USING makes one column of those of a name."""
    return all(
        each.join is not None and name.lower() in {key.name.lower() for key in each.join.args.get("using") or ()}
        for each in owners[1:]
    )


def own(node: exp.Expr) -> Iterable[exp.Expr]:
    """Return the nodes of an expression without those within subqueries."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))


def mentioned(node: exp.Expr) -> set[str]:
    """Return the items whose columns a qualified expression mentions, in lower case."""
    return {each.table.lower() for each in own(node) if isinstance(each, exp.Column) and each.table}


def columns_in(node: exp.Expr, only: Iterable[str] | None = None) -> dict[str, str]:
    """Return the columns that a qualified expression mentions, as SQL by its name."""
    wanted = None if only is None else set(only)
    found = [
        print_sql(each)
        for each in own(node)
        if isinstance(each, exp.Column) and each.table and (wanted is None or each.table.lower() in wanted)
    ]
    return by_name(found)


def by_name(found: Iterable[str]) -> dict[str, str]:
    """Return SQL by the name that people see."""
    return {each.replace("`", ""): each for each in found}


def _queries(node: exp.Expr) -> list[exp.Expr]:
    """The subqueries of an expression, without those within them."""
    return [each for each in own(node) if isinstance(each, exp.Query)]


def _columns_around(query: exp.Expr) -> list[exp.Expr]:
    """The columns in a subquery that are of a query around it, by what they say."""
    inside = {each.alias_or_name.lower() for each in query.find_all(exp.Table, exp.Subquery)}
    return [each for each in query.find_all(exp.Column) if each.table and each.table.lower() not in inside]


@dataclass(frozen=True)
class Condition:
    """A part of ON or WHERE, or of what is asked for.

    Attributes:
        kind: ``ON``, ``WHERE`` or ``asked``.
        node: qualified.
        written: as it stands in the query; None: it does not.
        place: where it stands, if `written` does not say.

    """

    kind: str
    node: exp.Expr
    written: exp.Expr | None = None
    place: exp.Expr | None = None

    @property
    def asks(self) -> bool:
        """Whether it looks at other rows."""
        return self.node.find(exp.Query) is not None

    @property
    def at(self) -> Position | None:
        """Where it stands; None of what is asked for, which is no part of the query."""
        if self.kind == "asked":
            return None
        found = None if self.written is None else position_of(self.written)
        return found or (None if self.place is None else position_of(self.place))

    @property
    def of_subqueries(self) -> dict[str, str]:
        """Columns that its subqueries look at, and the subqueries that give one value: SQL by its name."""
        queries = _queries(self.node)
        found = by_name(print_sql(column) for query in queries for column in _columns_around(query))
        as_written = [] if self.written is None else _queries(self.written)
        if len(as_written) != len(queries):
            return found
        for query, written in zip(queries, as_written, strict=True):
            if isinstance(query, exp.Subquery) and not isinstance(query.parent, exp.In | exp.Any | exp.All):
                found[print_sql(written)] = print_sql(query)
        return found

    def as_step(self) -> Step:
        """Return it as a step."""
        text = print_sql(self.written if self.written is not None else self.node)
        values = columns_in(self.node) | self.of_subqueries
        return Step(self.kind, text, self.at, print_sql(self.node), values=values, asks=self.asks)


def join_conditions(item: Item, before: Sequence[Item]) -> list[Condition]:
    """Return the conditions of a join, qualified; USING as equalities."""
    join = item.join
    assert join is not None, "the first item has none"
    found = []
    for key in join.args.get("using") or ():
        owner = next((each for each in before if key.name.lower() in {name.lower() for name in each.columns}), None)
        if owner is None:
            refuse(join, f"USING ({key.name}), which is no column of what stands before", INSTEAD)
        left, right = (_column(key.name, each.alias) for each in (owner, item))
        found.append(Condition("ON", exp.EQ(this=left, expression=right), place=join))
    if join.args.get("on"):
        seen = [*before, item]
        found += [Condition("ON", qualified(each, seen), each, join) for each in conjuncts(join.args["on"])]
    return [each for each in found if not (isinstance(each.node, exp.Boolean) and each.node.this)]


def _column(name: str, alias: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(alias, quoted=True))


def all_of(conditions: Sequence[Condition]) -> exp.Expr:
    """Return conditions as one."""
    return exp.and_(*(exp.paren(each.node.copy()) for each in conditions)) if conditions else exp.true()


def joined_text(items: Sequence[Item]) -> str:
    """Return items of FROM in the order of their joins, in the text's order."""
    text = items[0].relation
    for at, item in enumerate(items[1:], 1):
        on = print_sql(all_of(join_conditions(item, items[:at])))
        how = "" if item.how == "INNER" else f"LEFT {item.how} " if item.how in ("SEMI", "ANTI") else f"{item.how} "
        text += f" {how}JOIN {item.relation} ON {on}"
    return text


def way_through_joins(items: Sequence[Item], start: int, where: Sequence[Condition]) -> list[Step]:
    """Return the steps of rows of one item through FROM and WHERE.

    Inner joins have no order: the item comes first, then what is linked to it. What stood before an outer join stays
    together. A condition is asked as soon as all that it mentions is there; one that looks at other rows, at the end.

    Args:
        items: FROM.
        start: the place of the item whose rows are followed.
        where: the parts of WHERE, and what is asked for.

    """
    plain = all(item.how == "INNER" for item in items)
    return _Way(items, where).inner(start) if plain else _Way(items, where).in_order(start)


class _Way:
    def __init__(self, items: Sequence[Item], where: Sequence[Condition]) -> None:
        self._items = items
        self._waiting = list(where)
        self._there: set[str] = set()
        self.steps: list[Step] = []

    def inner(self, start: int) -> list[Step]:
        """Inner joins alone."""
        for at, item in enumerate(self._items):
            self._waiting += [] if item.join is None else join_conditions(item, self._items[:at])
        self._arrive([self._items[start]])
        ahead = [item for at, item in enumerate(self._items) if at != start]
        while ahead:
            item = next((each for each in ahead if self._links(each)), ahead[0])
            ahead.remove(item)
            links = self._links(item)
            self._waiting = [each for each in self._waiting if not any(each is one for one in links)]
            self._join([item], links, "JOIN", item.join)
        return self._end()

    def in_order(self, start: int) -> list[Step]:
        """Joins, some of them outer ones or such that only ask."""
        mine, before = self._items[start], list(self._items[:start])
        if mine.how in ("SEMI", "ANTI"):
            refuse(mine.node, f"rows of {mine.alias} only decide here: none is in the result", INSTEAD)
        self._arrive([mine])
        if before:
            if any(each.how in ("RIGHT", "FULL", "SEMI", "ANTI") for each in before):
                refuse(mine.node, f"{mine.alias} stands behind a RIGHT, FULL, SEMI or ANTI JOIN", INSTEAD)
            self._join(before, join_conditions(mine, before), _called(mine), mine.join, mine.how in ("RIGHT", "FULL"))
        for at in range(start + 1, len(self._items)):
            item = self._items[at]
            on = join_conditions(item, self._items[:at])
            if item.how in ("SEMI", "ANTI"):
                self._ask(item, on)
            else:
                self._join([item], on, _called(item), item.join, item.how in ("LEFT", "FULL"))
        return self._end()

    def _arrive(self, items: Sequence[Item]) -> None:
        """Let items be there, and ask what can be asked now."""
        self._there |= {item.alias.lower() for item in items}
        outer = any(item.how != "INNER" for item in self._items)
        all_there = len(self._there) == sum(item.how not in ("SEMI", "ANTI") for item in self._items)
        for each in list(self._waiting):
            names = mentioned(each.node)
            if each.asks or not names or not names <= self._there:
                continue
            if outer and not all_there:
                continue  # what an outer join makes of rows is what a condition sees
            self._waiting = [one for one in self._waiting if one is not each]
            self.steps.append(each.as_step())

    def _links(self, item: Item) -> list[Condition]:
        """The conditions between an item and what is there."""
        name, there = item.alias.lower(), self._there | {item.alias.lower()}
        return [
            each
            for each in self._waiting
            if each.kind != "asked" and not each.asks and name in mentioned(each.node) <= there
            if len(mentioned(each.node)) > 1
        ]

    def _join(
        self, items: Sequence[Item], on: Sequence[Condition], kind: str, join: exp.Expr | None, keeps: bool = False
    ) -> None:
        condition = all_of(on)
        written = " AND ".join(print_sql(each.written or each.node) for each in on)
        places = [each.at for each in on if each.at is not None]
        at = places[0] if places else None if join is None else position_of(join)
        there = f"{in_backticks(items[0].alias)}.{ROW_ID} IS NOT NULL"
        text = f"{kind} {' and '.join(item.alias for item in items)}" + (f" ON {written}" if written else "")
        self.steps.append(
            Step(
                kind,
                text,
                at,
                "true" if keeps else there,
                tuple(items),
                print_sql(condition),
                keeps,
                columns_in(condition, self._there),
            )
        )
        self._arrive(items)

    def _ask(self, item: Item, on: Sequence[Condition]) -> None:
        condition = all_of(on)
        exists = f"EXISTS (SELECT 1 FROM {item.relation} WHERE {print_sql(condition)})"
        written = " AND ".join(print_sql(each.written or each.node) for each in on)
        self.steps.append(
            Step(
                f"{item.how} JOIN",
                f"{item.how} JOIN {item.alias} ON {written}",
                None if item.join is None else position_of(item.join),
                exists if item.how == "SEMI" else f"NOT {exists}",
                values=columns_in(condition, self._there),
                asks=True,
            )
        )

    def _end(self) -> list[Step]:
        steps = [*self.steps, *(each.as_step() for each in self._waiting)]
        return [each for each in steps if not each.asks] + [each for each in steps if each.asks]


def _called(item: Item) -> str:
    return "JOIN" if item.how == "INNER" else f"{item.how} JOIN"
