"""Columns of every type that has ranges, for tests: few values, awkward ones among them, and Spark's order of them."""

from __future__ import annotations

import datetime
import decimal
import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

UTC = datetime.UTC
_DAY = datetime.date(1995, 3, 15)
_TIME = datetime.datetime(1995, 3, 15, tzinfo=UTC)

#: name → type, and how a value is drawn
TYPES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "tiny": (pa.int8(), lambda r: r.randint(-128, 127)),
    "small": (pa.int16(), lambda r: r.choice([-(2**15), 2**15 - 1, r.randint(-9, 9)])),
    "whole": (pa.int32(), lambda r: r.choice([-(2**31), 2**31 - 1, r.randint(-99, 99)])),
    "long": (pa.int64(), lambda r: r.choice([-(2**63), 2**63 - 1, r.randint(-99, 99)])),
    "day": (pa.date32(), lambda r: r.choice([datetime.date(1, 1, 1), _DAY + datetime.timedelta(r.randint(-99, 99))])),
    "time": (
        pa.timestamp("us", tz="UTC"),
        lambda r: r.choice([_TIME.replace(year=1800), _TIME + datetime.timedelta(microseconds=r.randint(-99, 99))]),
    ),
    "local": (pa.timestamp("us"), lambda r: _TIME.replace(tzinfo=None) + datetime.timedelta(hours=r.randint(0, 99))),
    "money": (pa.decimal128(12, 2), lambda r: decimal.Decimal(r.randint(-9999, 9999)).scaleb(-2)),
    "huge": (
        pa.decimal128(38, 3),
        lambda r: decimal.Decimal(r.choice([-(10**37), 10**37, r.randint(-99, 99)])).scaleb(-3),
    ),
    "single": (pa.float32(), lambda r: r.choice([0.0, -0.0, math.inf, -math.inf, math.nan, r.randint(-9, 9) / 4])),
    "double": (pa.float64(), lambda r: r.choice([0.0, -0.0, math.inf, -math.inf, math.nan, r.random()])),
    "text": (
        pa.string(),
        lambda r: "".join(r.choices(["a", "b", "é", "\uffff", "\U0001f600", "\0"], k=r.randint(0, 3))),
    ),
}


def drawn(name: str, count: int, seed: int, nulls: float = 0.1) -> pa.Array:
    """Return some values of a type."""
    kind, draw = TYPES[name]
    chance = random.Random(f"{name} {seed}")
    return pa.array([None if chance.random() < nulls else draw(chance) for _ in range(count)], kind)


def key(value: Any) -> Any:
    """Return something that Python orders as Spark orders the value; NULL comes first."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return (1, value.encode()) if isinstance(value, str) else (1, value)
