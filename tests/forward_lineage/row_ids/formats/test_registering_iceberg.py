"""Iceberg tables in a session: ids by row lineage, changes by version, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.row_ids.conftest import ids
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable
from tests.forward_lineage.row_ids.formats.iceberg_tables import IcebergTable
from udafs.errors import BadArgumentError, ChangedError


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    """Rows 0 to 2 in one file, 3 and 4 in another."""
    made = IcebergTable(tmp_path / "lake" / "orders", [(1, "v", "long"), (2, "item", "string")]).create()
    made.commit(made.file([{"v": v, "item": "pen"} for v in (10, 11, 12)]))
    return made.commit(made.file([{"v": v, "item": "ink"} for v in (20, 21)]))


@pytest.fixture
def t(lineage: ForwardLineage, table: IcebergTable) -> ForwardLineage:
    lineage.register("t", path=table.folder)
    return lineage


def update(table: IcebergTable) -> None:
    """UPDATE of v = 11, copy on write: the file goes, its rows keep their ids, one is another row with its id."""
    first = table.manifests[0][1][0]["data_file"]
    data = [{"v": 10, "item": "pen"}, {"v": 111, "item": "pen"}, {"v": 12, "item": "pen"}]
    table.commit(table.file(data, moved={0: (0, 1), 1: (1, None), 2: (2, 1)}), removed=[first])


def test_ids_are_those_of_the_format(t: ForwardLineage, table: IcebergTable) -> None:
    assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}
    manifest = t.tables()["t"]
    assert (manifest.provider, manifest.next_id, manifest.source["version"]) == ("iceberg", 5, "1002")
    assert manifest.key == (table.table_id, str(table.folder), "1002")


def test_an_update_keeps_the_id_and_is_a_change(t: ForwardLineage, table: IcebergTable) -> None:
    t.save("SELECT item, sum(v) AS total FROM t GROUP BY item", "totals")
    update(table)
    with pytest.raises(ChangedError) as raised:
        t.sql("SELECT v FROM t")
    assert str(raised.value) == (
        "table t has changed: version v4.metadata.json of it is there, and version v3.metadata.json was registered. "
        'Call lineage.refresh("t").'
    )
    t.refresh("t")
    assert ids(t, "t") == {10: 0, 111: 1, 12: 2, 20: 3, 21: 4}
    assert [(row.saved_with, row.now) for row in t.stale().collect()] == [(1, 2)]
    assert [tuple(row) for row in t.changed("t", since=1).collect()] == [(1, "written")]
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        assert [row.v for row in t.backward("totals", where="item = 'pen'").orderBy("v").collect()] == [10, 11, 12]
    assert t.spark.table("t").columns == ["v", "item"]
    read = StaticTable.from_metadata(str(table.metadata)).scan().to_arrow()
    assert sorted(read.column("v").to_pylist()) == [10, 12, 20, 21, 111]


def test_a_metadata_file_is_a_version_for_good(t: ForwardLineage, table: IcebergTable) -> None:
    """As of a catalog's table, of which only the catalog knows the current one."""
    t.save("SELECT v FROM t", "kept")
    t.register("t", path=table.metadata)
    assert t.tables()["t"].key[2] == "1002"
    update(table)
    assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}
    t.register("t", path=table.metadata)
    assert ids(t, "t")[111] == 1
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        assert [row.v for row in t.backward("kept", where="v = 11").collect()] == [11]


def test_columns_that_came_later(t: ForwardLineage, table: IcebergTable) -> None:
    table.columns.append((3, "n", "int"))
    table.commit(table.file([{"v": 30, "item": "x", "n": 7}]))
    t.refresh("t")
    found = t.sql("SELECT v, n FROM t ORDER BY v").selectExpr("v", "n", "dl_ids(DL.t)[0] AS id").collect()
    assert [tuple(row) for row in found[-2:]] == [(21, None, 4), (30, 7, 5)]


def test_a_column_that_was_dropped_and_one_of_its_name(t: ForwardLineage, table: IcebergTable) -> None:
    """Its number tells: read by its name, the new column would have the values of the old one."""
    table.columns[1] = (3, "item", "string")
    table.commit(table.file([{"v": 30, "item": "x"}]))
    t.refresh("t")
    found = {row.v: row.item for row in t.sql("SELECT v, item FROM t").collect()}
    assert found.pop(30) == "x"
    assert set(found.values()) == {None}


def test_a_column_that_was_renamed(t: ForwardLineage, table: IcebergTable) -> None:
    table.columns[1] = (2, "article", "string")
    before = {row.v: row.item for row in t.sql("SELECT v, item FROM t").collect()}
    table.commit(table.file([{"v": 30, "article": "x"}]))
    t.refresh("t")
    assert {row.v: row.article for row in t.sql("SELECT v, article FROM t").collect()} == {**before, 30: "x"}


def test_ids_that_begin_anew(t: ForwardLineage, table: IcebergTable) -> None:
    table.publish(**{"next-row-id": 3})
    with pytest.raises(ChangedError, match="has begun anew with its ids"):
        t.refresh("t")


def test_plain_files_beside(lineage: ForwardLineage, table: IcebergTable) -> None:
    with pytest.raises(BadArgumentError, match="not all files in it are of its current version"):
        lineage.register("t", path=table.folder, key="v")
    lineage.register("t", path=table.folder, format="iceberg")
    assert lineage.tables()["t"].provider == "iceberg"


def test_on_another_file_system(
    lineage: ForwardLineage, spark: SparkSession, table: IcebergTable, tmp_path: Path
) -> None:
    hadoop = spark._jsparkSession.sparkContext().hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.formats.link./lake", (tmp_path / "lake").as_uri())
    other = DeltaTable(tmp_path / "lake" / "d", {"v": "long"}).create()
    other.write(other.file([{"v": 7}]))
    for name, expected in (("orders", {10: 0, 11: 1, 12: 2, 20: 3, 21: 4}), ("d", {7: 0})):
        lineage.register("t", path=f"viewfs://formats/lake/{name}")
        assert ids(lineage, "t") == expected
    update(table)
    lineage.register("t", path="viewfs://formats/lake/orders")
    assert ids(lineage, "t") == {10: 0, 111: 1, 12: 2, 20: 3, 21: 4}
