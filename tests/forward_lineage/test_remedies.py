"""What a refusal says to do instead is typed here, and must do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import Catalog, ForwardLineage, rewrite_sql, split_script
from tests.forward_lineage.conftest import rows_with_lineage
from udafs.errors import BadArgumentError, LineageError, NotTracedError, WrongSqlError

ALL = [((1,), {"o": [1]}), ((2,), {"o": [2]})]
SECOND = [((2,), {"o": [2]})]


@pytest.fixture
def orders(lineage: ForwardLineage) -> Iterator[ForwardLineage]:
    """A table o(oid, amt) of (1, 10) and (2, 20)."""
    spark = lineage.spark
    spark.sql("CREATE TABLE o USING parquet AS SELECT * FROM VALUES (1, 10), (2, 20) AS o(oid, amt)")
    lineage.register("o", key="oid")
    yield lineage
    spark.sql("DROP TABLE o")


def refused(question: Any, *, kind: type[LineageError] = NotTracedError) -> str:
    with pytest.raises(kind) as caught:
        question()
    return str(caught.value)


def test_a_block_of_statements(orders: ForwardLineage) -> None:
    block = "BEGIN DECLARE most INT DEFAULT 15; SELECT oid FROM o WHERE amt > most; END"
    for call in (orders.sql, split_script, lambda sql: orders.save(sql, "kept")):
        said = refused(lambda call=call: call(block))
        assert said.startswith("a BEGIN … END block (line 1, column 1). Run it with spark.sql(…); or give the queries")
    assert rows_with_lineage(orders.sql("SELECT oid FROM o WHERE amt > :most", args={"most": 15})) == SECOND
    several = "SELECT oid FROM o; SELECT amt FROM o"
    assert "split_script() takes a script apart" in refused(lambda: rewrite_sql(several, Catalog()), kind=WrongSqlError)
    assert [orders.sql(statement).count() for statement in split_script(several)] == [2, 2]


@pytest.mark.parametrize(
    ("sql", "args"),
    [("SELECT oid FROM IDENTIFIER(:name)", {"name": "o"}), ("EXECUTE IMMEDIATE 'SELECT oid FROM o'", None)],
)
def test_a_text_that_spark_makes(orders: ForwardLineage, sql: str, args: dict[str, str] | None) -> None:
    assert "lineage.trace(spark.sql(…" in refused(lambda: orders.sql(sql, args=args))
    assert rows_with_lineage(orders.trace(orders.spark.sql(sql, args=args))) == ALL


def test_a_parameter_without_a_value(orders: ForwardLineage) -> None:
    sql = "SELECT oid FROM o WHERE amt > :least"
    for call in (orders.sql, lambda text: orders.save(text, "kept")):
        assert "args={…}" in refused(lambda call=call: call(sql), kind=WrongSqlError)
    orders.save(sql, "kept", args={"least": 15})
    assert list(orders.backward_ids("kept")) == [2]
    said = refused(lambda: orders.save(sql, "kept", args={"least": 15}, capture="later"), kind=BadArgumentError)
    assert said.endswith("Write the values into the text.")
    orders.save(sql.replace(":least", "15"), "kept", capture="later")
    assert list(orders.backward_ids("kept")) == [2]


def test_a_function_of_sql_that_reads_a_table(orders: ForwardLineage) -> None:
    spark = orders.spark
    spark.sql("CREATE TEMPORARY FUNCTION above(x INT) RETURNS TABLE(i INT) RETURN SELECT oid FROM o WHERE amt > x")
    try:
        call = "SELECT i FROM above(15)"
        assert "Write its query in the place of the call" in refused(lambda: orders.sql(call))
        frame = spark.sql(call)
        said = refused(lambda: orders.trace(frame))
        assert "Write its query in the place of the call; or register what it gives" in said
        assert rows_with_lineage(orders.sql("SELECT oid AS i FROM (SELECT oid FROM o WHERE amt > 15)")) == SECOND
        orders.register("given", source=frame)
        assert orders.sql("SELECT i FROM given").drop("DL").collect() == [(2,)]
    finally:
        spark.sql("DROP TEMPORARY FUNCTION above")


@pytest.mark.since("4.0", "table functions of Python's take tables")
@pytest.mark.parametrize(
    "argument", ["TABLE(o)", "TABLE(SELECT oid FROM o) PARTITION BY oid", "TABLE(o) WITH SINGLE PARTITION"]
)
def test_a_table_function_of_pythons(orders: ForwardLineage, argument: str) -> None:
    spark = orders.spark

    class UpTo:
        def eval(self, given: Any):  # type: ignore[no-untyped-def]
            yield from ((n,) for n in range(given if isinstance(given, int) else given[0]))

    spark.udtf.register("up_to", F.udtf(UpTo, returnType="n: int"))
    said = refused(lambda: orders.sql(f"SELECT n FROM up_to({argument})"))
    assert "LATERAL f(t.x); or register what it gives: lineage.register(name, source=frame)" in said
    for_each_row = "SELECT oid, n FROM o, LATERAL up_to(o.oid)"
    assert "lineage.sql(…)" in refused(lambda: orders.trace(spark.sql(for_each_row)))
    assert [ids for _, ids in rows_with_lineage(orders.sql(for_each_row))] == [{"o": [1]}, {"o": [2]}, {"o": [2]}]
    orders.register("given", source=spark.sql(f"SELECT n FROM up_to({argument})"))
    assert orders.sql("SELECT n FROM given").count() == 3


def test_a_key_with_minus_one_for_unknown(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE TABLE sk USING parquet AS SELECT * FROM VALUES (-1, 'none'), (7, 'a') AS s(sk, name)")
    try:
        said = refused(lambda: lineage.register("sk", key="sk"), kind=BadArgumentError)
        assert said.endswith('Use key=["sk"]: a dictionary then gives every value of it an id.')
        lineage.register("sk", key=["sk"])
        lineage.save("SELECT name FROM sk WHERE sk < 0", "unknown")
        assert [row.sk for row in lineage.backward("unknown").collect()] == [-1]
    finally:
        lineage.spark.sql("DROP TABLE sk")


def test_what_for_each_batch_gives(lineage: ForwardLineage, tmp_path: Path) -> None:
    spark, seen = lineage.spark, []
    spark.range(3).write.parquet(str(tmp_path / "in"))

    def take(batch: DataFrame, number: int) -> None:
        seen.append(refused(lambda: lineage.trace(batch), kind=BadArgumentError))
        lineage.register(f"batch_{number}", source=batch)

    stream = spark.readStream.schema("id BIGINT").parquet(str(tmp_path / "in"))
    writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert seen[0].endswith("What foreachBatch gives has a session of its own: register it, "
                            "lineage.register(name, source=frame).")  # fmt: skip
    assert lineage.sql("SELECT sum(id) AS s FROM batch_0").drop("DL").collect() == [(3,)]


def test_pandas_on_spark(orders: ForwardLineage, spark: SparkSession) -> None:
    pytest.importorskip("pandas")
    import pyspark.pandas  # noqa: F401, PLC0415 - it takes seconds

    with pytest.warns(Warning):
        unnamed = spark.table("o").pandas_api().to_spark()
    assert "pandas_api(index_col=…), to_spark(index_col=…)" in refused(lambda: orders.trace(unnamed))
    named = spark.table("o").pandas_api(index_col="oid")
    assert "frame.to_spark(index_col=…)" in refused(lambda: orders.trace(named), kind=BadArgumentError)  # type: ignore[arg-type]
    assert orders.trace(named.to_spark(index_col="oid")).count() == 2


def test_a_column_that_hides_places_in_files(lineage: ForwardLineage, tmp_path: Path) -> None:
    frame = lineage.spark.range(2).selectExpr("id", "id AS _metadata")
    frame.write.parquet(str(tmp_path / "in"))
    for question in (
        lambda: lineage.register("t", path=tmp_path / "in"),
        lambda: lineage.register("t", source=frame),
    ):
        assert refused(question).endswith("which its id is. Give it another name.")
    lineage.register("t", source=frame.withColumnRenamed("_metadata", "facts"))
    assert "which its id is" in refused(lambda: lineage.save("SELECT facts AS _metadata FROM t", "kept"))
    lineage.save("SELECT facts FROM t", "kept")
    assert list(lineage.backward_ids("kept", where="facts = 1")) == [1]
