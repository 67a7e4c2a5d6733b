"""The calls that may give another value when the same row is evaluated again, and the tables that may give other rows.

Of Spark's functions the name says it. Of the user's, in Python or in SQL, Spark's plan says it, and the caller of a
rewrite passes it on. Such calls are marked, since a rule sees only a name. Tables that functions of Python make are
marked, too.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from rewrites.spark_functions import NONDETERMINISTIC

_CHANCE = "chance"  # in the `meta` of a call, or of a table's name


def mark(tree: exp.Expr, names: Collection[str]) -> exp.Expr:
    """Mark the calls of the user's functions, and the tables, that are left to chance; names are in lower case."""
    for node in tree.find_all(exp.Anonymous, exp.Table) if names else ():
        if node.name.lower() in names:
            node.meta[_CHANCE] = True
    return tree


def is_by_chance(node: exp.Expr) -> bool:
    """Say whether a node is a call of such a function, or the name of such a table."""
    if isinstance(node, exp.Table):
        return _CHANCE in node.meta
    return isinstance(node, exp.Anonymous) and (node.name.lower() in NONDETERMINISTIC or _CHANCE in node.meta)
