"""The lineage of one task's rows as segments, and where a task cannot write."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from forward_lineage.relations.segment import Form
from forward_lineage.relations.stored import SegmentCache, StoredRelation
from forward_lineage.store.saving import tasks
from forward_lineage.store.saving.tasks import SaveTask, SegmentWriter, Task
from udafs.errors import SetupError
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


def test_a_folder_that_is_not_shared_is_not_made(tmp_path: Path) -> None:
    task = Task(str(tmp_path / "home"), pa.schema([pa.field("a", pa.int64())]).serialize().to_pybytes(), 0, "auto")
    rows = [pa.RecordBatch.from_pydict({"a": [1, 2]})]
    with pytest.raises(SetupError, match=r"/home, which the driver has made, is not on .*driver and executors share"):
        list(SaveTask(task)(iter(rows)))
    assert not list(tmp_path.iterdir())


def test_a_folder_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, schema: pa.Schema) -> None:
        raise OSError(errno.ENOSPC, f"Error writing bytes to {path}")

    monkeypatch.setattr(tasks, "open_parquet", full)
    (tmp_path / "rows").mkdir()
    task = Task(str(tmp_path), pa.schema([pa.field("a", pa.int64())]).serialize().to_pybytes(), 0, "auto")
    with pytest.raises(SetupError, match=r" cannot be written on .*: No space left on device\. Make room there"):
        list(SaveTask(task)(iter([pa.RecordBatch.from_pydict({"a": [1, 2]})])))
