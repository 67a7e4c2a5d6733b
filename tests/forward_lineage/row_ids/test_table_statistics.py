"""What files tell of a table: near enough to choose by, whatever the order of its rows."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.table_statistics import FileStatistics

ROWS = 400_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> FileStatistics:
    """Two files of eight row groups each, in the order of days, with tickets of ten rows."""
    chance, at = np.random.default_rng(7), np.arange(ROWS)
    first = datetime.date(2000, 1, 1).toordinal()
    table = pa.table(
        {
            "id": at * 17,
            "day": pa.array([datetime.date.fromordinal(first + each // 400) for each in at]),
            "ticket": at // 10,
            "Customer": chance.integers(0, 50_000, ROWS // 10).repeat(10),
            "shop": chance.integers(0, 12, ROWS),
            "far_apart": chance.choice([1, 1_000_000_000], ROWS),
            "word": pa.array([f"w{each}" for each in chance.integers(0, 300, ROWS)]),
            "tags": pa.array([[1]] * ROWS),
            "none": pa.nulls(ROWS, pa.int64()),
        }
    )
    folder = tmp_path_factory.mktemp("large")
    files = []
    for number in range(2):
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(number * ROWS // 2, ROWS // 2), path, row_group_size=ROWS // 16)
        files.append(DataFile(str(path), 1, 1, 1))
    return FileStatistics(tuple(files), ROWS)


@pytest.mark.parametrize(
    ("column", "wanted", "off"),
    [
        ("id", ROWS, 1.0),
        ("day", 1_000, 1.01),
        ("ticket", 40_000, 1.01),
        ("customer", 27_500, 2.0),  # of 50,000 that might have come
        ("shop", 12, 1.0),
        ("far_apart", 2, 1.0),
        ("word", 300, 1.0),
    ],
)
def test_different_values(large: FileStatistics, column: str, wanted: float, off: float) -> None:
    found = large.distinct([column])
    assert found is not None
    assert wanted / off <= found <= wanted * off


def test_combinations(large: FileStatistics) -> None:
    assert large.distinct(["shop", "far_apart"]) == 24
    assert large.distinct(["id", "shop"]) == ROWS
    assert large.distinct(["SHOP", "no such column"]) == 12
    assert large.distinct(["no such column"]) is None


def test_shares(large: FileStatistics) -> None:
    day, shop, word = (large.column(each) for each in ("day", "shop", "word"))
    assert day is not None
    assert shop is not None
    assert word is not None
    assert 0.05 < day.share_between("2000-01-01", "2000-04-09") < 0.2
    assert 0.2 < shop.share_between("3", "5") < 0.3
    assert 0 < shop.share_between("100", None) < 0.001  # never nothing
    assert 0.3 < word.share_between(None, "w2") < 0.5
    assert day.share_between("not a day", None) == 1
    assert 1 / 13 < shop.most_frequent < 1 / 11


@pytest.mark.parametrize("column", ["tags", "no such column"])
def test_what_is_not_known(large: FileStatistics, column: str) -> None:
    assert large.column(column) is None


def test_columns_of_nulls_and_files_that_are_gone(large: FileStatistics, tmp_path: Path) -> None:
    none = large.column("none")
    assert none is not None
    assert none.distinct >= 1
    gone = FileStatistics((DataFile(str(tmp_path / "gone.parquet"), 1, 1, 1),), 10)
    assert gone.column("a") is None
    assert gone.distinct(["a", "b"]) is None


def test_a_small_table_is_read_whole(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 1, 2, None], "s": ["a", "b", "b", "b"]}), tmp_path / "t.parquet")
    small = FileStatistics((DataFile(str(tmp_path / "t.parquet"), 1, 1, 1),), 4)
    assert small.distinct(["s"]) == 2
    assert small.distinct(["k", "s"]) == 4
    column = small.column("s")
    assert column is not None
    assert column.most_frequent == 0.75
