"""`forward-lineage refresh`: accept that tables have changed."""

from __future__ import annotations

import click

from forward_lineage.cli.names import completing
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.table_summary import in_words
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.spark.progress import spark_progress
from udafs.errors import listed

_LOST = (
    "rows of {table} that {results} were made of are gone with their values; until these are updated, ask with --ids, "
    "not --where"
)


@click.command()
@click.argument("names", nargs=-1, required=True, shell_complete=completing("tables"))
@session_options
def refresh(*, names: tuple[str, ...], opening: Opening) -> None:
    """Accept that tables have changed: rows that are still there keep their ids.

    New rows get ids that no row had; ids of rows that are gone are never given again.
    """
    if opening.catalog is None:
        registrations = Registrations(home_folder(opening.home))
        for name in names:
            registered(registrations, name)  # what is not there is said before Spark starts
    with opening.session("refresh") as lineage:
        before = {each.name.lower(): each.version for each in lineage.tables().values()}
        for name in names:
            with spark_progress(lineage.spark, f"looking at {name}"):
                manifest = lineage.refresh(name)
            same = before.get(name.lower()) == manifest.version
            click.echo(in_one_line(f"{'unchanged' if same else 'refreshed'} {in_words(manifest)}"))
            lost = [] if same else lineage.no_longer_askable(name)
            if lost:
                click.echo(in_one_line(f"Note: {_LOST.format(table=name, results=listed(lost))}"), err=True)
