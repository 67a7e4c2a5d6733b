"""What names mean: after USE, beside temporary views, and which fields of `DL` they become."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession, functions

from forward_lineage import ForwardLineage
from udafs.errors import ChangedError, NotRegisteredError, NotTracedError, WrongSqlError


def mean_of(values: pa.Array) -> float:
    """What Spark takes for an aggregate of groups, by its types; it is never called."""
    raise NotImplementedError


@pytest.fixture
def databases(spark: SparkSession) -> Iterator[SparkSession]:
    """Tables t in the databases default (v = 0, 1) and d1 (v = 5); the session's current one is put back."""
    spark.sql("CREATE DATABASE d1")
    spark.sql("CREATE TABLE t USING parquet AS SELECT id AS v FROM range(2)")
    spark.sql("CREATE TABLE d1.t USING parquet AS SELECT 5L AS v")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE d1 CASCADE")
    spark.sql("DROP TABLE t")


def values(lineage: ForwardLineage, table: str) -> list[int]:
    return sorted(row.v for row in lineage.sql(f"SELECT v FROM {table}").collect())


class TestUse:
    def test_a_name_means_what_it_means_to_spark(self, databases: SparkSession, lineage: ForwardLineage) -> None:
        lineage.register("t", key="v")
        lineage.register("d1.t", key="v")
        assert (values(lineage, "t"), values(lineage, "D1.T")) == ([0, 1], [5])
        databases.sql("USE d1")
        assert (values(lineage, "T"), values(lineage, "default.t"), values(lineage, "d1.t")) == ([5], [0, 1], [5])
        assert lineage.sql("SELECT v FROM t").schema["DL"].dataType.fieldNames() == ["d1.t"]  # type: ignore[attr-defined]

    def test_a_table_that_is_registered_with_its_database(
        self, databases: SparkSession, lineage: ForwardLineage
    ) -> None:
        lineage.register("d1.t", key="v")
        with pytest.raises(NotRegisteredError, match=r"^t is not a registered table"):
            lineage.sql("SELECT v FROM t")
        databases.sql("USE d1")
        assert values(lineage, "t") == [5]
        lineage.save("SELECT v FROM t", "kept")
        databases.sql("USE default")
        assert [row.v for row in lineage.backward("kept").collect()] == [5]

    def test_a_name_that_means_another_table_now(self, databases: SparkSession, lineage: ForwardLineage) -> None:
        lineage.register("t", key="v")
        databases.sql("USE d1")
        with pytest.raises(ChangedError, match=r"the name means `spark_catalog`.`d1`.`t` now"):
            lineage.sql("SELECT v FROM t")
        assert values(lineage, "default.t") == [0, 1]
        assert lineage.rows("t").count() == 2, "the table itself is what it was"
        with pytest.raises(ChangedError, match=r"the name means `spark_catalog`.`d1`.`t` now"):
            lineage.refresh("t")

    def test_a_temporary_view_in_front(self, databases: SparkSession, lineage: ForwardLineage) -> None:
        lineage.register("t", key="v")
        databases.sql("CREATE TEMPORARY VIEW t AS SELECT 9L AS v")
        with pytest.raises(ChangedError, match=r"the name means a temporary view now"):
            lineage.sql("SELECT v FROM t")
        assert values(lineage, "default.t") == [0, 1]


class TestFieldsOfLineage:
    """The field bears the name as it was registered, character by character."""

    NAMES = ("MixedCase", "`dotted.name`", '`it\'s "A" t`', "`back``tick`")

    @pytest.mark.parametrize("name", NAMES)
    def test_the_name_as_it_was_registered(self, lineage: ForwardLineage, name: str) -> None:
        lineage.spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT id AS v FROM range(2)")
        lineage.register(name, key="v")
        frame = lineage.sql(f"SELECT v FROM {name.upper()} ORDER BY v")
        assert frame.schema["DL"].dataType.fieldNames() == [name]  # type: ignore[attr-defined]
        escaped = name.replace("`", "``")
        assert [row.ids for row in frame.selectExpr(f"dl_ids(DL.`{escaped}`) AS ids").collect()] == [[0], [1]]


def test_permanent_views(databases: SparkSession, lineage: ForwardLineage) -> None:
    lineage.register("t", key="v")
    with pytest.raises(NotTracedError) as refused:
        lineage.sql("CREATE VIEW permanent AS SELECT v FROM t")
    assert str(refused.value) == (
        "a permanent view with lineage would need functions that only this session has. "
        "Make it with spark.sql(…): queries trace through a plain view. Or CREATE TEMPORARY VIEW."
    )
    databases.sql("CREATE VIEW permanent AS SELECT v FROM t")
    try:
        assert lineage.sql("SELECT v FROM permanent").columns == ["v", "DL"]
    finally:
        databases.sql("DROP VIEW permanent")


@pytest.mark.parametrize(
    "sql",
    [
        "create temp view v as\n  select g, sum(v) s -- of v\n  from t\n  group by g",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT g, sum(v) s FROM t GROUP BY g",
        "CREATE TEMPORARY VIEW v (g COMMENT 'group', s) COMMENT 'sums' AS SELECT g, sum( v ) FROM t GROUP BY 1",
    ],
)
def test_views_however_they_are_spelled(lineage: ForwardLineage, sql: str) -> None:
    lineage.spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v, id % 2 AS g FROM range(4)")
    lineage.register("t", key="v")
    lineage.sql(sql)
    made = lineage.spark.sql("SELECT g, s, dl_ids(DL.t) AS ids FROM v ORDER BY g")
    assert [(row.g, row.s, row.ids) for row in made.collect()] == [(0, 2, [0, 2]), (1, 4, [1, 3])]


def test_a_view_that_carries_lineage(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v FROM range(2)")
    lineage.register("t", key="v")
    lineage.sql("CREATE TEMPORARY VIEW carries AS SELECT v FROM t")
    with pytest.raises(NotTracedError, match=r"^view carries has lineage already, in its column DL .* lineage\.save\("):
        lineage.sql("SELECT v FROM carries")


@pytest.mark.since("4.1", "arrow_udf")
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, mean_of(v) AS m FROM t GROUP BY g",
        "SELECT m FROM (SELECT mean_of(v) AS m FROM t)",
        "CREATE TEMPORARY VIEW never AS SELECT mean_of(v) AS m FROM t",
    ],
)
def test_python_functions_that_aggregate_groups(lineage: ForwardLineage, sql: str) -> None:
    lineage.spark.sql("CREATE TEMPORARY VIEW t AS SELECT id AS v, id % 2 AS g FROM range(4)")
    lineage.register("t", key="v")
    lineage.spark.udf.register("mean_of", functions.arrow_udf(mean_of, "double"))
    with pytest.raises(NotTracedError) as refused:
        lineage.sql(sql)
    lineage.spark.sql("DROP TEMPORARY FUNCTION mean_of")  # other tests ask which functions there are
    assert str(refused.value) == (
        "groups aggregated by a pandas or Arrow function (mean_of): beside it Spark computes no other aggregate, such "
        "as lineage. Use SQL aggregates; or frame.groupBy(…).applyInPandas(…) as a DataFrame, for lineage.trace."
    )


@pytest.fixture
def variable(spark: SparkSession) -> Iterator[SparkSession]:
    """A table t(v) of 0 … 4 and a session variable lim, 2."""
    spark.range(5).withColumnRenamed("id", "v").write.saveAsTable("t")
    spark.sql("DECLARE VARIABLE lim INT DEFAULT 2")
    yield spark
    spark.sql("DROP TEMPORARY VARIABLE lim")
    spark.sql("DROP TABLE t")


@pytest.mark.since("4.0", "variables")
class TestVariables:
    @pytest.mark.parametrize("written", ["lim", "LIM", "`lim`", "session.lim", "system.session.lim"])
    def test_a_variable_is_a_constant(self, variable: SparkSession, lineage: ForwardLineage, written: str) -> None:
        lineage.register("t", key="v")
        found = lineage.sql(f"SELECT v, {written} AS l FROM t WHERE v < {written} ORDER BY v").collect()
        assert [(row.v, row.l) for row in found] == [(0, 2), (1, 2)]

    def test_a_column_hides_it(self, variable: SparkSession, lineage: ForwardLineage) -> None:
        lineage.register("t", key="v")
        found = lineage.sql("SELECT lim FROM (SELECT v + 7 AS lim FROM t WHERE v = 1)").collect()
        assert [row.lim for row in found] == [8]

    def test_where_it_decides(self, variable: SparkSession, lineage: ForwardLineage) -> None:
        """Subqueries that are joined or evaluated once more, groups, windows, LIMIT."""
        lineage.register("t", key="v")
        query = (
            "SELECT v, count(*) AS n, sum(v) OVER (ORDER BY v + lim) AS s FROM t AS o "
            "WHERE EXISTS (SELECT 1 FROM t AS i WHERE i.v = o.v AND i.v <> lim AND i.v < o.v + lim) GROUP BY v, lim "
            "HAVING count(*) < lim ORDER BY v + lim LIMIT lim"
        )
        found = lineage.sql(query, semantics="control").collect()
        assert [(row.v, row.n, row.s) for row in found] == [(0, 1, 0), (1, 1, 1)]
        assert lineage.sql(query).collect()[1].DL is not None

    def test_what_is_no_variable_either(self, variable: SparkSession, lineage: ForwardLineage) -> None:
        lineage.register("t", key="v")
        with pytest.raises(WrongSqlError, match="`lym`"):
            lineage.sql("SELECT v FROM t WHERE v < lym")
        with pytest.raises(WrongSqlError, match="no table of the query has a column lim"):
            lineage.rewrite("SELECT v FROM t LINEAGE ON t(v + lim)")
