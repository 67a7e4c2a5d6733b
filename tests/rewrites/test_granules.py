"""Granules: one for each distinct value."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.domains import Integers, Listed
from rewrites.granules import DistinctValues, Granules, OwnIds, granules_of
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


DOMAINS = {"v": Integers("INT", 0, 9), "k": Listed((b"a", b"b")), "id": Integers("BIGINT", 1 - 2**62, 2**62 - 1)}


def known(*names: str) -> Granules:
    table = TABLES.find(["t"])
    assert table is not None
    return granules_of(table, tuple(map(read, names)), lambda _, over: [DOMAINS[each.name] for each in over])


def test_an_id_that_is_computed_needs_neither_dictionary_nor_join() -> None:
    granules = known("v", "k", "v")
    sql = print_sql(granules.rows(exp.to_table("t")))
    v, k = "dl_granule(v, 'INT', 0, 9)", "dl_listed(k, X'00000001610000000162')"
    assert sql == f"SELECT *, ({v} * 3 + {k}) * 11 + {v} AS __dl_t FROM t"
    entries = print_sql(granules.dictionary(exp.to_table("t")))
    assert entries.startswith("SELECT value_1, value_2, value_3, (dl_granule(value_1, 'INT', 0, 9) * 3 + ")
    assert entries.endswith(
        "AS __id FROM (SELECT DISTINCT v AS value_1, k AS value_2, v AS value_3 FROM t) AS __granule"
    )


def test_an_id_is_read_digit_by_digit() -> None:
    assert [print_sql(each) for each in known("v", "k", "v").values()] == [
        "dl_granule_value(__id DIV 33, 'INT', 0)",
        "dl_listed_value(__id DIV 11 % 3, X'00000001610000000162')",
        "dl_granule_value(__id % 11, 'INT', 0)",
    ]
    assert [print_sql(each) for each in known("v").values()] == ["dl_granule_value(__id, 'INT', 0)"]
    assert values("v").values() == []


def test_what_does_not_fit_an_id_takes_a_dictionary() -> None:
    assert isinstance(known("id"), OwnIds)
    assert isinstance(known("id", "k"), DistinctValues)
    table = TABLES.find(["t"])
    assert table is not None
    for nothing in (None, lambda *_: None):
        assert granules_of(table, (read("v"),), nothing) == DistinctValues(table, (read("v"),))
