"""A difference of a sum, attributed to base rows by exact arithmetic.

A joined row added something before, and adds something after. Rows that both versions have, with the same values,
cancel. The others are the difference, row by row: nothing is estimated and no order matters. A quotient A/B is
attributed, too:

    A1/B1 - A0/B0 = ((A1 - A0) - A0/B0 · (B1 - B0)) / B1

so a joined row that adds a to A and b to B explains (a - A0/B0 · b) / B1. An average is a sum by a count.

Every value is a fraction: an integer, a decimal, or the binary fraction that a FLOAT or DOUBLE stands for. So
parts add up to the exact difference of the exact sums. How far the saved numbers are from it is the remainder: 0 for
integers and decimals, the rounding of Spark's additions for FLOAT and DOUBLE, and all that is not linear.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from forward_lineage.explaining.linear_forms import Form
from forward_lineage.row_ids.row_changes import RowChanges

Ids = tuple[frozenset[int], ...]
"""For each table, ids of its rows."""


@dataclass(frozen=True)
class JoinedRow:
    """The amount that a joined row adds to its group.

    Attributes:
        ids: of the base rows that it was made of.
        values: of the aggregates.
        by: of what differences are added up by.

    """

    ids: Ids
    values: tuple[Any, ...]
    by: tuple[Any, ...] = ()


@dataclass(frozen=True, order=True)
class BaseRow:
    """A base row that explains a part.

    Attributes:
        table: its table.
        row_id: its id there.
        change: ``came``, ``gone`` or ``differs``: the row itself changed. ``joined`` or ``left``: it is what it was,
            and counts now, or counts no more, because of a row that only decides.

    """

    table: str
    row_id: int
    change: str


@dataclass(frozen=True)
class Part:
    """A part of the difference between two groups.

    Attributes:
        rows: the base rows that it comes from; several, if they changed together.
        by: the values of what it is added up by.
        amounts: place of a column → the amount.
        joined: how many joined rows it is made of: before, and after.

    """

    rows: tuple[BaseRow, ...]
    by: tuple[Any, ...]
    amounts: Mapping[int, Fraction]
    joined: tuple[int, int]


Sums = Sequence[Fraction]
"""Of each aggregate; none of no rows."""
_Where = tuple[tuple[BaseRow, ...], tuple[Any, ...]]
_Pair = tuple["JoinedRow | None", "JoinedRow | None"]


class Attribution:
    """Attributes differences of groups.

    Args:
        forms: place of a column → how it adds up.
        tables: names of the tables, in the order of `JoinedRow.ids`.
        changes: table → its rows that are not what they were; None where nobody knows.
        everywhere: the joined rows of all groups before and after, if they are known. An outer join pads a row when its
            partners go, and stops to when one comes. These are in no joined row of the group, but in those of others.

    """

    def __init__(
        self,
        forms: Mapping[int, Form],
        tables: Sequence[str],
        changes: Mapping[str, RowChanges | None],
        everywhere: tuple[Iterable[JoinedRow], Iterable[JoinedRow]] = ((), ()),
    ) -> None:
        self._elsewhere = [_by_base_row(rows) for rows in everywhere]
        self._forms, self._tables = forms, tables
        found = [changes.get(table) for table in tables]
        self._before = [frozenset() if each is None else frozenset(each.before) for each in found]
        self._after = [frozenset() if each is None else frozenset(each.after) for each in found]
        self._gone = [frozenset() if each is None else frozenset(each.gone) for each in found]
        self._came = [frozenset() if each is None else frozenset(each.came) for each in found]

    def parts(
        self, before: Sequence[JoinedRow], after: Sequence[JoinedRow], sums: tuple[Sums, Sums] | None = None
    ) -> list[Part]:
        """Return what the difference between two groups is made of.

        Args:
            before: the joined rows; those that both groups have may be left out if `sums` are given.
            after: likewise.
            sums: each aggregate added up over all joined rows, before and after.

        """
        weights = self._weights(*(sums or (self._sums(before), self._sums(after))))
        amounts: dict[_Where, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        counts: dict[_Where, list[int]] = defaultdict(lambda: [0, 0])
        for old, new in self._pairs(*_apart(before, after)):
            rows = self._rows(old, new)
            for each, sign in ((old, -1), (new, 1)):
                if each is None:
                    continue
                where = rows, each.by
                counts[where][sign > 0] += 1
                for place, amount in self._amounts(each, weights).items():
                    amounts[where][place] += sign * amount
        return [Part(*where, dict(amounts[where]), (old, new)) for where, (old, new) in counts.items()]

    # ------------------------------------------------------------ numbers

    def _sums(self, rows: Iterable[JoinedRow]) -> list[Fraction]:
        values = [exact_values(row.values) for row in rows]
        return [sum(column, Fraction(0)) for column in zip(*values, strict=True)]

    def _both(self, form: Form, sums: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
        if not sums:
            return Fraction(0), Fraction(0 if form.under is not None else 1)
        return form.over.of(sums), Fraction(1) if form.under is None else form.under.of(sums)

    def _weights(self, then: Sums, now: Sums) -> dict[int, tuple[Fraction, Fraction] | None]:
        """For each column: by what a row's share of the divisor counts, and what all is divided by."""
        found: dict[int, tuple[Fraction, Fraction] | None] = {}
        for place, form in self._forms.items():
            (over, under), (_, divisor) = self._both(form, then), self._both(form, now)
            if form.under is None:
                found[place] = Fraction(0), Fraction(1)
            else:
                found[place] = (over / under, divisor) if under and divisor else None
        return found

    def _amounts(self, row: JoinedRow, weights: Mapping[int, tuple[Fraction, Fraction] | None]) -> dict[int, Fraction]:
        values = exact_values(row.values)
        found: dict[int, Fraction] = {}
        for place, form in self._forms.items():
            weight = weights[place]
            if weight is not None:
                under = Fraction(0) if form.under is None else form.under.of(values)
                found[place] = (form.over.of(values) - weight[0] * under) / weight[1]
        return found

    # ------------------------------------------------------------ rows

    def _pairs(self, before: Sequence[JoinedRow], after: Sequence[JoinedRow]) -> list[_Pair]:
        """Joined rows that stand for each other: those of the same base rows.

        Then a group of an inner query, which may have lost or gained a row, and a row that no base row that changed
        tells of: each with the row of the other side that shares most base rows with it.
        """
        pairs, left, right = _of_same_rows(before, after)
        taken: set[int] = set()
        by_place = {id(row): row for row in (*left, *right)}
        for rows, others, of_after in ((right, left, True), (left, right, False)):
            sharing = _by_base_row(others)
            for row in rows:
                told = self._changed(*((None, row) if of_after else (row, None)))
                if id(row) in taken or (told and not _is_inner(row)):
                    continue
                shared = Counter(
                    id(each) for key in _keys(row) for each in sharing.get(key, ()) if id(each) not in taken
                )
                if shared:
                    partner = by_place[shared.most_common(1)[0][0]]
                    taken |= {id(row), id(partner)}
                    pairs.append((partner, row) if of_after else (row, partner))
        pairs += [(row, None) for row in left if id(row) not in taken]
        return pairs + [(None, row) for row in right if id(row) not in taken]

    def _rows(self, old: JoinedRow | None, new: JoinedRow | None) -> tuple[BaseRow, ...]:
        """The base rows that changed and that a joined row came, went or differs with; else all that it is made of."""
        found = self._changed(old, new)
        if found:
            return tuple(sorted(found))
        row, change = (new, "joined") if new is not None else (old, "left")
        assert row is not None, "one of them is there"
        found = self._of_partners(row, was=change == "joined")
        if found:
            return tuple(sorted(found))
        each_of = enumerate(self._tables)
        return tuple(sorted(BaseRow(table, each, change) for at, table in each_of for each in row.ids[at]))

    def _of_partners(self, row: JoinedRow, *, was: bool) -> set[BaseRow]:
        """The base rows that changed among those that a row was joined with, or is joined with now."""
        keys = _keys(row)
        rows = self._elsewhere[0 if was else 1].get(keys[0], ()) if keys else ()
        with_it = [each for each in rows if all(ids <= others for ids, others in zip(row.ids, each.ids, strict=True))]
        return set().union(*(self._changed(*((each, None) if was else (None, each))) for each in with_it))

    def _changed(self, old: JoinedRow | None, new: JoinedRow | None) -> set[BaseRow]:
        found: set[BaseRow] = set()
        for row, changed in ((old, self._before), (new, self._after)):
            for at, table in enumerate(self._tables if row is not None else ()):
                assert row is not None, "there are no tables otherwise"
                found |= {BaseRow(table, each, self._change(at, each)) for each in row.ids[at] & changed[at]}
        return found

    @property
    def tables(self) -> Sequence[str]:
        """The names of the tables."""
        return self._tables

    def change_of(self, table: str, row_id: int) -> str:
        """Return how a base row changed: ``came``, ``gone`` or ``differs``."""
        return self._change(self._tables.index(table), row_id)

    def _change(self, at: int, row_id: int) -> str:
        if row_id in self._gone[at]:
            return "gone"
        return "came" if row_id in self._came[at] else "differs"


def exact_values(values: Sequence[Any]) -> list[Fraction]:
    """Return numbers as fractions, NULL as 0: an aggregate leaves it out.

    Raises:
        ValueError: NaN or infinity, which no arithmetic splits, or no number.

    """
    return [exact(value) for value in values]


def exact(value: Any) -> Fraction:
    """Return a number as the fraction that it is; NULL as 0.

    Raises:
        ValueError: it is NaN, infinite, or no number.

    """
    if value is None:
        return Fraction(0)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError(f"{value!r} is no number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} has no exact value")
    return Fraction(value)


def _apart(before: Sequence[JoinedRow], after: Sequence[JoinedRow]) -> tuple[list[JoinedRow], list[JoinedRow]]:
    """Those of either side that the other does not have."""
    then, now = Counter(before), Counter(after)
    return list((then - now).elements()), list((now - then).elements())


def _of_same_rows(
    before: Sequence[JoinedRow], after: Sequence[JoinedRow]
) -> tuple[list[_Pair], list[JoinedRow], list[JoinedRow]]:
    """Pairs of the same base rows, and what is left of either side."""
    by_ids: dict[Ids, list[JoinedRow]] = defaultdict(list)
    for row in before:
        by_ids[row.ids].append(row)
    pairs: list[_Pair] = []
    left: list[JoinedRow] = []
    for row in after:
        if by_ids[row.ids]:
            pairs.append((by_ids[row.ids].pop(0), row))
        else:
            left.append(row)
    return pairs, [row for rows in by_ids.values() for row in rows], left


def _by_base_row(rows: Iterable[JoinedRow]) -> dict[tuple[int, int], list[JoinedRow]]:
    found: dict[tuple[int, int], list[JoinedRow]] = defaultdict(list)
    for row in rows:
        for key in _keys(row):
            found[key].append(row)
    return found


def _is_inner(row: JoinedRow) -> bool:
    return any(len(ids) > 1 for ids in row.ids)


def _keys(row: JoinedRow) -> list[tuple[int, int]]:
    return [(at, each) for at, ids in enumerate(row.ids) for each in sorted(ids)]
