"""`forward-lineage ls`: what is saved; no Spark is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from forward_lineage.cli.checks import check_home
from forward_lineage.cli.names import completing
from forward_lineage.cli.options import home_option, json_option
from forward_lineage.cli.plain_text import UNCHECKED, cell, in_one_line, plain, print_objects
from forward_lineage.cli.table_summary import as_object, identified_by, knows_rows, place_of, rows_of
from forward_lineage.cli.tables import plain_table
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_array import SavedArray
from forward_lineage.store.library.saved_model import SavedModel
from forward_lineage.store.library.saved_result import SavedResult


@click.command()
@click.argument("name", required=False, shell_complete=completing("results"))
@home_option
@json_option
@click.option("--tables", is_flag=True, help="List the registered tables instead.")
def ls(name: str | None, home: Path | str | None, as_json: bool, tables: bool) -> None:
    """List the saved results; with NAME, all versions of one that are there, its query and its columns."""
    if name is None:
        check_home(home)
    if tables:
        if name is not None:
            raise click.UsageError(f"--tables lists all of them; forward-lineage describe {name} says more of one")
        _list_tables(home, as_json)
        return
    library = Library(home_folder(home))
    if name is not None:
        library.saved(name)  # raises the error that names what there is
    found = library.every()[0] if name is None else library.versions(name)
    if as_json:
        print_objects(map(result_object, found))
    elif found:
        _print(found)
        if name is not None:
            _print_details(found[-1])
    else:
        click.echo("Nothing is saved yet.", err=True)
    for error in library.damaged().values() if name is None else ():
        click.echo(f"Warning: {in_one_line(str(error))}", err=True)


def _list_tables(home: Path | str | None, as_json: bool) -> None:
    found, damaged = Registrations(home_folder(home)).readable()
    found = [each for each in found if each.provider is not Provider.RESULT]
    if as_json:
        print_objects(map(as_object, found))
    elif found:
        Console(highlight=False).print(_table_of_tables(found))
    else:
        click.echo("No table is registered yet.", err=True)
    for error in damaged.values():
        click.echo(f"Warning: {in_one_line(str(error))}", err=True)


def _table_of_tables(found: list[Manifest]) -> Table:
    table = plain_table("table", "version", "rows", "ids", "from", right=("version", "rows"))
    for each in found:
        rows = f"{rows_of(each):,}" if knows_rows(each) else "–"
        ids = identified_by(each) + (" (on trust)" if each.trusted else "")
        table.add_row(cell(each.name), str(each.version), rows, cell(ids), cell(place_of(each)))
    return table


def print_result(saved: Saved) -> None:
    """Print what is known of a saved result, its query and its columns."""
    _print([saved])
    _print_details(saved)


def result_object(saved: Saved) -> dict[str, Any]:
    """Return what is known of a saved result, for JSON."""
    known: dict[str, Any] = {
        "result": saved.name,
        "version": saved.version,
        "rows": saved.rows,
        "semantics": saved.semantics,
        "granularity": saved.granularity,
        "bytes": saved.size,
        "saved_at": saved.saved_at,
    }
    tables = {each.name: _described_table(saved, each) for each in saved.tables}
    if isinstance(saved, SavedResult):
        return {**known, "columns": dict(saved.columns), "tables": tables, "sql": saved.sql}
    if isinstance(saved, SavedArray):
        known |= {"shape": list(saved.shape), "dtype": saved.dtype}
    if isinstance(saved, SavedModel):
        known |= {"estimator": saved.estimator, "parameters": saved.parameters}
    return {**known, "tables": tables, "kind": saved.kind}


def _described_table(saved: Saved, table: TracedTable) -> dict[str, Any]:
    kept = saved.kept_of(table)
    sizes = {"pairs": sum(each.pairs for each in kept), "bytes": sum(each.size for each in kept)}
    known: dict[str, Any] = {"version": table.version, **sizes}
    if not table.is_whole:
        known |= {"captured": str(table.captured), **({"only": table.only} if table.only else {})}
    return {**known, "trusted": True} if table.trusted else known


def _print(found: list[Saved]) -> None:
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


def _print_details(saved: Saved) -> None:
    columns = saved.columns if isinstance(saved, SavedResult) else ()
    shown = (plain(", ".join(f"{column} {kind}" for column, kind in columns)), "") if columns else ()
    Console(highlight=False).print("", *shown, plain(saved.text), sep="\n", markup=False)
    if saved.trusted:
        click.echo(f"\nOn trust: {in_one_line(', '.join(saved.trusted))}. {UNCHECKED}")
