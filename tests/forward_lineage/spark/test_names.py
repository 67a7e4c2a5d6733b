"""Names as Spark writes them, checked against Spark itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage.spark.names import RESERVED, data_source, quoted, split_name, string_literal
from tests.spark_settings import configured
from udafs.errors import LineageError


@pytest.mark.long  # Spark takes ten seconds to list its words, and a patch release reserves no other
def test_reserved_words_are_sparks(spark: SparkSession) -> None:
    with configured(spark, {"spark.sql.ansi.enforceReservedKeywords": "true"}):
        rows = spark.sql("SELECT keyword FROM sql_keywords() WHERE reserved").collect()
    assert {row.keyword for row in rows} == RESERVED


@pytest.mark.parametrize(
    "column", ["plain", "select", "date", "two words", "back`tick", "1st", "größe", "a.b", "interval"]
)
def test_quoted_identifiers_mean_themselves(spark: SparkSession, column: str) -> None:
    assert spark.sql(f"SELECT 7 AS {quoted(column)}").columns == [column]
    assert spark.sql(f"SELECT {quoted(column)} FROM (SELECT 7 AS {quoted(column)})").columns == [column]


@pytest.mark.parametrize("text", ["plain", "it's", 'say "x"', "back\\slash", "tail\\", "new\nline", "ünï", "%_$"])
def test_string_literals_mean_themselves(spark: SparkSession, text: str) -> None:
    row = spark.sql(f"SELECT {string_literal(text)}").first()
    assert row is not None
    assert row[0] == text


@pytest.mark.parametrize("name", ["plain", "two words", "[ab]*{c,d}?", "per%20cent", "ünï", "back`tick", "a=b"])
def test_paths_mean_themselves(spark: SparkSession, tmp_path: Path, name: str) -> None:
    spark.range(3).coalesce(1).write.parquet(f"file:{tmp_path}/written")
    (tmp_path / "written").rename(tmp_path / name)
    assert spark.sql(f"SELECT * FROM {data_source('parquet', tmp_path / name)}").count() == 3


def test_names_are_split_at_dots_outside_of_backticks() -> None:
    assert split_name("A.`b.C`.d") == ("a", "b.c", "d")
    assert split_name("A.`b``C`", keep_case=True) == ("A", "b`C")
    with pytest.raises(LineageError):
        split_name("a..b")
