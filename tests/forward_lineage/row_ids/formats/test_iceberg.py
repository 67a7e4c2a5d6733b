"""Iceberg's metadata, read by us and by pyiceberg."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import MANIFEST_LIST_FILE_SCHEMAS
from pyiceberg.table import StaticTable

from forward_lineage.row_ids.formats import iceberg
from tests.forward_lineage.row_ids.formats.iceberg_tables import IcebergTable, described, write_avro
from udafs.errors import ChangedError, DamagedError, NotTracedError


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    """Snapshot 1001 with rows 0 to 2, snapshot 1002 with rows 3 and 4 in two files."""
    made = IcebergTable(tmp_path / "orders", [(1, "o", "long"), (2, "item", "string")]).create()
    made.commit(made.file([{"o": o, "item": "pen"} for o in (10, 11, 12)]))
    return made.commit(made.file([{"o": 20, "item": "ink"}]), made.file([{"o": 21, "item": "ink"}]))


def first_ids(table: IcebergTable, snapshot_id: int | None = None) -> list[tuple[int, int | None, int]]:
    """First id, number of rows and sequence number of each live file."""
    found = iceberg.read(table.folder, snapshot_id).files
    return [(file.first_id, file.rows, file.changed) for file in found]


def rows(table: IcebergTable, snapshot_id: int | None = None) -> list[int]:
    read = StaticTable.from_metadata(str(table.metadata)).scan(snapshot_id=snapshot_id).to_arrow()
    return sorted(read.column("o").to_pylist())


def files(table: IcebergTable) -> set[str]:
    return {task.file.file_path for task in StaticTable.from_metadata(str(table.metadata)).scan().plan_files()}


class TestASnapshot:
    def test_what_it_says(self, table: IcebergTable) -> None:
        found = iceberg.read(table.folder)
        assert (found.version, found.order, found.table_id, found.next_id) == ("1002", 2, table.table_id, 5)
        assert found.columns == (("o", "bigint"), ("item", "string"))
        assert first_ids(table) == [(0, 3, 1), (3, 1, 2), (4, 1, 2)]
        assert rows(table) == [10, 11, 12, 20, 21]
        assert {file.path for file in found.files} == files(table)
        read = StaticTable.from_metadata(str(table.metadata)).metadata
        assert (read.next_row_id, [each.first_row_id for each in read.snapshots]) == (5, [0, 3])

    def test_earlier_ones(self, table: IcebergTable) -> None:
        assert first_ids(table, 1001) == [(0, 3, 1)]
        assert rows(table, 1001) == [10, 11, 12]
        with pytest.raises(ChangedError, match=r"has no snapshot 7\. Write rows into it first, or name another one"):
            iceberg.read(table.folder, 7)

    def test_a_metadata_file(self, table: IcebergTable) -> None:
        before = table.folder / "metadata" / "v2.metadata.json"
        assert [file.first_id for file in iceberg.read(before).files] == [0]

    def test_manifests_that_are_written_anew_keep_the_ids(self, table: IcebergTable) -> None:
        """One of two files of a manifest goes: the other's id is written out; the new manifest takes more ids."""
        (_, (_, entries)) = table.manifests
        table.commit(table.file([{"o": 30, "item": "x"}]), removed=[entries[0]["data_file"]])
        assert first_ids(table) == [(0, 3, 1), (4, 1, 2), (6, 1, 3)]
        assert rows(table) == [10, 11, 12, 21, 30]
        assert iceberg.read(table.folder).next_id == 7

    def test_the_example_of_the_spec(self, tmp_path: Path) -> None:
        """A manifest with a file that has its id, and two that inherit: 800, 1000 and 1050."""
        made = IcebergTable(tmp_path / "t", [(1, "o", "long")], next_row_id=1000).create()
        sizes = (("data1", 25, 800), ("data2", 50, None), ("data3", 50, None))
        written = [made.file([{"o": at} for at in range(count)]) | {"first_row_id": first} for _, count, first in sizes]
        made.commit(*written)
        assert [file.first_id for file in iceberg.read(made.folder).files] == [800, 1000, 1050]


class TestRefusals:
    def test_earlier_formats(self, tmp_path: Path) -> None:
        for version in (1, 2):
            made = IcebergTable(tmp_path / f"t{version}", [(1, "o", "long")], format_version=version).create()
            with pytest.raises(NotTracedError, match=f"has format version {version}, in which rows have no ids"):
                iceberg.read(made.folder)

    def test_a_later_format(self, tmp_path: Path) -> None:
        made = IcebergTable(tmp_path / "t", [(1, "o", "long")], format_version=4).create()
        with pytest.raises(NotTracedError, match="has format version 4, which only the format's own reader"):
            iceberg.read(made.folder)

    def test_a_table_that_was_just_upgraded(self, table: IcebergTable) -> None:
        """Rows get ids with the next commit."""
        del table.snapshots[-1]["first-row-id"]
        table.publish()
        with pytest.raises(
            NotTracedError, match="was brought to version 3 after its last commit, so its rows have no ids"
        ):
            iceberg.read(table.folder)

    def test_manifests_without_ids(self, table: IcebergTable) -> None:
        table.manifests[0][0]["first_row_id"] = None
        table.commit(table.file([{"o": 1}]))
        with pytest.raises(DamagedError, match="has no first_row_id in the manifest list"):
            iceberg.read(table.folder)

    def test_equality_deletes(self, table: IcebergTable) -> None:
        """An updated row comes as a new one, with another id; and the old one is in a file still."""
        path = table.folder / "data" / "eq.parquet"
        parquet.write_table(pa.table({"o": pa.array([11], pa.int64())}), path)
        table.commit(table.file([{"o": 11, "item": "new"}]), deletes=[described(path, 1, 2, equality_ids=[1])])
        with pytest.raises(
            NotTracedError, match="has equality deletes, of which a row that is written anew gets another id"
        ):
            iceberg.read(table.folder)

    def test_position_deletes(self, table: IcebergTable) -> None:
        path = table.folder / "data" / "pos.parquet"
        parquet.write_table(pa.table({"file_path": ["x"], "pos": pa.array([1], pa.int64())}), path)
        table.commit(deletes=[described(path, 1, 1)])
        with pytest.raises(NotTracedError, match="rows that position deletes take out"):
            iceberg.read(table.folder)

    @pytest.mark.parametrize(
        ("change", "what"),
        [({"file_format": "ORC"}, "has ORC files"), ({"key_metadata": b"k"}, "has encrypted files")],
    )
    def test_other_files(self, table: IcebergTable, change: dict[str, Any], what: str) -> None:
        table.commit({**table.file([{"o": 1}]), **change})
        with pytest.raises(NotTracedError, match=what):
            iceberg.read(table.folder)

    @pytest.mark.parametrize(
        ("column", "what"),
        [
            ({"id": 3, "name": "u", "required": False, "type": "uuid"}, "column u of type uuid"),
            (
                {"id": 3, "name": "s", "required": False, "type": "double", "initial-default": 1.5},
                "column s with a value for rows that were written before it",
            ),
        ],
    )
    def test_other_columns(self, table: IcebergTable, column: dict[str, Any], what: str) -> None:
        table.publish(schemas=[{"type": "struct", "schema-id": 0, "fields": [column]}])
        with pytest.raises(NotTracedError, match=what):
            iceberg.read(table.folder)

    def test_a_catalogs_table(self, table: IcebergTable) -> None:
        """Which metadata is the current one stands in the catalog: a file may be of a commit that failed."""
        kept = table.folder / "metadata" / "00002-4ac2f.metadata.json"
        table.metadata.rename(kept)
        for old in table.folder.glob("metadata/v*.metadata.json"):
            old.unlink()
        with pytest.raises(NotTracedError, match="only its catalog knows"):
            iceberg.read(table.folder)
        assert len(iceberg.read(kept).files) == 3

    def test_damage(self, table: IcebergTable) -> None:
        manifest = Path(table.manifests[0][0]["manifest_path"])
        manifest.write_bytes(manifest.read_bytes()[:200])
        with pytest.raises(DamagedError, match=r"-m0\.avro is no Avro file"):
            iceberg.read(table.folder)
        manifest.unlink()
        with pytest.raises(DamagedError, match=r"-m0\.avro is missing"):
            iceberg.read(table.folder)
        table.metadata.write_text("[")
        with pytest.raises(DamagedError, match="is no JSON"):
            iceberg.read(table.folder)

    def test_no_table(self, tmp_path: Path) -> None:
        assert not iceberg.is_table(tmp_path)
        (tmp_path / "metadata").mkdir()
        assert not iceberg.is_table(tmp_path)
        with pytest.raises(ChangedError, match="there is no Iceberg table"):
            iceberg.read(tmp_path)
        with pytest.raises(ChangedError, match=r"there is no .*v1\.metadata\.json"):
            iceberg.read(tmp_path / "v1.metadata.json")


def upgraded(table: Any, folder: Path) -> Path:
    """Write the metadata of a table once more, as of version 3: all its files get ids with this snapshot."""
    snapshot, given = table.metadata.current_snapshot(), 0
    with Path(snapshot.manifest_list.removeprefix("file://")).open("rb") as stream:
        manifests = [dict(row) for row in fastavro.reader(stream) if isinstance(row, dict)]
    for manifest in manifests:
        manifest["first_row_id"], given = given, given + manifest["added_rows_count"] + manifest["existing_rows_count"]
    write_avro(folder / "list.avro", MANIFEST_LIST_FILE_SCHEMAS[3], "manifest_file", manifests)
    said = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text())
    said |= {"format-version": 3, "next-row-id": given}
    for each in said["snapshots"]:
        if each["snapshot-id"] == snapshot.snapshot_id:
            each |= {"first-row-id": 0, "added-rows": given, "manifest-list": str(folder / "list.avro")}
    (folder / "v1.metadata.json").write_text(json.dumps(said))
    return folder / "v1.metadata.json"


def test_a_long_history_of_pyiceberg(tmp_path: Path) -> None:
    """Manifests that pyiceberg wrote, with all that became of their files; which are live must be the same."""
    catalog = InMemoryCatalog("c", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("d")
    data = pa.table({"o": pa.array(range(40), pa.int64()), "day": [f"d{o % 3} =%" for o in range(40)]})
    table = catalog.create_table("d.t", data.schema)
    with table.update_spec() as spec:
        spec.add_identity("day")
    changes: list[Callable[[], object]] = [
        lambda: table.append(data.slice(0, 10)),
        lambda: table.append(data.slice(10, 10)),
        lambda: table.delete("o = 3"),
        lambda: table.overwrite(data.slice(20, 4), "o < 6"),
        lambda: table.delete("day = 'd1 =%'"),
        lambda: table.append(data.slice(24, 16)),
        lambda: table.overwrite(data.slice(0, 2)),
    ]
    for number, change in enumerate(changes):
        change()
        folder = tmp_path / f"upgraded-{number}"
        folder.mkdir()
        found = iceberg.read(upgraded(table, folder)).files
        tasks = list(table.scan().plan_files())
        assert {f"file://{file.path}" for file in found} == {task.file.file_path for task in tasks}, number
        assert sum(file.rows or 0 for file in found) == table.scan().to_arrow().num_rows
        given = [at for file in found for at in range(file.first_id, file.first_id + (file.rows or 0))]
        assert len(set(given)) == len(given)


def test_types(table: IcebergTable) -> None:
    """Each as Spark reads it; fields in fields have numbers, too."""
    inner = {"type": "struct", "fields": [{"id": 5, "name": "a", "required": False, "type": "decimal(9, 2)"}]}
    listed = {"type": "list", "element-id": 6, "element": "timestamptz", "element-required": False}
    mapped = {"type": "map", "key-id": 7, "key": "string", "value-id": 8, "value": "timestamp", "value-required": False}
    kinds = {"s": inner, "l": listed, "m": mapped, "b": "binary"}
    fields = [{"id": 10 + at, "name": n, "required": False, "type": kind} for at, (n, kind) in enumerate(kinds.items())]
    table.publish(schemas=[{"type": "struct", "schema-id": 0, "fields": fields}])
    found = iceberg.read(table.folder)
    assert [kind for _, kind in found.columns] == [
        "struct<a:decimal(9,2)>",
        "array<timestamp>",
        "map<string,timestamp_ntz>",
        "binary",
    ]
    assert {path: number for path, number in found.field_ids.items() if not path.startswith("_")} == {
        "s": 10,
        "s.a": 5,
        "l": 11,
        "l[]": 6,
        "m": 12,
        "m{}": 7,
        "m[]": 8,
        "b": 13,
    }
