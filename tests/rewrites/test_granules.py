"""Granules: one for each distinct value."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.granules import DistinctValues, Granules
from tests.rewrites.plain_tables import TABLES, read


def values(*expressions: str) -> Granules:
    table = TABLES.find(["t"])
    assert table is not None
    return DistinctValues(table, tuple(read(each) for each in expressions))


def test_the_dictionary_numbers_distinct_values_in_their_order() -> None:
    assert print_sql(values("v", "k").dictionary(exp.to_table("t"))) == (
        "SELECT value_1, value_2, CAST((row_number() OVER (ORDER BY value_1, value_2) - 1) AS BIGINT) AS __id "
        "FROM (SELECT DISTINCT v AS value_1, k AS value_2 FROM t) AS __granule"
    )


def test_rows_meet_their_granule_null_safely() -> None:
    sql = print_sql(values("v").rows(exp.to_table("t")))
    assert sql.startswith("SELECT __row.*, __granule.__id AS __dl_t FROM t AS __row JOIN (SELECT value_1, ")
    assert sql.endswith("ON __row.v <=> __granule.value_1")


@pytest.mark.parametrize("expressions", [("v",), ("v", "k"), ("upper(k)", "v + 1")])
def test_of_a_sample_the_ids_are_those_of_the_whole_table(expressions: tuple[str, ...]) -> None:
    source = read("SELECT 1 FROM t TABLESAMPLE (3 ROWS)").find(exp.Table)
    assert isinstance(source, exp.Table)
    granules = values(*expressions)
    sql = print_sql(granules.rows(source))
    assert sql.count("TABLESAMPLE") == 1
    assert print_sql(granules.dictionary(exp.to_table("t"))) in sql
