"""Conditions as trees: what AND connects, what subqueries are asked, whether NULL can satisfy them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_PREDICATES = (exp.Exists, exp.In, exp.Any)
_HOLD_ROWS = (exp.From, exp.Join, exp.Query, exp.CTE)
_STRICT = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.Between)
_STRICT_INSIDE = (*_STRICT, exp.Column, exp.Identifier, exp.Literal, exp.Neg, exp.Paren, exp.Add, exp.Sub, exp.Mul)


def conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the conditions that AND connects."""
    if condition is None:
        return
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        yield from conjuncts(bare.this)
        yield from conjuncts(bare.expression)
    else:
        yield condition


def asks_for_presence(query: exp.Query, condition: exp.Expr) -> bool:
    """Say whether a condition asks a subquery only whether a row is there, so that further rows do no harm."""
    predicate = query.parent
    is_operand = isinstance(predicate, exp.In) and predicate.this is query
    if not isinstance(predicate, _PREDICATES) or is_operand or predicate.args.get("negate"):
        return False
    if isinstance(predicate, exp.Any):
        predicate = predicate.parent  # x = ANY (…)
    return _below_and_or(predicate, condition)


def _below_and_or(node: exp.Expr | None, root: exp.Expr) -> bool:
    while node is not None and node is not root:
        node = node.parent
        if not isinstance(node, exp.And | exp.Or | exp.Paren):
            return False
    return True


def own_nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of an expression; of its subqueries the first node only."""
    return root.walk(bfs=False, prune=lambda node: isinstance(node, exp.Query))


def subqueries_in(root: exp.Expr) -> Iterator[exp.Query]:
    """Yield the subqueries of an expression as they stand in it, not those inside them."""
    return (node for node in own_nodes(root) if isinstance(node, exp.Query))


def is_asked(node: exp.Expr, root: exp.Expr) -> bool:
    """Say whether a node in a query stands in a subquery of an expression, or in LATERAL."""
    while node is not root and node.parent is not None:
        if isinstance(node, exp.Query) and not isinstance(node.parent, _HOLD_ROWS):
            return True
        node = node.parent
    return False


def is_strict(condition: exp.Expr) -> bool:
    """Say whether no row satisfies a condition in which a column it mentions is NULL."""
    bare = condition.unnest()
    if isinstance(bare, exp.Is) and bare.args.get("negate") and isinstance(bare.expression, exp.Null):
        return isinstance(bare.this, exp.Column)
    if isinstance(bare, exp.Not):  # of what is unknown it is unknown
        bare = bare.this.unnest()
    return isinstance(bare, _STRICT) and all(isinstance(node, _STRICT_INSIDE) for node in bare.walk())
