"""The bench of lineage sets runs, and its figures are of the sets it says."""

from __future__ import annotations

import json

from click.testing import CliRunner

from tests.bench.lineage_sets import ENCODINGS, main
from udafs.lineage_set import LineageSet


def test_a_small_run() -> None:
    ran = CliRunner().invoke(main, ["--ids", "2000", "--runs", "1", "--json"], catch_exceptions=False)
    found = {each["shape"]: each for each in json.loads(ran.stdout)}
    contiguous = found["contiguous"]
    assert contiguous["bytes"] == {e: len(LineageSet(range(1000, 3000)).to_bytes(e)) for e in ENCODINGS}
    for each in found.values():
        assert each["bytes"]["auto"] == min(each["bytes"].values())
        assert all(value > 0 for value in each["nanoseconds_an_id"].values())


def test_tables() -> None:
    ran = CliRunner().invoke(main, ["--ids", "1000", "--runs", "1"], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert "roBDD / roaring bitmap" in ran.stdout and "every 7th" in ran.stdout
