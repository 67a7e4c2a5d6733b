"""Functions of Python over whole frames, as users write them, and what each row of theirs is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage import ForwardLineage, row_by_row
from tests.forward_lineage.conftest import rows_with_lineage

Frame = Callable[[DataFrame], DataFrame]
STORES = {1: [1, 2, 3], 2: [4, 5, 6], 3: [7, 8], 4: [9, 10, 11]}  # whose sales are which
TOTALS = "s_id INT, units BIGINT"


def shares(rows: DataFrame) -> DataFrame:
    """Each row of a group as part of the group."""

    def share(given: pd.DataFrame) -> pd.DataFrame:
        return given.assign(num=given.num / given.num.sum())[["t_id", "num"]]

    return rows.groupBy("s_id").applyInPandas(share, "t_id INT, num DOUBLE")


def totals(rows: DataFrame) -> DataFrame:
    """One row of a group, by its key; by columns that have no names."""

    def total(key: tuple[Any, ...], given: pd.DataFrame) -> pd.DataFrame:
        assert sorted(given.columns) == ["i_id", "num", "price", "s_id", "t_id"]
        return pd.DataFrame([(key[0], given.num.sum())])

    return rows.groupBy("s_id").applyInPandas(total, TOTALS)


def arrow_totals(rows: DataFrame) -> DataFrame:
    """The same in Arrow; some groups give nothing."""

    def total(key: tuple[pa.Scalar, ...], given: pa.Table) -> pa.Table:
        count = 0 if key[0].as_py() == 3 else 1
        units = [pc.sum(given["num"]).as_py()] * count
        return pa.table({"s_id": pa.array([key[0].as_py()] * count, pa.int32()), "units": pa.array(units, pa.int64())})

    return rows.groupBy("s_id").applyInArrow(total, TOTALS)


def twice(rows: DataFrame) -> DataFrame:
    """Two rows for each group: by an expression, without its key."""

    def both(given: pa.Table) -> pa.Table:
        return pa.table({"t_id": pa.array([pc.min(given["t_id"]).as_py(), pc.max(given["t_id"]).as_py()], pa.int32())})

    return rows.groupBy((F.col("s_id") % 2).alias("odd")).applyInArrow(both, "t_id INT")


def in_pieces(rows: DataFrame) -> DataFrame:
    """Groups that come and go in batches."""

    def running(given: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        units = 0
        for batch in given:
            units += batch.num.sum()
            yield pd.DataFrame({"s_id": batch.s_id[:1], "units": [units]})

    running.__annotations__ = {"given": Iterator[pd.DataFrame], "return": Iterator[pd.DataFrame]}
    return rows.groupBy("s_id").applyInPandas(running, TOTALS)


def in_arrow_pieces(rows: DataFrame) -> DataFrame:
    """The same in Arrow, by a key; the last batch that a group gives is empty."""

    def count(key: tuple[pa.Scalar, ...], given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        units = sum(batch.num_rows for batch in given)
        kinds = {"s_id": pa.int32(), "units": pa.int64()}
        for number in (1, 0):
            values = zip(kinds, ([key[0].as_py()] * number, [units] * number), strict=True)
            yield pa.RecordBatch.from_pydict({name: pa.array(each, kinds[name]) for name, each in values})

    batches = Iterator[pa.RecordBatch]
    count.__annotations__ = {"key": tuple[pa.Scalar, ...], "given": batches, "return": batches}
    return rows.groupBy("s_id").applyInArrow(count, TOTALS)


def by_rows(rows: DataFrame) -> DataFrame:
    """Row by row, in pandas: a batch that is given in two pieces, columns that the schema does not want."""

    def price(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            made = batch.assign(total=batch.price * batch.num, more=1)[["total", "t_id", "more"]]
            yield made[:1]
            yield made[1:]

    return rows.mapInPandas(row_by_row(price), "total BIGINT, t_id INT")


def by_arrow_rows(rows: DataFrame) -> DataFrame:
    """Row by row, in Arrow."""

    def price(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            total = pc.multiply(batch["price"], batch["num"])
            yield pa.RecordBatch.from_arrays([batch["t_id"], total], ["t_id", "total"])

    return rows.mapInArrow(row_by_row(price), "t_id INT, total INT")


def arrow_free_count(rows: DataFrame) -> DataFrame:
    def count(given: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"s_id": given.s_id[:1], "n": [len(given)]})

    return rows.groupBy("s_id").applyInPandas(count, "s_id INT, n BIGINT")


def matched(key: tuple[Any, ...], left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"key": [key[0]], "left": [len(left)], "right": [len(right)]})


def running_totals(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    units = 0
    for batch in batches:
        units += batch.num.sum()
        yield pd.DataFrame({"until": batch.t_id[-1:], "units": [units]})


def by_rows_with_columns(rows: DataFrame) -> DataFrame:
    def as_they_are(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        return batches

    return rows.mapInPandas(row_by_row(as_they_are), rows.schema)


def by_groups(*groups: list[int]) -> Callable[[tuple[Any, ...]], list[list[int]]]:
    """The group of a row that has some of its ids in front."""
    return lambda row: [group for group in groups if row[0] in group]


def of_store(row: tuple[Any, ...]) -> list[list[int]]:
    return [STORES[row[0]]]


EVEN = [*STORES[2], *STORES[4]]
ODD = [*STORES[1], *STORES[3]]
CASES: dict[str, tuple[Frame, Callable[[tuple[Any, ...]], list[list[int]]]]] = {
    "shares": (shares, by_groups(*STORES.values())),
    "totals": (totals, of_store),
    "arrow totals": (arrow_totals, of_store),
    "twice": (twice, by_groups(EVEN, ODD)),
    "in pieces": (in_pieces, of_store),
    "in Arrow pieces": (in_arrow_pieces, of_store),
    "by rows": (by_rows, lambda row: [[row[1]]]),
    "by Arrow rows": (by_arrow_rows, lambda row: [[row[0]]]),
}


def sales(lineage: ForwardLineage) -> DataFrame:
    return lineage.spark.table("sales")


def same_rows(traced: DataFrame, frame: DataFrame) -> list[tuple[tuple[Any, ...], dict[str, list[int]]]]:
    """The rows of a traced frame with their lineage, once they are seen to be those of the frame."""
    assert traced.columns == [*frame.columns, "DL"]
    assert [each.dataType for each in traced.schema][:-1] == [each.dataType for each in frame.schema]
    rows = rows_with_lineage(traced)
    assert sorted((row for row, _ in rows), key=repr) == sorted(map(tuple, frame.collect()), key=repr)
    return rows
