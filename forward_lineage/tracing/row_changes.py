"""UPDATE, DELETE and MERGE of tables that carry lineage: what they change gets the lineage of what changed it.

Rows that stay keep their `DL`, and rows that go take it with them. So DELETE and UPDATE run as the user wrote them: an
UPDATE makes a row of itself. A MERGE gets its source with lineage, and writes it beside the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from sqlglot import exp

from forward_lineage.frontend import RewrittenStatement, Statement, without_clause
from forward_lineage.frontend.lexing import lex, meaningful, position_at, unquoted
from forward_lineage.frontend.lineage_properties import empty_set
from forward_lineage.frontend.row_changes import (
    Action,
    RowChange,
    check_called_apart,
    edited,
    evolving,
    read_row_change,
    with_named_source,
)
from forward_lineage.spark.inserts import Target, lineage_target
from forward_lineage.spark.names import in_backticks, joined, string_literal
from forward_lineage.spark.planning import Planner
from forward_lineage.stored_tables import Kept, Meaning, add_fields, check_of
from forward_lineage.tracing.commands import refuse_values
from forward_lineage.tracing.functions import refuse_functions
from forward_lineage.tracing.names import SessionNames
from rewrites.lineage_functions import added_later
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import NotTracedError

_EVOLVES = "spark.databricks.delta.schema.autoMerge.enabled"


@dataclass(frozen=True)
class ChangedTable:
    """A table whose rows are changed, and that carries their lineage.

    Attributes:
        called: its name, as the kernel looks it up.
        columns: all but `DL`.
        meaning: of its lineage.
        check: of that, see `stored_tables.check_of`.

    """

    called: str
    columns: tuple[str, ...]
    meaning: Meaning
    check: str


def with_lineage_of_changes(
    spark: SparkSession, names: SessionNames, sql: str, semantics: str, rewritten: Callable[[str], RewrittenStatement]
) -> tuple[Statement, RewrittenStatement] | None:
    """Return an UPDATE, DELETE or MERGE that also writes lineage.

    Args:
        spark: a session with the kernel attached.
        names: what names mean in it.
        sql: one statement.
        semantics: of the lineage that is asked for.
        rewritten: traces a query, with lineage by value.

    Returns:
        None for another statement, and where the target has no column `DL`.

    Raises:
        NotTracedError: a form that is not traced; or the lineage would be other than what the table means by it.
        LineageError: as for a query of the source's rows.

    """
    users = without_clause(sql)
    change = read_row_change(users)
    if change is None:
        return None
    target = lineage_target(spark, change.target.text)
    if target is None:
        return None
    if users != sql:
        refuse_values(sql, users)
    table = _table(change, target, semantics)
    _refuse_lineage_in_text(change)
    planner = Planner(spark)
    with planner.errors_of(users):
        _refuse_functions(planner, change)
    source = rewritten(change.source_query()) if _takes_lineage(change) else None
    if source is not None:
        change = _with_named_source(change, names)
    fields = () if source is None else _fields(change, table, source)
    if any(action.star for action in change.actions) and spark.conf.get(_EVOLVES, "false") == "true":
        raise evolving(f"a star in a MERGE while {_EVOLVES} is true", change.at)
    lineage = [_lineage(change, table, action, fields) for action in change.actions]
    columns = [in_backticks(column) for column in table.columns]
    text = edited(change, None if source is None else source.sql, lineage, columns)
    statement = Statement(sql, exp.Command(this=change.verb, expression=exp.Literal.string(sql)), None)
    return statement, RewrittenStatement(text, users, users, (), {})


def _with_named_source(change: RowChange, names: SessionNames) -> RowChange:
    if change.source_name is None:
        check_called_apart(change)
        return change
    qualifier = names.here().qualifier
    of_target = (unquoted(change.target_alias),) if change.target_alias else qualifier(change.target.parts)
    return with_named_source(change, of_target, qualifier(change.source_name.parts))


def _takes_lineage(change: RowChange) -> bool:
    """Whether rows of a source go into the table."""
    return change.verb == "MERGE" and any(each.matched or each.verb == "INSERT" for each in change.actions)


def _table(change: RowChange, target: Target, semantics: str) -> ChangedTable:
    called = joined(change.target.parts)
    meaning = Kept(called, target.columns, target.meaning, target.lineage).meaning()
    if meaning.granularity != "rows":
        raise NotTracedError(
            f"{change.verb} of {called}, whose ids stand for values: it was made with LINEAGE ON",
            at=change.at,
            instead="Make it without LINEAGE ON.",
        )
    if "control" in (meaning.semantics, semantics):
        raise NotTracedError(
            f"{change.verb} under control lineage: which rows kept others from matching is not known row by row",
            at=change.at,
            instead="Use data lineage; or make the table anew with CREATE TABLE … AS SELECT.",
        )
    return ChangedTable(called, target.columns, meaning, check_of(str(target.meaning)))


def _refuse_lineage_in_text(change: RowChange) -> None:
    start, end = change.source or (0, 0)
    for word in meaningful(lex(change.sql)):
        named = word.name.upper() == LINEAGE_COLUMN
        if named and not start <= word.start < end and word.start >= change.prefix:
            raise NotTracedError(
                f"{change.verb} that names the column {LINEAGE_COLUMN}, which is written for you",
                at=position_at(change.sql, word.start),
                instead="Leave it out.",
            )


def _refuse_functions(planner: Planner, change: RowChange) -> None:
    """Functions written in SQL may read tables, whose rows would count: Spark says so of a query of the same values."""
    target = f"{change.target.text} {change.target_alias or ''}"
    source = None if change.source is None else change.sql[slice(*change.source)]
    for action in change.actions:
        values = [f"({value.text})" for value in action.values if value.text is not None and "(" in value.text]
        if not values:
            continue
        places = {(True, True): f"{target}, {source}", (False, False): target, (False, True): str(source)}
        place = places[action.matched, action.matched or action.verb == "INSERT"]
        planner.facts(f"{change.sql[: change.prefix]} SELECT {', '.join(values)} FROM {place}")
        refuse_functions(exp.Select(), planner, traced=True)


def _fields(change: RowChange, table: ChangedTable, source: RewrittenStatement) -> tuple[str, ...]:
    """The fields of the source's lineage; all are fields of the table's, and mean the same there."""
    if source.meaning is None:
        return ()
    there = {each.name.lower(): each for each in table.meaning.tables}
    for mine in source.meaning.tables:
        other = there.get(mine.name.lower())
        if other is None:
            raise NotTracedError(
                f"rows of {mine.name} would change {table.called}, whose column DL is lineage in "
                f"{', '.join(table.meaning.names())}",
                at=change.at,
                instead=f"{add_fields(table.called, [mine.name])} Then run the {change.verb} again.",
            )
        if not mine.means_the_same_as(other):
            raise NotTracedError(
                f"ids of {mine.name} mean other rows in {table.called} than in the source of the {change.verb}",
                at=change.at,
                instead=f"Make {table.called} anew.",
            )
    return tuple(each.name for each in source.meaning.tables)


def _lineage(change: RowChange, table: ChangedTable, action: Action, fields: Sequence[str]) -> str | None:
    """The lineage of a row that an action makes; None: the row's own."""
    if action.verb == "UPDATE" and not action.matched:
        return None
    columns = [column.lower() for column in table.columns]
    keeps = action.verb == "UPDATE" and not change.replaces_row(action, columns)
    of_source = {field.lower(): f"{change.source_called}.{LINEAGE_COLUMN}.{in_backticks(field)}" for field in fields}
    items: list[str] = []
    for base in table.meaning.tables:
        name, new = base.name, of_source.get(base.name.lower())
        if keeps:
            whole = f"{change.target_called}.{LINEAGE_COLUMN}"
            own = f"{whole}.{in_backticks(name)}"
            if base.added:
                own = added_later(exp.Var(this=own), exp.Var(this=whole)).sql(dialect="spark")
            own = f"dl_stored({own}, {string_literal(table.called)}, '{table.check}')"
            new = own if new is None else f"dl_union({own}, {new})"
        items += [string_literal(name), new or empty_set().sql(dialect="spark")]
    return f"dl_into(named_struct({', '.join(items)}), {string_literal(table.called)}, '{table.check}')"
