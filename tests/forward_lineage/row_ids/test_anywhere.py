"""Tables on other file systems than the local one, through Hadoop: `viewfs:` over local folders."""

from __future__ import annotations

import json
import os
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.row_ids.conftest import ids, write
from udafs.errors import BadArgumentError, ChangedError, DamagedError, SetupError


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """The local folder that is mounted."""
    (tmp_path / "far").mkdir()
    return tmp_path / "far"


@pytest.fixture
def mounted(spark: SparkSession, far: Path) -> str:
    """The address under which its files are; any session knows it."""
    cluster = f"c{crc32(str(far).encode())}"
    hadoop = spark._jsparkSession.sparkContext().hadoopConfiguration()
    hadoop.set(f"fs.viewfs.mounttable.{cluster}.link./data", far.as_uri())
    return f"viewfs://{cluster}/data"


@pytest.fixture
def t(lineage: ForwardLineage, mounted: str, far: Path) -> ForwardLineage:
    """Three files: 10, 11, 12 and 20, 21 and 30; and two that are none."""
    for name, values in (("a", [10, 11, 12]), ("b", [20, 21]), ("c", [30]), ("_d", [40]), (".e", [50])):
        write(far / "t" / f"{name}.parquet", values)
    lineage.register("t", path=f"{mounted}/t")
    return lineage


class TestAFolder:
    def test_ids_are_those_of_local_files(self, t: ForwardLineage, mounted: str, far: Path) -> None:
        manifest, near = t.tables()["t"], t.register("near", path=far / "t")
        assert [file.path for file in manifest.files] == [f"{mounted}/t/{name}.parquet" for name in "abc"]
        assert [(file.rows, file.footer, file.offset, file.size) for file in manifest.files] == [
            (file.rows, file.footer, file.offset, file.size) for file in near.files
        ]
        assert ids(t, "t") == ids(t, "near") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}
        assert [row.v for row in t.rows("t", [4, 5]).collect()] == [21, 30]

    def test_later_sessions_know_it(self, t: ForwardLineage) -> None:
        again = ForwardLineage(t.spark.newSession(), t.home)
        assert ids(again, "t")[30] == 5
        assert again.spark.sql("SELECT sum(v) FROM t").collect()[0][0] == 104

    def test_it_says_format_3(self, t: ForwardLineage, far: Path) -> None:
        """Earlier releases say that a later one wrote it; what they know is written as ever."""
        t.register("near", path=far / "t")
        formats = {name: json.loads((t.home / "tables" / name / "1.json").read_text()) for name in ("t", "near")}
        assert {name: said["format"] for name, said in formats.items()} == {"t": 3, "near": 2}
        assert all("tag" not in file for said in formats.values() for file in said["files"])

    def test_a_saved_result(self, t: ForwardLineage) -> None:
        t.save("SELECT v % 10 AS digit, count(*) AS n FROM t GROUP BY 1", "digits")
        assert [row.v for row in t.backward("digits", where="digit = 1").orderBy("v").collect()] == [11, 21]

    def test_one_file(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        write(far / "we ird %20 [é].parquet", [5, 6])
        lineage.register("t", path=f"{mounted}/we ird %20 [é].parquet")
        assert ids(lineage, "t") == {5: 0, 6: 1}

    def test_partitions_and_columns_that_came_later(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        write(far / "t" / "p=x %2F" / "a.parquet", [1])
        write(far / "t" / "p=y" / "b.parquet", [2], w=pa.array([20], pa.int64()))
        lineage.spark.conf.set("spark.sql.parquet.mergeSchema", "true")
        try:
            for name, path in (("t", f"{mounted}/t"), ("near", far / "t")):
                manifest = lineage.register(name, path=path)
                assert [column for column, _ in manifest.columns] == ["v", "w", "p"]
                assert ids(lineage, name) == {1: 0, 2: 1}
                rows = lineage.sql(f"SELECT v, w FROM {name} WHERE p = 'y'").select("v", "w").collect()
                assert [tuple(row) for row in rows] == [(2, 20)]
        finally:
            lineage.spark.conf.unset("spark.sql.parquet.mergeSchema")


class TestChanges:
    """What can become of files, one message each, and what `refresh` makes of it."""

    def refused(self, t: ForwardLineage) -> str:
        with pytest.raises(ChangedError) as error:
            t.sql("SELECT v FROM t")
        assert str(error.value).endswith('Call lineage.refresh("t").')
        return str(error.value)

    def test_a_new_file(self, t: ForwardLineage, mounted: str, far: Path) -> None:
        write(far / "t" / "aa.parquet", [15])
        assert f"{mounted}/t/aa.parquet is new since version 1" in self.refused(t)
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5, 15: 6}

    def test_a_file_is_gone(self, t: ForwardLineage, far: Path) -> None:
        (far / "t" / "b.parquet").unlink()
        assert "b.parquet is missing since" in self.refused(t)
        assert t.refresh("t").retired == ((3, 5),)
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 30: 5}

    def test_a_file_was_written_again(self, t: ForwardLineage, far: Path) -> None:
        then = (far / "t" / "b.parquet").stat().st_mtime_ns
        write(far / "t" / "b.parquet", [22, 23])
        os.utime(far / "t" / "b.parquet", ns=(then, then + 2_000_000))
        assert "b.parquet was written again since" in self.refused(t)
        t.refresh("t")
        assert ids(t, "t") == {10: 0, 11: 1, 12: 2, 30: 5, 22: 6, 23: 7}

    def test_a_file_was_renamed(self, t: ForwardLineage, far: Path) -> None:
        (far / "t" / "b.parquet").rename(far / "t" / "z.parquet")
        assert "b.parquet is missing" in self.refused(t)
        t.refresh("t")
        assert ids(t, "t")[20] == 3

    def test_all_is_gone(self, t: ForwardLineage, far: Path) -> None:
        (far / "t").rename(far / "elsewhere")
        with pytest.raises(ChangedError, match=r"which table t was registered from, is missing"):
            t.sql("SELECT v FROM t")

    def test_a_text_that_was_rewritten_before(self, t: ForwardLineage, far: Path) -> None:
        sql = t.rewrite("SELECT v FROM t")
        assert t.spark.sql(sql).count() == 6
        write(far / "t" / "b.parquet", [20, 21, 22])
        with pytest.raises(Exception, match=r"b.parquet has changed since the registration of t"):
            t.spark.sql(sql).collect()


class TestOtherIds:
    def test_a_key(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        write(far / "t" / "a.parquet", [10, 11])
        lineage.register("t", path=f"{mounted}/t", key="v")
        lineage.spark.sql(f"CREATE OR REPLACE TEMP VIEW seen AS SELECT v FROM parquet.`{mounted}/t` WHERE v > 10")
        lineage.register("seen", key="v")
        assert ids(lineage, "t") == {10: 10, 11: 11}
        assert ids(lineage, "seen") == {11: 11}
        write(far / "t" / "b.parquet", [12])
        for name in ("t", "seen"):
            with pytest.raises(ChangedError, match=rf"ids of table {name} no longer hold: .*b.parquet is new"):
                lineage.sql(f"SELECT v FROM {name}")
            lineage.refresh(name)
            assert ids(lineage, name)[12] == 12

    def test_a_dictionary(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        write(far / "t" / "a.parquet", [10, 11])
        lineage.spark.sql(f"CREATE OR REPLACE TEMP VIEW t AS SELECT v FROM parquet.`{mounted}/t`")
        lineage.register("t", key=["v"])
        assert ids(lineage, "t") == {10: 0, 11: 1}
        write(far / "t" / "b.parquet", [9])
        with pytest.raises(ChangedError, match=r"t is not in step with its dictionary: .*b.parquet is new"):
            lineage.sql("SELECT v FROM t")
        lineage.refresh("t")
        assert ids(lineage, "t") == {10: 0, 11: 1, 9: 2}

    def test_a_copy(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        (far / "t.csv").write_text("v\n2\n1\n")
        given = {"format": "csv", "options": {"header": "true", "inferSchema": "true"}, "order_by": "v"}
        lineage.register("t", path=f"{mounted}/t.csv", **given)  # type: ignore[arg-type]
        assert ids(lineage, "t") == {1: 0, 2: 1}
        assert lineage.register("t", path=f"{mounted}/t.csv", **given).version == 1  # type: ignore[arg-type]
        (far / "t.csv").write_text("v\n2\n1\n3\n")
        with pytest.raises(ChangedError, match=r"t is a copy of files that have changed: .*t.csv has grown"):
            lineage.sql("SELECT v FROM t")

    def test_a_catalog_table(self, lineage: ForwardLineage, mounted: str) -> None:
        spark = lineage.spark
        spark.sql("DROP TABLE IF EXISTS far_away")
        spark.sql(f"CREATE TABLE far_away (v BIGINT, p INT) USING parquet PARTITIONED BY (p) LOCATION '{mounted}/a b'")
        try:
            spark.sql("INSERT INTO far_away SELECT id, id % 2 FROM range(6)")
            manifest = lineage.register("far_away")
            assert manifest.source["path"] == f"{mounted}/a b"
            assert sorted(ids(lineage, "far_away").values()) == list(range(6))
            spark.sql("INSERT INTO far_away VALUES (6, 0)")
            with pytest.raises(ChangedError, match=r"is new since version 1 was registered"):
                lineage.sql("SELECT v FROM far_away")
            lineage.refresh("far_away")
            assert ids(lineage, "far_away")[6] == 6
        finally:
            spark.sql("DROP TABLE far_away")


class TestSeveralPaths:
    """Lists and patterns, local ones too, mean what Spark's reader means by them."""

    @pytest.fixture(params=["near", "far"])
    def root(self, request: pytest.FixtureRequest, far: Path, mounted: str) -> str:
        for name, values in (("x/a", [10, 11]), ("x/b", [20]), ("y, z/a", [30]), ("y, z/_b", [40])):
            write(far / f"{name}.parquet", values)
        return str(far) if request.param == "near" else mounted

    def test_a_pattern(self, lineage: ForwardLineage, root: str, far: Path) -> None:
        manifest = lineage.register("t", path=f"{root}/*/a.parquet")
        assert manifest.source["paths"] == [f"{root}/*/a.parquet"]
        assert ids(lineage, "t") == {10: 0, 11: 1, 30: 2}
        write(far / "xx" / "a.parquet", [50])
        with pytest.raises(ChangedError, match=r"xx/a.parquet is new since"):
            lineage.sql("SELECT v FROM t")
        lineage.refresh("t")
        assert ids(lineage, "t") == {10: 0, 11: 1, 30: 2, 50: 3}
        again = ForwardLineage(lineage.spark.newSession(), lineage.home)
        assert ids(again, "t")[50] == 3

    def test_a_list(self, lineage: ForwardLineage, root: str) -> None:
        lineage.register("t", path=[f"{root}/x/b.parquet", f"{root}/y, z"])
        assert ids(lineage, "t") == {20: 0, 30: 1}
        lineage.register("t", path=[f"{root}/x/{{a,b}}.parquet", f"{root}/y*"])
        assert sorted(ids(lineage, "t")) == [10, 11, 20, 30]
        lineage.register("k", path=[f"{root}/x", f"{root}/y, z"], key="v")
        assert ids(lineage, "k") == {10: 10, 11: 11, 20: 20, 30: 30}
        lineage.register("c", path=[f"{root}/x", f"{root}/y, z"], order_by="v DESC")
        assert ids(lineage, "c") == {30: 0, 20: 1, 11: 2, 10: 3}

    def test_what_cannot_be(self, lineage: ForwardLineage, root: str, mounted: str, far: Path) -> None:
        with pytest.raises(BadArgumentError, match=r"x/a.parquet is named twice\. Spark would read its rows twice"):
            lineage.register("t", path=[f"{root}/x", f"{root}/x/a.parquet"])
        with pytest.raises(BadArgumentError, match=r"^there is no .*/nowhere"):
            lineage.register("t", path=[f"{root}/x", f"{root}/nowhere"])
        with pytest.raises(BadArgumentError, match=r"^there is no .*/q\*"):
            lineage.register("t", path=f"{root}/q*")
        with pytest.raises(BadArgumentError, match=r"cannot be one table"):
            lineage.register("t", path=[f"{mounted}/x", str(far / "y, z")])
        with pytest.raises(BadArgumentError, match=r"cannot be one table"):
            lineage.register("t", path=[])

    def test_a_name_that_is_there_is_no_pattern(self, lineage: ForwardLineage, root: str, far: Path) -> None:
        write(far / "[xy]" / "a.parquet", [7])
        manifest = lineage.register("t", path=f"{root}/[xy]")
        assert manifest.source["path"] == f"{root}/[xy]"
        assert ids(lineage, "t") == {7: 0}


class TestRefusals:
    def test_what_is_not_there(self, lineage: ForwardLineage, mounted: str, far: Path) -> None:
        with pytest.raises(BadArgumentError, match=rf"^there is no {mounted}/x\. Name a Parquet file"):
            lineage.register("t", path=f"{mounted}/x")
        (far / "x").mkdir()
        with pytest.raises(BadArgumentError, match=rf"^no Parquet file in {mounted}/x"):
            lineage.register("t", path=f"{mounted}/x")
        for text in (b"v\n1\n", b"v,w,x,y,z\n1,2,3,4,5\n", b"PAR1" + b"\xff" * 20 + b"PAR1"):
            (far / "x" / "a.parquet").write_bytes(text)
            with pytest.raises(DamagedError, match=rf"^{mounted}/x/a.parquet cannot be read as Parquet: "):
                lineage.register("t", path=f"{mounted}/x")
        assert lineage.tables() == {}

    def test_file_systems_that_nobody_knows(self, lineage: ForwardLineage) -> None:
        with pytest.raises(SetupError, match=r'^nope://x/y cannot be listed or read: No FileSystem for scheme "nope"'):
            lineage.register("t", path="nope://x/y")
        with pytest.raises(BadArgumentError, match=r"^s3a:/bucket/x is a pathlib.Path, which cannot be an address"):
            lineage.register("t", path=Path("s3a://bucket/x"))

    @pytest.mark.parametrize(
        "address",
        [
            "s3a://AKIA:SECRET@b/t",
            "s3a://AKIA:SEC/RET@b/t",
            "s3a://SECRET@b/t",
            "abfss://c:SECRET@a.b/t",
            "x://h/t?token=SECRET",
        ],
    )
    def test_secrets(self, lineage: ForwardLineage, address: str) -> None:
        for given in (address, [address, "s3a://b/u"]):
            with pytest.raises(BadArgumentError, match=r"^path= holds a user or a password") as refused:
                lineage.register("t", path=given)
            assert "SECRET" not in str(refused.value) and "RET@" not in str(refused.value)

    def test_a_container_is_no_secret(self, lineage: ForwardLineage) -> None:
        with pytest.raises(SetupError, match="cannot be listed or read"):
            lineage.register("t", path="abfss://container@account.dfs.core.windows.net/t")


@pytest.fixture
def elsewhere(spark: SparkSession, mounted: str) -> SparkSession:
    """A session whose paths without a scheme are not local."""
    session = spark.newSession()
    session.conf.set("fs.defaultFS", mounted.removesuffix("/data"))
    return session


def test_paths_without_a_scheme(elsewhere: SparkSession, mounted: str, far: Path, tmp_path: Path) -> None:
    write(far / "t" / "a.parquet", [10, 11])
    lineage = ForwardLineage(elsewhere, tmp_path / "home")
    assert lineage.register("t", path="/data/t").source["path"] == f"{mounted}/t"
    assert ids(lineage, "t") == {10: 0, 11: 1}
    near = lineage.register("near", path=(far / "t").as_uri())
    assert near.source["path"] == f"file:{far}/t"
    assert ids(lineage, "near") == {10: 0, 11: 1}


def test_a_manifest_of_format_2_names_local_files(t: ForwardLineage) -> None:
    sql = t.rewrite("SELECT v FROM t")
    manifest = t.home / "tables" / "t" / "1.json"
    text = manifest.read_text().replace('"format": 3', '"format": 2')
    body = text[: text.index(',\n "checksum"')].encode()
    manifest.write_bytes(body + b',\n "checksum": %d\n}\n' % crc32(body))
    with pytest.raises(DamagedError, match=r"1.json is damaged"):
        ForwardLineage(t.spark.newSession(), t.home).sql("SELECT v FROM t")
    with pytest.raises(Exception, match=r"is damaged \(the path of file 0 is viewfs:"):
        t.spark.sql(sql).collect()
