"""Ranges and sketches against brute force."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
import pytest

from forward_lineage import LineageError
from forward_lineage.columns.ranges import MOST_RANGES, Partition, Sketch, equi_depth
from tests.forward_lineage.sketches.columns import TYPES, drawn, key


@pytest.mark.parametrize("name", TYPES)
def test_a_value_is_behind_the_bounds_that_are_not_greater(name: str) -> None:
    for seed, ranges in itertools.product(range(5), (1, 4, 1000)):
        values = drawn(name, 60, seed)
        partition = Partition("t", "c", equi_depth(values, ranges))
        bounds = [key(each) for each in partition.bounds.to_pylist()]
        expected = [0 if v is None else 1 + sum(b <= key(v) for b in bounds) for v in values.to_pylist()]
        assert partition.fragments_of(values).tolist() == expected
        assert max(expected) < partition.fragments <= ranges + 1


@pytest.mark.parametrize("name", TYPES)
def test_a_sketch_holds_the_values_of_its_fragments_and_of_its_intervals(name: str) -> None:
    chance = random.Random(name)
    values = drawn(name, 80, 7)
    partition = Partition("t", "c", equi_depth(values, 9))
    for _ in range(20):
        chosen = chance.sample(range(partition.fragments), chance.randint(0, partition.fragments))
        sketch = partition.sketch(chosen)
        expected = [int(each) in chosen for each in partition.fragments_of(values)]
        assert sketch.holds(values).tolist() == expected
        assert [_within(sketch, each) for each in values.to_pylist()] == expected
        ends = [end for interval in sketch.intervals() for end in interval]
        assert all(a is None or b is None or key(a) < key(b) for a, b in itertools.pairwise(ends))
        assert sketch.is_everything == (len(set(chosen)) == partition.fragments)


def _within(sketch: Sketch, value: object) -> bool:
    if value is None:
        return sketch.nulls
    return any(
        (low is None or key(low) <= key(value)) and (high is None or key(value) < key(high))
        for low, high in sketch.intervals()
    )


def test_each_value_is_a_range_of_its_own_where_there_are_few() -> None:
    values = pa.array([7, None, 3, 3, 5])
    assert equi_depth(values, 3).to_pylist() == [5, 7]
    assert Partition("t", "c", equi_depth(values, 100)).fragments_of(values).tolist() == [3, 0, 1, 1, 2]
    assert equi_depth(pa.chunked_array([[1], [2]]), 10).to_pylist() == [2]


def test_ranges_hold_about_as_much() -> None:
    values = pa.array(random.Random(1).sample(range(10**6), 10_000))
    counts = [0] * 102
    for fragment in Partition("t", "c", equi_depth(values, 100)).fragments_of(values):
        counts[fragment] += 1
    assert counts[0] == counts[101] == 0 and set(counts[1:101]) == {100}


def test_a_value_that_fills_ranges_by_itself_is_one_range() -> None:
    values = pa.array([0] * 50 + list(range(1, 51)))
    assert equi_depth(values, 4).to_pylist() == [1, 26]
    assert equi_depth(pa.array([5] * 9), 4).to_pylist() == []
    assert equi_depth(pa.array([None, None], pa.int32()), 4).to_pylist() == []


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda: Partition("t", "c", pa.array([2, 1])), "do not ascend"),
        (lambda: Partition("t", "c", pa.array([1, 1])), "do not ascend"),
        (lambda: Partition("t", "c", pa.array([0.0, -0.0])), "do not ascend"),
        (lambda: Partition("t", "c", pa.array([1, None])), "do not ascend"),
        (
            lambda: Partition("t", "c", pa.array(range(MOST_RANGES))),
            "10001 ranges of c.*At most 10000",
        ),
        (lambda: Partition("t", "c", pa.array([True])), "no ranges of c, which is of type bool"),
        (lambda: Partition("t", "c", pa.array([b"x"])), "no ranges of c, which is of type binary"),
        (lambda: equi_depth(pa.array([1]), 0), "0 ranges"),
        (lambda: equi_depth(pa.array([1]), MOST_RANGES + 1), "Ask for 1 to 10000"),
        (lambda: equi_depth(pa.array([[1]]), 2), "no ranges of the column"),
        (lambda: Partition("t", "c", pa.array([1])).sketch([3]), "does not have"),
        (lambda: Partition("t", "c", pa.array([1])).fragments_of(pa.array(["a"])), "values of type string"),
    ],
)
def test_what_is_refused(refused: object, said: str) -> None:
    with pytest.raises(LineageError, match=said):
        refused()  # type: ignore[operator]
