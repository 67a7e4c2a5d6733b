"""Saves that are killed at random moments lose nothing, and leave nothing behind."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult
from tests.forward_lineage.store.killing import kill_while_saving
from tests.forward_lineage.store.shelf import put
from udafs.lineage_set import LineageSet

# Saves "revenue" again and again through Spark; version v has v rows, and row i was made of the rows up to 7·i.
SAVING = """
import sys
from pathlib import Path
from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session

home = Path(sys.argv[1])
spark = local_session("kills", master="local[2]", driver_memory="1g", log=home / "spark.log",
                      spark__sql__shuffle__partitions="3")
spark.sql("CREATE TEMP VIEW sales AS SELECT id FROM range(0, 70000, 1, 3)")
lineage = ForwardLineage(spark, home)
lineage.register("sales", key="id", trusted=True)
while True:
    rows = lineage._parts.library.newest("revenue") + 1
    query = f"SELECT id % {rows} AS k, count(*) AS n, max(id) AS m FROM sales GROUP BY 1 ORDER BY 1"
    print(lineage.save(query, "revenue").version, flush=True)
"""


def check(home: Path) -> SavedResult:
    """The newest version is whole: as many rows as its number, each with the lineage it must have."""
    library = Library(home)
    saved = library.get("revenue")
    assert saved.rows == saved.version
    relation = library.relation(saved, saved.tables[0])
    rows = [relation.backward(LineageSet([row])) for row in range(saved.rows)]
    assert [ids.cardinality for ids in rows] == [len(range(row, 70000, saved.rows)) for row in range(saved.rows)]
    assert all(next(iter(ids)) == row for row, ids in enumerate(rows))
    for file in saved.row_files:
        assert (saved.folder / file.path).stat().st_size == file.size
    return saved


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kills", [pytest.param(1, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.long)])
def test_kills(tmp_path: Path, kills: int) -> None:
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    print(f"seed {seed}")
    saved = 0
    for _ in range(kills):
        kill_while_saving(SAVING, tmp_path, moments, 2)
        found = check(tmp_path)
        assert found.version > saved, f"seed {seed}: a version was lost"
        saved = found.version
    library = Library(tmp_path)
    put(library, "other", {})  # the next save, of whatever result, clears away what the dead have left
    assert [path.name for path in (library.folder / "revenue").glob("data-*")] == [library.get("revenue").data]
    assert not list((library.folder / "revenue").glob("*.partial"))
