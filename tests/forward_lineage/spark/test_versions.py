"""What differs between versions of PySpark comes out the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, LongType, MapType, StructField, StructType, TimestampNTZType, TimestampType

from forward_lineage.frontend import parse
from forward_lineage.spark.errors import STREAMING
from forward_lineage.spark.settings import configured
from forward_lineage.spark.versions import (
    arrow_frame,
    arrow_schema,
    arrow_table,
    condition_in,
    in_time_zone,
    refuse_what_is_newer,
    said_in,
)
from udafs.errors import NotTracedError

NESTED = StructType(
    [
        StructField("at", TimestampType(), nullable=False),
        StructField("local", TimestampNTZType()),
        StructField("n", LongType()),
        StructField("list", ArrayType(TimestampType(), containsNull=False)),
        StructField("map", MapType(TimestampType(), ArrayType(TimestampType()))),
        StructField("struct", StructType([StructField("at", TimestampType()), StructField("n", LongType())])),
    ]
)


def expected(zone: str) -> pa.Schema:
    at = pa.timestamp("us", zone)
    return pa.schema(
        [
            pa.field("at", at, nullable=False),
            pa.field("local", pa.timestamp("us")),
            pa.field("n", pa.int64()),
            pa.field("list", pa.list_(pa.field("element", at, nullable=False))),
            pa.field("map", pa.map_(at, pa.list_(pa.field("element", at)))),
            pa.field("struct", pa.struct([("at", at), ("n", pa.int64())])),
        ]
    )


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "-03:00"])
def test_timestamps_are_in_the_time_zone(zone: str) -> None:
    assert arrow_schema(NESTED, zone).equals(expected(zone))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_a_time_zone_takes_the_place_of_another(zone: str) -> None:
    assert in_time_zone(arrow_schema(NESTED, "Asia/Tokyo"), zone).equals(arrow_schema(NESTED, zone))
    schema = pa.schema([pa.field("n", pa.int32(), metadata={"a": "b"})], {"c": "d"})
    assert in_time_zone(schema, zone).equals(schema, check_metadata=True)


ROWS = pa.table(
    {
        "n": pa.array([3, None, 1, 2], pa.int64()),
        "text": ["a", "", None, "ä"],
        "at": pa.array([0, 1_700_000_000_000_001, None, -1], pa.timestamp("us", "UTC")),
        "local": pa.array([0, 1_700_000_000_000_001, None, -1], pa.timestamp("us")),
        "lineage": pa.array([b"", b"\x00\x01", None, b"\xff"], pa.binary()),
        "list": pa.array([[1, None], [], None, [2]], pa.list_(pa.field("element", pa.int32()))),
    }
)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("rows", [ROWS, ROWS.slice(0, 0)])
def test_rows_come_from_arrow_and_go_to_it(spark: SparkSession, rows: pa.Table, zone: str) -> None:
    with configured(spark, {"spark.sql.session.timeZone": zone}):
        assert arrow_table(arrow_frame(spark, rows)).equals(rows)


def test_rows_of_several_tasks_are_in_order(spark: SparkSession) -> None:
    rows = arrow_table(spark.range(0, 25_000, numPartitions=3).filter("id % 2 = 0"))
    assert rows["id"].to_pylist() == list(range(0, 25_000, 2))
    assert arrow_table(spark.range(10).filter("id < 0")).num_rows == 0


OF_A_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 27.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 27.0 (TID 26) (192.0.2.2 executor driver): java.lang.RuntimeException: {}\n"
    "\tat A.b(C.java:1)\n"
)
DIVIDED = OF_A_TASK.replace("java.lang.Runtime", "org.apache.spark.SparkArithmetic").format(
    "[DIVIDE_BY_ZERO] Division by zero. Use NULLIF."
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[A_B] no column `a`; line 1 pos 7;\n'Project ['a]\n+- Range\n", ("[A_B] no column `a`", False)),
        ("no view;\n'Project ['a]", ("no view", False)),
        ("no table; line 2 pos 14", ("no table", False)),
        ("[A] error near 'v'.(line 1, pos 17)\n\n== SQL ==\nSELECT", ("[A] error near 'v'.", False)),
        ("a text; of two lines\nand a half", ("a text; of two lines\nand a half", False)),
        (OF_A_TASK.format("a; b. Do c."), ("a; b. Do c.", True)),
        (OF_A_TASK.format("two\nlines"), ("two\nlines", True)),
        (OF_A_TASK.replace("java.lang.", "org.apache.spark.Spark").format("a. Do c."), ("a. Do c.", True)),
        (OF_A_TASK.replace("java.lang.", "org.apache.spark.Spark").format("[A_B] a"), ("[A_B] a", False)),
        (OF_A_TASK.replace("RuntimeException", "IOException").format("a"), None),
        (DIVIDED, ("[DIVIDE_BY_ZERO] Division by zero. Use NULLIF.", False)),
    ],
)
def test_a_plan_and_a_task_are_not_what_is_said(text: str, said: tuple[str, bool] | None) -> None:
    assert said_in(text, (3, 5)) == (said or (text, False))
    assert said_in(text, (4, 0)) == (text, False)


@pytest.mark.parametrize("version", [(3, 5), (4, 1), (4, 3)])
def test_a_function_of_python_says_its_last_line(version: tuple[int, int]) -> None:
    text = OF_A_TASK.replace("java.lang.RuntimeException", "org.apache.spark.api.python.PythonException").format(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nValueError: no\n'
    )
    assert said_in(text, version) == ("Spark's Python worker failed: ValueError: no", False)


def test_the_name_of_what_a_task_says_is_in_its_text() -> None:
    assert condition_in(DIVIDED, (3, 5)) == "DIVIDE_BY_ZERO"
    assert condition_in(OF_A_TASK.format("a; b. Do c."), (3, 5)) is None
    assert condition_in(DIVIDED, (4, 0)) is None
    assert condition_in("Queries with streaming sources must be executed with …", (3, 5)) == STREAMING


@pytest.mark.parametrize("version", [(3, 5), (4, 0), (4, 1)])
def test_pivot_is_refused_where_its_result_cannot_have_a_name(version: tuple[int, int]) -> None:
    sql = "SELECT *\nFROM (SELECT * FROM t PIVOT (max(v) FOR k IN (1, 2)))"
    with pytest.raises(NotTracedError) as refused:
        refuse_what_is_newer(parse(sql).tree, version)
    assert f"PIVOT is not traced on Spark {version[0]}.{version[1]}" in str(refused.value)
    assert refused.value.at is not None
    assert refused.value.at.line == 2
    refuse_what_is_newer(parse(sql).tree, (4, 2))
    refuse_what_is_newer(parse("SELECT * FROM t UNPIVOT (v FOR k IN (a, b))").tree, version)
