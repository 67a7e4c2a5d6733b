"""Violations against what the words say, row by row: the groups, their rows, their order, the values in them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.profiling import conflicts
from forward_lineage.profiling.codes import both, grouped
from forward_lineage.profiling.conflicts import Violations, disagreeing
from tests.forward_lineage.profiling.random_columns import codes_of, relations


@pytest.mark.parametrize("batch", [1, 3, 1 << 16])
@given(relations(3), st.booleans())
def test_dependencies(batch: int, columns: list[list[int | None]], nulls_equal: bool) -> None:
    *left, right = columns
    coded = codes_of(right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conflicts, "BATCH", batch)
        groups = grouped([codes_of(each) for each in left], nulls_equal=nulls_equal)
        known = groups.known if nulls_equal else both(groups.known, coded.known())
        found = Violations.of(groups, disagreeing(groups, coded.codes, known))
    rows: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*left, strict=True)):
        if nulls_equal or None not in key:
            rows[key].append(row)
    values = {key: {right[row] for row in rows[key]} - (set() if nulls_equal else {None}) for key in rows}
    expected = sorted((key for key in rows if len(values[key]) > 1), key=lambda key: (-len(rows[key]), rows[key][0]))
    assert found.count == len(expected)
    assert [found.rows(place).tolist() for place in range(found.count)] == [rows[key] for key in expected]
    assert found.examples().tolist() == [rows[key][0] for key in expected]
    different = found.different(coded, nulls_equal=nulls_equal)
    assert different.tolist() == [len(values[key]) for key in expected]


@given(relations(2), st.booleans())
def test_keys(columns: list[list[int | None]], nulls_equal: bool) -> None:
    groups = grouped([codes_of(each) for each in columns], nulls_equal=nulls_equal)
    rows = list(zip(*columns, strict=True))
    found = Violations.of(groups, disagreeing(groups, np.arange(len(rows)), groups.known))
    several = {row for row in rows if rows.count(row) > 1 and (nulls_equal or None not in row)}
    assert sorted(found.order.tolist()) == [place for place, row in enumerate(rows) if row in several]
    assert found.count == len(several)
