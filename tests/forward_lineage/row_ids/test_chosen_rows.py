"""Ids by position in WHERE: only the files, row groups and pages are read that hold some of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage
from tests.spark_settings import DEFAULTS, configure
from tests.tiers import every_day
from udafs.lineage_set import LineageSet

FILES, ROWS, GROUP = 3, 10_000, 2_500  # files, rows of each, rows of a row group
ALL = FILES * ROWS
VECTORIZED = "spark.sql.parquet.enableVectorizedReader"


def _row(i: int) -> tuple[Any, ...]:
    return i, i // 2, None if i % 7 == 0 else f"{'x' * (i % 40)}{i}", [i, i + 1][: i % 3]


def _table(file: int) -> pa.Table:
    rows = map(_row, range(file * ROWS, (file + 1) * ROWS))
    return pa.table(dict(zip(("n", "half", "text", "listed"), map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    home = tmp_path_factory.mktemp("chosen")
    session = spark.newSession()
    configure(session, DEFAULTS)
    lineage = ForwardLineage(session, home / "lineage_home")
    for name, indexed in (("paged", True), ("unpaged", False)):
        (home / name).mkdir()
        for file in range(FILES):
            parquet.write_table(
                _table(file),
                home / name / f"{file}.parquet",
                row_group_size=GROUP,
                data_page_size=2_000,
                write_batch_size=100,
                write_page_index=indexed,
                use_dictionary=["half"],
            )
        lineage.register(name, path=home / name)
    return lineage


def chosen(lineage: ForwardLineage, ids: Sequence[int], table: str = "paged") -> DataFrame:
    value = F.lit(bytearray(LineageSet(ids).to_bytes()))
    return lineage.spark.table(f"__dl_ids_{table}").where(F.call_function("dl_contains", value, F.col("__dl_id")))


def expected(ids: Sequence[int]) -> list[tuple[Any, ...]]:
    return [(*_row(i), i) for i in sorted(set(ids) & set(range(ALL)))]


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def read(frame: DataFrame) -> tuple[int, int]:
    """The files and the rows that the scan of a query reads."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    while plan.children().size():
        plan = plan.children().apply(0)
    return plan.metrics().apply("numFiles").value(), plan.metrics().apply("numOutputRows").value()


def _sets() -> dict[str, list[int]]:
    random = np.random.default_rng(5)
    return {
        "none": [],
        "the first": [0],
        "the last": [ALL - 1],
        "around a file's end": [ROWS - 1, ROWS],
        "around a row group's end": [GROUP - 1, GROUP, GROUP + 1],
        "a whole row group": [*range(GROUP, 2 * GROUP)],
        "a whole file": [*range(ROWS, 2 * ROWS)],
        "all": [*range(ALL)],
        "beyond the end": [5, ALL + 3, 10**12],
        "few": random.choice(ALL, 20, replace=False).tolist(),
        "many": random.choice(ALL, 9_000, replace=False).tolist(),
        "runs": [i for start in random.choice(ALL, 30).tolist() for i in range(start, min(ALL, start + 90))],
        "every other": [*range(0, ALL, 2)],
    }


# Without an index of pages less is passed over: every day where that could take rows that it must not.
UNPAGED = ("around a row group's end", "beyond the end", "few")


@pytest.mark.parametrize(
    ("table", "name"),
    every_day(product(("paged", "unpaged"), _sets()), lambda case: case[0] == "paged" or case[1] in UNPAGED),
)
def test_the_rows_with_these_ids(lineage: ForwardLineage, name: str, table: str) -> None:
    ids = _sets()[name]
    assert rows_of(chosen(lineage, ids, table)) == expected(ids)


@pytest.mark.parametrize("name", ["few", "many", "runs"])
def test_beside_filters_of_sparks_own(lineage: ForwardLineage, name: str) -> None:
    ids = _sets()[name]
    frame = chosen(lineage, ids).where("half BETWEEN 3000 AND 9000 AND text IS NOT NULL")
    assert rows_of(frame) == [row for row in expected(ids) if 3000 <= row[1] <= 9000 and row[2] is not None]
    assert rows_of(chosen(lineage, ids).where("n = 12345 OR n < 700")) == [
        row for row in expected(ids) if row[0] == 12345 or row[0] < 700
    ]


def test_rows_that_are_read_one_by_one(lineage: ForwardLineage) -> None:
    ids = _sets()["few"]
    lineage.spark.conf.set(VECTORIZED, "false")
    try:
        assert rows_of(chosen(lineage, ids)) == expected(ids)
    finally:
        lineage.spark.conf.unset(VECTORIZED)


def test_what_is_read(lineage: ForwardLineage) -> None:
    assert read(chosen(lineage, [7]).select("n", "text")) == (1, 1)
    assert read(chosen(lineage, [7, 8, ROWS, 2 * ROWS + 5]).select("text")) == (3, 4)
    assert read(chosen(lineage, [100, 110]).select("n")) == (1, 11)  # the few between are read along
    assert read(chosen(lineage, []).select("n")) == (0, 0)
    assert read(chosen(lineage, [7], "unpaged").select("n")) == (1, GROUP)  # nothing says where pages begin


def test_two_sets_of_one_table(lineage: ForwardLineage) -> None:
    few, runs = _sets()["few"], _sets()["runs"]
    both = chosen(lineage, few).select("n").union(chosen(lineage, runs).select("n"))
    assert rows_of(both) == sorted([(n,) for n in few] + [(n,) for n in set(runs)])
    met = chosen(lineage, few).select("n").join(chosen(lineage, runs).select("n"), "n")
    assert rows_of(met) == sorted((n,) for n in set(few) & set(runs))
    again = chosen(lineage, few).where(F.expr("__dl_id % 2 = 0")).select("n")
    assert rows_of(again) == sorted((n,) for n in few if n % 2 == 0)
