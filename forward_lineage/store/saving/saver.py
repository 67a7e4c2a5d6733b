"""From a query or a DataFrame to a saved result: what must hold, and in which order things are written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame
from sqlglot import exp

from forward_lineage.frontend.statement import parse
from forward_lineage.relations.segment import Form
from forward_lineage.results import LINEAGE_COLUMN, meaning_of
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.spark.names import quoted
from forward_lineage.spark.tables import type_name
from forward_lineage.spark.traced_frame import lineage_of_frame
from forward_lineage.store.asking.granules import save_dictionary
from forward_lineage.store.library.library import Library, check_name
from forward_lineage.store.library.row_files import check_row_files
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from forward_lineage.store.saving.execution import Written, user_schema, write_result
from udafs.errors import LineageError

if TYPE_CHECKING:
    from forward_lineage.session import ForwardLineage

Mode = Literal["overwrite", "error", "append"]


class Saver:
    """Saves results of one session.

    Args:
        lineage: the session's lineage.
        library: where they go.

    """

    def __init__(self, lineage: ForwardLineage, library: Library) -> None:
        self.lineage, self.library = lineage, library

    def save(
        self, df_or_sql: DataFrame | str, name: str, *, semantics: str, mode: Mode, keep_versions: bool, encoding: Form
    ) -> SavedResult:
        """See `ForwardLineage.save`."""
        _check_choice("mode", mode, ("overwrite", "error", "append"))
        _check_choice("encoding", encoding, ("auto", "bdd", "runs"))
        self._check_free(check_name(name), mode)
        frame, meaning = self._traced(df_or_sql, semantics)
        tables = [self._table(entry, meaning) for entry in meaning["tables"]]
        before = self.library.latest(name) if mode == "append" else None
        with self.library.writing(name) as folder:
            first_row = before.rows if before else 0
            written = write_result(
                frame,
                LINEAGE_COLUMN if tables else None,
                [table.name for table in tables],
                folder,
                name=name,
                first_row=first_row,
                form=encoding,
            )
            tables = [self._with_dictionary(table, meaning, folder, i) for i, table in enumerate(tables)]
            saved = _result(name, frame, meaning, tables, written=written, folder=folder)
            saved = replace(saved, kept=keep_versions)
            if before is not None:
                saved = _appended(before, saved)
            return self.library.publish(lambda newest: _checked(saved, newest, before, mode, self.library))

    def _traced(self, df_or_sql: DataFrame | str, semantics: str) -> tuple[DataFrame, Mapping[str, Any]]:
        if isinstance(df_or_sql, DataFrame):
            meaning = lineage_of_frame(df_or_sql)
            if meaning["home"] != str(self.lineage.home):
                raise LineageError(
                    f"the DataFrame was traced under the home {meaning['home']}, not {self.lineage.home}",
                    instead="Save it with the ForwardLineage that made it.",
                )
            return df_or_sql, meaning
        if not isinstance(df_or_sql, str):
            raise LineageError(f"only SQL and DataFrames can be saved, not {type(df_or_sql).__name__}")
        if df_or_sql.strip() and not isinstance(parse(df_or_sql).tree, exp.Query):
            raise LineageError("a statement that is no query has no rows to save", instead="Save its SELECT.")
        frame = self.lineage.sql(df_or_sql, semantics)
        untraced = {"sql": df_or_sql, "semantics": semantics, "tables": [], "home": str(self.lineage.home)}
        return frame, meaning_of(frame) or untraced

    def _table(self, entry: Mapping[str, Any], meaning: Mapping[str, Any]) -> TracedTable:
        """Note a table as it was when the query was made, and check that it still is."""
        name, version = entry["name"], int(entry["version"])
        granules = tuple((meaning.get("granules") or {}).get(name, {}).get("expressions", ()))
        manifest = self._registration(name, version)
        if manifest.provider is Provider.RESULT:
            saved = self._result_in(Path(manifest.source["path"]).parent, name)
            check_row_files(saved)
            return TracedTable(name, saved.version, Provider.RESULT, granules=granules)
        check_unchanged(self.lineage.spark, manifest)
        noted = manifest.to_data()
        return TracedTable(name, version, manifest.provider, granules=granules, manifest=noted)

    def _registration(self, name: str, version: int) -> Manifest:
        known = self.lineage.tables().get(name)
        if known is not None and known.version == version:
            return known
        return self.lineage.registrations.version(name, version)

    def _result_in(self, folder: Path, name: str) -> SavedResult:
        for saved in reversed(self.library.versions(name)):
            if saved.data == folder.name:
                return saved
        raise LineageError(
            f"the rows of {name} that the query reads were saved again or dropped since",
            instead="Make the DataFrame anew with lineage.sql(…).",
        )

    def _with_dictionary(
        self, table: TracedTable, meaning: Mapping[str, Any], folder: Path, number: int
    ) -> TracedTable:
        if not table.granules:
            return table
        place = f"granules/{number}"
        dictionary = meaning["granules"][table.name]["dictionary"]
        files = save_dictionary(self.lineage.spark, dictionary, folder, place, len(table.granules))
        return replace(table, dictionary=place, dictionary_files=files)

    def _check_free(self, name: str, mode: Mode) -> None:
        """The name must not be that of anything else: queries call the result by it."""
        known = {each.lower(): manifest for each, manifest in self.lineage.tables().items()}.get(name.lower())
        if known is not None and known.provider is not Provider.RESULT:
            raise LineageError(f"{name} is a registered table", instead="Save the result under another name.")
        if known is None and self.lineage.spark.catalog.tableExists(quoted(name)):
            raise LineageError(
                f"Spark has a table or view {name}, which queries would no longer find",
                instead="Save the result under another name.",
            )
        if mode == "error" and _is_there(self.library, name):
            raise _taken(name)


def _result(
    name: str,
    frame: DataFrame,
    meaning: Mapping[str, Any],
    tables: list[TracedTable],
    *,
    written: Written,
    folder: Path,
) -> SavedResult:
    schema = user_schema(frame, LINEAGE_COLUMN if tables else None)
    segments = written.segments
    return SavedResult(
        name=name,
        version=0,
        sql=meaning["sql"],
        semantics=meaning["semantics"],
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        columns=tuple((field.name, type_name(field.dataType)) for field in schema.fields),
        schema=json.loads(schema.json()),
        rows=sum(file.rows for file in written.row_files),
        row_files=written.row_files,
        tables=tuple(replace(table, segments=each) for table, each in zip(tables, segments, strict=True)),
        data=folder.name,
        keeps_numbers_of=0,
    )


def _appended(before: SavedResult, more: SavedResult) -> SavedResult:
    """Put new rows behind those of the version before, whose files become files of the new version too."""
    if before.columns != more.columns:
        raise LineageError(f"{more.name} has other columns than the query to append", instead="Overwrite it.")
    if before.semantics != more.semantics or [t.name for t in before.tables] != [t.name for t in more.tables]:
        raise LineageError(
            f"{more.name} has {before.semantics} lineage in {', '.join(t.name for t in before.tables)}, the query to "
            f"append has {more.semantics} lineage in {', '.join(t.name for t in more.tables)}",
            instead="Overwrite it.",
        )
    tables = []
    for old, new in zip(before.tables, more.tables, strict=True):
        if old.granules or new.granules:
            raise LineageError(
                "a result of LINEAGE ON has ids of its own and cannot be appended to", instead="Overwrite it."
            )
        tables.append(replace(new, segments=(*old.segments, *new.segments)))
    row_files = [file for file in before.row_files if file.rows or not more.rows]
    for path in [
        *(file.path for file in row_files),
        *(each.path for table in before.tables for each in table.segments),
    ]:
        _share(before.folder / path, before.folder.with_name(more.data) / path)
    return replace(
        more,
        rows=before.rows + more.rows,
        row_files=(*row_files, *(file for file in more.row_files if file.rows)),
        tables=tuple(tables),
        keeps_numbers_of=before.keeps_numbers_of,
    )


def _share(source: Path, target: Path) -> None:
    """Files never change once they are published, so versions may share them."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _checked(saved: SavedResult, newest: int, before: SavedResult | None, mode: Mode, library: Library) -> SavedResult:
    """What may have changed while the query ran; asked again under the lock of the home."""
    if newest and mode == "error" and _is_there(library, saved.name):
        raise _taken(saved.name)
    if mode == "append" and newest and newest != (before.version if before else 0):
        latest = library.latest(saved.name)
        if latest is not None:
            raise LineageError(
                f"another session saved {saved.name} while rows were being appended", instead="Append them again."
            )
    return saved


def _is_there(library: Library, name: str) -> bool:
    return any(each.lower() == name.lower() for each in library.damaged()) or library.latest(name) is not None


def _taken(name: str) -> LineageError:
    return LineageError(
        f"there is a saved result {name} already",
        instead='Say mode="overwrite" or mode="append", or choose another name.',
    )


def _check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise LineageError(f"{what}={given!r} is not known", instead=f"Use one of {', '.join(known)}.")
