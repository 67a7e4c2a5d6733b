"""The check of a command before it is run: whether the lineage of its rows has a place where they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.spark.found_names import is_temporary_function
from forward_lineage.spark.inserts import lineage_target
from rewrites.refusals import position_of
from udafs.errors import LineageError, NotTracedError, Position

_A_FUNCTION = "dl_of"  # stands for all of the kernel's


def form_of_insert(ours: LineageError) -> LineageError:
    """Return the error for an INSERT that Spark accepts, into a table with `DL`, in a form that we do not read."""
    return NotTracedError(
        f"a form of INSERT that is not traced into a table with a column DL: {ours.what}",
        at=ours.at,
        instead="Write INSERT INTO or OVERWRITE the table, PARTITION (…) and (columns) if need be, then the query.",
    )


def refuse_replacing(spark: SparkSession, tree: exp.Expr) -> None:
    """Refuse INSERT … REPLACE WHERE: it takes no names of columns, and `DL` stands anywhere among them.

    Args:
        spark: a session with the kernel attached.
        tree: a statement.

    Raises:
        NotTracedError: it is one, into a table with a column `DL`.

    """
    table = tree.this.find(exp.Table) if isinstance(tree, exp.Insert) else None
    replaces = tree.args.get("where") or tree.args.get("using")
    if table is not None and replaces and lineage_target(spark, table.sql(dialect="spark")) is not None:
        raise NotTracedError(
            "INSERT … REPLACE into a table with a column DL, which takes rows by position alone",
            at=position_of(tree),
            instead="Run DELETE FROM … WHERE …, then INSERT INTO …, each with lineage.sql.",
        )


def refuse_values(sql: str, before: str) -> NoReturn:
    """Refuse LINEAGE ON in an INSERT: its ids would stand beside those of rows, or of other values.

    Args:
        sql: the statement.
        before: what stands before the clause.

    Raises:
        NotTracedError: always.

    """
    lines = before.split("\n")
    raise NotTracedError(
        "LINEAGE ON in an INSERT: what its ids stand for cannot be kept with the rows",
        at=Position(len(lines), len(lines[-1]) + 1),
        instead="Save the query with lineage.save(…), or leave the clause out.",
    )


def refuse_permanent_view(spark: SparkSession, tree: exp.Expr, traced: Sequence[str]) -> None:
    """Refuse to make a permanent view whose text would need functions of this session.

    Raises:
        NotTracedError: the statement makes one, and the kernel was attached to a session that runs already.

    """
    makes_one = isinstance(tree, exp.Create) and str(tree.args.get("kind")).upper() == "VIEW"
    if makes_one and traced and not tree.find(exp.TemporaryProperty) and _functions_are_temporary(spark):
        raise NotTracedError(
            "a permanent view with lineage would need functions that only this session has",
            instead="Make it with spark.sql(…): queries trace through a plain view. Or CREATE TEMPORARY VIEW.",
        )


def _functions_are_temporary(spark: SparkSession) -> bool:
    return is_temporary_function(spark, _A_FUNCTION)
