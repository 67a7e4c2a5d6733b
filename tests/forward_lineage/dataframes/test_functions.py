"""Functions of Python over whole frames: Spark's own rows, and of each the rows that the function was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, LineageError, NotTracedError, row_by_row
from forward_lineage.spark.settings import configured
from tests.forward_lineage.conftest import rows_with_lineage
from tests.forward_lineage.dataframes.python_functions import (
    CASES,
    STORES,
    TOTALS,
    arrow_free_count,
    by_rows,
    by_rows_with_columns,
    matched,
    sales,
    same_rows,
    shares,
    totals,
)

pytestmark = pytest.mark.slow

ITERATORS = ("in pieces", "in Arrow pieces")
CASE = [
    pytest.param(
        name,
        marks=[
            *([pytest.mark.since("4.0", "applyInArrow")] if "rrow totals" in name or name == "twice" else []),
            *([pytest.mark.since("4.1", "groups in batches")] if name in ITERATORS else []),
        ],
    )
    for name in CASES
]


@pytest.mark.parametrize("name", CASE)
@pytest.mark.parametrize("semantics", ["data", pytest.param("control", marks=pytest.mark.long)])
def test_made_of_what_the_function_was_given(shop: ForwardLineage, name: str, semantics: str) -> None:
    make, made_of = CASES[name]
    frame = make(sales(shop))
    with configured(shop.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": "2"}):
        rows = same_rows(shop.trace(frame, semantics), frame)
    assert rows
    for row, ids in rows:
        assert [ids["sales"]] == made_of(row), row


@pytest.mark.parametrize("name", ["shares", "totals", "by rows"])
def test_each_row_needs_its_lineage_and_no_more(shop: ForwardLineage, name: str) -> None:
    """Cut down to its lineage the table gives the row; without one of these rows it gives another."""
    make, _ = CASES[name]
    rows = rows_with_lineage(shop.trace(make(sales(shop)).filter("t_id < 5" if name != "totals" else "s_id < 3")))
    assert rows
    for row, ids in rows:
        kept = make(sales(shop).filter(F.col("t_id").isin(ids["sales"]))).collect()
        assert row in map(tuple, kept)
        without = make(sales(shop).filter(F.col("t_id").isin(ids["sales"][1:]))).collect()
        assert row not in map(tuple, without)


def test_what_stands_above_is_traced_as_always(shop: ForwardLineage) -> None:
    """Joins of two functions' rows and a table, a filter, groups; a function over another's rows; one frame twice."""
    store = shop.spark.table("store")
    both = totals(sales(shop)).join(arrow_free_count(sales(shop)), "s_id").join(store, "s_id").filter("units > 3400")
    found = same_rows(shop.trace(both), both)
    assert [(row[0], ids) for row, ids in found] == [
        (each, {"sales": STORES[each], "store": [each]}) for each in (1, 2, 4)
    ]
    grouped = both.groupBy("state").agg(F.sum("units").alias("units"))
    assert [(row, ids["store"], ids["sales"]) for row, ids in same_rows(shop.trace(grouped), grouped)] == [
        (("CA", 4600), [1], STORES[1]),
        (("NY", 7100), [2, 4], [*STORES[2], *STORES[4]]),
    ]
    above = totals(
        by_rows(sales(shop)).selectExpr("t_id", "t_id % 2 AS s_id", "0 AS i_id", "0 AS price", "total AS num")
    )
    assert [(row[0], ids["sales"]) for row, ids in same_rows(shop.trace(above), above)] == [
        (0, [2, 4, 6, 8, 10]),
        (1, [1, 3, 5, 7, 9, 11]),
    ]
    one = totals(sales(shop))
    other = (
        one.alias("a")
        .join(one.alias("b"), F.expr("a.units < b.units AND a.s_id = 3"))
        .selectExpr("a.s_id", "b.s_id AS other")
    )
    assert [ids["sales"] for _, ids in same_rows(shop.trace(other), other)] == [
        sorted(STORES[3] + STORES[each]) for each in (1, 2, 4)
    ]


def test_two_groups_of_a_key(shop: ForwardLineage) -> None:
    """Keys on one side alone; lineage in one table of both sides, and in one of one side."""
    spark = shop.spark
    left = sales(shop).filter("s_id < 3").join(spark.table("store"), "s_id").select("s_id", "t_id")
    right = sales(shop).filter("num > 1000 AND s_id <> 1").select("s_id", "num")
    frame = left.groupBy("s_id").cogroup(right.groupBy("s_id")).applyInPandas(matched, "key INT, left INT, right INT")
    assert same_rows(shop.trace(frame), frame) == [
        ((1, 3, 0), {"sales": [1, 2, 3], "store": [1]}),
        ((2, 3, 1), {"sales": [4, 5, 6], "store": [2]}),
        ((3, 0, 1), {"sales": [7], "store": []}),
        ((4, 0, 2), {"sales": [9, 10], "store": []}),
    ]
    with_numbers = left.groupBy("s_id").cogroup(spark.range(1, 3).groupBy("id"))
    numbers = with_numbers.applyInPandas(lambda one, two: two.assign(n=len(one)), "id BIGINT, n INT")
    found = same_rows(shop.trace(numbers), numbers)
    assert [ids for _, ids in found] == [{"sales": STORES[each], "store": [each]} for each in (1, 2)]


@pytest.mark.since("4.0", "applyInArrow")
def test_two_groups_of_a_key_in_arrow(shop: ForwardLineage) -> None:
    def count(left: pa.Table, right: pa.Table) -> pa.Table:
        return pa.table(
            {"left": pa.array([left.num_rows], pa.int32()), "right": pa.array([right.num_rows], pa.int32())}
        )

    left, right = sales(shop).filter("t_id < 5"), sales(shop).filter("t_id > 3").select("t_id", "s_id")
    frame = left.groupBy("s_id").cogroup(right.groupBy("s_id")).applyInArrow(count, "left INT, right INT")
    assert [ids["sales"] for _, ids in same_rows(shop.trace(frame), frame)] == [
        [7, 8],
        [9, 10, 11],
        [4, 5, 6],
        [1, 2, 3],
    ]


def test_users_errors_in_groups(shop: ForwardLineage) -> None:
    def wrong(given: pd.DataFrame) -> pd.DataFrame:
        raise ValueError(f"no good: {len(given)} rows")

    frame = sales(shop).groupBy("s_id").applyInPandas(wrong, TOTALS)
    with pytest.raises(PythonException, match="ValueError: no good"):
        shop.trace(frame).collect()
    with pytest.raises(LineageError, match="no good"):
        shop.save(frame, "wrong")


def test_null_keys_nested_types_and_nothing_at_all(shop: ForwardLineage) -> None:
    rows = sales(shop).selectExpr(
        "nullif(s_id, 1) AS k", "named_struct('a', t_id, 'b', array(num)) AS both", "map('x', t_id) AS m"
    )

    def first(key: tuple[Any, ...], given: pd.DataFrame) -> pd.DataFrame:
        return given.head(0 if key[0] == 3 else 1)

    frame = rows.groupBy("k").applyInPandas(first, rows.schema)
    found = same_rows(shop.trace(frame), frame)
    assert {row[0]: ids["sales"] for row, ids in found} == {None: STORES[1], 2: STORES[2], 4: STORES[4]}
    empty = rows.filter("k > 9").groupBy("k").applyInPandas(first, rows.schema)
    assert same_rows(shop.trace(empty), empty) == []
    barrier = rows.mapInPandas(row_by_row(lambda batches: batches), rows.schema, barrier=True)
    assert [len(ids["sales"]) for _, ids in same_rows(shop.trace(barrier), barrier)] == [1] * 11


def test_nothing_runs_before_the_rows_are_used_and_once_then(shop: ForwardLineage, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def noted(given: pd.DataFrame) -> pd.DataFrame:
        with seen.open("a") as file:
            file.write("x")
        return given

    rows = sales(shop).select("s_id", "t_id")
    traced = shop.trace(rows.groupBy("s_id").applyInPandas(noted, rows.schema))
    assert not seen.exists()
    assert len(traced.collect()) == 11
    assert seen.read_text() == "xxxx"


def test_broadcasts_and_long_functions_come_along(shop: ForwardLineage) -> None:
    factor = shop.spark.sparkContext.broadcast(3)
    long = bytes(range(256)) * 8192

    def times(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        return (each * factor.value + len(long) for each in batches)

    frame = sales(shop).select("t_id").mapInPandas(row_by_row(times), "t_id INT")
    found = same_rows(shop.trace(frame), frame)
    assert [(row[0] - len(long), ids["sales"]) for row, ids in found] == [(3 * each, [each]) for each in range(1, 12)]


def test_control_lineage_of_what_a_function_is_given(shop: ForwardLineage) -> None:
    """A subquery's rows come along; where it keeps rows out of a group, and cannot be asked which, it is refused."""
    spark, rows = shop.spark, sales(shop)
    dear = rows.join(spark.table("store").filter("state = 'CA'"), "s_id", "left_semi")
    found = rows_with_lineage(shop.trace(totals(dear), "control"))
    assert found == [
        ((each, units), {"sales": STORES[each], "store": [each]}) for each, units in ((1, 4600), (3, 2100))
    ]
    others = rows.join(spark.table("store").filter("state = 'CA'"), "s_id", "left_anti")
    assert [ids["sales"] for _, ids in rows_with_lineage(shop.trace(totals(others)))] == [STORES[2], STORES[4]]
    with pytest.raises(NotTracedError, match=r'others may join when base rows are gone.*semantics="data"'):
        shop.trace(totals(others), "control")
    kept = rows_with_lineage(shop.trace(by_rows(others), "control"))
    assert [ids["sales"] for _, ids in kept] == [[row[1]] for row, _ in kept]
    decided = spark.table("store").join(totals(rows).filter("units > 4000"), "s_id", "left_anti").select("s_id")
    for each, stores in ((decided, [2, 3, 4]), (decided.filter("s_id > 2"), [3, 4])):
        assert [ids["store"] for _, ids in rows_with_lineage(shop.trace(each))] == [[one] for one in stores]


def test_rows_with_lineage_are_not_given_to_functions(shop: ForwardLineage) -> None:
    traced = shop.sql("SELECT s_id, num FROM sales")
    frame = traced.mapInPandas(row_by_row(lambda batches: batches), traced.schema)
    with pytest.raises(LineageError, match=r"drop\('DL'\)"):
        shop.trace(frame)


def test_saved_asked_explained_and_affected(store: ForwardLineage) -> None:
    frame = totals(by_rows_with_columns(sales(store)))
    said = store.explain(frame)
    assert "applyInPandas(total) of SELECT" in said
    assert "mapInPandas(row_by_row(as_they_are)) of SELECT" in said
    assert rows_with_lineage(store.affected(frame, "sales", "t_id = 6")) == [((2, 3600), {"sales": [6]})]
    saved = store.save(frame, "totals")
    assert (saved.rows, saved.tables[0].pairs) == (4, 11)
    assert sorted(store.backward_ids("totals", "s_id = 3")) == [7, 8]
    assert [row.s_id for row in store.forward("sales", "t_id = 10", result="totals").collect()] == [4]
    again = shares(sales(store)).join(store.spark.table("totals").filter("units > 4000"), F.expr("t_id % 4 + 1 = s_id"))
    store.save(again, "again")
    assert sorted(store.backward_ids("again", "t_id = 8", table="sales")) == sorted([*STORES[3], *STORES[1]])
    some = store.save(frame, "some", where={"sales": "num > 2000"})
    assert some.tables[0].pairs == 2
    with pytest.raises(NotTracedError, match="cannot be captured later"):
        store.save(frame, "later", capture="later")
