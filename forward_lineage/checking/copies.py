"""Plain Spark over other base rows: all of them in another order, or only some, in a copy of the session.

Each base table is written once more, with its ids, in another order. In a copy of the user's session its name then
means all rows of that copy, or those with some ids. Views follow, because they are resolved by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from forward_lineage.checking.base_tables import ViewText
from forward_lineage.checking.results import failure_of
from forward_lineage.checking.scratch import HIDDEN, copy_of
from forward_lineage.checking.statements import shortened
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.names import quoted, split_name
from forward_lineage.spark.own_parquet import write_parquet
from forward_lineage.spark.planning import Planner
from udafs.lineage_set import LineageSet

#: Tables with more rows are not copied.
LARGEST = 5_000_000
_LISTED = 1000
_ID = HIDDEN + "id"
_SMALL = 200_000
#: Settings under which queries over few rows are fastest, and which run them another way than Spark's defaults do.
_FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
_FOR_MANY_ROWS = {"spark.sql.shuffle.partitions": "7"}


@dataclass(frozen=True)
class Without:
    """All rows of a table but one."""

    row_id: int


Kept = Mapping[str, LineageSet | Without]  # table → the rows of it that stay; a table that is not named keeps all


class NotCutError(Exception):
    """Base rows cannot be taken away from under a query; the message says why."""


@dataclass(frozen=True)
class Copy:
    """A table's rows with their ids.

    Attributes:
        folder: Parquet files.
        schema: of them; Spark need not look.

    """

    folder: Path
    schema: StructType


@dataclass
class Copies:
    """Copies of base tables with their ids, made when they are first needed.

    Attributes:
        scratch: where they are written.

    """

    scratch: Path
    _made: dict[str, Copy] = field(default_factory=dict)
    _ids_written: int = 0

    def of(self, lineage: ForwardLineage, manifest: Manifest) -> Copy:
        """Return a table's copy, its rows in another order.

        Raises:
            NotCutError: the table is too large.

        """
        key = "|".join([manifest.name, *(f"{file.path}:{file.modified}:{file.offset}" for file in manifest.files)])
        if key not in self._made:
            if manifest.next_id > LARGEST:
                raise NotCutError(f"a table of more than {LARGEST:,} rows")
            folder = self.scratch / "copies" / str(len(self._made))
            rows = lineage.rows(manifest.name)
            few = manifest.next_id <= _SMALL
            mixed = rows.withColumnRenamed(rows.columns[0], _ID).repartition(1 if few else 3)
            write_parquet(mixed.sortWithinPartitions(F.xxhash64(_ID)), folder)
            self._made[key] = Copy(folder, mixed.schema)
        return self._made[key]

    def ids_file(self, ids: LineageSet) -> Path:
        """Write ids into a file."""
        self._ids_written += 1
        path = self.scratch / "copies" / f"ids-{self._ids_written}.parquet"
        pq.write_table(pa.table({_ID: np.asarray(ids.ids(), dtype=np.int64)}), path)
        return path


class OtherRows:
    """A copy of a session in which base tables have other rows.

    Args:
        lineage: the session.
        tables: names of the base tables, as they were registered.
        views: views over them, in the order they were made.
        copies: where their rows are taken from.

    Raises:
        NotCutError: one of the tables cannot be copied.

    """

    def __init__(
        self, lineage: ForwardLineage, tables: Iterable[str], views: Iterable[ViewText], copies: Copies
    ) -> None:
        self._copies = copies
        known = lineage.tables()
        self._manifests = {name: known[name] for name in tables}
        if len({split_name(name)[-1] for name in self._manifests}) < len(self._manifests):
            raise NotCutError("two of its tables have the same name in two schemas")
        try:
            self._made = {name: copies.of(lineage, each) for name, each in self._manifests.items()}
        except NotCutError:
            raise
        except Exception as error:  # whatever Spark says of rows that it could read before
            raise NotCutError(f"a table cannot be copied: {failure_of(error).why}") from None
        self.spark = copy_of(lineage.spark)
        few = sum(each.next_id for each in self._manifests.values()) <= _SMALL
        for key, value in (_FOR_FEW_ROWS if few else _FOR_MANY_ROWS).items():
            self.spark.conf.set(key, value)
        for name, copy in self._made.items():
            self.spark.read.schema(copy.schema).parquet(str(copy.folder)).createOrReplaceTempView(
                quoted(_rows_of(name))
            )
        self.all_rows()
        self._make_views(views)

    def _long_names(self) -> list[tuple[str, ...]]:
        """The names of several parts by which a query may call a table of Spark's catalog, longest first."""
        identities = [split_name(each.identity) for each in self._manifests.values() if each.identity is not None]
        return [parts for length in (3, 2) for each in identities if len(parts := each[-length:]) == length]

    def _make_views(self, views: Iterable[ViewText]) -> None:
        """Make views anew, to read the tables of this session; one that cannot be is noticed when it matters."""
        for view in views:
            columns = ", ".join(map(quoted, view.columns))
            with suppress(PySparkException):
                self.spark.sql(
                    f"CREATE OR REPLACE TEMPORARY VIEW {quoted(view.name)} ({columns}) AS {self._here(view.text)}"
                )

    @property
    def tables(self) -> list[str]:
        """The tables that have other rows here."""
        return list(self._manifests)

    def all_rows(self, *, backwards: bool = False) -> None:
        """Give every table all its rows, in another order: mixed, or the last first."""
        for name in self._manifests:
            self._stand_for(name, f" ORDER BY {_ID} DESC" if backwards else "")

    def cut(self, kept: Kept) -> None:
        """Give each table only some of its rows, those that are not named all of them."""
        for name in self._manifests:
            self._stand_for(name, self._condition(kept[name]) if name in kept else "")

    def _stand_for(self, name: str, clause: str) -> None:
        columns = ", ".join(quoted(column) for column, _ in self._manifests[name].columns)
        text = f"SELECT {columns} FROM {quoted(_rows_of(name))}{clause}"
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(split_name(name)[-1])} AS {text}")

    def all_ids(self, name: str) -> LineageSet:
        """Return the ids of all rows of a table."""
        return LineageSet(pq.read_table(self._made[name].folder, columns=[_ID])[_ID].to_numpy())

    def run(self, sql: str) -> DataFrame:
        """Return what a query gives over these rows."""
        return self.spark.sql(self._here(sql))

    def _here(self, sql: str) -> str:
        """A query that calls tables by the names they have here."""
        return shortened(sql, self._long_names())

    def check_effect(self, sql: str) -> None:
        """Check that a query reads none of the tables' own rows.

        Raises:
            NotCutError: it does, so that taking rows away would show nothing.

        """
        try:
            plan = Planner(self.spark).plan(self._here(sql))
        except Exception as error:  # whatever Spark says
            raise NotCutError(f"it cannot be planned over other rows: {failure_of(error).why}") from None
        for name, manifest in self._manifests.items():
            places = {str(Path(file.path).parent) for file in manifest.files}
            if any(place in plan for place in places):
                raise NotCutError(f"{name} is read by a name that cannot stand for other rows")

    def _condition(self, ids: LineageSet | Without) -> str:
        if isinstance(ids, Without):
            return f" WHERE {_ID} <> {ids.row_id}"
        if len(ids) <= _LISTED:
            listed = ", ".join(map(str, ids)) or "NULL"
            return f" WHERE {_ID} IN ({listed})"
        view = f"{HIDDEN}ids_{len(ids)}_{self._copies._ids_written}"
        self.spark.read.parquet(str(self._copies.ids_file(ids))).createOrReplaceTempView(view)
        return f" WHERE {_ID} IN (SELECT {_ID} FROM {view})"


def _rows_of(name: str) -> str:
    return HIDDEN + "rows_" + "_".join(split_name(name))
