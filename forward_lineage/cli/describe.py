"""`forward-lineage describe`: what is known of a table or a saved result; no Spark is started."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.ls import print_result, result_object
from forward_lineage.cli.names import completing
from forward_lineage.cli.options import home_option, json_option
from forward_lineage.cli.plain_text import UNCHECKED, in_one_line, print_objects
from forward_lineage.cli.table_summary import as_object, described_table
from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved import Saved


@click.command()
@click.argument("name", shell_complete=completing("all"))
@home_option
@json_option
def describe(name: str, home: Path | str | None, as_json: bool) -> None:
    """Say what is known of a registered table or a saved result."""
    found = known(home, name)
    if as_json:
        print_objects([as_object(found) if isinstance(found, Manifest) else result_object(found)])
    elif isinstance(found, Manifest):
        click.echo(described_table(found))
        if found.trusted:
            click.echo(f"On trust: {in_one_line(found.name)}. {UNCHECKED}", err=True)
    else:
        print_result(found)


def known(home: Path | str | None, name: str) -> Manifest | Saved:
    """Return what a name means in a home.

    Raises:
        NotRegisteredError: nothing.

    """
    place = home_folder(home)
    return Library(place).find(name) or registered(Registrations(place), name)
