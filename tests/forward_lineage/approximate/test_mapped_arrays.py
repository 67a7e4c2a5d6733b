"""Large arrays in files without a name: the same numbers, from a file that nobody finds, and that goes with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.approximate import mapped_arrays
from forward_lineage.approximate.mapped_arrays import MappedArrays


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MappedArrays:
    monkeypatch.setattr(mapped_arrays, "LARGE", 1_000)
    return MappedArrays(tmp_path / "home")


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.float64])
def test_a_large_array_is_in_a_file_without_a_name(arrays: MappedArrays, kind: type, tmp_path: Path) -> None:
    given = np.arange(2_000).astype(kind)
    kept = arrays.keep(given)
    assert isinstance(kept, np.memmap)
    assert (kept.dtype, kept.tolist()) == (given.dtype, given.tolist())
    assert not kept.flags.writeable
    assert list((tmp_path / "home").iterdir()) == []
    small = np.arange(10)
    assert arrays.keep(small) is small


@pytest.mark.parametrize(
    "column",
    [
        pa.array(range(2_000), pa.int16()),
        pa.array(np.arange(2_000) / 7),
        pa.array(["a", "b", "c", "d"] * 500).dictionary_encode(),
    ],
)
def test_a_column_has_the_same_values(arrays: MappedArrays, column: pa.Array) -> None:
    kept = arrays.keep_column(column)
    assert kept.equals(column)
    data = kept.indices if pa.types.is_dictionary(kept.type) else kept
    assert data.buffers()[1].address != (column.indices if data is not kept else column).buffers()[1].address
    assert kept.slice(1_990).to_pylist() == column.slice(1_990).to_pylist()
    assert kept.take(pa.array([3, 1_999])).to_pylist() == column.take(pa.array([3, 1_999])).to_pylist()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([*range(2_000), None]),
        pa.array([True, False] * 1_000),
        pa.array(["text"] * 1_000),
        pa.array([1, 2, 3], pa.int64()),
        pa.array(["a", None] * 1_000).dictionary_encode(),
    ],
)
def test_other_columns_stay_as_they_are(arrays: MappedArrays, column: pa.Array) -> None:
    assert arrays.keep_column(column) is column


def test_a_part_of_an_array_is_kept_as_that_part(arrays: MappedArrays) -> None:
    whole = pa.array(range(4_000), pa.int32())
    assert arrays.keep_column(whole.slice(1_000, 2_000)).to_pylist() == list(range(1_000, 3_000))
    assert arrays.keep(np.arange(4_000)[::2]).tolist() == list(range(0, 4_000, 2))
