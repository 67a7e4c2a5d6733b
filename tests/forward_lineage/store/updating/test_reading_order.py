"""A result of ORDER BY is read in its order, also where an update has replaced rows and added others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.library.made_of import SortKey
from forward_lineage.store.updating.joining_rows import NotProvableError
from forward_lineage.store.updating.reading_order import reading_order
from tests.forward_lineage.row_ids.conftest import write

COLUMNS = ("item", "n")


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        ("1", [SortKey(0, False, True)]),
        ("n DESC, ITEM", [SortKey(1, True, False), SortKey(0, False, True)]),
        ("2 DESC NULLS FIRST", [SortKey(1, True, True)]),
        ("count(*)", [SortKey(1, False, True)]),
        ("s.item NULLS LAST", [SortKey(0, False, False)]),
    ],
)
def test_what_a_query_sorts_by(order: str, keys: list[SortKey]) -> None:
    tree = parse(f"SELECT s.item, count(*) AS n FROM sales s GROUP BY s.item ORDER BY {order}").tree
    assert list(reading_order(tree, COLUMNS)) == keys


@pytest.mark.parametrize("order", ["upper(item)", "max(n)", "s.n", "3", "n + 1"])
def test_an_order_by_what_is_not_selected(order: str) -> None:
    tree = parse(f"SELECT item, count(*) AS n FROM sales s GROUP BY item ORDER BY {order}").tree
    with pytest.raises(NotProvableError, match="something that is not selected"):
        reading_order(tree, COLUMNS)


SORTED = {
    "by_total": "SELECT v % 5 AS k, count(*) AS n FROM heights GROUP BY v % 5 ORDER BY n DESC, k",
    "tall": "SELECT v AS `a height`, v % 5 AS k FROM heights WHERE v > 3 ORDER BY v DESC",
    "by_place": "SELECT v % 3 AS k, max(v) AS v FROM heights GROUP BY v % 3 ORDER BY 2 DESC NULLS LAST",
    "kinds": "SELECT DISTINCT v % 7 AS k FROM heights ORDER BY k NULLS LAST",
}


def test_rows_that_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "heights"
    write(folder / "a.parquet", [4, 9, 14, 2, 7, 21])
    write(folder / "b.parquet", [5, 8, None, 30])
    lineage = ForwardLineage(spark, tmp_path / "home")
    lineage.register("heights", path=folder)
    for name, sql in SORTED.items():
        lineage.save(sql, name)
    write(folder / "c.parquet", [6, 16, 26, 36, 40])
    (folder / "b.parquet").unlink()
    lineage.refresh("heights")
    assert {step.way.value for step in lineage.updates()} == {"partly"}
    for name, sql in SORTED.items():
        wanted = spark.sql(sql).collect()
        assert lineage.result(name).collect() == wanted, name
        again = ForwardLineage(spark, tmp_path / "home")
        assert again.result(name).columns == lineage.result(name).columns
        shown = lineage.shown(lineage.describe(name), rows=20).rows  # each with its own lineage
        assert [row.cells[0] for row in shown.rows] == [None if one[0] is None else str(one[0]) for one in wanted]
        told = [row.origins[0].count for row in shown.rows]
        assert told == [len(lineage.backward_ids(name, rows=[number])) for number in _numbers(lineage, name)]
    array = lineage.to_array("tall", columns=["k"])
    assert [[each.k] for each in spark.sql(SORTED["tall"]).collect()] == array.values.tolist()
    cells = lineage.save(array, "tall_k")
    tallest = lineage.backward(cells.name, cells=(0, 0), table="heights").collect()
    assert [row.v for row in tallest] == [40]


def _numbers(lineage: ForwardLineage, name: str) -> list[int]:
    """The numbers of rows in the order of the result: what tells rows apart here are their values."""
    by_values = {tuple(row)[1:]: row[0] for row in lineage.rows(name).collect()}
    return [by_values[tuple(row)] for row in lineage.result(name).collect()]


def test_an_order_that_stays(spark: SparkSession, tmp_path: Path) -> None:
    """Groups that only have other values are in the order of their keys still, and nobody has to sort."""
    folder = tmp_path / "weights"
    write(folder / "a.parquet", [1, 2, 3, 4])
    lineage = ForwardLineage(spark, tmp_path / "home")
    lineage.register("weights", path=folder)
    lineage.save("SELECT v % 2 AS k, sum(v) AS s FROM weights GROUP BY v % 2 ORDER BY k DESC", "sums")
    write(folder / "b.parquet", [10])
    lineage.refresh("weights")
    assert [step.way.value for step in lineage.updates()] == ["partly"]
    assert lineage.describe("sums").order == ()
    assert [tuple(row) for row in lineage.result("sums").collect()] == [(1, 4), (0, 16)]
