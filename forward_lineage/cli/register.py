"""`forward-lineage register`: give the rows of a table ids. The home keeps it, for other commands and for Python."""

from __future__ import annotations

from pathlib import Path

import click

from forward_lineage.cli.files_to_register import check_files
from forward_lineage.cli.inputs import is_catalog_file, names_in_catalog
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Setting
from forward_lineage.cli.plain_text import in_one_line
from forward_lineage.cli.stopping import note_done
from forward_lineage.cli.table_summary import in_words
from forward_lineage.row_ids.catalog_file import arguments_of
from forward_lineage.row_ids.registration_request import Request
from forward_lineage.spark.progress import spark_progress


@click.command()
@click.argument("name", required=False)
@click.option("--path", "paths", multiple=True, help="What to read: a file, a folder, an address, a pattern.")
@click.option("--key", "keys", multiple=True, help="A unique, non-negative integer column, or several unique ones.")
@click.option("--order-by", multiple=True, help="Make a copy, with ids in this order.")
@click.option("--row-id", metavar="SQL", help="An expression that is a row id already.")
@click.option("--source", metavar="TABLE", help="A table or view that Spark knows, to be copied.")
@click.option("--format", "file_format", default="parquet", show_default=True, help="Of the files: csv, json, orc, …")
@click.option("--option", "options", type=Setting(), multiple=True, help="Of Spark's reader, e.g. header=true.")
@click.option("--trusted", is_flag=True, help="Take it on trust that the key is unique and changes do no harm.")
@click.option("--hashes", is_flag=True, help="Keep a hash of each row, to tell later which rows changed.")
@session_options
def register(
    *,
    name: str | None,
    paths: tuple[str, ...],
    keys: tuple[str, ...],
    order_by: tuple[str, ...],
    row_id: str | None,
    source: str | None,
    file_format: str,
    options: tuple[tuple[str, str], ...],
    trusted: bool,
    hashes: bool,
    opening: Opening,
) -> None:
    """Give the rows of a table ids, so that queries over it can be traced.

    With --catalog and no NAME: every table of a catalog file or folder. The home keeps what is registered.

    \b
    forward-lineage register part --path data/part.parquet
    forward-lineage register sales --path sales.csv --format csv --option header=true
    forward-lineage register --catalog tables.toml
    """  # noqa: D301 - \b keeps click from joining lines
    request = None
    if name is not None:
        request = Request(
            name,
            key=_one_or_several(keys),
            path=_one_or_several(paths),
            order_by=list(order_by) or None,
            row_id=row_id,
            source=source,
            file_format=file_format,
            options=dict(options),
            trusted=trusted,
            hashes=hashes,
        )
        request.check()
        check_files(request)
    names = _in_catalog(opening.catalog) if name is None else [name]
    with opening.session("register") as lineage:  # which registers what is in the catalog
        if request is not None:
            with spark_progress(lineage.spark, f"registering {request.name}"):
                lineage.register(request.name, **arguments_of(request))
        note_done(f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} registered")
        known = {each.lower(): manifest for each, manifest in lineage.tables().items()}
        for each in names:
            click.echo(in_one_line(f"registered {in_words(known[each.lower()])}"))


def _one_or_several(given: tuple[str, ...]) -> str | list[str] | None:
    if len(given) > 1:
        return list(given)
    return given[0] if given else None


def _in_catalog(catalog: Path | None) -> list[str]:
    """The tables that a catalog has to be registered.

    Raises:
        LineageError: the catalog cannot be read.

    """
    if catalog is None:
        raise click.UsageError("name a table, or a catalog of tables with --catalog")
    if not (catalog.is_dir() or is_catalog_file(catalog)):
        raise click.UsageError("a JSON catalog is for queries alone; write a catalog file in TOML, see --help")
    return names_in_catalog(catalog)
