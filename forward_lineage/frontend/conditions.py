"""Conditions that stand by themselves, as behind `--where`: read before Spark is started."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.frontend.statement import parse
from udafs.errors import LineageError, WrongSqlError

_BEFORE = "SELECT * FROM t WHERE ("
_CLAUSES = {"expressions", "from_", "where"}
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
    return isinstance(inner, exp.Paren) and not isinstance(inner.this, exp.Alias | exp.Star)
