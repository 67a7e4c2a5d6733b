"""A cell keeps its value whatever the other cells hold; and what objects carry is what we say."""

from __future__ import annotations

import numpy as np
import pytest

from forward_lineage.arrays import track
from tests.forward_lineage.arrays import brute, carried
from tests.forward_lineage.arrays.arguments import ARGUMENTS
from tests.forward_lineage.arrays.cases import CASES, MOVES, POOL, SHAPE, Case
from tests.forward_lineage.arrays.lengths import LENGTHS
from tests.tiers import every_day

#: Operations that other code paths of numpy refuse to do with objects, or that look at values.
_NOT_OF_OBJECTS = ("nonzero", "trim_zeros", "asarray_chkfinite", "asarray")
_ARITHMETIC = (
    *("add", "subtract", "multiply", "divide", "negative", "operators", "broadcasting", "in_place", "out", "sum"),
    *("prod", "cumsum", "cumprod", "diff", "dot", "inner", "outer", "kron", "tensordot", "trace", "einsum", "convolve"),
    *("correlate", "mean", "cross", "take", "where", "index", "choose", "select", "matmul", "fill_diagonal", "vdot"),
)
_OF_OBJECTS = [
    case
    for case in CASES
    if case.operation not in _NOT_OF_OBJECTS and (case in MOVES or case.operation in _ARITHMETIC)
    if case.name not in ("where of comparison", "select", "index write one", "sum where", "mean of a mean")
]


@pytest.mark.parametrize(
    "case",
    every_day(
        [*CASES, *ARGUMENTS, *LENGTHS], lambda case: case in CASES and not case.twin and case.still in ("", SHAPE)
    ),
    ids=str,
)
def test_other_cells_do_not_matter(case: Case) -> None:
    inputs = case.inputs()
    tracked = {name: track(array, name) for name, array in inputs.items()}
    nodes = {name: array.node for name, array in tracked.items()}
    result = brute.listed(case.run(**tracked))
    before = brute.run(case.run, inputs)
    assert before is not None
    control = {}
    for name in inputs:
        handle = track(inputs[name], name)
        handle.buffer.state = nodes[name]
        control[name] = list(brute.relations(result, {name: handle}, name, control=True))
    rng = np.random.default_rng(len(case.name))
    for number, old in enumerate(before):
        for cell in rng.choice(old.size, min(old.size, 3), replace=False):
            needed = {name: control[name][number][cell].reshape(inputs[name].shape) for name in inputs}
            for _ in range(12 if case.still == SHAPE else 2):  # of masks few drawn ones let as many cells in
                others = {name: np.where(needed[name], array, _others(array, rng)) for name, array in inputs.items()}
                after = brute.run(case.run, others)
                if after is None or [each.shape for each in after] != [each.shape for each in before]:
                    continue
                at = np.unravel_index(cell, old.shape)
                assert not brute.differs(old[at], after[number][at]), f"output {number}, cell {cell}"


def _others(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other cells of any size, of the type and, where it is a place in another array, in the range of these."""
    if array.dtype == bool:
        return rng.random(array.shape) < 0.5
    if array.dtype.kind == "i":
        return rng.integers(0, 3, array.shape)
    kinds = np.stack([rng.uniform(-10, 10, array.shape), 1e3 * rng.standard_normal(array.shape), np.zeros(array.shape)])
    drawn = np.take_along_axis(kinds, rng.integers(0, 3, (1, *array.shape)), axis=0)[0]
    return np.sort(drawn) if array is POOL["places"] else drawn


@pytest.mark.parametrize("case", _OF_OBJECTS, ids=str)
def test_what_objects_carry(case: Case) -> None:
    inputs = case.inputs()
    floats = [name for name, array in inputs.items() if array.dtype.kind == "f"]
    objects = {name: carried.carriers(name, inputs[name].shape) if name in floats else inputs[name] for name in inputs}
    expected = [np.asarray(each, object) for each in brute.listed(case.run(**objects))]
    tracked = {name: track(inputs[name], name) for name in floats}
    nodes = {name: array.node for name, array in tracked.items()}
    result = case.run(**(inputs | tracked))
    for name in floats:
        handle = track(inputs[name], name)
        handle.buffer.state = nodes[name]
        for made, objects_made in zip(
            brute.relations(result, {name: handle}, name, control=False), expected, strict=True
        ):
            assert np.array_equal(made, carried.matrix(objects_made, name, inputs[name].size)), name
