"""`forward-lineage compare`: which rows differ between two versions, and which base rows that is due to."""

from __future__ import annotations

import click

from forward_lineage.cli.answer_page import Outcome, outcome_options
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import where_option
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.spark.progress import spark_progress
from forward_lineage.store.library.library import Library


@click.command()
@click.argument("name", shell_complete=completing("results"))
@click.option("--before", type=int, help="The earlier version.  [default: the one before --after]")
@click.option("--after", type=int, help="The later version.  [default: the newest]")
@click.option("--key", multiple=True, help="A column that tells rows apart; again for more.  [default: GROUP BY]")
@click.option("--by", multiple=True, help="A column of the tables by which differences are added up; again for more.")
@where_option("rows of either version")
@outcome_options
@session_options
def compare(
    *,
    name: str,
    before: int | None,
    after: int | None,
    key: tuple[str, ...],
    by: tuple[str, ...],
    where: str | None,
    outcome: Outcome,
    opening: Opening,
) -> None:
    """Say which rows of the saved result NAME differ between two versions, and what that is due to.

    Differences of sums, counts and averages are attributed to base rows. Save with --keep-versions to have versions.
    """
    library = Library(home_folder(opening.home))
    for version in (before, after):
        library.get(name, version)  # what is not there is said before Spark starts
    with opening.session("compare") as lineage, spark_progress(lineage.spark, "comparing"):
        found = lineage.compare(name, before, after, key=key or None, by=by, where=where)
        outcome.finish(found, "compare")
