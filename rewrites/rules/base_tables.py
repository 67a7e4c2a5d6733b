"""Give every row of a base table its id.   [Zhang 2007, §3.3, base tables]

R  →  (SELECT *, id(t) AS __dl_R FROM R) AS R
Ensures:  every user column under its own name, one hidden BIGINT column.
LINEAGE ON: the id is that of the row's granule.
Untraced: only the place where the rows are read is put in (`lineitem` → parquet.`…/lineitem.parquet`).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewrites.block import Block
from rewrites.refusals import refuse
from rewrites.scope import FromItem
from rewrites.tables import BaseTable
from rewrites.terms import Kind, hidden_column, name, named

_HANDLED = {"this", "db", "catalog", "alias", "sample"}


def trace(node: exp.Table, table: BaseTable, block: Block) -> FromItem:
    """Replace a table name in FROM by the table with its ids.

    Raises:
        LineageError: the table is read in a way that its ids do not describe (time travel, an unrepeatable sample).
    """
    _refuse_other_readings(node)
    alias = node.args.get("alias") or exp.TableAlias(this=name(node.parts[-1].name))
    renamed = [identifier.name for identifier in alias.args.get("columns") or []]
    columns = tuple(renamed) or table.columns
    parts = () if node.alias else tuple(part.name for part in node.parts)
    traced = block.env.traces(table)
    source = read_from(table, block.env.parse)
    if len(source.parts) == 1 and source.name.lower() in block.env.captured.union(block.env.ctes):
        refuse(node, f"the table {source.name} is hidden by a CTE of that name", "Rename the CTE.")
    if not traced and _same_name(source, node):
        return FromItem(alias.name, columns, parts=parts)
    if node.args.get("sample"):
        source.set("sample", node.args["sample"].pop())
    if traced:
        if renamed:
            alias.append("columns", name(hidden_column(table.name)))
        node.replace(exp.Subquery(this=_with_ids(table, source, block), alias=alias))
        return FromItem(alias.name, columns, {table.name: Kind.ID}, parts=parts)
    source.set("alias", alias)
    node.replace(source)
    return FromItem(alias.name, columns, parts=parts)


def _with_ids(table: BaseTable, source: exp.Table, block: Block) -> exp.Select:
    granules = block.env.granules.get(table.name.lower())
    if granules is not None:
        return granules.rows(source)
    row_id = named(block.env.parse(table.row_id), hidden_column(table.name))
    if table.identified is None:
        return exp.select(exp.Star(), row_id).from_(source)
    identified = block.env.parse(f"SELECT 1 FROM {table.identified}").args["from_"].this.pop()
    if source.args.get("sample"):
        if not isinstance(identified, exp.Table):
            refuse(source, f"A sample of {table.name}, whose ids are joined in, is not traced", "Use an integer key.")
        identified.set("sample", source.args["sample"].pop())
    return exp.select(*[exp.column(name(known), copy=False) for known in table.columns], row_id).from_(identified)


def read_from(table: BaseTable, parse: Callable[[str], exp.Expr]) -> exp.Table:
    """Return the tree of the place where a base table's rows are read."""
    source = parse(f"SELECT 1 FROM {table.relation}").find(exp.Table)
    if source is None:
        raise ValueError(f"the catalog's relation for {table.name} is no table: {table.relation}")
    source.pop()
    return source


def _same_name(source: exp.Table, node: exp.Table) -> bool:
    return [part.name.lower() for part in source.parts] == [part.name.lower() for part in node.parts]


def _refuse_other_readings(node: exp.Table) -> None:
    for argument, value in node.args.items():
        if value and argument not in _HANDLED:
            refuse(
                node,
                f"{node.name} is read with {argument.upper()}, which its row ids do not describe",
                "Read the registered table as it is.",
            )
    refuse_unrepeatable(node)


def refuse_unrepeatable(node: exp.Table) -> None:
    """Refuse a sample that is drawn anew at every run.

    Raises:
        LineageError: a TABLESAMPLE by chance without a seed.
    """
    sample = node.args.get("sample")
    if sample is None:
        return
    by_chance = sample.args.get("percent") or not sample.args.get("size")
    if by_chance and not sample.args.get("seed"):
        refuse(
            node,
            "This TABLESAMPLE takes other rows at every run, and lineage must describe the rows that were returned",
            "Add REPEATABLE (seed).",
        )
