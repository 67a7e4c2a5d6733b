"""From a query or a DataFrame to a saved result: what must hold, and in which order things are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from forward_lineage.relations.segment import Form
from forward_lineage.row_ids.manifest import Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.granules import entries_sql, write_dictionary
from forward_lineage.spark.names import quoted
from forward_lineage.spark.stores import is_one_machine
from forward_lineage.spark.tables import type_name
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.rerun import Rerun, write_rerun
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import RowFile, SavedResult, TracedTable
from forward_lineage.store.saving.appending import Changes, appended, check_same_rows
from forward_lineage.store.saving.execution import Target
from forward_lineage.store.saving.local_rows import Computed, write_computed
from forward_lineage.store.saving.origins import deciding, origins
from forward_lineage.store.saving.scope import ALL_NOW, Scope
from forward_lineage.store.saving.staging import Kept
from forward_lineage.store.saving.traced_query import TracedQuery, Tracer
from forward_lineage.store.saving.writing import written
from udafs.errors import BadArgumentError, NameTakenError, SetupError

Mode = Literal["overwrite", "error", "append"]
Reads = Callable[[Sequence[TracedTable]], None]


@dataclass(frozen=True)
class Wish:
    """How a result is to be saved: the arguments of `ForwardLineage.save`, which describes them.

    And `rerun`, how to save it again, if that is known; and `follows`, the version that must be the newest still. A
    `batch` has the name of its stream and its number.
    """

    name: str
    semantics: str = "data"
    mode: Mode = "overwrite"
    keep_versions: bool = False
    encoding: Form = "auto"
    scope: Scope = ALL_NOW
    rerun: Rerun | None = None
    follows: int | None = None
    batch: tuple[str, int] | None = None

    def check(self) -> None:
        """Check each for itself.

        Raises:
            BadArgumentError: the name is none that queries could use, or mode or encoding are unknown.

        """
        _check_choice("mode", self.mode, ("overwrite", "error", "append"))
        _check_choice("encoding", self.encoding, ("auto", "bdd", "runs"))
        check_name(self.name)


class Saver:
    """Saves results of one session.

    Args:
        tracer: traces the query of a result.
        tables: the session's registered tables.
        library: where results go.
        changes: tells which rows of a table changed.

    """

    def __init__(self, tracer: Tracer, tables: RegisteredTables, library: Library, changes: Changes) -> None:
        self._tracer, self._tables, self._library, self._changes = tracer, tables, library, changes

    def save(self, df_or_sql: DataFrame | str, wish: Wish, reads: Reads = lambda tables: None) -> SavedResult:
        """Run a query once and save its rows and their lineage under a name.

        Args:
            df_or_sql: the query.
            wish: how its rows are saved.
            reads: is told what the query is made of, before it runs.

        """
        wish.check()
        self.check_free(wish.name, wish.mode)
        query = self._tracer.query(df_or_sql, wish.semantics, wish.scope)
        made_of = [query.applied(each) for each in origins(query.meaning, self._tables, self._library)]
        decided_by = deciding(query.meaning, self._tables, self._library)
        reads([*made_of, *decided_by])
        before = self._library.latest(wish.name) if wish.mode == "append" else None
        if before is not None:
            check_same_rows(before, made_of, self._library, self._changes)
        with self._library.writing(wish.name) as folder:
            lineage = self._write(query, made_of, folder, wish, before)
            made_of = [self._with_dictionary(table, query.meaning, folder, i) for i, table in enumerate(made_of)]
            saved = replace(_described(wish, query, made_of, lineage, folder), decided_by=tuple(decided_by))
            whole = saved if before is None else appended(before, saved)
            if wish.rerun is not None:
                is_first = before is None and wish.batch is None
                write_rerun(folder, wish.rerun if is_first else Rerun(refused="rows were appended to it"))
            return self._library.publish(lambda newest: self._still_free(whole, newest, before, wish))

    def save_computed(self, computed: Computed, wish: Wish) -> SavedResult:
        """Save rows and lineage that are known already; the table must still be what they were computed of.

        Raises:
            LineageError: it is not, the name is in use, or a column cannot be kept.

        """
        wish.check()
        self.check_free(wish.name, wish.mode)
        tables = [{"name": computed.table.name, "version": computed.table.version}]
        meaning = {"sql": computed.sql, "semantics": wish.semantics, "tables": tables}
        spark = self._tables.spark
        with spark_errors():
            query = TracedQuery.of(spark.sql(computed.sql), meaning)
        made_of = origins(meaning, self._tables, self._library)
        with self._library.writing(wish.name) as folder:
            written = write_computed(computed, Target(folder, wish.name, query.schema, wish.encoding), spark)
            kept = Kept(written.row_files, {computed.table.name: written.segments[0]})
            saved = _described(wish, query, made_of, kept, folder)
            return self._library.publish(lambda newest: self._still_free(saved, newest, None, wish))

    def _write(
        self, query: TracedQuery, made_of: list[TracedTable], folder: Path, wish: Wish, before: SavedResult | None
    ) -> Kept:
        target = Target(
            folder, wish.name, query.schema, wish.encoding, before.numbers_end if before else 0, self._library.files
        )
        kept, in_parts = written(self._tables.spark, query, target, len(before.stages) if before else 0)
        if in_parts:
            origins(query.meaning, self._tables, self._library)  # each part has read the tables for itself
        return kept

    def _with_dictionary(
        self, table: TracedTable, meaning: Mapping[str, Any], folder: Path, number: int
    ) -> TracedTable:
        if not table.granules:
            return table
        place = f"granules/{number}"
        if self._library.files.address(folder) and not is_one_machine(self._tables.spark):
            raise SetupError(
                f"the values of LINEAGE ON over {table.name} are written by executors, each to its own disk",
                instead="Save it with a home that is a folder which all machines share, or without LINEAGE ON.",
            )
        entries = entries_sql(meaning["granules"][table.name])
        paths = write_dictionary(self._tables.spark, entries, folder / place, len(table.granules))
        return replace(table, dictionary=place, dictionary_files=_files_of_dictionary(folder, paths))

    # ------------------------------------------------------------ the name

    def check_free(self, name: str, mode: Mode) -> None:
        """Check that a name is not that of anything else: queries call the result by it.

        Raises:
            NameTakenError: it is.

        """
        another = "Save the result under another name."
        known = self._tables.get(name)
        if known is not None and known.provider is not Provider.RESULT:
            raise NameTakenError(f"{name} is a registered table", instead=another)
        if known is None and self._tables.spark.catalog.tableExists(quoted(name)):
            raise NameTakenError(
                f"Spark has a table or view {name}, which queries would no longer find", instead=another
            )
        self._library.check_kind(name, SavedResult)
        if mode == "error":
            self._check_not_saved(name)

    def _still_free(self, saved: SavedResult, newest: int, before: SavedResult | None, wish: Wish) -> SavedResult:
        """The facts that may have changed while the query ran; asked again under the lock of the home."""
        if newest and wish.mode == "error":
            self._check_not_saved(saved.name)
        if newest and wish.follows is not None:
            check_newest(saved.name, wish.follows, newest)
        overtaken = wish.mode == "append" and newest and newest != (before.version if before else 0)
        if overtaken and self._library.latest(saved.name) is not None:
            raise NameTakenError(
                f"another session saved {saved.name} while rows were being appended", instead="Append them again."
            )
        return saved

    def _check_not_saved(self, name: str) -> None:
        damaged = {each.lower() for each in self._library.damaged()}
        if name.lower() in damaged or self._library.find(name) is not None:
            raise NameTakenError(
                f"there is a saved result {name} already",
                instead='Say mode="overwrite" or mode="append", or choose another name.',
            )


def check_newest(name: str, version: int, newest: int) -> None:
    """Check that a version of a result that was brought up to date is the newest still.

    Raises:
        NameTakenError: it is not.

    """
    if newest != version:
        raise NameTakenError(
            f"another session saved {name} while it was being brought up to date", instead="Update it again."
        )


def _files_of_dictionary(data: Path, paths: list[Path]) -> tuple[RowFile, ...]:
    """Note the files of a dictionary, in the data folder of a result, and bring them to the disk."""
    files: list[RowFile] = []
    for path in paths:
        first = sum(file.rows for file in files)
        files.append(row_file(data, path.relative_to(data).as_posix(), first, pq.read_metadata(path).num_rows))
    return tuple(files)


def _described(wish: Wish, query: TracedQuery, made_of: list[TracedTable], kept: Kept, folder: Path) -> SavedResult:
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
        tables=tuple(_with_lineage(each, i, kept, folder) for i, each in enumerate(made_of)),
        data=folder.name,
        keeps_numbers_of=0,
        kept=wish.keep_versions,
        refers=kept.refers,
        stages=kept.stages,
        recipe=query.recipe,
        batches=() if wish.batch is None else (wish.batch,),
    )


def _with_lineage(table: TracedTable, number: int, kept: Kept, folder: Path) -> TracedTable:
    if table.captured is not Captured.NOW:
        return table
    return replace(table, segments=kept.of_table(table.name, number, folder))


def _check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise BadArgumentError(f"{what}={given!r} is not known", instead=f"Use one of {', '.join(known)}.")
