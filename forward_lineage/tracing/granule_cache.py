"""The value of each row of a table, looked up once for a version of its registration and kept beside it.

    HOME/tables/<table>/granules-<version>-<digest>/entries/    Parquet: the values with their ids (value_1, …, __id)
                                                   by_row       for each row, by its id: the id of its values

Without it a query with LINEAGE ON values that are no ids by themselves takes another pass over the table, a sort, and a
join. Files never change: other settings, expressions or rows have another digest.   [Zhang 2007, §4.3]
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyarrow import parquet
from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.parsing import read_fragment
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import without_stack_traces
from forward_lineage.spark.names import data_source, glob_literal
from forward_lineage.spark.own_parquet import write_parquet
from forward_lineage.spark.tables import only_row, type_name
from forward_lineage.spark.versions import FAILURES
from forward_lineage.storage.derived import digest, take_place
from forward_lineage.tracing.column_ranges import KnownRanges
from forward_lineage.tracing.granule_types import KnownInSession
from rewrites.granules import DistinctValues, KeptValues
from rewrites.kernel_files import is_plain
from rewrites.rules.base_tables import read_from
from rewrites.tables import BaseTable
from udafs.attach import is_remote
from udafs.errors import SetupError

MOST_ROWS = 1 << 25
"""Ids of rows that are looked up so, at most: each takes 4 bytes on the driver and on every executor."""
_WASTE = 4  # places for each row, at most: keys have gaps
_WITNESS = "by_row"  # the file without which a folder of values does not count
_MAGIC = b"FLGRN\x01"
# Those that are the same when they are read back from Parquet, and are equal there as they are in Spark's DISTINCT.
_TYPES = re.compile(r"STRING|BINARY|BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DATE|DECIMAL\(\d+,\d+\)")


class KnownHere(KnownInSession):
    """Tells what is known of values to statements that run in this session; see `rewrites.granules.KeepsValues`.

    Args:
        tables: the registered tables.
        ranges: of their columns.

    Attributes:
        anywhere: tells the same to texts that other sessions run, too, which have none of its files.

    """

    def __init__(self, tables: RegisteredTables, ranges: KnownRanges) -> None:
        super().__init__(tables, ranges)
        self.anywhere = KnownInSession(tables, ranges)
        self._not_kept: set[tuple[object, ...]] = set()

    def kept(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> KeptValues | None:
        """Return the granules of a table whose rows were looked up, which may be now.

        Returns:
            None where they are not kept: rows or functions that may change unnoticed, more than `MOST_ROWS` ids, a home
            in an object store, a session of Spark Connect.

        Raises:
            ChangedError: the table had to be looked at, and is not what was registered.

        """
        manifest, values = self._watched(table, expressions), self._values(table, expressions)
        if manifest is None or values is None or not self._has_room(manifest):
            return None
        if not _may_be_kept(table, [type_name(each.dataType) for each in values.schema]):
            return None
        key = (manifest.digest(), table.row_id, *self._key(manifest, values, expressions))
        if key in self._not_kept:
            return None
        folder = self._tables.registrations.granules_folder(manifest, digest(*key))
        found = KeptValues(table, tuple(expressions), str(folder / _WITNESS), glob_literal(folder / "entries"))
        if not is_plain(str(folder)) or not ((folder / _WITNESS).exists() or self._made(manifest, found, folder)):
            self._not_kept.add(key)
            return None
        return found

    def _has_room(self, manifest: Manifest) -> bool:
        """Whether files can be kept beside a registration, which driver and tasks see."""
        here = isinstance(self._tables.registrations.home, Path) and not is_remote(self._spark)
        return here and manifest.next_id <= MOST_ROWS

    def _made(self, manifest: Manifest, wanted: KeptValues, folder: Path) -> bool:
        """Look at all rows and keep what is found; say whether it could be done."""
        self._tables.check_unchanged([manifest.name])
        try:
            with without_stack_traces(), self._tables.registrations.new_data_folder(manifest.name) as new:
                if not self._written(wanted, new):
                    shutil.rmtree(new, ignore_errors=True)
                    return False
                self._tables.check_unchanged([manifest.name])
                take_place(new, folder, _WITNESS)
        except (*FAILURES, SetupError, OSError):  # a value cannot be computed, or nothing can be written here
            return False
        # Of the version before frames may still be decoded.
        self._tables.registrations.clear_granules(manifest.name, before=manifest.version - 1)
        return True

    def _written(self, wanted: KeptValues, new: Path) -> bool:
        table = wanted.table
        rows = only_row(self._spark.sql(f"SELECT count(*) AS rows FROM {table.relation}")).rows
        if rows > MOST_ROWS:
            return False
        dictionary = DistinctValues(table, wanted.expressions).dictionary(read_from(table, read_fragment))
        write_parquet(self._spark.sql(print_sql(dictionary)), new / "entries")
        write_parquet(self._spark.sql(_granule_of_each_row(wanted, new / "entries")), new / "pairs")
        pairs = parquet.read_table(new / "pairs")
        shutil.rmtree(new / "pairs")
        data = _packed(pairs["row"].to_numpy(), pairs["granule"].to_numpy(), rows)
        if data is not None:
            with (new / _WITNESS).open("wb") as file:
                file.write(_MAGIC + zlib.crc32(data).to_bytes(4, "little") + data)
                os.fsync(file.fileno())
        return data is not None


def _packed(ids: npt.NDArray[np.int64], granules: npt.NDArray[np.int32], rows: int) -> bytes | None:
    """Return the granule of each id from 0 on, -1 where it is no row's; None where that is no use.

    Args:
        ids: of the rows of a table.
        granules: of each of them.
        rows: how many rows there are.

    """
    places = int(ids.max()) + 1 if len(ids) else 0
    if len(ids) != rows or places > min(MOST_ROWS, _WASTE * rows + 1024) or np.any(ids < 0):
        return None
    by_row = np.full(places, -1, "<i4")
    by_row[ids] = granules
    return by_row.tobytes() if np.count_nonzero(by_row >= 0) == rows else None


def _may_be_kept(table: BaseTable, types: Sequence[str]) -> bool:
    """Whether rows are read with their ids by a name, and the values are of types that can be kept."""
    by_name = table.identified is None or isinstance(
        read_fragment(f"SELECT 1 FROM {table.identified}").args["from_"].this, exp.Table
    )
    return by_name and all(_TYPES.fullmatch(each.upper()) for each in types)


def _granule_of_each_row(wanted: KeptValues, entries: Path) -> str:
    table = wanted.table
    names = [f"value_{i + 1}" for i in range(len(wanted.expressions))]
    listed = ", ".join(
        f"{print_sql(each.copy())} AS {name}" for each, name in zip(wanted.expressions, names, strict=True)
    )
    rows = f"SELECT {table.row_id} AS row, {listed} FROM {table.identified or table.relation}"
    same = " AND ".join(f"rows.{name} <=> entries.{name}" for name in names)
    kept = data_source("parquet", entries)
    return (
        f"SELECT rows.row, CAST(entries.__id AS INT) AS granule FROM ({rows}) AS rows JOIN {kept} AS entries ON {same}"
    )
