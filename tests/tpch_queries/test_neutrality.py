"""Settings of Spark that must not matter do not; `python -m tests.tpch_queries.neutrality` turns every switch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from tests.tpch_queries.neutrality import BASE, QUERIES, SWITCHES, Board, answer, switchboard, told
from udafs.lineage_set import LineageSet

ROW = Row("a", "DL")(1.5, Row("t")(bytearray(LineageSet([1, 2]).to_bytes())))


def test_every_switch_is_turned_alone_and_some_together() -> None:
    settings = switchboard(4, seed=1)
    alone = [name for positions in SWITCHES.values() for name in positions]
    assert list(settings)[: 1 + len(alone)] == ["base", *alone]
    assert len(settings) == 1 + len(alone) + 4
    assert all(settings[name] != BASE for name in alone)
    assert settings == switchboard(4, seed=1)


def test_what_differs_is_told() -> None:
    found = answer([ROW])
    assert list(told(found.rows, found, found)) == []
    other = answer([Row("a", "DL")(2.5, ROW.DL)])
    assert list(told(other.rows, found, found)) == ["rows: [1.5] where plain Spark gives [2.5]"]
    fewer = answer([Row("a", "DL")(1.5, Row("t")(bytearray(LineageSet([1]).to_bytes())))])
    assert list(told(found.rows, fewer, found)) == ["lineage: other sets"]


def test_other_bytes_of_equal_sets_are_told() -> None:
    few = LineageSet([1, 2])
    forms = {few.to_bytes(encoding) for encoding in ("set", "bdd")}
    assert len(forms) == 2
    rows = [answer([Row("a", "DL")(1.5, Row("t")(bytearray(each)))]) for each in sorted(forms)]
    assert list(told(rows[0].rows, *rows)) == ["lineage: other bytes of equal sets"]
    assert list(told(rows[0].rows, replace(rows[0]), rows[0])) == []


@pytest.fixture(scope="module")
def board(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Board:
    return Board(spark, tpch, tmp_path_factory.mktemp("home"), "control")


@pytest.mark.parametrize("query", ["q4", pytest.param("q13", marks=pytest.mark.long), "q22"])
def test_settings_do_not_matter(board: Board, query: str) -> None:
    together = switchboard(0, seed=0)
    settings = {**together["no broadcast"], **together["7 partitions"], **together["sort aggregation"]}
    assert board.differences(query, BASE) == []
    assert board.differences(query, settings) == []
    assert board.differences(query, {**together["AQE"], **together["generated code"], **together["Kolkata"]}) == []


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("semantics", ["data", "control"])
def test_no_setting_matters(spark: SparkSession, tpch: Path, tmp_path: Path, semantics: str) -> None:
    board = Board(spark, tpch, tmp_path, semantics)
    found = [
        f"{name}, {query}: {what}"
        for name, settings in switchboard(6, seed=1).items()
        for query in QUERIES
        for what in board.differences(query, settings)
    ]
    assert found == []
