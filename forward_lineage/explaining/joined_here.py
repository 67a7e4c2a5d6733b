"""Joined rows of few base rows, without Spark: a job over some thousand rows costs more than all else of an answer.

Spark computes all that `values_here` does not know, and all that would take long here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.explaining.blocks import conjuncts
from forward_lineage.explaining.few_rows import ID
from forward_lineage.explaining.saved_rows import comparable
from forward_lineage.explaining.values_here import Row, Value, Values
from rewrites.aliases import table_name

_MOST_VALUES = 500_000  # rows times expressions: some hundred milliseconds


@dataclass(frozen=True)
class FewTable:
    """Rows of a base table.

    Attributes:
        name: the table.
        rows: the rows, with their ids.
        kinds: column in lower case → its Spark type.

    """

    name: str
    rows: pa.Table
    kinds: Mapping[str, str]


def joined_here(
    tree: exp.Select, tables: Mapping[str, FewTable], order: Sequence[str], wanted: Callable[[tuple[Any, ...]], bool]
) -> pa.Table:
    """Return the joined rows of a query of plain tables and inner joins.

    Args:
        tree: `SummedBlock.joined_rows` of no group in particular.
        tables: by name in lower case.
        order: the tables in the order in which ids are returned.
        wanted: tells by its key whether a group is asked about.

    Returns:
        its columns, and ``i0``, …: the id in each table.

    Raises:
        NeedsSpark: Spark alone knows, or does it faster.

    """
    nodes = [tree.args["from_"].this, *(join.this for join in tree.args.get("joins") or ())]
    names = [".".join(table_name(node)).lower() for node in nodes]
    if len(set(names)) < len(names) or any(join.args.get("using") for join in tree.args.get("joins") or ()):
        raise NeedsSpark("a table that is joined with itself, or USING")
    found = [tables[name] for name in names]
    aliases = [node.alias_or_name.lower() for node in nodes]
    values = Values(
        [
            (alias, {name.lower(): each.rows[name] for name in each.rows.column_names if name != ID}, each.kinds)
            for alias, each in zip(aliases, found, strict=True)
        ]
    )
    asked = [join.args["on"] for join in tree.args.get("joins") or () if join.args.get("on")]
    asked += [tree.args["where"].this] if tree.args.get("where") else []
    conditions = [part for each in asked for part in conjuncts(each)]
    items = {item.alias: values.read(item.unalias()) for item in tree.expressions}
    if any(value.sort.name == "null" for value in items.values()):
        raise NeedsSpark("a column of NULL alone")
    rows = _Joining(values, [each.rows.num_rows for each in found], conditions, len(items)).rows()
    keys = [value for name, value in items.items() if name.startswith("k")]
    rows = [row for row in rows if wanted(tuple(comparable(key.of(row)) for key in keys))]
    columns = {name: value.array(rows) for name, value in items.items()}
    for at, name in enumerate(order):
        place = names.index(name.lower())
        ids = found[place].rows[ID].to_pylist()
        columns[f"i{at}"] = pa.array([ids[row[place]] for row in rows], pa.int64())
    return pa.table(columns)


class _Joining:
    """Joins tables, one after another.

    Args:
        values: reads expressions.
        sizes: how many rows the tables have.
        conditions: all that joined rows meet.
        width: how many expressions there are of a joined row.

    """

    def __init__(self, values: Values, sizes: Sequence[int], conditions: Sequence[exp.Expr], width: int) -> None:
        self._values, self._sizes, self._width = values, sizes, width + len(conditions)
        read = [(node, values.read(node)) for node in conditions]
        if any(value.sort.name != "boolean" for _, value in read):
            raise NeedsSpark("a condition that is no condition")
        self._waiting = read

    def rows(self) -> list[Row]:
        rows: list[Row] = [()]
        for at in range(len(self._sizes)):
            rows = self._joined(rows, at)
            there = set(range(at + 1))
            ready = [value for _, value in self._waiting if value.tables <= there]
            self._waiting = [(node, value) for node, value in self._waiting if not value.tables <= there]
            self._check(len(rows))
            rows = [row for row in rows if all(value.of(row) is True for value in ready)]
        return rows

    def _joined(self, rows: list[Row], at: int) -> list[Row]:
        link = next(filter(None, (self._link(node, at) for node, _ in self._waiting)), None)
        if link is None:
            self._check(len(rows) * self._sizes[at])
            return [(*row, place) for row in rows for place in range(self._sizes[at])]
        mine, theirs = link
        places: dict[Any, list[int]] = defaultdict(list)
        before = (0,) * at
        for place in range(self._sizes[at]):
            value = mine.of((*before, place))
            if value is not None:
                places[value].append(place)
        found: list[Row] = []
        for row in rows:
            found += [(*row, place) for place in places.get(theirs.of(row), ())]
            self._check(len(found))
        return found

    def _link(self, node: exp.Expr, at: int) -> tuple[Value, Value] | None:
        """The sides of an equality: that of a table, and that of those before it."""
        if not isinstance(node, exp.EQ) or not at:
            return None
        one, other = self._values.read(node.this), self._values.read(node.expression)
        for mine, theirs in ((one, other), (other, one)):
            if mine.tables == {at} and theirs.tables and max(theirs.tables) < at:
                return mine, theirs
        return None

    def _check(self, rows: int) -> None:
        if rows * self._width > _MOST_VALUES:
            raise NeedsSpark(f"{rows:,} joined rows")
