"""Which column of each table a sketch is made of, among those that are proven safe.   [Niu 2022, §4.4]

A sketch saves what its ranges let a scan leave out, so the columns count in which the rows of a table lie in order: row
groups, pages and files then hold few ranges each. Statistics say so without reading anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forward_lineage.frontend import Statement
from forward_lineage.sketches.asked import Table
from forward_lineage.sketches.safety.facts import Facts, family
from forward_lineage.sketches.safety.proving import safe_attributes, safe_together

_WITH_RANGES = ("int", "decimal", "string", "date", "timestamp", "float")
_TRIED = 4  # columns of a table, at most, when tables are combined


def attributes_for(statement: Statement, tables: Sequence[Table], facts: Facts) -> Mapping[str, str]:
    """Return by table, as the query names it, the column to make a sketch of; no table that it would not help.

    Args:
        statement: a query.
        tables: those that it reads, the largest first.
        facts: what is known of them.

    """
    safe = safe_attributes(statement, facts)
    wanted = {table.name: _best(table, safe.get(table.name, ())) for table in tables}
    return safe_together(statement, {name: columns for name, columns in wanted.items() if columns}, facts)


def _best(table: Table, columns: Sequence[str]) -> list[str]:
    """The columns that have ranges, those first in which rows lie in order."""
    types = {name.lower(): kind for name, kind in table.manifest.columns}
    fit = [each for each in columns if family(types[each]) in _WITH_RANGES]
    return sorted(fit, key=lambda each: _overlap(table, each))[:_TRIED]


def _overlap(table: Table, column: str) -> float:
    known = table.statistics.get(column)
    return known.overlap if known is not None else 1.0
