"""What differs between versions of PySpark comes out the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StructField, StructType, TimestampNTZType, TimestampType

from forward_lineage.frontend import parse
from forward_lineage.spark.versions import arrow_schema, in_time_zone, refuse_what_is_newer
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


@pytest.mark.parametrize("version", [(4, 0), (4, 1)])
def test_pivot_is_refused_where_its_result_cannot_have_a_name(version: tuple[int, int]) -> None:
    sql = "SELECT *\nFROM (SELECT * FROM t PIVOT (max(v) FOR k IN (1, 2)))"
    with pytest.raises(NotTracedError) as refused:
        refuse_what_is_newer(parse(sql).tree, version)
    assert "PIVOT is not traced on Spark 4." in str(refused.value)
    assert refused.value.at is not None
    assert refused.value.at.line == 2
    refuse_what_is_newer(parse(sql).tree, (4, 2))
    refuse_what_is_newer(parse("SELECT * FROM t UNPIVOT (v FOR k IN (a, b))").tree, version)
