"""dl_fragment and dl_in_ranges: ranges of a column in the kernel, against those of Python."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from forward_lineage.columns.ranges import Partition, equi_depth
from forward_lineage.spark.versions import arrow_frame
from tests.forward_lineage.sketches.columns import TYPES, drawn
from tests.udafs.test_functions import session, sql

__all__ = ["session", "sql"]


def test_ranges_are_those_of_python(sql: SparkSession) -> None:
    values = {name: drawn(name, 200, 3) for name in TYPES}
    chance = random.Random(5)
    asked, expected = [], []
    for name, column in values.items():
        partition = Partition("t", name, equi_depth(column.slice(0, 90), 20))
        sketch = partition.sketch(chance.sample(range(partition.fragments), partition.fragments // 2))
        bounds = partition.packed.hex()
        asked += [
            f"dl_fragment({name}, X'{bounds}')",
            f"dl_in_ranges({name}, X'{bounds}', X'{sketch.packed_fragments().hex()}')",
        ]
        expected += [partition.fragments_of(column).tolist(), sketch.holds(column).tolist()]
    rows = arrow_frame(sql, pa.table(values)).selectExpr(*asked).collect()
    assert [list(each) for each in zip(*rows, strict=True)] == expected


def test_no_bounds_and_no_fragments(sql: SparkSession) -> None:
    none = Partition("t", "c", pa.array([], pa.int64())).packed.hex()
    row = sql.sql(f"""
        SELECT dl_fragment(v, X'{none}'), dl_fragment(CAST(NULL AS BIGINT), X'{none}'), dl_in_ranges(v, X'{none}', X''),
            dl_in_ranges(CAST(NULL AS INT), X'{none}', X'0000'), dl_in_ranges(v, X'{none}', X'0001')
        FROM VALUES (5L) AS t(v)""").first()
    assert row is not None and tuple(row) == (1, 0, False, True, True)


@pytest.mark.parametrize(
    ("value", "bounds", "others"),
    [
        ("id", pa.array([10, 20]), pa.array([10, 21])),
        ("CAST(id AS STRING)", pa.array(["a", "b"]), pa.array(["a", "c"])),
    ],
)
def test_equal_bounds_are_one_expression_to_spark(
    sql: SparkSession, value: str, bounds: pa.Array, others: pa.Array
) -> None:
    def over(bounds: pa.Array) -> DataFrame:
        return sql.range(3).selectExpr(f"dl_fragment({value}, X'{Partition('t', 'c', bounds).packed.hex()}')")

    assert over(bounds).sameSemantics(over(bounds))
    assert not over(bounds).sameSemantics(over(others))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dl_fragment('a', X'6C789C030000000001')", "no ranges of STRING"),
        ("dl_fragment(true, X'6C789C030000000001')", "no ranges of BOOLEAN"),
        pytest.param(
            "dl_fragment('a' COLLATE UTF8_LCASE, X'73789C030000000001')",
            "no ranges of STRING COLLATE",
            marks=pytest.mark.since("4.0", "collations"),
        ),
        ("dl_fragment(1, X'')", "these are no bounds"),
        ("dl_fragment(1, X'6C00')", "these are no bounds"),
        ("dl_fragment(1, X'78789C030000000001')", "these are no bounds"),
        ("dl_fragment(1, 'a')", "BINARY literals"),
        ("dl_in_ranges(1, X'6C789C030000000001', X'0002')", "a fragment that there is not"),
    ],
)
def test_what_is_refused(session: SparkSession, expression: str, message: str) -> None:
    with pytest.raises(PySparkException, match=message):
        session.sql(f"SELECT {expression}").collect()
