"""Paths that a text reads several times are named once."""

from __future__ import annotations

import pytest

from forward_lineage import Catalog, rewrite_sql
from rewrites.tables import BaseTable

pytestmark = pytest.mark.usefixtures("newest_spelling")
PATH = "parquet.`/data/t`"


@pytest.fixture
def catalog() -> Catalog:
    known = Catalog()
    known.add(BaseTable("t", ("id", "v"), PATH, "hash(_metadata)"))
    known.add(BaseTable("k", ("id", "v"), "parquet.`/data/k`", "CAST(id AS BIGINT)"))
    known.add(BaseTable("other", ("id", "v"), PATH, "other_ids(_metadata)"))
    return known


def test_with_and_without_ids(catalog: Catalog) -> None:
    assert rewrite_sql("SELECT v FROM t WHERE v > (SELECT avg(v) FROM t)", catalog) == (
        "WITH __file1 AS (SELECT *, hash(_metadata) AS __dl_t FROM parquet.`/data/t`)"
        " SELECT v, named_struct('t', dl_of(t.__dl_t)) AS DL FROM (SELECT * FROM __file1) AS t"
        " WHERE v > (SELECT avg(v) FROM (SELECT * EXCEPT (__dl_t) FROM __file1) AS t)"
    )


def test_ids_that_are_keys_and_ctes_of_the_user(catalog: Catalog) -> None:
    assert rewrite_sql("WITH c AS (SELECT v FROM k) SELECT c.v FROM c JOIN k ON c.v = k.v", catalog) == (
        "WITH __file1 AS (SELECT *, CAST(id AS BIGINT) AS __dl_k FROM parquet.`/data/k`),"
        " c AS (SELECT v, k.__dl_k AS __dl_k FROM (SELECT * FROM __file1) AS k)"
        " SELECT c.v, named_struct('k', dl_union(c.__dl_k, k.__dl_k)) AS DL"
        " FROM c JOIN (SELECT * FROM __file1) AS k ON c.v = k.v"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT v FROM t",
        "SELECT t.v FROM t JOIN k ON t.v = k.v",
        "SELECT t.v FROM t JOIN t AS x ON t.v = x.v JOIN other ON t.v = other.v",  # a CTE has one of their ids
        "SELECT v FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (1) WHERE v > (SELECT avg(v) FROM t)",
    ],
)
def test_as_it_is(catalog: Catalog, sql: str) -> None:
    assert "__file" not in rewrite_sql(sql, catalog)
