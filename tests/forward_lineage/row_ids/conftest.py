"""Small Parquet tables on disk, and the ids that a registered table's rows have."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from forward_lineage import ForwardLineage
from udafs.build import spark_version
from udafs.versions import check_version

# Spark 4.0 brought Derby 10.16.
DERBY = f"org.apache.derby.{'iapi.' if check_version(spark_version()) >= (4, 0) else ''}jdbc.AutoloadedDriver"


def write(path: Path, values: list[int], **more: list[object]) -> Path:
    """Write a Parquet file with a column `v`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"v": pa.array(values, pa.int64()), **more}), path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files: 10, 11, 12 and 20, 21 and 30."""
    write(tmp_path / "t" / "a.parquet", [10, 11, 12])
    write(tmp_path / "t" / "b.parquet", [20, 21])
    write(tmp_path / "t" / "c.parquet", [30])
    return tmp_path / "t"


def ids(lineage: ForwardLineage, table: str, value: str = "v") -> dict[object, int]:
    """Return value → row id, for every row, as a query's lineage has it."""
    frame = lineage.sql(f"SELECT {value} AS value FROM {table}")
    rows = frame.selectExpr("value", f"dl_ids(DL.`{table}`) AS ids").collect()
    assert all(len(row.ids) == 1 for row in rows)
    assert len({row.ids[0] for row in rows}) == len(rows), "an id twice"
    return {row.value: row.ids[0] for row in rows}
