"""`forward-lineage graph` as a page: the same from a session as without Spark, and opened in a browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.cli.pictures import PipelineNow, save_pipeline
from forward_lineage.cli.question_executors import asked_of
from forward_lineage.embedded.questions import Questions
from forward_lineage.store.library.library import Library
from tests.conftest import REPOSITORY

_DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    folder = tmp_path_factory.mktemp("page")
    sales = pa.table({"item": ["pen", "ink", "pen", "cap"], "price": pa.array([3, 5, 4, 9], pa.int64())})
    pq.write_table(sales, folder / "sales.parquet")
    found = ForwardLineage(spark.newSession(), folder / "home")
    found.register("sales", path=folder / "sales.parquet")
    found.save("SELECT item, sum(price) AS price FROM sales GROUP BY item", "per_item")
    found.save("SELECT item FROM per_item WHERE price > 6", "large")
    found.save("SELECT count(*) AS n FROM large", "counted")
    found.save("SELECT item FROM per_item WHERE price > 8", "large", keep_versions=True)
    return found


def steps_in(page: str) -> dict[str, dict[str, Any]]:
    match = _DATA.search(page)
    assert match is not None
    return {step["name"]: step for step in json.loads(match[1])}


def page_of(asked: Any, lineage: ForwardLineage, table: str | None, where: str | None, folder: Path) -> str:
    save_pipeline(asked, Library(lineage.home), (table, where), folder / "page.html")
    return (folder / "page.html").read_text()


@pytest.mark.parametrize(("table", "where"), [(None, None), ("sales", "price = 4"), ("per_item", None)])
def test_the_same_from_a_session_and_without_spark(
    lineage: ForwardLineage, tmp_path: Path, table: str | None, where: str | None
) -> None:
    pages = [page_of(asked, lineage, table, where, tmp_path) for asked in (asked_of(lineage), Questions(lineage.home))]
    assert pages[0] == pages[1]


def test_what_it_shows(lineage: ForwardLineage, tmp_path: Path) -> None:
    steps = steps_in(page_of(Questions(lineage.home), lineage, "sales", "price = 4", tmp_path))
    assert steps.keys() == {"sales", "per_item", "large", "large, version 1", "counted"}
    assert "1 suspected" in steps["sales"]["lines"] and "1 touched" in steps["per_item"]["lines"]
    assert "stale: an input has changed" in steps["counted"]["lines"]
    (row,) = steps["per_item"]["rows"]
    assert row["cells"] == ["pen", "7"]
    assert [(each["of"], each["ids"], each["count"]) for each in row["made"]] == [("sales", [0, 2], 2)]
    assert [(line["id"], line["touched"]) for line in steps["sales"]["rows"]] == [(2, True), (0, False)], (
        "the suspected row, then its neighbour in the group"
    )
    assert row["touched"] and steps["per_item"]["saved"].startswith("Saved 20")
    assert steps["counted"]["saved"].endswith("large has changed since.")
    assert steps["per_item"]["more"] == "1 of 3 rows."
    assert steps["large"]["note"] == "No row of it is touched."
    assert "An older version" in steps["large, version 1"]["note"]
    assert steps["large"]["sql"] == "SELECT item FROM per_item WHERE price > 8"


def test_rows_of_a_table_that_has_changed_are_not_shown(lineage: ForwardLineage, tmp_path: Path) -> None:
    file = Path(lineage.tables()["sales"].files[0].path)
    before = file.stat().st_mtime_ns
    os.utime(file, ns=(1, 1))
    try:
        steps = steps_in(page_of(Questions(lineage.home), lineage, None, None, tmp_path))
    finally:
        os.utime(file, ns=(before, before))
    assert steps["sales"]["rows"] == [] and "has changed" in steps["sales"]["note"]
    assert len(steps["per_item"]["rows"]) == 3


def test_a_picture_as_before(lineage: ForwardLineage) -> None:
    now = PipelineNow.of(Questions(lineage.home), Library(lineage.home), "sales", "price = 4")
    texts = [text.get_text() for text in now.picture().axes.texts]
    assert {"Impact of sales where price = 4", "1 suspected", "not touched"} <= set(texts)


def test_it_is_opened_in_the_browser(lineage: ForwardLineage, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path / "opened"}\n')
    browser.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "forward_lineage", "graph", "--open", "--home", str(lineage.home)],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, "BROWSER": str(browser), "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    file = Path(done.stdout.strip())
    assert (tmp_path / "opened").read_text().strip() == file.as_uri()
    assert "Saved results" in file.read_text()
