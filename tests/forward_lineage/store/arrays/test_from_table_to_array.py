"""One lineage from base rows through a query into arrays, asked in a session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forward_lineage import ForwardLineage
from tests.forward_lineage.cli.in_this_process import good, invoke
from udafs.errors import BadArgumentError, ChangedError, LineageError, NameTakenError, NotSavedError


def test_from_base_rows_to_cells_and_back(store: ForwardLineage) -> None:
    spark = store.spark
    query = "SELECT i_id, CAST(count(*) AS DOUBLE) AS n, max(i_id) AS top FROM sales GROUP BY i_id ORDER BY 1"
    store.save(query, "features")
    by_item = {row[0]: set(store.backward_ids("features", rows=[at])) for at, row in enumerate(spark_rows(store))}
    x = store.to_array("features", columns=["n"])
    scores = store.save(x / x.max() + 1, "scores")
    assert scores.shape == (len(by_item), 1) and [table.name for table in scores.tables] == ["features"]

    first = set(store.backward_ids("scores", cells=np.s_[0], table="sales"))
    assert first == set.union(*by_item.values()), "of the maximum, too"
    plain = store.save(store.to_array("features", ["n"]) * 2, "plain")
    assert plain.version == 1
    ids = store.backward_ids("plain", cells=np.s_[1, 0], table="sales")
    assert set(ids) == list(by_item.values())[1]
    found = store.backward("plain", "axis0 = 1", table="sales")
    assert {row["row_id"] for row in found.collect()} == set(ids)
    assert store.backward("plain", cells=np.s_[1:3], table="features").columns[:2] == ["row_id", "i_id"]

    touched = store.forward("sales", ids=[min(ids)], result="plain").collect()
    assert [row.asDict() for row in touched] == [{"row_id": 1, "axis0": 1, "axis1": 0, "value": 2.0 * len(ids)}]
    paths = {row["result"]: row["path"] for row in store.impact("sales", ids=[min(ids)]).collect()}
    assert paths["scores"] == "sales → features → scores" and set(paths) == {"features", "scores", "plain"}
    store.save(store.array("plain")[1:] * 1, "rest")
    assert list(store.forward_ids("plain", cells=np.s_[1], result="rest")) == [0]
    assert [row["result"] for row in store.impact("plain", cells=np.s_[0]).collect()] == []
    assert store.table("lineage_of(rest, plain)").count() == len(by_item) - 1
    assert "axis0" in good(
        invoke(spark, "forward", "features", "--where", "n > 0", "--result", "plain", "--home", store.home)
    )

    store.save(query, "features")
    stale = {(row["result"], row["table"]) for row in store.stale().collect()}
    assert {("plain", "features"), ("rest", "features")} <= stale
    assert set(store.backward_ids("plain", cells=np.s_[1, 0], table="sales")) == set(ids), "of the version then"


def spark_rows(store: ForwardLineage) -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.result("features").collect()]


def test_arrays_and_queries_do_not_mix(store: ForwardLineage) -> None:
    store.save(np.arange(3), "weights")
    assert store.describe("weights").shape == (3,) and store.results() == []
    refused = {
        BadArgumentError: [
            lambda: store.save(np.arange(3), "weights", workload=["SELECT 1"]),
            lambda: store.backward_ids("weights", rows=[0], cells=np.s_[0]),
        ],
        NameTakenError: [
            lambda: store.save("SELECT 1 AS one", "weights"),
            lambda: store.save(np.arange(3), "sales"),
        ],
        NotSavedError: [
            lambda: store.result("weights"),
            lambda: store.to_array("weights"),
            lambda: store.array("nothing"),
        ],
    }
    for kind, calls in refused.items():
        for call in calls:
            with pytest.raises(kind):
                call()
    with pytest.raises(LineageError):
        store.sql("SELECT * FROM weights")


def test_an_array_is_a_table_whose_rows_keep_their_lineage(store: ForwardLineage) -> None:
    store.save("SELECT i_id, CAST(sum(num) AS DOUBLE) AS n FROM sales GROUP BY i_id ORDER BY i_id", "features")
    x = store.to_array("features", columns=["i_id", "n"])[::-1]
    rows = store.table(np.stack([x[:, 1] - x[:, 1].mean(), x[:, 0]], axis=1), "scores_t", columns=["score", "item"])
    assert rows.columns == ["score", "item"] and [row["item"] for row in rows.collect()] == [5.0, 4.0, 3.0, 2.0, 1.0]
    plain = store.table(store.to_array("features", ["i_id"])[:, 0], "items")
    assert plain.schema.simpleString() == "struct<value:int>"
    traced = store.sql("SELECT value FROM items WHERE value = 3")
    assert [row["made_of"] for row in traced.selectExpr("dl_ids(DL.items) AS made_of").collect()] == [[2]]

    store.save("SELECT sum(value) AS total FROM items WHERE value < 3", "report")
    expected = store.spark.sql("SELECT t_id FROM sales WHERE i_id < 3").collect()
    assert set(store.backward_ids("report", rows=[0], table="sales")) == {row["t_id"] for row in expected}
    of_first = set(store.backward_ids("scores_t", where="item = 5", table="sales"))
    assert len(of_first) == store.spark.table("sales").count(), "of the mean"
    touched = {row["result"]: row["rows_touched"] for row in store.impact("sales", "i_id = 1").collect()}
    assert touched == {"features": 1, "items": 1, "report": 1, "scores_t": 5}
    with pytest.raises(NameTakenError):
        store.table(np.arange(3), "sales")
    with pytest.raises(BadArgumentError, match="has 2 columns"):
        store.table(np.zeros((3, 2)), "other", columns=["a"])
    store.save("SELECT i_id, CAST(sum(num) AS DOUBLE) AS n FROM sales GROUP BY i_id ORDER BY i_id DESC", "features")
    with pytest.raises(ChangedError, match="made of an array"):
        store.update("items")


def test_rows_that_an_update_replaced_are_the_cells_rows(store: ForwardLineage, tmp_path: Path) -> None:
    """An update in part leaves gaps in the numbers of rows, and an array has none in its places."""

    def append(rows: str) -> None:
        frame = store.spark.sql(f"SELECT * FROM VALUES {rows} AS t(id, item, amount)").coalesce(1)
        frame.write.mode("append").parquet(f"{tmp_path}/sold")

    for rows in ("(0, 1, 10), (1, 2, 20)", "(2, 3, 30), (3, 4, 40)"):
        append(rows)
    store.register("sold", path=f"{tmp_path}/sold")
    store.save("SELECT item, sum(amount) AS amount FROM sold GROUP BY item HAVING sum(amount) <> 25", "per_item")
    for more in ("(4, 2, 5)", "(5, 3, 1), (6, 7, 2)"):
        append(more)
        store.refresh("sold")
        store.update("per_item")
        saved = store.describe("per_item")
        assert saved.ids_end is not None and saved.ids_end > saved.rows, "with gaps"
        array = store.to_array("per_item", ["item", "amount"])
        rows = [tuple(row) for row in store.rows("per_item").orderBy("row_id").collect()]
        assert array.values.tolist() == [[item, amount] for _, item, amount in rows]
        store.save(array * 2, "twice")
        for place, (number, item, _) in enumerate(rows):
            assert list(store.backward_ids("twice", cells=np.s_[place, 1], table="per_item")) == [number]
            behind = {row["id"] for row in store.backward("twice", cells=np.s_[place], table="sold").collect()}
            sold = store.spark.read.parquet(f"{tmp_path}/sold").where(f"item = {item}").collect()
            assert behind == {row["id"] for row in sold}, item
            assert list(store.forward_ids("per_item", ids=[number], result="twice")) == [2 * place, 2 * place + 1]


def test_an_array_of_no_rows(store: ForwardLineage) -> None:
    store.save("SELECT i_id FROM sales WHERE i_id < 0", "none")
    assert store.to_array("none").shape == (0, 1)
    assert store.save(store.to_array("none") * 2, "still_none").shape == (0, 1)
