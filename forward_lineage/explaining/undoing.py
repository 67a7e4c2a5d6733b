"""Causes that have to be undone together, so that undoing what is named gives the old row again, and nothing else.

Undo the changes of some base rows, and leave the others: an old row may now meet a new row. Neither version of the
query has such a joined row, and the group would count one too many. So the cause names the met row, too, and grows
until no such joined row is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from forward_lineage.explaining.attributing import BaseRow, Part

Named = frozenset[tuple[str, int]]
"""Tables and ids of base rows that changed."""


@dataclass(frozen=True)
class MixedRow:
    """A joined row of base rows as they were and others as they are.

    Attributes:
        old: those that changed, and are as they were.
        new: those that changed, and are as they are now.

    """

    old: Named
    new: Named


def with_partners(
    parts: Sequence[Part], mixed: Iterable[MixedRow], change: Callable[[str, int], str]
) -> tuple[Part, ...]:
    """Return parts whose base rows can be undone together with nothing else.

    Args:
        parts: of the differences of a group.
        mixed: the joined rows of its key that are made of rows as they were and as they are.
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


def named_in(parts: Iterable[Part]) -> Named:
    """Return the base rows of parts."""
    return frozenset((row.table, row.row_id) for part in parts for row in part.rows)


@dataclass(frozen=True)
class Undone:
    """The joined rows of a group with some base rows as they were, beside those of the version before.

    Attributes:
        extra: base rows of each joined row that is one too many.
        missing: base rows of each joined row that is not there.
        instead: base rows of joined rows of other groups that are one too many.

    """

    extra: Sequence[Named]
    missing: Sequence[Named]
    instead: Sequence[Named] = ()


def until_undone(
    parts: Sequence[Part],
    rerun: Callable[[Named], Undone],
    changed: Named,
    change: Callable[[str, int], str],
) -> tuple[Part, ...]:
    """Do what `with_partners` does by running the query: where rows are there because others are not.

    Args:
        parts: of the differences of a group.
        rerun: runs the query with base rows as they were, and compares the group with that of before.
        changed: all base rows that changed.
        change: table, id → ``came``, ``gone`` or ``differs``.

    """
    parts = list(parts)
    while parts:
        named = named_in(parts)
        found = rerun(named)
        if not found.extra and not found.missing:
            break
        partners = _partners(parts, found, changed - named)
        if not partners:  # whatever it is, it is among these
            partners[0] = changed - named
            if not partners[0]:
                break
        for at, more in partners.items():
            rows = {*parts[at].rows, *(BaseRow(table, each, change(table, each)) for table, each in more)}
            parts[at] = replace(parts[at], rows=tuple(sorted(rows)))
    return tuple(parts)


def _partners(parts: Sequence[Part], found: Undone, others: Named) -> dict[int, Named]:
    """For parts, by place, the other base rows that changed and that theirs meet."""
    partners: dict[int, Named] = defaultdict(frozenset)
    for each in _in_the_way(found):
        for at, part in enumerate(parts):
            if each & others and named_in([part]) & each:
                partners[at] |= each & others
    return partners


def _in_the_way(found: Undone) -> list[Named]:
    """The base rows of joined rows that are too many, or that stand in place of those that are missing."""
    instead = [each for each in (*found.extra, *found.instead) if any(row <= each for row in found.missing)]
    return [*found.extra, *instead]
