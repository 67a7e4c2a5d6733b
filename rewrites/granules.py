"""Granules: what the ids of a base table stand for when they stand for more than one row.   [Zhang 2007, §4.3]

id(t)  →  id(g(t)), g(t) the granule that the row t lies in
Carrier:  the granules of one base table, sets of its rows that do not overlap; each has an id, a BIGINT from 0.
Ensures:  lineage over granules is the image of lineage over rows: a granule is in it iff one of its rows is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from rewrites.tables import BaseTable
from rewrites.terms import call, column, hidden_column, name, named

_ROW, _GRANULE, _ID = "__row", "__granule", "__id"


class Granules(Protocol):
    """The granules of one base table: all that the rules and the front end need to know about a granularity."""

    @property
    def table(self) -> BaseTable:
        """The table."""

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """What a granule is described by: expressions over the table's columns, which stand unqualified."""

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the query that yields the table's rows, each with its granule's id as hidden column.

        A row's id must not depend on which other rows are read: of a sample, it is that of the whole table.

        Args:
            source: where the table's rows are read, sample included; becomes part of the query.
        """

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return the query (value_1, …, value_k, __id) that decodes ids: one row for each granule, from id 0 on.

        Args:
            source: where the table's rows are read; becomes part of the query.
        """


@dataclass(frozen=True)
class DistinctValues:
    """One granule for each distinct value of some expressions.

    Ids are dense and in value order, from a dictionary that is joined back null-safely, so that neighbouring values
    cluster and every id can be decoded; the paper hashes, which can do neither.

    Attributes:
        table: the table.
        expressions: over its columns, which stand unqualified.
    """

    table: BaseTable
    expressions: tuple[exp.Expr, ...]

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return every distinct value with its id; see `Granules.dictionary`."""
        values = [named(expression.copy(), _value(i)) for i, expression in enumerate(self.expressions)]
        distinct = exp.Select(expressions=values, distinct=exp.Distinct()).from_(source)
        columns = [exp.column(_value(i)) for i in range(len(values))]
        derived = exp.Subquery(this=distinct, alias=exp.TableAlias(this=name(_GRANULE)))
        return exp.Select(expressions=[*columns, named(_place_in_order(columns), _ID)]).from_(derived)

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the rows joined with the dictionary; see `Granules.rows`."""
        every_row = source.copy()
        every_row.set("sample", None)
        dictionary = exp.Subquery(this=self.dictionary(every_row), alias=exp.TableAlias(this=name(_GRANULE)))
        same = [
            exp.NullSafeEQ(this=_qualified(expression), expression=column(_GRANULE, _value(i)))
            for i, expression in enumerate(self.expressions)
        ]
        source.set("alias", exp.TableAlias(this=name(_ROW)))
        star = exp.Column(this=exp.Star(), table=name(_ROW))
        granule = named(column(_GRANULE, _ID), hidden_column(self.table.name))
        return exp.Select(expressions=[star, granule]).from_(source).join(dictionary, on=exp.and_(*same), copy=False)


def _value(position: int) -> str:
    return f"value_{position + 1}"


def _place_in_order(columns: list[exp.Column]) -> exp.Cast:
    """Number rows from 0 in the order of some columns."""
    order = exp.Order(expressions=[exp.Ordered(this=each.copy(), nulls_first=True) for each in columns])
    number = exp.Sub(this=exp.Window(this=call("row_number"), order=order), expression=exp.Literal.number(1))
    return exp.cast(exp.Paren(this=number), "BIGINT", dialect="spark")


def _qualified(expression: exp.Expr) -> exp.Expr:
    """Return a copy whose columns are those of the table's row, not of the dictionary."""
    return expression.copy().transform(
        lambda node: column(_ROW, node.name) if isinstance(node, exp.Column) and not node.table else node
    )
