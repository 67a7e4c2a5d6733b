"""Shallow clones of Delta tables: tables of their own, at first with the files of the tables they were made of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.comparing import TRACKED, read_by_engine, traced
from udafs.errors import ChangedError, NotTracedError

FORMAT = "delta"
_TRACKED = f"TBLPROPERTIES ({TRACKED[FORMAT]}, 'delta.enableDeletionVectors' = 'true')"
_SOURCE, _CLONE = "spark_catalog.default.origin", "spark_catalog.default.clone"


@pytest.fixture
def lineage(lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """Register a table of several files: one row is gone, one was changed."""
    run = lineage.spark.sql
    run(f"CREATE TABLE {_SOURCE} (k bigint, v string, g int) USING delta PARTITIONED BY (g) {_TRACKED}")
    for change in (
        "INSERT INTO {} VALUES (1, 'a', 1), (2, 'b', 1), (5, 'e', 1), (6, 'f', 2)",
        "INSERT INTO {} VALUES (3, 'c', 2)",
        "UPDATE {} SET v = 'x' WHERE k = 1",
        "DELETE FROM {} WHERE k = 5",
    ):
        run(change.format(_SOURCE))
    lineage.register(_SOURCE)
    yield lineage
    for name in (_SOURCE, _CLONE):
        run(f"DROP TABLE IF EXISTS {name}")


def _check(lineage: ForwardLineage, name: str) -> None:
    assert traced(lineage, name) == read_by_engine(lineage.spark, FORMAT, name)


def test_origin_and_clone_go_ways_of_their_own(lineage: ForwardLineage) -> None:
    run = lineage.spark.sql
    run(f"CREATE TABLE {_CLONE} SHALLOW CLONE {_SOURCE}")
    lineage.register(_CLONE)
    for name in (_SOURCE, _CLONE):
        _check(lineage, name)
    lineage.save(f"SELECT v FROM {_CLONE} WHERE k = 2", "of_the_clone")
    run(f"INSERT INTO {_CLONE} VALUES (9, 'z', 1)")
    run(f"UPDATE {_CLONE} SET v = 'y' WHERE k = 2")
    run(f"DELETE FROM {_SOURCE} WHERE k = 3")
    for name in (_SOURCE, _CLONE):
        with pytest.raises(ChangedError, match="refresh"):
            lineage.sql(f"SELECT * FROM {name}")
        lineage.refresh(name)
        _check(lineage, name)
    ids = {row[0]: row[-1] for row in read_by_engine(lineage.spark, FORMAT, _CLONE)}
    changed = {(row.row_id, row.change) for row in lineage.changed(_CLONE, since=1).collect()}
    assert changed == {(ids[2], "written"), (ids[9], "written")}
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        assert [row.v for row in lineage.backward("of_the_clone").collect()] == ["b"]
    both = lineage.sql(f"SELECT c.v FROM {_SOURCE} AS s JOIN {_CLONE} AS c USING (k) WHERE k = 2")
    (row,) = both.selectExpr(f"dl_ids(DL.`{_SOURCE}`)", f"dl_ids(DL.`{_CLONE}`)").collect()
    of_source = {each[0]: each[-1] for each in read_by_engine(lineage.spark, FORMAT, _SOURCE)}
    assert tuple(row) == ([of_source[2]], [ids[2]])


def test_clones_of_versions_and_of_clones(lineage: ForwardLineage) -> None:
    run, second = lineage.spark.sql, f"{_CLONE}_2"
    run(f"CREATE TABLE {_CLONE} SHALLOW CLONE {_SOURCE} VERSION AS OF 2")
    run(f"CREATE TABLE {second} SHALLOW CLONE {_CLONE}")
    try:
        for name, rows in ((_CLONE, 5), (second, 5)):
            lineage.register(name)
            assert len(traced(lineage, name)) == rows
            _check(lineage, name)
        run(f"OPTIMIZE {_CLONE}")  # files of its own now
        before = lineage.tables()[_CLONE].version
        lineage.refresh(_CLONE)
        _check(lineage, _CLONE)
        assert lineage.changed(_CLONE, since=before).collect() == []
        run(f"RESTORE TABLE {_CLONE} TO VERSION AS OF 0")
        lineage.refresh(_CLONE)
        _check(lineage, _CLONE)
    finally:
        run(f"DROP TABLE {second}")


def test_a_clone_of_a_version_of_a_table_with_lineage(lineage: ForwardLineage) -> None:
    """The refusal of time travel advises to clone a version; `DL` had a field less then."""
    run, kept = lineage.spark.sql, "spark_catalog.default.kept_with_lineage"
    ids = {row[0]: row[-1] for row in read_by_engine(lineage.spark, FORMAT, _SOURCE)}
    lineage.sql(f"CREATE TABLE {kept} USING delta AS SELECT k, v FROM {_SOURCE} WHERE k < 3")
    try:
        run("CREATE OR REPLACE TEMP VIEW later AS SELECT 7 AS id, 2 AS k")
        lineage.register("later", key="id")
        lineage.sql(f"ALTER TABLE {kept} ADD COLUMNS (DL.later BINARY)")
        lineage.sql(f"DELETE FROM {kept} WHERE k = 1")
        with pytest.raises(NotTracedError, match=r"VERSION, .* a clone of that version"):
            lineage.sql(f"SELECT k FROM {kept} VERSION AS OF 0")
        run(f"CREATE TABLE {_CLONE} SHALLOW CLONE {kept} VERSION AS OF 0")
        found = lineage.sql(f"SELECT k FROM {_CLONE}").selectExpr("k", f"dl_ids(DL.`{_SOURCE}`)")
        assert sorted(map(tuple, found.collect())) == [(1, [ids[1]]), (2, [ids[2]])]
    finally:
        run(f"DROP TABLE {kept}")


def test_a_table_that_a_clone_replaces(lineage: ForwardLineage) -> None:
    """Its id stays. The rows that were in it are gone, and no new row has an id of theirs."""
    run = lineage.spark.sql
    run(f"CREATE TABLE {_CLONE} (k bigint, v string, g int) USING delta PARTITIONED BY (g) {_TRACKED}")
    run(f"INSERT INTO {_CLONE} VALUES (100, 'q', 1), (101, 'r', 1)")
    lineage.register(_CLONE)
    before = {row[-1] for row in read_by_engine(lineage.spark, FORMAT, _CLONE)}
    lineage.save(f"SELECT k FROM {_CLONE}", "before_the_clone")
    run(f"DELETE FROM {_CLONE}")
    run(f"CREATE OR REPLACE TABLE {_CLONE} SHALLOW CLONE {_SOURCE}")
    lineage.refresh(_CLONE)
    _check(lineage, _CLONE)
    assert not before & {row[-1] for row in traced(lineage, _CLONE)}
    with pytest.warns(UserWarning, match="you see its rows of version 1$"):
        assert {row.k for row in lineage.backward("before_the_clone").collect()} == {100, 101}


def test_a_clone_whose_origin_was_vacuumed(lineage: ForwardLineage) -> None:
    run = lineage.spark.sql
    run(f"CREATE TABLE {_CLONE} SHALLOW CLONE {_SOURCE}")
    lineage.register(_CLONE)
    lineage.save(f"SELECT v FROM {_CLONE} WHERE k = 2", "of_the_clone")
    run(f"DELETE FROM {_SOURCE}")
    run("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
    run(f"VACUUM {_SOURCE} RETAIN 0 HOURS")
    for ask in (lambda: lineage.sql(f"SELECT * FROM {_CLONE}"), lambda: lineage.backward("of_the_clone")):
        with pytest.raises(ChangedError, match=r"a file of the table that it is a clone of.* Make the clone again"):
            ask()
