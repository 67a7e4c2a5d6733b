"""Causes that have to be undone together, so that undoing what is named gives the old row again, and nothing else.

Undo the changes of some base rows, and leave the others: an old row may now meet a new row. Neither version of the
query has such a joined row, and the group would count one too many. So the cause names the met row, too, and grows
until no such joined row is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from forward_lineage.explaining.attributing import BaseRow, JoinedRow, Part

Named = frozenset[tuple[str, int]]
"""Tables and ids of base rows that changed."""


def named_of(row: JoinedRow, tables: Sequence[str]) -> Named:
    """Return the base rows of a joined row."""
    return frozenset((table, each) for table, ids in zip(tables, row.ids, strict=True) for each in ids)


@dataclass(frozen=True)
class MixedRow:
    """A joined row of old images of some base rows and new images of others.

    Attributes:
        old: changed base rows that it has the old image of.
        new: changed base rows that it has the new image of.

    """

    old: Named
    new: Named


def with_partners(
    parts: Sequence[Part], mixed: Iterable[MixedRow], change: Callable[[str, int], str]
) -> tuple[Part, ...]:
    """Return parts whose base rows can be undone together with nothing else.

    Args:
        parts: of the differences of a group.
        mixed: the joined rows of its key that have old and new images.
        change: table, id → ``came``, ``gone`` or ``differs``.

    """
    found = [set(part.rows) for part in parts]
    waiting = [each for each in mixed if not each.old & each.new]
    while (partner := _next(found, waiting)) is not None:
        for rows in found:
            if partner.old & {(row.table, row.row_id) for row in rows}:
                rows |= {BaseRow(table, each, change(table, each)) for table, each in partner.new}
    return tuple(replace(part, rows=tuple(sorted(rows))) for part, rows in zip(parts, found, strict=True))


def _next(found: Iterable[Iterable[BaseRow]], waiting: Iterable[MixedRow]) -> MixedRow | None:
    """A joined row that undoing what is named leaves."""
    named = {(row.table, row.row_id) for rows in found for row in rows}
    return next((each for each in waiting if each.old <= named and not each.new & named), None)
