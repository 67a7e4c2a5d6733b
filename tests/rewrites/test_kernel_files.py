"""Files that a text names are read by the kernel, but where only their name can stand."""

from __future__ import annotations

import pytest
from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.parsing import read_fragment
from rewrites.kernel_files import read_by_kernel


def read(sql: str) -> str:
    query = read_fragment(sql)
    assert isinstance(query, exp.Query)
    read_by_kernel(query)
    return print_sql(query)


def test_every_place() -> None:
    sql = (
        "WITH f AS (SELECT * FROM parquet.`/a/b c`)"
        " SELECT a FROM f AS t JOIN PARQUET.`s3a://x/{y,z}/*` AS u ON t.a = u.a"
    )
    assert read(sql) == (
        "WITH f AS (SELECT * FROM dl_parquet('/a/b c'))"
        " SELECT a FROM f AS t JOIN dl_parquet('s3a://x/{y,z}/*') AS u ON t.a = u.a"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "SELECT a FROM parquet.t",  # a database may have this name
        "SELECT a FROM orc.`/a`",
        "SELECT a FROM parquet.`/a` TABLESAMPLE (10 PERCENT) REPEATABLE (1)",  # behind a function there is none
        "SELECT a FROM parquet.`/a\\\\*`",  # settings say what a backslash is in a string
        "SELECT a FROM parquet.`/it's`",
        "SELECT a FROM parquet.`/$a`",
    ],
)
def test_as_it_is(sql: str) -> None:
    assert read(sql) == print_sql(read_fragment(sql))
