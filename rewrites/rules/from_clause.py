"""Find out what every relation of FROM contributes to a row.   [Zhang 2007, §3.3, join]

V1, …, Vm  →  V1', …, Vm', each with its hidden lineage columns; a row's lineage is the union of the sides that matched.
Nulls:    an outer join makes the ids of the missing side NULL, which means: no row.
Requires: CTEs are bound.
Ensures:  `block.scope` knows every relation, `block.rows` their lineage.
"""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import Environment, TracedQuery
from rewrites.refusals import nearest, refuse, refuse_others
from rewrites.rules import base_tables, lateral_views, pivots, semi_joins, views
from rewrites.scope import Columns, FromItem
from rewrites.tables import View
from rewrites.terms import hidden_column, merge, name

_TABLE_FUNCTION_COLUMNS = {"range": ("id",), "explode": ("col",), "explode_outer": ("col",)}


_PARTS = ("this", "expressions", "alias", "view", "outer", "ordinality")


def apply(block: Block) -> None:
    """Rewrite FROM, its joins and its lateral views."""
    block.claim("from_", "joins", "laterals")
    from_clause = block.select.args.get("from_")
    if from_clause is not None:
        _source(from_clause.this, block)
    for join in list(block.select.args.get("joins") or []):
        _join(join, block)
    for view in block.select.args.get("laterals") or []:
        block.scope.relations.append(lateral_views.relation(view, block))
    block.rows = merge(*(relation.lineage() for relation in block.scope.relations))
    for add in block.after_from:
        add()


def _join(join: exp.Join, block: Block) -> None:
    before = list(block.scope.relations)
    _refuse_unknown_join(join)
    _source(join.this, block)
    added = block.scope.relations[len(before) :]
    if join.method == "NATURAL":
        _spell_out_natural(join, [relation for relation in before if relation.in_star], added)
    if join.kind in ("SEMI", "ANTI"):
        semi_joins.apply(join, added, block)
    if join.side in ("LEFT", "FULL") and join.kind not in ("SEMI", "ANTI"):
        _make_nullable(added)
    if join.side in ("RIGHT", "FULL"):
        _make_nullable(before)


def _refuse_unknown_join(join: exp.Join) -> None:
    refuse_others(join, ("this", "side", "kind", "method", "on", "using"), "JOIN")
    if join.method not in ("", "NATURAL"):
        refuse(join, f"{join.method} JOIN is not traced", "Use a join with ON or USING.")
    if join.kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        refuse(join, f"{join.kind} JOIN is not traced", "Use a join with ON or USING.")


def _make_nullable(relations: list[FromItem]) -> None:
    for relation in relations:
        relation.nullable = True


def _spell_out_natural(join: exp.Join, left: list[FromItem], right: list[FromItem]) -> None:
    """Name the common columns where NATURAL JOIN would also join on a hidden one, or where a rule must know them."""
    shared = {table for one in left for table in one.hidden} & {table for one in right for table in one.hidden}
    if not shared and join.kind != "SEMI":
        return
    left_columns, right_columns = _all_columns(left, join), _all_columns(right, join)
    common = [column for column in left_columns if column.lower() in {other.lower() for other in right_columns}]
    join.set("method", None)
    if common:
        join.set("using", [name(column) for column in common])
    else:
        join.set("on", exp.true())


def _all_columns(relations: list[FromItem], join: exp.Join) -> list[str]:
    names: list[str] = []
    for relation in relations:
        if relation.columns is None or None in relation.columns:
            refuse(join, "The columns that this NATURAL JOIN compares are not known", "Use USING (…).")
        names += [column for column in relation.columns if column is not None]
    return list(dict.fromkeys(names))


def _source(node: exp.Expr, block: Block) -> None:
    """Rewrite one item of FROM and add its relations to the scope."""
    relations = block.scope.relations
    if node.args.get("pivots"):
        relations.append(pivots.apply(node, block))
        return
    if not isinstance(node, exp.Table):  # `base_tables` looks into tables itself
        refuse_others(node, _PARTS, "A relation in FROM")
    if isinstance(node, exp.Table):
        _named(node, block)
    elif isinstance(node, exp.Subquery) and _is_join(node.this):
        _parenthesised_join(node, block)
    elif isinstance(node, exp.Subquery):
        relations.append(_derived_table(node, block))
    elif isinstance(node, exp.Lateral):
        _lateral(node, block)
    elif isinstance(node, exp.Values):
        relations.append(_values(node))
    else:
        refuse(node, f"{type(node).__name__} in FROM is not traced", "Read a table, a subquery or VALUES.")


def _named(node: exp.Table, block: Block) -> None:
    if isinstance(node.this, exp.Anonymous):
        block.scope.relations.append(_table_function(node, block))
        return
    env = block.env
    parts = [part.name for part in node.parts]
    bound = env.ctes.get(parts[0].lower()) if len(parts) == 1 else None
    if bound is not None:
        relation = _reference(node, bound, env.tracing)
    else:
        table = env.tables.find(parts) or _refuse_unknown_table(node, block)
        relation = (
            views.expand(node, table, block) if isinstance(table, View) else base_tables.trace(node, table, block)
        )
    block.scope.relations.append(relation)


def _refuse_unknown_table(node: exp.Table, block: Block) -> NoReturn:
    called = ".".join(part.name for part in node.parts)
    known = [*block.env.tables.names(), *block.env.ctes]
    refuse(
        node,
        f"{called} is not a registered table",
        f"{nearest(called, known)} Or register it: lineage.register({called!r}, …).",
    )


def _reference(node: exp.Table, cte: TracedQuery, traced: bool) -> FromItem:
    """A CTE by name: its hidden columns come along."""
    refuse_others(node, ("this", "alias", "sample"), "A CTE in FROM")
    base_tables.refuse_unrepeatable(node)
    columns = _renamed(node, cte.columns, list(cte.hidden))
    return FromItem(node.alias_or_name, columns, cte.hidden, traced=traced)


def _derived_table(node: exp.Subquery | exp.Lateral, block: Block, env: Environment | None = None) -> FromItem:
    """`(SELECT …) AS q`; without an alias it gets one, so that its hidden columns can be called by name."""
    holder = node.this if isinstance(node, exp.Lateral) else node
    query = block.env.rewrite(holder.this, env or block.env)
    holder.set("this", query.tree)
    block.scope.correlated = block.scope.correlated or (env is None and query.correlated)
    alias = node.args.get("alias") or exp.TableAlias()
    if not node.alias:
        alias.set("this", name(block.env.names.fresh("q")))
        node.set("alias", alias)
    columns = _renamed(node, query.columns, list(query.hidden))
    return FromItem(node.alias, columns, query.hidden)


def _renamed(node: exp.Expr, columns: Columns, hidden: list[str]) -> Columns:
    """Return the columns under an alias, and let a list of column aliases also name the hidden ones."""
    alias = node.args.get("alias")
    listed = alias.args.get("columns") if alias is not None else None
    if alias is None or not listed:
        return columns
    new_names = tuple(identifier.name for identifier in listed)
    for table in hidden:
        alias.append("columns", name(hidden_column(table)))
    return new_names


def _is_join(inside: exp.Expr) -> bool:
    """Say whether parentheses in FROM hold a join of relations, not a query."""
    named = isinstance(inside, exp.Subquery) and (inside.alias or inside.args.get("joins"))
    return isinstance(inside, exp.Table) or bool(named)


def _parenthesised_join(node: exp.Subquery, block: Block) -> None:
    """`(a JOIN b ON …)`: its relations stay visible by their own names."""
    if node.alias:
        refuse(node, "An alias for a parenthesised join is not traced", "Alias the tables inside the parentheses.")
    inner = node.this
    joins = inner.args.get("joins") or []
    inner.set("joins", None)
    _source(inner, block)
    first = node.this
    first.set("joins", joins)
    for join in joins:
        _join(join, block)


def _lateral(node: exp.Lateral, block: Block) -> None:
    """`LATERAL (SELECT …)` sees the relations before it; `LATERAL explode(…)` makes rows of the row before it."""
    if isinstance(node.this, exp.Subquery):
        relation = _derived_table(node, block, block.env.inside(block.scope))
        # For a row that finds nothing Spark makes the aggregates NULL, dlunion's empty set included.
        relation.nullable = True
        block.scope.relations.append(relation)
    else:
        _refuse_tables_inside(node.this)
        block.scope.relations.append(lateral_views.relation(node, block))


def _refuse_tables_inside(function: exp.Expr) -> None:
    if any(isinstance(part, exp.Query | exp.Table) for part in function.walk() if part is not function):
        refuse(function, f"A table as argument of {function.name.lower()} is not traced", "Join the table instead.")


def _table_function(node: exp.Table, block: Block) -> FromItem:
    """`range(10)`: rows that come from no table."""
    refuse_others(node, ("this", "alias"), "A table function")
    function = node.this.name.lower()
    alias = node.args.get("alias")
    listed = tuple(identifier.name for identifier in (alias.args.get("columns") or [])) if alias else ()
    _refuse_tables_inside(node.this)
    columns = listed or _TABLE_FUNCTION_COLUMNS.get(function)
    return FromItem(node.alias or block.env.names.fresh("f"), columns)


def _values(node: exp.Values) -> FromItem:
    alias = node.args.get("alias")
    listed = tuple(identifier.name for identifier in (alias.args.get("columns") or [])) if alias else ()
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    return FromItem(node.alias or "", listed or tuple(f"col{i + 1}" for i in range(width)))
