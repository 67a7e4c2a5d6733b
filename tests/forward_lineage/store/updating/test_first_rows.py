"""The first rows of a query with LIMIT: how they are sorted, and that new ones are put among them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.frontend import parse
from forward_lineage.store.library.made_of import SortKey
from forward_lineage.store.updating.first_rows import FirstRows, check_order, first_rows
from forward_lineage.store.updating.joining_rows import NotProvableError
from tests.forward_lineage.store.updating.full_run import as_saved, full_run
from tests.shared_state import drop_views


@pytest.mark.parametrize(
    ("order", "columns"),
    [
        ("a", [(0, False, True)]),
        ("2 DESC, a NULLS LAST", [(1, True, False), (0, False, False)]),
        ("x.b DESC NULLS FIRST", [(1, True, True)]),
    ],
)
def test_order(order: str, columns: list[tuple[int, bool, bool]]) -> None:
    found = first_rows(parse(f"SELECT a, x.b FROM x ORDER BY {order} LIMIT 3").tree, ["a", "b"], set())
    assert found == FirstRows(tuple(SortKey(*each) for each in columns), 3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM x ORDER BY b LIMIT 3",
        "SELECT a FROM x ORDER BY a + 1 LIMIT 3",
        "SELECT a, b AS a FROM x ORDER BY a LIMIT 3",
        "SELECT a FROM x ORDER BY a LIMIT 1 + 1",
        "SELECT a, count(*) FROM x GROUP BY a ORDER BY a LIMIT 3",
    ],
)
def test_no_order(sql: str) -> None:
    tree = parse(sql).tree
    with pytest.raises(NotProvableError):
        first_rows(tree, tree.named_selects, None)


def test_sorted() -> None:
    rows = [("é", None), ("z", 2), (None, 1), ("z", 1), ("", Decimal("0.5"))]
    up, down = SortKey(0, descending=False, nulls_first=True), SortKey(1, descending=True, nulls_first=False)
    assert FirstRows((up, down), 9).of(rows) == [2, 4, 1, 3, 0]
    assert FirstRows((down, up), 2).of([(None, None), ("b", 1), ("a", 1), ("a", 2)]) == [3, 2]
    with pytest.raises(NotProvableError):
        FirstRows((down,), 2).of([(None, None), ("b", 1), ("a", 1), ("a", 2)])
    with pytest.raises(NotProvableError):
        check_order(FirstRows((down,), 2), ["string", "double"])


FIRST = {
    "top_sales": "SELECT id, v FROM top_days ORDER BY v DESC, id LIMIT 3",
    "top_shops": "SELECT shop, sum(v) AS s FROM top_days GROUP BY shop ORDER BY s DESC LIMIT 2",
}


def test_rows_behind_fewer_than_the_limit(spark: SparkSession, tmp_path: Path) -> None:
    """New rows that come last are new all the same: each stands where it would stand if all were as before."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    sql = "SELECT id, v FROM few_days WHERE v > 35 ORDER BY v DESC LIMIT 9"
    for number, more in enumerate(["", ", (3, 40), (4, 38)"]):
        frame = spark.sql(f"SELECT * FROM VALUES (1, 50), (2, 30){more} AS t(id, v)")
        lineage.register("few_days", source=frame, key="id")
        if number == 0:
            lineage.save(sql, "few")
    assert [step.way.value for step in lineage.updates()] == ["partly"]
    assert as_saved(lineage, "few") == full_run(lineage, sql)
    assert [row.v for row in lineage.result("few").collect()] == [50, 40, 38]
    drop_views(spark)


@pytest.mark.long
def test_rows_that_are_first(spark: SparkSession, tmp_path: Path) -> None:
    """Rows, their order and lineage are those of a full run, and rows before the first new one keep their numbers."""
    lineage = ForwardLineage(spark, tmp_path / "home")
    rows = "(1, 1, 50), (2, 1, 30), (3, 2, 40), (4, 3, 10), (5, 4, 5)"
    for number, more in enumerate(["", ", (6, 3, 45)", ", (6, 3, 45), (7, 4, 1)", ", (6, 3, 45), (8, 5, 200)"]):
        frame = spark.sql(f"SELECT * FROM VALUES {rows}{more} AS t(id, shop, v)")
        lineage.register("top_days", source=frame, key="id")
        if number == 0:
            for name, sql in FIRST.items():
                lineage.save(sql, name)
        steps = {step.result: step.way.value for step in lineage.updates()}
        if number == 1:
            assert steps["top_sales"] == "partly" and list(lineage.describe("top_sales").numbers()) == [0, 3, 4]
        for name, sql in FIRST.items():
            assert as_saved(lineage, name) == full_run(lineage, sql), name
            assert lineage.result(name).collect() == spark.sql(sql).collect(), "in order"
    drop_views(spark)
