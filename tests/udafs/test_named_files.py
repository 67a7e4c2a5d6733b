"""dl_parquet: what parquet.`path` is, its footers read once while the files are the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.spark_jobs import jobs
from tests.task_errors import REFUSED
from udafs.attach import attach


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    attach(own)
    return own


def write(path: Path, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def is_what_spark_reads(spark: SparkSession, path: object) -> None:
    """Twice, since the second reading takes the columns of the first."""
    columns = "*, _metadata.file_path AS file, _metadata.row_index AS place"
    spark_s = spark.sql(f"SELECT {columns} FROM parquet.`{path}`")
    for _ in range(2):
        ours = spark.sql(f"SELECT {columns} FROM dl_parquet('{path}') AS t")
        assert ours.schema == spark_s.schema
        assert sorted(map(str, ours.collect())) == sorted(map(str, spark_s.collect()))


def test_a_file_a_folder_and_a_pattern(session: SparkSession, tmp_path: Path) -> None:
    one = write(tmp_path / "t" / "a b.parquet", v=[1, 2], w=["x", None])
    write(tmp_path / "t" / "c.parquet", v=[3], w=["y"])
    for path in (one, tmp_path / "t", f"{tmp_path}/t/[ac]*"):
        is_what_spark_reads(session, path)


def test_partitions(session: SparkSession, tmp_path: Path) -> None:
    for day, value in (("2024-01-01", 1), ("2024-01-02", 2)):
        write(tmp_path / "t" / f"day={day}" / "hour=7" / "a.parquet", v=[value])
    is_what_spark_reads(session, tmp_path / "t")


def test_a_partition_that_is_also_in_the_files(session: SparkSession, tmp_path: Path) -> None:
    for key in (1, 2):
        write(tmp_path / "t" / f"k={key}" / "a.parquet", k=[key], v=[key * 10])
    is_what_spark_reads(session, tmp_path / "t")


def test_no_job_while_the_files_are_the_same(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t" / "a.parquet", v=[1]).parent
    sql = f"SELECT * FROM dl_parquet('{folder}')"
    with jobs(session) as first:
        session.sql(sql)
    with jobs(session) as second:
        assert session.sql(sql).columns == ["v"]
    assert first and not second
    write(folder / "a.parquet", v=[1], w=[2])
    with jobs(session) as third:
        assert session.sql(sql).columns == ["v", "w"]
    assert third


def test_files_that_come_are_read(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t" / "a.parquet", v=[1]).parent
    sql = f"SELECT v FROM dl_parquet('{folder}') ORDER BY v"
    assert [row.v for row in session.sql(sql).collect()] == [1]
    write(folder / "b.parquet", v=[2])
    assert [row.v for row in session.sql(sql).collect()] == [1, 2]


def test_settings_say_what_columns_are(session: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", v=[b"x"])
    sql = f"SELECT * FROM dl_parquet('{path}')"
    assert session.sql(sql).dtypes == [("v", "binary")]
    session.conf.set("spark.sql.parquet.binaryAsString", "true")
    try:
        assert session.sql(sql).dtypes == [("v", "string")]
    finally:
        session.conf.unset("spark.sql.parquet.binaryAsString")


def test_merged_schemas(session: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t" / "a.parquet", v=[1])
    write(tmp_path / "t" / "b.parquet", v=[1], w=[2])
    session.conf.set("spark.sql.parquet.mergeSchema", "true")
    try:
        is_what_spark_reads(session, tmp_path / "t")
    finally:
        session.conf.unset("spark.sql.parquet.mergeSchema")


def test_what_is_not_there_is_said_as_spark_says_it(session: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        session.sql(f"SELECT * FROM dl_parquet('{tmp_path}/none')")


def test_what_is_no_parquet(session: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(REFUSED, match=r"dl_parquet\('.*a\.parquet'\) cannot be read: "):
        session.sql(f"SELECT * FROM dl_parquet('{tmp_path}/a.parquet')")


@pytest.mark.parametrize("arguments", ["", "1", "NULL", "'/a', '/b'", "CAST(NULL AS STRING)", "uuid()"])
def test_other_arguments(session: SparkSession, arguments: str) -> None:
    with pytest.raises((*REFUSED, AnalysisException), match="dl_parquet takes one argument, the path"):
        session.sql(f"SELECT * FROM dl_parquet({arguments})")


def test_where_files_must_not_be_named(session: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", v=[1])
    session.conf.set("spark.sql.runSQLOnFiles", "false")
    try:
        with pytest.raises(REFUSED, match=r"which spark\.sql\.runSQLOnFiles forbids"):
            session.sql(f"SELECT * FROM dl_parquet('{path}')")
    finally:
        session.conf.unset("spark.sql.runSQLOnFiles")


def test_views_of_the_session_keep_it(session: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", v=[1])
    session.sql(f"CREATE OR REPLACE TEMP VIEW seen AS SELECT v FROM dl_parquet('{path}')")
    assert session.table("seen").collect() == [(1,)]
    session.catalog.dropTempView("seen")
