"""dl_granule and dl_listed: values that are their own ids, and back."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.task_errors import REFUSED
from tests.udafs.test_functions import session, sql

__all__ = ["session", "sql"]
COLLATIONS = pytest.mark.since("4.0", "collations")
LIST = "X'0000000000000001610000000162'"  # '', 'a', 'b'

#: type, least and most, then literals in ascending order
TYPES = [
    ("BOOLEAN", 0, 1, ["false", "true"]),
    ("TINYINT", -128, 127, ["-128Y", "-1Y", "0Y", "127Y"]),
    ("SMALLINT", -(2**15), 2**15 - 1, ["-32768S", "0S", "32767S"]),
    ("INT", -(2**31), 2**31 - 1, ["-2147483648", "-1", "0", "1", "2147483647"]),
    ("BIGINT", 1 - 2**62, 2**62 - 1, ["-4611686018427387903L", "-1L", "0L", "4611686018427387903L"]),
    ("DATE", -(2**31), 2**31 - 1, ["DATE '0001-01-01'", "DATE '1969-12-31'", "DATE '9999-12-31'"]),
    ("TIMESTAMP", 1 - 2**62, 2**62 - 1, ["TIMESTAMP '0001-01-01'", "TIMESTAMP '2024-10-27 01:30:00.000001'"]),
    ("TIMESTAMP_NTZ", 1 - 2**62, 2**62 - 1, ["TIMESTAMP_NTZ '0001-01-01'", "TIMESTAMP_NTZ '2024-03-31 02:30:00'"]),
    ("DECIMAL(5,2)", -99999, 99999, ["-999.99BD", "CAST(0 AS DECIMAL(5,2))", "123.45BD"]),
    ("DECIMAL(18,0)", 1 - 10**18, 10**18 - 1, ["CAST(-999999999999999999 AS DECIMAL(18))", "CAST(7 AS DECIMAL(18))"]),
]


@pytest.mark.parametrize(("typed", "least", "most", "values"), TYPES, ids=[each[0] for each in TYPES])
def test_ids_keep_the_order_and_are_read_back(
    sql: SparkSession, typed: str, least: int, most: int, values: list[str]
) -> None:
    listed = ", ".join(f"(CAST({value} AS {typed}))" for value in ["NULL", *values])
    found = sql.sql(f"""
        SELECT id, v <=> dl_granule_value(id, '{typed}', {least}L) AS same,
            id BETWEEN 0 AND {most - least + 1} AS inside
        FROM (SELECT v, dl_granule(v, '{typed}', {least}L, {most}L) AS id FROM VALUES {listed} AS t(v))""").collect()
    ids = [row.id for row in found]
    assert ids == sorted(set(ids)) and ids[0] == 0 and all(row.same and row.inside for row in found)


def test_listed_strings(sql: SparkSession) -> None:
    found = sql.sql(f"""
        SELECT v, dl_listed(v, {LIST}) AS id, dl_listed_value(dl_listed(v, {LIST}), {LIST}) AS back
        FROM VALUES ('b'), (NULL), (''), ('a') AS t(v)""").collect()
    assert [(row.v, row.id) for row in found] == [("b", 3), (None, 0), ("", 1), ("a", 2)]
    assert all(row.back == row.v for row in found)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dl_granule(n, 'BIGINT', -5L, 4L)", "number 5, is not between -5L and 4L.*CAST it to DECIMAL"),
        ("dl_granule(CAST(n AS INT), 'INT', 6L, 9L)", "number 5, is not between 6 and 9.*CAST it to STRING"),
        (f"dl_listed(CAST(n AS STRING), {LIST})", "not one of those that its column had"),
    ],
)
def test_other_values_are_refused(sql: SparkSession, expression: str, message: str) -> None:
    with pytest.raises(REFUSED, match=message):
        sql.sql(f"SELECT {expression} FROM VALUES (5L) AS t(n)").collect()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dl_granule(1, 'BIGINT', 0, 9)", "takes BIGINT here, not INT"),
        ("dl_granule(DATE '2000-01-01', 'TIMESTAMP', 0, 9)", "takes TIMESTAMP here, not DATE"),
        pytest.param("dl_granule('a' COLLATE UTF8_LCASE, 'STRING', 0, 9)", "has no type STRING", marks=COLLATIONS),
        ("dl_granule(1.5D, 'DOUBLE', 0, 9)", "has no type DOUBLE"),
        ("dl_granule(1, 'INT', 0, id)", "bounds as literals"),
        pytest.param(
            f"dl_listed('a' COLLATE UTF8_LCASE, {LIST})", "takes STRING, not STRING COLLATE", marks=COLLATIONS
        ),
        ("dl_listed('a', X'00000002')", "cut short"),
        ("dl_listed('a', 'a')", "BINARY literal"),
        ("dl_granule(1, 'INT')", "WRONG_NUM_ARGS"),
    ],
)
def test_wrong_arguments(session: SparkSession, expression: str, message: str) -> None:
    with pytest.raises((AnalysisException, *REFUSED), match=message):
        session.sql(f"SELECT {expression} FROM range(1)").collect()
