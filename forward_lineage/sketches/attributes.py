"""The column of each table that a sketch is made of, among those that are proven safe.   [Niu 2022, §4.4]

A sketch saves the parts that its ranges let a scan leave out. So the columns count in whose order the rows of a table
lie: row groups, pages and files then hold few ranges each. Statistics say so without reading anything. Where several
columns of the largest table are fit, it depends on the query which sketch is smaller: that is estimated on a sample
(`sampled`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from forward_lineage.frontend import Statement
from forward_lineage.sketches.safety.facts import Facts, family
from forward_lineage.sketches.safety.proving import safe_attributes, safe_together
from forward_lineage.sketches.sketched_query import QueriedTable

_WITH_RANGES = ("int", "decimal", "string", "date", "timestamp", "float")
_TRIED = 4  # columns of a table, at most, when tables are combined
_IN_ORDER = 0.5  # of the row groups that a value is looked for in: with more, a sketch hardly leaves any out
_FEW_GROUPS = 4  # say nothing of how rows lie within them


class Estimates(Protocol):
    """The facts about sketches of a query before they are captured."""

    def is_scattered(self, table: QueriedTable, column: str) -> bool:
        """Whether any few ranges of a column are all over a table, so that no sketch leaves anything out."""

    def size(self, table: QueriedTable, column: str) -> int:
        """How many bytes are left of a table with a sketch of a column."""


def attributes_for(
    statement: Statement, tables: Sequence[QueriedTable], facts: Facts, estimates: Estimates | None = None
) -> Mapping[str, str]:
    """Return by table, as the query names it, the column to make a sketch of; no table that it would not help.

    Args:
        statement: a query.
        tables: those that it reads, the largest first.
        facts: what is known of them.
        estimates: of sizes; None: how rows lie in row groups decides alone.

    """
    safe = safe_attributes(statement, facts)
    wanted = {table.name: _best(table, safe.get(table.name, ())) for table in tables}
    if estimates is not None and tables:
        wanted[tables[0].name] = _smallest(tables[0], wanted[tables[0].name], estimates)
    return safe_together(statement, {name: columns for name, columns in wanted.items() if columns}, facts)


def _best(table: QueriedTable, columns: Sequence[str]) -> list[str]:
    """The columns that have ranges, those first in which rows lie in order."""
    types = {name.lower(): kind for name, kind in table.manifest.columns}
    fit = [each for each in columns if family(types[each]) in _WITH_RANGES]
    return sorted(fit, key=lambda each: _overlap(table, each))[:_TRIED]


def _smallest(table: QueriedTable, columns: Sequence[str], estimates: Estimates) -> list[str]:
    """The columns, first those in which rows lie in order, the one with the smallest sketch in front."""
    asked = [each for each in columns if _may_be_in_order(table, each)]
    if len(asked) < 2:
        return list(columns)
    in_order = [each for each in asked if not estimates.is_scattered(table, each)]
    if len(in_order) > 1:
        sizes = {each: estimates.size(table, each) for each in in_order}
        in_order.sort(key=sizes.__getitem__)
    return [*in_order, *(each for each in columns if each not in in_order)]


def _may_be_in_order(table: QueriedTable, column: str) -> bool:
    known = table.statistics.get(column)
    return known is not None and (known.overlap <= _IN_ORDER or len(known.groups) <= _FEW_GROUPS)


def _overlap(table: QueriedTable, column: str) -> float:
    known = table.statistics.get(column)
    return known.overlap if known is not None else 1.0
