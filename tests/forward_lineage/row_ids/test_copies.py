"""Materialised copies: dense ids in a chosen order, for any source."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.shared_state import drop_views


def test_ids_follow_the_order(lineage: ForwardLineage, folder: Path) -> None:
    manifest = lineage.register("t", path=folder, order_by="v DESC")
    assert manifest.provider == "copy"
    assert ids(lineage, "t") == {30: 0, 21: 1, 20: 2, 12: 3, 11: 4, 10: 5}


def test_dense_over_many_files(lineage: ForwardLineage, spark: SparkSession) -> None:
    rows = spark.range(20_000).selectExpr("id AS v", "hash(id) AS h")
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        manifest = lineage.register("t", source=rows, order_by=["h", "v"])
    finally:
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    assert len(manifest.files) > 1
    frame = lineage.sql("SELECT h FROM t").selectExpr("h", "dl_ids(DL.t)[0] AS i").orderBy("i").collect()
    assert [row.i for row in frame] == list(range(20_000))
    hashes = [row.h for row in frame]
    assert hashes == sorted(hashes)


@pytest.mark.parametrize(
    ("file_format", "text", "options"),
    [
        ("csv", "v,w\n3,x\n1,y\n", {"header": True, "inferSchema": True}),
        ("json", '{"v":3,"w":"x"}\n{"v":1,"w":"y"}\n', {}),
    ],
)
def test_formats_without_positions(
    lineage: ForwardLineage, tmp_path: Path, file_format: str, text: str, options: dict[str, object]
) -> None:
    source = tmp_path / f"t.{file_format}"
    source.write_text(text)
    lineage.register("t", path=source, format=file_format, options=options, order_by="v")
    assert ids(lineage, "t") == {1: 0, 3: 1}
    assert lineage.spark.table("t").columns == ["v", "w"]
    source.write_text(text + text[-4:])
    with pytest.raises(LineageError) as refused:
        lineage.sql("SELECT v FROM t")
    assert str(refused.value).startswith(f"table t is a copy of files that have changed: {source} has grown from ")
    assert str(refused.value).endswith('Call lineage.refresh("t"); its rows then get new ids.')
    assert lineage.refresh("t").version == 2, "which knows the options"


def test_a_source_like_jdbc(lineage: ForwardLineage, spark: SparkSession) -> None:
    """Rows that come from a program: no files, no positions, no order of their own."""
    rows = spark.createDataFrame(spark.sparkContext.parallelize([(3, "x"), (1, "y"), (2, "z")]), "v BIGINT, w STRING")
    lineage.register("t", source=rows, order_by="w DESC")
    assert ids(lineage, "t") == {2: 0, 1: 1, 3: 2}


def test_a_table_that_spark_knows(lineage: ForwardLineage, spark: SparkSession) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id % 3 AS v, id FROM range(3)")
    lineage.register("t", order_by="v DESC")
    assert ids(lineage, "t") == {2: 0, 1: 1, 0: 2}
    lineage.register("u", source="t", order_by="v")
    assert ids(lineage, "u") == {0: 0, 1: 1, 2: 2}


def test_an_untouched_source_is_not_copied_again(lineage: ForwardLineage, folder: Path) -> None:
    assert [lineage.register("t", path=folder, order_by="v").version for _ in range(2)] == [1, 1]
    assert lineage.register("t", path=folder, order_by="v DESC").version == 2
    assert min(ids(lineage, "t").values()) == 6, "ids are not given to other rows"


def test_a_changed_source_gives_new_ids(lineage: ForwardLineage, folder: Path) -> None:
    lineage.register("t", path=folder, order_by="v")
    write(folder / "d.parquet", [5])
    with pytest.raises(LineageError, match=r"Call lineage.refresh\(\"t\"\); its rows then get new ids"):
        lineage.sql("SELECT v FROM t")
    lineage.refresh("t")
    assert ids(lineage, "t") == {5: 6, 10: 7, 11: 8, 12: 9, 20: 10, 21: 11, 30: 12}


def test_tomorrow(lineage: ForwardLineage, spark: SparkSession, folder: Path) -> None:
    lineage.register("t", path=folder, order_by="v DESC")
    tomorrow = ForwardLineage(spark.newSession(), lineage.home)
    assert ids(tomorrow, "t") == ids(lineage, "t")
    drop_views(tomorrow.spark)


def test_a_copy_that_was_tampered_with(lineage: ForwardLineage, folder: Path) -> None:
    manifest = lineage.register("t", path=folder, order_by="v")
    Path(manifest.files[0].path).unlink()
    with pytest.raises(LineageError, match=r"^the ids of table t no longer hold: .*\.parquet is missing"):
        lineage.sql("SELECT v FROM t")


@pytest.mark.parametrize(
    ("sql", "order_by", "message"),
    [
        ("SELECT 1 AS v", "nope", "`nope` cannot be resolved"),
        ("SELECT 1 AS v, NULL AS w", "v", "^column w of t has no type, only NULLs. Cast it to a type.$"),
        ("SELECT 1 AS v, 2 AS V", "1", "^t has two columns called V. Give one of them another name.$"),
    ],
)
def test_what_cannot_be_copied(
    lineage: ForwardLineage, spark: SparkSession, sql: str, order_by: str, message: str
) -> None:
    with pytest.raises(LineageError, match=message):
        lineage.register("t", source=spark.sql(sql), order_by=order_by)
    assert not list(lineage.registrations.folder("t").glob("data-*")), "nothing is left behind"


def test_what_is_not_there(lineage: ForwardLineage, tmp_path: Path) -> None:
    with pytest.raises(LineageError, match=r"^Path does not exist: .*nope.csv\. Correct path="):
        lineage.register("t", path=tmp_path / "nope.csv", format="csv", order_by="v")
    with pytest.raises(LineageError, match=r"^a.b cannot be the name of a temporary view"):
        lineage.register("a.b", path=tmp_path, order_by="v")


def test_a_view_over_other_files_is_copied_again(lineage: ForwardLineage, spark: SparkSession, tmp_path: Path) -> None:
    """The files that were copied are what they were, but the name means others now."""
    write(tmp_path / "one" / "a.parquet", [1, 2])
    write(tmp_path / "two" / "a.parquet", [2, 3])
    try:
        for way in ({"key": "v"}, {"order_by": "v"}, {"key": ["v"]}):
            spark.read.parquet(str(tmp_path / "one")).createOrReplaceTempView("source_of_t")
            lineage.register("t", source="source_of_t", **way)  # type: ignore[arg-type]
            before = lineage.tables()["t"].version
            assert lineage.refresh("t").version == before
            spark.read.parquet(str(tmp_path / "two")).createOrReplaceTempView("source_of_t")
            assert lineage.refresh("t").version == before + 1
            assert sorted(row.v for row in spark.table("t").collect()) == [2, 3]
    finally:
        drop_views(spark)


def test_a_file_that_is_new_in_a_table(lineage: ForwardLineage, spark: SparkSession) -> None:
    """A query over the copy says so, as it does where a folder was copied."""
    spark.sql("CREATE TABLE copied_table USING parquet AS SELECT 1 AS v")
    try:
        lineage.register("t", source="copied_table", key="v")
        spark.sql("INSERT INTO copied_table SELECT 2 AS v")
        with pytest.raises(LineageError, match=r"table t is a copy of files that have changed: .* is new"):
            lineage.sql("SELECT v FROM t")
        assert lineage.refresh("t").version == 2
        assert [row.change for row in lineage.changed("t", since=1).collect()] == ["written"]
        assert ids(lineage, "t") == {1: 1, 2: 2}
    finally:
        spark.sql("DROP TABLE copied_table")
        drop_views(spark)
