"""`ForwardLineage.dependencies`: verdicts, violations and rows are those of the query that says what they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage
from forward_lineage.profiling.verdict import Verdict

KINDS: dict[str, tuple[pa.DataType, Sequence[Any]]] = {
    "i": (pa.int32(), [1, 2, 3]),
    "n": (pa.int64(), [2**40, -1]),
    "s": (pa.string(), ["a", "A", "", "ä"]),
    "f": (pa.float64(), [0.0, -0.0, float("nan"), 1.5]),
    "g": (pa.float32(), [0.5, -0.0, 0.0]),
    "d": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("0.00")]),
    "day": (pa.date32(), [date(2024, 1, 1), date(1970, 1, 1)]),
    "old": (pa.date32(), [date(1500, 1, 1), date(2024, 1, 1)]),
    "at": (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    "clock": (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(1066, 10, 14)]),
    "yes": (pa.bool_(), [True, False]),
    "raw": (pa.binary(), [b"", b"\0a", b"\xff"]),
}
CONSTRAINTS = [
    "i -> s",
    "i, s -> n, yes",
    "f -> g, d",
    "g, yes -> f",
    "day -> old",
    "old -> at",
    "at -> clock, raw",
    "clock -> day",
    "raw, d -> i",
    "upper(s) AS big, i % 2 -> year(day) AS y, n",
    "key(i, s, f, day)",
    "key(at)",
]


def relation(rows: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    columns = {}
    for name, (kind, values) in KINDS.items():
        drawn = [chance.choice([None, *values]) for _ in range(rows)]
        columns[name] = pa.array(drawn, kind)
    return pa.table({"row": pa.array(chance.sample(range(rows * 3), rows)), **columns})


def registered(lineage: ForwardLineage, folder: Path, how: str, seed: int, rows: int = 60) -> None:
    """A table of several files, with small row groups; by position, as a copy, or by a key with gaps."""
    table = relation(rows, seed)
    folder.mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * rows // 3, rows // 3), folder / f"{part}.parquet", row_group_size=7)
    if how == "position":
        lineage.register("t", path=folder)
        return
    lineage.spark.read.parquet(str(folder)).createOrReplaceTempView("t")
    if how == "key":
        lineage.register("t", key="row")
    else:
        lineage.register("t", source="t", order_by="row")


def assert_as_said(lineage: ForwardLineage, verdict: Verdict) -> None:
    """Compare with what Spark and the rules make of the query of a verdict."""
    frame = lineage.sql(verdict.sql)
    users = frame.columns[:-1]
    assert verdict.violations.column_names == users
    expected = frame.selectExpr(*[f"`{name}`" for name in users], "dl_ids(DL.t) AS ids").toArrow().to_pylist()
    found = [{**row, "ids": list(verdict.rows(place))} for place, row in enumerate(verdict.violations.to_pylist())]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))  # NaN is NaN
    assert verdict.count == len(expected)
    assert verdict.holds == (not expected)
    types = frame.drop("DL").toArrow().schema.types
    assert verdict.violations.schema.types == types


@pytest.mark.parametrize("how", ["position", "key", "copy"])
@pytest.mark.parametrize("nulls", ["unknown", "equal"])
def test_random_relations(lineage: ForwardLineage, tmp_path: Path, how: str, nulls: Any) -> None:
    registered(lineage, tmp_path / "t", how, seed=len(how))
    for verdict in lineage.dependencies("t", CONSTRAINTS, nulls=nulls):
        assert_as_said(lineage, verdict)
