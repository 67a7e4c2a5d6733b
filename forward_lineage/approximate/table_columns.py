"""Columns of a registered table, whole: from its own files where they will do, else by Spark."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.columns import files
from forward_lineage.columns.files import ID, Asked
from forward_lineage.columns.rows import rows_of
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted
from udafs.errors import BadArgumentError, ChangedError, listed

#: Types whose values are compared, and of which a column can be a group.
COMPARED = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.StringType, T.BooleanType, T.DateType)
_ADDED = (T.FloatType, T.DoubleType, T.DecimalType)
#: Of these, files say what Spark reads. Days and texts may be of an old calendar, or be padded.
_OF_FILES = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.BooleanType, T.FloatType, T.DoubleType)
_CLOSE = 8  # times as many ids as rows
Each = Callable[[pa.Array], pa.Array]
_CHAR = re.compile(r"char\((\d+)\)")


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: as the table has it.
        kind: its type, as Spark reads it.
        width: of a CHAR(n), to which its values are padded with blanks; 0: it is none.

    """

    name: str
    kind: T.DataType
    width: int


Kinds = Mapping[str, Column]
"""Columns by name in lower case."""


class TableColumns:
    """Reads columns of the tables of a session.

    Args:
        tables: what is registered.
        home: the folder where what can be made again is kept.

    """

    def __init__(self, tables: RegisteredTables, home: Path) -> None:
        self._tables, self._home, self._spark = tables, home, tables.spark

    def kinds(self, manifest: Manifest, wanted: Sequence[str], where: str) -> Kinds:
        """Return the columns that somebody names.

        Args:
            manifest: of the table.
            wanted: their names, in any case.
            where: for what, after "in".

        Raises:
            BadArgumentError: there is no such column, or it is of a type that is not read.

        """
        odd = [name for name in wanted if not isinstance(name, str)]
        if odd:
            raise BadArgumentError(f"{odd[0]!r} as a column", instead="Give the names of columns as texts.")
        named = {name.lower(): name for name, _ in manifest.columns}
        if len(named) < len(manifest.columns):
            raise BadArgumentError(f"{manifest.name} has columns that differ in case only", instead="Rename one.")
        unknown = [name for name in wanted if name.lower() not in named]
        if unknown:
            raise BadArgumentError(
                f"{manifest.name} has no column {unknown[0]}", instead=f"It has {listed(list(named.values()))}."
            )
        if not wanted:
            raise BadArgumentError(f"no column in {where}", instead='Name some: columns=["amount"].')
        items = ", ".join(quoted(named[name.lower()]) for name in wanted)
        with spark_errors():
            schema = self._spark.sql(f"SELECT {items} FROM {rows_of(self._tables.base_table(manifest))}").schema
        found = {each.name.lower(): Column(each.name, each.dataType, _width(each)) for each in schema.fields}
        for name, kind, _ in found.values():
            if not isinstance(kind, (*COMPARED, *_ADDED)) or kind.simpleString().startswith("string collate"):
                raise BadArgumentError(
                    f"{name}, a {kind.simpleString()}, in {where}",
                    instead="Leave it out, or register a view that makes a text or a number of it.",
                )
        return found

    def read(
        self, manifest: Manifest, kinds: Kinds, each: Each = lambda column: column
    ) -> tuple[npt.NDArray[np.int64], dict[str, pa.Array]]:
        """Return the ids of all rows, and the columns in their order.

        Args:
            manifest: of the table.
            kinds: of the columns.
            each: what is made of a column before the next one is read, so that not all of them are in memory whole.

        """
        asked = {name: Asked(each.name, each.kind, key=False) for name, each in kinds.items()}
        plain = all(isinstance(each.kind, _OF_FILES) for each in kinds.values())
        if plain and (columns := files.as_they_stand(manifest, asked)):
            ids, rows = files.ids_by_position(manifest)
            read = {name: each(_one(files.whole_column(manifest, *column))) for name, column in columns.items()}
            if any(len(column) != rows for column in read.values()):
                raise ChangedError(f"files of {manifest.name} have other rows than registered", instead="Ask again.")
            return np.arange(rows) if ids is None else ids, read
        return self._computed(manifest, kinds, each)

    def _computed(
        self, manifest: Manifest, kinds: Kinds, each: Each
    ) -> tuple[npt.NDArray[np.int64], dict[str, pa.Array]]:
        """By Spark, in one job."""
        items = [f"{quoted(column.name)} AS k{place}" for place, column in enumerate(kinds.values())]
        sql = f"SELECT {', '.join([ID, *items])} FROM {rows_of(self._tables.base_table(manifest))}"
        folder = self._home / "scrambles" / uuid.uuid4().hex
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            written = files.written(self._spark, sql, folder)
            ids = files.column_of(written, ID, pa.int64()).to_numpy()
            read = {}
            for place, name in enumerate(kinds):
                kind = pq.read_schema(written[0]).field(f"k{place}").type
                read[name] = each(_one(files.column_of(written, f"k{place}", kind)))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if not _distinct(ids):
            raise ChangedError(f"the ids of {manifest.name} are not unique any more", instead="Register it again.")
        return ids, read


def _width(field: T.StructField) -> int:
    found = _CHAR.fullmatch(str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).lower())
    return int(found[1]) if found else 0


def _distinct(ids: npt.NDArray[np.int64]) -> bool:
    """Whether no id occurs twice; ids that are close together are marked, which takes less than sorting them."""
    if not ids.size or ids.min() < 0 or ids.max() > _CLOSE * ids.size:
        return bool(np.unique(ids).size == ids.size)
    seen = np.zeros(int(ids.max()) + 1, np.bool_)
    seen[ids] = True
    return int(np.count_nonzero(seen)) == ids.size


def _one(column: pa.ChunkedArray) -> pa.Array:
    """One array; whole numbers in the narrowest type that has them all."""
    if pa.types.is_integer(column.type) and len(column):
        column = column.cast(_narrowest(column))
    unified = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column
    found = unified.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _narrowest(column: pa.ChunkedArray) -> pa.DataType:
    low, high = (each.as_py() or 0 for each in pc.min_max(column).values())
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        most = 1 << (kind.bit_width - 1)
        if -most <= low and high < most:
            return kind
    return pa.int64()
