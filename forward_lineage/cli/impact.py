"""`forward-lineage impact`: every saved result that some base rows touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console

from forward_lineage.cli.answers import Answer, answer_options, note_trust, print_objects
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option
from forward_lineage.cli.plain_text import cell, in_one_line
from forward_lineage.cli.tables import plain_table


@click.command()
@click.argument("table")
@where_option("rows of the table")
@click.option("--ids", type=Numbers(), help="Row ids of the table, instead of --where.")
@click.option("--rows", "with_rows", is_flag=True, help="Show the rows that are touched, too.")
@answer_options
@session_options
def impact(
    *, table: str, where: str | None, ids: list[int] | None, with_rows: bool, answer: Answer, opening: Opening
) -> None:
    """Show every saved result that rows of a table touch, directly or through other results.

    TABLE is a registered table, or a saved result itself; without --where and --ids all of its rows are meant.
    With --rows and --json, each line is a touched row: {"result": …, "row": {…}}.
    """
    with opening.session("impact") as lineage:
        found = lineage.impact(table, where, ids=ids)
        note_trust(found)
        touched = [row.asDict() for row in found.collect()]
        if not answer.as_json:
            _print(touched, nothing=f"No saved result was made from these rows of {table}.")
        elif not with_rows:
            print_objects(touched)
        for each in touched if with_rows else ():
            rows = lineage.forward(table, where, ids=ids, result=each["result"])
            _show_rows(rows, each["result"], answer)
    answer.finish(bool(touched))


def _print(touched: Sequence[dict[str, Any]], *, nothing: str) -> None:
    if not touched:
        click.echo(in_one_line(nothing), err=True)
        return
    table = plain_table("result", "touched", "of", "path", right=("touched", "of"))
    for each in touched:
        table.add_row(cell(each["result"]), f"{each['rows_touched']:,}", f"{each['rows']:,}", cell(each["path"]))
    Console().print(table)


def _show_rows(rows: DataFrame, result: str, answer: Answer) -> None:
    if answer.as_json:
        rows = rows.select(F.lit(result).alias("result"), F.struct("*").alias("row"))
    else:
        click.echo()
    answer.show(rows, title=result)
