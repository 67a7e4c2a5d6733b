"""One row that attains a `min` or `max` in place of all rows of its group: enough for a sketch.   [Niu 2022, §4]

γ_{G; max(x)}(V)  →  γ_{G; max(x), max_by(__dl_t, x) for each t}(V'), of several aggregates the row that attains each
Over any part of the table that has these rows the group is there, and its values do not change. Fewer rows of others
can make a `max` smaller only. The proof that this is enough for the query is in `sketches.safety` (`one_witness`).
Requires: a query as the user wrote it; ranges whose sketch is to be made of witnesses (`Ranges.one_witness`).
Ensures:  blocks that group, all of whose aggregates are such, are marked; all others keep the lineage of every row.
          `max_by` of all tables takes the same row: all see the same rows in the same order.
          Not marked, since there is nothing to gain: groups by the column that is cut lie in one range.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewrites.block import has_grouping_sets, is_aggregate
from rewrites.conditions import is_asked, own_nodes
from rewrites.granules import Granules, Ranges
from rewrites.own_fragments import plain_base_table
from rewrites.tables import Tables
from rewrites.terms import Kind, Lineage, Term, as_set, call

_MARK = "witnesses"
_ATTAINED = {"min": "min_by", "max": "max_by"}
_PLAIN = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_", "hint", "kind"}
_PLAIN_JOINS = {"", "INNER", "CROSS", "OUTER"}


def is_marked(query: exp.Query) -> bool:
    """Say whether one row for each `min` and `max` stands for a group of a block."""
    return bool(query.meta.get(_MARK))


def mark(query: exp.Expr, granules: Mapping[str, Granules], tables: Tables) -> bool:
    """Mark the blocks of a statement for which witnesses are enough; say whether there are any.

    Args:
        query: the statement.
        granules: by table in lower case.
        tables: what its names mean.
    """
    cut = {each.column.lower() for each in granules.values() if isinstance(each, Ranges) and each.one_witness}
    bound = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    found = False
    for select in list(query.find_all(exp.Select)) if cut else ():
        if _is_attained(select, cut) and (not is_asked(select, query) or _is_alone(select, bound, tables)):
            select.meta[_MARK] = found = True
    return found


def of_groups(select: exp.Select, rows: Lineage) -> Lineage:
    """Return the lineage of a marked block's groups: of the row that attains each aggregate.

    Args:
        select: the block.
        rows: the lineage of its rows.
    """
    calls = {node.sql(): node for node in _aggregates(select)}.values()
    return {table: [_witness(each, term) for each in calls for term in terms] for table, terms in rows.items()}


def _witness(attained: exp.Anonymous, term: Term) -> Term:
    """The term of a row that attains an aggregate; where there is no value, of any row: the group needs one."""
    by = call(_ATTAINED[attained.name.lower()], term.value.copy(), attained.expressions[0].copy())
    return Term(as_set(call("coalesce", by, call("any_value", term.value.copy())), term.kind), Kind.SET, term.nullable)


def _is_attained(select: exp.Select, cut: set[str]) -> bool:
    """Say whether a block groups the rows of plain joins, and all that is computed of a group is attained by a row."""
    group = select.args.get("group")
    keys = [node.name.lower() for node in (group.find_all(exp.Column) if group is not None else ())]
    joins = select.args.get("joins") or []
    plain = {clause for clause, value in select.args.items() if value} <= _PLAIN
    if not plain or has_grouping_sets(group) or (group is not None and group.args.get("all")) or cut & set(keys):
        return False
    if any((join.kind or "").upper() not in _PLAIN_JOINS for join in joins) or _asks(select):
        return False
    aggregates = list(_aggregates(select))
    return bool(aggregates) and all(
        each.name.lower() in _ATTAINED and len(each.expressions) == 1 and not isinstance(each.parent, exp.Filter)
        for each in aggregates
    )


def _asks(select: exp.Select) -> bool:
    """Say whether a block, or what it reads, asks a subquery or has a window: whose rows are then open."""
    return any(
        isinstance(node, exp.Window) or (isinstance(node, exp.Query) and is_asked(node, select))
        for node in select.find_all(exp.Window, exp.Query)
    )


def _aggregates(select: exp.Select) -> Iterator[exp.Anonymous]:
    """Yield the aggregate functions that a block calls."""
    clauses = (select.args.get(each) for each in ("having", "order"))
    for root in (*select.expressions, *(each for each in clauses if each is not None)):
        yield from (node for node in own_nodes(root) if isinstance(node, exp.Anonymous) and is_aggregate(node))


def _is_alone(select: exp.Select, bound: set[str], tables: Tables) -> bool:
    """Say whether a subquery in an expression reads one base table, and depends on no row around it."""
    read = select.args.get("from_")
    if read is None or select.args.get("joins") or select.args.get("group"):
        return False
    table = plain_base_table(read.this, bound, tables)
    if table is None:
        return False
    own, columns = read.this.alias_or_name.lower(), {each.lower() for each in table.columns}
    return all(
        len(node.parts) <= 2 and node.name.lower() in columns and node.table.lower() in ("", own)
        for node in select.find_all(exp.Column)
    )
