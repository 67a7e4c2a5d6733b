"""Rows appended to a saved result: only where what it was made of is the same still, and a batch of a stream once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from forward_lineage import ForwardLineage
from tests.shared_state import drop_views
from udafs.errors import BadArgumentError, ChangedError

OLD = [(1, "a", 10), (2, "b", 20)]
MORE = [*OLD, (3, "c", 30)]
CHANGED = [(1, "other", 77), (3, "c", 30)]
NEW_ROWS = "SELECT who, n FROM orders WHERE who = 'c'"


@pytest.fixture
def lineage(spark: SparkSession, tmp_path: Path) -> Iterator[ForwardLineage]:
    yield ForwardLineage(spark, tmp_path / "home")
    drop_views(spark)


def frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, "id BIGINT, who STRING, n INT")


def look(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, found.collect()))


@pytest.mark.parametrize("ids", [{"key": "id"}, {"order_by": ["id"]}])
def test_rows_that_changed(lineage: ForwardLineage, ids: dict[str, Any]) -> None:
    lineage.register("orders", source=frame(lineage.spark, OLD), **ids)
    lineage.save("SELECT who, n FROM orders", "kept")
    lineage.register("orders", source=frame(lineage.spark, CHANGED), **ids)
    with pytest.raises(
        ChangedError,
        match=r"^2 rows of orders that kept was made of went or changed between its versions 1 and 2\. Save the new",
    ):
        lineage.save(NEW_ROWS, "kept", mode="append")
    assert lineage.describe("kept").version == 1
    lineage.save(NEW_ROWS, "apart")
    assert look(lineage.result("apart")) == [("c", 30)]


def test_rows_that_came(lineage: ForwardLineage) -> None:
    lineage.register("orders", source=frame(lineage.spark, OLD), key="id")
    lineage.save("SELECT who, n FROM orders", "kept")
    lineage.register("orders", source=frame(lineage.spark, MORE), key="id")
    lineage.save(NEW_ROWS, "kept", mode="append")
    assert look(lineage.result("kept")) == [("a", 10), ("b", 20), ("c", 30)]
    for who, row in (("a", MORE[0]), ("c", MORE[2])):
        assert [each[1:] for each in look(lineage.backward("kept", where=f"who = '{who}'"))] == [row]
    assert lineage.stale().count() == 0


def test_rows_that_changed_but_are_not_in_it(lineage: ForwardLineage) -> None:
    lineage.register("orders", source=frame(lineage.spark, OLD), key="id")
    lineage.save("SELECT who, n FROM orders WHERE who = 'b'", "kept")
    lineage.register("orders", source=frame(lineage.spark, [(1, "other", 77), *MORE[1:]]), key="id")
    lineage.save(NEW_ROWS, "kept", mode="append")
    assert [each[1:] for each in look(lineage.backward("kept", where="who = 'b'"))] == [MORE[1]]


def test_results_that_changed(lineage: ForwardLineage) -> None:
    lineage.register("orders", source=frame(lineage.spark, OLD), key="id")
    lineage.save("SELECT who, n FROM orders", "below")
    lineage.save("SELECT who, n FROM below", "kept")
    lineage.save("SELECT 'c' AS who, n FROM orders WHERE id = 2", "below", mode="append")
    lineage.save("SELECT who, n FROM below WHERE who = 'c'", "kept", mode="append")
    assert [each[2:] for each in look(lineage.backward("kept", where="who = 'c'", table="orders"))] == [("b", 20)]
    lineage.save("SELECT who, n + 1 AS n FROM orders ORDER BY id DESC", "below")
    with pytest.raises(ChangedError, match=r"^3 rows of below that kept was made of went or changed"):
        lineage.save("SELECT who, n FROM below WHERE who = 'a'", "kept", mode="append")


def test_rows_of_which_nobody_knows(lineage: ForwardLineage, tmp_path: Path) -> None:
    frame(lineage.spark, OLD).write.parquet(f"{tmp_path}/orders")
    lineage.register("orders", path=f"{tmp_path}/orders", key="id")
    lineage.save("SELECT who, n FROM orders", "kept")
    frame(lineage.spark, MORE[2:]).write.mode("append").parquet(f"{tmp_path}/orders")
    lineage.refresh("orders")
    with pytest.warns(
        UserWarning, match=r"^it is not known whether rows of orders that kept was made of .*hashes=True"
    ):
        lineage.save(NEW_ROWS, "kept", mode="append")
    lineage.register("orders", path=f"{tmp_path}/orders")
    with pytest.raises(ChangedError, match=r"do not mean the same rows now \(by position\)\. Save the new rows under"):
        lineage.save(NEW_ROWS, "kept", mode="append")


def test_ids_by_another_expression(lineage: ForwardLineage) -> None:
    frame(lineage.spark, OLD).createOrReplaceTempView("orders")
    lineage.register("orders", row_id="id")
    lineage.save("SELECT who, n FROM orders", "kept")
    lineage.register("orders", row_id="3 - id")
    with pytest.raises(
        ChangedError, match=r"^it is not known whether rows of orders that kept was made of have changed"
    ):
        lineage.save("SELECT who, n FROM orders WHERE who = 'a'", "kept", mode="append")


def test_files_that_went(lineage: ForwardLineage, tmp_path: Path) -> None:
    days = tmp_path / "days"
    for day, rows in enumerate([OLD, MORE[2:]]):
        frame(lineage.spark, rows).coalesce(1).write.parquet(f"{days}/day={day}")
    lineage.register("orders", path=days)
    lineage.save("SELECT who, n FROM orders WHERE day = 0", "first")
    lineage.save("SELECT who, n FROM orders WHERE day = 1", "second")
    (first,) = (days / "day=0").glob("*.parquet")
    first.unlink()
    frame(lineage.spark, [(4, "d", 40)]).coalesce(1).write.parquet(f"{days}/day=2")
    lineage.refresh("orders")
    newest = "SELECT who, n FROM orders WHERE day = 2"
    lineage.save(newest, "second", mode="append")
    assert [row.who for row in lineage.backward("second").collect()] == ["c", "d"]
    with pytest.raises(ChangedError, match=r"^2 rows of orders that first was made of went or changed"):
        lineage.save(newest, "first", mode="append")


def test_batches(lineage: ForwardLineage) -> None:
    lineage.register("orders", source=frame(lineage.spark, MORE), key="id")

    def append(batch: Any, who: str = "a") -> int:
        sql = f"SELECT who, n FROM orders WHERE who = '{who}'"
        return int(lineage.save(sql, "arrived", mode="append", batch=batch).rows)

    assert [append(0), append(1, "b")] == [1, 2]
    with pytest.warns(UserWarning, match="^batch 1 is in arrived already: nothing was appended$") as told:
        assert append(1) == 2
    assert told[0].filename == __file__
    assert append(("web", 0)) == 3
    lineage.save(NEW_ROWS, "arrived", mode="append")
    with pytest.warns(UserWarning, match="^batch 0 is in arrived already"):
        assert append(("web", 0)) == 4
    assert lineage.describe("arrived").batches == (("", 1), ("web", 0))
    with pytest.raises(
        ChangedError, match=r'^batch 0 comes after batch 1, which arrived has already\. .*\("a name", 0\)'
    ):
        append(0)
    with pytest.warns(UserWarning, match="arrived: .*: rows were appended to it"):
        lineage.register("orders", source=frame(lineage.spark, CHANGED), key="id")
        lineage.update()


@pytest.mark.parametrize("batch", [-1, True, "7", ("web", "7"), ("web", 7, 8), (7, "web")])
def test_no_batch(lineage: ForwardLineage, batch: Any) -> None:
    with pytest.raises(BadArgumentError, match=r" is no batch\. Give its number, as in batch=7"):
        lineage.save("SELECT 1 AS n", "one", mode="append", batch=batch)


def test_batches_are_appended(lineage: ForwardLineage) -> None:
    with pytest.raises(
        BadArgumentError, match=r'^batch= is about rows that are appended, and mode="overwrite"\. Say mode='
    ):
        lineage.save("SELECT 1 AS n", "one", batch=7)
