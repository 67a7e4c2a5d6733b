"""A path that a text reads several times is named once, in front of everything.

    SELECT … FROM (SELECT *, id(t) AS __dl_t FROM parquet.`p`) AS t … WHERE x > (SELECT avg(x) FROM parquet.`p` AS t)
    →  WITH __file1 AS (SELECT *, id(t) AS __dl_t FROM parquet.`p`)
       SELECT … FROM (SELECT * FROM __file1) AS t … WHERE x > (
           SELECT avg(x) FROM (SELECT * EXCEPT (__dl_t) FROM __file1) AS t)

Spark lists a path and reads a footer wherever its name stands. TPC-H Q2 under control lineage reads five files in 25
places, and that is most of the time to plan it. A CTE is resolved once and then put in everywhere, so the plan has the
same scans.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.environment import Names
from rewrites.terms import name

_STEM = "file"


@dataclass
class _Readings:
    """Where a path is read: with its rows' ids, all by the same text, and without."""

    traced: list[exp.Select] = field(default_factory=list)
    plain: list[exp.Table] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.traced) + len(self.plain)


def named_once(query: exp.Query, names: Names) -> exp.Query:
    """Return a rewritten statement's query, which is edited, with each path that is read several times in a CTE."""
    shared = [
        exp.CTE(this=_moved(readings, called), alias=exp.TableAlias(this=name(called)))
        for readings in _readings(query)
        if len(readings) > 1 and (called := names.fresh(_STEM))
    ]
    if shared:
        own = query.args.get("with_")
        ctes = [*shared, *(own.expressions if own is not None else [])]
        query.set("with_", exp.With(expressions=ctes, recursive=own.args.get("recursive") if own is not None else None))
    return query


def _readings(query: exp.Query) -> list[_Readings]:
    found: dict[str, _Readings] = {}
    giving_ids: set[int] = set()
    for table in query.find_all(exp.Table):
        if not is_path(table) or table.args.get("sample"):
            continue
        readings = found.setdefault(".".join(table_name(table)), _Readings())
        select = table.find_ancestor(exp.Select)
        if select is None or not _gives_ids(select, table):
            readings.plain.append(table)
        elif all(select == other for other in readings.traced):
            readings.traced.append(select)
            giving_ids.add(id(select))
    if _asks_files(query, giving_ids):
        return []
    return list(found.values())


def is_path(table: exp.Table) -> bool:
    """Say whether a table is named by a format and the path of its files."""
    parts = table_name(table)
    return len(parts) == 2 and "/" in parts[1]


def _gives_ids(select: exp.Select, table: exp.Table) -> bool:
    """Say whether a SELECT is all of a path's columns and an id, and nothing else."""
    clauses = {key for key, value in select.args.items() if value}
    star, *ids = select.expressions
    only = select.args["from_"].this is table and not table.alias and not table.args.get("joins")
    return clauses == {"expressions", "from_"} and only and isinstance(star, exp.Star) and len(ids) == 1


def _asks_files(query: exp.Query, giving_ids: set[int]) -> bool:
    """Say whether something else asks what a row's file is, which a CTE does not hand on."""
    asking = (node for node in query.find_all(exp.Identifier) if node.name.lower() == "_metadata")
    return any(id(node.find_ancestor(exp.Select)) not in giving_ids for node in asking)


def _moved(readings: _Readings, called: str) -> exp.Select:
    """Let all places read the CTE of that name, and return what it is."""
    reads = exp.Table(this=name(called))
    if readings.traced:
        body = readings.traced[0].copy()
        hidden = [exp.column(name(body.expressions[1].alias))]
    else:
        file = readings.plain[0]
        body = exp.Select(expressions=[exp.Star()]).from_(exp.Table(this=file.this.copy(), db=file.args["db"].copy()))
        hidden = []
    for select in readings.traced:
        select.set("expressions", [exp.Star()])
        select.set("from_", exp.From(this=reads.copy()))
    for table in readings.plain:
        rows = exp.Select(expressions=[exp.Star(except_=[each.copy() for each in hidden] or None)])
        rows = rows.from_(reads.copy(), copy=False)
        kept = {key: table.args[key] for key in ("alias", "joins") if table.args.get(key)}
        table.replace(exp.Subquery(this=rows, **kept))
    return body
