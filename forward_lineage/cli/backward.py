"""`forward-lineage backward`: the base rows that rows of a saved result were made of."""

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
@click.argument("result")
@where_option("rows of the result")
@click.option("--rows", type=Numbers(), help="Row numbers of the result, from 0, instead of --where.")
@click.option("--table", help="The base table, or a saved result on the way.  [default: the only one]")
@answer_options
@session_options
def backward(
    *,
    result: str,
    where: str | None,
    rows: list[int] | None,
    table: str | None,
    limit: int | None,
    as_json: bool,
    exit_code: bool,
    home: Path | None,
    catalog_path: Path | None,
    master: str,
) -> None:
    """Show the base rows that rows of a saved result were made of.

    RESULT is the name of a saved result; without --where and --rows all of its rows are meant.
    """
    with opened("backward", home, catalog_path, master) as lineage:
        frame = lineage.backward(result, where, rows=rows, table=table)
        found = show_rows(frame, limit, as_json, f"These rows of {result} come from no row of {table or 'the table'}.")
    finish(found, exit_code)
