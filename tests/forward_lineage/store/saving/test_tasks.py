"""The lineage of one task's rows as segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.relations.segment import Form
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.saving import tasks
from forward_lineage.store.saving.tasks import SegmentWriter
from udafs.lineage_set import LineageSet

ROWS = [LineageSet(np.arange(row % 5) * 3 + row % 7) for row in range(100)]  # some without ids, some alike


@pytest.mark.parametrize("form", ["auto", "bdd", "runs"])
@pytest.mark.parametrize(("most_runs", "most_bytes"), [(1 << 18, 1 << 20), (6, 1 << 20), (1 << 18, 64), (6, 64)])
def test_rows_keep_their_lineage_however_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form, most_runs: int, most_bytes: int
) -> None:
    monkeypatch.setattr(tasks, "MOST_RUNS", most_runs)
    monkeypatch.setattr(tasks, "_SEGMENT", most_bytes)
    writer = SegmentWriter(tmp_path, "lineage/0/.task", form)
    for start in range(0, 100, 10):
        values = [each.to_bytes() if each else None for each in ROWS[start : start + 10]]
        writer.add(pa.array(values, pa.binary()))
    written = writer.close()
    assert sum(each.rows for each in written) == 100
    assert (len(written) > 1) == ((most_runs, most_bytes) != (1 << 18, 1 << 20))
    relation = StoredRelation([each.file_in(tmp_path) for each in written], SegmentCache())
    assert [relation.backward(LineageSet([row])) for row in range(100)] == ROWS
