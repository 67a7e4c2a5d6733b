"""Ids from keys: integer columns, columns that are row ids already, and dictionaries for any other unique key."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from tests.forward_lineage.conftest import rows_with_lineage
from tests.forward_lineage.row_ids.conftest import ids, write
from tests.shared_state import drop_views
from tests.tiers import every_day
from udafs.errors import ChangedError


@pytest.fixture
def people(lineage: ForwardLineage) -> ForwardLineage:
    lineage.spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW people AS SELECT * FROM VALUES "
        "('ann', DATE '2001-01-01', 1.50BD, 7L), ('bob', DATE '2001-01-01', 2.50BD, 8L), "
        "('ann', DATE '2002-01-01', 3.50BD, 9L) AS t(name, born, pay, _row_id)"
    )
    return lineage


class TestIntegerKey:
    @pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "INT", "BIGINT"])
    def test_every_integer_type(self, lineage: ForwardLineage, kind: str) -> None:
        lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT CAST(id AS {kind}) AS v FROM range(0, 9, 4)")
        lineage.register("t", key="V")
        assert ids(lineage, "t") == {0: 0, 4: 4, 8: 8}

    def test_the_largest_id(self, lineage: ForwardLineage) -> None:
        lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT {2**63 - 1} AS v")
        lineage.register("t", key="v")
        assert ids(lineage, "t") == {2**63 - 1: 2**63 - 1}

    def test_of_files(self, lineage: ForwardLineage, folder: Path) -> None:
        lineage.register("t", path=folder, key="v")
        assert ids(lineage, "t") == {v: v for v in (10, 11, 12, 20, 21, 30)}
        write(folder / "d.parquet", [40])
        with pytest.raises(
            LineageError, match=r"d.parquet is new since version 1 was registered. Call lineage.refresh"
        ):
            lineage.sql("SELECT v FROM t")
        lineage.refresh("t")
        assert ids(lineage, "t")[40] == 40
        write(folder / "e.parquet", [40])
        with pytest.raises(LineageError, match=r"^key v of t is not unique: 1 row repeat a value, e.g. 40"):
            lineage.refresh("t")

    def test_of_files_that_are_gone(self, lineage: ForwardLineage, folder: Path) -> None:
        lineage.register("t", path=folder / "a.parquet", key="v")
        (folder / "a.parquet").unlink()
        with pytest.raises(ChangedError, match=r"a.parquet, which table t was registered from, is missing. Put"):
            lineage.sql("SELECT v FROM t")

    def test_registering_reads_the_table_once(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        seen = spark.sparkContext.accumulator(0)

        def count(rows):  # type: ignore[no-untyped-def]
            for row in rows:
                seen.add(1)
                yield row

        counted = spark.range(100).rdd.mapPartitions(count)
        spark.createDataFrame(counted, "v BIGINT").createOrReplaceTempView("t")
        lineage.register("t", key="v")
        assert seen.value == 100
        lineage.register("t", key="v", trusted=True)
        assert seen.value == 100, "taken on trust, no row is read"

    def test_a_view_that_changes_its_definition(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id AS v FROM range(5)")
        lineage.register("t", key="v")
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id % 2 AS v FROM range(5)")
        with pytest.raises(LineageError) as refused:
            lineage.sql("SELECT v FROM t")
        assert str(refused.value) == (
            'table t is not what was registered as version 1: it is defined in another way now. Register "t" again.'
        )

    @pytest.mark.parametrize(
        ("columns", "how"),
        [
            ("id AS w", "column v bigint is gone"),
            ("id AS v, 1 AS w", "column w int is new"),
            ("'1' AS v", "column v bigint is gone"),
        ],
    )
    def test_a_view_that_changes_its_columns(
        self, lineage: ForwardLineage, spark: SparkSession, columns: str, how: str
    ) -> None:
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT id AS v FROM range(5)")
        lineage.register("t", key="v")
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT {columns} FROM range(5)")
        with pytest.raises(LineageError) as refused:
            lineage.sql("SELECT 1 AS one FROM t")
        assert str(refused.value) == f'table t is not what was registered as version 1: {how}. Register "t" again.'

    def test_the_same_name_in_another_database(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        spark.sql("CREATE TABLE t USING parquet AS SELECT id AS v FROM range(3)")
        spark.sql("CREATE DATABASE other")
        spark.sql("CREATE TABLE other.t USING parquet AS SELECT 1L AS v UNION ALL SELECT 1L AS v")
        try:
            lineage.register("t", key="v")
            spark.sql("USE other")
            with pytest.raises(LineageError) as refused:
                lineage.sql("SELECT v FROM t")
            assert str(refused.value) == (
                "table t is not what was registered as version 1: "
                'the name means `spark_catalog`.`other`.`t` now. Register "t" again.'
            )
        finally:
            spark.sql("USE default")
            spark.sql("DROP DATABASE other CASCADE")
            spark.sql("DROP TABLE t")


class TestRowIdColumn:
    def test_a_column_that_is_a_row_id(self, people: ForwardLineage) -> None:
        people.register("people", row_id="_row_id")
        assert sorted(ids(people, "people", "pay").values()) == [7, 8, 9]

    def test_an_expression(self, people: ForwardLineage) -> None:
        manifest = people.register("people", row_id="_row_id * 2")
        assert manifest.provider == "column"
        assert sorted(ids(people, "people", "pay").values()) == [14, 16, 18]

    def test_of_a_hidden_column(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        """The shape of Delta's `_metadata.row_id`: an id outside the table's columns."""
        spark.range(5).selectExpr("id + 10 AS v").coalesce(1).write.saveAsTable("hidden")
        try:
            lineage.register("hidden", row_id="_metadata.row_index")
            assert ids(lineage, "hidden") == {10: 0, 11: 1, 12: 2, 13: 3, 14: 4}
        finally:
            spark.sql("DROP TABLE hidden")

    @pytest.mark.parametrize(
        ("row_id", "message"),
        [
            ("name", r"^row id name of people is STRING, not an integer\. Use another expression"),
            ("_row_id % 2", r"^row id _row_id % 2 of people is not unique: 1 row repeat a value, e\.g\. 1"),
            ("_row_id - 8", r"^row id _row_id - 8 of people is negative in 1 row, e\.g\. -1"),
            ("nullif(_row_id, 8)", r"^row id nullif\(_row_id, 8\) of people is NULL in 1 row"),
            ("nope", r"`nope` cannot be resolved"),
        ],
    )
    def test_what_is_no_row_id(self, people: ForwardLineage, row_id: str, message: str) -> None:
        with pytest.raises(LineageError, match=message):
            people.register("people", row_id=row_id)


class TestDictionary:
    @pytest.mark.parametrize(
        "key", every_day([["name", "born"], ["pay"], ["NAME", "pay"], ["born", "_row_id"]], [["pay"], ["NAME", "pay"]])
    )
    def test_any_unique_key(self, people: ForwardLineage, key: list[str]) -> None:
        manifest = people.register("people", key=key)
        assert manifest.provider == "dictionary"
        assert sorted(ids(people, "people", "pay").values()) == [0, 1, 2]

    @pytest.mark.parametrize("name", every_day(["id", "ID", "d", "t"], ["ID", "t"]))
    def test_names_that_stand_in_what_reads_a_dictionary(self, lineage: ForwardLineage, name: str) -> None:
        lineage.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT concat('k', id) AS {name} FROM range(3)")
        lineage.register("t", key=[name])
        assert ids(lineage, "t", name) == {"k0": 0, "k1": 1, "k2": 2}

    def test_ids_follow_the_order_of_the_key(self, people: ForwardLineage) -> None:
        people.register("people", key=["name", "born"])
        found = {int(str(pay)[0]): row_id for pay, row_id in ids(people, "people", "pay").items()}
        assert found == {1: 0, 3: 1, 2: 2}

    def test_it_changes_nothing_else(self, people: ForwardLineage) -> None:
        people.register("people", key=["name", "born"])
        frame = people.sql("SELECT * FROM people p WHERE p.pay > 2 ORDER BY pay")
        plain = people.spark.sql("SELECT * FROM people p WHERE p.pay > 2 ORDER BY pay")
        assert frame.columns == [*plain.columns, "DL"]
        assert [tuple(row)[:-1] for row in frame.collect()] == [tuple(row) for row in plain.collect()]
        counted = people.sql("SELECT a.name, count(*) n FROM people a JOIN people b USING (name) GROUP BY name")
        assert rows_with_lineage(counted) == [(("ann", 4), {"people": [0, 1]}), (("bob", 1), {"people": [2]})]
        assert [row.pay for row in people.rows("people", [1]).collect()] == [plain.collect()[-1].pay]

    def test_a_refresh_keeps_the_ids_of_known_keys(
        self, lineage: ForwardLineage, spark: SparkSession, folder: Path
    ) -> None:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT v, concat('k', v) AS k FROM parquet.`{folder}`")
        lineage.register("t", key=["k"])
        before = ids(lineage, "t")
        assert before == {10: 0, 11: 1, 12: 2, 20: 3, 21: 4, 30: 5}
        write(folder / "aa.parquet", [5, 15])
        with pytest.raises(LineageError, match=r"table t is not in step with its dictionary: .*aa.parquet is new"):
            lineage.sql("SELECT v FROM t")
        (folder / "c.parquet").unlink()
        assert lineage.refresh("t").version == 2
        after = ids(lineage, "t")
        del before[30]
        assert after == {**before, 15: 6, 5: 7}
        assert lineage.register("t", key=["K"]).version == 2, "nothing has changed, nothing is written"
        write(folder / "c.parquet", [30])
        lineage.refresh("t")
        assert ids(lineage, "t")[30] == 5, "a key that comes back is the same key"

    def test_a_row_that_is_not_in_the_dictionary_stops_the_query(
        self, lineage: ForwardLineage, spark: SparkSession, folder: Path
    ) -> None:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW t AS SELECT v, concat('k', v) AS k FROM parquet.`{folder}`")
        lineage.register("t", key=["k"])
        rewritten = lineage.rewrite("SELECT v FROM t")
        write(folder / "d.parquet", [99])
        with pytest.raises(Exception, match=r"table t has rows that are not in its dictionary. Call lineage.refresh"):
            spark.sql(rewritten).collect()

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            (["name"], 'key name of people is not unique: 1 row repeat a value, e.g. {"name":"ann"}'),
            (["nope"], "table people has no column nope. It has name, born, pay, _row_id."),
        ],
    )
    def test_what_is_no_key(self, people: ForwardLineage, key: list[str], message: str) -> None:
        with pytest.raises(LineageError) as refused:
            people.register("people", key=key)
        assert str(refused.value).startswith(message)
        assert not list(people.registrations.folder("people").glob("data-*")), "nothing is left behind"

    def test_nulls_and_floats_are_no_keys(self, lineage: ForwardLineage) -> None:
        lineage.spark.sql("CREATE OR REPLACE TEMPORARY VIEW t AS SELECT * FROM VALUES (1D, 'a'), (2D, NULL) AS t(f, s)")
        with pytest.raises(
            LineageError,
            match=r"^key s of t is NULL in 1 row\. A key has no NULLs: use other columns\. Or a copy, .*source=",
        ):
            lineage.register("t", key=["s"])
        with pytest.raises(LineageError, match=r"^key f of t is DOUBLE, which cannot be a key\. Use other columns\.$"):
            lineage.register("t", key=["f"])

    def test_tomorrow(self, lineage: ForwardLineage, spark: SparkSession) -> None:
        spark.sql("CREATE TABLE towns USING parquet AS SELECT concat('t', id) AS v FROM range(12)")
        try:
            lineage.register("towns", key=["v"])
            today = ids(lineage, "towns")
            tomorrow = ForwardLineage(spark.newSession(), lineage.home)
            assert ids(tomorrow, "towns") == today
            drop_views(tomorrow.spark)
        finally:
            spark.sql("DROP TABLE towns")
