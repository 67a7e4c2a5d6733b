"""Tables on other file systems than the local one, through Hadoop: `viewfs:` over local folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.row_ids.conftest import ids, write
from udafs.errors import BadArgumentError, DamagedError, SetupError


@pytest.fixture
def mounted(lineage: ForwardLineage, tmp_path: Path) -> str:
    """An address whose files lie in the folder `far`."""
    far = tmp_path / "far"
    far.mkdir()
    cluster = f"c{abs(hash(str(tmp_path)))}"
    lineage.spark.conf.set(f"fs.viewfs.mounttable.{cluster}.link./data", far.as_uri())
    return f"viewfs://{cluster}/data"


def test_a_folder(lineage: ForwardLineage, mounted: str, tmp_path: Path) -> None:
    for name, values in (("a", [10, 11]), ("b", [20]), ("_c", [30])):
        write(tmp_path / "far" / "t" / f"{name}.parquet", values)
    manifest = lineage.register("t", path=f"{mounted}/t")
    assert [file.path for file in manifest.files] == [f"{mounted}/t/a.parquet", f"{mounted}/t/b.parquet"]
    assert ids(lineage, "t") == {10: 0, 11: 1, 20: 2}
    assert [row.v for row in lineage.rows("t", [2]).collect()] == [20]
    again = ForwardLineage(lineage.spark.newSession(), lineage.home)
    assert ids(again, "t") == {10: 0, 11: 1, 20: 2}
