"""`forward-lineage explore`: a page of linked views in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from forward_lineage.cli.checks import check_asked_about, check_result
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.pages import check_installed
from forward_lineage.pages.page_definition import over_join, queries_of, read_page
from forward_lineage.showing.plain_text import counted
from forward_lineage.spark.progress import spark_progress
from udafs.errors import LineageError


@click.command()
@click.argument("file", metavar="VIEWS", type=click.Path(path_type=Path))
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at; any but a loopback address lets other machines in, without encryption.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default="any that is free", help="Port to listen at."
)
@click.option("--name", "names", metavar="NAME", multiple=True, help="A further name of this machine to browsers.")
@click.option(
    "--token",
    envvar="FORWARD_LINEAGE_TOKEN",
    show_envvar=True,
    help="What the address must have in it: 16 or more letters, digits, - and _.  [default: a random one]",
)
@click.option("--open", "open_it", is_flag=True, help="Open the page in this machine's browser.")
@session_options
def explore(
    *,
    file: Path,
    host: str,
    port: int,
    names: tuple[str, ...],
    token: str | None,
    open_it: bool,
    opening: Opening,
) -> None:
    """Serve a page of linked views: a brush in one updates all others, a click shows base rows. Ctrl-C ends it.

    VIEWS is a .sql file, each query behind a line -- name: …, or a .toml file with [views.…]; docs/explore.md says
    more. Anybody who has the printed address can look at the page, several people at once.
    """
    check_installed()
    _check(file, opening)
    with opening.session_to_look("explore") as lineage:
        with spark_progress(lineage.spark, "opening the views") as tell:
            page = lineage.explore(
                file, host=host, port=port, token=token, names=names, progress=lambda what: tell(in_one_line(what))
            )
        with page:
            if not page.local:
                note = f"{host} is not a loopback address: other machines reach the page, and read along what is sent"
                click.echo(f"Note: {note}.", err=True)
            click.echo(in_one_line(page.url))
            click.echo(f"{counted(len(page.charts), 'view')}. Ctrl-C ends the page.", err=True)
            if open_it:
                webbrowser.open(page.url)
            try:
                page.wait()
            except KeyboardInterrupt:
                click.echo("stopped", err=True)


def _check(file: Path, opening: Opening) -> None:
    """Check what can be known of the views before Spark starts: their form, and whether there is what they are over.

    Raises:
        LineageError: a view is none, or there is no such table or saved result; the message names file and line.

    """
    asked, joined = over_join(read_page(file))
    queries = queries_of(asked)
    try:
        for table in joined.tables if joined is not None else ():
            check_asked_about(opening, table)
    except LineageError as error:
        raise asked.in_file(error) from None
    for name, view in asked.views.items():
        try:
            if name not in queries:
                check_result(opening, view.sql.strip())
            elif joined is None and "`" not in queries[name].table:  # in backticks Spark knows what it means
                check_asked_about(opening, queries[name].table)
        except LineageError as error:
            raise asked.in_file(error, name) from None
