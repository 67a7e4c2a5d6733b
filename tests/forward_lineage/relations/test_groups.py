"""The rows of each group, group after group, however many groups there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.relations import groups
from forward_lineage.relations.groups import by_group, narrowest


@pytest.mark.parametrize(("batch", "many"), [(1, 100), (3, 100), (1 << 16, 100), (3, 2)])
@given(st.lists(st.integers(0, 4)), st.sampled_from(["uint8", "int64"]))
def test_rows_are_listed_by_group(batch: int, many: int, of: list[int], kind: str) -> None:
    order = np.empty(len(of), np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "BATCH", batch)
        patch.setattr(groups, "_MANY", many)
        starts = by_group(np.array(of, kind), 6, order)
    for group in range(6):
        expected = [row for row, each in enumerate(of) if each == group]
        assert order[starts[group] : starts[group + 1]].tolist() == expected
    assert starts.size == 7 and starts[-1] == len(of)


def test_narrowest() -> None:
    assert [narrowest(most).name for most in (0, 255, 256, 65535, 65536)] == [
        "uint8",
        "uint8",
        "uint16",
        "uint16",
        "uint32",
    ]
