"""Attributes of a table, each captured once for a version of it, kept, and mapped into memory where it is asked again.

HOME/columns/<table and attribute>/<version>/     codes, values, ids if they are not 0, 1, 2, …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.columns import files
from forward_lineage.columns.array_cache import ArrayReader, Shelf, Writer
from forward_lineage.columns.comparing import FLOATS, compared, positive_zero
from forward_lineage.columns.files import ID, Asked, Ids
from forward_lineage.columns.rows import over_rows, rows_of
from forward_lineage.frontend import print_sql
from forward_lineage.frontend.constraints import Attribute
from forward_lineage.profiling.codes import Codes, checked_rows, encoded
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.progress import spark_progress
from forward_lineage.spark.settings import settings_of_values
from forward_lineage.storage.derived import digest
from udafs.errors import ChangedError

FORMAT = 1
#: Dates before 15 October 1582 are not in every file what Spark makes of them.
_GREGORIAN = -141427
#: Types whose values are made of the form in which they are compared: no file writes all of them as they are.
_FROM_FORM: dict[type[T.DataType], pa.DataType] = {
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
}
_AGAIN = "Ask again."

Tell = Callable[[str], None]


@dataclass(frozen=True)
class WantedAttribute:
    """An attribute that is to be captured.

    Attributes:
        attribute: its text.
        kind: what Spark says of its type.
        table: by what its columns may be qualified.
        column: the column that it is, as the table calls it; None: an expression.
        lasting: whether it is the same as long as the table is. It is not with a function of the user's in it, which
            may mean something else another time.

    """

    attribute: Attribute
    kind: T.DataType
    table: str
    column: str | None
    lasting: bool = True

    @property
    def key(self) -> str:
        """The key that tells it from others of its table."""
        return print_sql(over_rows(self.attribute.tree, self.table)) if self.column is None else f"`{self.column}`"


@dataclass(frozen=True, eq=False)
class CapturedAttributes:
    """Attributes of a version of a table.

    Attributes:
        codes: by `Wanted.key`.
        rows: how many rows the table has.
        ids: of the rows, ascending; None: they are 0, 1, 2, ….

    """

    codes: Mapping[str, Codes]
    rows: int
    ids: Ids | None


@dataclass(frozen=True, eq=False)
class _Column:
    """The kept data of an attribute."""

    codes: Codes
    ids: Ids | None

    def write(self, writer: Writer) -> None:
        writer.put("codes", self.codes.codes)
        writer.put_table("values", pa.table({"value": self.codes.values}))
        if self.ids is not None:
            writer.put("ids", self.ids)
        writer.finish({"values": len(self.codes.values)})

    @classmethod
    def read(cls, reader: ArrayReader) -> _Column:
        values = reader.table("values").column(0).combine_chunks()
        return cls(Codes(reader["codes"], values), reader.get("ids"))


class Attributes:
    """Captures attributes of the tables of a session.

    Args:
        tables: what is registered.
        home: the folder of registrations and results.

    """

    def __init__(self, tables: RegisteredTables, home: Path) -> None:
        self._tables, self._home, self._spark = tables, home, tables.spark

    def of(self, manifest: Manifest, wanted: Sequence[WantedAttribute], tell: Tell) -> CapturedAttributes:
        """Return some attributes of a table, which was found to be what was registered.

        Args:
            manifest: the table.
            wanted: which ones.
            tell: is told what is being read.

        Raises:
            ChangedError: the table changed meanwhile.
            NotTracedError: it has too many rows.

        """
        asked = {each.key: each for each in wanted}
        shelves = {key: Shelf(self._home, "columns", digest(manifest.name.lower(), key)) for key in asked}
        versions = self._version(manifest)
        # On trust nobody knows whether the table is what it was.
        lasting = [key for key, each in asked.items() if each.lasting and not manifest.trusted]
        found = {key: shelves[key].find(versions) for key in lasting}
        if missing := [key for key in asked if found.get(key) is None]:
            with ExitStack() as stack:
                for key in sorted(missing, key=lambda key: digest(manifest.name.lower(), key)):
                    stack.enter_context(shelves[key].making())
                there = {key for key in missing if key in lasting and shelves[key].find(versions)}  # made meanwhile
                made = {key: shelves[key] for key in missing if key not in there}
                self._make({key: asked[key] for key in made}, made, manifest, tell)
                found |= {key: shelves[key].find(versions) for key in missing}
        columns = {key: _Column.read(reader) for key, reader in found.items() if reader is not None}
        if len(columns) < len(asked):
            raise ChangedError("files of attributes were removed meanwhile", instead=_AGAIN)
        return self._together(manifest, columns)

    def _version(self, manifest: Manifest) -> str:
        settings = settings_of_values(self._spark)
        return digest(FORMAT, manifest.name, manifest.version, manifest.digest(), settings)

    def _together(self, manifest: Manifest, columns: Mapping[str, _Column]) -> CapturedAttributes:
        first, *others = columns.values()
        ids, rows = first.ids, first.codes.codes.size
        if any(each.codes.codes.size != rows or not _same(each.ids, ids) for each in others):
            raise ChangedError(f"{manifest.name} had other rows when its attributes were captured", instead=_AGAIN)
        return CapturedAttributes({key: each.codes for key, each in columns.items()}, rows, ids)

    # ------------------------------------------------------------ made

    def _make(
        self, wanted: Mapping[str, WantedAttribute], shelves: Mapping[str, Shelf], manifest: Manifest, tell: Tell
    ) -> None:
        """Capture attributes, while nobody else does."""
        with ExitStack() as stack:
            versions = self._version(manifest)
            writers = {key: stack.enter_context(shelf.writing(versions)) for key, shelf in shelves.items()}
            made = self._of_files(manifest, wanted, tell)
            if left := {key: each for key, each in wanted.items() if key not in made}:
                tell(f"computing {', '.join(each.attribute.text for each in left.values())}")
                with next(iter(writers.values())).scratch() as folder:
                    made |= self._computed(manifest, left, folder)
            check_unchanged(self._spark, manifest)
            for key, writer in writers.items():
                made[key].write(writer)

    def _of_files(self, manifest: Manifest, wanted: Mapping[str, WantedAttribute], tell: Tell) -> dict[str, _Column]:
        """Those that are columns of the table's own files as they stand."""
        plain = self._plain(manifest, wanted)
        if not plain:
            return {}
        ids, rows = files.ids_by_position(manifest)
        checked_rows(rows, manifest.name)
        tell(f"reading {', '.join(column for column, _ in plain.values())}")
        with ThreadPoolExecutor(2) as pool:  # Arrow hashes without holding Python up
            read = pool.map(partial(_read, manifest, rows), plain.values())
            return {key: _Column(codes, ids) for key, codes in zip(plain, read, strict=True) if codes is not None}

    def _plain(self, manifest: Manifest, wanted: Mapping[str, WantedAttribute]) -> dict[str, tuple[str, pa.DataType]]:
        """The column of the files for each attribute, and its type; without those that are none."""
        asked = {
            key: Asked(each.column, each.kind, key=False)
            for key, each in wanted.items()
            # Of a table of a catalog it may be a CHAR, which Spark pads where it reads.
            if manifest.identity is None or not isinstance(each.kind, T.StringType)
        }
        found: dict[str, tuple[str, pa.DataType]] = {}
        for some in [asked] if files.as_they_stand(manifest, asked) else [{key: each} for key, each in asked.items()]:
            found |= files.as_they_stand(manifest, some) or {}
        return found

    def _computed(self, manifest: Manifest, wanted: Mapping[str, WantedAttribute], folder: Path) -> dict[str, _Column]:
        """By Spark, all of them in one job."""
        items, shown = [ID], set[str]()
        for place, (key, each) in enumerate(wanted.items()):
            tree = over_rows(each.attribute.tree, each.table)
            form = print_sql(compared(tree, each.kind, "a constraint"))
            value = print_sql(positive_zero(tree, each.kind) if isinstance(each.kind, FLOATS) else tree)
            items.append(f"{form} AS k{place}")
            if form != value and not isinstance(each.kind, tuple(_FROM_FORM)):
                items.append(f"{value} AS v{place}")
                shown.add(key)
        sql = f"SELECT {', '.join(items)} FROM {rows_of(self._tables.base_table(manifest))}"
        with spark_progress(self._spark, f"reading {manifest.name}"):
            written = files.written(self._spark, sql, folder / "rows")
        mine = files.column_of(written, ID, pa.int64()).to_numpy()
        checked_rows(mine.size, manifest.name)
        order = np.argsort(mine, kind="stable")
        ids = mine[order]
        if np.any(np.diff(ids) == 0):
            raise ChangedError(f"the ids of {manifest.name} are not unique any more", instead="Register it again.")
        known = None if not ids.size or int(ids[-1]) == ids.size - 1 else ids
        made = {}
        for place, (key, each) in enumerate(wanted.items()):
            codes = encoded(_column(written, f"k{place}"))
            values = _first(codes, _column(written, f"v{place}")) if key in shown else codes.values
            values = values.cast(_FROM_FORM.get(type(each.kind), values.type))
            made[key] = _Column(Codes(codes.codes[order], values), known)
        return made


def _read(manifest: Manifest, rows: int, column: tuple[str, pa.DataType]) -> Codes | None:
    """A column of files; None where Spark may see other values in it."""
    values = files.whole_column(manifest, *column)
    if len(values) != rows:
        raise ChangedError(f"files of {manifest.name} have {len(values):,} rows, not {rows:,}", instead=_AGAIN)
    codes = encoded(values)
    if pa.types.is_date32(codes.values.type) and len(codes.values):
        first = pc.min(codes.values.cast(pa.int32())).as_py()
        return codes if first >= _GREGORIAN else None
    return codes


def _column(paths: Sequence[Path], name: str) -> pa.ChunkedArray:
    """A column that Spark wrote; a file of it may have no rows."""
    return files.column_of(paths, name, pq.read_schema(paths[0]).field(name).type)


def _first(codes: Codes, values: pa.ChunkedArray) -> pa.Array:
    """For each different value in one form its other form, that of the first row that has it."""
    first = np.zeros(codes.count, np.int64)
    first[codes.codes[::-1]] = np.arange(codes.codes.size)[::-1]
    found = values.take(pa.array(first[: len(codes.values)]))
    return pa.concat_arrays([pa.array([], found.type), *found.chunks])


def _same(one: Ids | None, other: Ids | None) -> bool:
    return np.array_equal(one, other) if one is not None and other is not None else one is other
