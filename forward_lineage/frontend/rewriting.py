"""From the user's SQL text to the SQL text that carries lineage; pure, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from forward_lineage.catalog import Catalog
from forward_lineage.frontend.consuming import refuse_calls
from forward_lineage.frontend.dialect import print_sql
from forward_lineage.frontend.lineage_on import GranuleDictionary, dictionary_of
from forward_lineage.frontend.lineage_properties import (
    FilledTable,
    as_inserted,
    meaning_of,
    write_empty_lineage,
    write_meaning,
)
from forward_lineage.frontend.parameters import in_order, name_positional, refuse_other_order, restore_positional
from forward_lineage.frontend.parsing import read_fragment
from forward_lineage.frontend.pipes import name_columns
from forward_lineage.frontend.statement import Statement, parse
from forward_lineage.stored_tables import Meaning
from rewrites.driver import RewrittenQuery, rewrite
from rewrites.environment import Semantics
from rewrites.explanation import Step
from rewrites.kernel_files import read_by_kernel
from rewrites.options import Options
from rewrites.readings import Read
from rewrites.refusals import bugs_reported, position_of
from rewrites.stage_queries import Part
from rewrites.tables import BaseTable, StoredTable, Tables
from rewrites.terms import LINEAGE_COLUMN
from udafs.errors import BadArgumentError, NotTracedError

_RUN_IT = "Run it with lineage.sql(…), or keep it with lineage.save(…)."
_CHANGES_ROWS = ("UPDATE", "DELETE", "MERGE", "TRUNCATE")


@dataclass(frozen=True)
class StatementPart:
    """A part of a statement as text; the fields are those of `rewrites.stage_queries.Part`."""

    sql: str
    name: str | None
    keys: tuple[str, ...]
    frames: tuple[str, ...]
    unread: tuple[str, ...]
    number: str


@dataclass(frozen=True)
class RewrittenStatement:
    """A rewritten statement.

    Attributes:
        sql: Spark SQL whose last column is `DL`.
        user_sql: the user's text without a LINEAGE ON clause.
        reprinted: the tree of that text printed back unchanged; it must mean what `user_sql` means.
        tables: the traced tables, in the order of the fields of `DL`; when empty there is no `DL`.
        granules: table → how LINEAGE ON names its rows, for the tables that the clause mentions.
        places: for each `?` of `sql` the number, from 0, of the user's `?` whose value it takes.
        steps: how lineage travels; none where nothing was rewritten.
        parts: the query in parts, if that was asked for and it has stages; the last one is the result.
        meaning: what its lineage means; None when nothing is traced.
        through: the tables that carry lineage and are traced through.
        read: which tables and views its text, and those of the views, name.
        decided_by: the tables that it reads and that no row is traced to, such as those behind NOT EXISTS.
    """

    sql: str
    user_sql: str
    reprinted: str
    tables: tuple[str, ...]
    granules: Mapping[str, GranuleDictionary]
    places: tuple[int, ...] = ()
    steps: tuple[Step, ...] = ()
    parts: tuple[StatementPart, ...] = ()
    meaning: Meaning | None = None
    through: tuple[StoredTable, ...] = ()
    read: Read = field(default_factory=Read)
    decided_by: tuple[str, ...] = ()

    @property
    def adds_lineage(self) -> bool:
        """Whether its rows have a `DL` that those of the user's text do not have."""
        return bool(self.tables) or self.sql != self.reprinted

    def values_of(self, args: dict[str, Any] | list[Any] | None) -> dict[str, Any] | list[Any] | None:
        """Return the values of the parameters of `sql`, given those of the user's text."""
        return [args[place] for place in self.places] if isinstance(args, list) else args


def rewrite_sql(sql: str, catalog: Catalog, semantics: str = "data") -> str:
    """Return the Spark SQL that computes `sql` and, as its last column `DL`, the lineage of every row.

    Args:
        sql: one Spark SQL query.
        catalog: the registered tables.
        semantics: ``"data"`` or ``"control"``.  [Zhang 2007, §3.4]

    Raises:
        WrongSqlError: malformed SQL, or an unknown name.
        NotTracedError: a construct that is not traced; BACKWARD(…) or FORWARD(…), which ask saved results.
        BadArgumentError: another semantics.
    """
    refuse_calls(sql, _RUN_IT)
    statement = rewrite_statement(parse(sql), catalog, semantics, text_only=True)
    refuse_other_order(statement.places)
    return statement.sql


def explain_sql(sql: str, catalog: Catalog, semantics: str = "data") -> str:
    """Return how lineage travels in what `rewrite_sql` makes of a query: a line for each stage, and one for the result.

    Raises:
        LineageError: as for `rewrite_sql`.
    """
    refuse_calls(sql, _RUN_IT)
    return explanation(rewrite_statement(parse(sql), catalog, semantics, text_only=True))


def explanation(rewritten: RewrittenStatement) -> str:
    """Return how lineage travels in a rewritten statement, in lines."""
    return "\n".join(map(str, rewritten.steps)) or "nothing is traced: the statement runs as it is"


def rewrite_statement(
    statement: Statement,
    tables: Tables,
    options: Options | str = "data",
    *,
    target: FilledTable | None = None,
    text_only: bool = False,
    files_by_kernel: bool = False,
) -> RewrittenStatement:
    """Rewrite one statement and keep what the session needs to check it.

    Args:
        statement: the result of `parse`. It does not change. The rules work on a copy of its tree, so that it can be
            rewritten again, for other tables or under the other semantics.
        tables: what its names mean.
        options: how; or the semantics alone, ``"data"`` or ``"control"``.
        target: what is known of the table that an INSERT fills.
        text_only: whether somebody else gives values to its positional parameters. Lineage that travels by reference
            moves parts of the text. It goes by value if that would move a parameter.
        files_by_kernel: whether files that it names by their paths are read through a function, see
            `rewrites.kernel_files`.

    Raises:
        WrongSqlError: an unknown name.
        NotTracedError: no query, or a construct that is not traced.
        BadArgumentError: another semantics.
    """
    options = Options(semantics_of(options)) if isinstance(options, str) else options
    if statement.is_command:
        options = replace(options, to_store=True)
    target = target or FilledTable()
    with bugs_reported(lambda: position_of(statement.tree)):
        result = _rewritten(statement, tables, options, target, files_by_kernel)
        if options.by_reference and text_only and not in_order(result.places):
            result = _rewritten(statement, tables, replace(options, by_reference=False), target, files_by_kernel)
        return result


def _rewritten(
    statement: Statement, tables: Tables, options: Options, target: FilledTable, files_by_kernel: bool
) -> RewrittenStatement:
    tree = statement.tree.copy()
    name_columns(tree, tables)
    name_positional(tree)
    reprinted, _ = restore_positional(print_sql(tree))
    if _inserts_plain_values(statement):
        write_empty_lineage(tree, target.columns, target.fields)
        sql, places = restore_positional(print_sql(tree))
        return RewrittenStatement(sql, statement.text, reprinted, (), {}, places)
    query = query_of(tree)
    result = rewrite(query, tables, read_fragment, options, lineage_on=statement.lineage_on)
    if files_by_kernel:
        read_by_kernel(result.tree)
    meaning = meaning_of(result, options.semantics) if result.tables else None
    if meaning is not None:
        meaning = as_inserted(tree, result.tree, meaning, target.columns)
        write_meaning(tree, result.tree, meaning, tables, target)
    written = _put_back(tree, result, target.columns)
    if not result.tables:
        write_empty_lineage(written, target.columns, target.fields)
    sql, places = restore_positional(print_sql(written))
    read_by = {table: dictionary_of(each) for table, each in result.granules.items()}
    return RewrittenStatement(
        sql,
        statement.text,
        reprinted,
        result.tables,
        read_by,
        places,
        result.steps,
        tuple(map(_printed, result.parts)),
        meaning,
        tuple(source for source in result.sources if isinstance(source, StoredTable)),
        result.read,
        tuple(sorted({source.name for source in result.sources if isinstance(source, BaseTable)} - {*result.tables})),
    )


def _printed(part: Part) -> StatementPart:
    return StatementPart(print_sql(part.query), part.name, part.keys, part.frames, part.unread, part.number)


def _inserts_plain_values(statement: Statement) -> bool:
    """Whether the rows are written out, perhaps with DEFAULT among them, which is no column: nothing is rewritten."""
    tree = statement.tree
    rows = tree.expression if isinstance(tree, exp.Insert) else None
    return isinstance(rows, exp.Values) and not rows.find(exp.Query) and statement.lineage_on is None


def _put_back(tree: exp.Expr, result: RewrittenQuery, filled: Sequence[str]) -> exp.Expr:
    """Put the rewritten query back into its CREATE … AS or INSERT; a list of column names also names the lineage."""
    if not isinstance(tree, exp.Create | exp.Insert):
        return result.tree
    if isinstance(tree.expression, exp.Values) and not tree.expression.find(exp.Query):
        return tree  # nothing in it was rewritten
    tree.set("expression", result.tree)
    if filled and result.tables and isinstance(tree.this, exp.Table) and not tree.args.get("by_name"):
        named = [exp.to_identifier(column, quoted=True) for column in filled]
        tree.set("this", exp.Schema(this=tree.this, expressions=named))
    if isinstance(tree.this, exp.Schema) and result.tables:
        tree.this.append("expressions", exp.to_identifier(LINEAGE_COLUMN))
    return tree


def query_of(tree: exp.Expr) -> exp.Query:
    """Return the query of a statement: the statement itself, or what CREATE TABLE, CREATE VIEW or INSERT makes rows of.

    Raises:
        NotTracedError: the statement has no query, or changes base rows.
    """
    inner = tree.args.get("expression") if isinstance(tree, exp.Create | exp.Insert) else tree
    if isinstance(inner, exp.Values):
        return exp.Select(expressions=[exp.Star()]).from_(inner.copy())
    if not isinstance(inner, exp.Query):
        raise _no_query(tree)
    if inner is not tree and tree.args.get("with_"):  # WITH … INSERT: the query's own WITH, written in front
        inner.set("with_", tree.args["with_"].pop())
    return inner


def _no_query(tree: exp.Expr) -> NotTracedError:
    verb = (tree.name if isinstance(tree, exp.Command) else tree.key).upper()
    what = f"{verb} is no query"
    instead = "Run it with spark.sql(…). You can trace SELECT …, CREATE … AS SELECT and INSERT … SELECT."
    if verb == "EXECUTE":
        what = "EXECUTE IMMEDIATE, whose text is made while it runs, is not read here"
        instead = "Trace what it gives: lineage.trace(spark.sql(…))."
    if verb in _CHANGES_ROWS:
        what = f"{verb} changes base rows and returns none, so there is nothing to trace"
        instead = "Run it with spark.sql(…), then lineage.refresh(…); lineage.affected(…) shows what it spoils."
    return NotTracedError(what, at=position_of(tree), instead=instead)


def semantics_of(wanted: str) -> Semantics:
    """Return the semantics of a name.

    Raises:
        BadArgumentError: it is another.

    """
    try:
        return Semantics(wanted)
    except ValueError:
        raise BadArgumentError(f"there is no semantics {wanted!r}", instead="Use 'data' or 'control'.") from None
