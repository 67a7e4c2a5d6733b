"""From a query or a DataFrame to a saved result: what must hold, and in which order things are written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from forward_lineage.frontend.rewriting import StatementPart
from forward_lineage.relations.segment import Form
from forward_lineage.results import LINEAGE_COLUMN, meaning_of
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.registered_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.granules import entries_sql, write_dictionary
from forward_lineage.spark.names import quoted
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.spark.settings import QUICK_VALUES, configured
from forward_lineage.spark.tables import type_name
from forward_lineage.spark.traced_frame import lineage_of_frame
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SavedResult, TracedTable
from forward_lineage.store.saving.appending import appended
from forward_lineage.store.saving.computed import Computed, write_computed
from forward_lineage.store.saving.execution import Target, user_schema, write_result
from forward_lineage.store.saving.origins import origins
from forward_lineage.store.saving.staging import Kept, NotStagedError, Staging
from forward_lineage.tracing.statements import Statements
from udafs.errors import BadArgumentError, NameTakenError, NotTracedError

Mode = Literal["overwrite", "error", "append"]


@dataclass(frozen=True)
class Wish:
    """How a result is to be saved: the arguments of `ForwardLineage.save`, which describes them."""

    name: str
    semantics: str = "data"
    mode: Mode = "overwrite"
    keep_versions: bool = False
    encoding: Form = "auto"

    def check(self) -> None:
        """Check each for itself.

        Raises:
            BadArgumentError: the name is none that queries could use, or mode or encoding are unknown.

        """
        _check_choice("mode", self.mode, ("overwrite", "error", "append"))
        _check_choice("encoding", self.encoding, ("auto", "bdd", "runs"))
        check_name(self.name)


@dataclass(frozen=True)
class _Query:
    """What is to be saved.

    Attributes:
        frame: its rows, with `DL` if anything was traced.
        meaning: of `DL`.
        parts: the same rows from a statement in parts, if it has stages.
        prefix: of the names by which parts read stages.

    """

    frame: DataFrame
    meaning: Mapping[str, Any]
    parts: Sequence[StatementPart] = ()
    prefix: str = ""

    @property
    def schema(self) -> StructType:
        """The user's columns."""
        return user_schema(self.frame, LINEAGE_COLUMN if self.meaning["tables"] else None)


class Saver:
    """Saves results of one session.

    Args:
        statements: runs the query of a result.
        tables: the session's registered tables.
        library: where results go.
        home: folder of both, by which a DataFrame knows whose it is.

    """

    def __init__(self, statements: Statements, tables: RegisteredTables, library: Library, home: Path) -> None:
        self._statements, self._tables, self._library, self._home = statements, tables, library, home

    def save(self, df_or_sql: DataFrame | str, wish: Wish) -> SavedResult:
        """See `ForwardLineage.save`."""
        wish.check()
        self._check_free(wish.name, wish.mode)
        query = self._traced(df_or_sql, wish.semantics)
        made_of = origins(query.meaning, self._tables, self._library)
        before = self._library.latest(wish.name) if wish.mode == "append" else None
        with self._library.writing(wish.name) as folder:
            lineage = self._write(query, made_of, folder, wish, before)
            made_of = [self._with_dictionary(table, query.meaning, folder, i) for i, table in enumerate(made_of)]
            saved = _described(wish, query, made_of, lineage, folder)
            whole = saved if before is None else appended(before, saved)
            return self._library.publish(lambda newest: self._still_free(whole, newest, before, wish.mode))

    def save_computed(self, computed: Computed, wish: Wish) -> SavedResult:
        """Save rows and lineage that are known already; the table must still be what they were computed of.

        Raises:
            LineageError: it is not, the name is in use, or a column cannot be kept.

        """
        wish.check()
        self._check_free(wish.name, wish.mode)
        tables = [{"name": computed.table.name, "version": computed.table.version}]
        meaning = {"sql": computed.sql, "semantics": wish.semantics, "tables": tables}
        spark = self._tables.spark
        with spark_errors():
            query = _Query(spark.sql(computed.sql), meaning)
        made_of = origins(meaning, self._tables, self._library)
        with self._library.writing(wish.name) as folder:
            written = write_computed(computed, Target(folder, wish.name, query.schema, wish.encoding), spark)
            kept = Kept(written.row_files, {computed.table.name: written.segments[0]})
            saved = _described(wish, query, made_of, kept, folder)
            return self._library.publish(lambda newest: self._still_free(saved, newest, None, wish.mode))

    def _traced(self, df_or_sql: DataFrame | str, semantics: str) -> _Query:
        """Return what is to be saved, and what its `DL` means."""
        if isinstance(df_or_sql, DataFrame):
            return _Query(df_or_sql, self._meaning_of_frame(df_or_sql))
        if not isinstance(df_or_sql, str):
            raise BadArgumentError(
                f"only SQL and DataFrames can be saved, not {type(df_or_sql).__name__}",
                instead="Give the query's text, or what lineage.sql(…) returned.",
            )
        no_rows = NotTracedError("a statement that is no query has no rows to save", instead="Save its SELECT.")
        prefix = f"__fl_{uuid4().hex[:12]}"
        traced = self._statements.trace(df_or_sql, semantics, unless_query=no_rows, in_parts=prefix)
        with configured(self._tables.spark, QUICK_VALUES):
            frame = self._statements.run(traced)
        untraced = {"sql": df_or_sql, "semantics": semantics, "tables": [], "home": str(self._home)}
        parts = traced.rewritten.parts
        if parts and unrepeatable_parts(self._tables.spark.sql(traced.rewritten.user_sql)):
            parts = ()  # chance and the clock are asked once a query
        return _Query(frame, meaning_of(frame) or untraced, parts, prefix)

    def _meaning_of_frame(self, frame: DataFrame) -> Mapping[str, Any]:
        meaning = lineage_of_frame(frame)
        if meaning["home"] != str(self._home):
            raise BadArgumentError(
                f"the DataFrame was traced under the home {meaning['home']}, not {self._home}",
                instead="Save it with the ForwardLineage that made it.",
            )
        return meaning

    def _write(
        self, query: _Query, made_of: list[TracedTable], folder: Path, wish: Wish, before: SavedResult | None
    ) -> Kept:
        first_row = before.rows if before else 0
        if query.parts:
            staging = Staging(self._tables.spark, folder, wish.name, wish.encoding, len(before.stages) if before else 0)
            try:
                kept = staging.save(query.parts, query.prefix, query.schema, first_row)
            except NotStagedError:
                staging.clear()
            else:
                origins(query.meaning, self._tables, self._library)  # each part has read the tables for itself
                return kept
        tables = [table.name for table in made_of]
        lineage = LINEAGE_COLUMN if made_of else None
        target = Target(folder, wish.name, query.schema, wish.encoding, first_row)
        written = write_result(query.frame, lineage, tables, target)
        return Kept(written.row_files, dict(zip(tables, written.segments, strict=True)))

    def _with_dictionary(
        self, table: TracedTable, meaning: Mapping[str, Any], folder: Path, number: int
    ) -> TracedTable:
        if not table.granules:
            return table
        place = f"granules/{number}"
        entries = entries_sql(meaning["granules"][table.name])
        paths = write_dictionary(self._tables.spark, entries, folder / place, len(table.granules))
        return replace(table, dictionary=place, dictionary_files=_files_of_dictionary(folder, paths))

    # ------------------------------------------------------------ the name

    def _check_free(self, name: str, mode: Mode) -> None:
        """The name must not be that of anything else: queries call the result by it."""
        another = "Save the result under another name."
        known = self._tables.get(name)
        if known is not None and known.provider is not Provider.RESULT:
            raise NameTakenError(f"{name} is a registered table", instead=another)
        if known is None and self._tables.spark.catalog.tableExists(quoted(name)):
            raise NameTakenError(
                f"Spark has a table or view {name}, which queries would no longer find", instead=another
            )
        if mode == "error":
            self._check_not_saved(name)

    def _still_free(self, saved: SavedResult, newest: int, before: SavedResult | None, mode: Mode) -> SavedResult:
        """What may have changed while the query ran; asked again under the lock of the home."""
        if newest and mode == "error":
            self._check_not_saved(saved.name)
        overtaken = mode == "append" and newest and newest != (before.version if before else 0)
        if overtaken and self._library.latest(saved.name) is not None:
            raise NameTakenError(
                f"another session saved {saved.name} while rows were being appended", instead="Append them again."
            )
        return saved

    def _check_not_saved(self, name: str) -> None:
        damaged = {each.lower() for each in self._library.damaged()}
        if name.lower() in damaged or self._library.latest(name) is not None:
            raise NameTakenError(
                f"there is a saved result {name} already",
                instead='Say mode="overwrite" or mode="append", or choose another name.',
            )


def _files_of_dictionary(data: Path, paths: list[Path]) -> tuple[RowFile, ...]:
    """Note the files of a dictionary, in the data folder of a result, and bring them to the disk."""
    files: list[RowFile] = []
    for path in paths:
        first = sum(file.rows for file in files)
        files.append(row_file(data, path.relative_to(data).as_posix(), first, pq.read_metadata(path).num_rows))
    return tuple(files)


def _described(wish: Wish, query: _Query, made_of: list[TracedTable], kept: Kept, folder: Path) -> SavedResult:
    return SavedResult(
        name=wish.name,
        version=0,
        sql=query.meaning["sql"],
        semantics=query.meaning["semantics"],
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        columns=tuple((field.name, type_name(field.dataType)) for field in query.schema.fields),
        schema=json.loads(query.schema.json()),
        rows=sum(file.rows for file in kept.row_files),
        row_files=kept.row_files,
        tables=tuple(replace(each, segments=kept.of_table(each.name, i, folder)) for i, each in enumerate(made_of)),
        data=folder.name,
        keeps_numbers_of=0,
        kept=wish.keep_versions,
        refers=kept.refers,
        stages=kept.stages,
    )


def _check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise BadArgumentError(f"{what}={given!r} is not known", instead=f"Use one of {', '.join(known)}.")
