"""Questions after a correction: of the rows that a result was made of, where they are still there; else by name."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.cli.in_this_process import invoke
from udafs.errors import ChangedError

GONE = "4 rows of v that features was made of are gone, so a condition cannot find them"


def write(spark: SparkSession, rows: int, path: Path) -> None:
    spark.range(rows).selectExpr("id AS p", "id % 2 AS g").coalesce(1).write.mode("overwrite").parquet(str(path))


@pytest.fixture
def corrected(lineage: ForwardLineage, tmp_path: Path) -> ForwardLineage:
    """`v` → `features` → `alarms` → `last`; `v` was written anew, and only `features` saved again."""
    write(lineage.spark, 4, tmp_path / "v")
    lineage.register("v", path=tmp_path / "v")
    lineage.save("SELECT p, g FROM v", "features")
    lineage.save("SELECT count(*) AS n FROM features", "alarms")
    lineage.save("SELECT n FROM alarms", "last")
    write(lineage.spark, 3, tmp_path / "v")
    lineage.register("v", path=tmp_path / "v")
    return lineage


def touched(lineage: ForwardLineage, table: str, where: str) -> dict[str, int | None]:
    return {row.result: row.rows_touched for row in lineage.impact(table, where=where).collect()}


def test_what_is_behind_is_named_and_all_else_is_answered(corrected: ForwardLineage) -> None:
    with pytest.raises(ChangedError, match=rf"^{GONE}.* Save features, then alarms, then last again, or give ids=\.$"):
        corrected.impact("v", where="p = 1")
    corrected.save("SELECT p, g FROM v", "features")
    behind = rf"alarms was made of version 1 of features, and {GONE}: .* Save alarms, then last again, or give ids=\.$"
    with pytest.warns(UserWarning, match=behind):
        assert touched(corrected, "v", "p = 1") == {"features": 1, "alarms": None, "last": None}
    with pytest.raises(ChangedError, match=r"^alarms was made of .* Save alarms, then last again, or give ids=\.$"):
        corrected.forward("v", where="p = 1", result="last")
    with pytest.raises(
        ChangedError, match=r"^alarms was made of .*\(line 1, column 15\)\. Save alarms, then last again"
    ):
        corrected.sql("SELECT * FROM FORWARD(v WHERE p = 1, last)")
    corrected.save("SELECT count(*) AS n FROM features", "alarms")
    corrected.save("SELECT n FROM alarms", "last")
    assert touched(corrected, "v", "p = 1") == {"features": 1, "alarms": 1, "last": 1}


def test_numbers_and_conditions_over_a_result_are_those_of_its_version(corrected: ForwardLineage) -> None:
    corrected.save("SELECT p + 10 AS p, g FROM v", "features")
    assert touched(corrected, "features", "p = 1") == {"alarms": 1, "last": 1}
    with pytest.raises(ChangedError, match=r"^row numbers of features .* Save alarms, then last again, or give where="):
        corrected.impact("features", ids=[1])


def test_the_command_says_so(corrected: ForwardLineage, tmp_path: Path) -> None:
    corrected.save("SELECT p, g FROM v", "features")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        shown = invoke(corrected.spark, "impact", "v", "--where", "p = 1", "--json", "--home", str(tmp_path / "home"))
    assert '"rows_touched":1' in shown.stdout.replace(" ", "")
    assert shown.stdout.replace(" ", "").count('"rows_touched":null') == 2
    assert "Save alarms, then last again" in shown.stderr


def test_old_files_that_are_there_are_read(lineage: ForwardLineage, tmp_path: Path) -> None:
    for path, rows in (("then", 4), ("now", 9)):
        write(lineage.spark, rows, tmp_path / path)
        lineage.register("v", path=tmp_path / path)
        if path == "then":
            lineage.save("SELECT p FROM v WHERE p > 1", "old")
    lineage.save("SELECT p FROM v WHERE p > 1", "new")
    assert touched(lineage, "v", "p = 3") == {"old": 1, "new": 1}
    assert touched(lineage, "v", "p = 8") == {"new": 1}, "there was none then"
    assert [row.p for row in lineage.forward("v", where="p = 3", result="old").collect()] == [3]
    write(lineage.spark, 5, tmp_path / "then")
    with pytest.warns(UserWarning, match=r"2 rows of v that old was made of are gone"):
        assert touched(lineage, "v", "p = 3") == {"old": None, "new": 1}


def test_a_copy_that_was_kept_is_read(lineage: ForwardLineage, spark: SparkSession) -> None:
    values = spark.range(4).selectExpr("id AS p", "id * 10 AS x")
    lineage.register("c", source=values.coalesce(1))
    lineage.save("SELECT sum(x) AS s FROM c", "total")
    lineage.register("c", source=values.selectExpr("p", "x + 1 AS x").coalesce(1))
    assert touched(lineage, "c", "x = 10") == {"total": 1}, "as it was then"
    assert touched(lineage, "c", "x = 11") == {}


@pytest.mark.parametrize("key", ["k", ["k"]])
def test_rows_of_a_key_that_are_gone_are_no_silent_answer(
    lineage: ForwardLineage, spark: SparkSession, key: str | list[str]
) -> None:
    spark.sql("CREATE TABLE keyed USING parquet AS SELECT id AS k, id * 10 AS x FROM range(4)")
    try:
        lineage.register("keyed", key=key)
        lineage.save("SELECT k, x FROM keyed", "copied")
        spark.sql("INSERT OVERWRITE keyed SELECT id, id * 10 FROM range(3)")
        lineage.refresh("keyed")
        with pytest.raises(ChangedError, match=r"^1 rows of keyed that copied was made of are gone"):
            lineage.impact("keyed", where="k = 3")
        with pytest.raises(ChangedError, match=r"^1 of the 1 rows of keyed that were asked for are gone"):
            lineage.backward("copied", where="k = 3")
    finally:
        spark.sql("DROP TABLE keyed")
