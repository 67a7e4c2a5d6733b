"""The kernel answers as Python does, bit for bit, from the same files; and skips files, but never a row."""

from __future__ import annotations

import math
import shutil
from datetime import date
from decimal import Decimal, localcontext
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row

from forward_lineage import ForwardLineage
from forward_lineage.approximate.filters.choosing import FuseOfTuples, TupleFilter
from forward_lineage.approximate.filters.fuse import fuse_filter
from forward_lineage.approximate.filters.hashing import Tuples, hash_of, hashes_of
from forward_lineage.approximate.filters.learned import learned_filter, not_together
from forward_lineage.approximate.filters.storing import as_arrays
from forward_lineage.approximate.filters.tuples import CodedColumns
from forward_lineage.columns.array_cache import Writer
from tests.task_errors import REFUSED

LONG = Decimal("12345678901234567890123456789012.345678")  # of 38 digits; a context has 28
ROWS = [
    (1, 0.0, LONG, "ORD", "ab", date(2020, 2, 29), True),
    (-(1 << 63), -0.0, Decimal("1.50"), "", "abcde", date(1500, 3, 1), False),
    ((1 << 63) - 1, math.nan, Decimal(0), "naïve – 東京 " + "x" * 300, "", date(9999, 12, 31), None),
    (None, math.inf, Decimal("-100.000001"), None, "é", None, True),
    (7, 1e-300, None, "x" * 127, "zz", date(1970, 1, 1), False),
]
OTHERS = [
    (2, 0.5, LONG + 1, "LAX", "abc", date(2020, 3, 1), None),
    (8, -1.0, Decimal("100.000001"), "x" * 128, "e", date(1969, 12, 31), False),
]
NAMES = ("whole", "number", "price", "word", "code", "day", "truth")
TYPES = "whole BIGINT, number DOUBLE, price DECIMAL(38, 6), word STRING, code CHAR(5), day DATE, truth BOOLEAN"


def test_values_of_every_type_and_all_wildcards(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    spark.sql(f"CREATE TABLE filtered_in_kernel ({TYPES}) USING parquet")
    try:
        frame = spark.createDataFrame(ROWS, TYPES.replace("CHAR(5)", "STRING"))
        frame.write.insertInto("filtered_in_kernel")
        lineage.register("filtered_in_kernel")
        with localcontext() as context:
            context.prec = 3  # the caller's affair: no hash may depend on it
            filter_ = lineage.membership("filtered_in_kernel", NAMES)
        mixed = [
            tuple(row[place] for place, row in enumerate(rows))
            for rows in zip(ROWS[:2], *[ROWS[1:]] * 5, OTHERS, strict=False)
        ]
        asked = sorted(
            {
                _key(row, kept): _free(row, kept)
                for row in (*ROWS, *OTHERS, *mixed)
                for kept in product((True, False), repeat=7)
            }.items()
        )
        probes = spark.createDataFrame([row for _, row in asked], TYPES.replace("CHAR(5)", "STRING"))
        columns = ", ".join(filter_.columns)
        found = probes.selectExpr(f"dl_may_occur('{filter_.path}', {columns})").collect()
        padded = [dict(zip(NAMES, row, strict=True)) for _, row in asked]
        for row in padded:
            row["code"] = row["code"].ljust(5) if isinstance(row["code"], str) else None
        expected = [filter_.may_occur({name: each for name, each in row.items() if each is not None}) for row in padded]
        differ = [row for row, may, right in zip(padded, found, expected, strict=True) if may[0] != right]
        assert not differ, differ[:3]
        assert len({*expected}) == 2
        keys = {_key(row, kept) for row in ROWS for kept in product((True, False), repeat=7)}
        assert all(may for (key, _), may in zip(asked, expected, strict=True) if key in keys)
        one = f"SELECT dl_may_occur('{filter_.path}', 'ab', NULL, 0, NULL, NULL, 1, NULL) FROM range(1)"
        assert filter_.columns == tuple(sorted(NAMES))
        assert spark.sql(one).first() == (True,)
        assert "false" in spark.sql(one.replace("'ab'", "'no'"))._jdf.queryExecution().optimizedPlan().toString()
        for wrong, said in (
            ("'ab'", "a value for each column of the filter, code, day"),
            ("1, 2, 3, 4, 5, 6, 7", "text, and 1 is a int"),
        ):
            with pytest.raises(REFUSED, match=said):
                spark.sql(f"SELECT dl_may_occur('{filter_.path}', {wrong})").collect()
    finally:
        spark.sql("DROP TABLE filtered_in_kernel")


def _free(row: tuple[object, ...], kept: tuple[bool, ...]) -> tuple[object, ...]:
    return tuple(each if keep else None for each, keep in zip(row, kept, strict=True))


def _key(row: tuple[object, ...], kept: tuple[bool, ...]) -> str:
    return repr(tuple(each + 0.0 if isinstance(each, float) else each for each in _free(row, kept)))


def _written(folder: Path, kept: TupleFilter, columns: int) -> str:
    folder.mkdir()
    writer = Writer(folder, "filters.json")
    arrays, described = as_arrays(kept)
    for name, array in arrays.items():
        writer.put(name, array)
    writer.finish(
        {**described, "of": [{"name": f"c{place}", "values": "whole", "width": 0} for place in range(columns)]}
    )
    return str(folder)


def test_fuse_and_learned_filters_answer_alike(lineage: ForwardLineage, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    chance = np.random.default_rng(5)
    kind = chance.integers(0, 8, 400)
    codes = np.stack([kind * 4 + chance.integers(0, 4, 400) for _ in range(3)], axis=1)
    columns = CodedColumns(codes, [hashes_of(range(32))] * 3).distinct()
    there = columns.all_tuples()
    others = not_together(columns, there, 3_000, seed=9)
    hashes = {hash_of(number): number for number in range(32)}
    rows = [
        tuple(hashes[int(each)] if given else None for each, given in zip(mine, kept, strict=True))
        for tuples in (there, others)
        for mine, kept in zip(tuples.hashes, tuples.given, strict=True)
    ]
    probes = lineage.spark.createDataFrame(rows, "a INT, b BIGINT, c SMALLINT")
    asked = Tuples(np.concatenate([there.hashes, others.hashes]), np.concatenate([there.given, others.given]))
    for name, kept in {
        "fuse": FuseOfTuples(fuse_filter(columns.keys(), 3)),  # narrow: many are found that do not occur
        "learned": learned_filter(columns, there, 0.05),
    }.items():
        path = _written(tmp_path / name, kept, 3)
        found = [row[0] for row in probes.selectExpr(f"dl_may_occur('{path}', a, b, c)").collect()]
        expected = kept.occurs(asked)
        assert found == expected.tolist()
        assert expected[: len(there)].all()
        assert 0 < expected[len(there) :].sum() < len(others)
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "fuse", copy)
    cells = copy / "keys_cells"
    cells.write_bytes(cells.read_bytes()[:-1] + b"\1")
    for folder, said in ((copy, "keys_cells is damaged"), (tmp_path / "gone", "cannot be read")):
        with pytest.raises(REFUSED, match=said):
            probes.selectExpr(f"dl_may_occur('{folder}', a, b, c)").collect()


def test_files_are_skipped_and_what_a_filter_does_not_know_is_read(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark, folder = lineage.spark, tmp_path / "flights"
    folder.mkdir()
    for place in range(4):
        table = {
            "origin": [f"A{place}{number % 20:02}" for number in range(200)],
            "flight": range(place * 200, place * 200 + 200),
        }
        pq.write_table(pa.table(table), folder / f"part-{place}.parquet")
    lineage.register("flights_in_kernel", path=str(folder))
    path = lineage.membership("flights_in_kernel", ["flight", "origin"]).path

    def rows(flight: int, origin: str) -> tuple[list[Row], int]:
        """The rows that a query finds that skips files, and how many files it reads."""
        spark.catalog.refreshByPath(str(folder))
        may = f"dl_may_be_in('{path}', _metadata, {flight}, '{origin}')"
        frame = spark.sql(
            f"SELECT flight FROM parquet.`{folder}` WHERE flight = {flight} AND origin = '{origin}' AND {may}"
        )
        found = frame.collect()
        scans = frame._jdf.queryExecution().executedPlan().collectLeaves()
        return found, sum(int(scans.apply(place).metrics().apply("numFiles").value()) for place in range(scans.size()))

    assert rows(403, "A203") == ([Row(flight=403)], 1)
    assert rows(-7, "A203") == ([], 0)
    pq.write_table(pa.table({"origin": ["A203"], "flight": [-7]}), folder / "part-4.parquet")  # a file that came later
    assert rows(-7, "A203") == ([Row(flight=-7)], 1)
    pq.write_table(pa.table({"origin": ["A203"], "flight": [-8]}), folder / "part-0.parquet")  # one that has changed
    assert rows(-8, "A203") == ([Row(flight=-8)], 2)
    lineage.refresh("flights_in_kernel")
    lineage.membership("flights_in_kernel", ["flight", "origin"])
    with pytest.raises(REFUSED, match="may be of an older version"):
        rows(403, "A203")
