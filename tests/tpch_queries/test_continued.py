"""TPC-H, and what may be done next with its frames: each step alone, as with the same rows and lineage written down."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import ForwardLineage
from forward_lineage.checking.continuations import STEPS, Steps
from forward_lineage.checking.frame_law import Continued
from tests.tiers import every_day
from tests.tpch_queries.neutrality import QUERIES
from tests.tpch_queries.sessions import traced_session

pytestmark = pytest.mark.timeout(7200)

# Q15 reads one grouping twice.
DAILY = ("q15",)


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return traced_session(spark, tpch, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("query", every_day(QUERIES, DAILY))
def test_every_step(lineage: ForwardLineage, tmp_path: Path, query: str) -> None:
    wanted = ["drop DL", "some columns", "group"] if query in DAILY else list(STEPS)
    chosen = [Steps(((step, 11),)) for step in wanted]
    law = Continued(len(wanted), "a seed", time.monotonic() + 7200, tmp_path, lambda _: None, chosen=chosen)
    law.try_on(lambda: lineage.sql(tpch_queries.query(query)), "data")
    assert law.law.failed == []
    assert law.law.held
