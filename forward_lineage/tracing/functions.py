"""Functions that a statement calls and that lineage cannot follow; Spark's plan says which, the text does not."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.spark.planning import Planner
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
            instead="Use SQL aggregates; or compute it with spark.sql(…), without lineage.",
        )
