"""The pictures of `forward-lineage graph`, asked of a session and given to the drawing as plain steps and sets."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forward_lineage.cli.pipeline_page import shown_of, title_of
from forward_lineage.cli.question_executors import Asked, asked_of
from forward_lineage.drawing import PAGE
from forward_lineage.drawing.canvas import Canvas, shortened
from forward_lineage.drawing.page import pipeline_page, write_page
from forward_lineage.drawing.pipeline import Step, draw_pipeline
from forward_lineage.drawing.robdd import draw_robdd
from forward_lineage.session import ForwardLineage
from forward_lineage.store.asking.pipeline import Node, Pipeline, node_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_model import SavedModel
from udafs.lineage_set import LineageSet

_MOST_STALE = 1 << 20


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
    return PipelineNow.of(asked_of(lineage), Library(lineage.home), table, where).picture()


def save_pipeline(asked: Asked, library: Library, impact: tuple[str | None, str | None], file: Path) -> None:
    """Draw the pipeline into a file, as a page or a picture.

    Args:
        asked: answers questions.
        library: the saved results.
        impact: a table with suspected rows, and a condition; see `pipeline_picture`.
        file: its ending says which.

    Raises:
        LineageError: as for `pipeline_picture`; the file cannot be written.

    """
    now = PipelineNow.of(asked, library, *impact)
    if file.suffix.lower() == PAGE:
        write_page(file, now.page(asked))
    else:
        now.picture().save(file)


@dataclass(frozen=True)
class PipelineNow:
    """The saved results of today, and what some rows touch.

    Attributes:
        pipeline: the newest results, and what they were made of.
        newest: which nodes of it are no older version.
        suspected: by the name of a table in lower case, the ids of suspected rows; None: nobody asked.
        touched: the rows that they touch, by the name of the result in lower case.
        stale: names of results in lower case, each with what has changed.
        title: what stands above.

    """

    pipeline: Pipeline
    newest: frozenset[Node]
    suspected: Mapping[str, LineageSet] | None
    touched: Mapping[str, LineageSet]
    stale: Mapping[str, Sequence[str]]
    title: str

    @classmethod
    def of(cls, asked: Asked, library: Library, table: str | None, where: str | None) -> PipelineNow:
        """Ask for it; see `pipeline_picture`."""
        results = library.every()[0]
        suspected = None if table is None else {table.lower(): asked.suspected(table, where)}
        touched = {} if table is None else asked.touched(table, where)
        rows, _ = asked.stale().first(_MOST_STALE)
        title = "Saved results" if table is None else f"Impact of {table}" + (f" where {where}" if where else "")
        return cls(
            Pipeline(library, results),
            frozenset(map(node_of, results)),
            suspected,
            touched,
            _by_result(rows),
            shortened(title, 90),
        )

    def steps(self) -> list[Step]:
        """Return the boxes of the picture."""
        counts = None
        if self.suspected is not None:
            counts = {name: len(ids) for name, ids in {**self.touched, **self.suspected}.items()}
        return steps(self.pipeline.nodes, self.newest, counts, self.stale)

    def picture(self) -> Canvas:
        """Draw it."""
        return draw_pipeline(self.steps(), self.title)

    def page(self, asked: Asked) -> str:
        """Return the page of it."""
        return pipeline_page(self.steps(), shown_of(asked, self), self.title)


def steps(
    nodes: Mapping[Node, Saved],
    newest: Collection[Node],
    touched: Mapping[str, int] | None,
    stale: Container[str],
) -> list[Step]:
    """Return the boxes of the picture: base tables, then results, those that others were made of first.

    Args:
        nodes: the results, older versions that others were made of included.
        newest: which of them are no such older version.
        touched: rows that are touched, by name in lower case; None when nobody asked. Of older versions no impact is
            known: a question is about the results of today.
        stale: names in lower case.

    """
    bases = {table.name.lower(): table.name for each in nodes.values() for table in each.tables if not table.is_result}
    counts = {name: None if touched is None else touched.get(key, 0) for key, name in bases.items()}
    titles = {node: title_of(each, node in newest) for node, each in nodes.items()}
    found = [Step(name, base=True, touched=count) for name, count in counts.items()]
    for node, each in nodes.items():
        parents = [titles[_edge(table)] if table.is_result else bases[table.name.lower()] for table in each.tables]
        step = Step(
            titles[node],
            tuple(parents),
            rows=each.rows,
            note=_note(each),
            saved=each.saved_at[:10],
            model=isinstance(each, SavedModel),
        )
        found.append(_as_it_is_now(step, each.name.lower(), touched, stale) if node in newest else step)
    return found


def _by_result(stale: Sequence[Sequence[object]]) -> dict[str, list[str]]:
    """Gather the rows of `ForwardLineage.stale`: result in lower case → the tables that have changed."""
    found: dict[str, list[str]] = {}
    for result, table, *_ in stale:
        found.setdefault(str(result).lower(), []).append(str(table))
    return found


def _as_it_is_now(step: Step, key: str, touched: Mapping[str, int] | None, stale: Container[str]) -> Step:
    return replace(step, touched=None if touched is None else touched.get(key, 0), stale=key in stale)


def _note(saved: Saved) -> str:
    if isinstance(saved, SavedModel):
        return saved.short
    return saved.semantics if saved.granularity == "rows" else f"{saved.semantics}, values"


def _edge(table: TracedTable) -> Node:
    return table.name.lower(), table.version
