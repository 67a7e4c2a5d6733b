"""The rows of a result that a question is about: looked up if its condition compares columns with values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.frontend.consuming import Condition
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.asking.result_rows import ResultRows
from forward_lineage.store.asking.rows import Asked
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.workloads.comparable_values import OtherKindError, check_comparable, value_of
from forward_lineage.workloads.shape import Compared, column_text, compared_with, parts_of

_MOST_ROWS = 1 << 16
_MOST_KEPT = 1 << 10
_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date")


class ChosenBars:
    """Rows of results by conditions.

    Args:
        rows: asks Spark where a condition says more.

    """

    def __init__(self, rows: ResultRows) -> None:
        self._rows = rows
        self._indexes: dict[str, dict[str, tuple[pa.DataType, dict[Any, list[int]]]]] = {}
        self._conditions: dict[tuple[str, str], tuple[Compared, ...] | None] = {}
        self._asked: OrderedDict[tuple[str, str, str], Sequence[int]] = OrderedDict()
        self._lasting: dict[tuple[str, str], bool] = {}

    def of(self, saved: SavedResult, condition: Condition | None, args: Arguments) -> Sequence[int]:
        """Return the numbers of the rows for which a condition holds, ascending.

        Raises:
            LineageError: Spark's own complaint about it; a file is damaged.

        """
        if condition is None:
            return range(saved.rows) if saved.ids_end is None else saved.numbers().ids().tolist()
        try:
            return self._looked_up(saved, condition, args)
        except OtherKindError:
            pass
        key = saved.data, condition.text, repr(args)
        if key not in self._asked:
            found = self._computed(saved, condition, args)
            if not self._is_lasting(saved, condition, args):
                return found
            self._asked[key] = found
            if len(self._asked) > _MOST_KEPT:
                self._asked.popitem(last=False)
        return self._asked[key]

    def _computed(self, saved: SavedResult, condition: Condition, args: Arguments) -> Sequence[int]:
        return [int(each) for each in self._rows.of(saved).where(_asked(saved, condition, args))]

    def _is_lasting(self, saved: SavedResult, condition: Condition, args: Arguments) -> bool:
        """Whether a condition holds for the same rows whenever it is asked."""
        key = saved.data, condition.text
        if key not in self._lasting:
            self._lasting[key] = self._rows.of(saved).depends_on(_asked(saved, condition, args)) is None
        return self._lasting[key]

    def _looked_up(self, saved: SavedResult, condition: Condition, args: Arguments) -> Sequence[int]:
        index = self._index(saved)
        found: set[int] | None = None
        for each in self._parts(saved, condition):
            if each.operator != "=" or each.expression not in index:
                raise OtherKindError
            kind, places = index[each.expression]
            value = value_of(each.with_what, args)
            if value is not None:
                check_comparable(kind, value)
            mine = set() if value is None else set(places.get(value, ()))
            found = mine if found is None else found & mine
        return sorted(found or ())

    def _parts(self, saved: SavedResult, condition: Condition) -> tuple[Compared, ...]:
        """The comparisons that a condition is made of.

        Raises:
            OtherKindError: it is made of something else, too.

        """
        key = saved.name, condition.text
        if key not in self._conditions:
            tree = parse(f"SELECT 1 FROM {saved.name} WHERE ({condition.text})").tree
            parts = [list(compared_with(each, saved.name)) for each in parts_of(tree.args["where"].this)]
            whole = all(parts) and not tree.find(exp.Subquery)
            self._conditions[key] = tuple(each for part in parts for each in part) if whole else None
        known = self._conditions[key]
        if known is None:
            raise OtherKindError
        return known

    def _index(self, saved: SavedResult) -> dict[str, tuple[pa.DataType, dict[Any, list[int]]]]:
        """For each column of few rows, and a type that compares as Python does, the rows of each value."""
        if saved.rows > _MOST_ROWS:
            raise OtherKindError
        if saved.data not in self._indexes:
            check_row_files(saved)
            table = pa.concat_tables([pq.read_table(saved.folder / file.path) for file in saved.row_files])
            found: dict[str, tuple[pa.DataType, dict[Any, list[int]]]] = {}
            for (name, kind), column in zip(saved.columns, table.columns, strict=True):
                if kind in _TYPES:
                    places: dict[Any, list[int]] = {}
                    for row, value in zip(saved.numbers(), column.to_pylist(), strict=True):
                        if value is not None:
                            places.setdefault(value, []).append(row)
                    found[column_text(name)] = column.type, places
            self._indexes[saved.data] = found
        return self._indexes[saved.data]


def _asked(saved: SavedResult, condition: Condition, args: Arguments) -> Asked:
    """The condition, with the values of its own parameters."""
    given = [args[mark] for mark in condition.marks if mark < len(args)] if isinstance(args, list) else args
    return Asked(condition.text, condition.at, saved.name, given)
