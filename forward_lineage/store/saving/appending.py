"""Append: new rows behind those of the version before, whose files become files of the new version, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from forward_lineage.storage.own_files import check_no_link
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from udafs.errors import BadArgumentError

_OVERWRITE = "Overwrite it."


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
