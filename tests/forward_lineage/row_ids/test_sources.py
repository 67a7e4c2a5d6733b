"""Which tables may get ids by value: those whose changes are noticed and whose rows are the same at every reading."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from forward_lineage import Catalog, ForwardLineage
from forward_lineage.results import trusted_tables
from forward_lineage.row_ids.manifest import Manifest
from tests.conftest import REPOSITORY
from tests.forward_lineage.row_ids import hive_tables
from tests.forward_lineage.row_ids.conftest import DERBY, ids, write
from tests.spark_programs import interpreted
from udafs.errors import ChangedError, NotTracedError


@pytest.mark.slow
def test_tables_of_a_hive_metastore(tmp_path: Path) -> None:
    """What Hive's SerDe reads is refused or marked; a table that Spark reads itself, as files, is watched."""
    done = subprocess.run(
        [sys.executable, "-m", hive_tables.__name__, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=interpreted(os.environ),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    refused = "NotTracedError: changes of text cannot be noticed: it reads the Hive table spark_catalog.default.text. "
    assert found["key"].startswith(refused)
    assert found["dictionary"].startswith(refused)
    assert found["position"].startswith("NotTracedError: text is not stored as Parquet files")
    assert found["copy"] == [0, 1, 2]
    assert found["on trust"] == ["text"]
    assert found["noticed"].startswith("ChangedError: the ids of table columns no longer hold: ")
    assert found["stale"] == [["of_columns", "columns", 1, None]]


@pytest.fixture
def server(spark: SparkSession, tmp_path: Path) -> SparkSession:
    """A view `t` (k, v) of a table of a database server, which other programs may write to."""
    spark.sparkContext._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    options = {
        "url": f"jdbc:derby:memory:{tmp_path.name};create=true",
        "driver": DERBY,
        "dbtable": "t",
    }
    spark.sql("SELECT id AS k, id * 10 AS v FROM range(3)").write.format("jdbc").options(**options).save()
    spark.read.format("jdbc").options(**options).load().createOrReplaceTempView("t")
    return spark


@pytest.mark.parametrize("given", [{"key": "k"}, {"key": ["k"]}, {"row_id": "k + 1"}])
def test_what_cannot_be_watched_is_refused_or_trusted(
    server: SparkSession, lineage: ForwardLineage, given: dict[str, object]
) -> None:
    with pytest.raises(NotTracedError) as refused:
        lineage.register("t", **given)  # type: ignore[arg-type]
    assert str(refused.value) == (
        "changes of t cannot be noticed: it reads a data source (JDBCRelation). Save a copy and query that: "
        'lineage.register("another_name", source="t"); or say trusted=True, and answers say so too.'
    )
    assert lineage.register("t", trusted=True, **given).trusted  # type: ignore[arg-type]
    assert trusted_tables(lineage.sql("SELECT v FROM t")) == ["t"]


def test_an_old_registration_of_what_cannot_be_watched(server: SparkSession, lineage: ForwardLineage) -> None:
    """Earlier releases registered it and checked nothing."""
    trusted = lineage.register("t", key="k", trusted=True)
    old = Manifest.from_data({**trusted.to_data(), "trusted": False})
    lineage.registrations.write(lambda _: old, "t")
    with pytest.raises(NotTracedError, match=r"^changes of t cannot be noticed: it reads a data source"):
        ForwardLineage(server, lineage.home).sql("SELECT v FROM t")


def test_answers_say_what_is_on_trust(server: SparkSession, lineage: ForwardLineage) -> None:
    lineage.register("t", key="k", trusted=True)
    saved = lineage.save("SELECT sum(v) AS total FROM t", "total")
    lineage.save("SELECT total FROM total", "further")
    assert saved.trusted == ("t",)
    assert lineage.describe("total").tables[0].trusted
    assert lineage.tables()["t"].trusted
    answers = (
        lineage.backward("further", table="t"),
        lineage.forward("t", ids=[1], result="further"),
        lineage.impact("t", ids=[1]),
        lineage.stale(),
        lineage.table("lineage_of(further, t)"),
        lineage.rows("t"),
    )
    assert [trusted_tables(answer) for answer in answers] == [["t"]] * len(answers)
    assert lineage.backward("further", table="t").count() == 3
    assert trusted_tables(lineage.backward("further", table="total")) == [], "its rows are ours"


def test_rows_of_a_trusted_table_that_are_gone_or_doubled(lineage: ForwardLineage, spark: SparkSession) -> None:
    spark.sql("CREATE TABLE grown USING parquet AS SELECT * FROM VALUES (1, 'a'), (2, 'a') AS t(k, g)")
    try:
        lineage.register("grown", key="k", trusted=True)
        lineage.save("SELECT g, count(*) AS n FROM grown GROUP BY g", "counts")
        spark.sql("INSERT INTO grown VALUES (3, 'b')")
        assert lineage.backward("counts").count() == 2, "a table that is trusted may grow"
        spark.sql("INSERT INTO grown VALUES (2, 'b')")
        with pytest.raises(ChangedError, match=r"^the 2 ids in grown that were asked for are those of 3 rows: counts"):
            lineage.backward("counts")
        spark.sql("INSERT OVERWRITE grown VALUES (1, 'c')")
        with pytest.raises(ChangedError, match=r"^1 of the 2 rows of grown that were asked for are gone: .* on trust"):
            lineage.backward("counts")
    finally:
        spark.sql("DROP TABLE grown")


def test_a_duplicate_key_after_a_change(lineage: ForwardLineage, spark: SparkSession) -> None:
    """Of a table that was empty when it was registered, too."""
    spark.sql("CREATE TABLE filled (k INT) USING parquet")
    try:
        lineage.register("filled", key="k")
        spark.sql("INSERT INTO filled VALUES (1), (1)")
        with pytest.raises(ChangedError, match=r"the ids of table filled no longer hold: .* is new"):
            lineage.sql("SELECT k FROM filled")
    finally:
        spark.sql("DROP TABLE filled")


def test_files_behind_a_cache(lineage: ForwardLineage, spark: SparkSession, folder: Path) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT v FROM parquet.`{folder}`")
    spark.catalog.cacheTable("t")
    try:
        assert len(lineage.register("t", key="v").files) == 3
        write(folder / "d.parquet", [10])
        with pytest.raises(ChangedError, match=r"d.parquet is new"):
            lineage.sql("SELECT v FROM t")
    finally:
        spark.catalog.uncacheTable("t")


def test_files_behind_a_scalar_subquery(lineage: ForwardLineage, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "u" / "a.parquet", [15])
    lineage.spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT v FROM parquet.`{folder}` "
        f"WHERE v < (SELECT max(v) FROM parquet.`{tmp_path / 'u'}`)"
    )
    lineage.register("t", key="v")
    assert ids(lineage, "t") == {10: 10, 11: 11, 12: 12}
    write(tmp_path / "u" / "b.parquet", [25])
    with pytest.raises(ChangedError, match=r"u/b.parquet is new"):
        lineage.sql("SELECT v FROM t")


class TestRowsInNoFile:
    def test_of_values(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        view = "CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM VALUES ({}, 'a'), (2, 'b') AS t(v, w)"
        spark.sql(view.format(1))
        lineage.register("t", key="v")
        spark.sql(view.format(1))
        assert ids(lineage, "t") == {1: 1, 2: 2}, "the same rows once more"
        spark.sql(view.format(2))
        with pytest.raises(ChangedError) as refused:
            lineage.sql("SELECT v FROM t")
        assert str(refused.value) == (
            "table t is not what was registered as version 1: rows that are in no file have changed. "
            'Register "t" again.'
        )

    @pytest.mark.parametrize("key", ["v", ["v"]])
    def test_of_a_dataframe(self, lineage: ForwardLineage, spark: SparkSession, key: str | list[str]) -> None:
        def make(rows: list[tuple[int, dict[str, int]]]) -> None:
            spark.createDataFrame(rows, "v INT, w MAP<STRING, INT>").createOrReplaceTempView("t")

        make([(1, {"a": 1}), (2, {})])
        lineage.register("t", key=key)
        before = ids(lineage, "t")
        make([(2, {}), (1, {"a": 1})])
        assert ids(lineage, "t") == before, "the same rows once more"
        make([(1, {"a": 2}), (2, {})])
        with pytest.raises(ChangedError, match=r"rows that are in no file have changed"):
            lineage.sql("SELECT v FROM t")

    def test_of_an_rdd_that_reads_files_itself(self, lineage: ForwardLineage, folder: Path) -> None:
        spark = lineage.spark
        read = spark.read.parquet(str(folder)).rdd.map(lambda row: (row.v,))
        spark.createDataFrame(read, "v BIGINT").createOrReplaceTempView("t")
        with pytest.raises(NotTracedError, match=r"^changes of t cannot be noticed: it reads an RDD"):
            lineage.register("t", key="v")

    @pytest.mark.since("4.0", "functions written in SQL")
    def test_functions_that_may_be_replaced(self, lineage: ForwardLineage) -> None:
        """What a view's text calls by its name may be another function the next time; a plan has it inside."""
        spark = lineage.spark
        spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION at_most(n BIGINT) RETURNS BOOLEAN RETURN n < 3")
        spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v FROM range(9) WHERE at_most(id)")
        refused = (
            r"^changes of t cannot be noticed: it reads what at_most\(\) gives, a function that may be replaced\. Save"
        )
        with pytest.raises(NotTracedError, match=refused):
            lineage.register("t", key="v")
        lineage.register("t", key="v", trusted=True)
        spark.sql("SELECT id AS v FROM range(9) WHERE at_most(id)").createOrReplaceTempView("fixed")
        lineage.register("fixed", key="v")
        spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION at_most(n BIGINT) RETURNS BOOLEAN RETURN n < 5")
        assert set(ids(lineage, "fixed")) == {0, 1, 2}


BASE = "(SELECT id AS k, id % 3 AS g, id * 1.5D AS x FROM range(10))"
CHANCE = {
    "monotonically_increasing_id()": f"SELECT monotonically_increasing_id() AS k FROM {BASE}",
    "uuid()": f"SELECT k, uuid() AS u FROM {BASE}",
    "rand()": f"SELECT row_number() OVER (ORDER BY rand()) AS k FROM {BASE}",
    "randn()": f"SELECT k FROM {BASE} WHERE k IN (SELECT k FROM {BASE} WHERE randn(3) < 2)",
    "shuffle()": f"WITH c AS (SELECT k, shuffle(array(1, 2)) AS s FROM {BASE}) SELECT * FROM c",
    "spark_partition_id()": f"SELECT k + spark_partition_id() AS k FROM {BASE}",
    "input_file_name()": f"SELECT k, input_file_name() AS f FROM {BASE}",
    "current_date()": f"SELECT k FROM {BASE} WHERE current_date() > DATE '2000-01-01'",
    "current_timestamp()": f"SELECT k, current_timestamp() AS t FROM {BASE}",
    "current_user()": f"SELECT k FROM {BASE} WHERE current_user() <> 'nobody'",
    "first()": f"SELECT g AS k, first(k) AS one FROM {BASE} GROUP BY g",
    "collect_list()": f"SELECT g AS k, collect_list(k) AS every FROM {BASE} GROUP BY g",
    "max_by()": f"SELECT max_by(k, g) AS k FROM {BASE}",
    "LIMIT or OFFSET without ORDER BY": f"SELECT k FROM {BASE} LIMIT 3",
    "a sample": f"SELECT * FROM (SELECT k FROM {BASE}) TABLESAMPLE (50 PERCENT) REPEATABLE (1)",
}


def test_a_python_function_that_is_not_deterministic(lineage: ForwardLineage) -> None:
    lineage.spark.udf.register("by_chance", udf(lambda v: v, "bigint", useArrow=False).asNondeterministic())
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT by_chance(k) AS k FROM {BASE}")
    with pytest.raises(NotTracedError, match=r"^t is not the same at every reading: it has by_chance\(\)\. "):
        lineage.register("t", key="k")
    lineage.spark.sql("DROP TEMPORARY FUNCTION by_chance")  # other tests ask which functions there are


@pytest.mark.parametrize("what", CHANCE)
def test_what_differs_at_every_reading(lineage: ForwardLineage, what: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {CHANCE[what]}")
    for given in ({"key": "k"}, {"key": ["k"]}, {"key": "k", "trusted": True}):
        with pytest.raises(NotTracedError) as refused:
            lineage.register("t", **given)  # type: ignore[arg-type]
        assert str(refused.value) == (
            f"t is not the same at every reading: it has {what}. "
            'Save a copy and query that: lineage.register("another_name", source="t").'
        )


def test_a_copy_of_what_differs(lineage: ForwardLineage) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {CHANCE['uuid()']}")
    lineage.register("kept", source="t")
    assert len(ids(lineage, "kept", "u")) == 10


@pytest.mark.parametrize("row_id", ["monotonically_increasing_id()", "k + CAST(rand() AS INT)"])
def test_a_row_id_by_chance(lineage: ForwardLineage, row_id: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM {BASE}")
    with pytest.raises(NotTracedError, match=r"^t is not the same at every reading: it has "):
        lineage.register("t", row_id=row_id)
    with pytest.raises(NotTracedError, match=r"^t is not the same at every reading: it has "):
        lineage.use(Catalog({"t": {"columns": ["k"], "relation": "t", "row_id": row_id}}))


ORDERED = [
    f"SELECT row_number() OVER (ORDER BY {{}}) AS k FROM {BASE}",
    f"SELECT k, sum(k) OVER (ORDER BY {{}} ROWS 1 PRECEDING) AS s FROM {BASE}",
    f"SELECT k, lag(k) OVER (ORDER BY {{}}) AS s FROM {BASE}",
    f"SELECT k, first(k) OVER (ORDER BY {{}}) AS s FROM {BASE}",
    f"SELECT k FROM {BASE} ORDER BY {{}} LIMIT 3",
    f"SELECT k FROM {BASE} WHERE k IN (SELECT k FROM {BASE} ORDER BY {{}} LIMIT 3 OFFSET 1)",
    f"WITH c AS (SELECT * FROM {BASE}) SELECT row_number() OVER (PARTITION BY 1 ORDER BY {{}}) AS k FROM c",
]


@pytest.mark.parametrize("query", ORDERED)
def test_an_order_must_be_total(lineage: ForwardLineage, query: str) -> None:
    spark = lineage.spark
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {query.format('g')}")
    with pytest.raises(
        NotTracedError, match=r"^t may have other rows at every reading: rows are equal in the ORDER BY"
    ):
        lineage.register("t", key="k")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {query.format('g, k')}")
    assert lineage.register("t", key="k").version == 1


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k, rank() OVER (ORDER BY g) AS r, sum(x) OVER (ORDER BY g) AS s FROM {BASE}",
        f"SELECT g AS k, sum(x) AS s, count(DISTINCT k) AS n FROM {BASE} GROUP BY g",
        f"SELECT max(k) AS k FROM {BASE} LIMIT 1",
        f"SELECT k FROM {BASE} WHERE k > (SELECT avg(g) FROM {BASE})",
    ],
)
def test_what_is_the_same_at_every_reading(lineage: ForwardLineage, query: str) -> None:
    lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS {query}")
    assert lineage.register("t", key="k").version == 1


def test_streams(lineage: ForwardLineage) -> None:
    spark = lineage.spark
    spark.readStream.format("rate").load().createOrReplaceTempView("t")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW over_it AS SELECT value FROM t")
    what = "t is a stream, whose rows are never all there. Write the stream to a table of files, and register that."
    calls = (
        lambda: lineage.register("t", key="value"),
        lambda: lineage.register("t", key=["value"]),
        lambda: lineage.register("copied", source="t"),
        lambda: lineage.sql("SELECT value FROM t"),
    )
    for call in calls:
        with pytest.raises(NotTracedError) as refused:
            call()
        assert str(refused.value).replace(" (line 1, column 19)", "") == what
    with pytest.raises(NotTracedError, match=r"over_it is a stream"):
        lineage.sql("SELECT value FROM over_it")


def test_tables_that_carry_lineage(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark = lineage.spark
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM {BASE}")
    lineage.register("t", key="k")
    lineage.sql("CREATE TABLE carries USING parquet AS SELECT k FROM t")
    try:
        spark.table("carries").write.parquet(str(tmp_path / "carries"))
        calls = (
            lambda: lineage.register("carries"),
            lambda: lineage.register("carries", key="k"),
            lambda: lineage.register("carries", key=["k"]),
            lambda: lineage.register("carries", row_id="k", trusted=True),
            lambda: lineage.register("carries", path=tmp_path / "carries"),
            lambda: lineage.register("copied", source="carries"),
        )
        for call in calls:
            with pytest.raises(NotTracedError) as refused:
                call()
            assert str(refused.value) == (
                "carries carries lineage, in its column DL: its rows are made of others, and need no ids. Query it as "
                "it is: lineage.sql(…) traces through it to the tables that it was made of."
            )
        assert lineage.sql("SELECT k FROM carries").columns == ["k", "DL"]
    finally:
        spark.sql("DROP TABLE carries")
