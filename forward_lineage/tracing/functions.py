"""Functions that a statement calls and that lineage cannot follow; Spark's plan says which, the text does not."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.frontend.parsing import read_fragment
from forward_lineage.spark.planning import Planner
from rewrites.readings import Read
from rewrites.refusals import position_of
from udafs.errors import NotTracedError


def refuse_functions(tree: exp.Expr, planner: Planner, *, traced: bool) -> None:
    """Refuse functions that read tables by themselves, and beside lineage those that leave no room for an aggregate.

    Args:
        tree: the statement.
        planner: has just planned it.
        traced: whether lineage is added to it.

    Raises:
        NotTracedError: it calls one.

    """
    if planner.reading_functions:
        names = planner.reading_functions
        called = next((each for each in tree.find_all(exp.Anonymous) if each.name.lower() in names.lower()), None)
        raise NotTracedError(
            f"a function written in SQL that reads tables ({names}): their rows would be missing from the lineage",
            at=None if called is None else position_of(called),
            instead="Write its query in the place of the call, as a subquery or a LATERAL one.",
        )
    if traced and planner.python_aggregates:
        raise NotTracedError(
            f"groups aggregated by a pandas or Arrow function ({planner.python_aggregates}): beside it Spark computes "
            "no other aggregate, such as lineage",
            instead="Use SQL aggregates; or frame.groupBy(…).applyInPandas(…) as a DataFrame, for lineage.trace.",
        )


def refuse_unseen_readings(read: Read, planner: Planner) -> None:
    """Refuse a statement in which Spark reads a table that its text, as read here, does not name.

    No rule has looked there, whatever the place is: this is the net below the rules and the refusals.

    Args:
        read: what the text names.
        planner: has just planned it.

    Raises:
        NotTracedError: a table or view is read more often than it is named.

    """
    for name, times in read.unseen(planner.readings).items():
        named = read.counts.get(name, 0)
        raise NotTracedError(
            f"Spark reads {name} {_times(times)} in this statement, and lineage sees it {_times(named)}: rows of it "
            "would be missing from the lineage",
            instead="Write what reads it as a subquery in FROM; or keep its rows in a table, and register that. Please "
            "report the statement: this is a gap in our rules.",
        )


def _times(number: int) -> str:
    return {0: "nowhere", 1: "once", 2: "twice"}.get(number, f"{number} times")


def functions_by_chance(tree: exp.Expr, read: Read, planner: Planner) -> frozenset[str]:
    """Return the names of the user's functions in a statement that may give another value for the same row.

    Args:
        tree: the statement.
        read: what it names.
        planner: has just planned it.

    Raises:
        NotTracedError: Spark knows them by other names than the text.

    """
    names = frozenset(path[-1] for path in planner.chances if read.is_in_text(path))
    if not names:
        return names
    texts = (tree, *map(read_fragment, read.views.values()))
    if not any(call.name.lower() in names for text in texts for call in text.find_all(exp.Anonymous)):
        raise NotTracedError(
            f"a function that Spark calls {', '.join(sorted(names))} may give other values when lineage is computed, "
            "and the statement calls it by another name",
            instead="Register it under the name that it has.",
        )
    return names
