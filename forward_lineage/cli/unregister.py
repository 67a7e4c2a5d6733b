"""`forward-lineage unregister`: forget registered tables; no Spark is started."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from forward_lineage.cli.names import completing
from forward_lineage.cli.options import home_option
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.name_lookup import registered
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from udafs.errors import BadArgumentError


@click.command()
@click.argument("names", nargs=-1, required=True, shell_complete=completing("tables"))
@home_option
def unregister(names: tuple[str, ...], home: Path | str | None) -> None:
    """Forget registered tables; saved results keep the lineage they have."""
    registrations = Registrations(home_folder(home))
    found = [registered(registrations, name) for name in names]
    for manifest in found:
        if manifest.provider is Provider.RESULT:
            instead = f"forward-lineage drop {manifest.name} forgets it."
            raise BadArgumentError(f"{manifest.name} is a saved result", instead=instead)
    for manifest in found:
        registrations.write(partial(_dropped, manifest), manifest.name)
        click.echo(in_one_line(f"unregistered {manifest.name}"))


def _dropped(known: Manifest, last: Manifest | None) -> Manifest:
    return replace(last or known, provider=Provider.DROPPED)
