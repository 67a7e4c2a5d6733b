"""Saved results put together by hand: what questions need of them, without Spark, and with rows if they are given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.row_files import row_file
from forward_lineage.store.library.saved_result import SavedResult, SegmentEntry, TracedTable
from forward_lineage.store.saving.tasks import write_segment

Pairs = set[tuple[int, int]]
ROWS = 12


def put(
    library: Library,
    name: str,
    lineage: Mapping[str, Pairs],
    *,
    versions: Mapping[str, int] | None = None,
    results: frozenset[str] = frozenset(),
    cuts: tuple[int, ...] = (0,),
    **more: object,
) -> SavedResult:
    """Save a result with this lineage by table, in segments that begin at the cuts."""
    with library.writing(name) as folder:
        tables = []
        for table, pairs in lineage.items():
            segments = tuple(_segments(folder, table, pairs, cuts))
            version = (versions or {}).get(table, 1)
            if table in results:
                tables.append(TracedTable(table, version, Provider.RESULT, segments))
            else:
                manifest = Manifest(table, Provider.KEY, (("k", "int"),), table, "k", version=version, key=("k",))
                noted = manifest.to_data()
                tables.append(TracedTable(table, version, Provider.KEY, segments, manifest=noted))
        saved = SavedResult(
            name=name, version=0, sql="…", semantics="data", saved_at="", columns=(("a", "int"),), schema={}, rows=ROWS,
            row_files=(), tables=tuple(tables), data=folder.name, keeps_numbers_of=0, **more,
        )  # fmt: skip  # type: ignore[arg-type]
        return library.publish(lambda newest: saved)


def _segments(folder: Path, table: str, pairs: Pairs, cuts: tuple[int, ...]) -> list[SegmentEntry]:
    found = []
    for start, stop in zip(cuts, [*cuts[1:], ROWS], strict=True):
        part = sorted((row - start, each) for row, each in pairs if start <= row < stop)
        relation = RunsRelation.from_pairs([row for row, _ in part], [each for _, each in part])
        path = f"lineage/{table}/{start}.lineage"
        found.append(write_segment(folder, path, relation, first_row=start, rows=stop - start, form="auto"))
    return found


def put_rows(
    library: Library, name: str, files: list[pa.Table], columns: tuple[tuple[str, str], ...], table: str = "sales"
) -> SavedResult:
    """Save a result with rows, each of them made of the row of a table with ten times its number."""
    rows = sum(each.num_rows for each in files)
    with library.writing(name) as folder:
        (folder / "rows").mkdir()
        written, first = [], 0
        for each in files:
            path = f"rows/part-{first:019}.parquet"
            pq.write_table(each, folder / path)
            written.append(row_file(folder, path, first, each.num_rows))
            first += each.num_rows
        relation = RunsRelation.from_pairs(range(rows), range(0, 10 * rows, 10))
        segment = write_segment(folder, "lineage/0/0.lineage", relation, first_row=0, rows=rows, form="auto")
        manifest = Manifest(table, Provider.KEY, (("k", "int"),), table, "k", version=1, key=("k",))
        made_of = TracedTable(table, 1, Provider.KEY, (segment,), manifest=manifest.to_data())
        saved = SavedResult(
            name=name, version=0, sql="…", semantics="data", saved_at="", columns=columns, schema={}, rows=rows,
            row_files=tuple(written), tables=(made_of,), data=folder.name, keeps_numbers_of=0,
        )  # fmt: skip
        return library.publish(lambda newest: saved)
