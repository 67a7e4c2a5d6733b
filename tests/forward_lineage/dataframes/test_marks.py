"""Marks of functions over batches: what they promise, and what is said where the promise is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, LineageError, NotTracedError, all_so_far, row_by_row
from forward_lineage.spark.settings import configured
from tests.forward_lineage.conftest import rows_with_lineage
from tests.forward_lineage.dataframes.python_functions import running_totals, sales, same_rows

pytestmark = pytest.mark.slow


def test_all_that_was_given_so_far(shop: ForwardLineage) -> None:
    """Within a partition, in the order and the batches in which rows come; what spreads and sorts them is kept."""
    schema = "until INT, units BIGINT"
    ordered = sales(shop).repartition(3, "s_id").sortWithinPartitions("t_id")
    with configured(shop.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": "2"}):
        frame = sales(shop).repartition(1).sortWithinPartitions("t_id").mapInPandas(all_so_far(running_totals), schema)
        found = same_rows(shop.trace(frame), frame)
        assert [(row[0], ids["sales"]) for row, ids in sorted(found)] == [
            (until, list(range(1, until + 1))) for until in (2, 4, 6, 8, 10, 11)
        ]
        spread = ordered.mapInPandas(all_so_far(running_totals), schema)
        assert same_rows(shop.trace(spread), spread)
        fewer = spread.filter("units > 3000").agg(F.count("*").alias("n"))  # no filter goes below lineage
        wanted = {each for row, ids in rows_with_lineage(shop.trace(spread)) if row[1] > 3000 for each in ids["sales"]}
        assert [set(ids["sales"]) for _, ids in rows_with_lineage(shop.trace(fewer))] == [wanted]


def test_spread_where_sql_does_not_say_so(shop: ForwardLineage) -> None:
    rows = sales(shop).repartition(2, "s_id").select("t_id", "num")
    with pytest.raises(NotTracedError, match="spread anew further below"):
        shop.trace(rows.mapInPandas(all_so_far(running_totals), "until INT, units BIGINT"))
    doubled = rows.mapInPandas(row_by_row(lambda batches: (each * 2 for each in batches)), "t_id INT, num INT")
    assert len(same_rows(shop.trace(doubled), doubled)) == 11


def test_what_a_function_looks_at_must_be_said(shop: ForwardLineage) -> None:
    frame = sales(shop).mapInPandas(running_totals, "until INT, units BIGINT")
    with pytest.raises(NotTracedError, match=r"mapInPandas\(running_totals\) says nothing.*row_by_row.*all_so_far"):
        shop.trace(frame)
    numbers = shop.spark.range(3).mapInPandas(lambda batches: batches, "id BIGINT")  # of no table: nothing to say
    assert shop.trace(numbers).collect() == numbers.collect()
    for mark in (row_by_row, all_so_far):
        with pytest.raises(LineageError, match="is a mark of a function"):
            mark(3)  # type: ignore[arg-type]
        with pytest.raises(LineageError, match="with one mark"):
            mark(row_by_row(running_totals))


BROKEN: dict[str, tuple[Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]], str]] = {
    "fewer": (
        lambda batches: (each[each.num > 800] for each in batches),
        "gave [0-9]+ rows for a batch of [0-9]+: row by row",
    ),
    "more": (lambda batches: (pd.concat([each, each]) for each in batches), "rows for a batch of"),
    "none of the last": (lambda batches: iter([next(batches)]), "left others unread"),
    "all at the end": (lambda batches: iter([pd.concat(batches)]), "gave 0 rows for a batch"),
    "sorted": (lambda batches: (each.sort_values("num") for each in batches), "changed places"),
    "the user's own": (lambda batches: (each.assign(a=each.nothing) for each in batches), "has no attribute 'nothing'"),
    "other columns": (lambda batches: (each[["t_id"]] for each in batches), "Missing: num, s_id"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_functions_that_break_their_word(shop: ForwardLineage, name: str) -> None:
    function, said = BROKEN[name]
    rows = sales(shop).select("t_id", "s_id", "num").coalesce(1)
    with configured(shop.spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": "4"}):
        traced = shop.trace(rows.mapInPandas(row_by_row(function), rows.schema))
        with pytest.raises(PythonException, match=said):
            traced.collect()


def test_chance_is_not_evaluated_twice(shop: ForwardLineage) -> None:
    chance = sales(shop).mapInPandas(all_so_far(running_totals), "until INT, units BIGINT")
    frame = shop.spark.table("store").join(chance, F.expr("until = s_id"), "left_semi")
    assert shop.trace(frame).columns[-1] == "DL"
    with pytest.raises(NotTracedError, match="a function of Python's may give other rows"):
        shop.trace(frame, "control")
