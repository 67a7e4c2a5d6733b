"""Say what a statement has written: a command returns no rows, and silence looks like nothing."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.session import ForwardLineage
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.names import LINEAGE_COLUMN, joined, quoted_name
from udafs.errors import LineageError


def said_of_command(lineage: ForwardLineage, sql: str) -> str | None:
    """Say what a statement that has been run has written.

    Args:
        lineage: the session that ran it.
        sql: the statement.

    Returns:
        e.g. ``created per_item: 5 rows, lineage in item, sales, in /data/spark-warehouse/per_item``; None of a query,
        and of a command that writes no rows.

    """
    try:
        tree = parse(sql).tree
    except LineageError:  # Spark's alone: SHOW, SET, …
        return None
    match tree:
        case exp.Create(expression=exp.Query()):
            verb, target = "created", tree.find(exp.Table)
        case exp.Insert():
            verb, target = "wrote into", tree.find(exp.Table)
        case _:
            return None
    if target is None:
        return None
    name = joined([part.name for part in target.parts])
    if str(tree.args.get("kind")).upper() == "VIEW":
        return f"created the view {name}"
    return f"{verb} {name}: {_described(lineage, name)}"


def _described(lineage: ForwardLineage, name: str) -> str:
    table = lineage.spark.table(quoted_name(name))
    said = [f"{counted(table.count(), 'row')} now"]
    if table.columns[-1:] == [LINEAGE_COLUMN]:
        said.append(f"lineage in {', '.join(table.schema[LINEAGE_COLUMN].dataType.fieldNames())}")  # type: ignore[attr-defined]
    details = lineage.spark.sql(f"DESCRIBE TABLE EXTENDED {quoted_name(name)}").collect()
    places = [row[1] for row in details if row[0] == "Location"]
    return ", ".join(said) + (f"; its files are in {places[0].removeprefix('file:')}" if places else "")
