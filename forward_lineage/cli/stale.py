"""`forward-lineage stale`: saved results whose inputs have changed since."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.sessions import exit_code_option, finish, opened, session_options, show_rows


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@exit_code_option
@session_options
def stale(*, as_json: bool, exit_code: bool, home: Path | None, catalog_path: Path | None, master: str) -> None:
    """List the saved results whose inputs have changed since they were saved, and what has changed."""
    with opened("stale", home, catalog_path, master) as lineage:
        found = show_rows(lineage.stale(), None, as_json, "Nothing is stale.")
    finish(found, exit_code)
