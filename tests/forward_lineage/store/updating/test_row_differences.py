"""Values of two versions of a result are compared bit by bit."""

from __future__ import annotations

import pyarrow as pa
import pytest

from forward_lineage.store.updating.row_differences import _differ

NAN = float("nan")


@pytest.mark.parametrize(
    ("kind", "one", "other", "differs"),
    [
        (pa.float64(), [0.0, NAN, 1.0, None], [-0.0, NAN, None, None], [True, False, True, False]),
        (pa.float32(), [0.0, 1.5], [-0.0, 1.5], [True, False]),
        (pa.string(), ["a", "", None], ["A", None, None], [True, True, False]),
        (pa.int64(), [1, 2], [1, 3], [False, True]),
        (pa.list_(pa.float64()), [[0.0], [1.0], None], [[-0.0], [1.0], []], [True, False, True]),
        (pa.bool_(), [], [], []),
    ],
)
def test_values(kind: pa.DataType, one: list[object], other: list[object], differs: list[bool]) -> None:
    assert _differ(pa.array(one, kind), pa.array(other, kind)).tolist() == differs


def test_another_type() -> None:
    assert _differ(pa.array([1], pa.int32()), pa.array([1], pa.int64())).tolist() == [True]
