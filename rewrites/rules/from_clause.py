"""FROM: what every source contributes to a row.   [Zhang 2007, §3.3, join]

V1, …, Vm  →  V1', …, Vm', each with its hidden lineage columns; a row's lineage is the union of the sides that matched.
SEMI and ANTI JOIN: the right side is no part of the row; its ON alone sees it.
Sources whose rows carry large sets and meet other rows are referred to: `rewrites.stages`.
NATURAL JOIN: written with USING, for it would also compare hidden columns.
Requires: CTEs are bound.
Ensures:  `block.scope` knows every source, `block.rows` their lineage.
Nulls:    an outer join makes the ids of the missing side NULL, which means: no row.
Raises:   NotRegisteredError for a table that is not registered; NotTracedError for a source or a join of another kind.
"""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from rewrites import stages
from rewrites.aliases import table_name
from rewrites.block import Block
from rewrites.refusals import nearest, refuse, refuse_others
from rewrites.rules import (
    SourceRule,
    base_tables,
    cte_references,
    derived_tables,
    generated_rows,
    lateral_views,
    laterals,
    pivots,
    stored_tables,
    views,
)
from rewrites.scope import Columns, FromItem
from rewrites.sources import all_of_join, is_join
from rewrites.terms import merge, name
from udafs.errors import NotRegisteredError

SOURCE_RULES: tuple[SourceRule, ...] = (
    pivots.apply,  # first: whatever stands before a PIVOT is rewritten as a query of its own
    cte_references.apply,  # before tables and views: a CTE hides what has its name
    base_tables.apply,  # from here on a source is of one kind only; the most frequent kind is tried first
    stored_tables.apply,
    views.apply,
    derived_tables.apply,
    laterals.apply,
    lateral_views.apply,
    generated_rows.apply,
)

_PARTS = ("this", "expressions", "alias", "view", "outer", "ordinality")
_SIDES_APART = ("SEMI", "ANTI")


def apply(block: Block) -> None:
    """Rewrite FROM, its joins and its lateral views."""
    block.claim("from_", "joins", "laterals")
    from_clause = block.select.args.get("from_")
    seen = _source(from_clause.this, block) if from_clause is not None else ()
    for join in list(block.select.args.get("joins") or []):
        seen = _join(join, seen, block)
    for view in block.select.args.get("laterals") or []:
        _source(view, block)
    stages.refer(block)
    block.rows = merge(*(item.lineage() for item in block.scope.from_items))


def _source(node: exp.Expr, block: Block) -> Columns:
    """Rewrite one source and add what it is to the scope; return its columns."""
    if not isinstance(node, exp.Table) and not node.args.get("pivots"):  # these look at their own parts
        refuse_others(node, _PARTS, "a relation in FROM")
        if isinstance(node, exp.Subquery) and is_join(node.this):
            if not node.alias:
                return _parenthesised_join(node, block)
            node.set("this", all_of_join(node.this))
    item = next((item for rule in SOURCE_RULES if (item := rule(node, block)) is not None), None)
    block.scope.from_items.append(item or _refuse(node, block))
    return block.scope.from_items[-1].columns


def _refuse(node: exp.Expr, block: Block) -> NoReturn:
    parts = table_name(node)
    if not parts:
        refuse(node, f"{type(node).__name__} in FROM is not traced", "Read a table, a subquery or VALUES.")
    called = ".".join(parts)
    known = [*block.env.tables.names(), *block.env.ctes]
    remedy = f"{nearest(called, known)} Or register it: lineage.register({called!r}, …)."
    refuse(node, f"{called} is not a registered table", remedy, NotRegisteredError)


def _join(join: exp.Join, left: Columns, block: Block) -> Columns:
    """Rewrite what a join brings; return the columns of the join, in the order in which `*` has them."""
    before = list(block.scope.from_items)
    _refuse_unknown_join(join)
    env = block.env
    if join.kind in _SIDES_APART:  # its lineage is read for each row, if at all
        block.env = env.by_value()
    right = _source(join.this, block)
    block.env = env
    added = block.scope.from_items[len(before) :]
    if join.method == "NATURAL" and _must_be_spelled_out(join, (left, right), before, added):
        _spell_out_natural(join, left, right)
    if join.kind in _SIDES_APART:
        _keep_out(added, join)
    elif join.side in ("LEFT", "FULL"):
        _make_nullable(added)
    if join.side in ("RIGHT", "FULL"):
        _make_nullable(before)
    if left is None or right is None or join.method == "NATURAL":
        return None
    keys = [key.name for key in join.args.get("using") or ()]
    both = (*left, *(() if join.kind in _SIDES_APART else right))
    return (*keys, *(known for known in both if known is None or known.lower() not in map(str.lower, keys)))


def _refuse_unknown_join(join: exp.Join) -> None:
    refuse_others(join, ("this", "side", "kind", "method", "on", "using"), "JOIN")
    if join.method not in ("", "NATURAL"):
        refuse(join, f"{join.method} JOIN is not traced", "Use a join with ON or USING.")
    if join.kind not in ("", "INNER", "CROSS", "OUTER", *_SIDES_APART):
        refuse(join, f"{join.kind} JOIN is not traced", "Use a join with ON or USING.")


def _keep_out(items: list[FromItem], join: exp.Join) -> None:
    for item in items:
        item.only_on = join
        item.traced = False


def _make_nullable(items: list[FromItem]) -> None:
    for item in items:
        item.nullable = True


def _must_be_spelled_out(
    join: exp.Join, sides: tuple[Columns, Columns], before: list[FromItem], added: list[FromItem]
) -> bool:
    """Say whether the columns of a NATURAL JOIN must be named: they are known, or it would compare a hidden one."""
    left = {table for item in before if item.in_star for table in item.hidden}
    known = all(side is not None and None not in side for side in sides)
    return known or join.kind == "SEMI" or any(table in left for item in added for table in item.hidden)


def _spell_out_natural(join: exp.Join, left: Columns, right: Columns) -> None:
    """Name the common columns, in the order in which the left side has them."""
    if left is None or right is None or None in (*left, *right):
        refuse(join, "the columns that this NATURAL JOIN compares are not known", "Use USING (…).")
    others = {known.lower() for known in right if known is not None}
    common = dict.fromkeys(known for known in left if known is not None and known.lower() in others)
    join.set("method", None)
    if common:
        join.set("using", [name(column) for column in common])
    else:
        join.set("on", exp.true())


def _parenthesised_join(node: exp.Subquery, block: Block) -> Columns:
    """`(a JOIN b ON …)`: its relations stay visible by their own names."""
    inner = node.this
    joins = inner.args.get("joins") or []
    inner.set("joins", None)
    seen = _source(inner, block)
    first = node.this
    first.set("joins", joins)
    for join in joins:
        seen = _join(join, seen, block)
    return seen
