"""Structs and VARIANT values that are NULL where what is in them never is."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from forward_lineage import ForwardLineage
from forward_lineage.spark.versions import VARIANTS as VARIANT_TYPES

ROWS = "VALUES (1, 10), (2, 20), (3, NULL) AS t(id, v)"
COLUMNS = {
    "a struct": "if(id > 1, named_struct('a', id, 'b', named_struct('c', 'x')), null)",
    "the struct of the row before": "lag(named_struct('a', id)) OVER (ORDER BY id)",
    "structs in an array": "array(named_struct('a', id), null)",
    "structs in a map": "map('k', named_struct('a', id), 'q', null)",
}
VARIANTS = {
    "a VARIANT": "if(id > 1, parse_json('{\"a\": 1}'), null)",
    "a VARIANT in a struct": "if(id > 1, named_struct('a', if(id > 2, parse_json('1'), null)), null)",
    "VARIANT values in an array": "array(parse_json('1'), null)",
}


@pytest.fixture
def numbers(lineage: ForwardLineage) -> ForwardLineage:
    lineage.spark.sql(f"SELECT * FROM {ROWS}").createOrReplaceTempView("numbers")
    lineage.register("numbers", key="id")
    return lineage


@pytest.mark.parametrize("column", COLUMNS)
def test_are_saved_and_read_as_they_were(numbers: ForwardLineage, column: str) -> None:
    _check(numbers, COLUMNS[column])


@pytest.mark.skipif(not VARIANT_TYPES, reason="VARIANT is there from Spark 4.0 on")
@pytest.mark.parametrize("column", VARIANTS)
def test_variants_are_saved_and_read_as_they_were(numbers: ForwardLineage, column: str) -> None:
    _check(numbers, VARIANTS[column])


def _check(lineage: ForwardLineage, column: str) -> None:
    query = f"SELECT id, {column} AS x FROM numbers"
    lineage.save(query, "kept")
    expected = lineage.spark.sql(query)
    kept = lineage.result("kept")
    assert kept.schema["x"].dataType.simpleString() == expected.schema["x"].dataType.simpleString()
    assert _shown(kept) == _shown(expected)
    affected = lineage.affected(query, "numbers", "id = 2")
    assert _shown(lineage.forward("numbers", "id = 2", result="kept")) == _shown(affected)


def _shown(frame: DataFrame) -> list[str]:
    return sorted(row[0] for row in frame.selectExpr("to_json(struct(id, x))").collect())
