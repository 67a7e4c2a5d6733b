"""Rows of a result with some keys, found in its files: as one would compare them in Python."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pyarrow as pa

from forward_lineage.store.updating.rows_with_keys import among

VALUES = (
    (pa.int32(), [None, 1, 2, -3]),
    (pa.int64(), [None, 5, 2**62]),
    (pa.decimal128(12, 2), [None, Decimal("1.00"), Decimal("2.50")]),
    (pa.string(), [None, "", "a", "bé"]),
    (pa.date32(), [None, datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
    (pa.bool_(), [None, True, False]),
)


def test_keys_of_all_types() -> None:
    chance = random.Random(1)
    for _ in range(300):
        columns = chance.sample(VALUES, chance.randint(1, 4))
        rows, keys = (_table(chance, columns, chance.randint(least, 30)) for least in (0, 1))
        wanted = set(_rows(keys))
        assert among(rows, keys).tolist() == [row in wanted for row in _rows(rows)]


def test_keys_of_a_narrower_type() -> None:
    rows, keys = pa.table({"a": pa.array([1, 2, 3])}), pa.table({"k": pa.array([2, None], pa.int16())})
    assert among(rows, keys).tolist() == [False, True, False]


def _table(chance: random.Random, columns: list[tuple[pa.DataType, list[object]]], rows: int) -> pa.Table:
    arrays = [pa.array([chance.choice(values) for _ in range(rows)], kind) for kind, values in columns]
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _rows(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
