"""`forward-lineage forward`: the rows of a saved result that were made from some base rows."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.sessions import (
    Numbers,
    answer_options,
    finish,
    opened,
    session_options,
    show_rows,
    where_option,
)


@click.command()
@click.argument("table")
@where_option("rows of the table")
@click.option("--ids", type=Numbers(), help="Row ids of the table, instead of --where.")
@click.option("--result", required=True, help="The saved result.")
@answer_options
@session_options
def forward(
    *,
    table: str,
    where: str | None,
    ids: list[int] | None,
    result: str,
    limit: int | None,
    as_json: bool,
    exit_code: bool,
    home: Path | None,
    catalog_path: Path | None,
    master: str,
) -> None:
    """Show the rows of a saved result that were made from rows of a table, directly or through other results.

    TABLE is a registered table, or a saved result itself; without --where and --ids all of its rows are meant.
    """
    with opened("forward", home, catalog_path, master) as lineage:
        frame = lineage.forward(table, where, ids=ids, result=result)
        found = show_rows(frame, limit, as_json, f"No row of {result} was made from these rows of {table}.")
    finish(found, exit_code)
