"""Rows on their way through one block: joins and conditions in one query, then groups, windows and limits.

Each item is joined LEFT, on the condition that the rows got past all that came before, and each condition is a column.
So a row stops at the first step that it does not get past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from forward_lineage.explaining.blocks import (
    Condition,
    Item,
    Step,
    by_name,
    columns_in,
    conjuncts,
    joined_text,
    own,
    way_through_joins,
)
from forward_lineage.explaining.grounding import INSTEAD, ROW_ID
from forward_lineage.explaining.missing_rows import PassedStep, said
from forward_lineage.explaining.resolved_block import ResolvedBlock
from forward_lineage.explaining.saved_rows import comparable
from forward_lineage.frontend import print_sql
from forward_lineage.spark.names import in_backticks
from rewrites.block import is_aggregate
from rewrites.refusals import position_of, refuse

NAMED = "__why_named"
"""The column that marks the rows that are followed."""
_EXAMPLES = 20
Rows = list[dict[str, Any]]


@dataclass
class Way:
    """A way that was followed.

    Attributes:
        steps: in order.
        through: whether rows got through.
        table: the base table that they are of.
        ids: of its rows.

    """

    steps: list[PassedStep] = field(default_factory=list)
    through: bool = True
    table: str = ""
    ids: tuple[int, ...] = ()

    def passes(self, step: PassedStep) -> bool:
        """Add a step, and tell whether rows got past."""
        self.steps.append(step)
        self.through = step.survived > 0
        return self.through


class BlockWay:
    """Rows on their way from one item of a block to its end.

    Args:
        run: runs a query.
        block: the block.
        start: the place of the item.
        item: the item, its rows marked.
        name: of the query.
        way: what was passed so far.
        asked: what else is asked for of the block's rows.
        found: gets the ids of the rows when they are known, adds their step to the way, and returns the item's rows,
            marked by ids. None: they are known.

    """

    def __init__(  # noqa: PLR0917
        self,
        run: Callable[[str], Rows],
        block: ResolvedBlock,
        start: int,
        item: Item,
        name: str,
        way: Way,
        asked: Sequence[Condition],
        found: Callable[[Sequence[int]], str] | None = None,
    ) -> None:
        self._run = run
        self._block, self._start, self._name, self._way = block, start, name, way
        self._asked, self._found = list(asked), found
        self._put(item)

    def _put(self, item: Item) -> None:
        self._item = item
        self._items = [*self._block.items[: self._start], item, *self._block.items[self._start + 1 :]]

    def run(self) -> None:
        """Follow them, as far as they come."""
        alive = self._through_joins()
        select = self._block.select
        if alive is None:
            return
        if self._block.grouped:
            if not self._through_groups(alive):
                return
        elif select.args.get("qualify") and not self._through_qualify():
            return
        if select.args.get("distinct") and not self._block.grouped:
            outputs = {tuple(comparable(row[f"o{at}"]) for at in range(len(self._block.outputs))) for row in alive}
            at = position_of(select)
            self._way.passes(PassedStep(self._name, "DISTINCT", "DISTINCT", at, len(alive), len(outputs)))
        if select.args.get("limit") or select.args.get("offset"):
            self._through_limit(alive)

    # ------------------------------------------------------------ joins and conditions

    def _through_joins(self) -> Rows | None:
        """Ask all joins and conditions; return the rows that got past all, or None."""
        steps = way_through_joins(self._items, self._start, [*self._block.where, *self._asked])
        rows = self._run(self._joins_sql(steps))
        if self._found is not None:
            self._put(replace(self._item, relation=self._found(sorted({row["i0"] for row in rows}))))
            if not rows:
                return None
        there = [self._item]
        arrived = len({row["i0"] for row in rows})
        for at, step in enumerate(steps):
            count = len(there) + len(step.joins)
            alive = [row for row in rows if all(row[f"f{each}"] for each in range(at + 1))]
            before = [row for row in rows if all(row[f"f{each}"] for each in range(at))]
            survived = len({tuple(row[f"i{each}"] for each in range(count)) for row in alive})
            there += step.joins
            if not self._way.passes(self._passed(step, at, before if not alive else [], arrived, survived)):
                return None
            arrived = survived
        return [row for row in rows if all(row[f"f{at}"] for at in range(len(steps)))]

    def _joins_sql(self, steps: Sequence[Step]) -> str:
        text = f"(SELECT * FROM {self._item.relation} WHERE {NAMED}) AS {in_backticks(self._item.alias)}"
        there, prior = [self._item], list[str]()
        for step in steps:
            if step.joins:
                joined = step.joins[0].relation if len(step.joins) == 1 else f"({joined_text(step.joins)})"
                text += f" LEFT JOIN {joined} ON {' AND '.join([f'({step.on})', *prior])}"
                there += step.joins
            if not step.asks:
                prior.append(f"({step.condition})")
        items = [f"{in_backticks(each.alias)}.{ROW_ID} AS i{at}" for at, each in enumerate(there)]
        items += [f"coalesce({step.condition}, false) AS f{at}" for at, step in enumerate(steps)]
        items += [f"{_struct(step.values)} AS v{at}" for at, step in enumerate(steps)]
        items += [f"{print_sql(key)} AS g{at}" for at, key in enumerate(self._block.keys())]
        if self._block.select.args.get("distinct") and not self._block.grouped:
            items += [f"{print_sql(each)} AS o{at}" for at, each in enumerate(self._block.outputs.values())]
        return f"SELECT {', '.join(items)} FROM {text}"

    def _passed(self, step: Step, at: int, stopped: Rows, arrived: int, survived: int) -> PassedStep:
        values = _different([_named(step.values, row[f"v{at}"]) for row in stopped])
        why = ""
        if not survived:
            found = said(values)
            if step.joins or step.kind in ("SEMI JOIN", "ANTI JOIN"):
                side = " and ".join(each.alias for each in step.joins) or step.text.split()[2]
                partner = f"{side} has a partner" if step.kind == "ANTI JOIN" else f"{side} has no partner"
                why = f"{partner} for it{f': {found}' if found else ''}"
            else:
                why = f"{found}, asked {step.text}" if found else f"{step.text} is not true"
        return PassedStep(self._name, step.kind, step.text, step.at, arrived, survived, tuple(values), why)

    # ------------------------------------------------------------ groups

    def _through_groups(self, alive: Rows) -> bool:
        block, select = self._block, self._block.select
        keys = block.keys()
        wanted = {tuple(comparable(row[f"g{at}"]) for at in range(len(keys))) for row in alive}
        group = select.args.get("group")
        at = position_of(group) if group is not None else position_of(select)
        text = print_sql(group).strip() if group is not None else "all rows are one group"
        self._way.passes(PassedStep(self._name, "GROUP BY", text, at, len(alive), len(wanted)))
        having = select.args.get("having")
        conditions = [
            Condition("HAVING", block.above_groups(each), each) for each in (conjuncts(having.this) if having else ())
        ] + block.asked_of_groups
        if not conditions:
            return True
        rows = [row for row in self._groups(conditions, keys) if _key(row, len(keys)) in wanted]
        arrived = len(rows)
        for at_, each in enumerate(conditions):
            alive_ = [row for row in rows if all(row[f"f{one}"] for one in range(at_ + 1))]
            stopped = [row for row in rows if all(row[f"f{one}"] for one in range(at_))] if not alive_ else []
            names = _aggregates(each)
            values = _different([_named(names, row[f"v{at_}"]) for row in stopped])
            text = print_sql(each.written or each.node)
            why = "" if alive_ else f"{said(values) or 'a group'}, asked {text}"
            step = PassedStep(self._name, each.kind, text, each.at, arrived, len(alive_), tuple(values), why)
            if not self._way.passes(step):
                return False
            arrived = len(alive_)
        return True

    def _groups(self, conditions: Sequence[Condition], keys: Sequence[exp.Expr]) -> Rows:
        items = [f"{print_sql(key)} AS g{at}" for at, key in enumerate(keys)]
        items += [f"coalesce({print_sql(each.node)}, false) AS f{at}" for at, each in enumerate(conditions)]
        items += [f"{_struct(_aggregates(each))} AS v{at}" for at, each in enumerate(conditions)]
        return self._run(f"SELECT {', '.join(items)} FROM {self._whole()}{self._grouping(keys)}")

    def _whole(self) -> str:
        """FROM and WHERE of the block, over all rows."""
        where = " AND ".join(f"({print_sql(each.node)})" for each in self._block.where)
        return joined_text(self._items) + (f" WHERE {where}" if where else "")

    def _grouping(self, keys: Sequence[exp.Expr]) -> str:
        return f" GROUP BY {', '.join(map(print_sql, keys))}" if keys else ""

    # ------------------------------------------------------------ ranks and limits

    def _mark(self) -> str:
        """Whether a joined row is one of those that are followed, and as it is asked for."""
        asked = [f"({print_sql(each.node)})" for each in self._asked]
        return f"coalesce({' AND '.join([f'{in_backticks(self._item.alias)}.{NAMED}', *asked])}, false)"

    def _through_qualify(self) -> bool:
        qualify = self._block.select.args["qualify"]
        if self._block.select.args.get("windows"):
            refuse(qualify, "QUALIFY with a WINDOW clause is not followed", INSTEAD)
        node = self._block.above_groups(qualify.this)
        windows = [print_sql(each) for each in own(node) if isinstance(each, exp.Window)]
        columns = by_name(windows) | columns_in(node)
        named = f"{self._mark()} AS named"
        inner = (
            f"SELECT {named}, coalesce({print_sql(node)}, false) AS f0, {_struct(columns)} AS v0 FROM {self._whole()}"
        )
        rows = self._run(f"SELECT * FROM ({inner}) WHERE named")
        alive = [row for row in rows if row["f0"]]
        values = [] if alive else _different([_named(columns, row["v0"]) for row in rows])
        text = print_sql(qualify.this)
        why = "" if alive else f"{said(values)}, asked {text}"
        step = PassedStep(
            self._name, "QUALIFY", text, position_of(qualify.this), len(rows), len(alive), tuple(values), why
        )
        return self._way.passes(step)

    def _through_limit(self, alive: Rows) -> bool:
        select, block = self._block.select, self._block
        limit, offset = (_number(select.args.get(each)) for each in ("limit", "offset"))
        clause = select.args.get("limit") or select.args["offset"]
        if select.args.get("distinct") or select.args.get("qualify") or not select.args.get("order"):
            refuse(clause, "LIMIT without ORDER BY, or of DISTINCT or QUALIFY, is not followed", INSTEAD)
        order = ", ".join(block.order())
        ranked = f"rank() OVER (ORDER BY {order}) AS first, count(*) OVER (ORDER BY {order}) AS last"
        if block.grouped:
            keys = block.keys()
            names = [f"{print_sql(key)} AS g{at}" for at, key in enumerate(keys)]
            having = select.args.get("having")
            asked = f" HAVING {print_sql(block.above_groups(having.this))}" if having is not None else ""
            rows = self._run(f"SELECT {', '.join([*names, ranked])} FROM {self._whole()}{self._grouping(keys)}{asked}")
            wanted = {_key(row, len(keys)) for row in alive}
            rows = [row for row in rows if _key(row, len(keys)) in wanted]
        else:
            named = f"{self._mark()} AS named"
            rows = self._run(f"SELECT * FROM (SELECT {named}, {ranked} FROM {self._whole()}) WHERE named")
        until = None if limit is None else limit + (offset or 0)
        inside = [row for row in rows if (until is None or row["first"] <= until) and row["last"] > (offset or 0)]
        values = [] if inside else [{"place": row["first"]} for row in sorted(rows, key=lambda row: row["first"])][:5]
        text = " ".join(print_sql(select.args[each]).strip() for each in ("limit", "offset") if select.args.get(each))
        why = "" if inside else f"it has place {values[0]['place']:,} in the order, asked {text}"
        step = PassedStep(self._name, "LIMIT", text, position_of(clause), len(rows), len(inside), tuple(values), why)
        return self._way.passes(step)


def _aggregates(condition: Condition) -> dict[str, str]:
    """The aggregates in a condition, as SQL by its name; or its columns, if there are none."""
    found = by_name(print_sql(each) for each in own(condition.node) if is_aggregate(each))
    return (found or columns_in(condition.node)) | condition.of_subqueries


def _struct(values: Mapping[str, str]) -> str:
    return f"struct({', '.join(f'{each} AS c{at}' for at, each in enumerate(values.values()))})" if values else "NULL"


def _named(names: Iterable[str], values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {each: (values or {}).get(f"c{at}") for at, each in enumerate(names)}


def _different(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row:
            found.setdefault(repr(row), row)
    return list(found.values())[:_EXAMPLES]


def _key(row: Mapping[str, Any], keys: int) -> tuple[Any, ...]:
    return tuple(comparable(row[f"g{at}"]) for at in range(keys))


def _number(clause: exp.Expr | None) -> int | None:
    if clause is None:
        return None
    number = clause.expression
    if not isinstance(number, exp.Literal) or not str(number.this).isdigit():
        refuse(clause, "LIMIT of something else than a number is not followed", INSTEAD)
    return int(str(number.this))
