"""Lineage as SQL expressions: no set is built before something forces one."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from rewrites.lineage_functions import dl_of
from rewrites.terms import (
    Kind,
    Term,
    absent,
    as_one,
    as_set,
    column,
    hidden_column,
    lineage_struct,
    merge,
    name,
    over_rows,
)

ID = Term(column("t", "__dl_t"), Kind.ID)
SET = Term(column("g", "__dl_t"), Kind.SET)
MAYBE = Term(column("s", "__dl_t"), Kind.SET, nullable=True)


def test_one_id_stays_an_id() -> None:
    assert as_one([ID]).kind is Kind.ID
    assert print_sql(as_one([ID]).value) == "t.__dl_t"


def test_an_id_becomes_a_set_only_at_the_end() -> None:
    assert print_sql(as_set(ID.value, Kind.ID)) == "dl_of(t.__dl_t)"


def test_one_set_is_itself() -> None:
    assert print_sql(as_set(as_one([SET]).value, Kind.SET)) == "g.__dl_t"


def test_a_set_that_may_be_null_is_made_empty() -> None:
    assert print_sql(as_set(as_one([MAYBE]).value, Kind.SET)) == "dl_union(s.__dl_t)"


def test_several_terms_are_united() -> None:
    one = as_one([ID, SET, MAYBE])
    assert one.kind is Kind.SET
    assert not one.nullable
    assert print_sql(one.value) == "dl_union(t.__dl_t, g.__dl_t, s.__dl_t)"


def test_the_terms_are_copied_into_the_result() -> None:
    assert as_one([ID]).value is not ID.value
    assert as_one([ID, SET]).value.expressions[0] is not ID.value


def test_over_rows_builds_no_set_a_row() -> None:
    assert [print_sql(term.value) for term in over_rows([ID, SET])] == ["dlunion(t.__dl_t)", "dlunion(g.__dl_t)"]


@pytest.mark.parametrize(
    ("kind", "sql"), [(Kind.ID, "CAST(NULL AS BIGINT)"), (Kind.SET, "dl_of(CAST(NULL AS BIGINT))")]
)
def test_absent(kind: Kind, sql: str) -> None:
    assert print_sql(absent(kind)) == sql


def test_merge_keeps_the_order_of_first_appearance() -> None:
    merged = merge({"u": [SET]}, {"t": [ID]}, {"u": [MAYBE]})
    assert list(merged) == ["u", "t"]
    assert merged["u"] == [SET, MAYBE]


def test_merge_leaves_its_arguments_alone() -> None:
    first = {"t": [ID]}
    merge(first, {"t": [SET]})
    assert first == {"t": [ID]}


@pytest.mark.parametrize(
    ("identifier", "sql"),
    [
        ("sales", "sales"),
        ("__dl_t", "__dl_t"),
        ("a.b", "`a.b`"),
        ("größe", "`größe`"),
        ("2024", "`2024`"),
        ("a`b", "`a``b`"),
    ],
)
def test_names_are_quoted_where_they_need_it(identifier: str, sql: str) -> None:
    assert print_sql(name(identifier)) == sql


def test_hidden_columns_are_named_by_their_table() -> None:
    assert hidden_column("sales") == "__dl_sales"


def test_the_lineage_column_has_a_field_for_each_table() -> None:
    assert (
        print_sql(lineage_struct({"t": dl_of(ID.value), "u": SET.value}))
        == "named_struct('t', dl_of(t.__dl_t), 'u', g.__dl_t) AS DL"
    )


def test_a_table_name_with_a_quote_is_a_string_all_the_same() -> None:
    struct = lineage_struct({"it's": ID.value})
    assert isinstance(struct, exp.Alias)
    assert struct.this.expressions[0].name == "it's"
