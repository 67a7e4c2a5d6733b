"""The files that may have a value in a column: a superset relation, used to skip files and nothing else.

The keys of one filter are pairs (value, file), for each column, as the thesis has it of commits and paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.fuse import FuseFilter, fuse_filter, width_for
from forward_lineage.approximate.filters.hashing import Hashes, Truths, hashes_of, mixed, salted
from forward_lineage.approximate.filters.tuples import CodedColumns


@dataclass(frozen=True, eq=False)
class FileFilter:
    """Pairs of a value and a file.

    Attributes:
        pairs: their keys.
        files: how many files there are.

    """

    pairs: FuseFilter
    files: int

    def may_have(self, hashes: Hashes, given: Truths) -> Truths:
        """Tell for each file whether it may have a tuple: each of its values, for itself.

        Args:
            hashes: of the values, one for each column.
            given: which of them are no wildcards.

        """
        found = np.ones(self.files, np.bool_)
        places = _places(self.files)
        for column in np.flatnonzero(given):
            of_value = salted(hashes[column : column + 1], int(column))
            found &= self.pairs.contains(mixed(of_value + places))
        return found


def file_filter(columns: CodedColumns, file_of: npt.NDArray[np.integer], files: int, rate: float) -> FileFilter:
    """Return the filter of some columns.

    Args:
        columns: row after row.
        file_of: for each row its file, from 0.
        files: how many there are.
        rate: the greatest part of other pairs that may be found.

    """
    places, parts = _places(files), [np.empty(0, np.uint64)]
    for column, values in enumerate(columns.hashes):
        codes = columns.codes[:, column]
        there = codes >= 0
        pairs = np.unique(codes[there] * files + file_of[there])
        code, file = np.divmod(pairs, files)
        parts.append(mixed(salted(values, column)[code] + places[file]))
    return FileFilter(fuse_filter(np.unique(np.concatenate(parts)), width_for(rate)), files)


def _places(files: int) -> Hashes:
    return hashes_of(range(files))
