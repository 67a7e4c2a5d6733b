"""Columns of a registered table on their way into a scramble."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.scramble import Scramble, random_order
from forward_lineage.approximate.table_columns import COMPARED, TableColumns
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.session_tables import RegisteredTables
from udafs.errors import BadArgumentError


class ScrambleReader:
    """Makes scrambles of the tables of a session.

    Args:
        tables: what is registered.
        home: the folder where what can be made again is kept.

    """

    def __init__(self, tables: RegisteredTables, home: Path) -> None:
        self._tables, self._spark = tables, tables.spark
        self._columns = TableColumns(tables, home)

    def scramble(self, table: str, columns: Sequence[str], groups: Sequence[str]) -> Scramble:
        """Read columns of a table and put its rows in random order."""
        manifest = self._tables.registered(table)
        check_unchanged(self._spark, manifest)
        kinds = self._columns.kinds(manifest, [*columns, *groups], "a scramble")
        for name in groups:
            _check_group(name, kinds[name.lower()].kind)
        ids, read = self._columns.read(manifest, kinds)
        check_unchanged(self._spark, manifest)
        order = random_order(ids.size)
        taken = pa.array(order)
        shuffled = {name: column.take(taken) for name, column in read.items()}
        grouped = tuple(dict.fromkeys(name.lower() for name in groups))
        return Scramble(manifest, shuffled, grouped, ids[order])


def _check_group(name: str, kind: T.DataType) -> None:
    if not isinstance(kind, COMPARED):
        raise BadArgumentError(
            f"{name}, a {kind.simpleString()}, as a group",
            instead="Group by whole numbers, texts, days or truth values.",
        )
