"""Parameterised statements: the text with its literals lifted out, and the values that stood there.   [Niu 2021, §7]

Statements of one template differ in literals of conditions and in parameters only. Literals that shape the result
otherwise (positions in ORDER BY and GROUP BY, LIMIT, arguments of functions) stay in the template; LIMIT k is lifted,
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.nodes import TypedLiteral
from forward_lineage.frontend.statement import Statement

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.Between, exp.In, exp.Like)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Paren, exp.Neg)


@dataclass(frozen=True)
class Instance:
    """A statement as an instance of its template.

    Attributes:
        template: the statement with `:1`, `:2`, … where literals stood; the same text for all instances.
        bindings: the literals in their order, as SQL; parameters by their text (or as their values, if given).
        statement: the statement itself, with the values of its parameters put in where they are known.
    """

    template: str
    bindings: tuple[str, ...]
    statement: Statement


def template(statement: Statement, values: Mapping[str, str] | None = None) -> Instance:
    """Lift the literals out of a statement.

    Args:
        statement: a query.
        values: the values of its parameters as SQL literals, by name, or by the number of a `?` from 0 (`"0"`).
    """
    bound = Statement(statement.text, _bound(statement.tree, values or {}), statement.lineage_on)
    tree = bound.tree.copy()
    bindings: list[str] = []
    for node in [each for each in tree.walk(bfs=False) if _is_lifted(each)]:
        bindings.append(print_sql(node))
        node.replace(exp.Placeholder(this=str(len(bindings))))
    return Instance(print_sql(tree), tuple(bindings), bound)


def _bound(tree: exp.Expression, values: Mapping[str, str]) -> exp.Expression:
    """The tree with the known values of its parameters."""
    if not values:
        return tree
    from forward_lineage.frontend.parsing import read_fragment  # noqa: PLC0415

    tree = tree.copy()
    for number, node in enumerate(tree.find_all(exp.Placeholder)):
        name = str(node.this) if node.this else str(number)
        if name in values:
            node.replace(read_fragment(f"SELECT {values[name]}").expressions[0])
    return tree


def _is_lifted(node: exp.Expr) -> bool:
    """Whether a literal stands in a comparison, perhaps within arithmetic; or behind LIMIT."""
    if not isinstance(node, exp.Literal | TypedLiteral | exp.Placeholder):
        return False
    above = node.parent
    if isinstance(above, exp.Limit):
        return isinstance(node, exp.Literal)
    while isinstance(above, _ARITHMETIC):
        above = above.parent
    return isinstance(above, _COMPARISONS)
