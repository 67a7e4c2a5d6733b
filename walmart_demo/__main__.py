"""`python -m walmart_demo`: one bad item record, and every report it spoiled."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

import walmart_demo
from forward_lineage import ForwardLineage, LineageError
from forward_lineage.spark.local import local_session
from walmart_demo.data import SEED, SMALL, generate
from walmart_demo.items import BAD_RECORD, CATEGORIES
from walmart_demo.paper import TABLE_9
from walmart_demo.sales import STORES
from walmart_demo.story import Damage, Size, correct, damage, open_tables, sizes, strange_receipt

REPORTS = {
    "q1": "scans of store 126",
    "q2": "scans, by visit",
    "q3": "receipts of store 126",
    "q4": "receipts, store's name",
    "q5": "items sold by store",
    "q6": "takings by city",
    "q7": "… by store and category",
    "q8": "… by state and category",
}
_LEGEND = """
[bold]named[/]: rows that lineage says were made of the bad record, known before anything is corrected. \
[bold]wrong[/]: rows that are gone or different once it is taken out.
The other reports do not read item_description, so the record cannot have touched them.
"""

SUSPECTED = ("q3", "q4", "q7", "q8")  # the reports that read item_description


@click.command(help="Tell the story of one bad item record and the reports it spoiled.")
@click.option("--stores", default=SMALL, show_default=True, help=f"Stores to draw; {STORES} is the paper's size.")
@click.option("--seed", default=SEED, show_default=True, help="What the sales are drawn from.")
def main(stores: int, seed: int) -> None:
    """Draw the data, run the reports with lineage, find the bad record, and name what it spoiled."""
    console = Console(highlight=False)
    try:
        folder = generate(stores, seed)
        with tempfile.TemporaryDirectory() as scratch:
            spark = local_session("walmart_demo", driver_memory="2g")
            lineage = open_tables(spark, folder, Path(scratch) / "lineage_home")
            corrected = correct(spark, folder, Path(scratch))
            tell(console, lineage, folder, stores)
            console.print(_damage_table(damage(lineage, SUSPECTED, corrected)))
            console.print(_LEGEND)
            spark.stop()
    except LineageError as error:
        raise click.ClickException(str(error)) from None


def tell(console: Console, lineage: ForwardLineage, folder: Path, stores: int) -> None:
    """Print the story up to the damage: the day, its reports, the strange receipt, the record behind it."""
    rows = {table: pq.read_metadata(folder / f"{table}.parquet").num_rows for table in walmart_demo.TABLES}
    console.rule("One day in the shops")
    console.print(
        f"{rows['store_information']} stores, {rows['store_visits']:,} visits, {rows['item_scan']:,} scans, "
        f"{rows['item_description']:,} items described. Eight reports, each run with its lineage:\n"
    )
    console.print(_size_table(sizes(lineage, walmart_demo.names()), compare=stores == STORES))

    line = strange_receipt(lineage)
    console.rule("A receipt that looks wrong")
    console.print(
        f"Visit {line['visit_nbr']} to store 126 paid [bold]{line['total_scan_amount']}[/] for "
        f"[bold]{line['primary_desc']}[/] (Q3). What was this line made of? Its lineage says:\n"
        f"  row {line['item_scan']} of item_scan, visit {line['store_visits']}, "
        f"item [bold]{line['item_description']}[/]\n"
    )
    console.print(
        f"Cashiers practise with item {BAD_RECORD.item_nbr}; it should never have got a record, least of all one in "
        f"category {CATEGORIES[BAD_RECORD.category_nbr - 1]}. One bad record. Which reports has it spoiled?\n"
    )
    console.rule("What it spoiled")


def _size_table(found: Sequence[Size], *, compare: bool) -> Table:
    """Lay the sizes out; beside the paper's figures there is no room to say what the reports show."""
    titles = ("rows", "base rows a row", "base rows in all")
    if compare:
        table = Table("report", box=SIMPLE_HEAD, pad_edge=False)
        for title in titles:
            table.add_column(title, justify="right")
            table.add_column("paper", justify="right")
    else:
        table = _table(*titles)
    for size in found:
        ours = (f"{size.rows:,}", f"{size.average:,.0f}", f"{size.lineage:,}")
        papers = (f"[dim]{figure:,}[/]" for figure in TABLE_9[size.query])
        cells = chain.from_iterable(zip(ours, papers, strict=True)) if compare else (REPORTS[size.query], *ours)
        table.add_row(size.query.upper(), *cells)
    return table


def _damage_table(found: Sequence[Damage]) -> Table:
    table = _table("rows", "named", "wrong", "wrong, not named", "named, not wrong")
    for report in found:
        figures = (report.rows, report.named, report.wrong, report.unnamed, report.unharmed)
        table.add_row(report.query.upper(), REPORTS[report.query], *(f"{figure:,}" for figure in figures))
    return table


def _table(*figures: str) -> Table:
    table = Table(Column("report", no_wrap=True), Column("shows", no_wrap=True), box=SIMPLE_HEAD, pad_edge=False)
    for title in figures:
        table.add_column(title, justify="right")
    return table


if __name__ == "__main__":
    main()
