"""NaN in a saved result is found by conditions as in any other table, whatever its files say of least and greatest."""

from __future__ import annotations

import pytest

from forward_lineage import ForwardLineage

ROWS = "VALUES (1, 1D, 1F), (2, double('NaN'), 2F), (3, -0.0D, float('NaN')), (4, NULL, NULL) AS t(id, d, f)"
# Not `d = 0.0`: of any Parquet file Spark loses -0.0 then, its own among them.
CONDITIONS = ("d = double('NaN')", "d > 5", "d >= 1", "f = float('NaN')", "f > 100", "s.d > 5", "d <= 0")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_finds_the_rows_that_the_query_has(lineage: ForwardLineage, condition: str) -> None:
    lineage.spark.sql(f"SELECT * FROM {ROWS}").createOrReplaceTempView("numbers")
    lineage.register("numbers", key="id")
    query = "SELECT id, d, f, named_struct('d', d) AS s FROM numbers"
    lineage.save(query, "kept")
    expected = lineage.spark.sql(query).filter(condition).select("id")
    assert sorted(lineage.result("kept").filter(condition).select("id").collect()) == sorted(expected.collect())
    reached = lineage.forward("numbers", condition.replace("s.d", "d"), result="kept").select("id")
    assert sorted(reached.collect()) == sorted(expected.collect())
