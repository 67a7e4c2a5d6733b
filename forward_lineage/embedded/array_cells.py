"""The cells of a saved array, or parts of a model, as rows of a file, as `parquet_rows` has those of Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.store.library.cells import thing_rows
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel

_AT_ONCE = 1 << 20  # cells that conditions are decided over at a time


@dataclass(frozen=True)
class CellRows:
    """The cells of an array, or the parts of a model; the methods are those of `DataFileRows`.

    Attributes:
        saved: the array or model.
        first: the number of its first cell.

    """

    saved: SavedArray | SavedModel
    first: int = 0

    @property
    def path(self) -> str:
        """Where the cells are."""
        return str(self.saved.folder / self.saved.content_files[0].path)

    @property
    def rows(self) -> int:
        """How many cells there are."""
        return self.saved.rows

    def batches(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Yield the columns of some cells after others, each with the number of the first."""
        for at in range(0, self.rows, _AT_ONCE):
            found = self.picked(np.arange(at, min(at + _AT_ONCE, self.rows)), columns)
            yield at, {name: found.column(name).combine_chunks() for name in columns}

    def picked(self, places: npt.NDArray[np.int64], columns: Mapping[str, pa.DataType]) -> pa.Table:
        """Return cells by their numbers, ascending."""
        return thing_rows(self.saved, places).select(list(columns)).cast(pa.schema(list(columns.items())))
