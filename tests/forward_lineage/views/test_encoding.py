"""Keys become numbers of bars as a dictionary would make them; values become the numbers that are added up."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.views.encoding import Keys, numbers

KINDS = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    pa.string(): st.sampled_from(["", "a", "A", "ä", "a "]),
    pa.bool_(): st.booleans(),
}


@st.composite
def keyed(draw: st.DrawFn) -> tuple[list[pa.DataType], list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    row = st.tuples(*(st.none() | KINDS[kind] for kind in kinds))
    bars = draw(st.lists(row, max_size=8, unique=True))
    return kinds, bars, draw(st.lists(st.sampled_from(bars) | row if bars else row, max_size=20))


def columns(kinds: list[pa.DataType], rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    return [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]


@given(keyed(), st.booleans())
def test_keys(
    given_: tuple[list[pa.DataType], list[tuple[Any, ...]], list[tuple[Any, ...]]], in_dictionary: bool
) -> None:
    kinds, bars, rows = given_
    keys = Keys(columns(kinds, bars))
    assert keys.distinct
    number = {bar: place for place, bar in enumerate(bars)}
    read = columns(kinds, rows)
    if in_dictionary:  # as Parquet files have texts
        read = [each.dictionary_encode() if pa.types.is_string(each.type) else each for each in read]
    assert keys.bars(read).tolist() == [number.get(row, -1) for row in rows]


def test_bars_that_cannot_be_told_apart() -> None:
    assert not Keys([pa.array([1, None, 2, None])]).distinct


@pytest.mark.parametrize("offset", [0, 1])
def test_values(offset: int) -> None:
    decimals = pa.array([None, Decimal("1.50"), None, Decimal("-92233720368547758.08")], pa.decimal128(20, 2))
    assert numbers(decimals.slice(offset), floats=False).tolist() == [0, 150, 0, -(2**63)][offset:]
    whole = pa.array([None, 1, None, -(2**31)], pa.int32()).slice(offset)
    assert numbers(whole, floats=False).tolist() == [0, 1, 0, -(2**31)][offset:]
    floats = numbers(pa.array([None, 0.1, None, 2.0], pa.float32()).slice(offset), floats=True)
    assert floats.tolist() == [0, float(np.float32(0.1)), 0, 2][offset:]
