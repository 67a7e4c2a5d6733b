"""`forward-lineage run`: rows and their lineage, in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

from forward_lineage.cli.inputs import (
    catalog_option,
    home_option,
    read_sql,
    semantics_option,
    sql_argument,
)
from forward_lineage.cli.sessions import json_objects, opened_to_look
from forward_lineage.cli.tables import lineage_table
from forward_lineage.results import LINEAGE_COLUMN


@click.command()
@sql_argument
@catalog_option
@home_option
@semantics_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show.")
@click.option("--ids", type=click.IntRange(min=1), default=8, show_default=True, help="Row ids to show of each set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row, with all ids.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
def run(
    *,
    file: str,
    catalog_path: Path | None,
    home: Path | None,
    semantics: str,
    limit: int,
    ids: int,
    as_json: bool,
    master: str,
) -> None:
    """Run a query and show its rows with their lineage.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    sql = read_sql(file)
    with opened_to_look("run", home, catalog_path, master) as lineage:
        frame = lineage.sql(sql, semantics)
        if as_json:
            for row in json_objects(decoded(frame).limit(limit)).collect():
                click.echo(row[0])
        else:
            shown, more = first_rows(frame, limit)
            Console().print(lineage_table(frame.columns, shown, ids, more))


def decoded(frame: DataFrame) -> DataFrame:
    """Replace each lineage value by its ids, an array."""
    if not frame.columns or frame.columns[-1] != LINEAGE_COLUMN:
        return frame
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    fields = [F.expr(f"dl_ids({LINEAGE_COLUMN}.`{table}`)").alias(table) for table in tables]
    return frame.withColumn(LINEAGE_COLUMN, F.struct(*fields))


def first_rows(frame: DataFrame, limit: int) -> tuple[list[list[Any]], bool]:
    """Return up to `limit` rows, lineage as ids by table, and whether there are more."""
    rows = decoded(frame).limit(limit + 1).collect()
    return [list(row) for row in rows[:limit]], len(rows) > limit
