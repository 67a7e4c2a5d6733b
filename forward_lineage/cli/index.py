"""`forward-lineage index`: an index of a saved result's lineage, for forward questions; no Spark is started."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from forward_lineage.cli.names import completing
from forward_lineage.cli.options import home_option
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.row_ids.registration_store import home_folder
from forward_lineage.store.library.forward_indexes import IndexReport
from forward_lineage.store.library.library import Library


@click.command()
@click.argument("name", shell_complete=completing("results"))
@home_option
def index(name: str, home: Path | str | None) -> None:
    """Index the lineage of a saved result by base row, so that `forward` reads one file in place of all.

    So does `impact`. It pays if base rows of thousands of segments lie in no order. The command says how long it took,
    and how many bytes it takes.
    """
    library = Library(home_folder(home))
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("indexing", total=1.0)
        report = library.create_index(name, lambda done: bar.update(task, completed=done))
    click.echo(in_one_line(_said(report)))


def _said(report: IndexReport) -> str:
    if not report.pairs:
        return f"{report.name} needs no index: forward questions read few of its segments"
    return (
        f"indexed {report.pairs:,} pairs of {report.name}, version {report.version}, "
        f"in {report.seconds:,.1f} seconds: {report.size:,} bytes"
    )
