"""`forward-lineage impact`: every saved result that some base rows touch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame
from rich.console import Console

from forward_lineage.cli.sessions import (
    Numbers,
    answer_options,
    finish,
    opened,
    plain_table,
    session_options,
    show_rows,
    where_option,
)


@click.command()
@click.argument("table")
@where_option("rows of the table")
@click.option("--ids", type=Numbers(), help="Row ids of the table, instead of --where.")
@click.option("--rows", "with_rows", is_flag=True, help="Show the rows that are touched, too.")
@answer_options
@session_options
def impact(
    *,
    table: str,
    where: str | None,
    ids: list[int] | None,
    with_rows: bool,
    limit: int | None,
    as_json: bool,
    exit_code: bool,
    home: Path | None,
    catalog_path: Path | None,
    master: str,
) -> None:
    """Show every saved result that rows of a table touch, directly or through other results.

    TABLE is a registered table, or a saved result itself; without --where and --ids all of its rows are meant.
    With --rows and --json, each line is a touched row: {"result": …, "row": {…}}.
    """
    with opened("impact", home, catalog_path, master) as lineage:
        touched = [row.asDict() for row in lineage.impact(table, where, ids=ids).collect()]
        if as_json and not with_rows:
            for each in touched:
                click.echo(json.dumps(each, ensure_ascii=False))
        elif not touched:
            click.echo(f"No saved result was made from these rows of {table}.", err=True)
        elif not as_json:
            _print(touched)
        for each in touched if with_rows else ():
            rows = lineage.forward(table, where, ids=ids, result=each["result"])
            _show(rows, each["result"], limit, as_json)
    finish(bool(touched), exit_code)


def _print(touched: list[dict[str, Any]]) -> None:
    table = plain_table("result", "touched", "of", "path", right=("touched", "of"))
    for each in touched:
        table.add_row(each["result"], f"{each['rows_touched']:,}", f"{each['rows']:,}", each["path"])
    Console().print(table)


def _show(rows: DataFrame, result: str, limit: int | None, as_json: bool) -> None:
    if as_json:
        rows = rows.selectExpr(f"'{result}' AS result", "struct(*) AS row")
    else:
        click.echo()
    show_rows(rows, limit, as_json, "", title=result)
