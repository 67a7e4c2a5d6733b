"""`forward-lineage update`: bring saved results up to date by recomputing what is not proven to be so already."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import json_option
from forward_lineage.cli.own_words import remedies_in_words_of_commands
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.spark.progress import spark_progress
from forward_lineage.store.library.library import Library
from forward_lineage.store.updating.updating import Step, Way


@click.command()
@click.argument("name", required=False, shell_complete=completing("results"))
@click.option("--plan", is_flag=True, help="Say what would become of each result, and why; change nothing.")
@click.option("--full", is_flag=True, help="Run the queries of all results that are behind; prove nothing.")
@json_option
@session_options
def update(*, name: str | None, plan: bool, full: bool, as_json: bool, opening: Opening) -> None:
    """Bring saved results up to date with what they were made of.

    Each comes after those that it reads. With NAME: that result, and all that it was made of. A result stays as it is
    where that is proven to be the same, or has its touched rows or groups made again where a rule says which. Exit code
    1: one could not be brought up to date.
    """
    if name is not None:
        Library(home_folder(opening.home)).get(name)  # what is not there is said before Spark starts
    left = behind = False
    with opening.session("update") as lineage, spark_progress(lineage.spark, "updating"):
        for step in lineage.updates(name, full=full, plan=plan):
            behind = True
            left = left or step.way is Way.LEFT
            click.echo(json.dumps(asdict(step), ensure_ascii=False) if as_json else in_one_line(_in_words(step, plan)))
    if not behind and not as_json:
        click.echo("Nothing is behind.")
    if left:
        raise click.exceptions.Exit(1)


def _in_words(step: Step, plan: bool) -> str:
    version = "" if plan or step.way is Way.LEFT else f", version {step.version}"
    return f"{step.result}{version}: {step.way}, {remedies_in_words_of_commands(step.why)}"
