"""Every shape of query over every type; a few every day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.oracle.blocks import blocks, judged
from tests.oracle.kinds import (
    KINDS,
    OTHER_SETTINGS,
    SHAPES,
    Tables,
    Typed,
    all_typed,
    many_typed,
    problems,
    session_apart,
)
from tests.tiers import every_day

pytestmark = pytest.mark.timeout(1800)

# Padding and collations decide what a comparison means where it stands; wide decimals, floats and variants how values
# are carried.
DAILY = {
    ("CHAR(3)", "exists"), ("STRING COLLATE UTF8_LCASE", "groups joined"), ("DECIMAL(38, 6)", "groups joined"),
    ("DOUBLE", "union"), ("TIMESTAMP", "constants"), ("VARIANT", "windows joined"),
}  # fmt: skip


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    with session_apart(spark, tmp_path_factory.mktemp("home"), OTHER_SETTINGS) as session:
        yield session


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


def test_drawn_queries_are_the_same_for_a_seed_and_share_tables() -> None:
    drawn = many_typed(40, 1_000)
    assert drawn == many_typed(40, 1_000) != many_typed(40, 2_000)
    assert len({(each.kind, each.name) for _, each, _ in drawn}) == 2


def test_a_campaign_goes_on_with_every_type(spark: SparkSession) -> None:
    outcome = judged(spark, replace(blocks(0, 0, 1, typed=1)[0], count=2))
    assert outcome.disagreements == [] and sum(outcome.found["typed"].values()) == 4
