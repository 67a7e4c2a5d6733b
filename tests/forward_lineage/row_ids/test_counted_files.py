"""A store that is far away: how many requests it takes, and what becomes of those that fail or see something change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.row_ids.checks import check_unchanged
from forward_lineage.row_ids.manifest import WITH_A_FAR_LOG
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.forward_lineage.row_ids.counted_files import CountedFiles
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable, inline_vector
from tests.tiers import every_day
from udafs.attach import attach
from udafs.errors import ChangedError, DamagedError, LineageError, SetupError


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CountedFiles:
    attach(spark)
    return CountedFiles(spark, tmp_path_factory.mktemp("counted"))


@pytest.fixture
def store(made: CountedFiles) -> Iterator[CountedFiles]:
    made.plan.reset()
    yield made
    made.plan.reset()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty-five files of two rows."""
    for number in range(25):
        write(tmp_path / "t" / f"{number:02d}.parquet", [2 * number, 2 * number + 1])
    return tmp_path / "t"


class TestRequests:
    """A page of a listing has ten files here."""

    def test_a_folder(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        store.plan.pages(10)
        manifest = lineage.register("t", path=f"counted:{folder}")
        asked = store.requests()
        # Ours is one listing of four; Spark lists when it resolves the path, for the registration and two views.
        assert (asked["list"], asked["checksum"]) == (12, 0)
        assert 25 <= asked["open"] <= 25 + 6  # each footer once; Spark looks into one or two for the schema
        assert asked["status"] <= 12  # of the folder
        check_unchanged(lineage.spark, manifest)
        assert store.requests() == {"status": 1, "list": 3}
        lineage.sql("SELECT v FROM t")
        assert store.requests() == {"status": 1, "list": 3}
        assert ids(lineage, "t") == {value: value for value in range(50)}

    def test_refresh_reads_what_is_new(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        lineage.register("t", path=f"counted:{folder}")
        for number in (25, 26):
            write(folder / f"{number}.parquet", [2 * number, 2 * number + 1])
        store.requests()
        lineage.refresh("t")
        assert store.requests()["open"] <= 2 + 6
        assert ids(lineage, "t") == {value: value for value in range(54)}

    def test_partitions(self, lineage: ForwardLineage, store: CountedFiles, tmp_path: Path) -> None:
        """A store without folders lists all together, others list a folder each."""
        for number in range(25):
            write(tmp_path / "t" / f"p={number}" / "a.parquet", [number])
        for scheme, lists in (("flat", 3), ("counted", 3 + 25)):
            manifest = lineage.register("t", path=f"{scheme}:{tmp_path}/t")
            store.plan.pages(10)
            store.requests()
            check_unchanged(lineage.spark, manifest)
            assert store.requests() == {"status": 1, "list": lists}
            assert sorted(ids(lineage, "t")) == list(range(25))
            store.plan.reset()

    def test_a_key(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        lineage.spark.sql(f"CREATE OR REPLACE TEMP VIEW t AS SELECT v FROM parquet.`counted:{folder}` WHERE v > 3")
        lineage.register("t", key="v")
        store.requests()
        check_unchanged(lineage.spark, lineage.tables()["t"])
        asked = store.requests()
        # Ours; and Spark's, which resolves a view that is text whenever it is opened or asked what it is.
        assert (asked["list"], asked["checksum"]) == (3, 0)
        assert asked["open"] < 12 and asked["status"] < 12

    def test_a_pattern_and_a_list(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        manifest = lineage.register("t", path=f"counted:{folder}/*5.parquet")
        store.requests()
        check_unchanged(lineage.spark, manifest)
        asked = store.requests()
        assert asked["list"] == 1 and asked["status"] <= 2
        assert sorted(ids(lineage, "t")) == [10, 11, 30, 31]


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    """Three rows in one file."""
    made = DeltaTable(tmp_path / "lake" / "orders", {"v": "long"}).create()
    return made.write(made.file([{"v": v} for v in (10, 11, 12)]))


class TestTablesWithALog:
    """Delta's log far away: its folder is listed once in a call, each of its files is read once."""

    def test_requests(self, lineage: ForwardLineage, store: CountedFiles, table: DeltaTable) -> None:
        place = f"counted:{table.folder}"
        manifest = lineage.register("t", path=place)
        assert (manifest.provider, manifest.key[1], manifest.to_data()["format"]) == ("delta", place, WITH_A_FAR_LOG)
        asked = store.plan.made().splitlines()
        assert [each for each in asked if "_delta_log" in each and not each.startswith("status")] == [
            f"list {table.folder}/_delta_log",
            f"open {table.folder}/_delta_log/{1:020}.json",
            f"open {table.folder}/_delta_log/{0:020}.json",
        ]
        store.plan.forget()
        check_unchanged(lineage.spark, manifest)
        assert store.requests() == {"list": 1, "open": 1}
        assert ids(lineage, "t") == {10: 0, 11: 1, 12: 2}
        again = ForwardLineage(lineage.spark.newSession(), lineage.home)
        assert ids(again, "t") == {10: 0, 11: 1, 12: 2}

    def test_versions(self, lineage: ForwardLineage, store: CountedFiles, table: DeltaTable) -> None:
        lineage.register("t", path=f"counted:{table.folder}")
        lineage.save("SELECT sum(v) AS total FROM t", "total")
        first = next(iter(table.live.values()))
        kept = table.file([{"v": 10}, {"v": 111}], moved={0: (0, 1), 1: (1, None)})
        table.write({**kept, "deletionVector": inline_vector([0])}, removed=[first])
        with pytest.raises(ChangedError, match="has changed: version 2 of it is there, and version 1 was registered"):
            lineage.sql("SELECT v FROM t")
        lineage.refresh("t")
        assert ids(lineage, "t") == {111: 1}
        assert sorted(map(tuple, lineage.changed("t", since=1).collect())) == [(0, "gone"), (1, "written"), (2, "gone")]
        assert [row.result for row in lineage.stale().collect()] == ["total"]
        with pytest.warns(UserWarning, match="you see its rows of version 1$"):
            assert sorted(row.v for row in lineage.backward("total").collect()) == [10, 11, 12]
        then = lineage.sql("SELECT v FROM t VERSION AS OF 1").selectExpr("v", "dl_ids(DL.t_as_of_1)[0] AS id")
        assert sorted(map(tuple, then.collect())) == [(10, 0), (11, 1), (12, 2)]
        (table.folder / first["path"]).unlink()
        with pytest.raises(ChangedError, match=f"which rows of t went .*counted:{table.folder}.* is gone"):
            lineage.changed("t", since=1)

    def test_what_fails(self, lineage: ForwardLineage, store: CountedFiles, table: DeltaTable) -> None:
        store.plan.fail(r"open .*_delta_log.*", 0, "the store at x://key:SECRET@host/t is tired")
        with pytest.raises(
            SetupError, match=r"_delta_log/.* cannot be listed or read: the store at x://host/t is tired"
        ):
            lineage.register("t", path=f"counted:{table.folder}")
        store.plan.reset()
        (table.folder / "_delta_log" / f"{0:020}.json").unlink()
        with pytest.raises(DamagedError, match=r"00\.json is missing"):
            lineage.register("t", path=f"counted:{table.folder}")
        assert lineage.tables() == {}


class TestFailures:
    def test_a_listing(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        store.plan.pages(10)
        store.plan.fail(r"list .*", 1, "the store at x://key:SECRET@host/t is tired")
        with pytest.raises(SetupError) as refused:
            lineage.register("t", path=f"counted:{folder}")
        assert str(refused.value).startswith(
            f"counted:{folder} cannot be listed or read: the store at x://host/t is tired. Do it again."
        )
        assert lineage.tables() == {}
        manifest = lineage.register("t", path=f"counted:{folder}")
        store.plan.fail(r"list .*", 2, "tired")
        with pytest.raises(SetupError, match="tired"):
            lineage.sql("SELECT v FROM t")
        check_unchanged(lineage.spark, manifest)

    def test_a_footer(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        store.plan.fail(r"open .*07.parquet", 0, "tired")
        with pytest.raises(SetupError, match=r"cannot be listed or read: tired"):
            lineage.register("t", path=f"counted:{folder}")
        assert list((lineage.home / "tables").glob("t/*.json")) == []
        (folder / "08.parquet").write_bytes(b"PAR1 and nothing else, PAR1")
        with pytest.raises(DamagedError, match=r"08.parquet cannot be read as Parquet: its footer is said to have"):
            lineage.register("t", path=f"counted:{folder}")

    def test_files_left_out(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        lineage.register("t", path=f"counted:{folder}")
        store.plan.hide("1.*")
        with pytest.raises(ChangedError, match=r"10.parquet is missing since version 1"):
            lineage.sql("SELECT v FROM t")
        store.plan.hide("")
        assert len(ids(lineage, "t")) == 50


class TestAFolderThatChangesMeanwhile:
    """Before each request: the result is that of one moment, or nothing is registered. Never some files of either."""

    @pytest.mark.parametrize(
        ("kind", "request_number"),
        every_day(product(("list", "open"), range(0, 16, 3)), [("list", 3), ("list", 12), ("open", 0), ("open", 9)]),
    )
    def test_a_file_moves(
        self, lineage: ForwardLineage, store: CountedFiles, folder: Path, kind: str, request_number: int
    ) -> None:
        """From the last page to the first: who has read the first page sees it in neither."""
        store.plan.pages(10)
        store.plan.move(f"{kind} .*", request_number, str(folder / "24.parquet"), str(folder / "00a.parquet"))
        try:
            found = {file.path.rpartition("/")[2] for file in lineage.register("t", path=f"counted:{folder}").files}
        except LineageError as error:
            assert "changed while" in str(error) or "24.parquet" in str(error)
            assert lineage.tables() == {}
        else:
            others = {f"{number:02d}.parquet" for number in range(24)}
            assert found in (others | {"24.parquet"}, others | {"00a.parquet"})
        store.plan.reset()
        lineage.register("t", path=f"counted:{folder}")
        assert sorted(ids(lineage, "t")) == list(range(50))

    def test_a_file_is_written_again(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        """After its footer was read, before Spark lists."""
        other = write(folder.parent / "other.parquet", [1, 2, 3])
        store.plan.move(r"list .*", 1, str(other), str(folder / "03.parquet"))
        with pytest.raises(ChangedError) as refused:
            lineage.register("t", path=f"counted:{folder}")
        assert str(refused.value) == (
            f"the files of t changed while they were registered: counted:{folder}/03.parquet is not what it was a "
            "moment ago. Do it again, when nobody writes there."
        )


class TestTags:
    def test_same_size_and_time(self, lineage: ForwardLineage, store: CountedFiles, folder: Path) -> None:
        store.plan.tags(True)
        manifest = lineage.register("t", path=f"counted:{folder}")
        assert all(len(file.tag) >= 6 for file in manifest.files)
        check_unchanged(lineage.spark, manifest)
        file = folder / "03.parquet"
        then = file.stat()
        write(file, [106, 107])
        os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
        assert file.stat().st_size == then.st_size
        with pytest.raises(ChangedError, match=r"03.parquet is another file under the same name since version 1"):
            lineage.sql("SELECT v FROM t")
        lineage.refresh("t")
        assert ids(lineage, "t")[106] == 50
        again = ForwardLineage(lineage.spark.newSession(), lineage.home)
        assert ids(again, "t")[106] == 50
