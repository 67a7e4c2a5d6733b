"""Operations as black boxes: told cell by cell, reused by signature, and compared with what our rules say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from forward_lineage.arrays import Memory, backward, explain, register_operation, track
from tests.forward_lineage.arrays import brute
from tests.forward_lineage.arrays.table_ix import CALLED_WITH, OPERATIONS


def registered(memory: Memory, name: str, operation: Callable[..., Any], values: Sequence[np.ndarray]) -> str:
    """Register a call whose captures are those of our rules, and compare all cells; return which signature answered."""
    arrays = [track(each, f"x{i}") for i, each in enumerate(values)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of vectors of two
        truth = operation(*arrays)
    expected = [brute.relation(truth.node, array.node, control=False) for array in arrays]

    def capture(i: int) -> Callable[[Any], list[Any]]:
        cells = expected[i].reshape(*truth.shape, *arrays[i].shape)
        return lambda at: list(np.argwhere(cells[at]))

    made = register_operation(name, arrays, truth.values, [capture(i) for i in range(len(arrays))], reuse=memory)
    for array, matrix in zip(arrays, expected, strict=True):
        assert np.array_equal(brute.relation(made.node, array.node, control=False), matrix), name
    return explain(made).splitlines()[0].rpartition("(")[2].rstrip(")")


class Signatures(NamedTuple):
    """What answered for an operation.

    Attributes:
        captured: whether an output was made of anything.
        by_shape: whether dim_sig answers in the end.
        by_size: whether gen_sig answered for a size that had not come before.
        wrong: how often cells that were compared differed.

    """

    captured: bool
    by_shape: bool
    by_size: bool
    wrong: int


def signatures(name: str) -> Signatures:
    """Call an operation of Table IX with several sizes and values; a wrong reuse raises AssertionError."""
    operation, shapes = OPERATIONS[name]
    memory, rng = Memory(), np.random.default_rng(1)

    def call(size: tuple[int, int]) -> str:
        return registered(memory, name, operation, [rng.uniform(0.1, 0.9, shape) for shape in shapes(*size)])

    first = [call(size) for size in CALLED_WITH]
    again = [call(CALLED_WITH[0]) for _ in range(3)]
    arrays = [track(rng.uniform(0.1, 0.9, shape), f"x{i}") for i, shape in enumerate(shapes(*CALLED_WITH[0]))]
    captured = any(backward(operation(*arrays)).values())
    return Signatures(captured, again[-1] == "reused by dim_sig", "reused by gen_sig" in first, memory.wrong)
