"""Every query runs in plain Spark and gives the answers of the TPC-H specification."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import BadArgumentError
from forward_lineage.demo.tpch_query import Q3
from tests.conftest import REPOSITORY
from tests.tpch_queries.answer_set import FIRST_ROWS, ROWS
from tests.tpch_queries.sessions import plain_session
from tpch_queries.data import generate


@pytest.fixture(scope="module")
def full(spark: SparkSession) -> SparkSession:
    return plain_session(spark, generate(1, REPOSITORY / ".data" / "tpch" / "sf1"))


def test_names() -> None:
    assert tpch_queries.names()[0] == "q1"
    assert tpch_queries.names()[21:23] == ("q22", "s1")
    assert len(tpch_queries.names()) == len(set(tpch_queries.names())) == 30
    assert set(ROWS) == set(tpch_queries.names())


def test_no_file_is_left_out() -> None:
    folder = Path(tpch_queries.__file__).parent
    assert {file.stem for file in folder.glob("*.sql")} == set(tpch_queries.names())


@pytest.mark.parametrize("name", ["q0", "q23", "s9", "", "../q1", "q1.sql"])
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(BadArgumentError, match="The names are q1"):
        tpch_queries.query(name)


def test_the_demo_has_q3() -> None:
    assert tpch_queries.query("q3") == Q3


def test_upper_case_is_accepted() -> None:
    assert tpch_queries.query("Q3") == tpch_queries.query("q3")


@pytest.mark.long
@pytest.mark.parametrize("name", tpch_queries.names())
def test_answers_at_scale_factor_1(full: SparkSession, name: str) -> None:
    rows = full.sql(tpch_queries.query(name)).collect()
    assert len(rows) == ROWS[name]
    if name in FIRST_ROWS:
        expected = FIRST_ROWS[name].split("|")
        assert [_like(value, wanted) for value, wanted in zip(rows[0], expected, strict=True)] == expected


def _like(value: object, wanted: str) -> str:
    """Print a value as the answer set does: decimals to as many places as stand there."""
    _, dot, places = wanted.partition(".")
    if dot and places.isdigit() and not isinstance(value, str):
        return f"{value:.{len(places)}f}"
    return str(value)
