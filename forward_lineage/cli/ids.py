"""`forward-lineage ids`: which id order makes lineage small, from evidence."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from forward_lineage.cli.inputs import catalog_option, home_option, read_sql, semantics_option, sql_argument
from forward_lineage.cli.sessions import opened_to_look
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.row_ids.clustering import Clustering, lineage_pairs, measure, ranks_under
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.progress import spark_progress
from udafs.errors import LineageError


@click.command()
@sql_argument
@catalog_option
@home_option
@semantics_option
@click.option(
    "--order-by",
    "orders",
    metavar="TABLE=KEYS",
    multiple=True,
    help="Another id order to measure, e.g. lineitem=l_shipdate; may be given several times.",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
def ids(
    *, file: str, catalog_path: Path | None, home: Path | None, semantics: str, orders: tuple[str, ...], master: str
) -> None:
    """Measure how clustered and how replicated the lineage of a query is.

    Neighbouring ids make small lineage. For each table, the ids as they are and every order given with --order-by:
    a copy registered in that order (order_by=) would have these figures.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    sql = read_sql(file)
    wanted = [_split_order(order) for order in orders]
    with opened_to_look("ids", home, catalog_path, master) as lineage:
        with spark_progress(lineage.spark, "measuring"):
            found = measure_orders(lineage, sql, semantics, wanted)
        Console().print(clustering_table(found))


def measure_orders(
    lineage: ForwardLineage, sql: str, semantics: str, orders: list[tuple[str, str]]
) -> list[tuple[str, Clustering]]:
    """Measure the lineage of a query in every table, under the ids as they are and under other orders.

    Args:
        lineage: the session.
        sql: the query.
        semantics: ``"data"`` or ``"control"``.
        orders: (table, sort keys) to measure too.

    Returns:
        (table, figures), the tables in the order of `DL`.

    Raises:
        LineageError: an order names a table that the query does not trace, or a key that the table does not have.

    """
    frame = lineage.sql(sql, semantics)
    if frame.columns[-1] != LINEAGE_COLUMN:
        raise LineageError("this statement has no lineage to measure")
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    for table, _ in orders:
        if table.lower() not in [known.lower() for known in tables]:
            raise LineageError(f"the query does not trace {table}", instead=f"It traces {', '.join(tables)}.")
    found = []
    frame = frame.select(LINEAGE_COLUMN).cache()
    try:
        for table in tables:
            pairs = lineage_pairs(frame, table)
            found.append((table, measure(pairs)))
            for other, keys in orders:
                if other.lower() == table.lower():
                    ranks = ranks_under(lineage.rows(table), [keys])
                    found.append((table, measure(pairs, keys, ranks)))
    finally:
        frame.unpersist()
    return found


def clustering_table(found: list[tuple[str, Clustering]]) -> Table:
    """Lay the figures out in the manner of the paper's Table 7."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("table")
    table.add_column("id order")
    for column in ("rows", "ids a row", "replication", "clustered %", "bytes"):
        table.add_column(column, justify="right")
    for name, one in found:
        table.add_row(
            name,
            one.order or "as they are",
            f"{one.rows:,}",
            f"{one.average:,.1f}",
            f"{one.replication:,.1f}",
            f"{one.clustering:.2f}",
            f"{one.size:,}",
        )
    return table


def _split_order(order: str) -> tuple[str, str]:
    table, equals, keys = order.partition("=")
    if not equals or not table.strip() or not keys.strip():
        raise click.BadParameter(f"{order!r} is not TABLE=KEYS, e.g. lineitem=l_shipdate", param_hint="--order-by")
    return table.strip(), keys.strip()
