"""Files, their statements, and what may be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from forward_lineage import BadArgumentError, split_script
from forward_lineage.checking.data import tables_in
from forward_lineage.checking.outcomes import grouped
from forward_lineage.checking.statements import (
    defined_name,
    is_query,
    is_script,
    names_in,
    read_files,
    shortened,
    statements_of,
    stays_out,
    without_lineage_on,
)


def test_statements_know_their_lines() -> None:
    text = "-- SELECT 1\n--SET a=b\n\nSELECT 1;\n/* SELECT 2; */ SELECT 2\n;\n;SELECT ';'"
    assert [(each.line, each.sql) for each in statements_of(text)] == [
        (4, "SELECT 1"),
        (5, "SELECT 2"),
        (7, "SELECT ';'"),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "(SELECT 1)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "FROM t SELECT a",
        "FROM t |> SELECT a",
        "VALUES (1)",
        "table t",
        "SELECT insert FROM (SELECT 1 AS insert)",
    ],
)
def test_queries(sql: str) -> None:
    assert is_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT 1",
        "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
        "FROM t INSERT INTO a SELECT 1 INSERT INTO b SELECT 2",
        "CREATE VIEW v AS SELECT 1",
        "SET x = 1",
        "EXPLAIN SELECT 1",
        "DESCRIBE t",
        "{{ config() }} SELECT 1",
        "",
        "SELECT 'not closed",
    ],
)
def test_everything_else(sql: str) -> None:
    assert not is_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT OVERWRITE DIRECTORY '/data' SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY USING csv OPTIONS (path '/x') SELECT 1",
        "CREATE TABLE t (a INT) LOCATION '/data/t'",
        "CREATE TABLE t USING parquet OPTIONS (path '/data/t')",
        "CREATE TABLE t USING parquet OPTIONS ('path' = '/data/t')",
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:…')",
        "CREATE TABLE t USING delta AS SELECT 1",
        "CREATE TEMPORARY VIEW v USING com.example.Source",
        "INSERT INTO parquet.`/data/t` SELECT 1",
        "DELETE FROM delta.`/data/t`",
        "ALTER TABLE t SET LOCATION '/data/t'",
        "CREATE DATABASE d LOCATION '/data/d'",
        "CREATE TABLE t (from INT, select INT) LOCATION '/data/t'",
        "CREATE TABLE as (a INT) LOCATION '/data/t'",
        "FROM t INSERT OVERWRITE from SELECT 1 INSERT OVERWRITE DIRECTORY '/data' SELECT 1",
        "INSERT INTO `/data/t` VALUES (1)",
        "LOAD DATA INPATH '/data/t' INTO TABLE t",
        "ADD JAR '/x.jar'",
        "CREATE FUNCTION f AS 'a.B' USING JAR '/x.jar'",
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "SET spark.sql.catalog.prod = org.example.Catalog",
        "SET `spark.hadoop.fs.defaultFS` = hdfs://x",
    ],
)
def test_what_reaches_outside_is_not_run(sql: str) -> None:
    assert stays_out(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT, location STRING) USING parquet",
        "CREATE TABLE t USING PARQUET AS SELECT path FROM u",
        "CREATE TABLE t AS SELECT * FROM a JOIN b USING (x)",
        "CREATE VIEW v AS SELECT * FROM a JOIN b USING (x)",
        "INSERT INTO t VALUES (1)",
        "DROP TABLE t",
        "CREATE VIEW v AS SELECT * FROM parquet.`/data/t` WHERE path = 'x'",
        "INSERT INTO t SELECT * FROM parquet.`/data/t`",
        "SET spark.sql.ansi.enabled = false",
        "SET -v",
        "USE d",
        "DESCRIBE EXTENDED t",
        "CACHE TABLE t AS SELECT 1",
        "ALTER TABLE t ADD COLUMN file STRING",
    ],
)
def test_what_stays_in_the_scratch_catalog_is_run(sql: str) -> None:
    assert stays_out(sql) is None


def test_names() -> None:
    assert {"t", "my table", "d"} <= names_in("SELECT x FROM D.t, `My Table`")
    assert defined_name("CREATE TABLE IF NOT EXISTS d.`T 1` (a INT)") == "t 1"
    assert defined_name("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1") == "v"
    assert defined_name("CACHE LAZY TABLE c AS SELECT 1") == "c"
    assert defined_name("INSERT INTO TABLE t SELECT 1") is None
    assert defined_name("CREATE TABLE") is None
    assert defined_name("CACHE TABLE t") is None


def test_names_of_several_parts_are_shortened() -> None:
    names = [("c", "d", "t"), ("d", "t")]
    assert shortened("SELECT c.d.t.a, d.`T`.b FROM c . d.t, x.t", names) == "SELECT t.a, `T`.b FROM t, x.t"


def test_plain_spark_does_not_see_lineage_on() -> None:
    assert without_lineage_on("SELECT a FROM t LINEAGE ON b") == ("SELECT a FROM t", True)
    assert without_lineage_on("SELECT a FROM t") == ("SELECT a FROM t", False)
    assert without_lineage_on("SELECT 'x") == ("SELECT 'x", False)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("BEGIN SELECT 1; SELECT 2; END; SELECT 3", ["BEGIN SELECT 1; SELECT 2; END", "SELECT 3"]),
        ("a: BEGIN IF x THEN SELECT 1; END IF; BEGIN SELECT 2; END; END a; SELECT 3", None),
        ("BEGIN SELECT CASE WHEN a THEN 1 END; CASE x WHEN 1 THEN SELECT 1; END CASE; END; SELECT 3", None),
        ("BEGIN; SELECT 1; END", ["BEGIN", "SELECT 1", "END"]),
        ("BEGIN TRANSACTION; SELECT 1", ["BEGIN TRANSACTION", "SELECT 1"]),
        ("SELECT 1; SELECT 'it; SELECT 2", ["SELECT 1", "SELECT 'it; SELECT 2"]),
        ("SELECT 1;\n/* open; SELECT 2", ["SELECT 1", "/* open; SELECT 2"]),
        ("SELECT 'x", ["SELECT 'x"]),
        (" -- nothing", []),
    ],
)
def test_blocks_and_what_is_never_closed(text: str, statements: list[str] | None) -> None:
    found = [each.sql for each in statements_of(text)]
    if statements is None:
        statements = [text.removesuffix("; SELECT 3"), "SELECT 3"]
    assert found == statements
    assert [each for each in found if is_script(each)] == [each for each in found if each.startswith(("BEGIN S", "a:"))]


def test_statements_are_those_of_a_session() -> None:
    text = "SELECT ';' AS `a;b` /* ; */; -- ;\n(SELECT 1);;SELECT r'\\;' --x"
    assert [each.sql for each in statements_of(text)] == split_script(text)


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.sql").write_text("SELECT 'it")
    (tmp_path / "b.SQL").write_bytes(b"SELECT '\xe4'")
    (tmp_path / "sub" / "c.sql").write_text("BEGIN SELECT 1; END")
    (tmp_path / "sub" / "d.sql").write_text("\ufeffSELECT 1; SELECT 2")
    (tmp_path / "e.txt").write_text("SELECT 1")
    files = {each.name: each for each in read_files(tmp_path)}
    assert list(files) == ["a.sql", "b.SQL", "sub/c.sql", "sub/d.sql"]
    assert [name for name, each in files.items() if each.error] == ["b.SQL"]
    assert "not UTF-8" in str(files["b.SQL"].error)
    assert [each.sql for each in files["sub/d.sql"].statements] == ["SELECT 1", "SELECT 2"]


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match="there is no folder"):
        read_files(tmp_path / "nowhere")
    with pytest.raises(BadArgumentError, match=r"no \.sql file in"):
        read_files(tmp_path)
    (tmp_path / "a.sql").write_bytes(b"\xff")
    with pytest.raises(BadArgumentError, match=r"a\.sql: it cannot be read: it is not UTF-8 text"):
        read_files(tmp_path)


def test_tables_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BadArgumentError, match="no table in"):
        tables_in(tmp_path)
    for name in ("A.parquet", "b.csv", "c.txt", "_d.csv"):
        (tmp_path / name).touch()
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "part-0.orc").touch()
    assert {name: path.name for name, path in tables_in(tmp_path).items()} == {"a": "A.parquet", "b": "b.csv", "e": "e"}
    (tmp_path / "a.json").touch()
    with pytest.raises(BadArgumentError, match="both called a"):
        tables_in(tmp_path)
    (tmp_path / "a.json").unlink()
    (tmp_path / "e" / "_delta_log").mkdir()
    with pytest.raises(BadArgumentError, match="a table of a lake"):
        tables_in(tmp_path)


def test_reasons_are_grouped_without_their_names() -> None:
    assert grouped("column `a` of 't1' is 3") == grouped("column `b` of 't2' is 14")
    assert grouped("the SQL was not understood: x became y") == "the SQL was not understood"
