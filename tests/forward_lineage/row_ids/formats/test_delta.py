"""Delta's log, read by us and by deltalake."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyarrow import parquet

from forward_lineage.row_ids.formats import delta
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable, inline_vector
from udafs.errors import ChangedError, DamagedError, NotTracedError


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Version 0 without rows, version 1 with rows 0 to 2, version 2 with rows 3 and 4."""
    made = DeltaTable(tmp_path / "orders", {"o": "long", "item": "string"}).create()
    made.write(made.file([{"o": o, "item": "pen"} for o in (10, 11, 12)]))
    return made.write(made.file([{"o": o, "item": "ink"} for o in (20, 21)]))


def first_ids(folder: Path, version: int | None = None) -> list[tuple[int, int | None]]:
    """First id and number of rows of each live file."""
    return [(file.first_id, file.rows) for file in delta.read(folder, version).files]


def rows(folder: Path, version: int | None = None) -> list[int]:
    found = deltalake.DeltaTable(folder, version=version).to_pyarrow_table().column("o").to_pylist()
    return sorted(o for o in found if o is not None)


class TestAVersion:
    def test_what_it_says(self, table: DeltaTable) -> None:
        found = delta.read(table.folder)
        assert (found.version, found.order, found.table_id, found.next_id) == ("2", 2, table.table_id, 5)
        assert found.columns == (("o", "bigint"), ("item", "string"))
        assert [(file.first_id, file.rows, file.changed) for file in found.files] == [(0, 3, 1), (3, 2, 2)]
        assert all(Path(file.path).is_file() for file in found.files)
        assert rows(table.folder) == [10, 11, 12, 20, 21]

    def test_earlier_ones(self, table: DeltaTable) -> None:
        assert [first_ids(table.folder, version) for version in (0, 1, 2)] == [[], [(0, 3)], [(0, 3), (3, 2)]]
        assert [rows(table.folder, version) for version in (0, 1)] == [[], [10, 11, 12]]
        with pytest.raises(ChangedError, match=r"0003\.json is missing\. Name a version that the log has"):
            delta.read(table.folder, 3)

    def test_names_that_have_to_be_encoded(self, table: DeltaTable) -> None:
        table.write(table.file([{"o": 30, "item": "x"}], name="a b%3D ü.parquet"))
        last = delta.read(table.folder).files[-1]
        assert Path(last.path).name == "a b%3D ü.parquet"
        assert Path(last.path).is_file()
        assert 30 in rows(table.folder)

    def test_files_that_go(self, table: DeltaTable) -> None:
        (first, _) = table.live.values()
        table.write(removed=[first])
        assert first_ids(table.folder) == [(3, 2)]
        assert rows(table.folder) == [20, 21]
        assert delta.read(table.folder).next_id == 5


class TestCheckpoints:
    def test_one_of_deltalake(self, table: DeltaTable) -> None:
        deltalake.DeltaTable(table.folder).create_checkpoint()
        for version in (0, 1, 2):
            (table.folder / "_delta_log" / f"{version:020}.json").rename(table.folder / f"{version}.old")
        table.write(table.file([{"o": 30, "item": "x"}]))
        assert first_ids(table.folder) == [(0, 3), (3, 2), (5, 1)]
        assert rows(table.folder) == [10, 11, 12, 20, 21, 30]

    def test_one_in_parts_that_is_not_whole_does_not_count(self, table: DeltaTable) -> None:
        log = table.folder / "_delta_log"
        (log / f"{2:020}.checkpoint.{1:010}.{2:010}.parquet").write_bytes(b"half")
        assert first_ids(table.folder) == [(0, 3), (3, 2)]

    def test_one_in_json_with_sidecars(self, table: DeltaTable) -> None:
        """V2: what is live stands in files of its own."""
        deltalake.DeltaTable(table.folder).create_checkpoint()
        log = table.folder / "_delta_log"
        classic = log / f"{2:020}.checkpoint.parquet"
        adds = pa.parquet.read_table(classic, columns=["add"])
        (log / "_sidecars").mkdir()
        there = pa.array([add is not None for add in adds.column("add").to_pylist()])
        parquet.write_table(adds.filter(there), log / "_sidecars" / "s.parquet")
        classic.unlink()
        (log / "_last_checkpoint").unlink()
        size = (log / "_sidecars" / "s.parquet").stat().st_size
        sidecar = {"sidecar": {"path": "s.parquet", "sizeInBytes": size, "modificationTime": 0}}
        said = [table.protocol("v2Checkpoint"), table.metadata(), table.mark()]
        lines = [{"checkpointMetadata": {"version": 2}}, *said, sidecar]
        name = f"{2:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
        (log / name).write_text("\n".join(map(json.dumps, lines)))
        for version in (0, 1):
            (log / f"{version:020}.json").unlink()
        assert first_ids(table.folder) == [(0, 3), (3, 2)]
        paths = {file.path for file in delta.read(table.folder).files}
        assert set(deltalake.DeltaTable(table.folder).file_uris()) == paths  # it reads the files' rows of no such table


def test_a_long_history_of_deltalake(tmp_path: Path) -> None:
    """Without row tracking, which deltalake does not write; which files are live must be the same in every version."""
    folder = tmp_path / "t"
    data = pa.table({"o": pa.array(range(40), pa.int64()), "day": [f"d{o % 3} =%" for o in range(40)]})
    deltalake.write_deltalake(folder, data.slice(0, 10), partition_by=["day"])
    changes: list[Callable[[deltalake.DeltaTable], object]] = [
        lambda table: deltalake.write_deltalake(table, data.slice(10, 10), mode="append"),
        lambda table: table.delete("o = 3"),
        lambda table: table.update({"o": "o + 100"}, predicate="o < 5"),
        lambda table: deltalake.write_deltalake(table, data.slice(20, 10), mode="append"),
        lambda table: table.optimize.compact(),
        lambda table: deltalake.write_deltalake(table, data.slice(30, 10), mode="overwrite"),
        lambda table: table.restore(2),
        lambda table: table.delete(),
    ]
    for change in changes:
        change(deltalake.DeltaTable(folder))
        if deltalake.DeltaTable(folder).version() == 4:
            deltalake.DeltaTable(folder).create_checkpoint()
    last = delta.current_version(folder)
    assert last >= len(changes)
    for version in range(last + 1):
        uris = deltalake.DeltaTable(folder, version=version).file_uris()
        ours = {delta.place_of(path, folder) for path in delta.replayed(folder, version).files}
        assert ours == set(uris), version
    with pytest.raises(NotTracedError, match="does not track rows, so that rewriting a file gives its rows other ids"):
        delta.read(folder)


class TestRowTracking:
    def test_supported_is_not_enough(self, tmp_path: Path) -> None:
        """Ids are given, and not kept: an UPDATE renumbers the rows it copies."""
        made = DeltaTable(tmp_path / "t", {"o": "long"}, configuration={}).create()
        made.write(made.file([{"o": 1}]))
        with pytest.raises(NotTracedError, match="does not track rows"):
            delta.read(made.folder)

    def test_suspended(self, table: DeltaTable) -> None:
        table.commit([table.metadata(**{"delta.rowTrackingSuspended": "true"})])
        with pytest.raises(NotTracedError, match="does not track rows"):
            delta.read(table.folder)
        assert delta.kept_ids(table.folder, 1, 3) is False

    def test_switched_on_later(self, tmp_path: Path) -> None:
        """Rows from before get ids in a backfill: their files are committed once more."""
        made = DeltaTable(tmp_path / "t", {"o": "long"}, configuration={}, features=()).create()
        old = made.file([{"o": 1}, {"o": 2}])
        bare = {key: value for key, value in old.items() if key not in ("baseRowId", "defaultRowCommitVersion")}
        made.commit([{"add": bare}])
        tracked = DeltaTable(made.folder, made.columns, table_id=made.table_id, version=made.version, high=1)
        tracked.commit([tracked.protocol(), tracked.metadata()])
        with pytest.raises(DamagedError, match="has no baseRowId, although the table tracks rows"):
            delta.read(tracked.folder)
        tracked.commit([{"add": {**bare, "baseRowId": 0, "defaultRowCommitVersion": 3}}, tracked.mark()])
        assert first_ids(tracked.folder) == [(0, 2)]
        assert rows(tracked.folder) == [1, 2]

    def test_since_when(self, table: DeltaTable) -> None:
        assert delta.kept_ids(table.folder, 0, 2) is True
        table.commit([table.metadata(**{"delta.enableRowTracking": "false"})])
        table.commit([table.metadata()])
        assert delta.read(table.folder).version == "4"
        assert delta.kept_ids(table.folder, 2, 4) is False
        assert delta.kept_ids(table.folder, 4, 4) is True
        (table.folder / "_delta_log" / f"{2:020}.json").unlink()
        assert delta.kept_ids(table.folder, 2, 4) is None


class TestRefusals:
    def test_deletion_vectors(self, table: DeltaTable) -> None:
        table.commit([table.protocol("deletionVectors")])
        assert len(first_ids(table.folder)) == 2
        (first, _) = table.live.values()
        taken = inline_vector([1])
        table.commit([{"remove": {"path": first["path"]}}, {"add": {**first, "deletionVector": taken}}])
        assert [list(file.deleted) for file in delta.read(table.folder).files] == [[1], []]
        live = delta.replayed(table.folder, 4).files
        assert len(live) == 2
        table.commit([{"remove": {"path": first["path"], "deletionVector": taken}}])
        assert first_ids(table.folder) == [(3, 2)]

    @pytest.mark.parametrize(
        ("readers", "configuration", "what"),
        [
            (("columnMapping",), {"delta.columnMapping.mode": "id"}, "column mapping by id"),
            (("someday",), {}, "needs someday"),
            (("catalogManaged",), {}, "is managed by a catalog"),
        ],
    )
    def test_what_needs_its_own_reader(
        self, table: DeltaTable, readers: tuple[str, ...], configuration: dict[str, str], what: str
    ) -> None:
        table.commit([table.protocol(*readers), table.metadata(**configuration)])
        with pytest.raises(NotTracedError, match=what):
            delta.read(table.folder)

    def test_harmless_ones(self, table: DeltaTable) -> None:
        table.commit([table.protocol("v2Checkpoint", "timestampNtz", "typeWidening", "columnMapping")])
        assert len(first_ids(table.folder)) == 2

    @pytest.mark.parametrize(
        ("spoil", "what"),
        [
            (lambda log: (log / f"{1:020}.json").unlink(), r"0001\.json is missing"),
            (lambda log: (log / f"{1:020}.json").write_text('{"add": '), r"0001\.json is no JSON"),
            (lambda log: (log / f"{1:020}.json").write_text("[1]"), "has something that is no action"),
            (lambda log: (log / f"{0:020}.json").write_text("{}"), "says nothing of the table's columns"),
            (lambda log: (log / f"{1:020}.checkpoint.parquet").write_bytes(b"no"), "is no Parquet file"),
        ],
    )
    def test_a_damaged_log(self, table: DeltaTable, spoil: Callable[[Path], object], what: str) -> None:
        spoil(table.folder / "_delta_log")
        with pytest.raises(DamagedError, match=what):
            delta.read(table.folder)

    def test_a_file_twice(self, table: DeltaTable) -> None:
        (first, _) = table.live.values()
        table.commit([{"add": first}, {"add": first}])
        with pytest.raises(DamagedError, match="twice"):
            delta.read(table.folder)

    def test_no_table(self, tmp_path: Path) -> None:
        assert not delta.is_table(tmp_path)
        with pytest.raises(ChangedError, match=r"^there is no Delta table in"):
            delta.read(tmp_path)
