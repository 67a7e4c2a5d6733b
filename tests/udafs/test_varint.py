"""Varints over arrays, against one number at a time."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.udafs import reference_format
from udafs import varint
from udafs.errors import CorruptLineageError

numbers = st.integers(0, 62).flatmap(lambda bits: st.integers(0, 2 << bits)).map(lambda n: min(n, 2**63 - 1))


parts = st.sampled_from([9, 16, 1 << 17])  # bytes decoded at a time


@given(st.lists(numbers), parts)
def test_encode_and_decode(values: list[int], part: int) -> None:
    array = np.array(values, np.uint64)
    expected = [reference_format.varint(value) for value in values]
    assert varint.encode(array) == b"".join(expected)
    assert varint.sizes(array).tolist() == [len(each) for each in expected]
    with patch.object(varint, "_PART", part):
        assert varint.decode(np.frombuffer(b"".join(expected), np.uint8)).tolist() == values


@given(st.binary(max_size=40), parts)
def test_decode_any_bytes(data: bytes, part: int) -> None:
    reader = reference_format.Reader(data)
    try:
        expected = []
        while reader.left():
            expected.append(reader.varint())
    except reference_format.MalformedError:
        with pytest.raises(CorruptLineageError), patch.object(varint, "_PART", part):
            varint.decode(np.frombuffer(data, np.uint8))
    else:
        with patch.object(varint, "_PART", part):
            assert varint.decode(np.frombuffer(data, np.uint8)).tolist() == expected


@given(numbers, st.binary(max_size=12))
def test_the_first_alone(number: int, rest: bytes) -> None:
    data = reference_format.varint(number) + rest
    assert varint.decode_first(np.frombuffer(data, np.uint8)) == (number, len(data) - len(rest))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 9 + b"\x01", b"\x80" * 30, b"\x81\x00"])
def test_no_first(data: bytes) -> None:
    with pytest.raises(CorruptLineageError):
        varint.decode_first(np.frombuffer(data, np.uint8))
