"""Every shape of query over every type; a few every day."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.oracle.kinds import KINDS, SHAPES, Tables, Typed, all_typed, problems
from tests.tiers import every_day

pytestmark = pytest.mark.timeout(1800)

# Padding and collations decide what a comparison means where it stands; wide decimals, floats and variants how values
# are carried.
DAILY = {
    ("CHAR(3)", "exists"), ("CHAR(3)", "a maximum of the key"), ("STRING COLLATE UTF8_LCASE", "groups joined"),
    ("DECIMAL(38, 6)", "groups joined"), ("DOUBLE", "union"), ("TINYINT", "exists"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    session = spark.newSession()
    session.sql("CREATE DATABASE IF NOT EXISTS kinds")
    session.sql("USE kinds")
    yield ForwardLineage(session, home=tmp_path_factory.mktemp("home"))
    session.sql("DROP DATABASE kinds CASCADE")


@pytest.mark.parametrize("typed", every_day(all_typed(), lambda each: (each.kind, each.shape) in DAILY), ids=str)
def test_rows_and_witnesses(lineage: ForwardLineage, typed: Typed) -> None:
    tables = Tables(lineage, typed)
    try:
        found = [each for semantics in ("data", "control") for each in problems(tables, typed, semantics)]
    finally:
        tables.drop()
    assert found == []


def test_every_type_meets_every_shape() -> None:
    found = {(each.kind, each.shape) for each in all_typed()}
    assert len(found) == len(KINDS) * len(SHAPES) and found >= DAILY
