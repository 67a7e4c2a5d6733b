"""What rows unite for a grouping is united by the grouping, not made a value for each row."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

# x is NULL in some rows, sets are large in some
ROWS = """
    SELECT id % 3 AS g, id, nullif(id % 5, 0) AS x, s, dl_union(id, nullif(id % 5, 0), s) AS d
    FROM range(90) CROSS JOIN (SELECT dlunion(1000 + 7 * id) AS s FROM range(2000))"""
OF_SETS = set(range(1000, 15_000, 7))


def expected(group: int) -> list[int]:
    ids = range(group, 90, 3)
    return sorted({*ids, *(i % 5 for i in ids if i % 5), *OF_SETS})


@pytest.mark.parametrize(
    "aggregate",
    ["dlunion(d)", "dlunion(d) FILTER (WHERE id >= 0)", "dlunion(DISTINCT d)", "dl_union(dlunion(d), dlunion(id))"],
)
def test_same_ids(session: SparkSession, aggregate: str) -> None:
    rows = session.sql(f"SELECT g, dl_ids({aggregate}) AS ids, max(id), max(dl_size(d)) > 0 FROM ({ROWS}) GROUP BY g")
    assert {row.g: row.ids for row in rows.collect()} == {group: expected(group) for group in range(3)}


def test_no_row_has_a_value_of_its_own(session: SparkSession) -> None:
    plan = session.sql(f"SELECT g, dlunion(d) AS d FROM ({ROWS}) GROUP BY g")
    text = plan._jdf.queryExecution().optimizedPlan().toString()
    below = text[text.index("Project") :]
    assert "dl_union(" in text and "dl_union(" not in below, text


def test_lists_are_left_alone(session: SparkSession) -> None:
    lists = "SELECT id % 2 AS g, dl_union(array(id, id + 10), id) AS d FROM range(4)"
    rows = session.sql(f"SELECT g, dl_ids(dlunion(d)) AS ids FROM ({lists}) GROUP BY g").collect()
    assert {row.g: row.ids for row in rows} == {0: [0, 2, 10, 12], 1: [1, 3, 11, 13]}


def test_no_rows(session: SparkSession) -> None:
    data = session.sql(f"SELECT hex(dlunion(d)) FROM ({ROWS}) WHERE g > 5")
    assert data.first() == ("0000",)
