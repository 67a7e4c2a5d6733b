"""`forward-lineage rewrite`: the SQL that would run; no Spark is started."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from sqlglot import exp

from forward_lineage.catalog import Catalog
from forward_lineage.cli.inputs import read_catalog, read_statement
from forward_lineage.cli.options import catalog_option, home_option, semantics_option, sql_argument
from forward_lineage.cli.plain_text import plain
from forward_lineage.frontend import explain_sql, layout, parse, rewrite_sql, rewrite_statement
from forward_lineage.row_ids.registration_store import Registrations, home_folder
from forward_lineage.spark.names import LINEAGE_COLUMN, field_of_dl, string_literal
from udafs.errors import NotTracedError


@click.command()
@sql_argument
@catalog_option
@home_option
@semantics_option
@click.option(
    "--explain", is_flag=True, help="Print how lineage travels instead: what is computed once, what is carried."
)
@click.option("--ids", is_flag=True, help="Let DL be arrays of ids, to be read: as it is, its values are bytes.")
def rewrite(
    file: str, catalog_path: Path | None, home: Path | str | None, semantics: str, *, explain: bool, ids: bool
) -> None:
    """Print the SQL that also computes DL, the lineage of every row.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    catalog = read_catalog(catalog_path) if catalog_path else Registrations(home_folder(home)).catalog()
    text = read_statement(file)
    if explain:
        click.echo(plain(explain_sql(text, catalog, semantics)))
        return
    sql = layout(rewrite_sql(text, catalog, semantics))
    if ids:
        sql = _with_ids(sql, text, catalog, semantics)
    click.echo(plain(sql) if sys.stdout.isatty() else sql)


def _with_ids(sql: str, text: str, catalog: Catalog, semantics: str) -> str:
    """Let a rewritten query return ids in `DL`.

    Raises:
        NotTracedError: it is no query.

    """
    statement = parse(text)
    if not isinstance(statement.tree, exp.Query):
        raise NotTracedError("only a query returns ids", instead="Leave --ids out.")
    tables = rewrite_statement(statement, catalog, semantics).tables
    if not tables:
        return sql
    fields = ", ".join(f"{string_literal(table)}, dl_ids({field_of_dl(table)})" for table in tables)
    return f"SELECT * EXCEPT ({LINEAGE_COLUMN}), named_struct({fields}) AS {LINEAGE_COLUMN}\nFROM (\n{sql}\n) AS traced"
