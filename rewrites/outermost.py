"""The clauses that stay outermost: they order, spread and cut the rows of a result when everything else is done.

Spark's grammar has them behind a whole query, set operations included (`queryOrganization` in SqlBaseParser.g4). Rules
that put a query into a derived table, to group its rows or to fold its hidden columns, take them out first. Below a
grouping an order means nothing, and a LIMIT above it would cut other rows than the user's.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrites.environment import Environment
from rewrites.terms import derived_table

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


def with_questions_outside(query: exp.Query, env: Environment) -> exp.Select | None:
    """Return the query in a subquery, ordered from outside, if it is ordered by what a subquery finds.

    For queries that are no SELECT block, in which no rule sees those subqueries. None, and nothing is done: there are
    none.
    """
    keys = [query.args[clause] for clause in SPREADING if query.args.get(clause)]
    if not any(key.find(exp.Query) for key in keys):
        return None
    return block_around(query, take(query), env)


def block_around(query: exp.Query, outside: Mapping[str, exp.Expr], env: Environment) -> exp.Select:
    """Return a SELECT of all columns of a query, with the clauses that were the query's."""
    result = exp.Select(expressions=[exp.Star()]).from_(derived_table(query, env.names.fresh("q")), copy=False)
    put(result, outside)
    return result
