"""`forward-lineage why-not`: which part of a query keeps rows out of a saved result."""

from __future__ import annotations

import click

from forward_lineage.cli.answer_page import Outcome, outcome_options
from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers, where_option
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.spark.progress import spark_progress
from forward_lineage.store.library.library import Library


@click.command("why-not")
@click.argument("result", shell_complete=completing("results"))
@where_option("rows are missing from the result")
@click.option("--table", help="The base table whose rows are missing, with --ids.", shell_complete=completing("all"))
@click.option("--ids", type=Numbers(), help="Their ids.")
@click.option("--version", type=int, help="Of the result.  [default: the newest]")
@outcome_options
@session_options
def why_not(
    *,
    result: str,
    where: str | None,
    table: str | None,
    ids: list[int] | None,
    version: int | None,
    outcome: Outcome,
    opening: Opening,
) -> None:
    """Say which part of the query of the saved result RESULT keeps rows out, and with which values.

    Give --where, a condition that the missing row would meet, or --table and --ids, base rows that are missing.
    """
    if (where is None) == (table is None) or (table is None) != (ids is None):
        raise click.UsageError("Give --where, or --table and --ids.")
    Library(home_folder(opening.home)).get(result, version)  # what is not there is said before Spark starts
    with opening.session("why-not") as lineage, spark_progress(lineage.spark, "following rows"):
        found = lineage.why_not(result, where=where, table=table, ids=ids, version=version)
        outcome.finish(found, "why-not")
