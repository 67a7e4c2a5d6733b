"""Whether what a manifest says of a saved result fits together, and stays in the result's own folder.

Every row must have its lineage in exactly one segment: a gap would be rows that come from nowhere, silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.store.library.capture_state import Captured
from forward_lineage.store.library.made_of import RowFile, SegmentEntry, StageLineage, TableLineage, TracedTable
from forward_lineage.store.library.saved import Saved
from forward_lineage.store.library.saved_result import SavedResult
from udafs.delta import MAX_ID

_NAME = re.compile(r"[^\W\d]\w{0,99}")
_MOST_BYTES = 255  # of a folder's name
_DATA = re.compile(r"data-[0-9A-Za-z]+", re.ASCII)
_BAD_PARTS = {"", ".", ".."}
_FORMS = ("bdd", "runs", "boxes", "gather")


def is_name(name: str) -> bool:
    """Tell whether a result may be called so: letters, digits and _, a letter or _ first; a folder bears the name."""
    return _NAME.fullmatch(name) is not None and len(name.lower().encode()) <= _MOST_BYTES


def check_sound(saved: Saved) -> None:
    """Check a manifest that was read.

    Raises:
        ValueError: it cannot be what a save wrote.
        BadArgumentError: a table has a name that none can have.

    """
    _demand(saved.semantics in ("data", "control") and _DATA.fullmatch(saved.data) is not None, "no such data")
    _demand(0 <= saved.rows <= MAX_ID and 0 < saved.keeps_numbers_of <= saved.version, "no such number")
    end = saved.numbers_end
    _demand(saved.rows <= end <= MAX_ID, "no such number")
    if saved.content_files:
        _check_rows(saved.content_files, end, saved.contents, gaps=saved.ids_end is not None)
        _demand(sum(file.rows for file in saved.content_files) == saved.rows, "more rows or fewer")
    recipe = saved.recipe if isinstance(saved, SavedResult) else None
    _demand(saved.is_whole or recipe is not None, "lineage in part, and no way to the rest")
    names = [table.name.lower() for table in saved.inputs]
    _demand(len(set(names)) == len(names), "a table twice")
    for table in saved.tables:
        _check_table(table, end)
    if isinstance(saved, SavedResult):
        _check_rows_of_query(saved)
    _check_stages(saved, {table.name.lower() for table in saved.tables})


def _check_rows_of_query(saved: SavedResult) -> None:
    for table in saved.decided_by:
        _check_table(table, 0)
        _demand(not table.segments, "lineage in a table that only decides")
    _demand(all(0 <= key.column < len(saved.columns) for key in saved.order), "an order by no column")
    streams = [stream for stream, _ in saved.batches]
    _demand(len(set(streams)) == len(streams) and all(each >= 0 for _, each in saved.batches), "no such batch")


def _check_table(table: TracedTable, rows: int) -> None:
    _demand(table.version >= 0 and table.provider is not Provider.DROPPED, "no such version")
    if table.captured is Captured.NOW:
        _check_segments(table.segments, rows, "lineage")
    else:
        _demand(not table.segments, "lineage that was not captured")
    _demand(table.is_whole or not table.granules, "granules in part")
    _demand((table.dictionary is None) == (not table.granules), "granules and their dictionary")
    if table.dictionary is not None:
        _check_path(table.dictionary, "granules")
        _check_rows(table.dictionary_files, sum(each.rows for each in table.dictionary_files), table.dictionary)
    _check_origin(table)


def _check_stages(saved: Saved, tables: set[str]) -> None:
    """The sources of a stage, and the parts that refer to it: tables of the result, and stages before it."""
    for number, stage in enumerate(saved.stages):
        _demand(0 <= stage.rows <= MAX_ID, "no such number")
        _demand(all(each.table.lower() in tables for each in stage.tables), "a stage of another table")
        _check_known(stage.stages, number)
        parts: tuple[TableLineage | StageLineage, ...] = (*stage.tables, *stage.stages)
        for part in parts:  # a stage that has the rows of the result shares their lineage
            own = any(each.path.startswith("stages/") for each in part.segments)
            _check_segments(part.segments, stage.rows, "stages" if own else "lineage")
    _check_known(saved.refers, len(saved.stages))
    for refers in saved.refers:
        _check_refers(refers.segments, saved.numbers_end)


def _check_refers(segments: tuple[SegmentEntry, ...], rows: int) -> None:
    """Rows that were there before an append, and those of a later one, refer to no stage of it."""
    first = segments[0].first_row if segments else 0
    after = first + sum(each.rows for each in segments)
    _demand(0 <= first <= after <= rows, "no such row")
    _check_segments(segments, after, "lineage", first)


def _check_known(parts: Iterable[StageLineage], stages: int) -> None:
    numbers = [each.stage for each in parts]
    _demand(all(0 <= each < stages for each in numbers) and len(set(numbers)) == len(numbers), "no such stage")


def _check_segments(segments: Iterable[SegmentEntry], rows: int, folder: str, first_row: int = 0) -> None:
    segments = tuple(segments)
    _check_rows(segments, rows, folder, first_row)
    _demand(all(each.pairs >= 0 and each.form in _FORMS for each in segments), "a segment")
    for each in segments:
        if (each.first_id, each.last_id) != (None, None):
            _demand(None not in (each.first_id, each.last_id), "half an interval of ids")
            _demand(0 <= (each.first_id or 0) <= (each.last_id or 0) <= MAX_ID, "no such ids")


def _check_origin(table: TracedTable) -> None:
    """A saved result has a manifest of its own; a registration is kept unchanged."""
    if table.is_result:
        _demand(table.manifest is None and is_name(table.name), "no result")
        return
    then = table.registration()
    _demand(then is not None and then.name.lower() == table.name.lower(), "the registration of another table")


def _check_rows(
    files: Iterable[RowFile | SegmentEntry], rows: int, folder: str, at: int = 0, *, gaps: bool = False
) -> None:
    """The files must have all rows from `at` on, each once, in order, and lie in a folder of the result's data.

    With gaps, numbers between those of two files may be no row's.
    """
    for file in files:
        at = max(at, file.first_row) if gaps else at
        _demand(file.first_row == at and file.rows >= 0, "rows that are missing or there twice")
        _demand(file.size >= 0 and 0 <= file.checksum < 1 << 32, "no such file")
        _check_path(file.path, folder)
        at += file.rows
    _demand(at <= rows if gaps else at == rows, "more rows or fewer")


def _check_path(path: str, folder: str) -> None:
    """A path of plain names, below a folder: none leads up, or anywhere else."""
    parts = path.split("/")
    above = folder.split("/")
    _demand(parts[: len(above)] == above and len(parts) > len(above), "a path that leads elsewhere")
    _demand(not _BAD_PARTS & set(parts), "a path that leads elsewhere")


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
