"""`forward-lineage capture`: the lineage that a save left for later."""

from __future__ import annotations

import click

from forward_lineage.cli.checks import check_result
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.spark.progress import spark_progress


@click.command()
@click.argument("name", shell_complete=completing("results"))
@session_options
def capture(*, name: str, opening: Opening) -> None:
    """Capture the lineage that `save --capture later` left out, before the first question does.

    Its query runs again, on the same versions of its tables, and must give the rows that were saved.
    """
    check_result(opening, name)
    with opening.session("capture") as lineage:
        with spark_progress(lineage.spark, f"capturing the lineage of {name}"):
            saved = lineage.capture(name)
        click.echo(in_one_line(f"captured the lineage of {saved.name}, version {saved.version}"))
