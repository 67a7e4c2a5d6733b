"""What `forward-lineage graph` draws, asked of a session and given to the drawing as plain steps and sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from forward_lineage.drawing.canvas import Canvas, shortened
from forward_lineage.drawing.pipeline import Step, draw_pipeline
from forward_lineage.drawing.robdd import draw_robdd
from forward_lineage.session import ForwardLineage
from forward_lineage.store.asking.pipeline import Node, Pipeline, node_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable


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
    counts = {name: None if touched is None else touched.get(key, 0) for key, name in bases.items()}
    titles = {node: _title(each, node in newest) for node, each in nodes.items()}
    found = [Step(name, base=True, touched=count) for name, count in counts.items()]
    for node, each in nodes.items():
        parents = [titles[_edge(table)] if table.is_result else bases[table.name.lower()] for table in each.tables]
        step = Step(titles[node], tuple(parents), note=_note(each), rows=each.rows)
        found.append(_as_it_is_now(step, each.name.lower(), touched, stale) if node in newest else step)
    return found


def _as_it_is_now(step: Step, key: str, touched: Mapping[str, int] | None, stale: set[str]) -> Step:
    return replace(step, touched=None if touched is None else touched.get(key, 0), stale=key in stale)


def _note(saved: SavedResult) -> str:
    return saved.semantics if saved.granularity == "rows" else f"{saved.semantics}, values"


def _edge(table: TracedTable) -> Node:
    return table.name.lower(), table.version


def _title(saved: SavedResult, is_newest: bool) -> str:
    return saved.name if is_newest else f"{saved.name}, version {saved.version}"
