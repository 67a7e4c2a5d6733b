"""Tables that look like those of the thesis: flights, taxi trips, police stops. Nothing is replicated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_PART = 5_500_000
_SEED = 7
#: So many rows has each table at size 1.
ROWS = {"flights": 121_000_000, "taxi": 50_000_000, "police": 6_000_000}


def table(name: str, size: float) -> pa.Table:
    """Return one of `ROWS`, at a part of its size; the same every time."""
    return pa.concat_tables(parts(name, size))


def parts(name: str, size: float) -> Iterator[pa.Table]:
    """Yield the rows of a table, a few million at once."""
    make = {"flights": _flights, "taxi": _taxi, "police": _police}[name]
    total = int(ROWS[name] * size)
    for first in range(0, total, _PART):
        yield make(min(_PART, total - first), np.random.default_rng([len(name), first]))


def written(name: str, size: float, folder: Path) -> Path:
    """Write a table as Parquet, a file for each part; returns the folder."""
    place = folder / name
    place.mkdir(parents=True)
    for number, part in enumerate(parts(name, size)):
        pq.write_table(part, place / f"part-{number:03}.parquet")
    return place


def _flights(rows: int, generator: np.random.Generator) -> pa.Table:
    origin = _skewed(347, rows, generator, 1.1)
    airline = _skewed(29, rows, generator, 0.8)
    day = generator.integers(1, 8, rows)
    time = (generator.beta(2.2, 1.8, rows) * 2_359).astype(np.int64)
    settled = np.random.default_rng(_SEED)  # the same in all parts
    by_origin, by_airline = settled.normal(0, 3, 347), settled.normal(0, 2.5, 29)
    usual = by_origin[origin] + by_airline[airline] + (day % 3) * 0.8 + time / 400
    late = generator.random(rows) < 0.2
    delay = np.where(late, generator.lognormal(3.3, 1.0, rows), generator.normal(-2, 4, rows)) + usual - 3
    return pa.table(
        {
            "origin": _names("A", 347).take(pa.array(origin)),
            "airline": _names("L", 29).take(pa.array(airline)),
            "dow": day,
            "dep_time": time,
            "dep_delay": np.round(delay).clip(-120, 2_000).astype(np.int64),
        }
    )


def _taxi(rows: int, generator: np.random.Generator) -> pa.Table:
    hour = generator.integers(0, 24, rows)
    passengers = generator.choice(6, rows, p=[0.7, 0.14, 0.05, 0.03, 0.05, 0.03]) + 1
    mean = 0.75 + 0.25 * np.cos((hour - 5) / 24 * 2 * np.pi)
    distance = np.round(generator.lognormal(mean, 0.8, rows), 2).clip(0, 100)
    fare = np.round(2.5 + 2.6 * distance + generator.exponential(2, rows), 2).clip(2.5, 500)
    return pa.table({"hour": hour, "passengers": passengers, "distance": distance, "fare": fare})


def _police(rows: int, generator: np.random.Generator) -> pa.Table:
    race, age = generator.choice(5, rows, p=[0.8, 0.08, 0.06, 0.04, 0.02]), generator.integers(16, 90, rows)
    violations = generator.poisson(0.6 + 0.1 * race + np.exp(-(((age - 19) / 6) ** 2)) * 0.6) + 1
    return pa.table({"race": race, "age": age, "violations": violations.clip(1, 12)})


def _skewed(count: int, rows: int, generator: np.random.Generator, power: float) -> np.ndarray:
    weights = 1 / np.arange(1, count + 1) ** power
    return generator.choice(count, rows, p=weights / weights.sum())


def _names(letter: str, count: int) -> pa.Array:
    return pa.array([f"{letter}{number:03}" for number in range(count)])
