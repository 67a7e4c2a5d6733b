"""Lineage of a row as SQL expressions.

Carrier: finite sets of base-row ids, one set per traced base table. While nothing forces a set, the lineage of a row in
one table is a plain BIGINT (NULL: no row of that table). A set is a BINARY value.  [Zhang 2007, Definition 1]
Operations: `dl_of` (id → set), `dl_union` (of one row's terms), `dlunion` (over rows): `rewrites.lineage_functions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from rewrites.lineage_functions import dl_of, dl_union, dlunion
from rewrites.tables import HIDDEN_PREFIX as HIDDEN_PREFIX  # noqa: PLC0414 - handed on
from rewrites.tables import LINEAGE_COLUMN as LINEAGE_COLUMN  # noqa: PLC0414 - handed on


class Kind(Enum):
    """How the lineage of a row is carried in a column."""

    ID = "an id, BIGINT"
    FEW = "a set, BINARY, of no more ids than the query names tables"
    SET = "a set, BINARY, of any number of ids"


@dataclass(frozen=True)
class Term:
    """One contribution to the lineage of a row in one base table.

    Attributes:
        value: SQL expression in the scope of the row.
        kind: whether it is an id or a set.
        nullable: a set that may be NULL, meaning empty (an id always may).
    """

    value: exp.Expr
    kind: Kind
    nullable: bool = False

    def copy(self) -> Term:
        """Return the term with a tree of its own, to be put into a second place."""
        return replace(self, value=self.value.copy())


Lineage = dict[str, list[Term]]
"""Base table → the terms whose union is the lineage of a row in that table, in order of first appearance."""


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """Return a function call, name as given."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def name(identifier: str) -> exp.Identifier:
    """Return an identifier, quoted unless it is a plain word that nobody can misread."""
    word = identifier.replace("_", "a").isalnum() and identifier.isascii() and not identifier[0].isdigit()
    return exp.to_identifier(identifier, quoted=not word or identifier.upper() in Spark.Tokenizer.KEYWORDS)


def named(value: exp.Expr, alias: str) -> exp.Alias:
    """Return `value AS alias` (sqlglot's own `alias_` would put the alias inside a subquery)."""
    return exp.Alias(this=value, alias=name(alias))


def hidden_column(table: str) -> str:
    """Return the name of the column that carries the lineage in `table` through a query."""
    return HIDDEN_PREFIX + table


def column(alias: str, column_name: str) -> exp.Column:
    """Return a qualified column reference."""
    return exp.Column(this=name(column_name), table=name(alias))


def derived_table(query: exp.Query, alias: str, columns: Iterable[exp.Identifier] = ()) -> exp.Subquery:
    """Return `(query) AS alias`, or `(query) AS alias(columns …)`."""
    return exp.Subquery(this=query, alias=exp.TableAlias(this=name(alias), columns=list(columns) or None))


def merge(*lineages: Mapping[str, Iterable[Term]]) -> Lineage:
    """Return the union: all terms of all arguments, table by table."""
    merged: Lineage = {}
    for lineage in lineages:
        for table, terms in lineage.items():
            merged.setdefault(table, []).extend(terms)
    return merged


def as_one(terms: list[Term]) -> Term:
    """Return one term with the union of `terms`, the term itself if it is alone; a set is never NULL."""
    if len(terms) == 1 and (terms[0].kind is Kind.ID or not terms[0].nullable):
        return terms[0].copy()
    kind = Kind.SET if any(term.kind is Kind.SET for term in terms) else Kind.FEW
    return Term(dl_union(*(term.value.copy() for term in terms)), kind)


def as_set(value: exp.Expr, kind: Kind) -> exp.Expr:
    """Return what a hidden column carries as a lineage value, never NULL; the tree given becomes part of it."""
    return dl_of(value) if kind is Kind.ID else value


def over_rows(terms: list[Term]) -> list[Term]:
    """Return the union over the rows of a group, one `dlunion` a term: no set is built for a single row."""
    return [Term(dlunion(term.value.copy()), Kind.SET) for term in terms]


def absent(kind: Kind) -> exp.Expr:
    """Return the constant that stands for 'no row of that table': a NULL id, the empty set."""
    null_id = exp.cast(exp.Null(), "BIGINT", dialect="spark")
    return null_id if kind is Kind.ID else dl_of(null_id)


def lineage_struct(lineage: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return the `DL` column: a struct with one lineage value per base table."""
    fields: list[exp.Expr] = []
    for table, value in lineage.items():
        fields += [exp.Literal.string(table), value]
    return named(call("named_struct", *fields), LINEAGE_COLUMN)
