"""Which column of each table a sketch is made of, among those that are proven safe.   [Niu 2022, §4.4]

A sketch saves what its ranges let a scan leave out, so the columns count in which the rows of a table lie in order: row
groups, pages and files then hold few ranges each. Statistics say so without reading anything. Where several columns of
the largest table are fit, it depends on the query which sketch is smaller: that is estimated on a sample (`sampled`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from forward_lineage.frontend import Statement
from forward_lineage.sketches.asked import Table
from forward_lineage.sketches.safety.facts import Facts, family
from forward_lineage.sketches.safety.proving import safe_attributes, safe_together

_WITH_RANGES = ("int", "decimal", "string", "date", "timestamp", "float")
_TRIED = 4  # columns of a table, at most, when tables are combined
_IN_ORDER = 0.5  # of the row groups that a value is looked for in: with more, a sketch hardly leaves any out
_FEW_GROUPS = 4  # say nothing of how rows lie within them

SizeOf = Callable[[Table, str], int]
"""Estimates the bytes that are left of a table with a sketch of a column."""


def attributes_for(
    statement: Statement, tables: Sequence[Table], facts: Facts, size_of: SizeOf | None = None
) -> Mapping[str, str]:
    """Return by table, as the query names it, the column to make a sketch of; no table that it would not help.

    Args:
        statement: a query.
        tables: those that it reads, the largest first.
        facts: what is known of them.
        size_of: estimates sizes; None: how rows lie decides alone.

    """
    safe = safe_attributes(statement, facts)
    wanted = {table.name: _best(table, safe.get(table.name, ())) for table in tables}
    if size_of is not None and tables:
        wanted[tables[0].name] = _smallest(tables[0], wanted[tables[0].name], size_of)
    return safe_together(statement, {name: columns for name, columns in wanted.items() if columns}, facts)


def _best(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that have ranges, those first in which rows lie in order."""
    types = {name.lower(): kind for name, kind in table.manifest.columns}
    fit = [each for each in columns if family(types[each]) in _WITH_RANGES]
    return sorted(fit, key=lambda each: _overlap(table, each))[:_TRIED]


def _smallest(table: Table, columns: Sequence[str], size_of: SizeOf) -> list[str]:
    """The columns, those in which rows may lie in order by the estimated size of their sketches."""
    asked = [each for each in columns if _may_be_in_order(table, each)]
    if len(asked) < 2:
        return list(columns)
    sizes = {each: size_of(table, each) for each in asked}
    return [*sorted(asked, key=sizes.__getitem__), *(each for each in columns if each not in sizes)]


def _may_be_in_order(table: Table, column: str) -> bool:
    known = table.statistics.get(column)
    return known is not None and (known.overlap <= _IN_ORDER or len(known.groups) <= _FEW_GROUPS)


def _overlap(table: Table, column: str) -> float:
    known = table.statistics.get(column)
    return known.overlap if known is not None else 1.0
