"""Lay SQL out for people to read."""

from __future__ import annotations

from sqlglot.errors import SqlglotError

from forward_lineage.frontend.dialect import FaithfulSpark, print_sql

_WIDTH = 72  # of a list of expressions; a longer one gets a line for each


def layout(sql: str) -> str:
    """Return the same statement in several lines, indented.

    Args:
        sql: one statement, as `rewrite_sql` returns it.

    Returns:
        the text laid out; the text as it is when it would not read back the same.
    """
    dialect = FaithfulSpark()
    try:
        tree = dialect.parse(sql)[0]
        if tree is None:
            return sql
        laid_out = dialect.generate(
            tree, pretty=True, normalize_functions=False, comments=False, max_text_width=_WIDTH, leading_comma=False
        )
        again = dialect.parse(laid_out)[0]
    except (SqlglotError, RecursionError):
        return sql
    return laid_out if again is not None and print_sql(again) == print_sql(tree) else sql
