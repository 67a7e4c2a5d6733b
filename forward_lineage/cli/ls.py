"""`forward-lineage ls`: what is saved; no Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from forward_lineage.cli.answers import UNCHECKED, print_objects
from forward_lineage.cli.options import home_option, json_option
from forward_lineage.cli.plain_text import cell, in_one_line, plain
from forward_lineage.cli.tables import plain_table
from forward_lineage.row_ids.registrations import home_folder
from forward_lineage.store.library.captured import Captured
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable


@click.command()
@click.argument("name", required=False)
@home_option
@json_option
def ls(name: str | None, home: Path | str | None, as_json: bool) -> None:
    """List the saved results; with NAME, all versions of one that are there, its query and its columns."""
    library = Library(home_folder(home))
    if name is not None:
        library.get(name)  # raises the error that names what there is
    found = library.results() if name is None else library.versions(name)
    if as_json:
        print_objects(map(_described, found))
    elif found:
        _print(found)
        if name is not None:
            _print_details(found[-1])
    else:
        click.echo("Nothing is saved yet.", err=True)
    for error in library.damaged().values() if name is None else ():
        click.echo(f"Warning: {in_one_line(str(error))}", err=True)


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
        "tables": {each.name: _described_table(saved, each) for each in saved.tables},
        "sql": saved.sql,
    }


def _described_table(saved: SavedResult, table: TracedTable) -> dict[str, Any]:
    kept = saved.kept_of(table)
    sizes = {"pairs": sum(each.pairs for each in kept), "bytes": sum(each.size for each in kept)}
    known: dict[str, Any] = {"version": table.version, **sizes}
    if not table.is_whole:
        known |= {"captured": str(table.captured), **({"only": table.only} if table.only else {})}
    return {**known, "trusted": True} if table.trusted else known


def _print(found: list[SavedResult]) -> None:
    numbers = ("version", "rows", "pairs", "bytes")
    table = plain_table("result", *numbers, "lineage", "made of", right=numbers)
    for saved in found:
        lineage = saved.semantics if saved.granularity == "rows" else f"{saved.semantics}, granules"
        made_of = ", ".join(map(_named, saved.tables))
        sizes = (f"{saved.rows:,}", f"{saved.pairs:,}", f"{saved.size:,}")
        table.add_row(cell(saved.name), str(saved.version), *sizes, lineage, cell(made_of))
    Console(highlight=False).print(table)


_CAPTURED = {Captured.NOW: "in part", Captured.LATER: "later", Captured.NEVER: "not captured"}


def _named(table: TracedTable) -> str:
    notes = ["on trust"] if table.trusted else []
    notes += [] if table.is_whole else [_CAPTURED[table.captured]]
    return f"{table.name} ({', '.join(notes)})" if notes else table.name


def _print_details(saved: SavedResult) -> None:
    columns = ", ".join(f"{column} {kind}" for column, kind in saved.columns)
    shown = plain(columns), "", plain(saved.sql.strip())
    Console(highlight=False).print("", *shown, sep="\n", markup=False)
    if saved.trusted:
        click.echo(f"\nOn trust: {in_one_line(', '.join(saved.trusted))}. {UNCHECKED}")
