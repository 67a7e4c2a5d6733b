"""The clauses that stay outermost: they order, spread and cut the rows of a result when everything else is done.

Spark's grammar has them behind a whole query, set operations included (`queryOrganization` in SqlBaseParser.g4).
Whatever puts a query into a derived table, to group its rows or to fold its hidden columns, takes them out first:
below a grouping an order means nothing, and a LIMIT above it would cut other rows than the user's.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrites.environment import Environment, Semantics
from rewrites.refusals import refuse

SPREADING = ("order", "sort", "cluster", "distribute")
"""Say in what order, and in which partition, the rows come."""
CUTTING = ("limit", "offset")
"""Say which of the rows come."""
CLAUSES = (*SPREADING, *CUTTING)

_CALLED = {"order": "ORDER BY", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY"}


def called(clause: str) -> str:
    """Return what SQL calls one of the clauses."""
    return _CALLED.get(clause, clause.upper())


def take(query: exp.Query) -> dict[str, exp.Expr]:
    """Remove the clauses from a query; they go to the query that takes its place."""
    taken = {clause: query.args[clause] for clause in CLAUSES if query.args.get(clause)}
    for clause in taken:
        query.set(clause, None)
    return taken


def put(query: exp.Query, clauses: Mapping[str, exp.Expr]) -> None:
    """Give a query the clauses of the one inside it."""
    for clause, value in clauses.items():
        query.set(clause, value)


def refuse_subqueries(query: exp.Query, whose: str, env: Environment) -> None:
    """Refuse subqueries in the clauses of a query that is no SELECT block, where they count: no rule sees them there.

    Raises:
        NotTracedError: there is one, under control semantics.
    """
    if env.semantics is not Semantics.CONTROL or not env.tracing:
        return  # they only decide in which order the rows come
    for clause in SPREADING:
        keys = query.args.get(clause)
        nested = keys.find(exp.Query) if isinstance(keys, exp.Expr) else None
        if nested is not None:
            what = f"a subquery in {called(clause)} of {whose} is not traced under control semantics"
            refuse(nested, what, f"Put {whose} into a subquery in FROM, and {called(clause)} behind that.")
