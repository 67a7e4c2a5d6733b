"""A few random histories of each format: `python -m tests.lakes` has more."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.lakes.engines import FORMATS
from tests.lakes.histories import run_history


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_rows_ids_and_changes_are_those_of_the_notes(lakes: SparkSession, tmp_path: Path, kind: str, seed: int) -> None:
    assert run_history(lakes, kind, seed, 12, tmp_path / "home").looks == 6
