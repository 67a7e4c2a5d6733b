"""How often a statement reads each base table: a row that is in the lineage for one reading is there for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.environment import Environment
from rewrites.tables import BaseTable, StoredTable, View


def base_tables(query: exp.Expr, env: Environment) -> Counter[str]:
    """Count the readings of base tables in a query as the user wrote it, its subqueries and views included.

    A CTE counts once for each time it is named. Where names are hidden by others the count may be too high, never too
    low.
    """
    return _counted(query, env, {}, {})


def _counted(
    query: exp.Expr, env: Environment, ctes: Mapping[str, exp.CTE], known: dict[int, Counter[str]]
) -> Counter[str]:
    own = {cte.alias.lower(): cte for cte in query.find_all(exp.CTE)}
    ctes = {**ctes, **own}
    found: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for node in query.find_all(exp.Table):
        parts = table_name(node)
        if len(parts) == 1 and parts[0].lower() in ctes:
            named[parts[0].lower()] += 1
        found.update(_of_name(parts, env))
    for name, times in named.items():
        cte = ctes[name]
        if id(cte) not in known:
            known[id(cte)] = Counter()  # it may name itself
            known[id(cte)] = _counted(cte.this, env, ctes, known)
        more = times - (name in own)  # whose text has been counted once
        found.update({table: more * count for table, count in known[id(cte)].items()})
    return found


def _of_name(parts: tuple[str, ...], env: Environment) -> Counter[str]:
    if not parts:
        return Counter()
    around = env.ctes.get(parts[0].lower()) if len(parts) == 1 else None
    if around is not None and around.definition is not None:
        return base_tables(around.definition.query, around.definition.env)
    meant = env.find(parts)
    if isinstance(meant, View):
        return base_tables(env.parse(meant.sql), env.of_view())
    if isinstance(meant, StoredTable):  # how often it was read to make the table is not known
        return Counter({base: 2 for base in meant.lineage if env.traces_name(base)})
    return Counter([meant.name]) if isinstance(meant, BaseTable) and env.traces(meant) else Counter()
