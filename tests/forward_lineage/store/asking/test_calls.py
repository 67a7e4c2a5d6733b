"""Queries over BACKWARD(…) and FORWARD(…) in FROM: which rows, what these are made of, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from forward_lineage import (
    BadArgumentError,
    ChangedError,
    ForwardLineage,
    LineageError,
    NotSavedError,
    NotTracedError,
    WrongSqlError,
)
from forward_lineage.results import trusted_tables
from forward_lineage.store.asking import result_rows
from tests.forward_lineage.conftest import rows_with_lineage, with_copy_of, with_store_tables
from tests.forward_lineage.prepared import Prepared
from tests.spark_settings import DEFAULTS, configure
from udafs.errors import Position

BY_ITEM = "SELECT i_id, sum(num) AS units, max(price) AS price FROM sales GROUP BY i_id ORDER BY i_id"
BY_STORE = "SELECT s_id, count(*) AS n FROM sales GROUP BY s_id ORDER BY s_id"
LARGE = "SELECT count(*) AS items, sum(units) AS units FROM by_item WHERE units > 1000"


def with_results(lineage: ForwardLineage) -> ForwardLineage:
    with_store_tables(lineage)
    lineage.save(BY_ITEM, "by_item")
    lineage.save(BY_STORE, "by_store")
    lineage.save(LARGE, "large")
    return lineage


@pytest.fixture(scope="module")
def known(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> ForwardLineage:
    """Results that no test changes."""
    session = spark.newSession()
    configure(session, DEFAULTS)
    return with_results(ForwardLineage(session, tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def saved_home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("saved"), spark, with_results)


@pytest.fixture
def saved(spark: SparkSession, saved_home: Prepared, tmp_path: Path) -> Iterator[ForwardLineage]:
    """Results that a test may change."""
    yield from with_copy_of(saved_home, spark, tmp_path)


def ids(lineage: ForwardLineage, sql: str, table: str = "sales") -> list[int]:
    """The ids of the rows of `SELECT * FROM …`: each row's lineage is itself."""
    found = [of[table] for _, of in rows_with_lineage(lineage.sql(sql))]
    assert all(len(each) == 1 for each in found)
    return sorted(each for (each,) in found)


class TestWhatTheyGive:
    def test_rows_of_the_base_table_each_once(self, known: ForwardLineage) -> None:
        assert ids(known, "SELECT * FROM BACKWARD(by_item WHERE i_id IN (1, 5), sales)") == [1, 4, 11]
        assert ids(known, "SELECT * FROM BACKWARD(large, sales)") == list(known.backward_ids("large", table="sales"))
        assert known.sql("SELECT * FROM BACKWARD(by_item, sales)").columns == [
            *known.spark.table("sales").columns,
            "DL",
        ]

    def test_rows_of_a_saved_result(self, known: ForwardLineage) -> None:
        assert ids(known, "SELECT * FROM FORWARD(sales WHERE t_id = 7, by_store)", "by_store") == [2]
        assert ids(known, "SELECT * FROM BACKWARD(large, by_item)", "by_item") == [0, 1, 2, 3]
        assert ids(known, "SELECT * FROM FORWARD(sales WHERE num < 300, large)", "large") == []

    def test_linked_brushing(self, known: ForwardLineage) -> None:
        brush = "SELECT * FROM FORWARD(BACKWARD(by_item WHERE i_id = 5, sales), by_store)"
        assert [row.s_id for row in known.sql(brush).collect()] == [4]
        within = "SELECT * FROM FORWARD(BACKWARD(by_item WHERE i_id = 4, sales) WHERE price < 40, by_store)"
        assert [row.s_id for row in known.sql(within).orderBy("s_id").collect()] == [1, 2]

    def test_back_and_back_again(self, known: ForwardLineage) -> None:
        two_steps = "SELECT * FROM BACKWARD(BACKWARD(large, by_item) WHERE i_id = 2, sales)"
        assert ids(known, two_steps) == [2, 5]
        there_and_back = "SELECT * FROM BACKWARD(FORWARD(sales WHERE t_id = 1, by_item), sales)"
        assert ids(known, there_and_back) == [1, 4]

    def test_among_other_items_of_from(self, known: ForwardLineage) -> None:
        sql = """
            SELECT b.s_id, i.i_name, total.n FROM FORWARD(sales WHERE t_id = 1, by_store) AS b,
              BACKWARD(by_item WHERE i_id = :item, sales) AS s JOIN item i ON i.i_id = s.i_id,
              (SELECT count(*) AS n FROM BACKWARD(by_store WHERE s_id = :store, sales)) AS total
            WHERE s.price > :price
        """
        (found,) = rows_with_lineage(known.sql(sql, args={"item": 1, "store": 4, "price": 4}))
        assert found == ((1, "binder", 3), {"by_store": [0], "sales": [4, 9, 10, 11], "item": [1]})

    def test_called_like_the_table_or_as_one_likes(self, known: ForwardLineage) -> None:
        for sql in (
            "SELECT sales.t_id FROM BACKWARD(by_item WHERE i_id = 2, sales) WHERE sales.num > 2500",
            "SELECT s.t_id FROM BACKWARD(by_item WHERE by_item.i_id = 2, sales) AS s WHERE s.num > 2500",
            "SELECT s.a FROM BACKWARD(by_item WHERE i_id = 2, sales) s(a, b, c, d, e) WHERE e > 2500",
            "WITH s AS (SELECT * FROM BACKWARD(by_item WHERE i_id = 2, sales)) SELECT t_id FROM s WHERE num > 2500",
        ):
            assert rows_with_lineage(known.sql(sql)) == [((2,), {"sales": [2]})]

    def test_parameters_by_place(self, known: ForwardLineage) -> None:
        sql = "SELECT ? AS a, t_id FROM BACKWARD(by_item WHERE i_id = ? AND units > ?, sales) WHERE num > ?"
        assert rows_with_lineage(known.sql(sql, args=["x", 2, 10, 2500])) == [(("x", 2), {"sales": [2]})]
        with pytest.raises(WrongSqlError, match="unbound parameter"):
            known.sql(sql, args=["x"])

    def test_a_condition_with_a_chance_is_asked_once(self, known: ForwardLineage) -> None:
        frame = known.sql("SELECT * FROM BACKWARD(by_item WHERE rand() < 0.5, sales)")
        assert rows_with_lineage(frame) == rows_with_lineage(frame)

    def test_large_results_are_asked_where_they_are(
        self, known: ForwardLineage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(result_rows, "MOST_ROWS", 2)
        assert ids(known, "SELECT * FROM BACKWARD(by_item WHERE i_id IN (1, 5), sales)") == [1, 4, 11]

    def test_control_lineage(self, known: ForwardLineage) -> None:
        sql = (
            "SELECT t_id FROM BACKWARD(by_item WHERE i_id = 5, sales) WHERE EXISTS (SELECT 1 FROM store WHERE s_id = 4)"
        )
        assert rows_with_lineage(known.sql(sql, "control")) == [((11,), {"sales": [11], "store": [4]})]


class TestSavedAgain:
    def test_a_consuming_query_is_saved_and_asked(self, saved: ForwardLineage) -> None:
        sql = "SELECT s_id, count(*) AS n FROM BACKWARD(large, sales) WHERE price > 10 GROUP BY s_id ORDER BY s_id"
        kept = saved.save(sql, "drilled")
        assert kept.sql == sql
        assert list(saved.backward_ids("drilled", "s_id = 1")) == [3]
        assert ids(saved, "SELECT * FROM BACKWARD(drilled WHERE s_id = 1, sales)") == [3]
        saved.save("SELECT units FROM FORWARD(BACKWARD(drilled, sales), by_item)", "linked")
        assert list(saved.backward_ids("linked", table="by_item")) == [2, 3]
        assert saved.backward_ids("linked", table="sales") == saved.backward_ids("by_item", rows=[2, 3])

    def test_a_result_with_stages(self, saved: ForwardLineage) -> None:
        rows = "BACKWARD(by_item WHERE i_id < 3, sales)"
        counted = f"SELECT i_id, count(*) AS n FROM {rows} GROUP BY i_id"
        saved.save(f"SELECT s.t_id, g.n FROM {rows} s JOIN ({counted}) g USING (i_id)", "staged")
        assert saved.describe("staged").stages
        assert list(saved.backward_ids("staged", "t_id = 2")) == [2, 5]

    def test_a_dataframe_of_chosen_rows_is_saved(self, saved: ForwardLineage) -> None:
        saved.save(saved.sql("SELECT * FROM BACKWARD(by_item WHERE i_id = 2, sales)").where("num > 2500"), "frame")
        assert list(saved.backward_ids("frame")) == [2]

    def test_commands_write_chosen_rows(self, saved: ForwardLineage) -> None:
        saved.sql("CREATE TABLE kept_rows AS SELECT t_id FROM BACKWARD(by_item WHERE i_id = 2, sales)")
        saved.spark.sql("CREATE TABLE plain_rows (t_id INT) USING parquet")
        try:
            saved.sql("INSERT INTO plain_rows SELECT t_id FROM BACKWARD(by_item WHERE i_id = 2, sales)")
            assert sorted(row.t_id for row in saved.spark.table("plain_rows").collect()) == [2, 5]
            assert rows_with_lineage(saved.sql("SELECT * FROM kept_rows")) == [
                ((2,), {"sales": [2]}),
                ((5,), {"sales": [5]}),
            ]
        finally:
            for table in ("kept_rows", "plain_rows"):
                saved.spark.sql(f"DROP TABLE {table}")

    def test_affected_rows_are_among_the_chosen(self, saved: ForwardLineage) -> None:
        sql = "SELECT s_id, count(*) AS n FROM BACKWARD(by_item WHERE i_id = 2, sales) GROUP BY s_id"
        assert rows_with_lineage(saved.affected(sql, "sales", "t_id IN (2, 3)")) == [((1, 1), {"sales": [2]})]
        assert saved.affected(sql, "sales", "t_id = 3").collect() == []


class TestTrust:
    def test_what_is_chosen_by_says_so(self, lineage: ForwardLineage) -> None:
        lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM VALUES (1, 2), (2, 3) AS t(k, v)")
        lineage.register("t", key="k", trusted=True)
        for column in ("k", "v"):
            lineage.save(f"SELECT {column}, count(*) AS n FROM t GROUP BY {column}", f"by_{column}")
        for rows in ("BACKWARD(by_k, t)", "FORWARD(t WHERE k = 1, by_k)", "FORWARD(BACKWARD(by_k, t), by_v)"):
            assert trusted_tables(lineage.sql(f"SELECT * FROM {rows}")) == ["t"]
        assert trusted_tables(lineage.sql("SELECT * FROM by_k")) == []


class TestVersions:
    def test_a_result_that_was_saved_again(self, saved: ForwardLineage) -> None:
        sql = "SELECT * FROM BACKWARD(by_item WHERE i_id = 1, sales)"
        assert ids(saved, sql) == [1, 4]
        saved.save(BY_ITEM.replace("FROM sales", "FROM sales WHERE t_id > 1"), "by_item")
        assert ids(saved, sql) == [4]
        with pytest.raises(ChangedError, match=r"large was made of version 1 of by_item.*line 1, column 15"):
            saved.sql("SELECT * FROM BACKWARD(large, by_item)")
        assert ids(saved, "SELECT * FROM BACKWARD(BACKWARD(large, by_item) WHERE i_id = 1, sales)") == [1, 4]
        with pytest.raises(ChangedError, match="mean other rows in large"):
            saved.sql("SELECT * FROM FORWARD(FORWARD(sales, by_item), large)")

    def test_rows_that_are_gone(self, lineage: ForwardLineage, tmp_path: Path) -> None:
        folder = tmp_path / "t"
        folder.mkdir()
        for part in range(2):
            parquet.write_table(pa.table({"k": [2 * part, 2 * part + 1]}), folder / f"{part}.parquet")
        lineage.register("t", path=folder)
        lineage.save("SELECT k % 2 AS odd, count(*) AS n FROM t GROUP BY 1 ORDER BY 1", "odds")
        lineage.save("SELECT k < 2 AS low, count(*) AS n FROM t GROUP BY 1 ORDER BY 1 DESC", "lows")
        low = "SELECT k FROM BACKWARD(lows WHERE low, t)"
        brush = "SELECT odd FROM FORWARD(BACKWARD(lows WHERE NOT low, t), odds)"
        assert [row.k for row in lineage.sql(low).collect()] == [0, 1]
        (folder / "1.parquet").unlink()
        with pytest.raises(ChangedError):
            lineage.sql(low)
        lineage.refresh("t")
        assert [row.k for row in lineage.sql(low).collect()] == [0, 1]
        with pytest.raises(ChangedError, match=r"2 of the 2 rows .* are gone.*line 1, column 15"):
            lineage.sql("SELECT k FROM BACKWARD(lows WHERE NOT low, t)")
        assert len(lineage.sql(brush).collect()) == 2  # what is in between is not read
        with pytest.raises(ChangedError, match="are gone"):
            lineage.sql(brush.replace("t),", "t) WHERE k > 0,"))

    def test_ids_that_mean_something_else(self, lineage: ForwardLineage) -> None:
        lineage.spark.sql("CREATE OR REPLACE TEMP VIEW t AS SELECT * FROM VALUES (1, 12), (2, 11) AS t(k, other)")
        lineage.register("t", key="k")
        lineage.save("SELECT k FROM t", "by_k")
        lineage.register("t", key="other")
        lineage.save("SELECT other FROM t", "by_other")
        with pytest.raises(ChangedError, match=r"mean other rows in by_other.*line 2, column 3"):
            lineage.sql("SELECT * FROM\n  FORWARD(BACKWARD(by_k, t), by_other)")


class TestLineageOn:
    def test_forward_by_values(self, saved: ForwardLineage) -> None:
        saved.save(f"{BY_STORE} LINEAGE ON i_id", "by_value")
        assert ids(saved, "SELECT * FROM FORWARD(sales WHERE i_id = 5, by_value)", "by_value") == [3]
        nested = "SELECT * FROM FORWARD(BACKWARD(by_item WHERE i_id = 2, sales), by_value)"
        assert ids(saved, nested, "by_value") == [0, 1]

    def test_values_are_no_rows(self, saved: ForwardLineage) -> None:
        saved.save(f"{BY_STORE} LINEAGE ON i_id", "by_value")
        with pytest.raises(NotTracedError, match=r"knows values of sales, not rows \(line 1, column 15\)"):
            saved.sql("SELECT * FROM BACKWARD(by_value, sales)")


class TestRefused:
    @pytest.mark.parametrize(
        ("rows", "error", "at"),
        [
            ("BACKWARD(nothing, sales)", NotSavedError, (1, 15)),
            ("BACKWARD(by_item, store)", NotSavedError, (1, 15)),
            ("FORWARD(store, by_item)", NotSavedError, (1, 15)),
            ("FORWARD(sales, nothing)", NotSavedError, (1, 15)),
            ("FORWARD(BACKWARD(by_item, nothing), by_store)", NotSavedError, (1, 23)),
            ("BACKWARD(BACKWARD(by_item, sales), sales)", BadArgumentError, (1, 15)),
            ("BACKWARD(by_item WHERE\n  nothing > 3, sales)", WrongSqlError, (2, 3)),
            ("FORWARD(sales WHERE t_id = 1 AND\n nothing = 1, by_item)", WrongSqlError, (2, 2)),
            ("BACKWARD(by_item WHERE sum(units) > 3, sales)", WrongSqlError, (1, 38)),
            ("BACKWARD(by_item WHERE units >, sales)", WrongSqlError, None),
            ("BACKWARD(by_item WHERE units = :p1, sales)", WrongSqlError, (1, 46)),
            ("BACKWARD(by_item, sales) x WHERE nothing = 3", WrongSqlError, (1, 48)),
        ],
    )
    def test_with_a_place(
        self, known: ForwardLineage, rows: str, error: type[LineageError], at: tuple[int, int] | None
    ) -> None:
        with pytest.raises(error) as refusal:
            known.sql(f"SELECT * FROM {rows}")
        assert refusal.value.at is not None and refusal.value.instead
        assert at is None or refusal.value.at == Position(*at)
        assert "__dl" not in str(refusal.value)

    def test_what_is_read_later_or_elsewhere(self, known: ForwardLineage) -> None:
        sql = "SELECT * FROM BACKWARD(by_item, sales)"
        with pytest.raises(NotTracedError, match="text for other sessions"):
            known.rewrite(sql)
        with pytest.raises(NotTracedError, match="asked when it is made"):
            known.sql(f"CREATE TEMPORARY VIEW later AS {sql}")
