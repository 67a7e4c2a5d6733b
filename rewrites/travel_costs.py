"""Value or reference, for each place where rows that carry sets meet others: what would be copied, against a stage.

By value the set of a row is copied into each row that it meets, and into each row whose window sees it. By reference it
is written once; that takes up to three Spark jobs more, and looks up each row of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from sqlglot import exp

from rewrites.block import Block
from rewrites.conditions import subqueries_in
from rewrites.environment import Choice
from rewrites.row_estimates import BlockRows, Joined, OneOf
from rewrites.scope import FromItem
from rewrites.terms import Kind
from udafs.errors import Position

STAGE = 20_000_000.0
"""Ids that are copied in the time that a stage takes: its jobs, and the look-up of what the result's rows refer to."""
MEETS_ONE = 1.5
"""Copies of each set, up to which copying costs no more than to write the sets apart and to look them up."""
MOST = 50_000_000.0
"""Ids in sets that travel by value, at most: they may stand on one side of a join, in the memory of each executor."""


def rows_of(block: Block) -> BlockRows:
    """Take down what FROM, conditions and groups of a block say of its rows, before other rules have run."""
    items, select = _items(block), block.select
    joined = _joined(items).read(select)
    outputs = {
        each.alias_or_name.lower(): found for each in select.expressions if (found := joined.find(each.unalias()))
    }
    keys: tuple[OneOf, ...] | None = None
    if block.groups_rows:
        group = select.args.get("group")
        keys = _found(joined, group.expressions if group is not None else [])
    if select.args.get("distinct"):
        keys = tuple(outputs.values())
    limit = select.args.get("limit")
    most = float(limit.expression.name) if limit is not None and _is_number(limit.expression) else None
    asked = [*select.expressions]
    if block.env.counts_what_decides:
        asked += [select.args[each] for each in ("where", "having", "order", "qualify") if select.args.get(each)]
    asks = any(True for part in asked for _ in subqueries_in(part))
    opened = any(each.is_star for each in select.expressions)
    literals = {each.alias.lower(): each.unalias() for each in select.expressions if isinstance(each, exp.Alias)}
    constants = {alias: each.sql() for alias, each in literals.items() if isinstance(each, exp.Literal)}
    return BlockRows(joined, keys, outputs, constants, opened, most, asks=asks)


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_int


def _items(block: Block) -> list[FromItem]:
    return [item for item in block.scope.from_items if item.in_star]


def _joined(items: list[FromItem]) -> Joined:
    known = [None if item.columns is None else [each.lower() for each in item.columns if each] for item in items]
    return Joined(
        tuple(item.alias.lower() for item in items),
        tuple(None if each is None else tuple(each) for each in known),
        tuple(item.estimated for item in items),
        tuple(item.nullable for item in items),
        tuple(sum(_ONE_BY_ONE[kind] for kind in item.hidden.values()) for item in items),
    )


_ONE_BY_ONE = {Kind.ID: 1, Kind.FEW: 2, Kind.SET: 0}


def with_sources_of(rows: BlockRows, block: Block) -> BlockRows:
    """Return the same, now that some sources of the block carry numbers of a stage in place of sets."""
    now = _joined(_items(block))
    return replace(rows, joined=replace(rows.joined, estimators=now.estimators, carries=now.carries))


def of_source(rows: BlockRows, item: FromItem, block: Block, at: Position | None) -> Choice:
    """Choose for a source whose rows carry sets and meet other rows."""
    place = _items(block).index(item)
    joined, own = rows.joined.rows, rows.joined.sources[place]
    if own is None:
        return Choice(at, by_value=False)
    own = replace(own, ids=max(own.ids, sum(kind is Kind.SET for kind in item.hidden.values())))
    if at in block.env.apart and joined is not None:
        return Choice(at, False, own.rows, own.rows * own.ids, joined * own.ids)
    sources = [each.rows if each is not None else inf for each in rows.joined.sources]
    if all(each <= 1 for each in sources):  # whatever is in them
        return Choice(at, True, own.rows, own.ids, own.ids)
    if joined is None or own.ids == inf:
        return Choice(at, by_value=False)
    return replace(_chosen(at, own.rows, own.rows * own.ids, joined * own.ids), inside=own.copied)


def with_windows(rows: BlockRows, windows: list[exp.Window], at: Position | None) -> BlockRows:
    """Return the same, now that the rows carry what windows see."""
    partitions = [_found(rows.joined, each.args.get("partition_by") or []) for each in windows]
    places = frozenset() if at is None or not windows else frozenset([at])
    return replace(rows, windows=tuple(dict.fromkeys(partitions)), copied=places)


def of_windows(block: Block, at: Position | None) -> Choice:
    """Choose for a block whose windows see other rows."""
    choice = Choice(at, by_value=False, window=True)
    if block.expected is None:
        return choice
    rows = replace(block.expected, limit=None)  # it counts behind the windows
    alone, copied = rows.estimate(), with_windows(rows, block.frames, at).estimate()
    if alone is None or copied is None or rows.joined.rows is None:
        return choice
    ids = alone.rows * max(alone.ids, 1.0)
    pays = copied.rows * copied.ids <= STAGE and ids <= MOST and at not in block.env.apart
    return Choice(at, pays, alone.rows, ids, copied.rows * copied.ids, window=True, inside=alone.copied)


def better_apart(choices: Sequence[Choice]) -> frozenset[Position]:
    """Return the places whose sets would be copied into rows that become stages, or that are stages elsewhere.

    A stage is made all the same, so the sets had better be in it from the first: then rows in between carry numbers.
    """
    stages = [choice for choice in choices if not choice.by_value]
    elsewhere = {choice.at for choice in stages}
    both = frozenset(choice.at for choice in choices if choice.by_value and choice.at in elsewhere and choice.at)
    return both.union(*(choice.inside for choice in stages))


def _chosen(at: Position | None, rows: float, ids: float, copied: float) -> Choice:
    pays = copied <= STAGE or copied <= MEETS_ONE * ids
    return Choice(at, pays and max(copied, ids) <= MOST, rows, ids, copied)


def _found(joined: Joined, nodes: list[exp.Expr]) -> tuple[OneOf, ...]:
    return tuple(found for node in nodes if (found := joined.find(node.unnest())) is not None)
