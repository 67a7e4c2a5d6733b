"""Bring the lineage of a subquery's rows into the block around it.   [Zhang 2007, §3.4, Q8 → Q9]

Uncorrelated: the subquery is hoisted into a one-row subquery of its own, evaluated once for the whole query. Its value
joins the lineage of a result row, not of every input row.
Correlated: (SELECT array(dlunion(…), …) … the subquery …) as a scalar subquery, the same for all its tables: one value
for every row of the block. Conditions beyond equalities: see `decorrelation`.
No rule by itself: `rules.subqueries`, `rules.semi_joins` and `rules.set_operations` say which rows count.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites import decorrelation, outermost, witnesses
from rewrites.block import Block, is_aggregate
from rewrites.environment import Names, TracedQuery
from rewrites.lineage_functions import dlunion, is_dlunion
from rewrites.nondeterminism import is_by_chance
from rewrites.refusals import refuse
from rewrites.scope import FromItem
from rewrites.spark_functions import GENERATORS
from rewrites.terms import HIDDEN_PREFIX, Kind, Lineage, Term, call, column, derived_table, hidden_column, name, named

_MAKES_OTHER_ROWS = ("having", "qualify", "distinct", *outermost.CUTTING)
_MEANS_NOTHING_TO_A_UNION = ("group", "hint", *outermost.SPREADING)


def all_rows(query: TracedQuery, alias: str) -> exp.Select:
    """Return a one-row query: for each table, the union of the lineage of all rows of `query`."""
    flat = _flattened(query)
    if flat is not None:
        return flat
    hidden = [hidden_column(table) for table in query.hidden]
    unions = [named(dlunion(column(alias, each)), each) for each in hidden]
    return exp.Select(expressions=unions).from_(derived_table(query.tree.copy(), alias))


def _flattened(query: TracedQuery) -> exp.Select | None:
    """A plain block needs no derived table: its hidden columns are aggregated where they stand."""
    tree = query.tree
    if not isinstance(tree, exp.Select) or any(tree.args.get(clause) for clause in _MAKES_OTHER_ROWS):
        return None
    hidden = tree.expressions[-len(query.hidden) :]
    if any(isinstance(node, exp.Window | exp.Query) for projection in tree.expressions for node in projection.walk()):
        return None
    group = tree.args.get("group")
    if group is not None and group.args.get("all"):
        return None
    if witnesses.is_marked(tree):
        return None
    flat = tree.copy()
    for clause in _MEANS_NOTHING_TO_A_UNION:
        flat.set(clause, None)
    flat.set("expressions", [_over_all(projection.copy()) for projection in hidden])
    return flat


def _over_all(projection: exp.Expr) -> exp.Expr:
    """The union over all rows: of a group's own union nothing is left to do but to forget the groups."""
    if any(is_dlunion(node) for node in projection.walk()):
        return projection
    value = projection.this
    value.replace(dlunion(value.copy()))
    return projection


def refuse_unrepeatable(query: exp.Query) -> None:
    """Refuse a subquery that may give other rows when it is evaluated once more, for its lineage.

    Raises:
        NotTracedError: it calls a nondeterministic function, or takes the first rows of no order. Or it reads rows of a
            function of Python's that depend on chance.
    """
    for node in query.walk():
        if is_by_chance(node):
            is_table = isinstance(node, exp.Table)
            gives = "a function of Python's may give other rows" if is_table else f"{node.name}() may give other values"
            what = f"{gives} when the lineage of this subquery is computed"
            refuse(node, what, "Compute it once, in a CTE or a table, and use that.")
        if isinstance(node, exp.Limit | exp.Offset) and not _ordered(node.parent) and not is_one_row(node.parent):
            what = (
                f"{node.key.upper()} without ORDER BY may take other rows when the lineage of this subquery is computed"
            )
            refuse(node, what, "Add ORDER BY.")


def _ordered(query: exp.Expr | None) -> bool:
    return query is not None and bool(query.args.get("order"))


def is_one_row(query: exp.Expr | None) -> bool:
    """Say whether a query has one row at most, whatever its LIMIT: an aggregate without GROUP BY, or no FROM."""
    if not isinstance(query, exp.Select) or query.args.get("laterals"):
        return False
    own = [node for item in query.expressions for node in item.walk(prune=lambda inner: isinstance(inner, exp.Query))]
    if any(isinstance(node, exp.Anonymous) and node.name.lower() in GENERATORS for node in own):
        return False
    return not query.args.get("group") and (not query.args.get("from_") or any(map(is_aggregate, own)))


def constant(query: TracedQuery, names: Names) -> Lineage:
    """Return the lineage of all rows of an uncorrelated subquery as terms that are one value for the whole query."""
    return for_all_rows(all_rows(query, names.fresh("s")))


def for_all_rows(one_row: exp.Select) -> Lineage:
    """Return the lineage of an uncorrelated one-row query as terms of every row alike."""
    return _scalar(one_row, nullable=False)


def _scalar(one_row: exp.Select, *, nullable: bool) -> Lineage:
    """Return the columns of a one-row query as scalar subqueries."""
    tables = [_table_of(projection) for projection in one_row.expressions]
    if len(tables) == 1:
        return {tables[0]: [Term(exp.Subquery(this=one_row), Kind.SET, nullable)]}
    # One value, the same for all tables, so that Spark evaluates the subquery once and not once a table: an array,
    # because of a struct that is joined in Spark computes each field anew.
    sets = call("array", *(projection.this for projection in one_row.expressions))
    one_row.set("expressions", [named(sets, "dl")])
    return {
        table: [Term(_item(exp.Subquery(this=one_row.copy()), place), Kind.SET, nullable)]
        for place, table in enumerate(tables)
    }


def _item(array: exp.Expr, place: int) -> exp.Expr:
    return exp.Bracket(this=array, expressions=[exp.Literal.number(place)])


def for_each_row(one_row: exp.Select) -> Lineage:
    """Return the lineage of a correlated one-row query as terms of a row of the block around it."""
    return _scalar(one_row, nullable=True)


def correlated(one_row: exp.Select, block: Block) -> Lineage:
    """Return the lineage of a correlated one-row query, its projections being hidden columns, as terms of a row.

    A scalar subquery in the select list is joined after WHERE has filtered, and equality with the outer row becomes
    the join key; LATERAL would be joined before, over every combination of FROM. A window function cannot hold a
    scalar subquery, nor can a side of a set operation always: there LATERAL it is.
    """
    joined = decorrelation.as_join(one_row, block)
    if joined is not None:
        return joined
    if block.env.in_set_operation or any(isinstance(node, exp.Window) for node in block.own_nodes()):
        return _lateral(one_row, block)
    return for_each_row(one_row)


def _table_of(projection: exp.Expr) -> str:
    return projection.alias.removeprefix(HIDDEN_PREFIX)


def _views_as_joins(select: exp.Select) -> None:
    """`LATERAL VIEW g(x) e AS y` as `CROSS JOIN LATERAL g(x) AS e(y)`: joins stand before views and do not see them."""
    for view in select.args.get("laterals") or []:
        outer = view.args.get("outer")
        view.set("view", False)
        view.set("outer", None)
        join = exp.Join(this=view, side="LEFT", on=exp.true()) if outer else exp.Join(this=view, kind="CROSS")
        select.append("joins", join)
    select.set("laterals", None)


def _lateral(one_row: exp.Select, block: Block) -> Lineage:
    _views_as_joins(block.select)
    alias = block.env.names.fresh("s")
    joined = exp.Lateral(this=exp.Subquery(this=one_row), view=False, alias=exp.TableAlias(this=name(alias)))
    if block.select.args.get("from_") is None:
        block.select.set("from_", exp.From(this=joined))
    else:
        block.select.append("joins", exp.Join(this=joined, kind="CROSS"))
    hidden = {_table_of(projection): Kind.SET for projection in one_row.expressions}
    relation = FromItem(alias, (), hidden, nullable=True)  # NULL where the outer row finds nothing
    block.scope.from_items.append(relation)
    return relation.lineage()
