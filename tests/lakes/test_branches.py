"""Iceberg: partitions that change, branches and tags, and what is audited before it is published."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.comparing import TRACKED, read_by_engine, traced
from tests.lakes.engines import CATALOG
from udafs.errors import NotRegisteredError, NotTracedError
from udafs.versions import installed

FORMAT = "iceberg"
_NAME = f"{CATALOG}.db.branched"


@pytest.fixture
def lineage(lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """With a table of two rows."""
    lineage.spark.sql(f"CREATE TABLE {_NAME} (k bigint, v string) USING iceberg TBLPROPERTIES ({TRACKED[FORMAT]})")
    lineage.spark.sql(f"INSERT INTO {_NAME} VALUES (1, 'a'), (2, 'b')")
    lineage.register(_NAME)
    yield lineage
    lineage.spark.sql(f"DROP TABLE {_NAME}")


def _run(lineage: ForwardLineage, *statements: str) -> None:
    for each in statements:
        lineage.spark.sql(each.format(_NAME))


def _check(lineage: ForwardLineage, clause: str = "") -> None:
    source = f"{_NAME} {clause}"
    assert traced(lineage, source) == read_by_engine(lineage.spark, FORMAT, source)


def test_files_of_several_partition_specs(lineage: ForwardLineage) -> None:
    changes = (
        ("ALTER TABLE {} ADD PARTITION FIELD bucket(4, k)", "INSERT INTO {} VALUES (3, 'c'), (4, 'd')"),
        ("ALTER TABLE {} ADD PARTITION FIELD truncate(v, 1)", "INSERT INTO {} VALUES (5, 'e'), (6, NULL)"),
        ("ALTER TABLE {} DROP PARTITION FIELD bucket(4, k)", "UPDATE {} SET v = 'w' WHERE k IN (1, 3)"),
        ("ALTER TABLE {} ADD PARTITION FIELD k", "INSERT INTO {} VALUES (7, 'g')"),
        ("ALTER TABLE {} REPLACE PARTITION FIELD k WITH truncate(k, 2)", "DELETE FROM {} WHERE k = 4"),
    )
    for statements in changes:
        _run(lineage, *statements)
        lineage.refresh(_NAME)
        _check(lineage)
    _run(lineage, "ALTER TABLE {} RENAME COLUMN v TO u")
    options = "map('rewrite-all', 'true')"
    _run(lineage, f"CALL {CATALOG}.system.rewrite_data_files(table => 'db.branched', options => {options})")
    before = lineage.tables()[_NAME].version
    lineage.refresh(_NAME)
    _check(lineage)
    assert lineage.changed(_NAME, since=before).collect() == []


def test_rows_of_a_branch(lineage: ForwardLineage) -> None:
    """By the number of its snapshot; its name is refused in every spelling, with the number."""
    _branched(lineage)
    _check(lineage)
    number = _snapshot(lineage, "audit")
    for clause in (f"VERSION AS OF {number}", "VERSION AS OF 'old'"):
        _check(lineage, clause)
    with pytest.raises(NotTracedError, match=f"audit is a branch.*VERSION AS OF {number} is its newest"):
        lineage.sql(f"SELECT * FROM {_NAME} VERSION AS OF 'audit'")
    for spelled in (f"{_NAME}.branch_audit", f"{_NAME}.tag_old"):
        with pytest.raises(NotRegisteredError):
            lineage.sql(f"SELECT * FROM {spelled}")
        with pytest.raises(NotTracedError, match=r"is no table, but a branch"):
            lineage.register(spelled)


def test_a_branch_becomes_the_main_one(lineage: ForwardLineage) -> None:
    _branched(lineage, to_main=False)
    ids = {row[0]: row[-1] for row in read_by_engine(lineage.spark, FORMAT, _NAME)}
    before = lineage.tables()[_NAME].version
    _run(lineage, f"CALL {CATALOG}.system.fast_forward('db.branched', 'main', 'audit')")
    lineage.refresh(_NAME)
    _check(lineage)
    new = {row[0]: row[-1] for row in read_by_engine(lineage.spark, FORMAT, _NAME)}
    assert new[1] == ids[1]
    changed = {(row.row_id, row.change) for row in lineage.changed(_NAME, since=before).collect()}
    assert changed == {(ids[1], "written"), (ids[2], "gone"), (new[7], "written")}


def test_rows_that_are_published_later(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    _run(lineage, "ALTER TABLE {} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.conf.set("spark.wap.id", "of_today")
    try:
        _run(lineage, "INSERT INTO {} VALUES (3, 'c')")
    finally:
        spark.conf.unset("spark.wap.id")
    lineage.refresh(_NAME)
    assert len(traced(lineage, _NAME)) == 2
    _check(lineage)
    _run(lineage, "INSERT INTO {} VALUES (4, 'd')")
    _run(lineage, f"CALL {CATALOG}.system.publish_changes(table => 'db.branched', wap_id => 'of_today')")
    lineage.refresh(_NAME)
    assert len(traced(lineage, _NAME)) == 4
    _check(lineage)


def test_a_session_that_reads_another_branch(lineage: ForwardLineage) -> None:
    """Iceberg reads the branch that spark.wap.branch names in the place of the main one, if both are there."""
    spark = lineage.spark
    _branched(lineage)
    spark.conf.set("spark.wap.branch", "audit")
    try:
        _check(lineage)  # the table does not ask for it
        _run(lineage, "ALTER TABLE {} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
        for ask in (lineage.refresh, lineage.register, lambda name: lineage.sql(f"SELECT * FROM {name}")):
            with pytest.raises(NotTracedError, match=r"branch audit .*spark\.conf\.unset"):
                ask(_NAME)
        spark.conf.set("spark.wap.branch", "of_nobody")
        lineage.refresh(_NAME)
        _check(lineage)
    finally:
        spark.conf.unset("spark.wap.branch")


def test_branches_and_tags_of_a_table_with_lineage(lineage: ForwardLineage) -> None:
    """Read and changed by their names, until the table is made anew: then its property speaks of other rows."""
    kept = f"{CATALOG}.db.branched_with_lineage"
    audit, old = f"{kept}.branch_audit", f"{kept}.tag_old"
    ids = {row[0]: [row[-1]] for row in read_by_engine(lineage.spark, FORMAT, _NAME)}
    make = f"CREATE OR REPLACE TABLE {kept} USING iceberg AS SELECT k, v FROM {_NAME}"
    lineage.sql(make)
    try:
        _run(lineage, f"ALTER TABLE {kept} CREATE TAG old", f"ALTER TABLE {kept} CREATE BRANCH audit")
        lineage.sql(f"UPDATE {audit} SET v = 'x' WHERE k = 1")
        lineage.sql(f"DELETE FROM {kept} WHERE k = 1")
        assert _with_ids(lineage, kept) == [(2, "b", ids[2])]
        assert _with_ids(lineage, audit) == [(1, "x", ids[1]), (2, "b", ids[2])]
        assert _with_ids(lineage, old) == [(1, "a", ids[1]), (2, "b", ids[2])]
        first = lineage.spark.sql(f"SELECT snapshot_id FROM {kept}.refs WHERE name = 'old'").collect()[0][0]
        lineage.sql(f"{make} WHERE k = 2")
        assert _with_ids(lineage, kept) == [(2, "b", ids[2])]
        statements = ("SELECT * FROM {}", "UPDATE {} SET v = 'y' WHERE k = 2")
        for statement in [statements[0].format(old), *(each.format(audit) for each in statements)]:
            with pytest.raises(NotTracedError, match="written before CREATE OR REPLACE"):
                lineage.sql(statement)
        _run(lineage, f"CALL {CATALOG}.system.set_current_snapshot('db.branched_with_lineage', {first})")
        insert = f"INSERT INTO {{}} (k, v) SELECT k, v FROM {_NAME}"  # before 4.1, Spark refuses it for want of `DL`
        for statement in (*statements, *([insert] if installed() >= (4, 1) else [])):
            with pytest.raises(NotTracedError, match="written before CREATE OR REPLACE"):
                lineage.sql(statement.format(kept))
        lineage.sql(make)
        assert len(_with_ids(lineage, kept)) == 2
    finally:
        _run(lineage, f"DROP TABLE {kept}")


def _with_ids(lineage: ForwardLineage, name: str) -> list[tuple[object, ...]]:
    found = lineage.sql(f"SELECT k, v FROM {name}").selectExpr("k", "v", f"dl_ids(DL.`{_NAME}`)")
    return sorted(map(tuple, found.collect()))


def _branched(lineage: ForwardLineage, *, to_main: bool = True) -> None:
    """A tag `old`, a branch `audit` with other rows, and a row that main alone has; main is registered."""
    _run(
        lineage,
        "ALTER TABLE {} CREATE TAG old",
        "ALTER TABLE {} CREATE BRANCH audit",
        "INSERT INTO {}.branch_audit VALUES (7, 'in the branch')",
        "UPDATE {}.branch_audit SET v = 'x' WHERE k = 1",
        "DELETE FROM {}.branch_audit WHERE k = 2",
    )
    if to_main:
        _run(lineage, "INSERT INTO {} VALUES (8, 'in main')")
    lineage.refresh(_NAME)


def _snapshot(lineage: ForwardLineage, name: str) -> int:
    return int(lineage.spark.sql(f"SELECT snapshot_id FROM {_NAME}.refs WHERE name = '{name}'").collect()[0][0])
