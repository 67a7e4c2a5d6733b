"""Dependencies and keys: rows that agree on some attributes agree on others, or are one row."""

from __future__ import annotations

import numpy as np

from forward_lineage.frontend.constraints import Dependency, Key, names_apart
from forward_lineage.profiling.codes import both, grouped
from forward_lineage.profiling.conflicts import disagreeing
from forward_lineage.profiling.constraint_check import ROWS, Check, Checked, Columns
from forward_lineage.profiling.queries import GroupedRows, disagreeing_sql, repeated_sql
from forward_lineage.profiling.violation_graph import Found


class DependencyCheck(Check):
    """X → A, B is X → A and X → B: a NULL in A says nothing of B."""

    def __init__(self, dependency: Dependency) -> None:
        self._left, self._right = dependency.left, dependency.right
        self.attributes = (*self._left, *self._right)

    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations."""
        left = [columns.codes(each) for each in self._left]
        right = [columns.codes(each) for each in self._right]
        groups = grouped(left, nulls_equal=nulls_equal)
        bad = np.zeros(groups.count, np.bool_)
        for each in right:
            known = groups.known if nulls_equal else both(groups.known, each.known())
            bad |= disagreeing(groups, each.codes, known)
        names = names_apart([each.name for each in self._left])
        rows, *counts = names_apart([ROWS, *(f"{each.name}_values" for each in self._right)], names)
        sql = disagreeing_sql(
            GroupedRows(columns.manifest.name, self._left, names, rows, nulls_equal),
            dict(zip(counts, self._right, strict=True)),
        )
        told = dict(zip(names_apart([each.name for each in self._right]), right, strict=True))
        found = Found(groups, bad, left, columns.captured.ids, told, nulls_equal=nulls_equal)
        return Checked("dependency", sql, found, counts)


class KeyCheck(Check):
    """Rows are numbered, and those that agree on the key must agree on the number."""

    def __init__(self, key: Key) -> None:
        self.attributes = key.attributes

    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations."""
        left = [columns.codes(each) for each in self.attributes]
        groups = grouped(left, nulls_equal=nulls_equal)
        bad = disagreeing(groups, np.arange(columns.captured.rows), groups.known)
        names = names_apart([each.name for each in self.attributes])
        (rows,) = names_apart([ROWS], names)
        sql = repeated_sql(GroupedRows(columns.manifest.name, self.attributes, names, rows, nulls_equal))
        return Checked("key", sql, Found(groups, bad, left, columns.captured.ids))
