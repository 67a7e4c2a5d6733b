"""Which calls may give another value when the same row is evaluated again.

Of Spark's functions the name says it. Of the user's, in Python or in SQL, Spark's plan says it, and whoever asks for a
rewrite says it on; such calls are marked, since a rule sees only a name.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from rewrites.spark_functions import NONDETERMINISTIC

_CHANCE = "chance"  # in the `meta` of a call


def mark(tree: exp.Expr, functions: Collection[str]) -> exp.Expr:
    """Mark the calls of the user's functions that are left to chance; their names are in lower case."""
    for call in tree.find_all(exp.Anonymous) if functions else ():
        if call.name.lower() in functions:
            call.meta[_CHANCE] = True
    return tree


def is_by_chance(node: exp.Expr) -> bool:
    """Say whether a node is a call of such a function."""
    return isinstance(node, exp.Anonymous) and (node.name.lower() in NONDETERMINISTIC or _CHANCE in node.meta)
