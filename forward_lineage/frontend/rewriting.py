"""From the user's SQL text to the SQL text that carries lineage; pure, no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from forward_lineage.catalog import Catalog
from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from forward_lineage.frontend.statement import parse
from rewrites.driver import rewrite
from rewrites.environment import Semantics
from rewrites.rules.base_tables import read_from
from udafs.errors import LineageError


@dataclass(frozen=True)
class RewrittenStatement:
    """A rewritten statement.

    Attributes:
        sql: Spark SQL whose last column is `DL`.
        user_sql: the user's text without a LINEAGE ON clause.
        reprinted: the tree of that text printed back unchanged; it must mean what `user_sql` means.
        tables: the traced tables, in the order of the fields of `DL`; when empty there is no `DL`.
        granules: table → how LINEAGE ON names its rows, for the tables that the clause mentions.
    """

    sql: str
    user_sql: str
    reprinted: str
    tables: tuple[str, ...]
    granules: Mapping[str, Granularity]


@dataclass(frozen=True)
class Granularity:
    """What the ids of one table stand for under LINEAGE ON.

    Attributes:
        expressions: the expressions of the clause over this table, as SQL.
        dictionary: Spark SQL for the relation (value_1, …, value_k, __id) that decodes the ids.
    """

    expressions: tuple[str, ...]
    dictionary: str


def rewrite_sql(sql: str, catalog: Catalog, semantics: str = "data") -> str:
    """Return the Spark SQL that computes `sql` and, as its last column `DL`, the lineage of every row.

    Args:
        sql: one Spark SQL query.
        catalog: the registered tables.
        semantics: ``"data"`` or ``"control"``.  [Zhang 2007, §3.4]

    Raises:
        LineageError: malformed SQL, an unknown name, or a construct that is not traced.
    """
    return rewrite_statement(sql, catalog, semantics).sql


def rewrite_statement(
    sql: str, catalog: Catalog, semantics: str = "data", traced: Collection[str] | None = None
) -> RewrittenStatement:
    """Rewrite one statement and keep what the session needs to check it.

    Args:
        sql: one Spark SQL query.
        catalog: the registered tables.
        semantics: ``"data"`` or ``"control"``.
        traced: the only tables to trace; None: every table.

    Raises:
        LineageError: malformed SQL, an unknown name, or a construct that is not traced.
    """
    statement = parse(sql)
    if not isinstance(statement.tree, exp.Query):
        raise LineageError(f"{type(statement.tree).__name__.upper()} is not traced", instead="Trace a query: SELECT …")
    reprinted = print_sql(statement.tree)
    result = rewrite(statement.tree, catalog, _read, _semantics(semantics), traced, statement.lineage_on)
    granules = {
        table: Granularity(
            tuple(print_sql(expression) for expression in each.expressions),
            print_sql(each.dictionary(read_from(each.table, _read))),
        )
        for table, each in result.granules.items()
    }
    return RewrittenStatement(print_sql(result.tree), statement.text, reprinted, result.tables, granules)


def _read(fragment: str) -> exp.Expr:
    return sqlglot.parse_one(fragment, dialect=FaithfulSpark)


def _semantics(wanted: str) -> Semantics:
    try:
        return Semantics(wanted)
    except ValueError:
        raise LineageError(f"There is no semantics {wanted!r}", instead="Use 'data' or 'control'.") from None
