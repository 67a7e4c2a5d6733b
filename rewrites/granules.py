"""Granules: what the ids of a base table stand for when they stand for more than one row.   [Zhang 2007, §4.3]

id(t)  →  id(g(t)), g(t) the granule that the row t lies in
Carrier:  the granules of one base table, sets of its rows that do not overlap; each has an id, a BIGINT from 0.
Own ids:  if enough is known of the values (`rewrites.domains`), the id is computed from them, and they from it.
          Else a dictionary of the table's values numbers them.
Ensures:  ids are in the order of the values, NULL first.
          Lineage over granules is the image of lineage over rows: a granule is in it iff one of its rows is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Protocol, runtime_checkable

from sqlglot import exp

from rewrites.domains import Domain, fit
from rewrites.lineage_functions import dl_fragment, dl_range, dl_row_granule
from rewrites.tables import BaseTable
from rewrites.terms import call, column, hidden_column, name, named

_ROW, _GRANULE, _ID = "__row", "__granule", "__id"

MOST_RANGES = 10_000
"""Ranges of a column that may be asked for.   [Niu 2022, §4.4: past it there is little to gain]"""

KnownValues = Callable[[BaseTable, Sequence[exp.Expr]], Sequence[Domain] | None]
"""Tells the domain of each of some expressions over a table, which stand unqualified; None where it cannot."""


@runtime_checkable
class KnowsRanges(Protocol):
    """Something that knows values of tables, and can cut a column into ranges."""

    def ranges(self, table: BaseTable, column: str, most: int) -> Ranges:
        """Return at most so many ranges of a column, each with about as many rows.

        Raises:
            LineageError: a type that has no ranges, or the table is not what was registered.
        """


@runtime_checkable
class KeepsValues(Protocol):
    """Something that may look once for the values of all rows of a table, and keep them."""

    def kept(self, table: BaseTable, expressions: Sequence[exp.Expr]) -> KeptValues | None:
        """Return the granules of a table by the values of some expressions; None where they are not kept.

        Raises:
            LineageError: the table is not what was registered.
        """


class Granules(Protocol):
    """The granules of one base table: all that the rules and the front end need to know about a granularity."""

    @property
    def table(self) -> BaseTable:
        """The table."""

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The description of a granule: unqualified expressions over the table's columns."""

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return the query (value_1, …, value_k, __id) that decodes ids: one row for each granule of the table.

        Args:
            source: where the table's rows are read; becomes part of the query.
        """

    def values(self) -> list[exp.Expr]:
        """Return what an id stands for, an expression over `__id` for each value; none if it takes the dictionary."""


@runtime_checkable
class ByValue(Granules, Protocol):
    """Granules whose ids come from the values of a row."""

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the query that yields the table's rows, each with its granule's id as hidden column.

        A row's id must not depend on which other rows are read: of a sample, it is that of the whole table.

        Args:
            source: where the table's rows are read, sample included; becomes part of the query.
        """


def granules_of(table: BaseTable, expressions: tuple[exp.Expr, ...], known: KnownValues | None) -> Granules:
    """Return the granules of a table by the values of some expressions: with ids of their own where that is known.

    Args:
        table: the table.
        expressions: over its columns, which stand unqualified.
        known: what is known of values; None: nothing.
    """
    domains = known(table, expressions) if known is not None else None
    if domains is not None and fit(domains):
        return OwnIds(table, expressions, tuple(domains))
    keeper: object = known
    kept = keeper.kept(table, expressions) if isinstance(keeper, KeepsValues) else None
    return kept or DistinctValues(table, expressions)


@dataclass(frozen=True)
class OwnIds:
    """One granule for each distinct value of some expressions; the id is computed from the value, and the other way.

    An id is a number whose digits are the places of the values in their domains, the first expression's in front.

    Attributes:
        table: the table.
        expressions: over its columns, which stand unqualified.
        domains: what values each of them may have; all their combinations have ids.
    """

    table: BaseTable
    expressions: tuple[exp.Expr, ...]
    domains: tuple[Domain, ...]

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the rows with an id computed for each; see `ByValue.rows`."""
        granule = named(self._id([each.copy() for each in self.expressions]), hidden_column(self.table.name))
        return exp.select(exp.Star(), granule).from_(source)

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return every distinct value with its id; see `Granules.dictionary`."""
        columns = [exp.column(_value(i)) for i in range(len(self.expressions))]
        return _of_distinct(self.expressions, source, self._id([each.copy() for each in columns]))

    def values(self) -> list[exp.Expr]:
        """Return each digit of an id as the value that it stands for; see `Granules.values`."""
        found: list[exp.Expr] = []
        for i, domain in enumerate(self.domains):
            below = prod(each.size for each in self.domains[i + 1 :])
            digit: exp.Expr = exp.column(_ID)
            if below > 1:
                digit = exp.IntDiv(this=digit, expression=exp.Literal.number(below))
            if i:
                digit = exp.Mod(this=digit, expression=exp.Literal.number(domain.size))
            found.append(domain.value(digit))
        return found

    def _id(self, values: list[exp.Expr]) -> exp.Expr:
        places = [domain.place(value) for domain, value in zip(self.domains, values, strict=True)]
        return reduce(_behind, zip(places[1:], self.domains[1:], strict=True), places[0])


def _behind(digits: exp.Expr, last: tuple[exp.Expr, Domain]) -> exp.Expr:
    """Put one more digit behind those of a number."""
    place, domain = last
    if isinstance(digits, exp.Add):
        digits = exp.Paren(this=digits)
    return exp.Add(this=exp.Mul(this=digits, expression=exp.Literal.number(domain.size)), expression=place)


@dataclass(frozen=True)
class Ranges:
    """One granule for each range of a column, and one for NULL.   [Niu 2022, §4.1]

    Attributes:
        table: the table.
        column: of it.
        type: the column's, as Spark's `DataType.sql` spells it.
        bounds: where ranges begin, packed as `dl_fragment` takes them.
        one_witness: whether of a group one row that attains a `min` or `max` is enough, see `rewrites.witnesses`.
    """

    table: BaseTable
    column: str
    type: str
    bounds: bytes
    one_witness: bool = False

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """Return the range; see `Granules.expressions`."""
        return (self._range(self._fragment()),)

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the rows with their ranges, which are found by binary search; see `ByValue.rows`."""
        return exp.select(exp.Star(), named(self._fragment(), hidden_column(self.table.name))).from_(source)

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return every range that the table has rows in; see `Granules.dictionary`."""
        listed = exp.Select(expressions=[named(self._fragment(), _ID)], distinct=exp.Distinct()).from_(source)
        value = named(self._range(exp.column(_ID)), _value(0))
        derived = exp.Subquery(this=listed, alias=exp.TableAlias(this=name(_GRANULE)))
        return exp.Select(expressions=[value, exp.column(_ID)]).from_(derived)

    def values(self) -> list[exp.Expr]:
        """Return the range that has a number; see `Granules.values`."""
        return [self._range(exp.column(_ID))]

    def _fragment(self) -> exp.Anonymous:
        return dl_fragment(exp.column(name(self.column)), self.bounds)

    def _range(self, fragment: exp.Expr) -> exp.Anonymous:
        return dl_range(fragment, self.bounds, self.type)


@dataclass(frozen=True)
class DistinctValues:
    """One granule for each distinct value of some expressions.

    Ids are dense and in value order, from a dictionary that is joined back null-safely. So neighbouring values cluster
    and every id can be decoded. The paper hashes, which can do neither.

    Attributes:
        table: the table.
        expressions: over its columns, which stand unqualified.
    """

    table: BaseTable
    expressions: tuple[exp.Expr, ...]

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return every distinct value with its id; see `Granules.dictionary`."""
        columns = [exp.column(_value(i)) for i in range(len(self.expressions))]
        return _of_distinct(self.expressions, source, _place_in_order(columns))

    def values(self) -> list[exp.Expr]:
        """Return nothing: an id is a place among the values that the table has; see `Granules.values`."""
        return []

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the rows joined with the dictionary; see `ByValue.rows`."""
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


@dataclass(frozen=True)
class KeptValues:
    """One granule for each distinct value of some expressions, with the ids that `DistinctValues` gives.

    The granule of a row was looked up once, for all rows of the table, and is found by the row's id.

    Attributes:
        table: the table.
        expressions: over its columns, which stand unqualified.
        by_row: the path of the file that `dl_row_granule` reads.
        entries: the path of the Parquet files (value_1, …, value_k, __id), as Spark reads it behind parquet.
    """

    table: BaseTable
    expressions: tuple[exp.Expr, ...]
    by_row: str
    entries: str

    def of_row(self, row_id: exp.Expr) -> exp.Expr:
        """Return the id of the granule of the row that has an id."""
        return dl_row_granule(row_id, self.by_row)

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return every distinct value with its id, as they were kept; see `Granules.dictionary`."""
        columns = [*map(_value, range(len(self.expressions))), _ID]
        kept = exp.Table(this=exp.to_identifier(self.entries, quoted=True), db=exp.to_identifier("parquet"))
        return exp.Select(expressions=[exp.column(each) for each in columns]).from_(kept)

    def values(self) -> list[exp.Expr]:
        """Return nothing, as for `DistinctValues`."""
        return []


def _of_distinct(expressions: Sequence[exp.Expr], source: exp.Table, row_id: exp.Expr) -> exp.Select:
    """Return the distinct values of some expressions, each with an id."""
    values = [named(expression.copy(), _value(i)) for i, expression in enumerate(expressions)]
    distinct = exp.Select(expressions=values, distinct=exp.Distinct()).from_(source)
    derived = exp.Subquery(this=distinct, alias=exp.TableAlias(this=name(_GRANULE)))
    columns = [exp.column(_value(i)) for i in range(len(values))]
    return exp.Select(expressions=[*columns, named(row_id, _ID)]).from_(derived)


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
