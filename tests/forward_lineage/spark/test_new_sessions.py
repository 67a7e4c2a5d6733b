"""Plans are made under the settings of the session that asks, not under those of the first one of the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.tiers import every_day

CASES = {
    "a cast": ({"spark.sql.ansi.enabled": "false"}, "CAST('x' AS INT)"),
    "a division": ({"spark.sql.ansi.enabled": "false"}, "1 / 0"),
    "an overflow": ({"spark.sql.ansi.enabled": "false"}, "CAST(2147483647 + 1 AS BIGINT)"),
    "a type of timestamps": ({"spark.sql.timestampType": "TIMESTAMP_NTZ"}, "TIMESTAMP '2024-01-01 10:00:00'"),
    "a time zone": (
        {"spark.sql.session.timeZone": "Asia/Tokyo"},
        "CAST(TIMESTAMP '2024-01-01 00:00:00' AS BIGINT)",
    ),
    "an element": ({"spark.sql.ansi.enabled": "false"}, "array(1, 2)[5]"),
    "a decimal": ({"spark.sql.decimalOperations.allowPrecisionLoss": "false"}, "CAST(1 AS DECIMAL(38, 10)) / 3"),
}


@pytest.fixture
def another(spark: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    """A session of the same process; the first one is the active one again, as for whoever works in both."""
    session = spark.newSession()
    session.sql("CREATE TEMPORARY VIEW t AS SELECT 1 AS id")
    lineage = ForwardLineage(session, tmp_path / "home")
    lineage.register("t", key="id")
    yield lineage


@pytest.mark.parametrize("door", ["sql", "trace"])
@pytest.mark.parametrize("name", every_day(CASES, ["a cast", "a type of timestamps"]))
def test_settings_are_the_sessions_own(spark: SparkSession, another: ForwardLineage, name: str, door: str) -> None:
    settings, value = CASES[name]
    session, sql = another.spark, f"SELECT id, {value} AS i FROM t"
    for key, chosen in settings.items():
        session.conf.set(key, chosen)
    plain = session.sql(sql)
    rows, columns = plain.collect(), plain.schema
    spark.sql("SELECT 1").collect()  # and active again
    found = another.sql(sql) if door == "sql" else another.trace(session.sql(sql))
    assert found.drop("DL").collect() == rows
    assert [field.dataType for field in found.drop("DL").schema] == [field.dataType for field in columns]
