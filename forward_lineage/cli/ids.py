"""`forward-lineage ids`: which id order makes lineage small, from evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from forward_lineage.cli.checks import check_statement
from forward_lineage.cli.inputs import read_statement
from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Order, semantics_option, sql_argument
from forward_lineage.cli.plain_text import cell
from forward_lineage.cli.tables import plain_table
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.row_ids.clustering import Clustering, lineage_pairs, measure, ranks_under
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.progress import spark_progress
from udafs.errors import BadArgumentError, NotTracedError


@click.command()
@sql_argument
@semantics_option
@click.option(
    "--order-by",
    "orders",
    type=Order(),
    multiple=True,
    help="Another id order to measure, e.g. lineitem=l_shipdate; may be given several times.",
)
@session_options
def ids(*, file: str, semantics: str, orders: tuple[tuple[str, str], ...], opening: Opening) -> None:
    """Measure how clustered and how replicated the lineage of a query is.

    Neighbouring ids make small lineage. For each table, see the present ids and every order given with --order-by: a
    copy registered in that order (order_by=) would have these figures.

    FILE holds one Spark SQL statement; - reads standard input.
    """
    sql = read_statement(file)
    check_statement(opening, sql)
    with opening.session_to_look("ids") as lineage:
        with spark_progress(lineage.spark, "measuring"):
            found = measure_orders(lineage, sql, semantics, orders)
        Console().print(clustering_table(found))


def measure_orders(
    lineage: ForwardLineage, sql: str, semantics: str, orders: Sequence[tuple[str, str]]
) -> list[tuple[str, Clustering]]:
    """Measure the lineage of a query in every table, under the present ids and under other orders.

    Args:
        lineage: the session.
        sql: the query.
        semantics: ``"data"`` or ``"control"``.
        orders: (table, sort keys) to measure too.

    Returns:
        (table, figures), the tables in the order of `DL`.

    Raises:
        LineageError: as for `ForwardLineage.sql`.
        NotTracedError: the statement returns no lineage.
        BadArgumentError: an order names a table that the query does not trace.
        WrongSqlError: an order names a key that the table does not have.

    """
    frame = lineage.sql(sql, semantics)
    if frame.columns[-1:] != [LINEAGE_COLUMN]:
        raise NotTracedError("this statement has no lineage to measure", instead="Give a query of a registered table.")
    tables = frame.schema[LINEAGE_COLUMN].dataType.fieldNames()  # type: ignore[attr-defined]
    _refuse_other_tables(orders, tables)
    found = []
    with _kept(frame.select(LINEAGE_COLUMN)) as kept:
        for table in tables:
            pairs = lineage_pairs(kept, table)
            found.append((table, measure(pairs)))
            for keys in (keys for other, keys in orders if other.lower() == table.lower()):
                found.append((table, measure(pairs, keys, ranks_under(lineage.rows(table), [keys]))))
    return found


def _refuse_other_tables(orders: Sequence[tuple[str, str]], tables: Sequence[str]) -> None:
    for table, _ in orders:
        if table.lower() not in [known.lower() for known in tables]:
            raise BadArgumentError(f"the query does not trace {table}", instead=f"It traces {', '.join(tables)}.")


@contextmanager
def _kept(frame: DataFrame) -> Iterator[DataFrame]:
    """Compute rows once for all that is asked of them in the block."""
    frame = frame.cache()
    try:
        yield frame
    finally:
        frame.unpersist()


def clustering_table(found: Sequence[tuple[str, Clustering]]) -> Table:
    """Lay the figures out in the manner of the paper's Table 7."""
    figures = ("rows", "ids a row", "replication", "clustered %", "bytes")
    table = plain_table("table", "id order", *figures, right=figures)
    for name, one in found:
        table.add_row(
            cell(name),
            cell(one.order) if one.order else "as they are",
            f"{one.rows:,}",
            f"{one.average:,.1f}",
            f"{one.replication:,.1f}",
            f"{one.clustering:.2f}",
            f"{one.size:,}",
        )
    return table
