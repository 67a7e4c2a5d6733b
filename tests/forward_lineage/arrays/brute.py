"""What a cell depends on, found by changing cells and running numpy again: the oracle of every rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from forward_lineage.arrays import TrackedArray, backward, forward, track
from forward_lineage.arrays.graph import Node

Arrays = Mapping[str, np.ndarray]
Matrix = np.ndarray
"""bool, shape (output cells, input cells)."""


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def run(function: Callable[..., Any], inputs: Arrays) -> list[np.ndarray] | None:
    """The outputs of a function over plain arrays; None: it refuses these."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return [np.asarray(each) for each in listed(function(**{k: v.copy("K") for k, v in inputs.items()}))]
        except (ValueError, np.linalg.LinAlgError, IndexError, ArithmeticError):
            return None


def changed(
    function: Callable[..., Any], inputs: Arrays, name: str, others: Callable[[Any], list[Any]]
) -> list[Matrix]:
    """For each output which of its cells change when a cell of an input does, to any of some other values."""
    before = run(function, inputs)
    assert before is not None
    found = [np.zeros((each.size, inputs[name].size), bool) for each in before]
    for cell in range(inputs[name].size):
        for value in others(inputs[name].reshape(-1)[cell]):
            array = inputs[name].copy("K")
            array[np.unravel_index(cell, array.shape)] = value
            after = run(function, {**inputs, name: array})
            if after is None or [each.shape for each in after] != [each.shape for each in before]:
                continue
            for matrix, old, new in zip(found, before, after, strict=True):
                matrix[:, cell] |= differs(old, new).reshape(-1)
    return found


def differs(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    unequal = old != new
    if old.dtype.kind in "fcO":
        unequal &= ~(np.not_equal(old, old) & np.not_equal(new, new))  # NaN
    return unequal


def a_little(value: Any) -> list[Any]:
    """Other values that leave choices as they fell."""
    return [value * (1 + 1e-7), value * (1 - 3e-7)] if isinstance(value, np.floating) else []


def far(value: Any) -> list[Any]:
    """Other values of any size."""
    if isinstance(value, np.bool):
        return [~value]
    if isinstance(value, np.integer):
        return [each for each in range(4) if each != value]
    return [value + 1e-3, value - 1e-3, value + 1e3, value - 1e3, 0.0, -value, 2 * value + 0.7, np.inf]


def finite(value: Any) -> list[Any]:
    return [each for each in far(value) if np.isfinite(each)]


def nothing(value: Any) -> list[Any]:
    return []


def relation(node: Node, source: Node, *, control: bool) -> Matrix:
    """Which cells of a source the cells of a node are made of, by the pairs of every step on every way."""
    known: dict[Node, Matrix] = {source: np.eye(int(np.prod(source.shape)), dtype=bool)}

    def of(each: Node) -> Matrix:
        if each not in known:
            made = np.zeros((int(np.prod(each.shape)), int(np.prod(source.shape))), bool)
            for edge in each.edges:
                if edge.control and not control:
                    continue
                matrix = of(edge.source)
                for step in reversed(edge.steps):
                    rows, ids = step.pairs()
                    step.assert_consistent()
                    size = int(np.prod(step.out_shape)) if hasattr(step, "out_shape") else None
                    if size is None:
                        size = made.shape[0] if step is edge.steps[0] else int(rows.max(initial=-1)) + 1
                        before = edge.steps[edge.steps.index(step) - 1]
                        size = made.shape[0] if step is edge.steps[0] else int(np.prod(before.in_shape))
                    following = np.zeros((size, matrix.shape[1]), bool)
                    np.logical_or.at(following, rows, matrix[ids])
                    matrix = following
                made |= matrix
            known[each] = made
        return known[each]

    return of(node)


def relations(result: Any, inputs: Mapping[str, TrackedArray], name: str, *, control: bool) -> Iterator[Matrix]:
    for each in listed(result):
        if isinstance(each, TrackedArray):
            yield relation(each.node, inputs[name].node, control=control).reshape(each.size, inputs[name].size)
        else:
            yield np.zeros((np.asarray(each).size, inputs[name].size), bool)


# ------------------------------------------------------------ a whole program


def assert_as_told(run_it: Callable[..., Any], inputs: Arrays) -> None:
    """A program of plain and of tracked arrays: the same values, and lineage that answers as changing cells does."""
    before = run(run_it, inputs)
    if before is None:
        return
    tracked = {name: track(array, name) for name, array in inputs.items()}
    result = run_it(**tracked)
    assert isinstance(result, TrackedArray) and result.dtype == before[0].dtype and result.shape == before[0].shape
    assert not np.any(differs(before[0], result.values))
    for name in inputs:
        (data,) = relations(result, tracked, name, control=False)
        (control,) = relations(result, tracked, name, control=True)
        (small,) = changed(run_it, inputs, name, a_little)
        (large,) = changed(run_it, inputs, name, far)
        assert not (small & ~data).any(), f"data lacks {np.argwhere(small & ~data).tolist()}"
        assert not ((small | large) & ~control).any(), f"control lacks {np.argwhere(large & ~control).tolist()}"
        _assert_answers(result, tracked[name], name, data, control)


def _assert_answers(result: TrackedArray, source: TrackedArray, name: str, data: Matrix, control: Matrix) -> None:
    """Questions in both directions say what the pairs say."""
    for row in {0, result.size // 2, result.size - 1} if result.size else ():
        place = tuple(int(each) for each in np.unravel_index(row, result.shape))
        for semantics, expected in (("data", data), ("control", control)):
            found = backward(result, place, semantics=semantics).get(name)  # type: ignore[arg-type]
            mask = found.mask() if found is not None else np.zeros(source.shape, bool)
            assert np.array_equal(mask.reshape(-1), expected[row])
    if name not in backward(result):
        assert not data.any()
        return
    assert np.array_equal(forward(name, None, result).mask().reshape(-1), data.any(axis=1))
    for cell in range(source.size):
        place = tuple(int(each) for each in np.unravel_index(cell, source.shape))
        assert np.array_equal(forward(name, place, result).mask().reshape(-1), data[:, cell])
