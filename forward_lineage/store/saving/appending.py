"""Append: new rows behind those of the version before, whose files become files of the new version, too.

A result names one version of each table. So rows of a table that the rows before were made of must still be what they
were: a question about these would find other rows else, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from forward_lineage.row_ids.manifest import same_ids
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.storage.own_files import check_no_link
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import BadArgumentError, ChangedError, LineageError
from udafs.user_warnings import warn_user

Changes = Callable[[TracedTable, int], RowChanges]
"""Rows of a table that changed between the version that a result was made of and another; an error if not known."""

Batch = int | tuple[str, int]
"""The number of a batch of rows, or the name of a stream with it."""
_OVERWRITE = "Overwrite it."
_ELSEWHERE = "Save the new rows under another name, or overwrite it."


def batch_of(given: Batch | None, mode: str) -> tuple[str, int] | None:
    """Return a batch as a result notes it: the name of the stream, "" if it has none, and the number.

    Raises:
        BadArgumentError: it is no batch, or its rows are not to be appended.

    """
    if given is None:
        return None
    stream, number = given if isinstance(given, tuple) and len(given) == 2 else ("", given)
    if not isinstance(stream, str) or not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise BadArgumentError(
            f"batch={given!r} is no batch", instead='Give its number, as in batch=7, or batch=("stream", 7).'
        )
    if mode != "append":
        raise BadArgumentError(
            f'batch= is about rows that are appended, and mode="{mode}"', instead='Say mode="append".'
        )
    return stream, number


def has_batch(before: SavedResult, batch: tuple[str, int]) -> bool:
    """Tell, with a warning, whether a batch was the last one of its stream to be appended to a result.

    Raises:
        ChangedError: later batches were.

    """
    stream, number = batch
    last = dict(before.batches).get(stream, -1)
    if number == last:
        warn_user(f"batch {number} is in {before.name} already: nothing was appended")
    if number < last:
        of_stream = f" of {stream}" if stream else ""
        raise ChangedError(
            f"batch {number}{of_stream} comes after batch {last}, which {before.name} has already",
            instead=f'If the stream began anew, give it a name of its own: batch=("a name", {number}).',
        )
    return number == last


def check_same_rows(before: SavedResult, made_of: Sequence[TracedTable], library: Library, changes: Changes) -> None:
    """Check that what a version was made of is the same in the versions that new rows are made of.

    Args:
        before: the version that rows are to be appended to.
        made_of: what the new rows are made of.
        library: has the lineage of the version.
        changes: tells which rows of a table changed.

    Raises:
        ChangedError: a row that it was made of went or changed since, or that is not known.

    """
    newer = {each.name.lower(): each for each in made_of}
    for old in before.tables:
        new = newer.get(old.name.lower())
        if new is not None and new.version != old.version and old.is_whole and not old.granules:
            _check_moved_on(before, old, new, library, changes)


def _check_moved_on(
    before: SavedResult, old: TracedTable, new: TracedTable, library: Library, changes: Changes
) -> None:
    called = f"rows of {old.name} that {before.name} was made of"
    if new.version < old.version:
        raise ChangedError(
            f"{before.name} was made of version {old.version} of {old.name}, the rows to append of version "
            f"{new.version}",
            instead="Run the query again, and append what it returns.",
        )
    if old.trusted or new.trusted:
        return  # whoever registered it vouches for its rows
    try:
        found = changes(old, new.version)
    except LineageError as error:
        then = old.registration()
        if then is None or then.keeps_old_rows or not same_ids(then, new.registration()):
            raise ChangedError(
                f"it is not known whether {called} have changed: {error.what}", instead=_ELSEWHERE
            ) from None
        warn_user(f"it is not known whether {called} have changed since version {old.version}: {error}")
        return
    if found.before and (touched := found.before & library.relation(before, old).ids()):
        raise ChangedError(
            f"{len(touched)} {called} went or changed between its versions {old.version} and {new.version}",
            instead=_ELSEWHERE,
        )


def appended(before: SavedResult, more: SavedResult) -> SavedResult:
    """Put new rows behind those of a version.

    Args:
        before: the version.
        more: what was written, its rows numbered from `before.numbers_end` on, its stages from `len(before.stages)` on.

    Returns:
        both together, in the folder of `more`.

    Raises:
        BadArgumentError: they differ in columns, semantics or tables, or are results of LINEAGE ON, or not all lineage
            was captured.

    """
    _check_alike(before, more)
    tables = tuple(
        replace(new, segments=(*old.segments, *new.segments))
        for old, new in zip(before.tables, more.tables, strict=True)
    )
    row_files = [file for file in before.row_files if file.rows or not more.rows]
    shared: list[tuple[Path, Path]] = []
    # Files never change once they are published, so versions may share them.
    for path in dict.fromkeys((*(file.path for file in row_files), *(each.path for each in before.segments()))):
        check_no_link(before.home.parent, f"{before.home.name}/{before.data}/{path}")
        shared.append((before.folder / path, before.folder.with_name(more.data) / path))
    before.files.share(shared)
    return replace(
        more,
        rows=before.rows + more.rows,
        ids_end=None if before.ids_end is None else before.ids_end + more.rows,
        row_files=(*row_files, *(file for file in more.row_files if file.rows)),
        tables=tables,
        refers=(*before.refers, *more.refers),
        stages=(*before.stages, *more.stages),
        keeps_numbers_of=before.keeps_numbers_of,
        decided_by=tuple({each.name.lower(): each for each in (*before.decided_by, *more.decided_by)}.values()),
        batches=tuple({**dict(before.batches), **dict(more.batches)}.items()),
    )


def _check_alike(before: SavedResult, more: SavedResult) -> None:
    if before.columns != more.columns:
        raise BadArgumentError(f"{more.name} has other columns than the query to append", instead=_OVERWRITE)
    if before.semantics != more.semantics or _names(before.tables) != _names(more.tables):
        raise BadArgumentError(
            f"{more.name} has {before.semantics} lineage in {_names(before.tables)}, the query to append has "
            f"{more.semantics} lineage in {_names(more.tables)}",
            instead=_OVERWRITE,
        )
    if not (before.is_whole and more.is_whole):
        raise BadArgumentError(
            f"of {more.name} not all lineage was captured with the rows, so that no rows can be appended",
            instead=_OVERWRITE,
        )
    if any(table.granules for table in (*before.tables, *more.tables)):
        raise BadArgumentError(
            "a result of LINEAGE ON has ids of its own and cannot be appended to", instead=_OVERWRITE
        )


def _names(tables: tuple[TracedTable, ...]) -> str:
    return ", ".join(table.name for table in tables)
