"""`forward-lineage ls`: what is saved; no Spark is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from forward_lineage.cli.inputs import home_option
from forward_lineage.cli.sessions import plain_table
from forward_lineage.row_ids.registrations import home_folder
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult


@click.command()
@click.argument("name", required=False)
@home_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def ls(name: str | None, home: Path | None, as_json: bool) -> None:
    """List the saved results; with NAME, all versions of one that are there, its query and its columns."""
    library = Library(home_folder(home))
    if name is not None:
        library.get(name)  # raises the error that names what there is
    found = library.results() if name is None else library.versions(name)
    if as_json:
        for saved in found:
            click.echo(json.dumps(_described(saved), ensure_ascii=False))
    elif found:
        _print(found, detailed=name is not None)
    else:
        click.echo("Nothing is saved yet.", err=True)
    for error in library.damaged().values() if name is None else ():
        click.echo(f"Warning: {' '.join(str(error).split())}", err=True)


def _described(saved: SavedResult) -> dict[str, Any]:
    return {
        "result": saved.name,
        "version": saved.version,
        "rows": saved.rows,
        "semantics": saved.semantics,
        "granularity": saved.granularity,
        "bytes": saved.size,
        "saved_at": saved.saved_at,
        "columns": dict(saved.columns),
        "tables": {
            table.name: {"version": table.version, "pairs": table.pairs, "bytes": table.size} for table in saved.tables
        },
        "sql": saved.sql,
    }


def _print(found: list[SavedResult], detailed: bool) -> None:
    numbers = ("version", "rows", "pairs", "bytes")
    table = plain_table("result", "version", "rows", "pairs", "bytes", "lineage", "made of", right=numbers)
    for saved in found:
        lineage = saved.semantics if saved.granularity == "rows" else f"{saved.semantics}, granules"
        made_of = ", ".join(each.name for each in saved.tables)
        sizes = (f"{saved.rows:,}", f"{saved.pairs:,}", f"{saved.size:,}")
        table.add_row(saved.name, str(saved.version), *sizes, lineage, made_of)
    console = Console(highlight=False)
    console.print(table)
    if detailed:
        newest = found[-1]
        console.print()
        console.print(", ".join(f"{column} {kind}" for column, kind in newest.columns), markup=False)
        console.print()
        console.print(newest.sql.strip(), markup=False)
