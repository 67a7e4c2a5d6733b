"""Large arrays in files that are mapped: the system drops what is not read, where memory is short."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

#: Arrays of fewer bytes stay in memory.
LARGE = 1 << 24


class MappedArrays:
    """Puts arrays into files that have no name, so they go with the last array that reads them.

    Args:
        folder: where the files are.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return an array of the same numbers, in a file if it is large."""
        if array.nbytes < LARGE:
            return array
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            array.tofile(file)
            file.flush()
            return np.memmap(file, array.dtype, "r", shape=array.shape)

    def keep_column(self, column: pa.Array) -> pa.Array:
        """Return a column of the same values; numbers and dictionaries without NULL are in a file if they are large."""
        if column.null_count:
            return column
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(self.keep_column(column.indices), column.dictionary)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.nbytes < LARGE:
            return column
        kept = self.keep(column.to_numpy())
        return pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(kept)])
