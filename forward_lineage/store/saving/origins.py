"""The sources of a result, noted when its query was made, and checked to be unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forward_lineage.results import DECIDED_BY, MADE_WITH, TRUSTED
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import rows_as_read
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import ChangedError, NotRegisteredError


def origins(meaning: Mapping[str, Any], tables: RegisteredTables, library: Library) -> list[TracedTable]:
    """Return the tables that a traced DataFrame was made of, their lineage not written yet.

    Args:
        meaning: what the metadata of its `DL` says; see `results.described`.
        tables: the session's tables.
        library: the saved results.

    Raises:
        ChangedError: one of them is not what it was.

    """
    return [_origin(entry, meaning, tables, library) for entry in meaning["tables"]]


def deciding(meaning: Mapping[str, Any], tables: RegisteredTables, library: Library) -> list[TracedTable]:
    """Return the tables that a query reads and that no row is traced to; see `origins`."""
    return [_origin(entry, meaning, tables, library) for entry in meaning.get(DECIDED_BY, ())]


def _origin(
    entry: Mapping[str, Any], meaning: Mapping[str, Any], tables: RegisteredTables, library: Library
) -> TracedTable:
    name, version = entry["name"], int(entry["version"])
    granules = tuple((meaning.get("granules") or {}).get(name, {}).get("expressions", ()))
    manifest = _registration(name, version, tables, library)
    if manifest.provider is Provider.RESULT:
        saved = _result_in(Path(manifest.source["path"]).parent, name, library)
        rows_as_read(tables.spark, saved)
        return TracedTable(name, saved.version, Provider.RESULT, granules=granules)
    check_unchanged(tables.spark, manifest)
    made_with = int(entry.get(MADE_WITH, version))
    if made_with != version:  # ids hold in both; whether the result is stale, the older one says
        manifest = tables.registrations.version(name, made_with)
    data = {**manifest.to_data(), "trusted": manifest.trusted or bool(entry.get(TRUSTED))}
    return TracedTable(name, made_with, manifest.provider, granules=granules, manifest=data)


def _registration(name: str, version: int, tables: RegisteredTables, library: Library) -> Manifest:
    known = tables.get(name)
    if known is not None and known.version == version:
        return known
    try:
        return tables.registrations.version(name, version)
    except NotRegisteredError:
        if name.lower() not in library.names():
            raise
        raise _saved_again(name) from None


def _result_in(folder: Path, name: str, library: Library) -> SavedResult:
    for saved in reversed(library.versions(name)):
        if isinstance(saved, SavedResult) and saved.data == folder.name:
            return saved
    raise _saved_again(name)


def _saved_again(name: str) -> ChangedError:
    return ChangedError(
        f"the rows of {name} that the query reads were saved again or dropped since",
        instead="Make the DataFrame anew with lineage.sql(…).",
    )
