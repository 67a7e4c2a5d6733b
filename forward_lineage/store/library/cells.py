"""The cells of saved arrays: read whole, and as rows with a column for each axis and one for the value."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.relations.segment import CorruptSegmentError
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved import SAVE_AGAIN
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import PART_COLUMNS, SavedModel

#: How Arrow and Spark have cells of a type that they do not have themselves, or call in another way.
_ARROW = {
    "|b1": (pa.bool_(), "boolean"),
    "|i1": (pa.int8(), "tinyint"),
    "<i2": (pa.int16(), "smallint"),
    "<i4": (pa.int32(), "int"),
    "<i8": (pa.int64(), "bigint"),
    "|u1": (pa.int16(), "smallint"),
    "<u2": (pa.int32(), "int"),
    "<u4": (pa.int64(), "bigint"),
    "<u8": (pa.decimal128(20, 0), "decimal(20,0)"),
    "<f2": (pa.float32(), "float"),
    "<f4": (pa.float32(), "float"),
    "<f8": (pa.float64(), "double"),
}
_PARTS = {"<c8": "<f4", "<c16": "<f8"}


def read_cells(saved: SavedArray, *, mapped: bool = False) -> npt.NDArray[np.generic]:
    """Return a saved array.

    Args:
        saved: it.
        mapped: leave the cells in the file until they are looked at; such an array cannot be written.

    Raises:
        DamagedError: the file is missing or another one; the message names it.

    """
    check_row_files(saved)
    path = saved.folder / saved.file.path
    try:
        found = np.load(path, mmap_mode="r" if mapped and saved.rows else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise CorruptSegmentError(f"{path} cannot be read ({error})", instead=SAVE_AGAIN) from None
    if not isinstance(found, np.ndarray) or (found.shape, found.dtype.str) != (saved.shape, saved.dtype):
        raise CorruptSegmentError(f"{path} is not the array that the manifest names", instead=SAVE_AGAIN)
    return found


def cell_columns(saved: SavedArray) -> tuple[tuple[str, str], ...]:
    """Return names and Spark types of the columns of an array's cells as rows.

    Example: of a matrix of floats ``axis0 bigint, axis1 bigint, value double``. A complex cell has `real` and `imag`.
    """
    axes = tuple((f"axis{axis}", "bigint") for axis in range(len(saved.shape)))
    return (*axes, *((name, _ARROW[dtype][1]) for name, dtype in _values(saved.dtype)))


@cache
def _values(dtype: str) -> tuple[tuple[str, str], ...]:
    part = _PARTS.get(dtype)
    return (("value", dtype),) if part is None else (("real", part), ("imag", part))


def thing_columns(saved: SavedArray | SavedModel) -> tuple[tuple[str, str], ...]:
    """Return names and Spark types of the columns of what stands for rows of a thing that queries cannot read."""
    return cell_columns(saved) if isinstance(saved, SavedArray) else PART_COLUMNS


def thing_rows(saved: SavedArray | SavedModel, numbers: npt.NDArray[np.int64] | None = None) -> pa.Table:
    """Return cells of an array, or parts of a model, as rows; see `thing_columns` and `cell_rows`."""
    if isinstance(saved, SavedArray):
        return cell_rows(saved, numbers)
    return saved.part_rows(np.arange(saved.rows) if numbers is None else numbers)


def cell_rows(saved: SavedArray, cells: npt.NDArray[np.int64] | None = None) -> pa.Table:
    """Return cells of an array as rows; see `cell_columns`.

    Args:
        saved: the array.
        cells: flat numbers of the cells, in the order wanted; None: all.

    Raises:
        DamagedError: as for `read_cells`.

    """
    wanted = np.arange(saved.rows) if cells is None else cells
    values = np.asarray(read_cells(saved, mapped=True)).reshape(-1)[wanted]
    places = np.unravel_index(wanted, saved.shape) if saved.shape else ()
    columns = {f"axis{axis}": pa.array(at.astype(np.int64)) for axis, at in enumerate(places)}
    for name, dtype in _values(saved.dtype):
        part = values if name == "value" else getattr(values, name)
        kind, _ = _ARROW[dtype]
        columns[name] = (
            pa.array(part.tolist(), kind) if dtype == "<u8" else pa.array(part.astype(kind.to_pandas_dtype()))
        )
    return pa.table(columns)
