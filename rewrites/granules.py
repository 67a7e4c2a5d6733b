"""LINEAGE ON: lineage as sets of values instead of sets of rows.   [Zhang 2007, §4.3, variable granularity]

id(t)  →  id(L(t)), L the expressions of the clause over one table.
A granule is one distinct value of L. Granules have dense ids in value order, from a dictionary that is joined back
null-safely, so that
neighbouring values cluster and every id can be decoded; the paper hashes, which can do neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from rewrites.refusals import nearest, refuse
from rewrites.tables import BaseTable, Tables, View
from rewrites.terms import call, column, hidden_column, name, named

Parse = Callable[[str], exp.Expr]

_ROW, _GRANULE, _ID = "__row", "__granule", "__id"


@dataclass(frozen=True)
class Granules:
    """The granularity asked for in one base table.

    Attributes:
        table: the table.
        expressions: over its columns, which stand unqualified.
    """

    table: BaseTable
    expressions: tuple[exp.Expr, ...]

    def dictionary(self, source: exp.Table) -> exp.Select:
        """Return the query (value_1, …, value_k, __id): every distinct value, numbered from 0 in value order.

        Args:
            source: where the table's rows are read; becomes part of the query.
        """
        values = [named(expression.copy(), _value(i)) for i, expression in enumerate(self.expressions)]
        distinct = exp.Select(expressions=values, distinct=exp.Distinct()).from_(source)
        columns = [exp.column(_value(i)) for i in range(len(values))]
        order = exp.Order(expressions=[exp.Ordered(this=each.copy(), nulls_first=True) for each in columns])
        number = exp.Sub(this=exp.Window(this=call("row_number"), order=order), expression=exp.Literal.number(1))
        numbered = named(exp.cast(exp.Paren(this=number), "BIGINT", dialect="spark"), _ID)
        derived = exp.Subquery(this=distinct, alias=exp.TableAlias(this=name(_GRANULE)))
        return exp.Select(expressions=[*columns, numbered]).from_(derived)

    def rows(self, source: exp.Table) -> exp.Select:
        """Return the query that yields the table's rows, each with its granule's id as hidden column."""
        every_row = source.copy()
        every_row.set("sample", None)  # ids must not depend on which rows are read
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


def _qualified(expression: exp.Expr) -> exp.Expr:
    """Return a copy whose columns are those of the table's row, not of the dictionary."""
    return expression.copy().transform(
        lambda node: column(_ROW, node.name) if isinstance(node, exp.Column) and not node.table else node
    )


def resolve(clause: Sequence[exp.Expr], query: exp.Query, tables: Tables, parse: Parse) -> dict[str, Granules]:
    """Find the tables that a LINEAGE ON clause means.

    Args:
        clause: its expressions, as parsed.
        query: the statement, not rewritten yet.
        tables: the registered tables.
        parse: reads the text of a view.

    Returns:
        Lower-case table name → granules; no entry: the table is not traced.

    Raises:
        LineageError: an unknown or ambiguous name, an expression over no table or over several.
    """
    used = _used_tables(query, tables, parse)
    found: dict[str, list[exp.Expr]] = {}
    by_name: dict[str, BaseTable] = {}
    for expression in clause:
        table = _table_of(expression, used)
        by_name[table.name.lower()] = table
        found.setdefault(table.name.lower(), []).append(_unqualified(expression))
    return {table: Granules(by_name[table], tuple(expressions)) for table, expressions in found.items()}


def _used_tables(query: exp.Expr, tables: Tables, parse: Parse) -> dict[str, list[BaseTable]]:
    """Return name or alias, lower case → the registered tables that the statement reads under it, anywhere."""
    used: dict[str, list[BaseTable]] = {}
    for node in query.find_all(exp.Table):
        parts = [part.name for part in node.parts]
        if len(parts) == 1 and _means_cte(node):
            continue
        table = tables.find(parts)
        if isinstance(table, View):
            for called, inside in _used_tables(parse(table.sql), tables, parse).items():
                _note(used, called, inside)
        elif table is not None:
            for called in {table.name.lower(), parts[-1].lower(), node.alias_or_name.lower()}:
                _note(used, called, [table])
    return used


def _means_cte(node: exp.Table) -> bool:
    """Say whether a WITH clause around a table's name binds it.

    A CTE sees only those before it: in `WITH t AS (SELECT … FROM t)` the inner name is the table's.
    """
    inside: exp.Expr = node
    around = node.parent
    while around is not None:
        if isinstance(around, exp.With):
            bound = around.expressions[: inside.index]
        else:
            clause = around.args.get("with_")
            bound = clause.expressions if clause is not None and clause is not inside else []
        if any(cte.alias.lower() == node.name.lower() for cte in bound):
            return True
        inside, around = around, around.parent
    return False


def _note(used: dict[str, list[BaseTable]], called: str, tables: list[BaseTable]) -> None:
    known = used.setdefault(called, [])
    known += [table for table in tables if table not in known]


def _table_of(expression: exp.Expr, used: dict[str, list[BaseTable]]) -> BaseTable:
    columns = list(expression.find_all(exp.Column))
    if not columns:
        refuse(expression, "This expression of LINEAGE ON mentions no column", "Name a column of a table of the query.")
    owners = {owner.name: owner for owner in (_owner(each, used) for each in columns)}
    if len(owners) > 1:
        both = " and ".join(sorted(owners))
        refuse(
            expression, f"This expression of LINEAGE ON mixes columns of {both}", "Use one expression for each table."
        )
    return next(iter(owners.values()))


def _owner(node: exp.Column, used: dict[str, list[BaseTable]]) -> BaseTable:
    if node.table:
        candidates = used.get(node.table.lower(), [])
        if not candidates:
            refuse(node, f"LINEAGE ON: the query reads no table {node.table}", nearest(node.table, list(used)))
        known = [each for table in candidates for each in table.columns]
        candidates = [table for table in candidates if _has(table, node.name)]
    else:
        every = list({table.name: table for found in used.values() for table in found}.values())
        known = [each for table in every for each in table.columns]
        candidates = [table for table in every if _has(table, node.name)]
    if not candidates:
        refuse(node, f"LINEAGE ON: no table of the query has a column {node.name}", nearest(node.name, known))
    if len(candidates) > 1:
        names = " and ".join(sorted(table.name for table in candidates))
        refuse(node, f"LINEAGE ON: {node.sql()} is ambiguous: {names}", "Qualify it with the table's name.")
    return candidates[0]


def _has(table: BaseTable, column_name: str) -> bool:
    return column_name.lower() in {each.lower() for each in table.columns}


def _unqualified(expression: exp.Expr) -> exp.Expr:
    copy = expression.copy()
    for node in copy.find_all(exp.Column):
        for qualifier in ("table", "db", "catalog"):
            node.set(qualifier, None)
    return copy
