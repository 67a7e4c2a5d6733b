"""Groups that rows came to, without the rows that they had: sums, counts and extremes are added to those of before.

    SELECT city, count(*), sum(n) FROM sales JOIN shops USING (shop) GROUP BY city
    of rows that came in `sales`:   SELECT city, count(*), sum(n) FROM <new rows> AS sales JOIN shops … GROUP BY city

Only whole numbers and decimals are added. Of floating point numbers the sum depends on the order, which is another one.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from forward_lineage.frontend.row_values import is_of_one_row
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating.joining_rows import NotProvableError
from forward_lineage.store.updating.replacement_rules import Added, added_rows

KEY = "key"
_ADDED = {"sum", "count"}
_EXTREMES: dict[str, Callable[..., Any]] = {"min": min, "max": max}
_MOST = 2**63
_DIGITS = 80  # more than two sums of 38 have


@dataclass(frozen=True)
class Growing:
    """A query with groups, whose columns can be told from those of before and those of rows that came.

    Attributes:
        places: where rows that came join, each with the groups of these alone.
        columns: of each column `KEY`, or what it is: ``sum``, ``count``, ``min`` or ``max``.

    """

    places: tuple[Added, ...]
    columns: tuple[str, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the columns that tell groups apart; none where all rows are one group."""
        return tuple(place for place, column in enumerate(self.columns) if column == KEY)


def growing(tree: exp.Expr, changed: Collection[str]) -> Growing:
    """Return how the groups of a query grow, if rows only came.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.

    Raises:
        NotProvableError: what its groups were does not tell what they are with more rows.

    """
    if not isinstance(tree, exp.Select):
        raise NotProvableError("it has more than groups")
    joined.refuse_parts(tree, joined.KEEP_ALL - {"distinct", "windows"})
    group = tree.args.get("group")
    if group is not None:
        joined.refuse_parts(group, {"expressions"})
    by = [] if group is None else [_meant(each, tree) for each in group.expressions]
    columns = tuple(_column(item.unalias(), by) for item in tree.expressions)
    items = [item.unalias() for item in tree.expressions]
    if any(each not in items for each in by):
        raise NotProvableError("its columns do not tell all its groups apart")
    return Growing(tuple(added_rows(tree, 0, {name.lower() for name in changed})), columns)


def _meant(by: exp.Expr, select: exp.Select) -> exp.Expr:
    """The columns that GROUP BY names by place. Another name may be a column's, and that of an item as well."""
    if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(select.expressions):
        meant: exp.Expr = select.expressions[int(by.name) - 1].unalias()
        return meant
    return by


def _column(item: exp.Expr, by: list[exp.Expr]) -> str:
    if item in by and is_of_one_row(item) and not item.is_star:
        return KEY
    call, condition = (item.this, item.expression.this) if isinstance(item, exp.Filter) else (item, None)
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    if name not in _ADDED | _EXTREMES.keys() or len(call.expressions) != 1:
        raise NotProvableError("it has more than keys, and sums, counts and extremes of their groups")
    if not all(map(is_of_one_row, filter(None, [call.expressions[0], condition]))):
        raise NotProvableError("it sums up more than values of a row")
    return name


def grown(columns: Sequence[str], kinds: Sequence[str], then: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a group that has more rows.

    Args:
        columns: see `Growing`.
        kinds: the types of the columns, as Spark names them.
        then: the values of before.
        more: those of the rows that came.

    Raises:
        NotProvableError: a sum is too large for its type, or it is not known whether it was.

    """
    return tuple(map(_grown, columns, kinds, then, more))


def _grown(column: str, kind: str, then: Any, more: Any) -> Any:
    if column == KEY or more is None:
        return then
    if then is None:
        if column == "sum" and kind.startswith("decimal"):
            raise NotProvableError("a sum is NULL, which may mean that it was too large")
        return more
    return _EXTREMES[column](then, more) if column in _EXTREMES else _sum(kind, then, more)


def _sum(kind: str, then: Any, more: Any) -> Any:
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        found = then + more
        sized = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
        if abs(found) >= (10 ** (int(sized[1]) - int(sized[2])) if sized else _MOST):
            raise NotProvableError("a sum may be too large for its type")
    return found


def check_kinds(columns: Sequence[str], kinds: Sequence[str]) -> None:
    """Check that values of columns can be compared, or added in any order.

    Raises:
        NotProvableError: those of one cannot.

    """
    for column, kind in zip(columns, kinds, strict=True):
        exact = kind in joined.INTEGERS or kind.startswith("decimal(")
        if not (exact if column in _ADDED else joined.is_comparable(kind)):
            raise NotProvableError(f"{column} of type {kind} is not added to")
