"""A live session: the paper's queries, what comes back, what its ids mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.demo import Q1, Q4, register_store_example
from forward_lineage.results import meaning_of
from tests.forward_lineage.conftest import rows_with_lineage
from tests.shared_state import drop_views


def test_table_6_of_the_paper(store: ForwardLineage) -> None:
    assert rows_with_lineage(store.sql(Q1)) == [
        (("Target", "binder"), {"store": [1], "item": [1], "sales": [1]}),
        (("Target", "binder"), {"store": [2], "item": [1], "sales": [4]}),
        (("Target", "pencil"), {"store": [1], "item": [2], "sales": [2]}),
        (("Target", "pencil"), {"store": [2], "item": [2], "sales": [5]}),
    ]


def test_an_aggregate_over_an_aggregate(store: ForwardLineage) -> None:
    assert rows_with_lineage(store.sql(Q4)) == [
        (("Macy's", 5400), {"item": [3, 4], "store": [3, 4], "sales": [7, 8, 9, 10]}),
        (("Target", 6800), {"item": [1, 2], "store": [1, 2], "sales": [1, 2, 4, 5]}),
    ]


def test_user_columns_keep_name_type_order(store: ForwardLineage) -> None:
    sql = "SELECT sum(price) AS Total, s_id, CAST(1 AS DECIMAL(5,2)) d FROM sales GROUP BY s_id ORDER BY s_id"
    frame, plain = store.sql(sql), store.spark.sql(sql)
    assert [(f.name, f.dataType) for f in frame.schema.fields[:-1]] == [
        (f.name, f.dataType) for f in plain.schema.fields
    ]
    assert frame.schema.fields[-1].name == "DL"
    assert frame.schema.fields[-1].dataType.simpleString() == "struct<sales:binary>"
    assert [tuple(row)[:-1] for row in frame.collect()] == [tuple(row) for row in plain.collect()]


def test_a_name_that_spark_makes_of_an_outer_rows_column_stays(store: ForwardLineage) -> None:
    """In such a name Spark writes database and catalog of a table; the rewritten query has a subquery in its place."""
    store.spark.sql("CREATE TABLE bases USING parquet AS SELECT 1 AS a, 2 AS b")
    try:
        store.register("bases")
        sql = "SELECT * FROM bases, LATERAL (SELECT bases.a + s_id FROM store WHERE s_id = bases.b)"
        frame = store.sql(sql)
        assert frame.columns == [*store.spark.sql(sql).columns, "DL"]
        assert frame.columns[2] == "(outer(spark_catalog.default.bases.a) + s_id)"
        assert rows_with_lineage(frame) == [((1, 2, 3), {"bases": [0], "store": [2]})]
    finally:
        store.spark.sql("DROP TABLE bases")


def test_a_column_called_dl_is_the_users_where_nothing_is_traced(store: ForwardLineage) -> None:
    frame = store.sql("SELECT 1 AS dl")
    assert (frame.columns, meaning_of(frame)) == (["dl"], None)
    with pytest.raises(LineageError, match="already has a column DL"):
        store.sql("SELECT s_id AS dl FROM store")


def test_dl_knows_what_its_ids_mean(store: ForwardLineage) -> None:
    sql = "SELECT s_name FROM store"
    assert meaning_of(store.sql(sql, semantics="control")) == {
        "sql": sql,
        "semantics": "control",
        "granularity": "rows",
        "home": str(store.home),
        "tables": [{"name": "store", "version": 1, "provider": "key"}],
    }
    assert meaning_of(store.spark.sql(sql)) is None


def test_granules_are_read_as_values(store: ForwardLineage) -> None:
    frame = store.sql(Q4 + " LINEAGE ON d.s_name, i.category")
    meaning = meaning_of(frame)
    assert meaning is not None
    assert meaning["granularity"] == "granules"
    found = {row.s_name: row.DL.asDict() for row in store.granules(frame).collect()}
    assert found == {
        "Macy's": {"store": ["Macy's"], "item": ["clothing"]},
        "Target": {"store": ["Target"], "item": ["stationery"]},
    }
    with pytest.raises(LineageError, match=r"the ids of this result stand for rows"):
        store.granules(store.sql(Q4))


def test_parameters(store: ForwardLineage) -> None:
    frame = store.sql("SELECT s_name FROM store WHERE s_id = :id", args={"id": 3})
    assert rows_with_lineage(frame) == [(("Macy's",), {"store": [3]})]
    frame = store.sql("SELECT s_name FROM store WHERE s_id = ?", args=[2])
    assert rows_with_lineage(frame) == [(("Target",), {"store": [2]})]


def test_views_and_tables_made_from_queries(store: ForwardLineage) -> None:
    spark = store.spark
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW californian AS SELECT * FROM store WHERE state = 'CA'")
    assert rows_with_lineage(store.sql("SELECT s_id FROM californian")) == [
        ((1,), {"store": [1]}),
        ((3,), {"store": [3]}),
    ]
    assert store.sql("CREATE TABLE made AS SELECT s_id, s_name FROM californian").columns == []
    try:
        assert spark.table("made").columns == ["s_id", "s_name", "DL"]
        assert spark.table("made").count() == 2
        assert store.sql("INSERT INTO made VALUES (5, 'Aldi', NULL)").columns == []
        assert spark.table("made").count() == 3
    finally:
        spark.sql("DROP TABLE made")


def test_a_query_without_tables_has_no_lineage_column(store: ForwardLineage) -> None:
    assert store.sql("SELECT 1 AS one").columns == ["one"]


def test_attaching_twice_does_no_harm(store: ForwardLineage) -> None:
    again = ForwardLineage(store.spark, store.home)
    assert rows_with_lineage(again.sql(Q1)) == rows_with_lineage(store.sql(Q1))


def test_rewritten_sql_runs_by_itself(store: ForwardLineage) -> None:
    assert store.spark.sql(store.rewrite(Q1)).count() == 4


def test_home_is_the_environment_variable_or_a_folder_here(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_HOME", str(tmp_path / "elsewhere"))
    assert ForwardLineage(spark).home == tmp_path / "elsewhere"
    monkeypatch.delenv("FORWARD_LINEAGE_HOME")
    monkeypatch.chdir(tmp_path)
    assert ForwardLineage(spark).home == tmp_path / "lineage_home"
    assert not (tmp_path / "lineage_home").exists(), "nothing is written before something is registered"


class TestAffected:
    def test_only_rows_made_from_suspects_come_back(self, store: ForwardLineage) -> None:
        assert rows_with_lineage(store.affected(Q4, "sales", where="t_id = 4")) == [(("Target", 6800), {"sales": [4]})]

    def test_suspects_are_named_by_any_condition(self, store: ForwardLineage) -> None:
        found = rows_with_lineage(store.affected(Q4, "sales", where="price BETWEEN 30 AND 50 AND num > 1000"))
        assert found == [(("Macy's", 5400), {"sales": [7, 9]})]

    @pytest.mark.parametrize("where", ["true", "NOT false OR false", "(t_id = 4) OR (t_id = 5)"])
    def test_a_condition_of_any_form(self, store: ForwardLineage, where: str) -> None:
        affected = rows_with_lineage(store.affected("SELECT t_id FROM sales", "sales", where=where))
        found = {tuple(ids["sales"]) for _, ids in affected}
        assert found == ({(4,), (5,)} if "t_id" in where else {(i,) for i in range(1, 12)})

    def test_a_condition_that_is_one_column(self, lineage: ForwardLineage) -> None:
        lineage.spark.sql("CREATE OR REPLACE TEMP VIEW f AS SELECT * FROM VALUES (1, true), (2, false) AS f(id, flag)")
        lineage.register("f", key="id")
        assert rows_with_lineage(lineage.affected("SELECT id FROM f", "f", where="flag")) == [((1,), {"f": [1]})]

    def test_nothing_affected(self, store: ForwardLineage) -> None:
        assert rows_with_lineage(store.affected(Q1, "sales", where="t_id = 11")) == []

    def test_a_wrong_condition(self, store: ForwardLineage) -> None:
        with pytest.raises(LineageError, match=r"t_id"):
            store.affected(Q4, "sales", where="t_ids = 4")

    def test_a_query_that_does_not_read_the_table(self, store: ForwardLineage) -> None:
        with pytest.raises(LineageError, match=r"^the query does not read item\. It reads store\.$"):
            store.affected("SELECT s_name FROM store", "item", where="i_id = 4")

    def test_a_command_is_not_carried_out(self, store: ForwardLineage) -> None:
        with pytest.raises(
            LineageError, match=r"^only a query has affected rows\. Give the query of this command alone\."
        ):
            store.affected("CREATE TABLE never USING parquet AS SELECT i_name FROM item", "item", where="i_id = 4")
        assert not store.spark.catalog.tableExists("never")


class TestRows:
    def test_base_rows_by_id(self, store: ForwardLineage) -> None:
        frame = store.rows("item", [4, 2, 2, 99])
        assert frame.columns == ["row_id", "i_id", "i_name", "category"]
        assert [tuple(row) for row in frame.collect()] == [(2, 2, "pencil", "stationery"), (4, 4, "pants", "clothing")]

    def test_a_column_row_id_of_the_users(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        lineage.spark.range(3000).selectExpr("id * 2 AS row_id").write.parquet(str(tmp_path / "t"))
        lineage.register("t", key="row_id", path=tmp_path / "t")
        frame = lineage.rows("t", range(0, 5000, 2))
        assert frame.columns == ["_row_id", "row_id"]
        assert [tuple(row) for row in frame.collect()] == [(i, i) for i in range(0, 5000, 2)]

    def test_of_a_table_that_is_not_registered(self, store: ForwardLineage) -> None:
        with pytest.raises(LineageError, match=r"^table itme is not registered. Call lineage.register"):
            store.rows("itme", [1])


def test_two_sessions_do_not_share_views(store: ForwardLineage) -> None:
    other = ForwardLineage(store.spark.newSession(), store.home)
    with pytest.raises(LineageError, match=r"Spark knows no table or view store"):
        other.sql("SELECT * FROM store")
    register_store_example(other.spark, other)
    assert rows_with_lineage(other.sql(Q1)) == rows_with_lineage(store.sql(Q1))
    drop_views(other.spark)
