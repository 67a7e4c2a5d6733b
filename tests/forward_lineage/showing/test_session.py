"""Rows of a session as they are shown: which, how many, what they open to, and what is said instead."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import BadArgumentError, ForwardLineage, LineageSet, WrongSqlError
from forward_lineage.results import LINEAGE_COLUMN
from forward_lineage.showing.display import Shown

BY_ITEM = "SELECT i_id, sum(num) AS num FROM sales GROUP BY i_id ORDER BY i_id"


def lineage_of(shown: Shown) -> list[str]:
    return ["; ".join(map(shown.rows.said, row.origins)) for row in shown.rows.rows]


def test_a_query(store: ForwardLineage, capsys: pytest.CaptureFixture[str]) -> None:
    store.show(f"{BY_ITEM} LIMIT 2")
    assert capsys.readouterr().out.splitlines() == [
        "+----+----+-------------------+",
        "|i_id|num |DL                 |",
        "+----+----+-------------------+",
        "|1   |1800|sales {1, 4} 2 rows|",
        "|2   |5000|sales {2, 5} 2 rows|",
        "+----+----+-------------------+",
        "2 rows",
    ]


def test_a_frame_of_which_there_is_more(store: ForwardLineage) -> None:
    shown = store.shown(store.sql(BY_ITEM).where("num > 1000"), rows=2, base_rows=1)
    assert shown.text().splitlines()[-1] == "the first 2 rows; there are more"
    assert lineage_of(shown) == ["sales {1, 4} 2 rows", "sales {2, 5} 2 rows"]
    opened = shown.rows.opened["sales"]
    assert opened.columns == ("t_id", "s_id", "i_id", "price", "num")
    assert opened.rows[4] == ("4", "2", "1", "5", "800")
    assert shown.frame.count() == 4


def test_a_frame_without_lineage(store: ForwardLineage) -> None:
    shown = store.shown(store.spark.sql("SELECT CAST(NULL AS INT) AS a, X'4d5A' AS a, 1.50 AS b"))
    assert shown.rows.columns == ("a", "a", "b")
    assert shown.rows.rows[0].cells == (None, "0x4d5a", "1.50")
    assert LINEAGE_COLUMN not in shown.text()


def test_values_of_lineage_on(store: ForwardLineage) -> None:
    by_price = store.shown("SELECT count(*) AS n FROM sales LINEAGE ON price > 40, i_id % 2")
    assert lineage_of(by_price) == ["sales {(false, 0), (false, 1), (true, 0), (true, 1)} 4 values"]
    saved = store.save("SELECT count(*) AS n FROM item LINEAGE ON category", "counted")
    assert lineage_of(store.shown(saved)) == ["item {clothing, kitchenware, stationery} 3 values"]


def test_a_saved_result_says_what_it_was_made_of_directly(store: ForwardLineage) -> None:
    store.save(BY_ITEM, "by_item")
    report = store.save("SELECT max(num) AS best FROM by_item WHERE i_id < 4", "report")
    shown = store.shown(report)
    assert lineage_of(shown) == ["by_item {0, 1, 2} 3 rows"]
    assert shown.rows.opened["by_item"].rows[2] == ("3", "3600")
    assert shown.text().startswith("report, version 1: 1 row, semantics data\n")


def test_an_older_version_is_opened_to_rows_it_was_made_of(store: ForwardLineage) -> None:
    store.save(BY_ITEM, "by_item")
    report = store.save("SELECT max(num) AS best FROM by_item", "report")
    store.save(f"{BY_ITEM} DESC", "by_item")
    assert store.shown(report).rows.opened["by_item"].rows[0] == ("1", "1800")


def test_showing_captures_nothing(store: ForwardLineage) -> None:
    late = store.save(BY_ITEM, "late", capture="later")
    assert set(lineage_of(store.shown(late))) == {"sales: captured at the first question"}
    some = store.save(BY_ITEM, "some", where={"sales": "t_id < 5"})
    assert set(lineage_of(store.shown(some))) == {"sales: captured where t_id < 5"}


def test_rows_whose_ids_mean_others_by_now_are_not_shown(lineage: ForwardLineage, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [7, 8]}), tmp_path / "t.parquet")
    lineage.register("t", path=tmp_path / "t.parquet")
    frame = lineage.sql("SELECT a FROM t")
    assert lineage.shown(frame).rows.opened["t"].rows == {0: ("7",), 1: ("8",)}
    pq.write_table(pa.table({"a": [9, 7]}), tmp_path / "u.parquet")
    lineage.register("t", path=tmp_path / "u.parquet")
    again = lineage.shown(frame).rows.opened["t"]
    assert not again.rows
    assert again.note == "t has been registered again since: run the query again to see its rows."
    assert again.note in lineage.shown(frame)._repr_html_()


def test_a_table_that_has_changed_is_said(lineage: ForwardLineage, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [7, 8]}), tmp_path / "t.parquet")
    lineage.register("t", path=tmp_path / "t.parquet")
    saved = lineage.save("SELECT a FROM t ORDER BY a", "kept")
    pq.write_table(pa.table({"a": [9, 7, 5]}), tmp_path / "t.parquet")
    shown = lineage.shown(saved)
    assert lineage_of(shown) == ["t {0} 1 row", "t {1} 1 row"]
    assert shown.rows.opened["t"].note.startswith("Its rows cannot be shown:")


def test_tables_on_trust_are_named(store: ForwardLineage) -> None:
    store.register("item", key="i_id", trusted=True)
    assert "item: on trust." in store.shown("SELECT i_name FROM item").text()
    assert "item: on trust." in store.shown(store.save("SELECT i_name FROM item", "names"))._repr_html_()


def test_what_cannot_be_shown(store: ForwardLineage) -> None:
    with pytest.raises(WrongSqlError):
        store.show("SELECT nothing FROM sales")
    with pytest.raises(BadArgumentError, match="int has no rows to show"):
        store.show(3)  # type: ignore[arg-type]
    with pytest.raises(BadArgumentError, match="rows=0"):
        store.shown("SELECT 1", rows=0)
    with pytest.raises(BadArgumentError, match="truncate=0"):
        store.show("SELECT 1", truncate=0)


def test_ids_in_spark(store: ForwardLineage) -> None:
    rows = store.ids(store.sql(BY_ITEM)).select("DL.sales").collect()
    assert [row[0] for row in rows] == [[1, 4], [2, 5], [7, 9], [3, 6, 8, 10], [11]]
    with pytest.raises(BadArgumentError, match="no DL that lineage"):
        store.ids(store.spark.range(3).toDF("DL"))


def test_in_a_line(store: ForwardLineage) -> None:
    saved = store.save(BY_ITEM, "by_item")
    assert repr(saved).startswith("SavedResult(by_item, version 1, 5 rows, made of sales, data, saved at 20")
    assert repr(store.tables()["item"]) == "Manifest(item, version 1, ids by key (i_id), 3 columns)"
    assert repr(store) == f"ForwardLineage(home={str(store.home)!r})"
    assert str(store.backward_ids("by_item", rows=[0])) == "LineageSet({1, 4})"


def test_as_html(store: ForwardLineage) -> None:
    saved = store.save(BY_ITEM, "by_item")
    assert "by_item, version 1" in saved._repr_html_()
    assert "key (i_id)" in store.tables()["item"]._repr_html_()
    for part in ("by_item", "key (t_id)", "saved result", str(store.home)):
        assert part in store._repr_html_()


def test_the_smallest_ids() -> None:
    assert LineageSet([5, 3, 9]).first(2) == [3, 5]
    assert LineageSet([5, 3, 9]).first(7) == [3, 5, 9]
    assert LineageSet().first(2) == []
    as_bdd = LineageSet.from_bytes(LineageSet(range(100, 200)).to_bytes("bdd"))
    assert as_bdd.first(3) == [100, 101, 102]
