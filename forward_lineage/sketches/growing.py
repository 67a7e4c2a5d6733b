"""Sketches that grow with their table: rows were appended, so the fragments that these touch are added.

The paper leaves data that change to future work.

The proof that this gives a sketch again is in `safety.growth`. Appended rows are seen in the versions of the
registration: each file is there unchanged, and no id is retired. Only the new rows are read, by their ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from forward_lineage.columns.ranges import Sketch
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.session_tables import RegisteredTables
from forward_lineage.sketches.find_sketches import from_ids
from forward_lineage.sketches.sketch_store import Capture
from forward_lineage.sketches.sketched_query import AskedQuery, QueriedTable
from forward_lineage.sketches.sketched_scan import kept_size
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class Appended:
    """Rows that were added to one of the tables of a query, nothing else being changed.

    Attributes:
        sketch: the captured one of that table.
        table: as it is now.
        first: the least of the new rows' ids.

    """

    sketch: Sketch
    table: QueriedTable
    first: int


def appended(captured: Capture, query: AskedQuery, tables: RegisteredTables) -> Appended | None:
    """Return what was added since sketches were captured; None where anything else has changed, or no sketch can grow.

    Args:
        captured: sketches of tables of the same names.
        query: that asks for them.
        tables: the registered tables.

    """
    if captured.one_witness:
        return None  # a new row may attain what the old one did, and more of the old ones count beside it
    before = dict(captured.states)
    changed = [table for table in query.tables if before.get(table.manifest.name) != table.manifest.digest()]
    sketches = {each.partition.table: each for each in captured.sketches}
    if len(changed) != 1 or changed[0].name not in sketches:
        return None
    (table,) = changed
    then = tables.registrations.with_digest(table.manifest.name, before[table.manifest.name])
    if then is None or not _only_added(then, table.manifest):
        return None
    return Appended(sketches[table.name], table, then.next_id)


def grown(captured: Capture, query: AskedQuery, more: Appended, tables: RegisteredTables) -> Capture:
    """Return sketches with the fragments of new rows; of other tables there are none any more, they are read whole.

    Raises:
        LineageError: the table is not what was registered.

    """
    partition, manifest = more.sketch.partition, more.table.manifest
    ids = LineageSet.from_intervals(np.array([more.first]), np.array([manifest.next_id - 1]), listed=False)
    registered = replace(partition, table=manifest.name)
    added = from_ids(tables, registered, ids) if manifest.next_id > more.first else registered.sketch(())
    sketch = partition.sketch({*more.sketch.fragments, *added.fragments})
    left = sum(kept_size(tables.spark, each, sketch if each is more.table else None) for each in query.tables)
    return replace(
        as_grown(captured, query, more), sketches=(sketch,), size=query.size, kept_size=min(left, query.size)
    )


def as_grown(captured: Capture, query: AskedQuery, more: Appended) -> Capture:
    """Return what grown sketches are but for their fragments: all that a proof depends on."""
    return replace(captured, states=query.states, sketches=(more.sketch,), has_grown=True)


def _only_added(then: Manifest, now: Manifest) -> bool:
    """Whether a registration has all files that it had, just as they were, and each new row an id of its own."""
    if then.provider is not Provider.POSITION or then.retired != now.retired:
        return False
    same = replace(then, version=now.version, files=now.files, next_id=now.next_id)
    return same == now and _rows_of(then.files) <= _rows_of(now.files)


def _rows_of(files: Iterable[DataFile]) -> set[tuple[str, int, int, str, int, int]]:
    return {(each.path, each.size, each.modified, each.footer, each.offset, each.rows) for each in files}
