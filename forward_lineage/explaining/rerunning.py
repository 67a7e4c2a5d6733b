"""Causes that have to be undone together, found by running the query: for outer joins, and for queries in FROM.

There a row may stand in the result because another one does not, so that joined rows of both versions say too little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from forward_lineage.explaining.attributing import BaseRow, Part
from forward_lineage.explaining.undoing import Named
from udafs.errors import NotTracedError

_MOST_TOGETHER = 200


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
            if len(partners[0]) > _MOST_TOGETHER:
                raise NotTracedError(f"one of {len(partners[0]):,} changed rows", instead="Compare closer versions.")
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
