"""The part of a query's result that ORDER BY and LIMIT determine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import DataFrame
from sqlglot import exp

from forward_lineage.checking.comparison import compare_bags, is_within, ordered_alike
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.results import Result, collect, failure_of, json_of
from forward_lineage.checking.values import Value
from forward_lineage.frontend import parse
from forward_lineage.frontend.dialect import print_sql
from udafs.errors import LineageError

RunSql = Callable[[str], DataFrame]


@dataclass
class Expected:
    """The answer of plain Spark, and how far it had a choice.

    Attributes:
        sql: the query.
        plain: what it gave.
        run: runs plain SQL; asked only where the rows of another run differ.

    """

    sql: str
    plain: Result
    run: RunSql
    _tree: exp.Expr | None = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._tree = parse(self.sql).tree
        except LineageError:
            self._tree = None

    def compare(self, found: Sequence[Value]) -> Rows:
        """Compare the rows of another run with those of plain Spark."""
        wanted = self.plain.rows
        rows = compare_bags(wanted, found)
        if rows is not Rows.DIFFERENT:
            return rows if self._in_order(found) else Rows.DIFFERENT
        fits = self.is_cut and len(wanted) == len(found) and self._fits(found)
        return Rows.UNDETERMINED if fits else Rows.DIFFERENT

    @property
    def is_cut(self) -> bool:
        """Whether LIMIT or OFFSET cuts the result."""
        return self._tree is not None and any(self._tree.args.get(word) for word in ("limit", "offset"))

    def _in_order(self, found: Sequence[Value]) -> bool:
        wanted = self.plain.rows
        if self._order is None or list(wanted) == list(found) or len(self._keys) != len(wanted):
            return True
        return ordered_alike(wanted, found, self._keys)

    def _fits(self, found: Sequence[Value]) -> bool:
        """Whether rows that differ were left to Spark: they tie with those that plain Spark took."""
        keys = self._keys or [""] * len(found)
        if len(keys) != len(found):
            return False
        runs = list(_runs(keys))
        if self._whole is None:
            return self._equal_between_cuts(found, runs)
        tied: dict[str, list[Value]] = defaultdict(list)
        for row, key in zip(*self._whole, strict=True):
            tied[key].append(row)
        return all(is_within(found[start:end], tied[keys[start]]) for start, end in runs)

    def _equal_between_cuts(self, found: Sequence[Value], runs: Sequence[tuple[int, int]]) -> bool:
        """Compare what ties with nothing that was cut off, where the rows that were cut off cannot be had."""
        assert self._tree is not None
        first = 1 if self._tree.args.get("offset") else 0
        wanted = self.plain.rows
        return all(compare_bags(wanted[a:b], found[a:b]) is not Rows.DIFFERENT for a, b in runs[first:-1])

    @property
    def _order(self) -> Sequence[exp.Expr] | None:
        order = None if self._tree is None else self._tree.args.get("order")
        return order.expressions if isinstance(order, exp.Order) else None

    @cached_property
    def _keys(self) -> list[str]:
        """The sort key of each row of the result, in its order; none where they cannot be had."""
        return self._keys_of(self._tree.copy()) if self._tree is not None and self._order else []

    @cached_property
    def _whole(self) -> tuple[Sequence[Value], list[str]] | None:
        """The rows that LIMIT and OFFSET cut, with their sort keys; None where they cannot be had, being too many."""
        assert self._tree is not None
        tree = self._tree.copy()
        tree.set("limit", None)
        tree.set("offset", None)
        try:
            rows = collect(self.run(print_sql(tree.copy()))).rows
        except Exception as error:  # whatever Spark says, the question stays open
            failure_of(error)
            return None
        keys = self._keys_of(tree) if self._keys else [""] * len(rows)
        return (rows, keys) if len(keys) == len(rows) else None

    def _keys_of(self, tree: exp.Expr) -> list[str]:
        try:
            places = [self._place(tree, ordered.this) for ordered in tree.args["order"].expressions]
            return json_of(self.run(print_sql(tree)), places)
        except Exception as error:  # as above
            failure_of(error)
            return []

    def _place(self, tree: exp.Expr, key: exp.Expr) -> int:
        """The column that holds a sort key; one more is selected where none does."""
        names = [name.lower() for name, _ in self.plain.columns]
        if isinstance(key, exp.Literal) and not key.is_string:
            return int(key.name) - 1
        if isinstance(key, exp.Column) and not key.table and names.count(key.name.lower()) == 1:
            return names.index(key.name.lower())
        group = tree.args.get("group")
        if not isinstance(tree, exp.Select) or (group is not None and group.args.get("all")):
            raise LookupError("one column more would make other rows")
        added = len(tree.expressions)
        tree.append("expressions", exp.alias_(key.copy(), f"__check_key_{added}"))
        # Columns before it are counted from the end: stars are several.
        return sum(1 for each in tree.expressions if each.alias.startswith("__check_key_")) - 1 + len(names)


def _runs(keys: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for end in range(1, len(keys) + 1):
        if end == len(keys) or keys[end] != keys[start]:
            yield start, end
            start = end
