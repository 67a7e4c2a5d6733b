"""Some base rows of a version of a table, by their ids: by Arrow from the version's own files, without Spark.

The rows of one group are few, and a job that looks for them reads the whole table. Files of a version do not change, so
columns that were read are kept, up to some bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.parquet_rows import DataFileRows
from forward_lineage.predicates.typing import arrow_type
from forward_lineage.row_ids.checks import first_change
from forward_lineage.row_ids.data_files import DataFile, read_footers, stat_files
from forward_lineage.row_ids.manifest import Manifest, Provider
from udafs.lineage_set import LineageSet

ID = "__dl_few"
"""The column of the ids."""
Ids = npt.NDArray[np.int64]
_MOST_BYTES = 256 << 20


class FewRows:
    """Reads rows by their ids."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int, str], pa.Array] = OrderedDict()
        self._rows: dict[tuple[str, int, int], DataFile] = {}

    def of(self, then: Manifest, ids: LineageSet, mentioned: Collection[str]) -> pa.Table:
        """Return rows with the columns of the table that are mentioned, and with `ID`.

        Args:
            then: the version.
            ids: of the rows; ids that no row has are passed over.
            mentioned: names in lower case.

        Raises:
            NeedsSpark: Spark alone reads them, or files are others now.

        """
        kinds = _kinds(then, mentioned)
        key = next((name for name, _ in then.columns if then.provider is Provider.KEY and name == then.key[0]), None)
        wanted = ids.ids()
        schema = pa.schema([*kinds.items(), (ID, pa.int64())])
        tables = [schema.empty_table()]
        for file in self._files(then):
            values = None if key is None else self._column(file, key, _kind(then, key))
            places, mine = _located(file, values, wanted)
            if places.size:
                taken = [self._column(file, name, kind).take(pa.array(places)) for name, kind in kinds.items()]
                tables.append(pa.table([*taken, pa.array(mine, pa.int64())], schema=schema))
        return pa.concat_tables(tables)

    def _files(self, then: Manifest) -> list[DataFile]:
        place = then.source.get("data") or then.source.get("path")
        if then.view is None or place is None or "paths" in then.source or not then.near or then.trusted:
            raise NeedsSpark(f"{then.name}, which only Spark knows")
        if then.provider not in (Provider.POSITION, Provider.COPY, Provider.KEY):
            raise NeedsSpark(f"ids of {then.name} by {then.provider}")
        if first_change(then.files, stat_files(file.path for file in then.files)) is not None:
            raise NeedsSpark(f"{then.name}, whose files are others now")
        if then.provider is not Provider.KEY:
            return list(then.files)
        unknown = [file for file in then.files if _stamp(file) not in self._rows]
        self._rows.update((_stamp(file), file) for file in read_footers(unknown))
        return [self._rows[_stamp(file)] for file in then.files]

    def _column(self, file: DataFile, name: str, kind: pa.DataType) -> pa.Array:
        key = (*_stamp(file), name)
        found = self._kept.pop(key, None)
        if found is None:
            parts = [each[name] for _, each in DataFileRows(file.path, file.rows, 0).batches({name: kind})]
            found = pa.concat_arrays(parts) if parts else pa.array([], kind)
        self._kept[key] = found
        while len(self._kept) > 1 and sum(each.nbytes for each in self._kept.values()) > _MOST_BYTES:
            self._kept.popitem(last=False)
        return found


def _located(file: DataFile, keys: pa.Array | None, wanted: Ids) -> tuple[Ids, Ids]:
    """The places of rows that are wanted, and their ids: those of the keys, or counted."""
    if keys is None:
        mine = wanted[(wanted >= file.offset) & (wanted < file.offset + file.rows)]
        return mine - file.offset, mine
    values = keys.cast(pa.int64()).to_numpy()
    places = np.flatnonzero(np.isin(values, wanted))
    return places, values[places]


def _stamp(file: DataFile) -> tuple[str, int, int]:
    return file.path, file.size, file.modified


def _kinds(then: Manifest, mentioned: Collection[str]) -> dict[str, pa.DataType]:
    found: dict[str, pa.DataType] = {}
    for name, _ in then.columns:
        if name.lower() in mentioned:
            found[name] = _kind(then, name)
    if len({name.lower() for name, _ in then.columns}) < len(then.columns):
        raise NeedsSpark(f"columns of {then.name} that differ in upper and lower case")
    return found


def _kind(then: Manifest, name: str) -> pa.DataType:
    said = next(kind for column, kind in then.columns if column == name)
    kind = arrow_type(said)
    if kind is None:
        raise NeedsSpark(f"{name}, a {said}")
    return kind
