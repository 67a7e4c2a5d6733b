"""The items of FROM, as the user wrote them: joins in parentheses taken apart, unless they have an alias."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

_BOTH_SIDES_STAY = ("SEMI", "ANTI")


@dataclass(frozen=True)
class Place:
    """One source in FROM.

    Attributes:
        node: the table, subquery, …
        join: the join that brings it, if one does.
        padded: whether an outer join may put NULLs in place of its row.
    """

    node: exp.Expr
    join: exp.Join | None = None
    padded: bool = False


def places(select: exp.Select) -> list[Place]:
    """Return the sources of a SELECT, in the order in which they stand there."""
    found: list[Place] = []
    from_clause = select.args.get("from_")
    if from_clause is not None:
        _add(from_clause.this, None, found)
    for join in select.args.get("joins") or []:
        _join(join, found)
    return found


def joins(select: exp.Select) -> list[exp.Join]:
    """Return the joins of a SELECT, those in parentheses too."""
    return list({id(place.join): place.join for place in places(select) if place.join is not None}.values())


def merging(select: exp.Select) -> list[exp.Join]:
    """Return the joins that make one column of two: those with USING, and NATURAL ones."""
    return [join for join in joins(select) if join.args.get("using") or join.method == "NATURAL"]


def merges(join: exp.Join, column: str) -> bool:
    """Say whether a join that merges columns may merge those of this name."""
    return join.method == "NATURAL" or column.lower() in {key.name.lower() for key in join.args.get("using") or ()}


def is_join(inside: exp.Expr) -> bool:
    """Say whether parentheses in FROM hold a join of relations, not a query."""
    named = isinstance(inside, exp.Subquery) and (inside.alias or inside.args.get("joins"))
    return isinstance(inside, exp.Table) or bool(named)


def all_of_join(inner: exp.Expr) -> exp.Select:
    """`(a JOIN b ON …) AS j`: under the alias nothing is seen of a and b, as of a subquery that selects all of both."""
    joined = inner.args.get("joins")
    inner.set("joins", None)
    selected = exp.Select(expressions=[exp.Star()]).from_(inner, copy=False)
    selected.set("joins", joined)
    return selected


def means_cte(node: exp.Expr) -> bool:
    """Say whether a WITH clause around a table's name binds it.

    A CTE sees only those before it: in `WITH t AS (SELECT … FROM t)` the inner name is the table's.
    """
    inside: exp.Expr = node
    around = node.parent
    while around is not None:
        if isinstance(around, exp.With):
            bound = around.expressions[: inside.index]
        else:
            clause = around.args.get("with_")
            bound = clause.expressions if clause is not None and clause is not inside else []
        if any(cte.alias.lower() == node.name.lower() for cte in bound):
            return True
        inside, around = around, around.parent
    return False


def _add(node: exp.Expr, join: exp.Join | None, found: list[Place]) -> None:
    if isinstance(node, exp.Subquery) and not node.alias and is_join(node.this):
        _add(node.this, join, found)
    else:
        found.append(Place(node, join))
    for nested in node.args.get("joins") or []:
        _join(nested, found)


def _join(join: exp.Join, found: list[Place]) -> None:
    before = len(found)
    _add(join.this, join, found)
    if join.kind in _BOTH_SIDES_STAY:
        return
    for at, place in enumerate(found):
        if join.side in (("LEFT", "FULL") if at >= before else ("RIGHT", "FULL")):
            found[at] = replace(place, padded=True)
