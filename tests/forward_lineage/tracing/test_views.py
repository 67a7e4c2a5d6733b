"""Views whose text means something else where they are read: settings, names or columns have changed since."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.tiers import every_day
from udafs.errors import NotTracedError


@pytest.fixture
def table(spark: SparkSession, lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """A registered table kept(v, s) of (1, 'a') and (2, 'b'), and one that is not; settings and views are put back."""
    spark.sql("CREATE TABLE kept USING parquet AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(v, s)")
    spark.sql("CREATE TABLE loose USING parquet AS SELECT 7 AS v")
    lineage.register("kept", key="v")
    yield lineage
    for setting in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"):
        spark.sql(f"RESET {setting}")
    spark.catalog.dropTempView("loose")
    spark.catalog.dropTempView("made")
    for drop in ("VIEW IF EXISTS made", "TABLE kept", "TABLE loose"):
        spark.sql(f"DROP {drop}")


@pytest.mark.parametrize("kind", ["TEMPORARY VIEW", "VIEW"])
@pytest.mark.parametrize(
    ("setting", "then", "now"),
    [
        ("spark.sql.session.timeZone", "Asia/Tokyo", "America/Los_Angeles"),
        ("spark.sql.ansi.enabled", "false", "true"),
    ],
)
def test_settings_that_change_what_its_text_means(
    table: ForwardLineage, kind: str, setting: str, then: str, now: str
) -> None:
    spark = table.spark
    spark.sql(f"SET {setting} = {then}")
    spark.sql(f"CREATE {kind} made AS SELECT v, string(timestamp_seconds(v)) AS at, int(s) AS n FROM kept WHERE v > 1")
    sql = "SELECT at FROM made"
    assert table.sql(sql).drop("DL").collect() == spark.sql(sql).collect()
    spark.sql(f"SET {setting} = {now}")
    expected = rf"^view made was made under another setting of {setting} \({then}; here {now}\)"
    with pytest.raises(NotTracedError, match=expected):
        table.sql(sql)


def test_a_setting_that_was_not_set_when_it_was_made(table: ForwardLineage) -> None:
    by_itself = table.spark.conf.get("spark.sql.ansi.enabled")
    other = "false" if by_itself == "true" else "true"  # Spark 4.0 began with ANSI
    table.spark.sql("CREATE VIEW made AS SELECT v / 0 AS n FROM kept")
    table.spark.sql(f"SET spark.sql.ansi.enabled = {other}")
    with pytest.raises(NotTracedError, match=rf"spark\.sql\.ansi\.enabled \({by_itself}; here {other}\)"):
        table.sql("SELECT n FROM made")


def test_settings_of_execution_change_nothing(table: ForwardLineage) -> None:
    table.spark.sql("CREATE VIEW made AS SELECT v FROM kept")
    table.spark.sql("SET spark.sql.shuffle.partitions = 3")
    assert table.sql("SELECT v FROM made WHERE v = 2").count() == 1


@pytest.mark.parametrize("kind", ["TEMPORARY VIEW", "VIEW"])
def test_a_temporary_view_of_a_name_in_its_text(table: ForwardLineage, kind: str) -> None:
    spark = table.spark
    spark.sql(f"CREATE {kind} made AS WITH w AS (SELECT v FROM loose) SELECT w.v FROM w, kept")
    spark.sql("CREATE TEMPORARY VIEW loose AS SELECT v FROM kept")
    assert [row.v for row in spark.sql("SELECT v FROM made").collect()] == [7, 7]  # the table's, still
    with pytest.raises(NotTracedError, match=r"^view made uses `loose`, which is the name of a temporary view here"):
        table.sql("SELECT v FROM made")


def test_a_temporary_view_that_its_text_means(table: ForwardLineage) -> None:
    spark = table.spark
    spark.sql("CREATE TEMPORARY VIEW loose AS SELECT v FROM kept")
    spark.sql("CREATE TEMPORARY VIEW made AS SELECT v FROM loose WHERE v > 1")
    found = table.sql("SELECT v FROM made").selectExpr("v", "dl_ids(DL.kept) AS ids").collect()
    assert [(row.v, row.ids) for row in found] == [(2, [2])]


@pytest.mark.since("4.0", "functions written in SQL")
@pytest.mark.parametrize("kind", ["TEMPORARY VIEW", "VIEW"])
def test_a_temporary_function_of_a_name_in_its_text(table: ForwardLineage, kind: str) -> None:
    spark = table.spark
    spark.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    spark.sql(f"CREATE {kind} made AS SELECT plus(v) AS v FROM kept")
    assert sorted(row.v for row in table.sql("SELECT v FROM made").collect()) == [2, 3]
    spark.sql("CREATE TEMPORARY FUNCTION plus(x INT) RETURNS INT RETURN x + 100")
    try:
        with pytest.raises(NotTracedError, match=r"^view made uses `plus`, which is the name of a temporary function"):
            table.sql("SELECT v FROM made")
    finally:
        spark.sql("DROP TEMPORARY FUNCTION plus")
        spark.sql("DROP FUNCTION plus")


CHANGED = {"order": "'a' AS s, 3 AS v", "more": "3 AS v, 'a' AS s, 7 AS more", "types": "3S AS v, 'a' AS s"}


@pytest.mark.parametrize(
    ("kind", "columns"),
    every_day(
        product(("TEMPORARY VIEW", "VIEW"), CHANGED.values()),
        [("TEMPORARY VIEW", CHANGED["order"]), ("VIEW", CHANGED["more"]), ("TEMPORARY VIEW", CHANGED["types"])],
    ),
)
def test_columns_that_have_changed_below_a_view(table: ForwardLineage, kind: str, columns: str) -> None:
    spark = table.spark
    spark.sql(f"CREATE {kind} made AS SELECT * FROM kept")
    spark.sql("DROP TABLE kept")
    spark.sql(f"CREATE TABLE kept USING parquet AS SELECT {columns}")
    table.register("kept", key="v")
    with pytest.raises(NotTracedError, match=r"^view made was made when its query had other columns"):
        table.sql("SELECT v FROM made")
