"""SELECT DISTINCT whose block cannot group by its own columns: it is grouped from outside.

δ(Q)  →  γ_{all columns; dlunion(__dl_t) for each t}(Q'): a block that groups, ranks, explodes, asks subqueries, joins
         with USING or uses its own aliases is put into a derived table
Requires: WITH is bound.
Ensures:  ORDER BY, SORT BY, LIMIT … stay outermost, above the grouping; without lineage the DISTINCT is unchanged.
Nulls:    NULL equals NULL, as in DISTINCT.
Raises:   NotTracedError for ORDER BY and its kin that mention a column which is not selected.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.block import is_aggregate
from rewrites.environment import Environment, TracedQuery
from rewrites.equal_rows import group_equal_rows
from rewrites.refusals import refuse, refuse_others
from rewrites.sources import merging
from rewrites.spark_functions import GENERATORS
from rewrites.terms import Kind

_OF_GROUPS_AND_WINDOWS = ("group", "having", "qualify", "windows")


def apply(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Rewrite SELECT DISTINCT by grouping the rewritten block from outside, where it cannot be grouped inside."""
    clause = query.args.get("distinct") if isinstance(query, exp.Select) else None
    if clause is None or not isinstance(query, exp.Select):
        return None
    # What a query selects of the row around it Spark 4.3 does not group by.
    of_outside = env.outer is not None and any(each.find(exp.Column) for each in query.expressions)
    if not of_outside and not needs_derived_table(query):
        return None
    refuse_others(clause, (), "DISTINCT")
    ordered = outermost.with_questions_outside(query, env)
    if ordered is not None:
        return env.rewrite(ordered, env)
    outside = outermost.take(query)
    sort_keys_by_name(query, outside)
    query.set("distinct", None)
    traced = env.rewrite(query, env)
    if traced.hidden:
        result: exp.Query = group_equal_rows(traced.tree, traced.hidden, env.names.fresh("d"), traced.columns)
    else:
        result = traced.tree
        result.set("distinct", exp.Distinct())
    outermost.put(result, outside)
    return TracedQuery(
        result, traced.columns, dict.fromkeys(traced.hidden, Kind.SET), traced.correlated, estimated=traced.estimated
    )


def needs_derived_table(select: exp.Select) -> bool:
    """Say whether DISTINCT of this block cannot be written as GROUP BY ALL in the block itself."""
    if any(select.args.get(clause) for clause in _OF_GROUPS_AND_WINDOWS):
        return True
    if merging(select):
        return True  # below a grouping Spark 4.3 loses one side's column of those that USING merges
    if any(_is_no_key(node) for projection in select.expressions for node in projection.walk()):
        return True
    return _uses_own_aliases(select)


def _is_no_key(node: exp.Expr) -> bool:
    """Say whether an expression with this in it cannot be grouped by."""
    if isinstance(node, exp.Window | exp.Query) or is_aggregate(node):
        return True
    return isinstance(node, exp.Anonymous) and node.name.lower() in GENERATORS


def _uses_own_aliases(select: exp.Select) -> bool:
    """Say whether an item may name one before it (a lateral column alias), which Spark refuses to group by."""
    aliases: set[str] = set()
    for projection in select.expressions:
        if any(node.name.lower() in aliases and not node.table for node in projection.find_all(exp.Column)):
            return True
        if isinstance(projection, exp.Alias):
            aliases.add(projection.alias.lower())
    return False


def sort_keys_by_name(select: exp.Select, outside: dict[str, exp.Expr]) -> None:
    """Make sort keys right outside the block: they see the selected columns there, by their names alone.

    Raises:
        NotTracedError: one mentions a column that is not selected.
    """
    names = {output_name(projection).lower() for projection in select.expressions}
    if "" in names:  # Spark's own names, in backticks
        names |= {
            node.name.lower() for keys in outside.values() for node in keys.find_all(exp.Column) if node.this.quoted
        }
    for clause, keys in outside.items():
        for node in keys.find_all(exp.Column):
            if node.name.lower() not in names:
                what = f"this {outermost.called(clause)} of a SELECT DISTINCT is not traced"
                refuse(node, what, "Order by the name of a selected column.")
            node.set("table", None)
            node.set("db", None)
