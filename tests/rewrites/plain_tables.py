"""Registered tables as plain data, and short ways to read and print SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlglot
from sqlglot import exp

from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from rewrites.driver import RewrittenQuery, rewrite
from rewrites.environment import Semantics
from rewrites.options import Options
from rewrites.tables import BaseTable, Source


class PlainTables:
    """`t(id, k, v)` and `u(uid, k, w)`; `v` and `w`, of known types; `lineitem`, read from a file."""

    def __init__(self) -> None:
        self._tables = {
            "t": BaseTable("t", ("id", "k", "v"), "t", "id"),
            "u": BaseTable("u", ("uid", "k", "w"), "u", "uid"),
            "v": BaseTable("v", ("id", "k", "n", "f"), "v", "id", types=("bigint", "string", "int", "double")),
            "w": BaseTable("w", ("wid", "k", "n", "f"), "w", "wid", types=("int", "string", "int", "double")),
            "lineitem": BaseTable("lineitem", ("l_quantity",), "parquet.`/x`", "_metadata.row_index"),
        }

    def find(self, parts: Sequence[str]) -> Source | None:
        return self._tables.get(parts[0].lower()) if len(parts) == 1 else None

    def qualifier(self, parts: Sequence[str]) -> tuple[str, ...]:
        return ("spark_catalog", "default", *parts)

    def is_variable(self, parts: Sequence[str]) -> bool:
        return parts[-1].lower() == "highest"

    def names(self) -> list[str]:
        return list(self._tables)


TABLES = PlainTables()


def read(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect=FaithfulSpark)


def rewritten(
    sql: str,
    semantics: Semantics = Semantics.DATA,
    chosen: Collection[str] | None = None,
    lineage_on: Sequence[str] | None = None,
    *,
    by_reference: bool = True,
) -> RewrittenQuery:
    query = read(sql)
    assert isinstance(query, exp.Query)
    clause = None if lineage_on is None else [read(each) for each in lineage_on]
    only = None if chosen is None else tuple(chosen)
    return rewrite(query, TABLES, read, Options(semantics, only, by_reference=by_reference), lineage_on=clause)


def printed(
    sql: str,
    semantics: Semantics = Semantics.DATA,
    chosen: Collection[str] | None = None,
    *,
    by_reference: bool = True,
) -> str:
    return print_sql(rewritten(sql, semantics, chosen, by_reference=by_reference).tree)
