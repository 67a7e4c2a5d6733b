"""Conditions that stand by themselves, as behind `--where`: read before Spark is started."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from forward_lineage.frontend.statement import parse
from udafs.errors import LineageError, WrongSqlError

_BEFORE = "SELECT * FROM t WHERE ("
_CLAUSES = {"expressions", "from_", "where"}
#: Words that Spark reads without a column, and units of time.
_NO_COLUMNS = {"user", "session_user", "localtimestamp", "localtime", "grouping__id", "now"} | {
    *("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond", "microsecond")
}
_REMEDY = "Write one condition over the columns, such as p_size > 10 AND p_brand = 'x'."


def check_condition(where: str) -> None:
    """See to it that a text is one condition, and nothing besides.

    >>> check_condition("customer_id = 77")
    >>> check_condition("customer_id = '77'x")
    Traceback (most recent call last):
    udafs.errors.WrongSqlError: customer_id = '77'x is not a condition. Write one condition over the columns, …

    Args:
        where: SQL, as behind WHERE.

    Raises:
        WrongSqlError: it is malformed, or more than a condition: an alias behind it, a clause, another statement.

    """
    try:
        tree = parse(f"{_BEFORE}{where}\n)").tree
    except LineageError:
        tree = None
    if not isinstance(tree, exp.Select) or not _is_one_condition(tree):
        raise WrongSqlError(f"{' '.join(where.split()) or 'nothing'} is not a condition", instead=_REMEDY)


def _is_one_condition(tree: exp.Select) -> bool:
    # Of `a) OR (b` and `a) GROUP BY (b` each piece would be read, and of `(a x)` an alias.
    given = {name for name, value in tree.args.items() if value}
    inner = tree.args["where"].this if given <= _CLAUSES and "where" in given else None
    return isinstance(inner, exp.Paren) and not isinstance(inner.unnest(), exp.Alias | exp.Star)


def columns_in(text: str, columns: Sequence[str]) -> list[str]:
    """Return the names in a condition or expression that stand for columns, and are none of these.

    >>> columns_in("itm = 'tea' AND exists(tags, x -> x = item)", ["item", "tags"])
    ['itm']

    Args:
        text: SQL over one row of a table; what is malformed has no names.
        columns: those of the table.

    """
    try:
        tree = parse(f"SELECT ({text}\n) FROM t").tree
    except LineageError:
        return []
    return unknown_columns(tree, columns)


def unknown_columns(tree: exp.Expr, columns: Sequence[str]) -> list[str]:
    """Return such names of a tree; in doubt a name is known: one with a qualifier, in a lambda or a subquery."""
    known = {column.lower() for column in columns} | _NO_COLUMNS
    found = []
    for node in tree.find_all(exp.Column):
        name = node.name
        plain = len(node.parts) == 1 and not isinstance(node.this, exp.Star) and not name.startswith(("_", "current_"))
        inner = node.find_ancestor(exp.Lambda, exp.Query)
        if plain and inner in (None, tree) and name.lower() not in known and not isinstance(node.parent, exp.Kwarg):
            found.append(name)
    return found
