"""Expressions that are computed of one row, by what is known of functions; and those that are made of groups."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.frontend.nodes import KeywordCall, TypedLiteral
from rewrites.block import is_aggregate

_ROW_NODES = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Alias, exp.Star, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul),
    *(exp.Div, exp.Mod, exp.IntDiv, exp.DPipe, exp.Case, exp.If, exp.Cast, exp.DataType, exp.Null, exp.Boolean),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Is, exp.In, exp.Like, exp.And, exp.Or),
    *(exp.Not, exp.Var, TypedLiteral),
)
_ROW_FUNCTIONS = {
    *("abs", "ceil", "coalesce", "concat", "date_add", "date_sub", "date_trunc", "day", "extract", "floor", "greatest"),
    *("hour", "if", "least", "length", "lower", "month", "nullif", "nvl", "quarter", "round", "substr", "substring"),
    *("trim", "upper", "year"),
}


def is_of_one_row(selected: exp.Expr) -> bool:
    """Tell whether an expression is known to be computed of one row: it groups none, looks at none, makes none."""
    for node in selected.walk():
        call = isinstance(node, exp.Anonymous | KeywordCall)
        if not (node.name.lower() in _ROW_FUNCTIONS if call else type(node) in _ROW_NODES):
            return False
    return True


def has_aggregates(select: exp.Select) -> bool:
    """Tell whether a SELECT has an aggregate in its list: over groups, or over all rows. Those of windows are none."""
    calls = (node for each in select.expressions for node in each.find_all(exp.Anonymous))
    return any(is_aggregate(call) for call in calls if call.find_ancestor(exp.Window, exp.Select) is select)
