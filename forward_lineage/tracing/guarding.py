"""What Spark is asked of a rewritten statement before it runs for the first time.

That its conditions are the same where they are asked now, is asked of every statement that has moved some. That its
plan computes and compares what the user's does, is asked where `spark.forward_lineage.guard` says so: it costs about as
much as planning the query twice more. `fidelity` compares what was read, this what runs.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from forward_lineage.frontend import RewrittenStatement
from forward_lineage.spark.planning import Arguments, Planner
from rewrites.lineage_functions import DL_ALIKE, DL_MOVED
from udafs.errors import InternalError, SparkError
from udafs.requests import ask

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


def refuse_another_plan(frame: DataFrame, rewritten: RewrittenStatement) -> None:
    """Refuse a rewritten query that computes the user's columns of other columns than the text, or compares others.

    Its lineage is left out of what is compared, as it is when the user drops it. What it sees and what it does not:
    `udafs/scala/session/RunsAsAsked.scala`.

    Args:
        frame: what the query gives, analysed.
        rewritten: the query, without parameters.

    Raises:
        InternalError: it does.

    """
    difference = ask(frame.sparkSession, "runs as asked", frame, sql=rewritten.user_sql)
    if difference:
        raise InternalError(f"what would run is not what was asked: {difference}")
