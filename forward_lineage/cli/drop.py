"""`forward-lineage drop`: forget a saved result; no Spark is started."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.names import completing
from forward_lineage.cli.options import home_option
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.store.library.library import Library
from forward_lineage.workloads.form_files import FormShelf


@click.command()
@click.argument("name", shell_complete=completing("results"))
@home_option
def drop(name: str, home: Path | str | None) -> None:
    """Forget a saved result; results that were made of it can be traced as before."""
    Library(home_folder(home)).drop(name)
    FormShelf(home_folder(home)).forget(name)
    click.echo(in_one_line(f"dropped {name}"))
