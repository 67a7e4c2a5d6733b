"""`forward-lineage run`: rows and their lineage, in a table."""

from __future__ import annotations

import click
from rich.console import Console

from forward_lineage.cli.answers import note_trust, print_lines
from forward_lineage.cli.checks import check_statement
from forward_lineage.cli.frame_rows import FrameRows
from forward_lineage.cli.inputs import read_statement
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import semantics_option, sql_argument
from forward_lineage.cli.pipeline_target import is_target, run_target
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.tables import lineage_table
from forward_lineage.cli.write_summary import said_of_command
from forward_lineage.spark.progress import spark_progress


@click.command()
@sql_argument
@semantics_option
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Rows to show.")
@click.option("--ids", type=click.IntRange(min=1), default=8, show_default=True, help="Row ids to show of each set.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row, with all ids.")
@session_options
def run(*, file: str, semantics: str, limit: int, ids: int, as_json: bool, opening: Opening) -> None:
    """Run a query and show its rows with their lineage.

    FILE holds one Spark SQL statement; - reads standard input. After a command such as CREATE TABLE … AS, you are told
    what it wrote. Or name a step of a file of Python, as pipeline.py:report; steps that need not run are not run.
    """
    if is_target(file):
        with opening.session("run") as lineage:
            frame = run_target(file, lineage)
            if frame is not None:
                _show(FrameRows(frame), limit, ids, as_json)
        return
    sql = read_statement(file)
    check_statement(opening, sql)
    with opening.session_to_look("run") as lineage:
        with spark_progress(lineage.spark, "running the query"):
            found = FrameRows(lineage.sql(sql, semantics))
            written = said_of_command(lineage, sql)
            lines = found.json_lines(limit) if as_json and not written else []
            rows, more = ([], False) if as_json or written else found.first(limit)
        note_trust(found.trusted)
        if written:
            click.echo(in_one_line(written), err=as_json)
        elif as_json:
            print_lines(lines)
        else:
            Console().print(lineage_table(found.columns, rows, ids, more, unit=found.unit))


def _show(found: FrameRows, limit: int, ids: int, as_json: bool) -> None:
    if as_json:
        print_lines(found.json_lines(limit))
        return
    rows, more = found.first(limit)
    Console().print(lineage_table(found.columns, rows, ids, more, unit=found.unit))
