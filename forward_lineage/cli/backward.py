"""`forward-lineage backward`: the base rows that rows of a saved result were made of."""

from __future__ import annotations

import click

from forward_lineage.cli.answers import Answer, answer_options
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option
from forward_lineage.cli.question_executors import Asked, ask


@click.command()
@click.argument("result", shell_complete=completing("results"))
@where_option("rows of the result")
@click.option("--rows", type=Numbers(), help="Row numbers of the result, from 0, instead of --where.")
@click.option(
    "--table",
    help="The base table, or a saved result on the way.  [default: the only one]",
    shell_complete=completing("all"),
)
@click.option(
    "--through",
    type=click.Choice(["row", "model", "all"]),
    default="all",
    show_default=True,
    help="Paths that meet no model, those that do, or all.",
)
@answer_options
@session_options
def backward(
    *,
    result: str,
    where: str | None,
    rows: list[int] | None,
    table: str | None,
    through: str,
    answer: Answer,
    opening: Opening,
) -> None:
    """Show the base rows that rows of a saved result were made of.

    RESULT is the name of a saved result; without --where and --rows all of its rows are meant.
    """

    def question(asked: Asked) -> bool:
        found = asked.backward(result, where, rows=rows, table=table, through=through)
        return answer.show(found, nothing=f"These rows of {result} come from no row of {table or 'the table'}.")

    answer.finish(ask(opening, "backward", question, where))
