"""The oracle's tables r, t and u, each registered in another way, and what edits make of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage import ForwardLineage
from tests.oracle.algebra import BaseTable, Database, Value
from tests.oracle.printing import rows_of
from tests.oracle.strategies import VALUES
from udafs.errors import ChangedError

_ARROW = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_()}
_ROWS_A_FILE = 2
_MOST_KEYS = 12


class Tables:
    """Tables of a home: r is a copy by an integer key, u one by a dictionary, t files whose rows have positions.

    Args:
        lineage: of the home.
        folder: a new folder, for the files of t.

    """

    def __init__(self, lineage: ForwardLineage, folder: Path) -> None:
        self._lineage, self._folder = lineage, folder
        self._files: dict[tuple[tuple[Value, ...], ...], Path] = {}
        self._number = 0

    def register(self, database: Database, names: set[str]) -> None:
        """Let some of the tables have the rows that a database says."""
        spark = self._lineage.spark
        for name in sorted(names):
            table = database[name]
            if name == "t":
                self._write(table)
                self._register_files(name)
            else:
                key = table.columns[0] if name == "r" else [table.columns[0]]
                self._lineage.register(name, source=spark.sql(rows_of(table)), key=key)

    def _register_files(self, name: str) -> None:
        if name in self._lineage.tables():
            with suppress(ChangedError):  # of the files that were there none is left: all rows get new ids
                self._lineage.refresh(name)
                return
        self._lineage.register(name, path=self._folder)

    def keys(self, name: str) -> dict[int, Value]:
        """Return row id → key of the rows that there are now."""
        return {row[0]: row[1] for row in self._lineage.rows(name).collect()}

    def _write(self, table: BaseTable) -> None:
        """Rows that stand together stay in their file, as long as they are the same."""
        self._folder.mkdir(exist_ok=True)
        rows = sorted(table.rows, key=lambda row: int(row[0]))  # type: ignore[arg-type]
        parts = {tuple(rows[at : at + _ROWS_A_FILE]) for at in range(0, len(rows), _ROWS_A_FILE)} or {()}
        for part in self._files.keys() - parts:
            self._files.pop(part).unlink()
        schema = pa.schema([(name, _ARROW[kind]) for name, kind in zip(table.columns, table.kinds, strict=True)])
        for part in sorted(parts - self._files.keys(), key=repr):
            self._number += 1
            self._files[part] = self._folder / f"{self._number:04}.parquet"
            columns = [list(column) for column in zip(*part, strict=True)] or [[] for _ in table.columns]
            pq.write_table(pa.table(columns, schema=schema), self._files[part])


KINDS = ["insert", "insert", "delete", "change", "nothing"]


def edited(database: Database, chance: random.Random, kinds: Sequence[str] = KINDS) -> tuple[Database, set[str]]:
    """Change a few rows of one table or two: return the database, and which tables."""
    names = set(chance.sample(sorted(database), chance.choice([1, 1, 2])))
    return {**database, **{name: _edited(database[name], chance, kinds) for name in sorted(names)}}, names


def _edited(table: BaseTable, chance: random.Random, kinds: Sequence[str]) -> BaseTable:
    rows = {row[0]: row for row in table.rows}
    for _ in range(chance.choice([1, 1, 2])):
        kind = chance.choice(kinds)
        if kind == "insert":
            key = chance.choice([key for key in range(_MOST_KEYS) if key not in rows])
            rows[key] = (key, *(chance.choice(VALUES[each]) for each in table.kinds[1:]))
        elif rows and kind == "delete":
            del rows[chance.choice(sorted(rows))]  # type: ignore[type-var]
        elif rows and kind == "change":
            key = chance.choice(sorted(rows))  # type: ignore[type-var]
            at = chance.randrange(1, len(table.columns))
            row = rows[key]
            rows[key] = (*row[:at], chance.choice(VALUES[table.kinds[at]]), *row[at + 1 :])
    return replace(table, rows=tuple(rows.values()))
