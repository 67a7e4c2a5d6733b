"""Joined rows that are made here are those that Spark makes; what is not sure to be is left to it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.embedded.needs_spark import NeedsSpark
from forward_lineage.explaining.few_rows import ID
from forward_lineage.explaining.joined_here import FewTable, joined_here
from forward_lineage.frontend import parse
from forward_lineage.spark.versions import arrow_frame, arrow_table

BIG = 2**31 - 1
ROWS = pa.table(
    {
        "a": pa.array([1, 2, None, -3, 2, BIG], pa.int32()),
        "n": pa.array([10, None, 7, 0, -1, 2**40], pa.int64()),
        "p": pa.array(
            [Decimal("1.50"), None, Decimal("0.00"), Decimal("-2.25"), Decimal("99.99"), Decimal(2)],
            pa.decimal128(9, 2),
        ),
        "s": pa.array(["x", "y", None, "", "X", "x"]),
        "d": pa.array([date(2024, 2, 29), None, date(1999, 12, 31), date(2000, 1, 1), date(2024, 2, 1), date(1, 1, 1)]),
        "f": pa.array([0.1, None, -0.0, 1e300, 2.5, 3.0], pa.float64()),
        "t": pa.array([True, None, False, True, False, True]),
        ID: pa.array([0, 1, 2, 3, 4, 5], pa.int64()),
    }
)
OTHERS = pa.table(
    {"b": pa.array([2, 1, None, 2], pa.int32()), "q": pa.array([5, 6, 7, None], pa.int64()), ID: [0, 1, 2, 3]}
)
TABLES = {
    "left_here": FewTable(
        "left_here",
        ROWS,
        {"a": "int", "n": "bigint", "p": "decimal(9,2)", "s": "string", "d": "date", "f": "double", "t": "boolean"},
    ),
    "right_here": FewTable("right_here", OTHERS, {"b": "int", "q": "bigint"}),
}
SAME = (
    *(
        "a",
        "s",
        "f",
        "t",
        "d",
        "1",
        "1.50",
        "'it'",
        "a + 1 - 1",
        "n * 2",
        "p * (1 - p)",
        "p + n",
        "p - 0.125",
        "-p",
        "-n",
    ),
    *("year(d)", "month(d)", "DAY(d)", "coalesce(a, 0)", "coalesce(p, a)", "coalesce(s, 'none')"),
    *("CASE WHEN s = 'x' THEN a ELSE 0 END", "CASE WHEN p > a THEN p WHEN n IS NULL THEN 7 END", "a IS NULL"),
    *("a > 1 AND t", "a > 1 OR t", "NOT t", "a BETWEEN 1 AND n", "a IN (1, 2, n)", "NOT s IN ('x', 'y')", "s < 'x'"),
    *("d > d", "t = t", "p = 2", "p <> a", "n >= 1.5"),
)
WHERE = ("", "WHERE a = 2 OR q > 5", "WHERE NOT (t AND p < 100)", "WHERE s IS NOT NULL AND n < 10")
FROM = (
    "FROM left_here JOIN right_here ON a = b",
    "FROM left_here AS l, right_here r",
    "FROM right_here r JOIN left_here l ON l.a = r.b AND q > n",
)


def here(select: str) -> pa.Table:
    tree = parse(select).tree
    assert isinstance(tree, exp.Select)
    return joined_here(tree, TABLES, ["left_here", "right_here"], lambda _: True)


@pytest.mark.parametrize("source", FROM)
def test_they_are_those_of_spark(spark: SparkSession, source: str) -> None:
    arrow_frame(spark, ROWS).createOrReplaceTempView("left_here")
    arrow_frame(spark, OTHERS).createOrReplaceTempView("right_here")
    try:
        listed = ", ".join(f"{text.replace('a +', 'b +')} AS x{at}" for at, text in enumerate(SAME))
        for where in WHERE:
            mine = here(f"SELECT {listed} {source} {where}").drop_columns(["i0", "i1"])
            others = arrow_table(spark.sql(f"SELECT {listed} {source} {where}"))
            assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, others.to_pylist()))
    finally:
        for name in TABLES:
            spark.catalog.dropTempView(name)


def test_their_ids() -> None:
    rows = here("SELECT s AS k0 FROM left_here JOIN right_here ON a = b WHERE q IS NULL")
    assert rows.select(["i0", "i1"]).to_pylist() == [{"i0": 1, "i1": 3}, {"i0": 4, "i1": 3}]


@pytest.mark.parametrize(
    "text",
    [
        *("a + 1", "a / 2", "f + 1", "f > 1", "s = 1", "d = '2024-02-29'", "upper(s)", "rand()", "CAST(a AS STRING)"),
        *(
            "nothing",
            "a IN (SELECT 1)",
            "CASE a WHEN 1 THEN 2 END",
            "coalesce(a, s)",
            "coalesce(f, a)",
            "x'00'",
            "NULL",
        ),
        *("12345678901", "p * p * p * p * p", "t IS TRUE", "s LIKE 'x%'", "a % 2", "sum(a) OVER ()", "l.a"),
    ],
)
def test_what_is_left_to_spark(text: str) -> None:
    with pytest.raises(NeedsSpark):
        here(f"SELECT {text} AS a0 FROM left_here JOIN right_here ON a = b OR a > 5")
