"""When a sketch is worth using."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest

from forward_lineage.columns.ranges import Partition
from forward_lineage.sketches.sketch_store import Capture
from forward_lineage.sketches.tuning import is_worth_it, rows_left

QUERY = SimpleNamespace(
    tables=[SimpleNamespace(name="t", size=900), SimpleNamespace(name="u", size=100)], size=1000
)  # of a query what is looked at


def captured(fragments: int, kept_size: int, milliseconds: int) -> Capture:
    sketch = Partition("t", "a", pa.array(range(99))).sketch(range(fragments))
    return Capture("q", "SELECT 1", None, (), (), (sketch,), milliseconds, 1000, kept_size)


@pytest.mark.parametrize(
    ("fragments", "kept_size", "milliseconds", "worth"),
    [
        (50, 790, 10, True),  # bytes are saved
        (50, 900, 9000, False),
        (2, 1000, 9000, True),  # none are, but hardly any rows are left
        (2, 1000, 900, False),  # of a query that takes no longer than its plan
        (20, 1000, 9000, False),
    ],
)
def test_bytes_or_rows_are_saved(fragments: int, kept_size: int, milliseconds: int, worth: bool) -> None:
    assert is_worth_it(captured(fragments, kept_size, milliseconds), QUERY) is worth  # type: ignore[arg-type]


def test_tables_without_a_sketch_keep_all_their_rows() -> None:
    assert rows_left(captured(10, 0, 0), QUERY) == pytest.approx(0.9 * 10 / 101 + 0.1)  # type: ignore[arg-type]
