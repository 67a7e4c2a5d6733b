"""A table that carries the lineage of its rows: an inner query that was stored.   [extends Zhang 2007, §3.3, views]

s  →  (SELECT a, …, dl_stored(DL.t, …) AS __dl_t, … FROM s) AS s
   →  (SELECT a, …, __dl_0 AS __dl_t, … FROM carried) AS s    where its rows are read elsewhere with their lineage
Requires: no CTE has the name.
Ensures:  the user's columns, which `DL` is none of; one hidden column, a set, for each field of `DL` that is traced.
Nulls:    a row whose lineage is NULL stops the query: it would pass for one that is made of nothing. A field of `DL`
          that was added later may be NULL where `DL` is not: the row was made of none of its rows.
Raises:   NotTracedError for lineage of the other semantics, for LINEAGE ON a table behind it, and for what base tables
          refuse.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.aliases import listed, table_name
from rewrites.block import Block
from rewrites.environment import Environment
from rewrites.lineage_functions import added_later, dl_intersection, dl_stored
from rewrites.nondeterminism import mark
from rewrites.qualifiers import reads_file_metadata
from rewrites.refusals import refuse
from rewrites.rules.base_tables import refuse_hidden_by_cte, refuse_other_readings, take_sample
from rewrites.scope import FromItem
from rewrites.tables import FILE_METADATA, StoredTable, carried_column
from rewrites.terms import LINEAGE_COLUMN, Kind, column, hidden_column, name, named


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Replace the table's name by its rows, their lineage in hidden columns."""
    parts = table_name(node)
    table = block.env.find(parts) if parts else None
    if not isinstance(table, StoredTable) or not isinstance(node, exp.Table):
        return None
    refuse_other_readings(
        node,
        "and the table says of its present version alone what the ids in its DL mean",
        f"Read it as it is now, or a clone of that version (Delta), or {node.name}.tag_… (Iceberg).",
    )
    traced = [base for base in table.lineage if block.env.traces_name(base)]
    if traced:
        _refuse_other_lineage(node, table, traced, block.env)
    source = _source(node, table)
    refuse_hidden_by_cte(source, node, block)
    take_sample(node, source)
    alias = node.args.get("alias") or exp.TableAlias(this=name(parts[-1]))
    item = FromItem(
        alias.name,
        listed(node) or table.columns,
        dict.fromkeys(traced, Kind.SET),
        keeps_lineage=True,
        beside=FILE_METADATA if reads_file_metadata(node) else "",
    )
    if listed(node):
        alias.set("columns", [*alias.args["columns"], *(name(hidden_column(base)) for base in traced)])
    rows = _rows(table, source, traced, block.env)
    if item.beside:
        rows.append("expressions", exp.column(item.beside))
    query = exp.Subquery(this=rows, alias=alias, joins=node.args.get("joins"))
    node.replace(query)
    item.node = query
    return item


def _source(node: exp.Table, table: StoredTable) -> exp.Table:
    if not table.carried:
        return exp.Table(**{part: node.args[part].copy() for part in ("this", "db", "catalog") if node.args.get(part)})
    source = exp.Table(this=name(table.carried))
    mark(source, (table.carried.lower(),) if table.by_chance else ())
    return source


def _rows(table: StoredTable, source: exp.Table, traced: list[str], env: Environment) -> exp.Select:
    called = source.copy()
    called.set("sample", None)
    columns: list[exp.Expr] = [exp.column(name(known), copy=False) for known in table.columns]
    for base in traced:
        value: exp.Expr
        if table.carried:
            value = exp.column(name(carried_column(table.lineage.index(base))), copy=False)
        else:
            told = called.sql(dialect="spark"), table.check, table.gone.get(base)
            kept: exp.Expr = column(LINEAGE_COLUMN, base)
            if base in table.added:
                kept = added_later(kept, exp.column(LINEAGE_COLUMN))
            value = dl_stored(kept, *told)
        asked = table.only.get(base)
        lineage = value if asked is None else dl_intersection(value, env.parse(asked))
        columns.append(named(lineage, hidden_column(base)))
    return exp.Select(expressions=columns).from_(source, copy=False)


def _refuse_other_lineage(node: exp.Table, table: StoredTable, traced: list[str], env: Environment) -> None:
    wanted = env.semantics.value
    if table.semantics != wanted:
        refuse(
            node,
            f"{table.name} carries {table.semantics} lineage, and {wanted} lineage was asked for",
            f'Say semantics="{table.semantics}", or make {table.name} anew with semantics="{wanted}".',
        )
    for base in traced:
        if base.lower() in env.granules:
            refuse(
                node,
                f"LINEAGE ON {base}, which {table.name} carries row ids of: ids of values and of rows would mix",
                "Leave LINEAGE ON out; or write the query that made the table in its place.",
            )
