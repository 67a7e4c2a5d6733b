"""`forward-lineage impact`: every saved result that some base rows touch."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click
from rich.console import Console

from forward_lineage.cli.answers import Answer, Rows, answer_options, note_trust, print_lines
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option
from forward_lineage.cli.plain_text import cell, in_one_line, print_objects
from forward_lineage.cli.question_executors import Asked, ask
from forward_lineage.cli.tables import plain_table


@click.command()
@click.argument("table", shell_complete=completing("all"))
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
    With --rows and --json, each line is a touched row: {"result": …, "row": {…}}. A result that was made of rows
    which are not there any more may be touched or not: it has no number of rows.
    """

    def question(asked: Asked) -> bool:
        found = asked.impact(table, where, ids=ids)
        touched = found.objects()
        rows = [
            _laid_out(asked.forward(table, where, ids=ids, result=each["result"]), each, answer)
            for each in (touched if with_rows else ())
            if each["rows_touched"] is not None
        ]
        note_trust(found.trusted)
        if not answer.as_json:
            _print(touched, nothing=f"No saved result was made from these rows of {table}.")
        elif not with_rows:
            print_objects(touched)
        for show in rows:
            show()
        return bool(touched)

    answer.finish(ask(opening, "impact", question, where))


def _print(touched: Sequence[dict[str, Any]], *, nothing: str) -> None:
    if not touched:
        click.echo(in_one_line(nothing), err=True)
        return
    how = ["through"] if "through" in touched[0] else []  # where a model is on the way
    table = plain_table("result", "touched", "of", "path", *how, right=("touched", "of"))
    for each in touched:
        touches = "?" if each["rows_touched"] is None else f"{each['rows_touched']:,}"
        table.add_row(
            cell(each["result"]), touches, f"{each['rows']:,}", *(cell(each[name]) for name in ("path", *how))
        )
    Console().print(table)


def _laid_out(rows: Rows, touched: dict[str, Any], answer: Answer) -> Callable[[], object]:
    result = touched["result"]
    if not answer.as_json:
        show = answer.laid_out(rows, title=result, total=touched["rows_touched"])

        def below() -> None:
            click.echo()
            show()

        return below
    lines = [f'{{"result":{json.dumps(result)},"row":{line}}}' for line in rows.json_lines(answer.limit)]
    return lambda: print_lines(lines)
