"""Inclusions: what rows have in some attributes, rows of another table have in theirs."""

from __future__ import annotations

import numpy as np

from forward_lineage.frontend.constraints import Inclusion, names_apart
from forward_lineage.profiling.codes import grouped
from forward_lineage.profiling.constraint_check import ROWS, Check, Checked, Columns
from forward_lineage.profiling.joint import check_comparable, joined, of_rows, ranked
from forward_lineage.profiling.queries import missing_sql
from forward_lineage.profiling.violation_graph import Found


class InclusionCheck(Check):
    """A NULL is in no table and misses from none; where it is equal to itself, it must be there, too."""

    def __init__(self, inclusion: Inclusion) -> None:
        self.attributes = inclusion.attributes
        self.others = inclusion.table, inclusion.others

    def run(self, columns: Columns, others: Columns | None, *, nulls_equal: bool) -> Checked:
        """Find the violations."""
        assert others is not None and self.others is not None, "an inclusion is in a table"
        there = self.others[1]
        for mine, theirs in zip(self.attributes, there, strict=True):
            check_comparable((mine, columns.kind(mine)), (theirs, others.kind(theirs)))
        left = [columns.codes(each) for each in self.attributes]
        right = [others.codes(each) for each in there]
        groups = grouped(left, nulls_equal=nulls_equal)
        present = np.zeros(groups.count, np.bool_)
        example = np.zeros(groups.count, np.int64)
        rows = np.arange(groups.of.size) if groups.known is None else np.flatnonzero(groups.known)
        present[groups.of[rows]] = True
        example[groups.of[rows]] = rows
        ranks = [ranked(mine, theirs) for mine, theirs in zip(left, right, strict=True)]
        inside = np.flatnonzero(present)
        asked, known, count = joined(
            [of_rows(rank, each.codes[example[inside]]) for (rank, _), each in zip(ranks, left, strict=True)],
            [of_rows(rank, each.codes) for (_, rank), each in zip(ranks, right, strict=True)],
            (inside.size, others.captured.rows),
        )
        there_is = np.zeros(count, np.bool_)
        there_is[known] = True
        bad = np.zeros(groups.count, np.bool_)
        bad[inside] = ~there_is[asked]
        names = names_apart([each.name for each in self.attributes])
        (number,) = names_apart([ROWS], names)
        tables = columns.manifest.name, others.manifest.name
        sql = missing_sql(tables, (self.attributes, there), (names, number), nulls_equal=nulls_equal)
        return Checked("inclusion", sql, Found(groups, bad, left, columns.captured.ids))
