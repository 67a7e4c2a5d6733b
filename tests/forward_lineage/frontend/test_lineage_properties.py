"""What is written into a command beside its rows; tests/forward_lineage/tracing runs such commands."""

from __future__ import annotations

import pytest

from forward_lineage import Catalog
from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.rewriting import FilledTable

EMPTY = "named_struct('base', X'0000')"


def rewritten(sql: str) -> str:
    catalog = Catalog()
    catalog.register("base", ["k", "v"], key="k")
    return rewrite_statement(parse(sql), catalog, target=FilledTable(["a", "b"], ["base"], "")).sql


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("INSERT INTO t VALUES (1, 2)", f"INSERT INTO t (`a`, `b`, DL) VALUES (1, 2, {EMPTY})"),
        ("INSERT INTO t (b, a) VALUES (1, 2)", f"INSERT INTO t (`b`, `a`, DL) VALUES (1, 2, {EMPTY})"),
        ("INSERT INTO t (a) VALUES 1", f"INSERT INTO t (`a`, DL) VALUES (1, {EMPTY})"),
        (
            "INSERT INTO t SELECT 1, 2",
            f"INSERT INTO t (`a`, `b`, DL) SELECT *, {EMPTY} AS DL FROM (SELECT 1, 2) AS q",
        ),
        (
            "INSERT INTO t BY NAME SELECT 1 AS a, 2 AS b",
            f"INSERT INTO t BY NAME SELECT *, {EMPTY} AS DL FROM (SELECT 1 AS a, 2 AS b) AS q",
        ),
        ("INSERT INTO t VALUES (1, 2, NULL)", "INSERT INTO t VALUES (1, 2, NULL)"),
        ("INSERT INTO t (a, DL) VALUES (1, NULL)", "INSERT INTO t (a, DL) VALUES (1, NULL)"),
        ("INSERT INTO t SELECT 1, 2, NULL", "INSERT INTO t SELECT 1, 2, NULL"),
    ],
)
def test_rows_that_are_made_of_no_base_row(sql: str, found: str) -> None:
    assert rewritten(sql) == found


def test_rows_that_are_traced_have_the_lineage_that_they_have() -> None:
    sql = rewritten("INSERT INTO t SELECT k, v FROM base")
    assert sql.startswith("INSERT INTO t (`a`, `b`, DL) SELECT k, v, dl_into(")
    assert EMPTY not in sql


def test_where_the_target_has_no_lineage_nothing_is_added() -> None:
    sql = "INSERT INTO t VALUES (1, 2)"
    assert rewrite_statement(parse(sql), Catalog(), target=FilledTable(["a", "b"])).sql == sql
