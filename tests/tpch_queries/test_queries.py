"""Every query runs in plain Spark and gives the answers of the TPC-H specification."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tpch_queries
from forward_lineage import LineageError
from tests.conftest import REPOSITORY
from tests.tpch_queries.sessions import plain_session
from tpch_queries.data import generate

# Rows at scale factor 1 without LIMIT. The specification's answer set has those of the 22 queries (Q2, Q3, Q10, Q18 and
# Q21 after its LIMIT, though); Q3, Q5–Q7, Q9–Q11 and Q15 stand in [Zhang 2007, Table 7], too.
ROWS = {
    **{"q1": 4, "q2": 460, "q3": 11_620, "q4": 5, "q5": 5, "q6": 1, "q7": 4, "q8": 2, "q9": 175, "q10": 37_967},
    **{"q11": 1_048, "q12": 2, "q13": 42, "q14": 1, "q15": 1, "q16": 18_314, "q17": 1, "q18": 57, "q19": 1},
    **{"q20": 186, "q21": 411, "q22": 7},
    **{f"s{number}": 10_360 for number in range(1, 9)},
}

# First row of each answer in the specification's answer set for scale factor 1, rounded there to two decimals.
FIRST_ROWS = {
    "q1": "A|F|37734107.00|56586554400.73|53758257134.87|55909065222.83|25.52|38273.13|0.05|1478493",
    "q2": "9938.53|Supplier#000005359|UNITED KINGDOM|185358|Manufacturer#4|QKuHYh,vZGiwu2FWEJoLDx04|33-429-790-6131|"
    "uriously regular requests hag",
    "q3": "2456423|406181.01|1995-03-05|0",
    "q4": "1-URGENT|10594",
    "q5": "INDONESIA|55502041.17",
    "q6": "123141078.23",
    "q7": "FRANCE|GERMANY|1995|54639732.73",
    "q8": "1995|0.03",
    "q9": "ALGERIA|1998|27136900.18",
    "q10": "57040|Customer#000057040|734235.25|632.87|JAPAN|Eioyzjf4pp|22-895-641-3466|"
    "sits. slyly regular requests sleep alongside of the regular inst",
    "q11": "129760|17538456.86",
    "q12": "MAIL|6202|9324",
    "q13": "0|50005",
    "q14": "16.38",
    "q15": "8449|Supplier#000008449|Wp34zim9qYFbVctdW|20-469-856-8873|1772627.21",
    "q16": "Brand#41|MEDIUM BRUSHED TIN|3|28",
    "q17": "348406.05",
    "q18": "Customer#000128120|128120|4722021|1994-04-07|544089.09|323.00",
    "q19": "3083843.06",
    "q20": "Supplier#000000020|iybAE,RmTymrZVYaFZva2SH,j",
    "q21": "Supplier#000002829|20",
    "q22": "13|888|6737713.99",
}

# Two queries have no row, or a row of NULL, at scale factor 0.01; no other may.
MAY_BE_NULL_WHEN_SMALL = {"q17"}


@pytest.fixture(scope="module")
def small(spark: SparkSession, tpch: Path) -> SparkSession:
    return plain_session(spark, tpch)


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
    with pytest.raises(LineageError, match="The names are q1"):
        tpch_queries.query(name)


def test_upper_case_is_accepted() -> None:
    assert tpch_queries.query("Q3") == tpch_queries.query("q3")


@pytest.mark.parametrize("name", tpch_queries.names())
def test_on_small_data(small: SparkSession, name: str) -> None:
    rows = small.sql(tpch_queries.query(name)).collect()
    assert rows
    assert len(rows) <= ROWS[name]
    if name not in MAY_BE_NULL_WHEN_SMALL:
        assert not any(value is None for row in rows for value in row)


def test_the_small_chain_keeps_its_rows(small: SparkSession) -> None:
    """S2–S8 join S1 along foreign keys only, so that each adds columns and neither rows nor duplicates."""
    dates = {
        name: Counter(small.sql(tpch_queries.query(name)).select("o_orderdate", "l_shipdate").collect())
        for name in ("s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8")
    }
    assert dates["s1"]
    assert all(found == dates["s1"] for found in dates.values())


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
