"""The story is true: lineage has the sizes of Table 9, and what it names is what the correction changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import walmart_demo
from forward_lineage import BadArgumentError, ForwardLineage
from tests.spark_settings import DEFAULTS, configure
from tests.tiers import every_day
from walmart_demo import __main__ as demo
from walmart_demo import story
from walmart_demo.data import generate
from walmart_demo.paper import TABLE_9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(13, folder=tmp_path_factory.mktemp("walmart") / "small")


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    return story.open_tables(spark.newSession(), folder, tmp_path_factory.mktemp("lineage_home"))


def test_names() -> None:
    assert walmart_demo.names() == tuple(f"q{number}" for number in range(1, 9))
    with pytest.raises(BadArgumentError, match="The names are q1 … q8"):
        walmart_demo.query("q9")


@pytest.mark.parametrize("name", every_day(walmart_demo.names(), ["q6", "q8"]))
def test_lineage_leaves_the_report_as_it_is(lineage: ForwardLineage, name: str) -> None:
    text = walmart_demo.query(name)
    plain = [tuple(row) for row in lineage.spark.sql(text).collect()]
    traced = [tuple(row) for row in lineage.sql(text).drop("DL").collect()]
    assert plain
    assert Counter(traced) == Counter(plain)


def test_sizes_of_the_store_that_is_always_there(lineage: ForwardLineage) -> None:
    for size in story.sizes(lineage, ["q1", "q2", "q3", "q4"]):
        assert (size.rows, size.average, size.lineage) == TABLE_9[size.query]


def test_the_strange_receipt_leads_to_the_record(lineage: ForwardLineage) -> None:
    line = story.strange_receipt(lineage)
    assert line["item_description"] == story.BAD_RECORD.item_nbr
    assert line["store_visits"] == line["visit_nbr"]
    assert str(line["total_scan_amount"]) == "899.00"


def test_lineage_names_what_the_correction_changes(lineage: ForwardLineage, folder: Path, tmp_path: Path) -> None:
    corrected = story.correct(lineage.spark, folder, tmp_path)
    found = {report.query: report for report in story.damage(lineage, demo.SUSPECTED, corrected)}
    assert (found["q3"].rows, found["q3"].named) == (12_376, 2)
    for report in found.values():
        assert 0 < report.named < report.rows
        assert report.wrong == report.named
        assert report.unnamed == report.unharmed == 0


def test_a_report_that_lineage_did_not_name_would_show(
    lineage: ForwardLineage, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison can fail: suspect another record, and what the correction changes is unnamed."""
    corrected = story.correct(lineage.spark, folder, tmp_path)
    monkeypatch.setattr(story, "suspected", lambda: "item_nbr < 126000")
    (report,) = story.damage(lineage, ["q3"], corrected)
    assert report.unnamed == 2
    assert report.unharmed == report.named > 0


@pytest.mark.long
def test_at_full_size(spark: SparkSession, tmp_path: Path) -> None:
    """Beside Table 9: Q1–Q5 exactly, Q6 in rows, Q7 and Q8's averages and totals within 5 %. README.md says why."""
    session = spark.newSession()
    configure(session, DEFAULTS)
    everything = story.open_tables(session, generate(130, folder=tmp_path / "full"), tmp_path / "home")
    found = {size.query: size for size in story.sizes(everything, walmart_demo.names())}
    for query in ("q1", "q2", "q3", "q4", "q5"):
        assert (found[query].rows, round(found[query].average), found[query].lineage) == TABLE_9[query]
    assert found["q6"].rows == TABLE_9["q6"][0]
    assert found["q7"].rows == pytest.approx(TABLE_9["q7"][0], rel=0.05)
    for query in ("q7", "q8"):
        assert found[query].average == pytest.approx(TABLE_9[query][1], rel=0.05)
        assert found[query].lineage == pytest.approx(TABLE_9[query][2], rel=0.05)


def test_wrong_options() -> None:
    result = CliRunner().invoke(demo.main, ["--stores", "131"])
    assert result.exit_code == 1
    assert result.output == "Error: 131 stores cannot be drawn. Ask for 1 to 130.\n"


@pytest.mark.long  # a Spark of its own; every day its parts are tested above
def test_it_reads_well_from_the_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "FORWARD_LINEAGE_DATA": str(tmp_path), "COLUMNS": "80"}
    command = [sys.executable, "-m", "walmart_demo", "--stores", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    for words in ("2 stores", "A receipt that looks wrong", "Training Item Do Not Sell", "What it spoiled"):
        assert words in done.stdout
    assert "…  " not in done.stdout  # no figure is cut off
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert (tmp_path / "walmart" / "stores2-seed2007" / "item_scan.parquet").exists()
