"""`forward-lineage run`: rows and their lineage, in a table."""

from __future__ import annotations

import click
from rich.console import Console

from forward_lineage.cli.answers import first_rows, note_trust, print_rows
from forward_lineage.cli.inputs import read_sql
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import semantics_option, sql_argument
from forward_lineage.cli.tables import lineage_table


@click.command()
@sql_argument
@semantics_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show.")
@click.option("--ids", type=click.IntRange(min=1), default=8, show_default=True, help="Row ids to show of each set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row, with all ids.")
@session_options
def run(*, file: str, semantics: str, limit: int, ids: int, as_json: bool, opening: Opening) -> None:
    """Run a query and show its rows with their lineage.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    sql = read_sql(file)
    with opening.session_to_look("run") as lineage:
        frame = lineage.sql(sql, semantics)
        note_trust(frame)
        if as_json:
            print_rows(frame, limit)
        else:
            rows, more = first_rows(frame, limit)
            Console().print(lineage_table(frame.columns, rows, ids, more))
