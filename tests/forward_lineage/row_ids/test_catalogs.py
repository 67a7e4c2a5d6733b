"""Tables of a catalog that somebody wrote down, used in a session on trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage import Catalog, ForwardLineage
from tests.forward_lineage.row_ids.conftest import ids, write
from udafs.errors import ChangedError


def test_a_folder_of_files(lineage: ForwardLineage, tmp_path: Path) -> None:
    write(tmp_path / "data" / "t.parquet", [7, 8, 9])
    lineage.use(Catalog.from_parquet(tmp_path / "data"))
    assert ids(lineage, "t") == {7: 0, 8: 1, 9: 2}


def test_some_columns_of_a_relation(lineage: ForwardLineage, tmp_path: Path) -> None:
    file = write(tmp_path / "t.parquet", [7, 8, 9], u=[1, 2, 3], w=["x", "y", "z"])
    entry = {"columns": ["w", "v"], "relation": f"parquet.`{file}`", "row_id": "u"}
    lineage.use(Catalog({"t": entry}))
    assert lineage.sql("SELECT * FROM t").columns == ["w", "v", "DL"]
    assert ids(lineage, "t") == {7: 1, 8: 2, 9: 3}
    write(file, [7, 8, 9], u=[1, 2, 3], w=[1, 2, 3])
    with pytest.raises(ChangedError, match=r"^table t is not what was registered .* column w string is gone"):
        lineage.sql("SELECT v FROM t")


def test_a_table_that_spark_knows(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id AS v FROM range(3)")
    lineage.use(Catalog({"t": {"columns": ["v"], "key": "v"}}))
    assert ids(lineage, "t") == {0: 0, 1: 1, 2: 2}
