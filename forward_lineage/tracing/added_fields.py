"""Adds base tables to the lineage that a table keeps: ALTER TABLE … ADD COLUMNS (DL.base BINARY).

The rows that are there were made of none of their rows, and keep NULL in the new fields: no row is written. So the
table's property says of these fields that NULL is the empty set. Between the two commits the table is refused, and the
statement can be run again.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.frontend import RewrittenStatement, Statement
from forward_lineage.frontend.lineage_fields import LineageFields
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.inserts import Target, lineage_target
from forward_lineage.spark.names import in_backticks, joined, string_literal
from forward_lineage.stored_tables import PROPERTY, Kept, Meaning, RowIds
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import NotTracedError


def with_added_fields(
    tables: RegisteredTables, sql: str, adds: LineageFields
) -> tuple[Statement, RewrittenStatement, str]:
    """Return the statement that adds the columns, and the one that says what they mean, to be run behind it.

    Args:
        tables: the registered tables.
        sql: the user's text.
        adds: what was read from it.

    Raises:
        NotRegisteredError: a base table is not registered.
        NotTracedError: the table keeps no lineage, or of another kind; or it has the field already.

    """
    called, target = joined(adds.parts), _target(tables.spark, adds)
    meaning = Kept(called, target.columns, target.meaning).meaning()
    _refuse_other_lineage(called, meaning)
    new = {name.lower(): _ids(tables, name) for name in adds.fields}
    known, there = ([each.lower() for each in names] for names in (meaning.names(), target.lineage))
    again = [ids.name for name, ids in new.items() if name in known]
    if again:
        raise NotTracedError(f"{called} has lineage in {', '.join(again)} already", instead="Name other tables.")
    unfinished = there[len(known) :]  # of a run that ended halfway: they have no meaning yet
    if [*known, *(each for each in unfinished if each in new)] != there:
        Kept(called, target.columns, target.meaning, target.lineage).meaning()  # says what is wrong
    missing = [name for name in new if name not in unfinished]
    says = replace(meaning, tables=(*meaning.tables, *(new[each] for each in (*unfinished, *missing)))).text()
    explain = f"ALTER TABLE {adds.table} SET TBLPROPERTIES ({string_literal(PROPERTY)} = {string_literal(says)})"
    columns = ", ".join(f"{LINEAGE_COLUMN}.{in_backticks(new[each].name)} BINARY" for each in missing)
    first = f"ALTER TABLE {adds.table} ADD COLUMNS ({columns})" if missing else explain
    statement = Statement(sql, exp.Command(this="ALTER", expression=exp.Literal.string(sql)), None)
    return statement, RewrittenStatement(first, first, first, (), {}), explain if missing else ""


def _ids(tables: RegisteredTables, name: str) -> RowIds:
    return replace(RowIds.of(tables.base_table(tables.registered(name))), added=True)


def _target(spark: SparkSession, adds: LineageFields) -> Target:
    found = lineage_target(spark, adds.table)
    if found is None:
        raise NotTracedError(
            f"{joined(adds.parts)} has no column DL that is lineage",
            instead='Make it with lineage.sql("CREATE TABLE … AS SELECT …").',
        )
    return found


def _refuse_other_lineage(called: str, meaning: Meaning) -> None:
    """Fields are for statements that change single rows, and these write plain data lineage."""
    if (meaning.semantics, meaning.granularity) == ("data", "rows"):
        return
    kind = "control lineage" if meaning.granularity == "rows" else "lineage of LINEAGE ON"
    raise NotTracedError(
        f"{called} has {kind}, to which no table can be added",
        instead=f'Make {called} anew with lineage.sql("CREATE TABLE … AS SELECT …").',
    )
