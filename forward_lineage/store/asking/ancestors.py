"""The table that a question about a saved result means, and whether ids from several paths mean the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, cast

from forward_lineage.spark.names import split_name
from forward_lineage.store.asking.pipeline import Pipeline, Through
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.made_of import TracedTable
from forward_lineage.store.library.saved import Saved
from udafs.errors import BadArgumentError, ChangedError, NotSavedError
from udafs.lineage_set import LineageSet


class SameIds(Protocol):
    """Knows whether ids of two versions of a table mean the same rows."""

    def same_ids(self, one: TracedTable, other: TracedTable) -> bool:
        """Tell so."""


Edge = tuple[Saved, TracedTable]  # a result, and its lineage in a table that it was made of directly


def known_as(pipeline: Pipeline, table: str) -> str | None:
    """Return the name under which something in a pipeline was made of a table; None when nothing was."""
    known = pipeline.tables()
    name = table.lower() if table.lower() in known else ".".join(split_name(table))
    return known.get(name)


def ancestor(pipeline: Pipeline, saved: Saved, table: str | None) -> str:
    """Return the name of the table that is meant: a direct one or a further ancestor.

    Args:
        pipeline: the graph above the result.
        saved: the result.
        table: what the user says; None for the only base table.

    Raises:
        NotSavedError: the result was not made of it, or of no table at all.
        BadArgumentError: no table is named, and there are several.

    """
    if table is not None:
        found = known_as(pipeline, table)
        return found if found is not None else _refuse_no_ancestor(pipeline, saved, table)
    bases = sorted({edge.name for each in pipeline.nodes.values() for edge in each.tables if not edge.is_result})
    if not bases:
        raise NotSavedError(f"{saved.name} was made of no table", instead="There is nothing to trace.")
    if len(bases) > 1:
        raise BadArgumentError(f"{saved.name} was made of {', '.join(bases)}", instead="Say which: table=….")
    return bases[0]


def _refuse_no_ancestor(pipeline: Pipeline, saved: Saved, table: str) -> str:
    known = ", ".join(pipeline.tables().values())
    raise NotSavedError(
        f"{saved.name} was not made of {table}",
        instead=f"It was made of {known}." if known else "It was made of no table.",
    )


def check_one_kind_of_ids(saved: Saved, edges: Sequence[Edge], library: Library, tables: SameIds) -> None:
    """Check that ids that came on several paths mean the same rows.

    Args:
        saved: the result that was asked about.
        edges: the last step of each path, all leading to one table.
        library: the saved results.
        tables: the registered tables.

    Raises:
        ChangedError: they do not.

    """
    first_owner, first = edges[0]
    for owner, edge in edges[1:]:
        if mean_the_same(edges[0], (owner, edge), library, tables):
            continue
        again = first_owner.name if first.version < edge.version else owner.name
        raise ChangedError(
            f"{saved.name} was made of {edge.name} in two ways, as version {first.version} in "
            f"{first_owner.name} and as version {edge.version} in {owner.name}, whose ids differ in meaning",
            instead=f"Save {again} again, and what was made of it.",
        )


def mean_the_same(one: Edge, other: Edge, library: Library, tables: SameIds) -> bool:
    """Tell whether ids that came over two steps mean the same rows."""
    (first_owner, first), (owner, edge) = one, other
    if edge.granules != first.granules or (edge.granules and owner is not first_owner):
        return False
    if not edge.is_result:
        return tables.same_ids(edge, first)
    versions = (library.saved(each.name, each.version) for each in (edge, first))
    return len({version.keeps_numbers_of for version in versions}) == 1


def steps_of(pipeline: Pipeline, table: str | None = None) -> list[Edge]:
    """Return the steps of a pipeline that read a table; all of them when none is named."""
    edges = [(each, edge) for each in pipeline.nodes.values() for edge in each.tables]
    name = known_as(pipeline, table) if table is not None else None
    return edges if table is None else [step for step in edges if step[1].name == name]


def all_rows(saved: Saved) -> LineageSet:
    """Return the numbers of all rows of a result."""
    return saved.numbers()


def numbers_of(saved: Saved, rows: Iterable[int]) -> LineageSet:
    """Return numbers of rows of a result, as a set.

    Raises:
        NotSavedError: it has no such row.

    """
    numbers = LineageSet(rows)
    if numbers and numbers != numbers.below(saved.numbers_end):
        beyond = int(numbers.ids()[-1])
        raise NotSavedError(
            f"{saved.name} has no row {beyond}: it has {saved.rows} rows, counted from 0",
            instead="Rows are counted as lineage.result(…) returns them.",
        )
    if saved.ids_end is not None and (gone := numbers - saved.numbers()):
        raise NotSavedError(
            f"{saved.name} has no row {int(gone.ids()[0])} any more: it went when the result was brought up to date",
            instead=f"lineage.rows({saved.name!r}) shows the rows that there are, with their numbers.",
        )
    return numbers


def checked_through(through: str) -> Through:
    """Return which paths count, as a user says it.

    Raises:
        BadArgumentError: it is no such word.

    """
    if through not in ("row", "model", "all"):
        raise BadArgumentError(f"through={through!r} is not known", instead='Say "row", "model" or "all".')
    return cast(Through, through)


def refuse_both(one: str, first: object, two: str, second: object) -> None:
    """Refuse two arguments that both say which rows are meant.

    Raises:
        BadArgumentError: both are given.

    """
    if first is not None and second is not None:
        raise BadArgumentError(f"{one} and {two} both say which rows are meant", instead="Give one of them.")
