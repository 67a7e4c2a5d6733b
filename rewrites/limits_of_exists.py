"""A LIMIT inside EXISTS that cannot matter: it asks whether there is a row, and the first n are some if any is.

    EXISTS (SELECT … FROM u WHERE p LIMIT 1)  →  EXISTS (SELECT … FROM u WHERE p)
    EXISTS (SELECT … LIMIT 0)                 →  EXISTS (SELECT 1 WHERE false)

LIMIT without ORDER BY takes rows by chance, so a query with one cannot be read once more for its lineage. All
rows that EXISTS could have seen count, as without the LIMIT. OFFSET stays: how many rows there are decides then.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites.hoisting import is_one_row


def take_away(query: exp.Query) -> None:
    """Take such limits out of a query as the user wrote it, which is edited."""
    for exists in list(query.find_all(exp.Exists)):
        for asked in _in_parentheses(exists.this):
            limit = asked.args.get("limit")
            if limit is None or asked.args.get("offset") or asked.args.get("order"):
                continue
            most = _number(limit)
            if most == 0:
                none = exp.Select(expressions=[exp.Literal.number(1)]).where(exp.false())
                exists.set("this", none)
                break
            if most is not None and not is_one_row(asked):
                asked.set("limit", None)


def _in_parentheses(asked: exp.Expr) -> Iterator[exp.Expr]:
    """Yield a query, and the one in its parentheses, as long as nothing but a LIMIT stands around that one."""
    yield asked
    while isinstance(asked, exp.Subquery) and not asked.args.get("offset"):
        asked = asked.this
        yield asked


def _number(limit: exp.Expr) -> int | None:
    """Return the most rows that a LIMIT lets through; None where that is computed. ALL is more than none."""
    most = limit.args.get("expression")
    if isinstance(most, exp.Var) and most.name.upper() == "ALL":
        return 1
    return int(most.name) if isinstance(most, exp.Literal) and most.is_int else None
