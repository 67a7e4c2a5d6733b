"""Rows that have ids, in files on this machine: ids by a condition, and rows by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.catalog import no_such_column
from forward_lineage.embedded.answers import PickedRows
from forward_lineage.embedded.array_cells import CellRows
from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.embedded.parquet_rows import DataFileRows, Places, concatenated
from forward_lineage.predicates.reading import read_condition
from forward_lineage.predicates.typing import Predicate, arrow_type, typed
from forward_lineage.predicates.unsupported import Doubtful, UnknownColumn
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class Identified:
    """Rows of a table or of a version of a saved result.

    Attributes:
        name: what messages call it.
        columns: the columns and their Spark types.
        files: where the rows are; a row's id is the first one's of its file and its place there.
        key: the column whose values are the ids instead; None: there is none.

    """

    name: str
    columns: tuple[tuple[str, str], ...]
    files: tuple[DataFileRows | CellRows, ...]
    key: str | None = None

    def predicate(self, condition: str) -> Predicate:
        """Return what a condition over the rows means.

        Raises:
            NeedsSpark: only Spark knows.
            BadArgumentError: it names a column that is not there.

        """
        try:
            return typed(read_condition(condition), self.columns)
        except UnknownColumn as error:
            raise no_such_column(self.name, str(error), [name for name, _ in self.columns]) from None
        except Doubtful as error:
            raise NeedsSpark(f"a condition with {error}") from None

    def where(self, condition: str) -> LineageSet:
        """Return the ids of the rows for which a condition holds.

        Raises:
            NeedsSpark: only Spark knows.
            BadArgumentError: it names a column that is not there.

        """
        predicate = self.predicate(condition)
        read = dict(predicate.types) | self._key_column()
        found: list[Places] = []
        for file in self.files:
            for at, arrays in file.batches(read):
                try:
                    holds = predicate.holds(arrays)
                except Doubtful as error:
                    raise NeedsSpark(f"a condition on {error}") from None
                places = pc.indices_nonzero(holds).to_numpy().astype(np.int64)  # of truth values pandas would be asked
                found.append(self._ids(file, at, arrays)[places] if self.key else places + (file.first + at))
        return LineageSet(np.sort(np.concatenate([np.empty(0, np.int64), *found])))

    def all_ids(self) -> LineageSet:
        """Return the ids of all rows.

        Raises:
            NeedsSpark: only Spark knows.

        """
        if self.key is None:
            ids = [np.arange(file.first, file.first + file.rows) for file in self.files]
        else:
            ids = [self._ids(file, at, found) for file in self.files for at, found in file.batches(self._key_column())]
        return LineageSet(np.sort(np.concatenate([np.empty(0, np.int64), *ids])))

    def pick(self, ids: LineageSet) -> PickedRows:
        """Return the rows that have these ids, in the order of the ids; ids that no row has are passed over.

        Raises:
            NeedsSpark: a column is of a type that only Spark reads and shows.

        """
        kinds = {name: _shown_type(name, kind) for name, kind in self.columns}
        wanted = ids.ids()
        tables, found = [], [np.empty(0, np.int64)]
        for file in self.files:
            places, mine = self._located(file, wanted)
            if places.size:
                tables.append(file.picked(places, kinds))
                found.append(mine)
        all_ids = np.concatenate(found)
        rows = concatenated(tables, kinds).take(pa.array(np.argsort(all_ids, kind="stable")))
        return PickedRows(np.sort(all_ids), rows)

    def _located(self, file: DataFileRows | CellRows, wanted: Places) -> tuple[Places, Places]:
        """The places of rows of a file that are wanted, ascending, and their ids."""
        if self.key is None:
            mine = wanted[(wanted >= file.first) & (wanted < file.first + file.rows)]
            return mine - file.first, mine
        places, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for at, arrays in file.batches(self._key_column()):
            values = self._ids(file, at, arrays)
            here = np.flatnonzero(np.isin(values, wanted))
            places.append(here + at)
            ids.append(values[here])
        return np.concatenate(places), np.concatenate(ids)

    def _key_column(self) -> dict[str, pa.DataType]:
        if self.key is None:
            return {}
        kind = next((kind for name, kind in self.columns if name == self.key), "")
        arrow = arrow_type(kind)
        if arrow is None or not pa.types.is_integer(arrow):
            raise NeedsSpark(f"ids from {self.key}, a {kind}")
        return {self.key: arrow}

    def _ids(self, file: DataFileRows | CellRows, at: int, arrays: Mapping[str, pa.Array]) -> Places:
        values = arrays[str(self.key)]
        if values.null_count:
            raise NeedsSpark(f"{self.key}, which has a NULL in {file.path} behind row {at}")
        found: Places = values.cast(pa.int64()).to_numpy()
        return found


def _shown_type(name: str, kind: str) -> pa.DataType:
    found = arrow_type(kind)
    if found is None:
        raise NeedsSpark(f"{name}, a {kind}")
    return found
