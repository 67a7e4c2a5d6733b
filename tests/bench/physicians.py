"""Physicians shaped as the paper's: Physician Compare, as Medicare published it.   [Psallidas and Wu 2018, §5, §6.5.2]

2.2 million rows, 0.6 GB as CSV: one row for each physician at each place of work, so a physician stands there twice
in the mean. What is in the columns is made up, seeded: names, schools and hospitals follow power laws, a zip has nine
digits, a column is mostly NULL. Four dependencies hold but for errors that were put in, in one row of five thousand:
what a physician is registered as, which city and which state a zip is in, which number a hospital has.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

ROWS = 2_200_000
#: The dependencies that the paper evaluates, over the columns that ours has.
DEPENDENCIES = ("npi -> pac_id", "zip -> city", "zip -> state", "lbn1 -> ccn1")
COLUMNS = ("npi", "pac_id", "city", "state", "zip", "ccn1", "lbn1")
_STATES = 56
_CITIES = 12_000
_ZIPS = 180_000
_HOSPITALS = 4_800
#: So many rows have no hospital.
_NO_HOSPITAL = 0.3


def generate(folder: Path, rows: int = ROWS, seed: int = 2016) -> dict[str, Path]:
    """Write the physicians, unless they are there.

    Args:
        folder: where.
        rows: how many.
        seed: other physicians of the same shape.

    Returns:
        ``parquet`` and ``csv``, all columns; ``narrow``, a CSV file with those of the dependencies only.

    """
    files = {"parquet": folder / "physicians.parquet", "csv": folder / "all.csv", "narrow": folder / "narrow.csv"}
    if (folder / "_SUCCESS").exists():
        return files
    folder.mkdir(parents=True, exist_ok=True)
    table = physicians(rows, seed)
    pq.write_table(table, files["parquet"])
    pa_csv.write_csv(table, files["csv"])
    pa_csv.write_csv(table.select(COLUMNS), files["narrow"])
    (folder / "_SUCCESS").touch()
    return files


def physicians(rows: int, seed: int = 2016) -> pa.Table:
    """The physicians as a table."""
    random = np.random.default_rng(seed)
    who = np.sort(random.integers(0, max(rows // 2, 1), rows))
    places = _power_law(random, _ZIPS, rows, 0.7)
    hospital = _power_law(random, _HOSPITALS, rows, 0.8)
    city_of, state_of = random.integers(0, _CITIES, _ZIPS), random.integers(0, _STATES, _ZIPS)
    no_hospital = random.random(rows) < _NO_HOSPITAL
    pac = _with_errors(random, who * 7 + 42_000_000, 10**9)
    columns = {
        "npi": pa.array(who * 811 + 1_003_000_000),
        "pac_id": pa.array(pac),
        "enrollment_id": _texts("I2004{:010}", 40_000).take(_drawn(random, rows, 40_000)),
        "last_name": _texts("LASTNAME{}", 60_000).take(_drawn(random, rows, 60_000)),
        "first_name": _texts("FIRST{}", 9_000).take(_drawn(random, rows, 9_000)),
        "gender": _texts("{}", 2).take(_drawn(random, rows, 2)),
        "credential": _texts("CR{}", 20).take(_drawn(random, rows, 20)),
        "medical_school": _texts("UNIVERSITY NUMBER {} SCHOOL OF MEDICINE", 400).take(_drawn(random, rows, 400)),
        "graduation_year": pa.array(random.integers(1950, 2016, rows).astype(np.int32)),
        "specialty": _texts("SPECIALTY NUMBER {}", 80).take(_drawn(random, rows, 80)),
        "organisation": _texts("MEDICAL GROUP NUMBER {} LLC", 70_000).take(_drawn(random, rows, 70_000)),
        "group_pac_id": pa.array(random.integers(10**9, 10**9 + 70_000, rows)),
        "members": pa.array(random.integers(2, 4_000, rows).astype(np.int32)),
        "address": _texts("{} MAIN STREET, SUITE 100", 250_000).take(_drawn(random, rows, 250_000)),
        "city": _texts("CITY NUMBER {}", _CITIES).take(pa.array(_with_errors(random, city_of[places], _CITIES))),
        "state": _texts("S{}", _STATES).take(pa.array(_with_errors(random, state_of[places], _STATES))),
        "zip": _texts("{:09}", _ZIPS).take(pa.array(places)),
        "phone": _texts("{:010}", 300_000).take(_drawn(random, rows, 300_000)),
        "ccn1": _texts("{:06}", _HOSPITALS).take(
            pa.array(_with_errors(random, hospital, _HOSPITALS), mask=no_hospital)
        ),
        "lbn1": _texts("HOSPITAL NUMBER {} MEDICAL CENTER", _HOSPITALS).take(pa.array(hospital, mask=no_hospital)),
        "ccn2": _texts("{:06}", _HOSPITALS).take(pa.array(hospital, mask=random.random(rows) < 0.8)),
        "assignment": _texts("{}", 2).take(_drawn(random, rows, 2)),
    }
    return pa.table(columns)


def _texts(form: str, count: int) -> pa.Array:
    return pa.array([form.format(number) for number in range(count)])


def _drawn(random: np.random.Generator, rows: int, count: int) -> pa.Array:
    return pa.array(_power_law(random, count, rows, 0.6))


def _power_law(random: np.random.Generator, count: int, rows: int, exponent: float) -> np.ndarray:
    """Numbers below `count`, the first ones the most often."""
    weights = 1 / np.arange(1, count + 1) ** exponent
    return np.minimum(np.searchsorted(np.cumsum(weights / weights.sum()), random.random(rows), "right"), count - 1)


def _with_errors(random: np.random.Generator, values: np.ndarray, count: int) -> np.ndarray:
    """The same, one in five thousand being any number below `count`."""
    wrong = random.random(values.size) < 0.0002
    return np.where(wrong, random.integers(0, count, values.size), values)
