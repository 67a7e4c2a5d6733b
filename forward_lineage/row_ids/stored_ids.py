"""Do the ids in a table that carries lineage still mean what they meant when it was made? Asked before it is read."""

from __future__ import annotations

from collections.abc import Mapping

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.stored_tables import Meaning, RowIds
from udafs.errors import ChangedError, LineageError, NotRegisteredError, NotTracedError


def ids_that_are_gone(called: str, meaning: Meaning, tables: RegisteredTables) -> Mapping[str, str]:
    """Check that the ids of a table are those of registered tables; return those whose rows are gone since.

    Args:
        called: what messages call the table.
        meaning: what it says of its lineage.
        tables: those of the session.

    Returns:
        Base table → ranges of ids, see `StoredTable.gone`; no entry: none.

    Raises:
        NotRegisteredError: a base table is not registered.
        NotTracedError: it was registered under another home.
        ChangedError: its ids mean other rows now.

    """
    found = {ids.name: _gone(called, ids, tables) for ids in meaning.tables}
    return {name: gone for name, gone in found.items() if gone}


def version_made_with(called: str, ids: RowIds, tables: RegisteredTables) -> Manifest | None:
    """Return the registration that the ids of a table are of; None: a catalog's, which has no versions.

    Raises:
        ChangedError: it is not there any more, or was made anew.

    """
    if not ids.version:
        return None
    known = tables.get(ids.name)
    if known is not None and (known.version, known.digest()) == (ids.version, ids.digest):
        return known
    try:
        then = tables.registrations.version(ids.name, ids.version)
    except NotRegisteredError:
        then = None
    if then is None or then.digest() != ids.digest:
        raise ChangedError(
            f"{called} was made with version {ids.version} of {ids.name}, which {ids.home} does not know any more",
            instead=f"Make {called} anew.",
        )
    return then


def _gone(called: str, ids: RowIds, tables: RegisteredTables) -> str:
    now = _registered(called, ids, tables)
    known = tables.registrations.ids(now)
    if ids.home not in (None, known.home):
        raise NotTracedError(
            f"{called} was made with tables that are registered under {ids.home}, not {known.home}",
            instead=f'Query it with ForwardLineage(spark, home="{ids.home}"), or make it anew here.',
        )
    then = version_made_with(called, ids, tables)
    if not ids.means_the_same_as(known):
        then_by = f"version {ids.version}, ids by {ids.provider}" if ids.version else f"ids by {ids.row_id}"
        raise ChangedError(
            f"the ids of {ids.name} mean other rows now: {called} was made with {then_by}, now it is version "
            f"{now.version}, ids by {now.provider}",
            instead=f"Make {called} anew.",
        )
    gone = now.retired if now.provider.numbered and (then is None or then.retired != now.retired) else ()
    return ",".join(f"{first}-{end}" for first, end in gone)


def _registered(called: str, ids: RowIds, tables: RegisteredTables) -> Manifest:
    now = tables.get(ids.name)
    damaged: LineageError | None = tables.damaged.get(ids.name.lower())
    if now is None and damaged is not None:
        raise damaged
    if now is None:
        raise NotRegisteredError(
            f"{called} was made of {ids.name}, which is not registered",
            instead=f'Register it as it was: lineage.register("{ids.name}", …)'
            + (f'; or use ForwardLineage(spark, home="{ids.home}").' if ids.home is not None else "."),
        )
    return now
