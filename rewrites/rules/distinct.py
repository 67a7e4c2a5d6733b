"""DISTINCT: equal rows become one, made of all of them.

δ(V)  →  γ_{all columns; dlunion(__dl_t) for each t}(V'), written with GROUP BY ALL, which needs no name of any column.
A select list that groups, ranks, explodes, asks subqueries or uses its own aliases is put into a derived table first.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrites.block import is_aggregate
from rewrites.environment import Environment, TracedQuery
from rewrites.refusals import refuse
from rewrites.spark_functions import GENERATORS
from rewrites.terms import Kind, call, column, hidden_column, name, named

_OUTSIDE = ("order", "limit", "offset")


def group_equal_rows(
    rows: exp.Query, hidden: Mapping[str, Kind], alias: str, extra: tuple[str, ...] = ()
) -> exp.Select:
    """Return the query that yields each different row of `rows` once, with the union of the lineage of its copies.

    Args:
        rows: a query with hidden columns after the user's.
        hidden: its hidden columns.
        alias: a fresh alias for it.
        extra: further columns of `rows` that are neither the user's nor part of what makes rows equal.
    """
    excepted = [column(alias, each) for each in (*map(hidden_column, hidden), *extra)]
    star = exp.Star(except_=excepted) if excepted else exp.Star()
    unions = [named(call("dlunion", column(alias, hidden_column(table))), hidden_column(table)) for table in hidden]
    derived = exp.Subquery(this=rows, alias=exp.TableAlias(this=name(alias)))
    grouped = exp.Select(expressions=[star, *unions]).from_(derived)
    grouped.set("group", exp.Group(all=True))
    return grouped


def needs_derived_table(select: exp.Select) -> bool:
    """Say whether DISTINCT of this block cannot be written as GROUP BY ALL in the block itself."""
    if any(
        select.args.get(clause) for clause in ("group", "having", "qualify", "windows", "sort", "cluster", "distribute")
    ):
        return True
    for projection in select.expressions:
        for node in projection.walk():
            if isinstance(node, exp.Window | exp.Query) or is_aggregate(node):
                return True
            if isinstance(node, exp.Anonymous) and node.name.lower() in GENERATORS:
                return True
    return _uses_own_aliases(select)


def _uses_own_aliases(select: exp.Select) -> bool:
    """Say whether an item may name one before it (a lateral column alias), which Spark refuses to group by."""
    aliases: set[str] = set()
    for projection in select.expressions:
        if any(node.name.lower() in aliases and not node.table for node in projection.find_all(exp.Column)):
            return True
        if isinstance(projection, exp.Alias):
            aliases.add(projection.alias.lower())
    return False


def in_derived_table(select: exp.Select, env: Environment) -> TracedQuery:
    """Rewrite SELECT DISTINCT by grouping the rewritten block from outside."""
    outside = {clause: select.args.get(clause) for clause in _OUTSIDE}
    _refuse_hidden_sort_keys(select)
    for clause in outside:
        select.set(clause, None)
    select.set("distinct", None)
    traced = env.rewrite(select, env)
    if not traced.hidden:
        traced.tree.set("distinct", exp.Distinct())
        result: exp.Select = traced.tree  # type: ignore[assignment]
    else:
        result = group_equal_rows(traced.tree, traced.hidden, env.names.fresh("d"))
    for clause, value in outside.items():
        result.set(clause, value)
    return TracedQuery(result, traced.columns, dict.fromkeys(traced.hidden, Kind.SET), traced.correlated)


def _refuse_hidden_sort_keys(select: exp.Select) -> None:
    order = select.args.get("order")
    names = {projection.alias_or_name.lower() for projection in select.expressions}
    for key in order.expressions if order else []:
        for node in key.find_all(exp.Column):
            if node.name.lower() not in names:
                refuse(
                    node, "This ORDER BY of a SELECT DISTINCT is not traced", "Order by the name of a selected column."
                )
            node.set("table", None)
            node.set("db", None)
