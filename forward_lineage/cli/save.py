"""`forward-lineage save`: keep a query's rows with their lineage."""

from __future__ import annotations

from typing import Any

import click

from forward_lineage.cli.checks import check_free, check_statement
from forward_lineage.cli.column_checks import check_foreseen
from forward_lineage.cli.foreseeing import foreseeing_options
from forward_lineage.cli.inputs import read_statement
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import semantics_option, sql_argument
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.stopping import note_done
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.progress import spark_progress
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.library import check_name
from forward_lineage.store.saving.saver import Mode


@click.command()
@sql_argument
@click.argument("name")
@semantics_option
@click.option(
    "--mode",
    type=click.Choice(["overwrite", "append", "error"]),
    default="overwrite",
    show_default=True,
    help="If the name is taken: save a new version, put the rows behind those that are there, or refuse.",
)
@click.option("--keep-versions", is_flag=True, help="Let this version stay readable when a later one is saved.")
@foreseeing_options
@session_options
def save(
    *,
    file: str,
    name: str,
    semantics: str,
    mode: Mode,
    keep_versions: bool,
    foreseen: dict[str, Any],
    opening: Opening,
) -> None:
    """Save the rows of a query and their lineage under a name; saving again makes a new version.

    FILE holds one Spark SQL statement; - reads standard input. Later queries may read the result by its name.
    """
    check_name(name)
    sql = read_statement(file)
    check_free(opening, name)
    check_statement(opening, sql)
    check_foreseen(opening, foreseen)
    with opening.session("save") as lineage:
        with spark_progress(lineage.spark, f"saving {name}"):
            saved = lineage.save(sql, name, semantics=semantics, mode=mode, keep_versions=keep_versions, **foreseen)
        note_done(f"{saved.name}, version {saved.version}, is saved")
        now = [table.name for table in saved.tables if table.captured is Captured.NOW]
        tables, size = ", ".join(now) or "no table", saved.lineage_size
        rows = counted(saved.rows, "row")
        said = f"saved {saved.name}, version {saved.version}: {rows}, lineage in {tables} ({size:,} bytes)"
        later = [table.name for table in saved.tables if table.captured is Captured.LATER]
        click.echo(in_one_line(f"{said}, later in {', '.join(later)}" if later else said))
        for line in lineage.prepared(saved.name):
            click.echo(in_one_line(line))
