"""Sort keys of a query that is put into another one: what they need of its inside becomes columns of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.block import needs_groups
from rewrites.environment import Environment


def order_helpers(
    query: exp.Select, outside: Mapping[str, exp.Expr], env: Environment
) -> Iterator[tuple[str, exp.Expr]]:
    """Yield a column for each sort key that is not made of the columns of the result alone, and name it in the key.

    Args:
        query: what is put inside.
        outside: its clauses, which `outermost.take` has taken; their keys are edited.
        env: gives the names.
    """
    names = {output_name(item).lower() for item in query.expressions}
    for clause in outermost.SPREADING:
        for key in outside[clause].expressions if clause in outside else ():
            value = key.this if isinstance(key, exp.Ordered) else key
            if not _is_of_result(value, names):
                alias = env.names.fresh("h")
                value.replace(exp.column(alias))
                yield alias, value


def _is_of_result(value: exp.Expr, names: set[str]) -> bool:
    columns = list(value.find_all(exp.Column))
    if any(needs_groups(node) or isinstance(node, exp.Window) for node in value.walk()):
        return False
    if any(each.table for each in columns):
        return False
    return all(each.name.lower() in names or ("" in names and each.this.quoted) for each in columns)
