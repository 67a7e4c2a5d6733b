"""How often a statement reads each base table: a row that is in the lineage for one reading is there for all.

And which names its text has, so that they can be compared with what Spark reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.environment import Environment
from rewrites.tables import BaseTable, Source, StoredTable, View


@dataclass(frozen=True)
class Read:
    """The tables and views that a statement names, by the last part of their names in lower case.

    Attributes:
        counts: how often each is named in FROM, in the texts of the views that are named, too. Where a CTE has the name
            of a table the count may be too high, never too low.
        views: those that are views, and their texts.
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)

    def unseen(self, paths: Iterable[tuple[str, ...]]) -> dict[str, int]:
        """Return what is read more often than it is named, and how often.

        Args:
            paths: of each reading the names of the views around it, outermost first, and its own.
        """
        found = Counter(path[-1] for path in paths if self.is_in_text(path))
        return {name: times for name, times in found.items() if times > self.counts.get(name, 0)}

    def is_in_text(self, path: tuple[str, ...]) -> bool:
        """Say whether a path ends in a text that was rewritten, not in what a base table is made of."""
        return all(view in self.views for view in path[:-1])


def names_in(query: exp.Expr) -> Mapping[str, int]:
    """Count the names of tables, views and CTEs in a query as the user wrote it: the last part, in lower case."""
    names = (table_name(node) for node in query.find_all(exp.Table))
    return Counter(parts[-1].lower() for parts in names if parts)


def as_written(
    names: Mapping[str, int], found: Mapping[tuple[str, ...], Source | None], texts: Mapping[str, Mapping[str, int]]
) -> Read:
    """Return what a statement names.

    Args:
        names: those in its own text.
        found: what names mean.
        texts: of views → the names in them.
    """
    views = {parts[-1].lower(): meant.sql for parts, meant in found.items() if isinstance(meant, View)}
    for parts, meant in found.items():
        if isinstance(meant, BaseTable | StoredTable):
            views.pop(parts[-1].lower(), None)
    counts: Counter[str] = Counter()

    def count(named: Mapping[str, int], times: int) -> None:
        for name, often in named.items():
            counts[name] += times * often
            if name in views:
                count(texts.get(views[name], {}), times * often)

    count(names, 1)
    return Read(counts, views)


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
