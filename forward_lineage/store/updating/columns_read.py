"""The columns that a query reads, by their names alone: rows that differ elsewhere are the same to it.

    SELECT s_nationkey, count(*) FROM supplier GROUP BY s_nationkey      reads nothing that is called s_address

Too many are taken for read, never too few: a name counts wherever it stands, whatever table it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlglot import exp

from forward_lineage.frontend import print_sql


def reads_any(tree: exp.Expr, columns: Collection[str]) -> bool:
    """Tell whether a query may read one of some columns, of whatever table.

    Args:
        tree: the query.
        columns: their names.

    """
    text = _folded(print_sql(tree))
    named = any("`" in name or re.search(rf"(?<!\w){re.escape(_folded(name))}(?!\w)", text) for name in columns)
    return named or any(map(_reads_unnamed, tree.walk()))


def _folded(text: str) -> str:
    """A text as Spark compares names: two letters are one if they are so in lower or in upper case."""
    return text.upper().casefold()


def _reads_unnamed(node: exp.Expr) -> bool:
    if isinstance(node, exp.Star):
        return not _means_rows(node)
    if isinstance(node, exp.Join):
        return bool(node.args.get("method"))  # NATURAL
    if isinstance(node, exp.TableAlias):
        return bool(node.columns) and isinstance(node.parent, exp.Table)
    return isinstance(node, exp.Pivot)  # it groups by all others


def _means_rows(star: exp.Star) -> bool:
    """Whether a star says "rows", not "columns": ``count(*)``, ``EXISTS (SELECT * …)``."""
    parent = star.parent
    if isinstance(parent, exp.Anonymous):
        return parent.name.lower() == "count" and len(parent.expressions) == 1
    return isinstance(parent, exp.Select) and isinstance(parent.parent, exp.Exists) and parent.expressions == [star]
