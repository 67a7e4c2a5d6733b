"""`forward-lineage forward`: the rows of a saved result that were made from some base rows."""

from __future__ import annotations

import click

from forward_lineage.cli.answers import Answer, answer_options
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option
from forward_lineage.cli.question_executors import Asked, ask


@click.command()
@click.argument("table", shell_complete=completing("all"))
@where_option("rows of the table")
@click.option("--ids", type=Numbers(), help="Row ids of the table, instead of --where.")
@click.option("--result", required=True, help="The saved result.", shell_complete=completing("results"))
@answer_options
@session_options
def forward(
    *, table: str, where: str | None, ids: list[int] | None, result: str, answer: Answer, opening: Opening
) -> None:
    """Show the rows of a saved result that were made from rows of a table, directly or through other results.

    TABLE is a registered table, or a saved result itself; without --where and --ids all of its rows are meant.
    """

    def question(asked: Asked) -> bool:
        found = asked.forward(table, where, ids=ids, result=result)
        return answer.show(found, nothing=f"No row of {result} was made from these rows of {table}.")

    answer.finish(ask(opening, "forward", question, where))
