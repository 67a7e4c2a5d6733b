"""Some base rows of a version of a table, by their ids: by Arrow from the version's own files, without Spark.

The rows of one group are few, and a job that looks for them reads the whole table. Files of a version do not change, so
columns that were read are kept, up to some bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from forward_lineage.embedded.array_cells import CellRows
from forward_lineage.embedded.base_tables import check_readable, rows_in_files
from forward_lineage.embedded.identified import Identified
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.parquet_rows import DataFileRows, Places
from forward_lineage.row_ids.checks import first_change
from forward_lineage.row_ids.data_files import stat_files
from forward_lineage.row_ids.manifest import Manifest
from udafs.lineage_set import LineageSet

ID = "__dl_few"
"""The column of the ids."""
_MOST_BYTES, _MOST_VERSIONS = 256 << 20, 16
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class FewRows:
    """Reads rows by their ids."""

    def __init__(self) -> None:
        self._columns = _Columns()
        self._versions: dict[str, Identified] = {}

    def of(self, then: Manifest, ids: LineageSet, mentioned: Collection[str]) -> pa.Table:
        """Return rows with the columns of the table that are mentioned, and with `ID`.

        Args:
            then: the version.
            ids: of the rows; ids that no row has are passed over.
            mentioned: names in lower case.

        Raises:
            NeedsSpark: Spark alone reads them, or files are others now.

        """
        check_readable(then)
        if then.trusted or first_change(then.files, stat_files(file.path for file in then.files)) is not None:
            raise NeedsSpark(f"{then.name}, whose files may be others now")
        names = [name.lower() for name, _ in then.columns]
        if len(set(names)) < len(names):
            raise NeedsSpark(f"columns of {then.name} that differ in upper and lower case")
        rows = self._rows(then)
        columns = tuple(each for each in rows.columns if each[0].lower() in mentioned or each[0] == rows.key)
        picked = replace(rows, columns=columns).pick(ids)
        return picked.rows.append_column(ID, pa.array(picked.ids))

    def _rows(self, then: Manifest) -> Identified:
        version = then.digest()
        if version not in self._versions:
            rows = rows_in_files(then)
            files = tuple(
                _KeptRows(**vars(file), version=version, kept=self._columns)
                for file in rows.files
                if isinstance(file, DataFileRows)
            )
            self._versions[version] = _IndexedRows(**{**vars(rows), "files": files})
            if len(self._versions) > _MOST_VERSIONS:
                del self._versions[next(iter(self._versions))]
        return self._versions[version]


@dataclass(frozen=True)
class _IndexedRows(Identified):
    """Rows of a version whose ids are values of a key: each file's are sorted once, to be looked up."""

    index: dict[str, tuple[Places, Places, Places]] = field(default_factory=dict)

    def _located(self, file: DataFileRows | CellRows, wanted: Places) -> tuple[Places, Places]:
        if self.key is None:
            return super()._located(file, wanted)
        if file.path not in self.index:
            kept = [self._ids(file, at, arrays) for at, arrays in file.batches(self._key_column())]
            ids = np.concatenate([np.empty(0, np.int64), *kept])
            order = np.argsort(ids, kind="stable")
            self.index[file.path] = ids, ids[order], order
        ids, ascending, order = self.index[file.path]
        first, end = (np.searchsorted(ascending, wanted, side=side) for side in _SIDES)
        here = [order[start:stop] for start, stop in zip(first, end, strict=True) if start < stop]
        places = np.sort(np.concatenate([np.empty(0, np.int64), *here]))
        return places, ids[places]


class _Columns:
    """Columns of files, those asked for last, up to some bytes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str], pa.Array] = OrderedDict()

    def of(self, file: _KeptRows, name: str, kind: pa.DataType) -> pa.Array:
        key = file.version, file.path, name
        found = self._kept.pop(key, None)
        if found is None:
            parts = [each[name] for _, each in file.read({name: kind})]
            found = pa.concat_arrays(parts) if parts else pa.array([], kind)
        self._kept[key] = found
        while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > _MOST_BYTES:
            self._kept.popitem(last=False)
        return found


@dataclass(frozen=True, kw_only=True)
class _KeptRows(DataFileRows):
    """A file of a version, whose columns are read as a whole and kept."""

    version: str
    kept: _Columns

    def read(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Read the file itself; see `DataFileRows.batches`."""
        return super().batches(columns)

    def batches(self, columns: Mapping[str, pa.DataType]) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        yield 0, {name: self.kept.of(self, name, kind) for name, kind in columns.items()}

    def picked(self, places: Places, columns: Mapping[str, pa.DataType]) -> pa.Table:
        taken = pa.array(places)
        arrays = [self.kept.of(self, name, kind).take(taken) for name, kind in columns.items()]
        return pa.table(arrays, schema=pa.schema(list(columns.items())))
