"""`forward-lineage rewrite`: the SQL that would run; no Spark is started."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forward_lineage.cli.inputs import read_catalog, read_sql
from forward_lineage.cli.options import catalog_option, home_option, semantics_option, sql_argument
from forward_lineage.cli.plain_text import plain
from forward_lineage.frontend import explain_sql, layout, rewrite_sql
from forward_lineage.row_ids.registrations import Registrations, home_folder


@click.command()
@sql_argument
@catalog_option
@home_option
@semantics_option
@click.option(
    "--explain", is_flag=True, help="Print how lineage travels instead: what is computed once, what is carried."
)
def rewrite(file: str, catalog_path: Path | None, home: Path | str | None, semantics: str, *, explain: bool) -> None:
    """Print the SQL that also computes DL, the lineage of every row.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    catalog = read_catalog(catalog_path) if catalog_path else Registrations(home_folder(home)).catalog()
    if explain:
        click.echo(plain(explain_sql(read_sql(file), catalog, semantics)))
        return
    sql = layout(rewrite_sql(read_sql(file), catalog, semantics))
    click.echo(plain(sql) if sys.stdout.isatty() else sql)
