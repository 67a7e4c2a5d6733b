"""`forward-lineage forward`: the rows of a saved result that were made from some base rows."""

from __future__ import annotations

import click

from forward_lineage.cli.answers import Answer, answer_options
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option


@click.command()
@click.argument("table")
@where_option("rows of the table")
@click.option("--ids", type=Numbers(), help="Row ids of the table, instead of --where.")
@click.option("--result", required=True, help="The saved result.")
@answer_options
@session_options
def forward(
    *, table: str, where: str | None, ids: list[int] | None, result: str, answer: Answer, opening: Opening
) -> None:
    """Show the rows of a saved result that were made from rows of a table, directly or through other results.

    TABLE is a registered table, or a saved result itself; without --where and --ids all of its rows are meant.
    """
    with opening.session("forward") as lineage:
        frame = lineage.forward(table, where, ids=ids, result=result)
        found = answer.show(frame, nothing=f"No row of {result} was made from these rows of {table}.")
    answer.finish(found)
