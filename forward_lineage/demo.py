"""The demo: the paper's store example, then TPC-H Q3, both with the base rows of their results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from forward_lineage.cli.answers import first_rows
from forward_lineage.cli.tables import lineage_table, show
from forward_lineage.frontend import layout
from forward_lineage.session import ForwardLineage
from forward_lineage.spark.local import local_session

# [Zhang 2007, Tables 1-3]; the third store chain is "Macy's".
STORE = """
SELECT * FROM VALUES
  (1, 'Target', 'Palo Alto', 'CA'), (2, 'Target', 'Albany', 'NY'),
  (3, 'Macy\\'s', 'San Francisco', 'CA'), (4, 'Macy\\'s', 'New York City', 'NY') AS store(s_id, s_name, city, state)
"""
ITEM = """
SELECT * FROM VALUES
  (1, 'binder', 'stationery'), (2, 'pencil', 'stationery'), (3, 'shirt', 'clothing'), (4, 'pants', 'clothing'),
  (5, 'pot', 'kitchenware') AS item(i_id, i_name, category)
"""
SALES = """
SELECT * FROM VALUES
  (1, 1, 1, 4, 1000), (2, 1, 2, 1, 3000), (3, 1, 4, 30, 600), (4, 2, 1, 5, 800), (5, 2, 2, 2, 2000), (6, 2, 4, 35, 800),
  (7, 3, 3, 45, 1500), (8, 3, 4, 60, 600), (9, 4, 3, 50, 2100), (10, 4, 4, 70, 1200), (11, 4, 5, 30, 200)
  AS sales(t_id, s_id, i_id, price, num)
"""
# [Zhang 2007, §2.1 and §2.2]
Q1 = """SELECT d.s_name, i.i_name
FROM store d, item i, sales s
WHERE d.s_id = s.s_id
  AND i.i_id = s.i_id
  AND i.category = 'stationery'"""
Q4 = """SELECT temp_tab.s_name, sum(total) AS units
FROM (
  SELECT d.s_name, i.category, sum(s.num) AS total
  FROM item i, store d, sales s
  WHERE s.s_id = d.s_id AND i.i_id = s.i_id
  GROUP BY d.s_name, i.category
  HAVING total > 5000
) AS temp_tab
GROUP BY temp_tab.s_name"""


def run_demo(console: Console, scale: float, master: str = "local[*]") -> None:
    """Show everything on the console.

    Args:
        console: where to.
        scale: TPC-H scale factor; the data are generated once and reused.
        master: Spark master.

    Raises:
        LineageError: Java or the data generator is missing.

    """
    with tempfile.TemporaryDirectory(prefix="forward_lineage-demo-") as home:
        with console.status("starting Spark …"):
            spark = local_session("forward-lineage demo", master=master)
            lineage = ForwardLineage(spark, home)
        try:
            _store_example(console, lineage)
            _tpch(console, lineage, scale)
        finally:
            spark.stop()
    _say(
        console,
        "Next: docs/row-ids.md says what a row id promises; forward-lineage --help lists the commands; the same from "
        "Python: ForwardLineage(spark).sql(…).",
    )


def register_store_example(spark: SparkSession, lineage: ForwardLineage) -> None:
    """Make the paper's three tables as temporary views, identified by their keys."""
    for name, rows, key in (("store", STORE, "s_id"), ("item", ITEM, "i_id"), ("sales", SALES, "t_id")):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows}")
        lineage.register(name, key=key)


def _store_example(console: Console, lineage: ForwardLineage) -> None:
    console.print(Rule("The store example of the paper", style="dim"))
    register_store_example(lineage.spark, lineage)
    with console.status("reading …"):
        tables = [_plain(lineage.spark.table(name), name) for name in ("store", "item", "sales")]
    console.print(Columns(tables, padding=(0, 4)))
    _heading(console, "Who sold stationery?", "Each result row names the rows of store, item and sales it was made of.")
    _query(console, lineage, Q1)
    _heading(
        console,
        "Which chains sold more than 5,000 units of something?",
        "An aggregate over an aggregate: dlunion unites the lineage of every row of a group.",
    )
    _query(console, lineage, Q4)
    _heading(
        console,
        "Sale 4 turns out to be wrong. Which results does it touch?",
        'lineage.affected(query, "sales", where="t_id = 4") gives an id to that one row only.',
    )
    with console.status("running …"):
        frame = lineage.affected(Q4, "sales", where="t_id = 4")
        _print(console, lineage_table(frame.columns, first_rows(frame, 10)[0], 8))


def _tpch(console: Console, lineage: ForwardLineage, scale: float) -> None:
    from tpch_queries import query  # noqa: PLC0415
    from tpch_queries.data import generate  # noqa: PLC0415

    console.print()
    console.print(Rule(f"TPC-H Q3: revenue of orders not yet shipped, scale factor {scale:g}", style="dim"))
    folder = generate(scale)
    tables = ("customer", "orders", "lineitem")
    for table in tables:
        lineage.register(table, path=folder / f"{table}.parquet")
    sql = query("q3")
    with console.status("running …"):
        frame = lineage.sql(sql).cache()
        _print(console, _sizes(frame, tables))
        rows, _ = first_rows(frame, 3)
    _print(console, lineage_table(frame.columns, rows, 3, title="The first three rows"))
    _heading(console, "Back to the base rows of the first one", 'lineage.rows("lineitem", ids) reads them.')
    origin = rows[0][-1].asDict()
    shown = {
        "customer": ("c_custkey", "c_name", "c_mktsegment"),
        "orders": ("o_orderkey", "o_orderdate", "o_totalprice"),
        "lineitem": ("l_orderkey", "l_linenumber", "l_shipdate", "l_extendedprice", "l_discount"),
    }
    with console.status("reading …"):
        for table, columns in shown.items():
            found = lineage.rows(table, origin[table]).select("row_id", *columns)
            _print(console, _plain(found, table))
    frame.unpersist()


def _query(console: Console, lineage: ForwardLineage, sql: str) -> None:
    with console.status("running …"):
        frame = lineage.sql(sql)
        rows, _ = first_rows(frame, 10)
    original, rewritten = _sql(sql, "the query"), _sql(layout(lineage.rewrite(sql)), "what runs")
    if console.width >= 120:  # else the rewritten text would be broken into pieces
        grid = Table.grid(padding=(0, 4))
        grid.add_row(original, rewritten)
        _print(console, grid)
    else:
        _print(console, original)
        _print(console, rewritten)
    _print(console, lineage_table(frame.columns, rows, 8))


def _sql(text: str, title: str) -> RenderableType:
    code = Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True)
    return Group(Text(title, style="dim"), code)


def _sizes(frame: DataFrame, tables: Sequence[str]) -> Table:
    """Tabulate how many base rows the result rows were made of, and how many bytes say so."""
    measures = [f"sum(dl_size(DL.{table})), sum(length(DL.{table}))" for table in tables]
    row = frame.selectExpr("DL").selectExpr("count(*)", *", ".join(measures).split(", ")).first()
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
    console.print(Padding(what, (1, 0, 0, 2)))


def _say(console: Console, text: str) -> None:
    console.print(Padding(Text(text), (1, 0, 0, 0)))
