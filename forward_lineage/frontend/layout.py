"""Lay SQL out for people to read."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from forward_lineage.frontend.printing import FaithfulGenerator

_WIDTH = 72  # of a list or a subquery; a longer one is broken into lines


class _Layout(FaithfulGenerator):
    """Breaks a statement into lines, and leaves a short subquery on one."""

    def subquery_sql(self, expression: exp.Subquery, sep: str = " AS ") -> str:
        flat = print_sql(expression)
        return flat if len(flat) <= _WIDTH else super().subquery_sql(expression, sep)

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        text = super().join_sql(expression, join_op)
        comma = text.startswith(", ") and "\n" not in text
        return f",\n  {text[2:]}" if comma else text

    def paren_sql(self, expression: exp.Paren) -> str:
        flat = print_sql(expression)
        return flat if len(flat) <= _WIDTH else super().paren_sql(expression)


def layout(sql: str) -> str:
    """Return the same statement in several lines, indented.

    Args:
        sql: one statement, as `rewrite_sql` returns it.

    Returns:
        the text laid out; the text as it is when it would not read back the same.

    """
    dialect = FaithfulSpark()
    printer = _Layout(dialect=dialect, pretty=True, normalize_functions=False, comments=False, max_text_width=_WIDTH)
    try:
        tree = dialect.parse(sql)[0]
        if tree is None:
            return sql
        laid_out = printer.generate(tree)
        again = dialect.parse(laid_out)[0]
    except (SqlglotError, RecursionError):
        return sql
    return laid_out if again is not None and print_sql(again) == print_sql(tree) else sql
