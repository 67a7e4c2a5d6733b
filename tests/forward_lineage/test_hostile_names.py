"""Names that are attempts at injection: of tables, columns, files, results, and in arguments that are SQL."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage
from forward_lineage.spark.versions import arrow_frame
from forward_lineage.storage.sealed import seal, unseal
from tests.forward_lineage.cli.in_this_process import invoke
from tests.tiers import every_day
from udafs.errors import BadArgumentError, DamagedError, NotTracedError, WrongSqlError

INJECTIONS = [
    "x; DROP TABLE y --", "a`) UNION SELECT (`b", "a'); SELECT ('b", "a\nb /* \\", "$(touch pwned)",
    "../../x", "__dl_rows_t", "DL", "{manifest}",
]  # fmt: skip
COLUMNS = every_day([*INJECTIONS[:5], "__row_id", "value_1", "{manifest}", "c0"],
                    [INJECTIONS[1], INJECTIONS[3], "__row_id", "value_1"])  # fmt: skip
FILES = every_day(["a`b", "x' OR '1", "*", "[a]", "a\\b", "--", "$(x)", "a\nb", "{a,b}"],
                  ["a`b", "*", "a\\b", "a\nb", "{a,b}"])  # fmt: skip
SECRET = "FORWARD_LINEAGE_TEST_SECRET"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("name", INJECTIONS)
def test_a_table(lineage: ForwardLineage, name: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS SELECT id AS k FROM range(3)")
    lineage.register(quoted(name), key="k")
    frame = lineage.sql(f"SELECT max(k) AS m FROM {quoted(name)}")
    assert [row.m for row in frame.collect()] == [2] and frame.schema["DL"].dataType.fieldNames() == [quoted(name)]
    assert {path.parent.parent.name for path in lineage.home.rglob("*.json")} == {"tables"}, "none leads elsewhere"
    lineage.unregister(quoted(name))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column(lineage: ForwardLineage, name: str) -> None:
    arrow_frame(lineage.spark, pa.table({name: [5, 6], "v": [1, 1]})).createOrReplaceTempView("t")
    for key in (name, [name]):
        lineage.register("t", key=key)
        assert lineage.sql("SELECT * FROM t").columns == [name, "v", "DL"]
        assert lineage.sql(f"SELECT v, sum({quoted(name)}) AS s FROM t GROUP BY v").count() == 1
    lineage.save("SELECT * FROM t", "kept")
    assert lineage.result("kept").columns == [name, "v"], "no column of ours stands in its place"
    found = lineage.backward("kept", f"{quoted(name)} = 6").collect()
    assert [row.asDict() for row in found] == [{"row_id": found[0].row_id, name: 6, "v": 1}]


@pytest.mark.parametrize("name", FILES)
def test_a_file(lineage: ForwardLineage, tmp_path: Path, name: str) -> None:
    """A path means that file, whatever Spark would find by it."""
    for place, rows in ((f"{name}.parquet", [1, 2, 3]), ("a.parquet", [7]), ("b.parquet", [8])):
        parquet.write_table(pa.table({"k": rows}), tmp_path / place)
    lineage.register("files", path=tmp_path / f"{name}.parquet")
    lineage.register("copied", path=tmp_path / f"{name}.parquet", order_by="k DESC")
    for table in ("files", "copied"):
        assert sorted(row.k for row in lineage.sql(f"SELECT k FROM {table}").collect()) == [1, 2, 3]


@pytest.mark.parametrize("name", [f"${{env:{SECRET}}}", "${spark.app.name}", "${x}"])
def test_what_spark_would_replace(
    lineage: ForwardLineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(SECRET, "x` AS y, `z")
    frame = lineage.spark.range(3).select(F.col("id").alias(name), F.col("id").alias("k"))
    frame.createOrReplaceTempView("t")
    for file in (name, "plain"):
        parquet.write_table(pa.table({"k": [1]}), tmp_path / f"{file}.parquet")
    for key in ("k", name, [name]):
        with pytest.raises(
            BadArgumentError, match="cannot stand in SQL: Spark would put the value of a variable for "
        ) as no:
            lineage.register("t", key=key)
        assert os.environ[SECRET] not in str(no.value), "nor is its value told"
    with pytest.raises(BadArgumentError, match="cannot stand in SQL"):
        lineage.register(quoted(name), path=tmp_path / "plain.parquet")
    assert not lineage.tables()
    if ":" in name:  # Hadoop takes such a file for one on another file system
        return
    lineage.register("files", path=tmp_path / f"{name}.parquet")  # a path is written so that Spark leaves it alone
    lineage.register("copied", path=tmp_path / f"{name}.parquet", order_by="k")
    assert lineage.sql("SELECT f.k FROM files f JOIN copied c ON f.k = c.k").count() == 1


@pytest.mark.parametrize("path", ["/tmp/a\0b", "/tmp/a\udcffb"])
def test_a_path_that_is_none(lineage: ForwardLineage, path: str) -> None:
    for call in (lambda: lineage.register("t", path=path), lambda: ForwardLineage(lineage.spark, path)):
        with pytest.raises(BadArgumentError, match=r"which no path is\. Give one in UTF-8, without NUL"):
            call()


def test_files_that_are_none(lineage: ForwardLineage, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    parquet.write_table(pa.table({"k": [1]}), tmp_path / "x")
    (tmp_path / "x").rename(os.fsdecode(os.fsencode(str(folder)) + b"/a\xff.parquet"))
    with pytest.raises(
        BadArgumentError, match=r"is not UTF-8, so neither SQL nor a manifest can say it\. Rename the file"
    ):
        lineage.register("t", path=folder)
    os.mkfifo(folder / "0.parquet")
    with pytest.raises(DamagedError, match=r"0\.parquet is a pipe or a device, and no file"):
        lineage.register("t", path=folder)
    with pytest.raises(BadArgumentError, match="there is no "):
        lineage.register("t", path="x" * 5000)


@pytest.mark.parametrize("name", ["`" + "x" * 300 + "`", "`a\0b`", "`\ud800`", "``", "a..b"])
def test_a_table_that_cannot_be(lineage: ForwardLineage, name: str) -> None:
    for call in (lambda: lineage.register(name, key="k"), lambda: lineage.unregister(name), lambda: lineage.rows(name)):
        with pytest.raises(BadArgumentError, match=r"is not a table name|is too long for the name of a table"):
            call()
    with pytest.raises(WrongSqlError, match="half of a character, which no text holds"):
        lineage.sql("SELECT '\ud800'")


@pytest.mark.parametrize("order", ["k LIMIT 1", "k OFFSET 1", "k, v LIMIT 2", "k WINDOW w AS (ORDER BY k)"])
def test_an_order_is_no_more_than_that(lineage: ForwardLineage, order: str) -> None:
    """A copy of the first row only would be another table."""
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT id AS k, id AS v FROM range(3)")
    with pytest.raises(BadArgumentError, match="order_by= is more than an order: "):
        lineage.register("copied", source="t", order_by=order)
    lineage.register("copied", source="t", order_by=["k DESC NULLS LAST", "(v + 1)"])
    assert [row.k for row in lineage.sql("SELECT k FROM copied").collect()] == [2, 1, 0]


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """A table t and a result of it, of which no test changes anything."""
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("kept") / "home")
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT id AS k FROM range(3)")
    lineage.register("t", key="k")
    lineage.save("SELECT k FROM t", "kept")
    return lineage


@pytest.mark.parametrize(
    "sql", ["k AS y, k", "k FROM t --", "k; SELECT 1", "k) AS x, (k", "k = 1)) OR ((k = 2", "k /*"]
)
def test_an_expression_is_no_more_than_that(kept: ForwardLineage, sql: str) -> None:
    with pytest.raises(WrongSqlError, match="Correct row_id="):
        kept.register("t", row_id=sql)
    for ask in (
        lambda: kept.affected("SELECT k FROM t", "t", sql),
        lambda: kept.backward("kept", sql),
        lambda: kept.forward("t", sql, result="kept"),
    ):
        with pytest.raises(WrongSqlError, match="Correct the condition"):
            ask()


@pytest.mark.parametrize(
    "query", ["SELECT * FROM sales", "SELECT count(*) FROM (SELECT * FROM sales)", "SELECT * FROM sold"]
)
def test_a_forged_registration_is_not_an_unregistered_table(lineage: ForwardLineage, query: str) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW sales AS SELECT id AS k FROM range(3)")
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW sold AS SELECT k FROM sales")
    lineage.register("sales", key="k")
    manifest = lineage.home / "tables" / "sales" / "1.json"
    fields = {**unseal(manifest.read_bytes(), ""), "relation": "(SELECT raise_error('executed') AS k)"}
    manifest.write_bytes(seal({key: value for key, value in fields.items() if key != "format"}))
    with pytest.raises(DamagedError, match=r"sales/1\.json is damaged"):
        ForwardLineage(lineage.spark, lineage.home).sql(query)


def test_a_column_of_ours_is_not_saved(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT id AS k FROM range(3)")
    lineage.register("t", key="k")
    renamed = lineage.sql("SELECT k FROM t").withColumnRenamed("k", "__dl_row_id")
    with pytest.raises(NotTracedError, match="column __dl_row_id of kept has a name that is reserved for lineage"):
        lineage.save(renamed, "kept")


def test_values_on_a_terminal(lineage: ForwardLineage, tmp_path: Path) -> None:
    value = "\x1b]0;x\x07[/red] \u202e"
    arrow_frame(lineage.spark, pa.table({"k": [1], "v[/b]": [value]})).createOrReplaceTempView("t")
    lineage.register("t", key="k")
    (tmp_path / "q.sql").write_text("SELECT * FROM t")
    for more in ([], ["--json"]):
        shown = invoke(lineage.spark, "run", tmp_path / "q.sql", "--home", lineage.home, *more)
        assert shown.exit_code == 0 and "[/red]" in shown.output and "v[/b]" in shown.output
        assert not {"\x1b", "\x07", "\u202e"} & set(shown.output)
