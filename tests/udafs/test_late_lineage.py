"""Rows get the lineage of a subquery after they are sorted: the same rows, and nothing of it in the exchange."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.udafs.test_functions import session
from udafs.lineage_set import LineageSet

__all__ = ["session"]

EVERY = "(SELECT dlunion(id) FROM range(0, 9000, 3))"
LOOKED_UP = """
    WITH g AS (SELECT id % 7 AS k, dl_quick(dlunion(id)) AS d FROM range(500) GROUP BY 1),
      s AS (SELECT *, dl_number(d) AS n FROM g)
    SELECT k, named_struct('t', dl_compose(n, (SELECT dl_relation(n, d) FROM s))) AS DL FROM s ORDER BY k DESC"""
GROUPED = f"SELECT id % 7 AS k, named_struct('t', dl_union(dlunion(id), {EVERY})) AS DL FROM range(500) GROUP BY 1"
MOVED = {
    "of a row": f"SELECT id AS k, named_struct('t', dl_of(id), 'u', {EVERY}) AS DL FROM range(50) ORDER BY k",
    "a value": f"SELECT id AS k, dl_union(id, {EVERY}) AS DL FROM range(50) ORDER BY -id",
    "filtered": f"SELECT * FROM ({GROUPED} HAVING count(*) > 71) ORDER BY k DESC",
    "of groups": f"{GROUPED} ORDER BY k",
    "filtered, and computed": f"SELECT k + 1 AS k, DL FROM ({GROUPED} HAVING count(*) > 71) ORDER BY k + 1 DESC",
    "in the order of what is not returned": f"{GROUPED} ORDER BY max(id)",
    "looked up": LOOKED_UP,
}
STAYS = {
    "the order is its own": f"SELECT id AS k, dl_union(id, {EVERY}) AS DL FROM range(50) ORDER BY dl_size(DL), k",
    "something is made of it": f"SELECT k, DL, dl_size(DL.t) AS n FROM ({GROUPED} HAVING count(*) > 71) ORDER BY k",
    "no subquery's": "SELECT id AS k, dl_of(id) AS DL FROM range(50) ORDER BY k",
}


def plan(frame: DataFrame) -> list[str]:
    return str(frame._jdf.queryExecution().optimizedPlan().toString()).splitlines()


def sort_and_lineage(frame: DataFrame) -> tuple[int, int]:
    """The lines of the plan that sort, and that make lineage of a subquery."""
    lines = plan(frame)
    sort = next(at for at, line in enumerate(lines) if "Sort [" in line)
    return sort, next((at for at, line in enumerate(lines) if "scalar-subquery" in line and "AS DL" in line), sort)


def sets(frame: DataFrame) -> list[tuple[int, list[list[int]]]]:
    return [
        (
            row.k,
            [
                sorted(LineageSet.from_bytes(each))
                for each in ((row.DL,) if isinstance(row.DL, (bytes, bytearray)) else row.DL)
            ],
        )
        for row in frame.collect()
    ]


@pytest.mark.parametrize("query", MOVED.values(), ids=MOVED)
def test_it_is_made_above_the_sort(session: SparkSession, query: str) -> None:
    frame = session.sql(query)
    sort, made = sort_and_lineage(frame)
    assert made < sort
    unsorted = session.sql(query[: query.rindex("ORDER BY")])
    assert sorted(sets(frame)) == sorted(sets(unsorted))
    users = frame.drop("DL")
    assert [row.k for row in frame.collect()] == [row.k for row in users.collect()], "in the user's order"
    assert frame.schema == unsorted.schema


@pytest.mark.parametrize("query", STAYS.values(), ids=STAYS)
def test_it_stays(session: SparkSession, query: str) -> None:
    sort, made = sort_and_lineage(session.sql(query))
    assert made >= sort


def test_rows_behind_a_limit_get_none(session: SparkSession) -> None:
    frame = session.sql(f"{GROUPED} ORDER BY k LIMIT 3")
    sort, made = sort_and_lineage(frame)
    assert made < sort
    assert "TakeOrderedAndProject" in str(frame._jdf.queryExecution().executedPlan().toString())
    assert [k for k, _ in sets(frame)] == [0, 1, 2]
