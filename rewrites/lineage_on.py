"""The granules that a LINEAGE ON clause asks for: its expressions, each over the columns of one base table.

Requires: a query that is not rewritten yet.
Ensures:  one `Granules` for each table that the clause mentions; a table that it does not mention is not traced.
Raises:   WrongSqlError for an unknown or ambiguous name, or an expression that is not over one row of one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from rewrites.granules import MOST_RANGES, Granules, KnownValues, KnowsRanges, granules_of
from rewrites.refusals import nearest, position_of
from rewrites.sources import means_cte
from rewrites.spark_functions import AGGREGATES, GENERATORS, NONDETERMINISTIC, WINDOW_ONLY
from rewrites.tables import BaseTable, Tables, View
from udafs.errors import BadArgumentError, WrongSqlError

Parse = Callable[[str], exp.Expr]
#: Name or alias, lower case → the registered tables that the statement reads under it, anywhere.
_Used = dict[str, list[BaseTable]]
_NOT_OF_ONE_ROW = AGGREGATES | GENERATORS | NONDETERMINISTIC | WINDOW_ONLY


def resolve(
    clause: Sequence[exp.Expr], query: exp.Query, tables: Tables, parse: Parse, known: KnownValues | None = None
) -> dict[str, Granules]:
    """Find the tables that a LINEAGE ON clause means.

    Args:
        clause: its expressions, as parsed.
        query: the statement, not rewritten yet.
        tables: the registered tables.
        parse: reads the text of a view.
        known: what is known of the values of expressions, so that they can be ids.

    Returns:
        Lower-case table name → granules; no entry: the table is not traced.

    Raises:
        WrongSqlError: an unknown or ambiguous name, an expression that is not over one row of one table.
    """
    used = _used_tables(query, tables, parse)
    found: dict[str, list[exp.Expr]] = {}
    by_name: dict[str, BaseTable] = {}
    ranges: dict[str, Granules] = {}
    for expression in clause:
        if _is_ranges(expression):
            cut = _ranges(expression, used, known)
            if ranges.setdefault(cut.table.name.lower(), cut) is not cut:
                raise _alone(expression)
            continue
        _check_is_of_one_row(expression)
        table = _table_of(expression, used)
        by_name[table.name.lower()] = table
        found.setdefault(table.name.lower(), []).append(_unqualified(expression))
    both = next((each for each in clause if _is_ranges(each) and _table_of(each, used).name.lower() in found), None)
    if both is not None:
        raise _alone(both)
    by_value = {table: granules_of(by_name[table], tuple(each), known) for table, each in found.items()}
    order = dict.fromkeys(_table_of(each, used).name.lower() for each in clause)
    return {table: (by_value | ranges)[table] for table in order}


def _is_ranges(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Anonymous) and expression.name.upper() == "RANGES"


def _ranges(expression: exp.Expr, used: _Used, known: KnownValues | None) -> Granules:
    """Return the granules that RANGES(column, n) asks for.   [Niu 2022, §4]"""
    arguments = expression.expressions
    if not (len(arguments) == 2 and isinstance(arguments[0], exp.Column) and arguments[1].is_int):
        what = "RANGES takes a column and how many ranges there may be, a number"
        raise _wrong(expression, what, "Write … LINEAGE ON RANGES(column, 1000).")
    table, most = _table_of(arguments[0], used), int(arguments[1].name)
    if not 1 <= most <= MOST_RANGES:
        raise _wrong(expression, f"{most} ranges", f"Ask for 1 to {MOST_RANGES}.")
    knows: object = known
    if not isinstance(knows, KnowsRanges):
        what = "RANGES depends on the values that a table has"
        raise _wrong(expression, what, "Run it: lineage.sql(…).")
    column = next(each for each in table.columns if each.lower() == arguments[0].name.lower())
    try:
        return knows.ranges(table, column, most)
    except BadArgumentError as error:
        raise _wrong(expression, error.what, error.instead or "") from None


def _alone(expression: exp.Expr) -> WrongSqlError:
    what = "LINEAGE ON has RANGES and something else over the same table"
    return _wrong(expression, what, "Use one RANGES for a table, or expressions.")


def _used_tables(query: exp.Expr, tables: Tables, parse: Parse) -> _Used:
    used: _Used = {}
    for node in query.find_all(exp.Table):
        parts = [part.name for part in node.parts]
        if len(parts) == 1 and means_cte(node):
            continue
        table = tables.find(parts)
        if isinstance(table, View):
            for called, inside in _used_tables(parse(table.sql), tables, parse).items():
                _note(used, called, inside)
        elif isinstance(table, BaseTable):
            full = [part.lower() for part in parts]
            suffixes = {".".join(full[at:]) for at in range(len(full))}
            for called in {table.name.lower(), node.alias_or_name.lower(), *suffixes}:
                _note(used, called, [table])
    return used


def _note(used: _Used, called: str, tables: list[BaseTable]) -> None:
    known = used.setdefault(called, [])
    known += [table for table in tables if table not in known]


def _check_is_of_one_row(expression: exp.Expr) -> None:
    """The dictionary evaluates it once more, over other rows at once: it must give the same value there."""
    for call in expression.find_all(exp.Anonymous):
        if call.name.lower() in _NOT_OF_ONE_ROW:
            what = f"LINEAGE ON: {call.name} does not always give the same value for the same row"
            raise _wrong(call, what, "Use operators and functions of one row's values.")


def _table_of(expression: exp.Expr, used: _Used) -> BaseTable:
    columns = list(expression.find_all(exp.Column))
    if not columns:
        what = "this expression of LINEAGE ON mentions no column"
        raise _wrong(expression, what, "Name a column of a table of the query.")
    owners = {owner.name: owner for owner in (_owner(each, used) for each in columns)}
    if len(owners) > 1:
        what = f"this expression of LINEAGE ON mixes columns of {_listed(owners)}"
        raise _wrong(expression, what, "Use one expression for each table.")
    return next(iter(owners.values()))


def _owner(node: exp.Column, used: _Used) -> BaseTable:
    meant = _tables_meant(node, used)
    owners = {table.name: table for table in meant if _has(table, node.name)}
    if not owners:
        known = [each for table in meant for each in table.columns]
        what = f"LINEAGE ON: no table of the query has a column {node.name}"
        raise _wrong(node, what, nearest(node.name, known))
    if len(owners) > 1:
        what = f"LINEAGE ON: {node.sql()} is ambiguous: {_listed(owners)}"
        raise _wrong(node, what, "Qualify it with the table's name.")
    return next(iter(owners.values()))


def _tables_meant(node: exp.Column, used: _Used) -> list[BaseTable]:
    """Return the tables that a column may be of: those that its qualifier means, all without one."""
    if not node.table:
        return [table for tables in used.values() for table in tables]
    qualifiers = [part.name.lower() for part in list(node.parts)[:-1]]
    # A name may say more than the query's: `default.t` of a table that the query calls `t`.
    called = next((each for at in range(len(qualifiers)) if (each := ".".join(qualifiers[at:])) in used), None)
    if called is None:
        what = f"LINEAGE ON: the query reads no table {node.table}"
        raise _wrong(node, what, nearest(node.table, list(used)))
    return used[called]


def _listed(tables: Iterable[str]) -> str:
    return " and ".join(sorted(tables))


def _wrong(node: exp.Expr, what: str, instead: str) -> WrongSqlError:
    return WrongSqlError(what, at=position_of(node), instead=instead)


def _has(table: BaseTable, column_name: str) -> bool:
    return column_name.lower() in {each.lower() for each in table.columns}


def _unqualified(expression: exp.Expr) -> exp.Expr:
    copy = expression.copy()
    for node in copy.find_all(exp.Column):
        for qualifier in ("table", "db", "catalog"):
            node.set(qualifier, None)
    return copy
