"""A few trials of the campaign: see `tests.updates`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.shared_state import drop_views
from tests.tiers import every_day
from tests.updates.campaign import Trial


@pytest.mark.parametrize("seed", every_day(range(1, 9), [1]))
def test_what_updates_leave(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    trial = Trial(ForwardLineage(spark, tmp_path / "home"), tmp_path / "t", seed, edits=2)
    verdicts = list(trial.verdicts())
    drop_views(spark)
    assert [verdict.wrong for verdict in verdicts if verdict.wrong is not None] == []
    assert {verdict.way for verdict in verdicts} & {"untouched", "partly"}
