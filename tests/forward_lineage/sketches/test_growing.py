"""Rows are appended: sketches grow where that is proven, else they are dropped; never is the answer an old one."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.sketches.test_running import LARGE, ROWS, TOP, same, ways, write
from tests.tiers import every_day

JOINED = TOP.replace("FROM t", "FROM t JOIN u ON t.g = u.k WHERE u.w < 5").replace("sum(v)", "sum(v + u.w)")
WITH_SUBQUERY = LARGE.replace("FROM t", "FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.g)")


@pytest.fixture
def rows(spark: SparkSession, tmp_path: Path) -> Path:
    write(spark, tmp_path / "t", ROWS)
    spark.sql("SELECT id AS k, id % 7 AS w FROM range(2000)").coalesce(1).write.parquet(str(tmp_path / "u"))
    return tmp_path / "t"


@pytest.fixture
def tuned(lineage: ForwardLineage, rows: Path) -> ForwardLineage:
    lineage.register("t", path=rows)
    lineage.register("u", path=rows.parent / "u")
    lineage.tune("eager", least=0)
    return lineage


def append(lineage: ForwardLineage, folder: Path, selected: str, rows: int = 30) -> None:
    """Append rows to t, as many, and have it known."""
    lineage.spark.sql(f"SELECT {selected} FROM range({rows})").coalesce(1).write.mode("append").parquet(str(folder))
    lineage.spark.catalog.refreshByPath(str(folder))
    lineage.refresh("t")


OF_OLD_GROUPS = "CAST(700 + id % 2 AS INT) AS g, 90 AS v"
OF_NEW_GROUPS = "CAST(5000 + id % 2 AS INT) AS g, CAST(id AS INT) AS v"
WITHOUT_GROUP = "CAST(NULL AS INT) AS g, 50 AS v"


@pytest.mark.parametrize("sql", every_day([TOP, LARGE, JOINED, WITH_SUBQUERY], [WITH_SUBQUERY]))
def test_appended_rows_are_seen(tuned: ForwardLineage, rows: Path, sql: str) -> None:
    tuned.run(sql)
    for selected in (OF_OLD_GROUPS, OF_NEW_GROUPS, WITHOUT_GROUP):
        append(tuned, rows, selected)
        assert same(tuned.run(sql), tuned.spark.sql(sql))
        decision = tuned.decisions()[-1]
        assert decision.captured is not None and decision.captured.has_grown and set(decision.sketches) == {"t"}
        assert "rows were added" in decision.why
    assert ways(tuned) == ["capture", "use", "use", "use"]
    assert len(list((tuned.home / "sketches").rglob("*.json"))) == 1


def test_only_the_new_rows_are_read(tuned: ForwardLineage, rows: Path) -> None:
    tuned.run(TOP)
    (file,) = rows.glob("*.parquet")
    whole, times = file.read_bytes(), (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    append(tuned, rows, OF_OLD_GROUPS)
    file.write_bytes(without_pages(file))
    os.utime(file, ns=times)
    frame = tuned.run(TOP)
    assert ways(tuned) == ["capture", "use"]
    file.write_bytes(whole)
    os.utime(file, ns=times)
    assert same(frame, tuned.spark.sql(TOP))


def without_pages(file: Path) -> bytes:
    """The bytes of a Parquet file from which no value can be read any more, though all is said of its values."""
    found, footer = bytearray(file.read_bytes()), pq.read_metadata(file)
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for chunk in map(group.column, range(footer.num_columns)):
            first = chunk.dictionary_page_offset or chunk.data_page_offset
            found[first : first + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    return bytes(found)


def test_another_instance_is_served_by_what_has_grown(tuned: ForwardLineage, rows: Path) -> None:
    tuned.run(LARGE)
    append(tuned, rows, OF_OLD_GROUPS)
    other = ForwardLineage(tuned.spark, tuned.home)
    other.tune("eager", least=0)
    for sql in (LARGE.replace("25", "26"), LARGE):
        assert same(other.run(sql), tuned.spark.sql(sql))
    assert ways(other) == ["use", "use"]


@pytest.mark.parametrize(
    ("sql", "selected"),
    [
        (TOP.replace("DESC", "ASC"), OF_OLD_GROUPS),  # what was small is not
        (TOP, "CAST(2 + id AS INT) AS g, -5 AS v"),  # what was large need not be
        (TOP, "CAST(id AS INT) AS g, 1 AS v"),  # there is hardly a range that they do not touch
    ],
)
def test_what_is_not_proven_is_captured_anew(tuned: ForwardLineage, rows: Path, sql: str, selected: str) -> None:
    tuned.run(sql)
    append(tuned, rows, selected, 2000 if sql == TOP and "1 AS v" in selected else 30)
    assert same(tuned.run(sql), tuned.spark.sql(sql))
    assert ways(tuned) == ["capture", "capture"]
    assert not any(each.captured.has_grown for each in tuned.decisions() if each.captured)


def test_files_that_are_others_drop_it(tuned: ForwardLineage, rows: Path) -> None:
    tuned.run(TOP)
    append(tuned, rows, OF_OLD_GROUPS)
    for file in sorted(rows.glob("*.parquet"), key=lambda file: file.stat().st_size)[:1]:
        pq.write_table(pq.read_table(file).slice(5), file)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    tuned.spark.catalog.refreshByPath(str(rows))
    tuned.run(TOP)
    tuned.refresh("t")
    assert same(tuned.run(TOP), tuned.spark.sql(TOP))
    assert ways(tuned) == ["capture", "plain", "capture"]
