"""What runs in place of a user's function, without Spark: what the function sees, and the lineage of what it gives."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from forward_lineage.dataframes.marks import How, Marked, all_so_far, row_by_row
from forward_lineage.dataframes.tasks import FunctionTask, over_group, over_partition, united
from udafs.errors import InternalError, NotTracedError
from udafs.lineage_set import LineageSet


def value(*ids: int) -> bytes:
    return LineageSet(ids).to_bytes()


def batch(*rows: tuple[int, list[int], list[int]]) -> pa.RecordBatch:
    """Rows of one column, made of ids of two tables."""
    columns = {"a": pa.array([row[0] for row in rows], pa.int64())}
    sets = {f"__dl_{place}": pa.array([value(*row[1 + place]) for row in rows], pa.binary()) for place in (0, 1)}
    return pa.RecordBatch.from_pydict({**columns, **sets})


BATCHES = [batch((1, [5], []), (2, [6], [0])), batch(), batch((3, [5], [9]))]


def same(batches: Iterator[Any]) -> Iterator[Any]:
    return (each for each in batches)


def last(batches: Iterator[Any]) -> Iterator[Any]:
    *_, end = batches
    yield end


def task(
    function: Callable[..., Any], how: How | None = None, *, pandas: bool = False, encoding: str = "auto"
) -> FunctionTask:
    tables = ((1, 0),)  # the first column of lineage is that of the second table
    return FunctionTask(pickle.dumps((function, None)), "f", pandas, (1,), 1, ("x", "y"), tables, encoding, how)


def lineage(given: list[Any]) -> list[tuple[list[int], list[int]]]:
    """What rows are made of, once NULLs stand for what was before them."""
    found, known = [], [b"", b""]
    for rows in given:
        assert list(rows.columns if isinstance(rows, pd.DataFrame) else rows.schema.names) == ["a", "x", "y"]
        plain = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
        for row in plain.itertuples(index=False):
            known = [new or old for new, old in zip(row[1:], known, strict=True)]
            found.append(tuple(list(LineageSet.from_bytes(each).ids()) for each in known))
    return found


def frames() -> list[pd.DataFrame]:
    return [each.to_pandas() for each in BATCHES]


@pytest.mark.parametrize("pandas", [False, True])
def test_batches(pandas: bool) -> None:
    given = frames() if pandas else BATCHES
    rows = list(over_partition(task(row_by_row(same), "row_by_row", pandas=pandas))(iter(given)))
    assert lineage(rows) == [([], [5]), ([0], [6]), ([9], [5])]
    given = frames() if pandas else BATCHES
    so_far = list(over_partition(task(all_so_far(same), "all_so_far", pandas=pandas))(iter(given)))
    assert lineage(so_far) == [([0], [5, 6]), ([0], [5, 6]), ([0, 9], [5, 6])]
    given = frames() if pandas else BATCHES
    at_end = list(over_partition(task(all_so_far(last), "all_so_far", pandas=pandas))(iter(given)))
    assert lineage(at_end) == [([0, 9], [5, 6])]


@pytest.mark.parametrize("encoding", ["auto", "set", "bdd", "quick"])
def test_groups_in_every_encoding(encoding: str) -> None:
    group = pa.Table.from_batches(BATCHES)
    for function in (_key_and_rows, _rows):
        given = over_group(task(function, encoding=encoding))((7,), group)
        assert given["a"].to_pylist() == [1, 2, 3]
        assert given["x"].null_count == given["y"].null_count == 2  # said once
        assert lineage([given]) == [([0, 9], [5, 6])] * 3
    empty = over_group(task(_none, encoding=encoding))((7,), group)
    assert (empty.num_rows, empty.schema.names) == (0, ["a", "x", "y"])


def _key_and_rows(key: Any, rows: pa.Table) -> pa.Table:
    assert key == (7,)
    return _rows(rows)


def _rows(rows: pa.Table) -> pa.Table:
    assert rows.schema.names == ["a"]
    return rows


def _none(rows: pa.Table) -> pa.Table:
    return rows[:0]


def test_what_is_no_frame_is_for_spark_to_say() -> None:
    for odd in (3, None, pd.DataFrame()):
        given = over_group(task(_Constant(odd).of, pandas=True))((1,), frames()[0])
        assert type(given) is type(odd)
        assert not isinstance(given, pd.DataFrame) or not len(given.columns)
    given = over_partition(task(row_by_row(list), "row_by_row"))(iter(BATCHES[:0]))
    assert type(given).__name__ == "list"
    assert over_partition(task(row_by_row(_Constant(3).of), "row_by_row"))(iter(BATCHES)) == 3


class _Constant:
    def __init__(self, value: Any) -> None:
        self.value = value

    def of(self, _key: Any, _rows: Any = None) -> Any:
        return self.value


def test_a_name_is_not_believed() -> None:
    with pytest.raises(InternalError, match="another mark"):
        over_partition(task(same, "row_by_row"))(iter(BATCHES))
    with pytest.raises(InternalError, match="another mark"):
        over_partition(task(all_so_far(same), "row_by_row"))(iter(BATCHES))


def test_marked_functions_do_what_they_did() -> None:
    for mark in (row_by_row, all_so_far):
        marked = mark(same)
        assert isinstance(marked, Marked)
        assert marked.__name__ == f"{mark.__name__}(same)"
        assert list(marked(iter([1, 2]))) == [1, 2]


def test_rows_that_are_counted_wrongly() -> None:
    def given(function: Callable[..., Any]) -> list[Any]:
        made = FunctionTask(b"", "f", False, (1,), 1, ("x", "y"), ((0, 1),), "auto", "row_by_row")
        made.__dict__["function"] = function
        return list(over_partition(made)(iter(BATCHES)))

    assert len(given(lambda batches: (each[at : at + 1] for each in batches for at in range(len(each))))) == 3
    for wrong in (lambda batches: (each[:1] for each in batches), lambda batches: iter([next(batches)]), last):
        with pytest.raises(NotTracedError, match="for a batch of 2"):
            given(wrong)


def test_unions_of_nothing() -> None:
    assert not united([])
    assert not united([pa.array([], pa.large_binary())])
