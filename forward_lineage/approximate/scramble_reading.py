"""Columns of a registered table on their way into a scramble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.mapped_arrays import MappedArrays
from forward_lineage.approximate.scramble import Places, Scramble, random_order
from forward_lineage.approximate.table_columns import COMPARED, TableColumns
from forward_lineage.relations.groups import narrowest
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.session_tables import RegisteredTables
from udafs.errors import BadArgumentError

_CODES = {1: pa.int16(), 2: pa.int32(), 4: pa.int32(), 8: pa.int64()}  # signed, by the bytes of an unsigned type


class ScrambleReader:
    """Makes scrambles of the tables of a session.

    Args:
        tables: what is registered.
        home: the folder where what can be made again is kept.

    """

    def __init__(self, tables: RegisteredTables, home: Path) -> None:
        self._tables, self._spark = tables, tables.spark
        self._columns = TableColumns(tables, home)
        self._arrays = MappedArrays(home / "scrambles")

    def scramble(self, table: str, columns: Sequence[str], groups: Sequence[str]) -> Scramble:
        """Read columns of a table and put its rows in random order."""
        manifest = self._tables.registered(table)
        check_unchanged(self._spark, manifest)
        kinds = self._columns.kinds(manifest, [*columns, *groups], "a scramble")
        for name in groups:
            _check_group(name, kinds[name.lower()].kind)
        shuffle = _Shuffle()
        ids, shuffled = self._columns.read(manifest, kinds, lambda column: self._arrays.keep_column(shuffle(column)))
        check_unchanged(self._spark, manifest)
        grouped = tuple(dict.fromkeys(name.lower() for name in groups))
        if not ids.size or int(ids.max()) < 1 << 32:
            ids = ids.astype(np.uint32)
        base_ids: Places = np.asarray(self._arrays.keep(ids[shuffle.of(ids.size)]), ids.dtype)
        return Scramble(manifest, shuffled, grouped, base_ids, self._arrays.keep)


class _Shuffle:
    """Puts columns of the same length in the same random order."""

    def __init__(self) -> None:
        self._order: Places | None = None

    def of(self, rows: int) -> Places:
        if self._order is None:
            self._order = random_order(rows)
        return self._order

    def __call__(self, column: pa.Array) -> pa.Array:
        taken = column.take(pa.array(self.of(len(column))))
        if not pa.types.is_dictionary(taken.type):
            return taken
        most = narrowest(max(len(taken.dictionary), 1)).itemsize
        return pa.DictionaryArray.from_arrays(taken.indices.cast(_CODES[most]), taken.dictionary)


def _check_group(name: str, kind: T.DataType) -> None:
    if not isinstance(kind, COMPARED):
        raise BadArgumentError(
            f"{name}, a {kind.simpleString()}, as a group",
            instead="Group by whole numbers, texts, days or truth values.",
        )
