"""Times that only another order of growth exceeds: they must not depend on how many ids, bytes or rows there are.

They are limits of time, so they are not among the tests of a day.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.row_ids.checks import check_files, current_files
from tests.udafs.test_lineage_set import billions_in_roaring, mutate, seeds, survives
from udafs.lineage_set import LineageSet

pytestmark = pytest.mark.long


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    assert time.perf_counter() - begun < seconds, what


def test_a_thousand_files_are_listed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"v": [1]}), tmp_path / "one.parquet")
    for n in range(1000):
        (tmp_path / "t" / f"{n:04d}.parquet").write_bytes((tmp_path / "one.parquet").read_bytes())
    manifest = ForwardLineage(spark, tmp_path / "home").register("t", path=tmp_path / "t")
    assert manifest.next_id == 1000
    with within(1.0, "files were opened?"):
        check_files(manifest, current_files(spark, manifest))


def test_billions_of_ids_in_runs() -> None:
    data = billions_in_roaring()
    with within(30.0, "ids were made one by one?"):
        assert len(LineageSet.from_bytes(data)) == 2**32


def test_no_bytes_take_long() -> None:
    rng, values = random.Random(3), seeds()
    for _ in range(20_000):
        value = mutate(rng, rng.choice(values))
        with within(5.0, value.hex()):
            survives(value)
