"""What Spark is asked of a rewritten statement before it runs for the first time."""

from __future__ import annotations

from forward_lineage.frontend import RewrittenStatement
from forward_lineage.spark.planning import Arguments, Planner
from rewrites.lineage_functions import DL_ALIKE, DL_MOVED
from udafs.errors import SparkError

_ASKED = (f"{DL_ALIKE}(", f"{DL_MOVED}(")


def moves_safely(planner: Planner, rewritten: RewrittenStatement, args: Arguments) -> bool:
    """Say whether the conditions that a statement asks elsewhere are the same there, by the types that Spark knows.

    Args:
        planner: of the session.
        rewritten: the statement.
        args: values of the user's parameters.

    """
    if not any(each in rewritten.sql for each in _ASKED):
        return True
    try:
        planner.check(rewritten.sql, rewritten.values_of(args))
    except SparkError as error:
        return not any(each in error.what for each in _ASKED)  # all else is said when it runs
    return True
