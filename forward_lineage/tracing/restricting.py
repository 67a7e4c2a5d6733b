"""Tables of whose rows only some have an id: those for which a condition over the table's columns holds."""

from __future__ import annotations

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.spark.planning import Arguments, Planner
from forward_lineage.tracing.statements import Statements
from forward_lineage.tracing.trace_scope import restricted
from rewrites.tables import BaseTable
from udafs.errors import NotTracedError


def restricted_table(statements: Statements, tables: RegisteredTables, name: str, condition: str) -> BaseTable:
    """Return a registered table whose rows have an id only where a condition holds, whenever it is asked.

    Raises:
        NotTracedError: the condition depends on more than the row.
        LineageError: Spark's own complaint about it; the table is not registered.

    """
    known = tables.registered(name)
    statements.check_condition(quoted_name(known.name), condition)
    base = tables.base_table(known)
    depends = depends_on(tables.spark, base.relation, condition)
    if depends is not None:
        raise NotTracedError(
            f"the condition on {name} depends on {depends}", instead="Write one over its columns alone."
        )
    return restricted(base, condition)


def depends_on(spark: SparkSession, relation: str, condition: str, args: Arguments = None) -> str | None:
    """Say what a condition over rows depends on besides the row: it may hold for others another time. None: nothing.

    Args:
        spark: a session with the kernel attached.
        relation: what follows FROM.
        condition: over its columns.
        args: values of the parameters in it.

    Raises:
        LineageError: Spark's own complaint about it.

    """
    rows = f"SELECT 1 FROM {relation} WHERE ({condition})"
    if len(list(parse(rows).tree.find_all(exp.Query))) > 1:
        return "a subquery"
    planner = Planner(spark)
    with spark_errors(condition):
        planner.plan(rows, args)
        chance = unrepeatable_parts(spark.sql(rows, args=args) if args else spark.sql(rows))
    if planner.users_function:
        return f"{planner.users_function}, a function of the session's"
    return chance[0] if chance else None
