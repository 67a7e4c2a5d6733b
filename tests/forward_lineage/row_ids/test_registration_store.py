"""Registrations on disk: they survive the session, a crash, and two sessions at once."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from forward_lineage.row_ids.registration_store import Registrations
from forward_lineage.storage.sealed import seal
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.forward_lineage.storage.damage import damages
from tests.shared_state import drop_views
from udafs.errors import DamagedError, NotRegisteredError, SetupError

MANIFEST = Manifest(
    name="t",
    provider=Provider.POSITION,
    columns=(("a", "bigint"), ("b", "string")),
    relation="parquet.`/x`",
    row_id="dl_row_id({manifest}, _metadata)",
    source={"path": "/x", "format": "parquet"},
    files=(DataFile("/x/ä b.parquet", 10, 20, 30, 30, "ff", 10),),
    next_id=40,
    retired=((3, 5),),
)


def test_there_and_back(tmp_path: Path) -> None:
    written = Registrations(tmp_path).write(lambda _: MANIFEST, "t")
    assert written == replace(MANIFEST, version=1)
    again = Registrations(tmp_path)
    assert again.latest("T") == written
    assert list(again) == [written]
    assert again.base_table(written).row_id == f"dl_row_id('{tmp_path}/tables/t/1.json', _metadata)"
    assert again.base_table(written).types == ("bigint", "string")


def test_a_version_is_known_by_its_digest(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    first, second = (
        registrations.write(lambda _, more=more: replace(MANIFEST, next_id=40 + more), "t")  # type: ignore[misc]
        for more in range(2)
    )
    assert registrations.with_digest("t", first.digest()) == first != second
    (tmp_path / "tables" / "t" / "1.json").write_bytes(b"")
    assert Registrations(tmp_path).with_digest("t", second.digest()) == second
    assert Registrations(tmp_path).with_digest("t", first.digest()) is None


def test_registrations_of_results_that_are_gone_are_cleared(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    there = tmp_path / "rows"
    there.mkdir()

    def say(provider: Provider, next_id: int, path: Path = tmp_path / "gone") -> None:
        manifest = replace(MANIFEST, provider=provider, next_id=next_id, source={"path": str(path)})
        registrations.write(lambda _: manifest, "t")

    say(Provider.POSITION, 50)
    for next_id in (10, 20, 30):
        say(Provider.RESULT, next_id)
        say(Provider.DROPPED, next_id)
    say(Provider.RESULT, 40, there)
    say(Provider.RESULT, 41)
    registrations.clear_results("t")
    assert [path.stem for path in sorted(registrations.folder("t").iterdir())] == ["1", "8", "9"]
    assert registrations.newest("t") == 9, "a number is never given twice"
    assert registrations.next_id("t") == 50
    with pytest.raises(NotRegisteredError):
        registrations.version("t", 2)


def test_a_damaged_registration_of_a_result_clears_nothing(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    for next_id in (10, 20, 30):
        gone = replace(MANIFEST, provider=Provider.RESULT, next_id=next_id, source={"path": str(tmp_path / "gone")})
        registrations.write(lambda _, manifest=gone: manifest, "t")
    (registrations.folder("t") / "1.json").write_text("{")
    Registrations(tmp_path).clear_results("t")
    assert len(list(registrations.folder("t").iterdir())) == 3


@pytest.mark.parametrize("name", ["plain", "a.b.c", "`odd/name.x`", "`..`", "UPPER", "`per%20cent`"])
def test_any_name_has_a_folder_of_its_own(tmp_path: Path, name: str) -> None:
    registrations = Registrations(tmp_path)
    registrations.write(lambda _: replace(MANIFEST, name=name), name)
    assert registrations.folder(name).parent == tmp_path / "tables"
    found = registrations.latest(name.swapcase())
    assert found is not None
    assert found.name == name


def test_a_version_is_written_only_when_something_changes(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    assert [registrations.write(lambda _: MANIFEST, "t").version for _ in range(3)] == [1, 1, 1]
    changed = registrations.write(lambda last: replace(MANIFEST, next_id=41), "t")
    assert changed.version == 2
    assert registrations.version("t", 1).next_id == 40, "older versions stay readable"


def test_a_crash_leaves_no_half_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registrations = Registrations(tmp_path)
    registrations.write(lambda _: MANIFEST, "t")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        registrations.write(lambda _: replace(MANIFEST, next_id=41), "t")
    assert Registrations(tmp_path).latest("t") == replace(MANIFEST, version=1)


@pytest.mark.parametrize("damage", ["", "{", "[1, 2]", '{"format": 1}', "\x00\x01"])
def test_a_damaged_manifest(tmp_path: Path, damage: str) -> None:
    registrations = Registrations(tmp_path)
    path = registrations.path(registrations.write(lambda _: MANIFEST, "t"))
    path.write_text(damage)
    with pytest.raises(LineageError) as refused:
        Registrations(tmp_path).latest("t")
    assert str(refused.value) == (
        f"{path} is damaged. Delete that file: the version before it counts then, or register again."
    )


def test_one_damaged_manifest_does_not_stop_the_others(
    lineage: ForwardLineage, spark: SparkSession, folder: Path
) -> None:
    lineage.register("t", path=folder)
    path = lineage.registrations.path(lineage.register("u", path=folder))
    path.write_text("{")
    tomorrow = ForwardLineage(spark.newSession(), lineage.home)
    assert ids(tomorrow, "t")[30] == 5
    with pytest.raises(LineageError) as refused:
        tomorrow.sql("SELECT v FROM u")
    assert str(refused.value).startswith(f"{path} is damaged.")
    tomorrow.spark.catalog.dropTempView("t")


def test_no_flipped_bit_goes_unnoticed(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    path = registrations.path(registrations.write(lambda _: MANIFEST, "t"))
    for damaged in damages(path.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(DamagedError, match=rf"^{path} is damaged\. Delete that file"):
            Registrations(tmp_path).latest("t")


@pytest.mark.parametrize("later", [8, 9])  # the kernel reads 7, too
def test_a_manifest_of_a_later_release(tmp_path: Path, later: int) -> None:
    registrations = Registrations(tmp_path)
    path = registrations.path(registrations.write(lambda _: MANIFEST, "t"))
    path.write_bytes(seal({"format": later, "name": "t"}))
    with pytest.raises(
        SetupError, match=rf"has manifest format {later}, this release reads up to 7\. Use the release that wrote"
    ):
        Registrations(tmp_path).latest("t")


def test_a_version_that_is_not_there(tmp_path: Path) -> None:
    registrations = Registrations(tmp_path)
    registrations.write(lambda _: MANIFEST, "t")
    with pytest.raises(NotRegisteredError) as refused:
        registrations.version("t", 2)
    assert str(refused.value) == (
        f"{tmp_path}/tables/t/2.json cannot be read: No such file or directory. "
        "Register t again, and make DataFrames and results of it anew."
    )


def test_a_registration_is_on_the_disk_when_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, the folder of the table that names it, and the folders that were made for it."""
    brought, fsync = [], os.fsync

    def watched(opened: int) -> None:
        brought.append(os.fstat(opened).st_ino)
        fsync(opened)

    monkeypatch.setattr(os, "fsync", watched)
    registrations = Registrations(tmp_path)
    path = registrations.path(registrations.write(lambda _: MANIFEST, "t"))
    assert brought == [each.stat().st_ino for each in (tmp_path, tmp_path / "tables", path, path.parent)]
    brought.clear()
    path = registrations.path(registrations.write(lambda _: replace(MANIFEST, next_id=41), "t"))
    assert brought == [each.stat().st_ino for each in (path, path.parent)]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LineageError) as refused:
        Registrations(tmp_path / "file").write(lambda _: MANIFEST, "t")
    assert str(refused.value) == (
        f"{tmp_path}/file/tables/t cannot be written: Not a directory. "
        "Pass home= a folder that you may write, or set FORWARD_LINEAGE_HOME."
    )


def _register_many(home: Path, start: int, count: int) -> None:
    registrations = Registrations(home)
    for n in range(start, start + count):
        registrations.write(lambda last, n=n: replace(MANIFEST, files=(), next_id=n + 1, retired=((n, n + 1),)), "t")  # type: ignore[misc]


def test_sessions_registering_at_once_never_corrupt_it(tmp_path: Path) -> None:
    """Four processes write 50 versions each: none is lost, overwritten or half-written."""
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_register_many, args=(tmp_path, 1000 * n, 50)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
        assert worker.exitcode == 0
    registrations = Registrations(tmp_path)
    found = [registrations.version("t", version).next_id for version in range(1, 201)]
    assert sorted(found) == sorted(1000 * n + i + 1 for n in range(4) for i in range(50))
    assert not list((tmp_path / "tables" / "t").glob(".*")), "temporary files are gone"


def test_tomorrows_session_knows_todays_ids(lineage: ForwardLineage, spark: SparkSession, folder: Path) -> None:
    lineage.register("t", path=folder)
    write(folder / "aa.parquet", [15])
    lineage.refresh("t")
    today = ids(lineage, "t")
    tomorrow = ForwardLineage(spark.newSession(), lineage.home)
    assert ids(tomorrow, "t") == today
    assert tomorrow.spark.sql("SELECT count(*) FROM t").collect()[0][0] == 7
    drop_views(tomorrow.spark)


def test_a_name_in_use_is_left_alone(lineage: ForwardLineage, spark: SparkSession, folder: Path) -> None:
    lineage.register("t", path=folder)
    other = spark.newSession()
    other.sql("CREATE TEMPORARY VIEW t AS SELECT 'mine' AS v")
    tomorrow = ForwardLineage(other, lineage.home)
    assert other.table("t").collect()[0].v == "mine"
    with pytest.raises(LineageError, match=r"the temporary view that registration made was dropped or replaced"):
        tomorrow.sql("SELECT v FROM t")
    drop_views(other)


def test_missing_files_do_not_keep_a_session_from_starting(
    lineage: ForwardLineage, spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    lineage.register("t", path=folder)
    folder.rename(tmp_path / "gone")
    tomorrow = ForwardLineage(spark.newSession(), lineage.home)
    with pytest.raises(LineageError, match=r"which table t was registered from, is missing"):
        tomorrow.sql("SELECT v FROM t")


def test_unregister(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    lineage.unregister("t")
    assert lineage.tables() == {}
    assert not lineage.spark.catalog.tableExists("t")
    assert list(Registrations(lineage.home)) == []
    assert lineage.register("t", path=folder).version == 3
    assert min(ids(lineage, "t").values()) == 6, "ids are not given again"


def test_another_sessions_refresh_is_noticed(lineage: ForwardLineage, spark: SparkSession, folder: Path) -> None:
    lineage.register("t", path=folder)
    other = ForwardLineage(spark.newSession(), lineage.home)
    write(folder / "d.parquet", [40])
    assert other.refresh("t").version == 2
    with pytest.raises(LineageError, match=r"d.parquet is new since version 1 was registered"):
        lineage.sql("SELECT v FROM t")
    assert lineage.refresh("t").version == 2, "nothing more has changed"
    assert ids(lineage, "t")[40] == 6
    drop_views(other.spark)
