"""From the user's SQL text to the SQL text that carries lineage; pure, no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from forward_lineage.catalog import Catalog
from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from forward_lineage.frontend.parameters import name_positional, refuse_other_order, restore_positional
from forward_lineage.frontend.statement import parse
from rewrites.driver import RewrittenQuery, rewrite
from rewrites.environment import Semantics
from rewrites.refusals import position_of
from rewrites.rules.base_tables import read_from
from rewrites.tables import Tables
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import LineageError

_CHANGES_ROWS = ("UPDATE", "DELETE", "MERGE", "TRUNCATE")


@dataclass(frozen=True)
class RewrittenStatement:
    """A rewritten statement.

    Attributes:
        sql: Spark SQL whose last column is `DL`.
        user_sql: the user's text without a LINEAGE ON clause.
        reprinted: the tree of that text printed back unchanged; it must mean what `user_sql` means.
        tables: the traced tables, in the order of the fields of `DL`; when empty there is no `DL`.
        granules: table → how LINEAGE ON names its rows, for the tables that the clause mentions.
        places: for each `?` of `sql` the number, from 0, of the user's `?` whose value it takes.
    """

    sql: str
    user_sql: str
    reprinted: str
    tables: tuple[str, ...]
    granules: Mapping[str, Granularity]
    places: tuple[int, ...] = ()


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
    statement = rewrite_statement(sql, catalog, semantics)
    refuse_other_order(statement.places)
    return statement.sql


def rewrite_statement(
    sql: str, catalog: Tables, semantics: str = "data", traced: Collection[str] | None = None
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
    name_positional(statement.tree)
    original = print_sql(statement.tree)
    query = query_of(statement.tree)
    kept = query.parent
    result = rewrite(
        query, catalog, _read, semantics=_semantics(semantics), chosen=traced, lineage_on=statement.lineage_on
    )
    tree = result.tree if kept is None else _around(kept, result)
    granules = {
        table: Granularity(
            tuple(print_sql(expression) for expression in each.expressions),
            print_sql(each.dictionary(read_from(each.table, _read))),
        )
        for table, each in result.granules.items()
    }
    rewritten, places = restore_positional(print_sql(tree))
    reprinted, _ = restore_positional(original)
    return RewrittenStatement(rewritten, statement.text, reprinted, result.tables, granules, places)


def _around(command: exp.Expr, result: RewrittenQuery) -> exp.Expr:
    """Put the rewritten query back into its CREATE … AS or INSERT; a list of column names also names the lineage."""
    command.set("expression", result.tree)
    if isinstance(command.this, exp.Schema) and result.tables:
        command.this.append("expressions", exp.to_identifier(LINEAGE_COLUMN))
    return command


def _read(fragment: str) -> exp.Expr:
    """Parse a fragment of the catalog; the same few come with every use of a table."""
    return _parsed(fragment).copy()


@lru_cache(maxsize=1024)
def _parsed(fragment: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(fragment, dialect=FaithfulSpark)
    except ParseError as error:
        raise LineageError(f"malformed SQL: {error.errors[0].get('description')}") from None


def query_of(tree: exp.Expr) -> exp.Query:
    """Return the query of a statement: the statement itself, or what CREATE TABLE, CREATE VIEW or INSERT makes rows of.

    Raises:
        LineageError: the statement has no query, or changes base rows.
    """
    inner = tree.args.get("expression") if isinstance(tree, exp.Create | exp.Insert) else tree
    if isinstance(inner, exp.Values):
        return exp.Select(expressions=[exp.Star()]).from_(inner)
    if isinstance(inner, exp.Query):
        if inner is not tree and tree.args.get("with_"):  # WITH … INSERT: the query's own WITH, written in front
            inner.set("with_", tree.args["with_"].pop())
        return inner
    verb = (tree.name if isinstance(tree, exp.Command) else tree.key).upper()
    if verb in _CHANGES_ROWS:
        raise LineageError(
            f"{verb} changes base rows and returns none, so there is nothing to trace",
            at=position_of(tree),
            instead="Run it with spark.sql(…), then lineage.refresh(…); lineage.affected(…) shows what it spoils.",
        )
    raise LineageError(
        f"{verb} is no query", at=position_of(tree), instead="Trace SELECT …, CREATE … AS SELECT or INSERT … SELECT."
    )


def _semantics(wanted: str) -> Semantics:
    try:
        return Semantics(wanted)
    except ValueError:
        raise LineageError(f"There is no semantics {wanted!r}", instead="Use 'data' or 'control'.") from None
