"""Flights shaped as the paper's Ontime: on-time performance, 1987 to 2008.   [Psallidas and Wu 2018, §5, §6.5.1]

123.5 million rows in the order of their days; 65,536 places <lat, lon> of which 301 have rows, 7,762 days, 8 delays, 29
carriers: 8,100 bars. How rows fall on bars is made up, seeded, and as uneven as the original: the five largest carriers
have a tenth of the rows each, or more, as there; a delay has a third of them; places follow a power law, in another
order for each carrier, as hubs do; days grow in number over the years and have weekends.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 123_500_000
PLACES, DAYS, DELAYS, CARRIERS = 301, 7_762, 8, 29
SIDE = 256
FIRST_DAY = np.datetime64("1987-10-01")
_CHUNK = 4_000_000
_DELAYS = (0.365, 0.155, 0.13, 0.11, 0.09, 0.07, 0.05, 0.03)
_LARGE_CARRIERS = (0.134, 0.129, 0.121, 0.114, 0.108, 0.083, 0.066)

VIEWS = {
    "places": "SELECT lat, lon, count(*) AS flights FROM ontime GROUP BY lat, lon",
    "days": "SELECT day, count(*) AS flights FROM ontime GROUP BY day",
    "delays": "SELECT delay, count(*) AS flights FROM ontime GROUP BY delay",
    "carriers": "SELECT carrier, count(*) AS flights FROM ontime GROUP BY carrier",
}


def generate(folder: Path, rows: int = ROWS, seed: int = 1987) -> Path:
    """Write the flights as Parquet files, unless they are there.

    Args:
        folder: where; one folder for each number of rows.
        rows: how many; fewer than there are bars leave some bars empty.
        seed: other flights of the same shape.

    """
    done = folder / "_SUCCESS"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    shape = _shape(random, rows)
    for first in range(0, rows, _CHUNK):
        table = _flights(random, shape, first, min(_CHUNK, rows - first))
        pq.write_table(table, folder / f"part-{first // _CHUNK:04}.parquet")
    done.touch()
    return folder


def _shape(random: np.random.Generator, rows: int) -> Mapping[str, np.ndarray]:
    small = 0.8 ** np.arange(CARRIERS - len(_LARGE_CARRIERS))
    carriers = np.append(_LARGE_CARRIERS, small / small.sum() * (1 - sum(_LARGE_CARRIERS)))
    places = 1 / np.arange(1, PLACES + 1) ** 0.95
    days = np.linspace(1, 1.7, DAYS) * np.where(np.arange(DAYS) % 7 < 5, 1.0, 0.85)
    hubs = np.stack([np.roll(np.arange(PLACES), 3 * carrier) for carrier in range(CARRIERS)])
    return {
        "carriers": np.cumsum(carriers),
        "places": np.cumsum(places / places.sum()),
        "delays": np.cumsum(_DELAYS),
        "last_of_day": np.cumsum(days / days.sum()) * rows,
        "hubs": hubs,
        "where": random.choice(SIDE * SIDE, PLACES, replace=False),
    }


def _flights(random: np.random.Generator, shape: Mapping[str, np.ndarray], first: int, rows: int) -> pa.Table:
    day = np.searchsorted(shape["last_of_day"][:-1], np.arange(first, first + rows), "right")
    carrier, delay, place = (_drawn(random, shape[name], rows) for name in ("carriers", "delays", "places"))
    place = np.where(random.random(rows) < 0.5, place, shape["hubs"][carrier, place])
    where = shape["where"][place]
    names = pa.array([f"{chr(65 + number // 5)}{chr(75 + number % 5)}" for number in range(CARRIERS)])
    return pa.table(
        {
            "lat": (where // SIDE).astype(np.int16),
            "lon": (where % SIDE).astype(np.int16),
            "day": FIRST_DAY + day,
            "delay": delay.astype(np.int8),
            "carrier": names.take(pa.array(carrier)),
        }
    )


def _drawn(random: np.random.Generator, cumulated: np.ndarray, rows: int) -> np.ndarray:
    return np.minimum(np.searchsorted(cumulated, random.random(rows), "right"), cumulated.size - 1)
