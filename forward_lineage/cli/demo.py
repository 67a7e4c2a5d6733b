"""`forward-lineage demo`: the paper's store example, then TPC-H Q3, both with the base rows of their results."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence

import click
from pyspark.sql import DataFrame
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from forward_lineage.cli.frame_rows import FrameRows
from forward_lineage.cli.tables import lineage_table, show
from forward_lineage.demo.store_example import Q1, Q4, register_store_example
from forward_lineage.demo.tpch_data import generate
from forward_lineage.demo.tpch_query import Q3
from forward_lineage.frontend import layout
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.local import local_session

#: The tables of Q3, and which of their columns are shown.
SHOWN = {
    "customer": ("c_custkey", "c_name", "c_mktsegment"),
    "orders": ("o_orderkey", "o_orderdate", "o_totalprice"),
    "lineitem": ("l_orderkey", "l_linenumber", "l_shipdate", "l_extendedprice", "l_discount"),
}
_STATIONERY = "Who sold stationery?", "Each result row names the rows of store, item and sales it was made of."
_UNITS = (
    "Which chains sold more than 5,000 units of something?",
    "An aggregate over an aggregate: dlunion unites the lineage of every row of a group.",
)
_WRONG = (
    "Sale 4 turns out to be wrong. Which results does it touch?",
    'lineage.affected(query, "sales", where="t_id = 4") gives an id to that one row only.',
)
_NEXT = (
    "Next: forward-lineage --help lists the commands; the same from Python: ForwardLineage(spark).sql(…); "
    "docs/row-ids.md in the repository says what a row id promises."
)
_INDENT = 2


@click.command()
@click.option(
    "--scale", type=click.FloatRange(min=0, min_open=True), default=0.1, show_default=True, help="TPC-H scale factor."
)
@click.option("--master", default="local[*]", show_default=True, help="Spark master.")
def demo(scale: float, master: str) -> None:
    """Show the paper's store example and a TPC-H query, with the base rows of their results."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="forward_lineage-demo-") as home:
        with console.status("starting Spark …"):
            spark = local_session("forward-lineage demo", master=master)
            lineage = ForwardLineage(spark, home)
        try:
            _store_example(console, lineage)
            _tpch(console, lineage, scale)
        finally:
            spark.stop()
    console.print(Padding(Text(_NEXT), (1, 0, 0, 0)))


def _store_example(console: Console, lineage: ForwardLineage) -> None:
    console.print(Rule("The store example of the paper", style="dim"))
    register_store_example(lineage.spark, lineage)
    with console.status("reading …"):
        tables = [_plain(lineage.spark.table(name), name) for name in ("store", "item", "sales")]
    console.print(Columns(tables, padding=(0, 4)))
    for (question, explanation), sql in ((_STATIONERY, Q1), (_UNITS, Q4)):
        _heading(console, question, explanation)
        _query(console, lineage, sql)
    _heading(console, *_WRONG)
    with console.status("running …"):
        frame = lineage.affected(Q4, "sales", where="t_id = 4")
        _print(console, lineage_table(frame.columns, FrameRows(frame).first(10)[0], 8))


def _tpch(console: Console, lineage: ForwardLineage, scale: float) -> None:
    console.print()
    console.print(Rule(f"TPC-H Q3: revenue of orders not yet shipped, scale factor {scale:g}", style="dim"))
    folder = generate(scale)
    for table in SHOWN:
        lineage.register(table, path=folder / f"{table}.parquet")
    _print(console, _sql(Q3.strip(), "the query"))
    with console.status("running …"):
        frame = lineage.sql(Q3).cache()
        _print(console, _sizes(frame, tuple(SHOWN)))
        rows, _ = FrameRows(frame).first(3)
    _print(console, lineage_table(frame.columns, rows, 3, title="The first three rows"))
    _base_rows(console, lineage, rows[0][-1].asDict())
    frame.unpersist()


def _base_rows(console: Console, lineage: ForwardLineage, origin: Mapping[str, Iterable[int]]) -> None:
    _heading(console, "Back to the base rows of the first one", 'lineage.rows("lineitem", ids) reads them.')
    with console.status("reading …"):
        for table, columns in SHOWN.items():
            found = lineage.rows(table, origin[table]).select("row_id", *columns)
            _print(console, _plain(found, table))


def _query(console: Console, lineage: ForwardLineage, sql: str) -> None:
    with console.status("running …"):
        frame = lineage.sql(sql)
        rows, _ = FrameRows(frame).first(10)
    _print(console, _sql(sql, "the query"))
    _print(console, _sql(layout(lineage.rewrite(sql), console.width - _INDENT), "the query that runs"))
    _print(console, lineage_table(frame.columns, rows, 8))


def _sql(text: str, title: str) -> RenderableType:
    code = Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True)
    return Group(Text(title, style="dim"), code)


def _sizes(frame: DataFrame, tables: Sequence[str]) -> Table:
    """Tabulate how many base rows the result rows were made of, and how many bytes say so."""
    measures = [f"sum({measure}(DL.{table}))" for table in tables for measure in ("dl_size", "length")]
    row = frame.selectExpr("DL").selectExpr("count(*)", *measures).first()
    assert row is not None
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("lineage in", "result rows", "base rows", "per result row", "bytes per result row"):
        table.add_column(column, justify="left" if column == "lineage in" else "right")
    for place, name in enumerate(tables):
        ids, size = row[1 + 2 * place], row[2 + 2 * place]
        table.add_row(name, f"{row[0]:,}", f"{ids:,}", f"{ids / row[0]:.1f}", f"{size / row[0]:.1f}")
    return table


def _plain(frame: DataFrame, title: str) -> Table:
    table = Table(
        box=None, header_style="bold", title=title, title_justify="left", pad_edge=False, padding=(0, 2, 0, 0)
    )
    rows = frame.collect()
    for place, column in enumerate(frame.columns):
        numeric = bool(rows) and all(not isinstance(row[place], str) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*[show(value) for value in row])
    return table


def _heading(console: Console, question: str, explanation: str) -> None:
    console.print()
    console.print(Text(question, style="bold"))
    console.print(Text(explanation, style="dim"))


def _print(console: Console, what: RenderableType) -> None:
    console.print(Padding(what, (1, 0, 0, _INDENT)))
