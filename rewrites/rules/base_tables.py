"""A registered table in FROM: give every row its id.   [Zhang 2007, §3.3, base tables; §4.3 for LINEAGE ON]

R  →  (SELECT *, id(t) AS __dl_R FROM R) AS R
LINEAGE ON: the id is that of the row's granule.
Untraced: only the place where the rows are read is put in (`lineitem` → parquet.`…/lineitem.parquet`).
Requires: no CTE has the name.
Ensures:  every user column under its own name; one hidden BIGINT column of a traced table, none of another.
Nulls:    an id is never NULL.
Raises:   NotTracedError for a reading that the ids do not describe (time travel, an unrepeatable sample). Also where a
          CTE would be read in place of the table. BadArgumentError for a catalog whose text names no place to read.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewrites.aliases import listed, table_name
from rewrites.block import Block
from rewrites.granules import ByValue, KeptValues
from rewrites.qualifiers import reads_file_metadata
from rewrites.refusals import refuse
from rewrites.row_estimates import of_table, renamed
from rewrites.scope import FromItem
from rewrites.tables import FILE_METADATA, BaseTable
from rewrites.terms import Kind, hidden_column, name, named
from udafs.errors import BadArgumentError

_HANDLED = {"this", "db", "catalog", "alias", "sample"}


def apply(node: exp.Expr, block: Block) -> FromItem | None:
    """Replace a table's name by the table with its ids."""
    parts = table_name(node)
    table = block.env.find(parts) if parts else None
    if not isinstance(table, BaseTable) or not isinstance(node, exp.Table):
        return None
    refuse_other_readings(node)
    alias = node.args.get("alias") or exp.TableAlias(this=name(parts[-1]))
    columns = listed(node) or table.columns
    types = {called.lower(): each for called, each in zip(columns, table.types, strict=False)}
    beside = FILE_METADATA if reads_file_metadata(node) else ""
    estimated = renamed(of_table(table.statistics), table.columns, columns)
    item = FromItem(alias.name, columns, types=types, beside=beside, estimated=estimated)
    source = read_from(table, block.env.parse)
    refuse_hidden_by_cte(source, node, block)
    if block.env.traces(table):
        item.hidden = {table.name: Kind.ID}
        _trace(node, table, source, alias, block)
    elif beside:
        take_sample(node, source)
        shown = exp.select(exp.Star(), exp.column(FILE_METADATA)).from_(source)
        node.replace(exp.Subquery(this=shown, alias=alias))
    elif not _same_name(source, parts):
        take_sample(node, source)
        source.set("alias", alias)
        node.replace(source)
    return item


def _trace(node: exp.Table, table: BaseTable, source: exp.Table, alias: exp.TableAlias, block: Block) -> None:
    take_sample(node, source)
    if listed(node):
        alias.append("columns", name(hidden_column(table.name)))
    rows = _with_ids(table, source, block)
    if reads_file_metadata(node):
        if table.identified is not None:
            what = f"{FILE_METADATA} of {table.name}, whose ids are joined in, is not traced"
            refuse(node, what, "Register the table with an integer key.")
        rows.append("expressions", exp.column(FILE_METADATA))
    node.replace(exp.Subquery(this=rows, alias=alias))


def take_sample(node: exp.Table, source: exp.Table) -> None:
    """Move the sample that is taken of a table to the place where its rows are read."""
    if node.args.get("sample"):
        source.set("sample", node.args["sample"].pop())


def _with_ids(table: BaseTable, source: exp.Table, block: Block) -> exp.Select:
    granules = block.env.granules.get(table.name.lower())
    if isinstance(granules, ByValue):
        return granules.rows(source)
    of_row = block.env.parse(table.row_id)
    row_id = named(granules.of_row(of_row) if isinstance(granules, KeptValues) else of_row, hidden_column(table.name))
    if table.identified is None:
        return exp.select(exp.Star(), row_id).from_(source)
    identified = block.env.parse(f"SELECT 1 FROM {table.identified}").args["from_"].this.pop()
    if source.args.get("sample"):
        if not isinstance(identified, exp.Table):
            refuse(source, f"a sample of {table.name}, whose ids are joined in, is not traced", "Use an integer key.")
        take_sample(source, identified)
    return exp.select(*[exp.column(name(known), copy=False) for known in table.columns], row_id).from_(identified)


def read_from(table: BaseTable, parse: Callable[[str], exp.Expr]) -> exp.Table:
    """Return the tree of the place where a base table's rows are read.

    Raises:
        BadArgumentError: the catalog's text for it is no table.
    """
    source = parse(f"SELECT 1 FROM {table.relation}").find(exp.Table)
    if source is None:
        raise BadArgumentError(
            f"the catalog's relation for {table.name} is no table: {table.relation}",
            instead="Give it a name, or a path such as parquet.`/data/sales`.",
        )
    source.pop()
    return source


def _same_name(source: exp.Table, parts: tuple[str, ...]) -> bool:
    return [part.name.lower() for part in source.parts] == [part.lower() for part in parts]


def refuse_hidden_by_cte(source: exp.Table, node: exp.Table, block: Block) -> None:
    """Refuse to read a table where a CTE would be read in its place.

    Raises:
        NotTracedError: a CTE around has its name.
    """
    if len(source.parts) == 1 and source.name.lower() in block.env.captured.union(block.env.ctes):
        refuse(node, f"the table {source.name} is hidden by a CTE of that name", "Rename the CTE.")


def refuse_other_readings(
    node: exp.Table,
    but: str = "which its row ids do not describe",
    instead: str = "Read the registered table as it is.",
) -> None:
    """Refuse all additions to a table's name that ids do not describe.

    Args:
        node: the table's name.
        but: why it is refused, as the end of a sentence.
        instead: what to do.

    Raises:
        NotTracedError: time travel, an unrepeatable sample, ….
    """
    for argument, value in node.args.items():
        if value and argument not in _HANDLED:
            refuse(node, f"{node.name} is read with {argument.upper()}, {but}", instead)
    refuse_unrepeatable(node)


def refuse_unrepeatable(node: exp.Table) -> None:
    """Refuse a sample that is drawn anew at every run.

    Raises:
        NotTracedError: a TABLESAMPLE by chance without a seed.
    """
    sample = node.args.get("sample")
    if sample is None:
        return
    by_chance = sample.args.get("percent") or not sample.args.get("size")
    if by_chance and not sample.args.get("seed"):
        refuse(
            node,
            "this TABLESAMPLE takes other rows at every run, and lineage must describe the rows that were returned",
            "Add REPEATABLE (seed).",
        )
