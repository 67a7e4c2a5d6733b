"""The rivals answer the same queries, and what they collect is the lineage: two ways to the same ids."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import DataFrame, Row, SparkSession

import walmart_demo.data
from tests.bench import capture
from tests.bench.capture import Sessions
from tests.bench.workloads import TPCH, WALMART, WORKLOADS

#: One query of each shape is enough every day; all of them are in the long tier.
EVERY_DAY = {("tpch", "q3"), ("tpch", "q6"), ("tpch", "q13"), ("tpch", "s1"), ("walmart", "q2"), ("walmart", "q5")}
QUERIES = [
    pytest.param(workload.folder, name, marks=[] if (workload.folder, name) in EVERY_DAY else [pytest.mark.long])
    for workload in (TPCH, WALMART)
    for name in workload.names
]


@pytest.fixture(scope="module")
def sessions(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sessions]:
    """Give the sessions of a workload: TPC-H at scale factor 0.01, two of Walmart's stores."""
    folders = {
        "tpch": tpch,
        "walmart": walmart_demo.data.generate(2, folder=tmp_path_factory.mktemp("walmart") / "two"),
    }

    @cache
    def of(workload: str) -> Sessions:
        home = tmp_path_factory.mktemp("lineage_home")
        return Sessions.over(WORKLOADS[workload], spark.newSession(), folders[workload], home)

    return of


def id_columns(data: DataFrame) -> list[str]:
    return [name for name in data.columns if name.endswith(("_id", "_ids"))]


def plain(rows: list[Row], width: int) -> list[tuple[object, ...]]:
    return [tuple(row)[:width] for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "name"), QUERIES)
def test_the_rival_answers_the_same(sessions: Callable[[str], Sessions], workload: str, name: str) -> None:
    expected = sessions(workload).plain.sql(WORKLOADS[workload].query(name))
    found = sessions(workload).numbered.sql(WORKLOADS[workload].rival(name))
    width = len(expected.columns)
    assert found.columns[width:] == id_columns(found)
    assert Counter(plain(found.collect(), width)) == Counter(plain(expected.collect(), width))


@pytest.mark.slow
@pytest.mark.parametrize(("workload", "name"), QUERIES)
def test_the_rival_collects_the_lineage(sessions: Callable[[str], Sessions], workload: str, name: str) -> None:
    by_hand = sessions(workload).numbered.sql(WORKLOADS[workload].rival(name))
    width = len(by_hand.columns) - len(id_columns(by_hand))
    tables = [column.removesuffix("_ids").removesuffix("_id") for column in id_columns(by_hand)]
    traced = sessions(workload).lineage.sql(WORKLOADS[workload].query(name))
    fields = traced.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    assert set(tables) <= set(fields)
    # A table that only a predicate's subquery reads gives no data lineage.
    others = [table for table in fields if table not in tables]
    ids = [f"dl_ids(DL.`{table}`) as `{table}`" for table in (*tables, *others)]
    rows = traced.selectExpr("* except (DL)", *ids).collect()
    assert all(found == [] for row in rows for found in tuple(row)[width + len(tables) :])
    assert annotated([tuple(row)[: width + len(tables)] for row in rows], width) == annotated(by_hand.collect(), width)


def annotated(rows: Sequence[tuple[object, ...]], width: int) -> Counter[tuple[object, ...]]:
    """Count rows with their ids; one id and a set of one are the same."""
    return Counter(
        tuple(row)[:width] + tuple(tuple(sorted(set(ids))) if isinstance(ids, list) else (ids,) for ids in row[width:])
        for row in rows
    )


def test_measuring(spark: SparkSession, tpch: Path) -> None:
    found = capture.measure(spark.newSession(), folder=tpch, queries=["q6", "s1"], runs=1, encodings=["auto", "set"])
    assert [comparison.query for comparison in found] == ["q6", "s1"]
    for comparison in found:
        names = [timing.variant for timing in comparison.timings]
        assert names == ["without", "lineage auto", "lineage set", "collect_set"]
        assert all(comparison.ratio(name) for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", "q1,q99"], "q99: not among q1, q2"),
        (["--encodings", "zip"], "zip: not among auto, bdd, set"),
        (["--scale", "0"], "0.0 is not a TPC-H scale factor"),
        (["--runs", "0"], "--runs"),
    ],
)
def test_wrong_options(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(capture.main, arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_from_the_command_line(tmp_path: Path, tpch: Path) -> None:
    record = tmp_path / "capture.json"
    command = [sys.executable, "-m", "tests.bench.capture", "--scale", "0.01", "--queries", "q6", "--runs", "1"]
    environment = {**os.environ, "FORWARD_LINEAGE_DATA": str(tpch.parent.parent)}
    done = subprocess.run(
        [*command, "--memory", "1g", "--json", str(record)], capture_output=True, text=True, check=True, env=environment
    )
    assert "geometric mean" in done.stdout
    measured = json.loads(record.read_text())
    assert [variant["name"] for variant in measured["comparisons"][0]["variants"]] == [
        *("without", "lineage auto", "collect_set")
    ]
    assert all(variant["ratio"] > 0 for variant in measured["comparisons"][0]["variants"])
