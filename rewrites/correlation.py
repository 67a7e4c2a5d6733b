"""Whether a subquery mentions the rows around it, as far as its text says so before anything is rewritten."""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.environment import Environment
from rewrites.sources import places
from rewrites.tables import BaseTable, StoredTable


def stands_alone(query: exp.Query, env: Environment) -> bool:
    """Say whether a subquery most likely mentions no column of the blocks around it.

    A table under the name of a source inside may still lack the column that one further out has.

    Args:
        query: as the user wrote it.
        env: what its names mean.
    """
    return all(_is_known_inside(node, query, env) for node in query.find_all(exp.Column))


def _is_known_inside(node: exp.Column, query: exp.Query, env: Environment) -> bool:
    around: exp.Expr | None = node
    while around is not None and around is not query:
        around = around.parent
        if isinstance(around, exp.Select) and _may_be_of(node, around, env):
            return True
    return False


def _may_be_of(node: exp.Column, select: exp.Select, env: Environment) -> bool:
    for place in places(select):
        if node.table:
            if node.table.lower() == place.node.alias_or_name.lower():
                return True
            continue
        parts = table_name(place.node)
        table = env.find(parts) if parts and not (len(parts) == 1 and parts[0].lower() in env.ctes) else None
        if isinstance(table, BaseTable | StoredTable) and node.name.lower() in map(str.lower, table.columns):
            return True
    return False
