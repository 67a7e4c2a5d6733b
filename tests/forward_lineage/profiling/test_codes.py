"""Attributes as numbers: equal numbers where values are equal, whatever pieces and dictionaries a column comes in."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forward_lineage.profiling import codes as codes_module
from forward_lineage.profiling.codes import encoded, grouped
from tests.forward_lineage.profiling.random_columns import codes_of, relations

KINDS = {
    "int8": (pa.int8(), [None, 0, -128, 127]),
    "int64": (pa.int64(), [None, 0, -(2**63), 2**63 - 1]),
    "string": (pa.string(), [None, "", "a", "A", "ä", "a "]),
    "bool": (pa.bool_(), [None, True, False]),
    "date": (pa.date32(), [None, datetime.date(1, 1, 1), datetime.date(2020, 2, 29)]),
    "decimal": (pa.decimal128(20, 2), [None, Decimal("0.00"), Decimal("-1.50"), Decimal("1.50")]),
    "binary": (pa.binary(), [None, b"", b"\0", b"\xff"]),
    "time": (pa.timestamp("us", "UTC"), [None, datetime.datetime(1960, 1, 1, tzinfo=datetime.UTC)]),
}


@given(st.data(), st.sampled_from(sorted(KINDS)), st.booleans())
def test_values_come_back(data: st.DataObject, kind: str, dictionaries: bool) -> None:
    arrow, values = KINDS[kind]
    pieces = data.draw(st.lists(st.lists(st.sampled_from(values), max_size=6), max_size=4))
    arrays: list[pa.Array] = [pa.array(piece, arrow) for piece in pieces]
    if dictionaries:
        arrays = [array.dictionary_encode() for array in arrays]
        arrow = pa.dictionary(pa.int32(), arrow)
    found = encoded(pa.chunked_array(arrays, arrow))
    flat = [value for piece in pieces for value in piece]
    assert found.shown(found.codes).to_pylist() == flat
    assert len(found.values) == len(set(flat) - {None}) == found.count - 1
    known = found.known()
    assert (known is None) == (None not in flat)
    assert known is None or known.tolist() == [value is not None for value in flat]


def test_a_dictionary_may_say_a_value_twice() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["a", "b", "a"]))
    found = encoded(pa.chunked_array([twice]))
    assert found.values.to_pylist() == ["a", "b"]
    assert found.codes.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_zeros_are_one_and_so_are_all_nan(kind: pa.DataType) -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0001))[0]
    found = encoded(pa.chunked_array([pa.array([0.0, -0.0, None, float("nan"), other_nan, 0.5], kind)]))
    assert found.codes.tolist() == [0, 0, 3, 1, 1, 2]
    assert str(found.values[0].as_py()) == "0.0"
    assert found.values.type == kind


def test_codes_are_as_narrow_as_can_be() -> None:
    for count, kind in ((255, "uint8"), (256, "uint16"), (65535, "uint16"), (65536, "uint32")):
        assert encoded(pa.chunked_array([pa.array(range(count))])).codes.dtype == kind


def groups_of(columns: list[list[int | None]], nulls_equal: bool) -> list[Any]:
    rows = list(zip(*columns, strict=True))
    return [row if nulls_equal or None not in row else None for row in rows]


@given(relations(3), st.booleans(), st.booleans())
def test_rows_are_grouped_by_all_columns(columns: list[list[int | None]], nulls_equal: bool, crowded: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if crowded:  # more combinations than there is room for
            patch.setattr(codes_module, "_DENSE_ENOUGH", 0)
        found = grouped([codes_of(column) for column in columns], nulls_equal=nulls_equal)
    expected = groups_of(columns, nulls_equal)
    known = found.known if found.known is not None else [True] * len(expected)
    assert [bool(each) for each in known] == [each is not None for each in expected]
    inside = [place for place, each in enumerate(expected) if each is not None]
    for one in inside:
        assert found.of[one] < found.count
        for other in inside:
            assert (found.of[one] == found.of[other]) == (expected[one] == expected[other])
