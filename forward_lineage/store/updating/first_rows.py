"""The first rows of a query in an order, when rows came: those of before and new ones, sorted as Spark sorts them.

    SELECT item, n FROM sales ORDER BY n DESC LIMIT 3
    saved: 9, 7, 4      came: 8, 1      now: 9, 8, 7

Values are compared as Spark compares them: texts by their bytes, NULL first or last as the query says.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from forward_lineage.store.library.made_of import SortKey
from forward_lineage.store.updating.joining_rows import NotProvableError, is_comparable
from forward_lineage.store.updating.reading_order import reading_order

Row = Sequence[Any]


@dataclass(frozen=True)
class FirstRows:
    """How many rows a query gives, and in which order.

    Attributes:
        order: what they are sorted by.
        count: how many.

    """

    order: tuple[SortKey, ...]
    count: int

    def of(self, rows: Sequence[Row]) -> list[int]:
        """Return the places of the first ones of some rows, in order.

        Raises:
            NotProvableError: of two equal ones only one is among them, and which is not known.

        """
        places = list(range(len(rows)))
        for column in reversed(self.order):
            places = _sorted(places, rows, column)
        if self.count < len(places):
            last, next_one = (
                [rows[place][each.column] for each in self.order] for place in places[self.count - 1 :][:2]
            )
            if last == next_one:
                raise NotProvableError("the last of its first rows has an equal one")
        return places[: self.count]


def first_rows(tree: exp.Expr, columns: Sequence[str], went: Collection[str] | None) -> FirstRows:
    """Return which rows of all a query gives.

    Args:
        tree: the query, which has ORDER BY and LIMIT.
        columns: the names of its columns.
        went: tables whose rows went or differ, and can still be read as they were; None: some cannot.

    Raises:
        NotProvableError: its columns do not tell the order, or its lineage does not tell what is touched.

    """
    if went is None and _loses_parts(tree):
        raise NotProvableError("a group that LIMIT kept out may be another one when rows go")
    limit = tree.args["limit"].expression
    if not (isinstance(limit, exp.Literal) and limit.is_int and int(limit.name) > 0):
        raise NotProvableError("how many rows LIMIT lets through is computed")
    return FirstRows(reading_order(tree, columns), int(limit.name))


def _loses_parts(tree: exp.Expr) -> bool:
    """Whether what LIMIT kept out may be another row when it has lost rows."""
    return tree.find(exp.Group, exp.Window) is not None


def _sorted(places: Sequence[int], rows: Sequence[Row], column: SortKey) -> list[int]:
    def value(place: int) -> Any:
        found = rows[place][column.column]
        return found.encode() if isinstance(found, str) else found

    nulls = [place for place in places if rows[place][column.column] is None]
    others = sorted((p for p in places if rows[p][column.column] is not None), key=value, reverse=column.descending)
    return [*nulls, *others] if column.nulls_first else [*others, *nulls]


def check_order(first: FirstRows, kinds: Sequence[str]) -> None:
    """Check that the columns that rows are sorted by are of types whose order is known.

    Raises:
        NotProvableError: one is not.

    """
    for each in first.order:
        kind = kinds[each.column]
        if not is_comparable(kind):
            raise NotProvableError(f"its order is by values of type {kind}")
