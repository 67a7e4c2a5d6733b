"""What footers say of columns, against the values in the files."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage
from forward_lineage.sketches.statistics import ColumnStatistics, Group, statistics_of

ROWS = 1_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    day = dt.date(2020, 1, 1)
    columns = {
        "sorted": pa.array(range(ROWS)),
        "scattered": pa.array([i * 7919 % ROWS for i in range(ROWS)]),
        "gaps": pa.array([i if i % 3 else None for i in range(ROWS)]),
        "none": pa.nulls(ROWS, pa.int32()),
        "money": pa.array([Decimal(i) / 100 for i in range(ROWS)], pa.decimal128(12, 2)),
        "day": pa.array([day + dt.timedelta(days=i) for i in range(ROWS)]),
        "text": pa.array([f"{i:05}" for i in range(ROWS)]),
        "ratio": pa.array([i / ROWS for i in range(ROWS)]),
    }
    place = tmp_path / "rows"
    place.mkdir()
    pq.write_table(pa.table(columns), place / "part.parquet", row_group_size=100)
    return place


def test_bounds_are_those_of_the_values(lineage: ForwardLineage, folder: Path) -> None:
    found = statistics_of(lineage.register("t", path=folder))
    assert (found["sorted"].low, found["sorted"].high, found["sorted"].exact) == (0, ROWS - 1, True)
    assert (found["money"].low, found["money"].high) == (Decimal("0.00"), Decimal("9.99"))
    assert (found["day"].low, found["day"].high) == (dt.date(2020, 1, 1), dt.date(2022, 9, 26))
    assert found["gaps"].has_nulls and not found["sorted"].has_nulls
    assert (found["none"].low, found["none"].has_nulls) == (None, True)
    assert (found["text"].low, found["text"].exact) == ("00000", False)  # may have been cut short


def test_of_floats_nothing_is_known_since_nan_is_in_no_bound(lineage: ForwardLineage, folder: Path) -> None:
    assert "ratio" not in statistics_of(lineage.register("t", path=folder))


def test_overlap_tells_rows_in_order_from_scattered_ones(lineage: ForwardLineage, folder: Path) -> None:
    found = statistics_of(lineage.register("t", path=folder))
    assert found["sorted"].overlap == pytest.approx(0.1)
    assert found["scattered"].overlap > 0.8
    assert found["none"].overlap == 1.0


def test_neighbours_that_share_a_value_are_apart() -> None:
    groups = (Group(5, 0, 1, 3, 9), Group(5, 0, 3, 4, 9), Group(5, 5, None, None, 9))
    assert ColumnStatistics(groups, exact=True).overlap == 0.5


def test_a_column_that_a_file_lacks_is_not_known(lineage: ForwardLineage, folder: Path) -> None:
    pq.write_table(pa.table({"sorted": pa.array([1])}), folder / "other.parquet")
    found = statistics_of(lineage.register("t", path=folder))
    assert "sorted" in found and "money" not in found
