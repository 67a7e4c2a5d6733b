"""Ids by physical position: one file, folders, partitions, catalog tables."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.row_ids.checks import check_files, current_files
from forward_lineage.row_ids.registrar import Registrar
from tests.forward_lineage.row_ids.conftest import ids, write
from udafs.errors import BadArgumentError, DamagedError, SetupError


def test_one_file(lineage: ForwardLineage, tmp_path: Path) -> None:
    manifest = lineage.register("t", path=write(tmp_path / "one.parquet", [5, 6, 5, 7]))
    assert (manifest.provider, manifest.next_id, len(manifest.files)) == ("position", 4, 1)
    frame = lineage.sql("SELECT v, count(*) n FROM t GROUP BY v")
    found = {row.v: row.ids for row in frame.selectExpr("v", "dl_ids(DL.t) AS ids").collect()}
    assert found == {5: [0, 2], 6: [1], 7: [3]}


def test_a_folder(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder)
    assert ids(lineage, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}
    assert [row.v for row in lineage.rows("t", [4, 5]).collect()] == [21, 30]


def test_plain_sql_can_say_the_name(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=str(folder))
    assert lineage.spark.sql("SELECT sum(v) FROM t").collect()[0][0] == 104


def test_a_partitioned_folder_with_odd_names(lineage: ForwardLineage, spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "we ird %20 [é]"
    spark.sql("SELECT id AS v, concat('p ', id % 3, '/%') AS part FROM range(20)").write.partitionBy("part").parquet(
        f"file:{tmp_path}/plain"
    )
    (tmp_path / "plain").rename(place)
    manifest = lineage.register("t", path=place)
    assert [name for name, _ in manifest.columns] == ["v", "part"]
    assert sorted(ids(lineage, "t").values()) == list(range(20))
    assert lineage.sql("SELECT v FROM t WHERE part = 'p 1/%'").count() == 7


def test_a_file_uri(lineage: ForwardLineage, tmp_path: Path) -> None:
    file = write(tmp_path / "a b.parquet", [1])
    lineage.register("t", path=file.as_uri())
    assert ids(lineage, "t") == {1: 0}


def test_hidden_files_are_not_rows(lineage: ForwardLineage, folder: Path) -> None:
    (folder / "_SUCCESS").touch()
    (folder / ".a.parquet.crc").write_bytes(b"x")
    assert len(lineage.register("t", path=folder).files) == 3


def test_a_catalog_table_of_many_files(lineage: ForwardLineage, spark: SparkSession) -> None:
    spark.sql("DROP TABLE IF EXISTS many")
    spark.range(100).selectExpr("id AS v", "id % 4 AS p").repartition(5).write.partitionBy("p").saveAsTable("many")
    try:
        manifest = lineage.register("many")
        assert manifest.identity == "`spark_catalog`.`default`.`many`"
        assert len(manifest.files) > 4
        assert sorted(ids(lineage, "many").values()) == list(range(100))
        longer = lineage.sql("SELECT v FROM default.many WHERE v = 3")
        assert longer.columns == ["v", "DL"]
        spark.sql("INSERT INTO many VALUES (100, 0)")
        with pytest.raises(LineageError, match=r"is new since version 1 was registered"):
            lineage.sql("SELECT v FROM many")
        assert lineage.refresh("many").next_id == 101
        assert ids(lineage, "many")[100] == 100
    finally:
        spark.sql("DROP TABLE many")


def test_a_view_has_no_positions(lineage: ForwardLineage, spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("v")
    with pytest.raises(LineageError) as refused:
        lineage.register("v")
    assert str(refused.value) == (
        "v is a temporary view, so its rows have no positions to be identified by. "
        "Give key= (unique columns), path= (its Parquet files) or order_by= (a materialised copy)."
    )


def test_files_that_are_no_parquet(lineage: ForwardLineage, folder: Path) -> None:
    (folder / "b.parquet").write_text("v\n1\n")
    with pytest.raises(DamagedError, match=r"b.parquet cannot be read as Parquet"):
        lineage.register("t", path=folder)
    with pytest.raises(BadArgumentError, match=r"^there is no .*/nowhere\. Name "):
        lineage.register("t", path=folder / "nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(BadArgumentError, match=r"^no Parquet file in .*/empty\. Name "):
        lineage.register("t", path=folder / "empty")
    with pytest.raises(SetupError, match=r"^s3a://bucket/x cannot be listed or read: .*S3A"):
        lineage.register("t", path="s3a://bucket/x")


def test_the_rows_of_a_saved_result_are_numbered_from_0(lineage: ForwardLineage, tmp_path: Path) -> None:
    registrar = Registrar(lineage.spark, lineage.registrations)
    for version, values in enumerate(([5, 6, 7], [8, 9]), 1):
        write(tmp_path / str(version) / "rows-0.parquet", values[:1])
        write(tmp_path / str(version) / "rows-1.parquet", values[1:])
        manifest = registrar.register_result("r", tmp_path / str(version))
        assert (manifest.provider, manifest.version) == ("result", version)
        again = ForwardLineage(lineage.spark, lineage.home)
        assert ids(again, "r") == {value: number for number, value in enumerate(values)}


class TestBrokenContract:
    """Each way in which files can stop being what was registered; one message each."""

    @pytest.fixture
    def t(self, lineage: ForwardLineage, folder: Path) -> ForwardLineage:
        lineage.register("t", path=folder)
        return lineage

    def refusal(self, lineage: ForwardLineage) -> str:
        with pytest.raises(LineageError) as refused:
            lineage.sql("SELECT v FROM t")
        return str(refused.value)

    def message(self, path: Path, how: str) -> str:
        return (
            f"the ids of table t no longer hold: {path} {how} since version 1 was registered. "
            'Call lineage.refresh("t").'
        )

    def test_changed(self, t: ForwardLineage, folder: Path) -> None:
        before = (folder / "a.parquet").stat().st_size
        write(folder / "a.parquet", list(range(1000)))
        after = (folder / "a.parquet").stat().st_size
        how = f"has grown from {before} to {after} bytes"
        assert self.refusal(t) == self.message(folder / "a.parquet", how)

    def test_written_again(self, t: ForwardLineage, folder: Path) -> None:
        time.sleep(0.002)
        write(folder / "a.parquet", [12, 11, 10])
        assert self.refusal(t) == self.message(folder / "a.parquet", "was written again")

    def test_truncated(self, t: ForwardLineage, folder: Path) -> None:
        data = (folder / "b.parquet").read_bytes()
        (folder / "b.parquet").write_bytes(data[:100])
        how = f"has shrunk from {len(data)} to 100 bytes"
        assert self.refusal(t) == self.message(folder / "b.parquet", how)

    def test_missing(self, t: ForwardLineage, folder: Path) -> None:
        (folder / "c.parquet").unlink()
        assert self.refusal(t) == self.message(folder / "c.parquet", "is missing")

    def test_new(self, t: ForwardLineage, folder: Path) -> None:
        write(folder / "d.parquet", [40])
        assert self.refusal(t) == self.message(folder / "d.parquet", "is new")

    def test_reordered(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        one, two = write(tmp_path / "t" / "a.parquet", [1]), write(tmp_path / "t" / "b.parquet", [2])
        os.utime(one, ns=(10**18, 10**18))
        os.utime(two, ns=(10**18, 10**18))
        assert one.stat().st_size == two.stat().st_size
        lineage.register("t", path=tmp_path / "t")
        one.rename(tmp_path / "x")
        two.rename(one)
        (tmp_path / "x").rename(two)
        assert self.refusal(lineage) == self.message(one, "is another file under the same name")

    def test_twins_that_changed_places(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        """Equal sizes, times and footers: nothing but the inode tells that the rows are in other files now."""
        place = tmp_path / "t"
        for name, values in (("a", [1, 2, 3, 9]), ("b", [1, 3, 2, 9])):  # the same statistics
            os.utime(write(place / f"{name}.parquet", values), ns=(10**18, 10**18))
        lineage.register("t", path=place)
        (place / "a.parquet").rename(tmp_path / "x")
        (place / "b.parquet").rename(place / "a.parquet")
        (tmp_path / "x").rename(place / "b.parquet")
        assert self.refusal(lineage) == self.message(place / "a.parquet", "is another file under the same name")

    def test_all_gone(self, t: ForwardLineage, folder: Path, tmp_path: Path) -> None:
        folder.rename(tmp_path / "moved")
        assert self.refusal(t) == (
            f'{folder}, which table t was registered from, is missing. Put it back, or register "t" again.'
        )

    def test_view_replaced(self, t: ForwardLineage) -> None:
        t.spark.range(3).selectExpr("id AS v").createOrReplaceTempView("t")
        assert self.refusal(t) == (
            "table t is not what was registered as version 1: "
            'the temporary view that registration made was dropped or replaced. Register "t" again.'
        )

    def test_copied_with_its_times_it_is_the_same(self, t: ForwardLineage, folder: Path, tmp_path: Path) -> None:
        shutil.copytree(folder, tmp_path / "copy", copy_function=shutil.copy2)
        shutil.rmtree(folder)
        (tmp_path / "copy").rename(folder)
        assert ids(t, "t")[30] == 5

    def test_untraced_tables_are_not_looked_at(self, t: ForwardLineage, folder: Path) -> None:
        write(folder / "d.parquet", [40])
        assert t.sql("SELECT v FROM t LINEAGE ON ()").columns == ["v"]

    def test_changed_between_check_and_scan(self, t: ForwardLineage, folder: Path) -> None:
        """The kernel itself refuses a file that is not the registered one: SQL rewritten earlier stays safe."""
        rewritten = t.rewrite("SELECT v FROM t")
        write(folder / "d.parquet", [40])
        with pytest.raises(Exception, match=r"d\.parquet is not among the registered files of t"):
            t.spark.sql(rewritten).collect()
        (folder / "d.parquet").unlink()
        write(folder / "a.parquet", [1])
        with pytest.raises(Exception, match=r"a\.parquet has changed since the registration of t.*refresh\('t'\)"):
            t.spark.sql(rewritten).collect()


class TestRefresh:
    @pytest.fixture
    def t(self, lineage: ForwardLineage, folder: Path) -> ForwardLineage:
        lineage.register("t", path=folder)
        return lineage

    def test_appended_files_get_new_ids(self, t: ForwardLineage, folder: Path) -> None:
        before = ids(t, "t")
        write(folder / "aa.parquet", [15, 16])  # sorts between files that have ids already
        manifest = t.refresh("t")
        assert manifest.version == 2
        assert ids(t, "t") == {**before, 15: 6, 16: 7}

    def test_ids_of_deleted_files_are_not_used_again(self, t: ForwardLineage, folder: Path) -> None:
        (folder / "c.parquet").unlink()
        manifest = t.refresh("t")
        assert manifest.retired == ((5, 6),)
        write(folder / "c.parquet", [31, 32])
        assert t.refresh("t").next_id == 8
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 31: 6, 32: 7}

    def test_a_file_written_again_is_another_file(self, t: ForwardLineage, folder: Path) -> None:
        write(folder / "a.parquet", [12, 10])
        assert t.refresh("t").retired == ((0, 3),)
        assert ids(t, "t") == {12: 6, 10: 7, 20: 3, 21: 4, 30: 5}

    def test_a_moved_file_keeps_its_ids(self, t: ForwardLineage, folder: Path) -> None:
        (folder / "sub").mkdir()
        (folder / "a.parquet").rename(folder / "z.parquet")
        before = {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}
        assert t.refresh("t").retired == ()
        assert ids(t, "t") == before

    def test_nothing_left_to_keep(self, t: ForwardLineage, folder: Path) -> None:
        for name, values in (("a", [1]), ("b", [2]), ("c", [3])):
            write(folder / f"{name}.parquet", values)
        with pytest.raises(LineageError) as refused:
            t.refresh("t")
        assert str(refused.value) == (
            "none of the 3 registered files of t is left, so no row can keep its id. "
            'Register "t" again: all rows get new ids, and the old ones are retired.'
        )
        assert t.register("t", path=folder).retired == ((0, 3), (3, 5), (5, 6))
        assert ids(t, "t") == {1: 6, 2: 7, 3: 8}

    def test_an_appended_file_that_is_no_parquet(self, t: ForwardLineage, folder: Path) -> None:
        (folder / "d.parquet").write_text("x")
        with pytest.raises(LineageError, match=r"d.parquet cannot be read as Parquet"):
            t.refresh("t")

    def test_nothing_has_changed(self, t: ForwardLineage) -> None:
        assert t.refresh("t").version == 1

    def test_registering_again_is_a_refresh(self, t: ForwardLineage, folder: Path) -> None:
        assert t.register("t", path=folder).version == 1
        write(folder / "d.parquet", [40])
        assert t.register("t", path=folder).version == 2
        assert ids(t, "t")[40] == 6

    def test_a_table_that_is_not_registered(self, lineage: ForwardLineage) -> None:
        with pytest.raises(LineageError) as refused:
            lineage.refresh("u")
        assert str(refused.value) == (
            'table u is not registered. Call lineage.register("u", …). Registered: nothing yet.'
        )


def test_the_check_is_a_listing(lineage: ForwardLineage, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is opened: neither a footer is read, nor data."""
    manifest = lineage.register("t", path=folder)

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", opened)
    monkeypatch.setattr("pyarrow.parquet.read_metadata", opened)
    monkeypatch.setattr("builtins.open", opened)
    check_files(manifest, current_files(lineage.spark, manifest))


class TestPlans:
    """Spark would make the struct `_metadata` of every row, and take it apart again."""

    def plan(self, frame: DataFrame) -> str:
        return frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[no-any-return, operator]

    @pytest.mark.parametrize(
        ("condition", "kept"),
        [("", {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}), (" WHERE v > 15", {20: 3, 21: 4, 30: 5})],
    )
    def test_no_struct_of_metadata(
        self, lineage: ForwardLineage, folder: Path, condition: str, kept: dict[object, int]
    ) -> None:
        lineage.register("t", path=folder)
        plan = self.plan(lineage.sql(f"SELECT v FROM t{condition}"))
        assert "dl_row_id(file_path" in plan and "named_struct(file_path" not in plan
        rows = lineage.sql(f"SELECT v FROM t{condition}").selectExpr("v", "dl_ids(DL.t) AS ids").collect()
        assert {row.v: row.ids for row in rows} == {value: [one] for value, one in kept.items()}

    def test_two_scans_that_are_one(self, lineage: ForwardLineage, folder: Path) -> None:
        lineage.register("t", path=folder)
        grouped = "SELECT v, count(*) AS n FROM t GROUP BY v"
        frame = lineage.sql(f"SELECT a.v, a.n, b.n AS m FROM ({grouped}) a JOIN ({grouped}) b ON a.v = b.v")
        assert frame.collect()
        assert "ReusedExchange" in self.plan(frame)

    def test_the_struct_as_a_whole(self, lineage: ForwardLineage, folder: Path) -> None:
        base = lineage.registrations.base_table(lineage.register("t", path=folder))
        selected = f"v, _metadata AS m, {base.row_id} AS id"
        frame = lineage.spark.sql(f"SELECT {selected} FROM {base.relation} WHERE _metadata.row_index = 0")
        rows = frame.selectExpr("v", "m.row_index", "m.file_name", "id").collect()
        assert {tuple(row) for row in rows} == {
            (10, 0, "a.parquet", 0),
            (20, 0, "b.parquet", 3),
            (30, 0, "c.parquet", 5),
        }
