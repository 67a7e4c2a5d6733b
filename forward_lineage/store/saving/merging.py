"""From the files of many tasks to a result's own: rows numbered through, small segments merged.

A query leaves as many pieces as its last stage had tasks. Rows that share lineage share it within a segment only, and
every segment costs a question some time, so neighbouring small ones become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from forward_lineage.relations import segment as segments
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import Claim, Form
from forward_lineage.storage.mirror import LOCAL, Files
from forward_lineage.storage.object_store import AT_ONCE
from forward_lineage.store.library.saved_result import RowFile, SegmentEntry
from forward_lineage.store.saving.tasks import MERGED_BELOW, MOST_RUNS, TaskFiles, write_segment


def settle(
    folder: Path, tasks: Sequence[TaskFiles], first_row: int, form: Form, of: Files = LOCAL
) -> tuple[list[RowFile], list[list[SegmentEntry]]]:
    """Number the rows of all tasks through and give the files their names.

    Args:
        folder: the data folder.
        tasks: in the order of the result's rows.
        first_row: number of the first row.
        form: of segments that are written anew.
        of: the files in the folder, wherever tasks have put them.

    Returns:
        the row files, and the segments of each table.

    """
    files: list[RowFile] = []
    pieces: list[list[SegmentEntry]] = [[] for _ in tasks[0].segments] if tasks else []
    renamed: list[tuple[str, str]] = []
    at = first_row
    for task in tasks:
        for file in task.rows:
            name = f"rows/part-{at:019}.parquet"
            renamed.append((file.path, name))
            files.append(replace(file, path=name, first_row=at + file.first_row))
        for table, written in zip(pieces, task.segments, strict=True):
            table += [replace(each, first_row=at + each.first_row) for each in written]
        at += task.count
    for path, name in renamed if of is LOCAL else ():
        (folder / path).rename(folder / name)
    # The arithmetic and the compression leave the interpreter lock, and so does a store that is asked.
    with ThreadPoolExecutor(None if of is LOCAL else AT_ONCE) as pool:
        if of is not LOCAL:
            list(pool.map(lambda each: of.rename(folder / each[0], folder / each[1]), renamed))
        jobs = [(folder, table, group, form, of) for table, each in enumerate(pieces) for group in _groups(each)]
        merging = [piece for _, _, group, _, _ in jobs if not _stays(group, form) for piece in group]
        of.fetch_all((folder / piece.path, piece.size, None) for piece in merging)
        merged = list(pool.map(lambda job: (job[1], _merge(*job)), jobs))
    return files, [[entry for owner, entry in merged if owner == table] for table in range(len(pieces))]


def _groups(pieces: Sequence[SegmentEntry]) -> Iterator[list[SegmentEntry]]:
    """Put neighbouring segments together that have few pairs, which are no fewer than their runs."""
    group: list[SegmentEntry] = []
    for piece in pieces:
        if group and sum(each.pairs for each in group) + piece.pairs > MOST_RUNS:
            yield group
            group = []
        group.append(piece)
    if group:
        yield group


def _stays(group: Sequence[SegmentEntry], form: Form) -> bool:
    """Tell whether a segment is kept as its task has written it."""
    only = group[0]
    return len(group) == 1 and (only.form == "bdd" or form == "runs" or only.pairs >= MERGED_BELOW)


def _merge(folder: Path, table: int, group: Sequence[SegmentEntry], form: Form, of: Files) -> SegmentEntry:
    first_row = group[0].first_row
    path = f"lineage/{table}/{first_row:019}.lineage"
    only = group[0]
    if _stays(group, form):
        of.rename(folder / only.path, folder / path)
        return replace(only, path=path)
    parts = []
    for piece in group:
        claim = Claim(0, piece.rows, piece.pairs)
        relation = segments.read(folder / piece.path, piece.checksum, claim).relation
        parts.append((piece.first_row - first_row, RunsRelation.of(relation)))
        (folder / piece.path).unlink()
    relation = RunsRelation.stacked(parts)
    total = sum(piece.rows for piece in group)
    return write_segment(folder, path, relation, first_row=first_row, rows=total, form=form)
