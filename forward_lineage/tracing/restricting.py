"""Tables of whose rows only some have an id: those for which a condition over the table's columns holds."""

from __future__ import annotations

from sqlglot import exp

from forward_lineage.frontend import parse
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.names import quoted_name
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.tracing.narrowed import restricted
from forward_lineage.tracing.statements import Statements
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
    rows = f"SELECT 1 FROM {base.relation} WHERE ({condition})"
    with spark_errors(condition):
        depends = unrepeatable_parts(tables.spark.sql(rows))
    if len(list(parse(rows).tree.find_all(exp.Query))) > 1:
        depends = ["a subquery"]
    if depends:
        raise NotTracedError(
            f"the condition on {name} depends on {depends[0]}", instead="Write one over its columns alone."
        )
    return restricted(base, condition)
