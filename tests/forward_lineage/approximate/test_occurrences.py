"""`lineage.occurs` of registered tables: types, free places, files that are skipped, versions, damaged filters."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError


def _write(folder: Path, files: int = 4) -> Path:
    folder.mkdir(exist_ok=True)
    for place in range(files):
        count = 200
        table = {
            "origin": [f"A{place}{number % 20:02}" if number % 7 else None for number in range(count)],
            "delay": [float(number % 50) if number % 11 else math.nan for number in range(count)],
            "flight": range(place * count, (place + 1) * count),
        }
        pq.write_table(pa.table(table), folder / f"part-{place}.parquet")
    return folder


def test_files_are_skipped_and_a_filter_is_of_one_version(lineage: ForwardLineage, tmp_path: Path) -> None:
    folder = _write(tmp_path / "flights")
    lineage.register("flights", path=str(folder))
    made = lineage.membership("flights", ["origin", "delay", "flight"])  # read by Spark once, for its text
    assert made.kind == "fuse"
    there = lineage.occurs("flights", {"origin": "A203", "flight": None})
    assert (bool(there), there.row, there.how) == (True, 403, "looked up in 1 of 4 files")
    assert not lineage.occurs("flights", {"origin": "A203", "flight": 1})
    assert "proven by a fuse filter of delay, flight, origin" in lineage.occurs("flights", {"flight": -7}).how
    assert lineage.occurs("flights", {"delay": math.nan, "origin": "A011"}).row == 11
    assert lineage.occurs("flights", {"delay": -0.0}).row == 50
    assert lineage.occurs("flights", {"origin": None}).row == 0  # any row will do
    assert not lineage.occurs("flights", {"flight": 1 << 70})
    for wrong, said in (({"flight": "1"}, "flight is a bigint"), ({"flight": True}, "True"), ({"x": 1}, "no column x")):
        with pytest.raises(LineageError, match=said):
            lineage.occurs("flights", wrong)
    numbers = lineage.membership("flights", ["flight"])
    _damage(lineage)
    again = ForwardLineage(lineage.spark, home=lineage.home)  # nothing in memory: files are read, found cut, and remade
    assert repr(again.membership("flights", ["flight"])) == repr(numbers)
    assert again.occurs("flights", {"flight": 403}).row == 403
    pq.write_table(pq.read_table(folder / "part-0.parquet"), folder / "part-4.parquet")  # the same flights again
    with pytest.raises(LineageError, match="flights"):
        lineage.occurs("flights", {"flight": 803})
    lineage.refresh("flights")
    found = lineage.occurs("flights", {"flight": 199})
    assert (found.row, found.how) == (199, "looked up in 1 of 5 files")
    assert not lineage.occurs("flights", {"flight": 803})


def _damage(lineage: ForwardLineage) -> None:
    cells = [path for path in Path(lineage.home).rglob("filters/*/*/*") if path.suffix != ".json"]
    assert cells
    for path in cells:
        path.write_bytes(path.read_bytes()[:-1])


def test_other_types_by_spark(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE TABLE padded (id BIGINT, code CHAR(5), price DECIMAL(9, 2), day DATE) USING parquet")
    lineage.spark.sql(
        "INSERT INTO padded VALUES (1, 'ab', 1.50, DATE '2020-01-01'), (2, NULL, 2.00, DATE '1500-03-01')"
    )
    try:
        lineage.register("padded", key="id")
        assert lineage.occurs("padded", {"code": "ab", "price": Decimal("1.5")}).row == 1
        assert lineage.occurs("padded", {"code": "ab   "})
        assert lineage.occurs("padded", {"day": date(1500, 3, 1), "price": 2}).row == 2
        assert not lineage.occurs("padded", {"day": date(1500, 3, 1), "price": Decimal("1.5")})
        with pytest.raises(LineageError, match="day is a date"):
            lineage.occurs("padded", {"day": datetime(2020, 1, 1)})
        lineage.spark.range(3).createOrReplaceTempView("numbers")
        lineage.register("numbers", key="id")
        lineage.spark.range(3, 9).createOrReplaceTempView("numbers")
        with pytest.raises(LineageError):  # never a filter of other rows
            lineage.occurs("numbers", {"id": 8})
    finally:
        lineage.spark.sql("DROP TABLE padded")
