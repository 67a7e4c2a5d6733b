"""Rows that are the same, and rows that are not."""

from __future__ import annotations

import math

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from forward_lineage.checking.comparison import (
    compare_bags,
    first_difference,
    is_within,
    occurrences,
    ordered_alike,
    show,
)
from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.values import Value, read_row, unordered

DOUBLE = DoubleType()


def row(text: str, *types: DataType) -> Value:
    return read_row(text, types)


def number(*values: float) -> Value:
    return Value("~" * len(values), tuple((value, 1e-9) for value in values))


def words(*texts: str) -> list[Value]:
    return [Value(text) for text in texts]


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ('{"c0":"NaN"}', '{"c0":"NaN"}', DOUBLE),
        ('{"c0":-0.0}', '{"c0":0.0}', DOUBLE),
        ('{"c0":"Infinity"}', '{"c0":"Infinity"}', DOUBLE),
        ('{"c0":{"b":1,"a":2}}', '{"c0":{"a":2,"b":1}}', MapType(StringType(), IntegerType())),
        ('{"c0":{"-0.0":1}}', '{"c0":{"0.0":1}}', MapType(DOUBLE, IntegerType())),
    ],
)
def test_equal_values(left: str, right: str, kind: DataType) -> None:
    assert compare_bags([row(left, kind)], [row(right, kind)]) is Rows.EQUAL


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ('{"c0":"NaN"}', '{"c0":null}', DOUBLE),
        ('{"c0":"Infinity"}', '{"c0":"-Infinity"}', DOUBLE),
        ('{"c0":1.0}', '{"c0":1.00001}', DOUBLE),
        ('{"c0":1.50}', '{"c0":1.51}', DecimalType(3, 2)),
        ('{"c0":[1,2]}', '{"c0":[2,1]}', ArrayType(IntegerType())),
        ('{"c0":[1.0]}', '{"c0":[1.0,1.0]}', ArrayType(DOUBLE)),
        ('{"c0":"null"}', '{"c0":null}', StringType()),
        ('{"c0":{"a":1,"a":2}}', '{"c0":{"a":1,"a":3}}', StructType([StructField("a", IntegerType())] * 2)),
        ('{"c0":{"a":1}}', '{"c0":{"b":1}}', MapType(StringType(), IntegerType())),
    ],
)
def test_different_values(left: str, right: str, kind: DataType) -> None:
    assert compare_bags([row(left, kind)], [row(right, kind)]) is Rows.DIFFERENT


def test_floats_have_a_tolerance_of_their_own_type() -> None:
    pair = ['{"c0":1.000001}', '{"c0":1.0}']
    assert compare_bags(*([row(each, FloatType())] for each in pair)) is Rows.TOLERANCE
    assert compare_bags(*([row(each, DOUBLE)] for each in pair)) is Rows.DIFFERENT


def test_sums_that_cancel_out_are_as_exact_as_what_was_summed() -> None:
    assert compare_bags([number(1e9), number(0.0)], [number(1e9), number(1e-7)]) is Rows.TOLERANCE
    assert compare_bags([number(1.0), number(0.0)], [number(1.0), number(1e-7)]) is Rows.DIFFERENT


def test_rows_that_differ_in_last_digits_are_paired_whatever_their_order() -> None:
    left = [number(1.0, 5.0), number(1.0 + 1e-12, 4.0)]
    right = [number(1.0 + 2e-12, 5.0), number(1.0, 4.0)]
    assert compare_bags(left, right) is Rows.TOLERANCE
    assert compare_bags(left, [right[0], right[0]]) is Rows.DIFFERENT


def test_bags_count() -> None:
    assert compare_bags(words("a", "a", "b"), words("a", "b", "a")) is Rows.EQUAL
    assert compare_bags(words("a", "a", "b"), words("a", "b", "b")) is Rows.DIFFERENT
    assert compare_bags(words("a"), words("a", "a")) is Rows.DIFFERENT
    assert is_within(words("a", "a"), words("a", "b", "a"))
    assert not is_within(words("a", "a", "a"), words("a", "b", "a"))
    assert occurrences(number(1.0), [number(1.0 + 1e-12), number(1.1), number(1.0)]) == [0, 2]
    assert occurrences(Value("a"), words("b")) == []


def test_order_counts_between_keys_not_within() -> None:
    assert ordered_alike(words("a", "b", "c"), words("b", "a", "c"), ["1", "1", "2"])
    assert not ordered_alike(words("a", "b", "c"), words("a", "c", "b"), ["1", "1", "2"])


def test_lists_without_an_order_of_their_own() -> None:
    kind = ArrayType(IntegerType())
    assert unordered(row('{"c0":[1,2]}', kind)) == unordered(row('{"c0":[2,1]}', kind))
    assert unordered(row('{"c0":[1,2]}', kind)) != unordered(row('{"c0":[1,3]}', kind))


def test_differences_are_told_in_one_line() -> None:
    assert first_difference(words("a"), []) == "0 rows where plain Spark gives 1"
    assert first_difference(words("a", "b"), words("a", "c")) == "c where plain Spark gives b"
    assert show(row('{"c0":1.5,"c1":"x"}', DOUBLE, StringType())) == '[1.5, "x"]'
    assert math.isnan(row('{"c0":"NaN"}', DOUBLE).floats[0][0])
