"""`forward-lineage graph`: pictures of the saved results and of one row's lineage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from forward_lineage.cli.opening import Opening, session_options
from forward_lineage.cli.options import Numbers
from forward_lineage.drawing.canvas import Canvas, shortened
from forward_lineage.drawing.pipeline import Step, draw_pipeline
from forward_lineage.drawing.robdd import draw_robdd
from forward_lineage.session import ForwardLineage
from forward_lineage.store.asking.pipeline import Node, Pipeline, node_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help=".svg, .pdf, .png")
@click.option("--impact", metavar="'TABLE WHERE …'", help="Paint in what these rows touch: sales WHERE t_id = 4")
@click.option("--result", help="Draw the roBDD of rows of this saved result instead.")
@click.option("--row", "rows", type=Numbers(), help="The rows, by number from 0; some share their nodes.")
@click.option("--table", help="The base table.  [default: the only one]")
@session_options
def graph(
    *,
    output: Path,
    impact: str | None,
    result: str | None,
    rows: list[int] | None,
    table: str | None,
    opening: Opening,
) -> None:
    """Draw which results were made of which tables, with an impact painted in; or the roBDD of some rows' lineage.

    \b
    forward-lineage graph -o pipeline.svg
    forward-lineage graph --impact "lineitem WHERE l_orderkey = 7" -o impact.svg
    forward-lineage graph --result revenue --row 3 --table lineitem -o row.svg
    """  # noqa: D301 - \b keeps click from joining lines
    if (result is None) != (rows is None):
        raise click.UsageError("--result and --row go together: whose lineage is to be drawn")
    if result is not None and impact is not None:
        raise click.UsageError("--impact is about all results, --result about one: give one of the two")
    with opening.session("graph") as lineage:
        if result is not None and rows is not None:
            picture = row_picture(lineage, result, rows, table)
        else:
            picture = pipeline_picture(lineage, *_split(impact))
        picture.save(output)
    click.echo(output)


def _split(impact: str | None) -> tuple[str | None, str | None]:
    """Take `TABLE WHERE …` or `TABLE` apart."""
    if impact is None:
        return None, None
    table, _, rest = impact.strip().partition(" ")
    word, _, where = rest.strip().partition(" ")
    if not table or (rest and (word.upper() != "WHERE" or not where.strip())):
        raise click.BadParameter(f"{impact!r} is not TABLE WHERE …, e.g. sales WHERE t_id = 4", param_hint="--impact")
    return table, where.strip() or None


def row_picture(lineage: ForwardLineage, result: str, rows: Sequence[int], table: str | None) -> Canvas:
    """Draw the shared roBDD of the lineage of some rows of a saved result.

    Raises:
        LineageError: there is no such result or table, or the picture would be too large to read.

    """
    saved = lineage.describe(result)
    sets = {row: lineage.backward_ids(result, rows=[row], table=table) for row in rows}
    on = table or saved.tables[0].name
    which = f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows))}"
    return draw_robdd(sets, f"Lineage of {shortened(which, 40)} of {saved.name} on {on}")


def pipeline_picture(lineage: ForwardLineage, table: str | None = None, where: str | None = None) -> Canvas:
    """Draw what was made of what, and paint in what some rows touch.

    Args:
        lineage: the session.
        table: where suspected rows are; None for no impact.
        where: which ones, as a condition over the table's columns; None for all of them.

    Raises:
        LineageError: as for `ForwardLineage.impact`.

    """
    library = Library(lineage.home)
    newest = library.results()
    nodes = Pipeline(library, newest).nodes
    touched = None if table is None else _touched(lineage, table, where)
    stale = {row["result"].lower() for row in lineage.stale().collect()}
    title = "Saved results" if table is None else f"Impact of {table}" + (f" where {where}" if where else "")
    return draw_pipeline(steps(nodes, {node_of(each) for each in newest}, touched, stale), shortened(title, 90))


def _touched(lineage: ForwardLineage, table: str, where: str | None) -> dict[str, int]:
    """Count the rows that are touched of each result, and the suspected ones; names in lower case."""
    rows = lineage.result(table) if table.lower() in _names(lineage) else lineage.rows(table)
    suspected = {table.lower(): (rows.where(where) if where else rows).count()}
    return suspected | {row["result"].lower(): row["rows_touched"] for row in lineage.impact(table, where).collect()}


def _names(lineage: ForwardLineage) -> set[str]:
    return {each.name.lower() for each in lineage.results()}


def steps(
    nodes: Mapping[Node, SavedResult], newest: Collection[Node], touched: Mapping[str, int] | None, stale: set[str]
) -> list[Step]:
    """Return the boxes of the picture: base tables, then results, those that others were made of first.

    Args:
        nodes: the results, older versions that others were made of included.
        newest: which of them are no such older version.
        touched: rows that are touched, by name in lower case; None when nobody asked. Of older versions no impact is
            known: a question is about results as they are.
        stale: names in lower case.

    """
    bases = {table.name.lower(): table.name for each in nodes.values() for table in each.tables if not table.is_result}
    found = [
        Step(name, base=True, touched=None if touched is None else touched.get(key, 0)) for key, name in bases.items()
    ]
    for node, each in nodes.items():
        key, is_newest = each.name.lower(), node in newest
        parents = [
            _title(nodes[_edge(t)], _edge(t) in newest) if t.is_result else bases[t.name.lower()] for t in each.tables
        ]
        note = each.semantics if each.granularity == "rows" else f"{each.semantics}, values"
        count = touched.get(key, 0) if touched is not None and is_newest else None
        found.append(
            Step(_title(each, is_newest), tuple(parents), False, note, each.rows, count, key in stale and is_newest)
        )
    return found


def _edge(table: TracedTable) -> Node:
    return table.name.lower(), table.version


def _title(saved: SavedResult, is_newest: bool) -> str:
    return saved.name if is_newest else f"{saved.name}, version {saved.version}"
