"""Laws of queries: another way to write a query has the same rows, and lineage that the algebra relates to the first.

Each law takes a query apart that the generator made and writes it in another way, or says None where it does not
apply. Nothing is interpreted: two texts are rewritten, and Spark's answers to both compared. So a law also holds where
the interpreter and the rules could be wrong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from tests.oracle.algebra import (
    Agg,
    Col,
    Cte,
    Derived,
    ExplodeItem,
    Expr,
    IsNull,
    Item,
    Join,
    Lit,
    Not,
    Op,
    Over,
    Query,
    Rel,
    Select,
    SetOp,
    Star,
    Table,
)
from tests.oracle.interpreter import descendants
from tests.oracle.strategies import SCHEMAS

OTHER_NAME = "written_apart"


class Related(Enum):
    """How the rows of the second text, with their lineage, relate to those of the first."""

    SAME = "the same"
    FEWER = "some of them"


@dataclass(frozen=True)
class Rewritten:
    """A query written in another way.

    Attributes:
        query: the other way.
        view: what `OTHER_NAME` stands for, where it is a view.
    """

    query: Query
    view: Query | None = None


Law = Callable[[Query], Rewritten | None]


def _redundant_predicate(query: Query) -> Rewritten | None:
    """WHERE … AND (c IS NULL OR c IS NOT NULL)."""
    column = _column(query)
    if column is None:
        return None
    return _with_condition(query, Op("OR", IsNull(column), IsNull(column, negated=True)))


def _another_predicate(query: Query) -> Rewritten | None:
    """WHERE … AND c > 1, over a query that joins and filters only."""
    column = _column(query)
    return None if column is None or not _is_plain(query) else _with_condition(query, Op(">", column, Lit(1)))


def _split(query: Query) -> Rewritten | None:
    """(… AND c > 1) UNION ALL (… AND NOT c > 1) UNION ALL (… AND (c > 1) IS NULL)."""
    column = _column(query)
    if column is None or not _is_plain(query):
        return None
    test = Op(">", column, Lit(1))
    parts = [_conditioned(query.body, each) for each in (test, Not(test), IsNull(test))]  # type: ignore[arg-type]
    first = SetOp("UNION", parts[0], parts[1], all=True)
    return Rewritten(replace(query, body=SetOp("UNION", first, parts[2], all=True)))


def _as_cte(query: Query) -> Rewritten | None:
    """FROM (Q) AS x → WITH c AS (Q) … FROM c AS x."""
    found = _derived(query)
    if found is None:
        return None
    cte = Cte(OTHER_NAME, found.query, found.columns)
    changed = _replaced(query, found, Table(OTHER_NAME, found.alias))
    return Rewritten(replace(changed, ctes=(*query.ctes, cte)))


def _as_view(query: Query) -> Rewritten | None:
    """FROM (Q) AS x → CREATE VIEW v AS Q, FROM v AS x."""
    found = _derived(query)
    if found is None or found.columns or query.ctes:
        return None
    return Rewritten(_replaced(query, found, Table(OTHER_NAME, found.alias)), found.query)


def _in_a_subquery(query: Query) -> Rewritten:
    """Q → SELECT * FROM (Q)."""
    return Rewritten(Query(Select((Star(),), Derived(query, OTHER_NAME))))


def _table_as_subquery(query: Query) -> Rewritten | None:
    """FROM r → FROM (SELECT * FROM r) AS r."""
    body = query.body
    if not isinstance(body, Select) or not isinstance(body.source, Table) or body.source.name not in SCHEMAS:
        return None
    table = body.source
    whole = Derived(Query(Select((Star(),), Table(table.name))), table.alias or table.name)
    return Rewritten(replace(query, body=replace(body, source=whole)))


def _join_commuted(query: Query) -> Rewritten | None:
    """A JOIN B ON p → B JOIN A ON p."""
    body = query.body
    if not isinstance(body, Select) or not isinstance(body.source, Join) or _has_star(body):
        return None
    join = body.source
    commutes = join.kind in ("INNER", "CROSS") and not join.using and not join.natural
    if not commutes or not all(isinstance(side, Table) or _is_alone(side) for side in (join.left, join.right)):
        return None
    return Rewritten(replace(query, body=replace(body, source=replace(join, left=join.right, right=join.left))))


def _set_operation_commuted(query: Query) -> Rewritten | None:
    """A UNION B → B UNION A; so INTERSECT, and with ALL."""
    body = query.body
    if not isinstance(body, SetOp) or body.op == "EXCEPT" or query.order or query.limit is not None:
        return None
    if body.left == body.right:
        return None
    if any(isinstance(side, SetOp) and side.op != body.op for side in (body.left, body.right)):
        return None
    return Rewritten(replace(query, body=replace(body, left=body.right, right=body.left)))


def _distinct_of_distinct(query: Query) -> Rewritten | None:
    """SELECT DISTINCT … → SELECT DISTINCT * FROM (SELECT DISTINCT …)."""
    if not isinstance(query.body, Select) or not query.body.distinct:
        return None
    return Rewritten(Query(Select((Star(),), Derived(query, OTHER_NAME), distinct=True)))


LAWS: dict[str, tuple[Law, Related]] = {
    "a redundant predicate": (_redundant_predicate, Related.SAME),
    "one more predicate": (_another_predicate, Related.FEWER),
    "split by a predicate, its negation and NULL": (_split, Related.SAME),
    "a subquery in FROM as a CTE": (_as_cte, Related.SAME),
    "a subquery in FROM as a view": (_as_view, Related.SAME),
    "the query in a subquery": (_in_a_subquery, Related.SAME),
    "a table as a subquery": (_table_as_subquery, Related.SAME),
    "a join commuted": (_join_commuted, Related.SAME),
    "a set operation commuted": (_set_operation_commuted, Related.SAME),
    "DISTINCT of DISTINCT": (_distinct_of_distinct, Related.SAME),
}


def _is_plain(query: Query) -> bool:
    """Whether a query only joins and filters: its rows are those of FROM that pass."""
    body = query.body
    if not isinstance(body, Select) or query.order or query.limit is not None or query.offset is not None:
        return False
    if body.group is not None or body.having is not None or body.qualify is not None or body.distinct:
        return False
    items = [item.expr for item in body.items if isinstance(item, Item)]
    nodes = [node for item in items for node in (item, *descendants(item))]
    return not any(isinstance(node, Agg | Over) for node in nodes)


def _column(query: Query) -> Col | None:
    """A column with NULLs of the first table in FROM of the outermost SELECT."""
    source = query.body.source if isinstance(query.body, Select) else None
    while isinstance(source, Join):
        source = source.left if source.kind in ("INNER", "CROSS", "LEFT", "COMMA", "SEMI", "ANTI") else None
    if not isinstance(source, Table) or source.name not in SCHEMAS or any(c.name == source.name for c in query.ctes):
        return None
    return Col(SCHEMAS[source.name][0][1], source.alias or source.name)


def _with_condition(query: Query, condition: Expr) -> Rewritten | None:
    return (
        Rewritten(replace(query, body=_conditioned(query.body, condition))) if isinstance(query.body, Select) else None
    )


def _conditioned(body: Select, condition: Expr) -> Select:
    return replace(body, where=condition if body.where is None else Op("AND", body.where, condition))


def _derived(query: Query) -> Derived | None:
    """The first subquery in FROM of the outermost SELECT."""
    source = query.body.source if isinstance(query.body, Select) else None
    waiting = [source]
    while waiting:
        rel = waiting.pop(0)
        if isinstance(rel, Join):
            waiting += [rel.left, rel.right]
        elif rel is not None and _is_alone(rel):
            return rel if isinstance(rel, Derived) else None
    return None


def _is_alone(rel: Rel) -> bool:
    return isinstance(rel, Derived) and not rel.lateral


def _replaced(query: Query, old: Rel, new: Rel) -> Query:
    def put(rel: Rel | None) -> Rel | None:
        if rel is old:
            return new
        if isinstance(rel, Join):
            return replace(rel, left=put(rel.left), right=put(rel.right))
        return rel

    body = query.body
    return replace(query, body=replace(body, source=put(body.source))) if isinstance(body, Select) else query


def _has_star(body: Select) -> bool:
    return any(isinstance(item, Star | ExplodeItem) for item in body.items)
