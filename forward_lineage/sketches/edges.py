"""The edge of a top-k: whether the last row that is returned ties with the first one that is not.

Where they tie Spark may return either, over a sketch and over all rows, and no answer could be told from a wrong one.
So a sketch of such a query counts only if there was seen to be no tie (`RunTimeCheck`). The query is captured with a
limit one higher and the keys of its order beside its columns. The row behind the edge is in the sketch then,
too: it holds a little more than it needs.   [Niu 2022, §3, breaks ties by all columns; Spark does not]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlglot import exp

from forward_lineage.frontend import Statement, print_sql
from forward_lineage.sketches.safety.verdicts import RunTimeCheck

_KEY = "__edge"
_COMPARED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_string, pa.types.is_date)
_COMPARED_TOO = (pa.types.is_timestamp, pa.types.is_boolean, pa.types.is_large_string)


@dataclass(frozen=True)
class Widened:
    """A top-k query with its limit one higher.

    Attributes:
        sql: it.
        keys: the names of those of its columns that are the keys of its order, in lower case.

    """

    sql: str
    keys: tuple[str, ...]

    def is_tied(self, rows: pa.Table, checks: Sequence[RunTimeCheck]) -> bool:
        """Say whether an edge cannot be told from what is behind it.

        Args:
            rows: of the widened query, in its order.
            checks: where the edges are.

        """
        names = [name.lower() for name in rows.column_names]
        if any(names.count(key) != 1 for key in self.keys):
            return True
        columns = [rows.column(names.index(key)) for key in self.keys]
        if not all(any(is_kind(each.type) for is_kind in (*_COMPARED, *_COMPARED_TOO)) for each in columns):
            return True  # of other types it is not known when two values are one
        for check in checks:
            if rows.num_rows > check.row and all(_same(each[check.row - 1], each[check.row]) for each in columns):
                return True
        return False


def widened(statement: Statement, checks: Sequence[RunTimeCheck]) -> Widened | None:
    """Return a query with room for the row behind its last edge; None where its keys are not to be had.

    Args:
        statement: a query with LIMIT.
        checks: where its edges are.

    """
    tree = statement.tree.copy()
    if not isinstance(tree, exp.Query):
        return None
    order = tree.args.get("order")
    keys: list[str] = []
    for ordered in order.expressions if order is not None else []:
        key = _key_of(tree, ordered.this, f"{_KEY}{len(keys)}")
        if key is None:
            return None
        keys.append(key)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(max(check.row for check in checks) + 1)))
    tree.set("offset", None)
    return Widened(print_sql(tree), tuple(keys))


def _key_of(tree: exp.Query, key: exp.Expr, fresh: str) -> str | None:
    """The name of the column that a key is; of one that is added where there is none yet."""
    names = [each.output_name.lower() for each in tree.selects]
    if isinstance(key, exp.Literal) and not key.is_string:
        place = int(key.name) - 1
        has_star = any(each.is_star for each in tree.selects)
        return names[place] or None if 0 <= place < len(names) and not has_star else None
    if isinstance(key, exp.Column) and not key.table and names.count(key.name.lower()) == 1:
        return key.name.lower()
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") or _names_an_item(key, names):
        return None
    tree.append("expressions", exp.alias_(key.copy(), fresh))
    return fresh


def _names_an_item(key: exp.Expr, names: Sequence[str]) -> bool:
    """Whether a key is written in terms of the select list, which means something else within it."""
    return any(column.name.lower() in names for column in key.find_all(exp.Column))


def _same(a: pa.Scalar, b: pa.Scalar) -> bool:
    one, other = a.as_py(), b.as_py()
    return bool(one == other) or (_is_nan(one) and _is_nan(other))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
