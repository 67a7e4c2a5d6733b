"""Operations whose lineage the user tells, and lineage that is taken from earlier calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from forward_lineage.arrays import Memory, backward, explain, forward, prov_query, register_operation, track
from forward_lineage.relations.boxes import BoxRelation
from tests.forward_lineage.arrays.signatures import registered
from tests.tiers import every_day
from udafs.errors import BadArgumentError


def test_captures_say_the_same_in_every_way() -> None:
    x = track(np.arange(6.0).reshape(2, 3), "x")
    values = x.values[:, :2] + x.values[:, 1:]
    pairs = [((i, j), (i, k)) for i in range(2) for j in range(2) for k in (j, j + 1)]
    outputs, inputs = (np.array(each) for each in zip(*pairs, strict=True))
    flat = np.ravel_multi_index(tuple(outputs.T), (2, 2)), np.ravel_multi_index(tuple(inputs.T), (2, 3))
    made = [
        register_operation("f", [x], values, capture)
        for capture in (
            lambda at: [(at[0], at[1]), (at[0], at[1] + 1)],
            (outputs, inputs),
            flat,
            backward_relation(pairs),
        )
    ]
    for each in made:
        assert backward(each, (1, 0))["x"].indices().tolist() == [[1, 0], [1, 1]]
        assert forward(x, (0, 1), each).indices().tolist() == [[0, 0], [0, 1]]
        assert prov_query([each, x], slice(None)).mask().all()
        assert np.array_equal(each.values, values)


def backward_relation(pairs: Sequence[Any]) -> BoxRelation:
    from forward_lineage.relations.provrc import encode  # noqa: PLC0415

    rows = [2 * i + j for (i, j), _ in pairs]
    return encode((2, 2), (2, 3), rows, [3 * i + k for _, (i, k) in pairs])


def test_inputs_that_decide_and_constants() -> None:
    x, key = track(np.arange(3.0), "x"), track(np.array([2, 0, 1]), "key")
    y = register_operation(
        "order", [x, key, np.ones(3)], x.values[key.values], [lambda at: [key.values[at]], None, None],
        control=[None, lambda at: [at], None],
    )  # fmt: skip
    assert list(backward(y)) == ["x"] and backward(y, 0)["x"].indices().tolist() == [[2]]
    assert backward(y, 1, semantics="control")["key"].indices().tolist() == [[1]]
    assert explain(y).splitlines()[0] == "order (3,) of x (3,) as data, key (3,) as control"


@pytest.mark.parametrize(
    ("capture", "message"),
    [
        ([None, None], "2 captures for 1 inputs"),
        (lambda at: [7], "beyond the 3"),
        (lambda at: [(7,)], "does not have"),
        (lambda at: [(0, 1)], "with 2 indices, in an array of 1 axes"),
        (([0, 1], [0]), "2 output cells for 1"),
        (([5], [0]), "output cells beyond"),
        (([0.5], [0]), "float64"),
        ("all", "a capture of type str"),
        (BoxRelation.elementwise((9,), (9,)), "beyond the 3"),
    ],
)
def test_captures_of_cells_that_are_not_there(capture: Any, message: str) -> None:
    x = track(np.arange(3.0), "x")
    with pytest.raises(BadArgumentError, match=message):
        register_operation("f", [x], np.zeros(3), capture)


# ------------------------------------------------------------ reuse

Shapes = Callable[[int, int], list[tuple[int, ...]]]
_same: Shapes = lambda r, c: [(r, c)]  # noqa: E731
_two: Shapes = lambda r, c: [(r, c), (r, c)]  # noqa: E731

#: Operation, shapes of its inputs, whether its lineage is the same for all values, and whether for all sizes, as boxes.
TRUTH: dict[str, tuple[Callable[..., Any], Shapes, bool, bool]] = {
    "negative": (lambda a: -a, _same, True, True),
    "add": (lambda a, b: a + b, _two, True, True),
    "sum": (lambda a: a.sum(axis=0), _same, True, True),
    "cumsum": (lambda a: np.cumsum(a, axis=1), _same, True, True),
    "transpose": (lambda a: a.T, _same, True, True),
    "flip": (lambda a: a[::-1], _same, True, True),
    "tile": (lambda a: np.tile(a, (2, 2)), _same, True, True),
    "diff": (lambda a: np.diff(a, axis=1), _same, True, True),
    "pad": (lambda a: np.pad(a, 1), _same, True, True),
    "repeat": (lambda a: np.repeat(a, 3, axis=1), _same, True, False),  # the encoder divides by nothing
    "concatenate": (lambda a, b: np.concatenate([a, b]), lambda r, c: [(r, c), (c, c)], True, True),
    "matmul": (lambda a, b: a @ b, lambda r, c: [(r, c), (c, r + 1)], True, True),
    "diagonal": (np.diagonal, lambda r, c: [(r, r)], True, True),
    "cross": (np.cross, lambda r, c: [(r, 3), (r, 3)], True, True),
    "rows of a matrix one after the other": (lambda a: a.ravel(), _same, True, False),
    "tril": (np.tril, lambda r, c: [(r, r)], True, False),
    "sort": (lambda a: np.sort(a, axis=0), _same, False, False),
    "mask": (lambda a: np.where(a > 0, a, 0), _same, False, False),
    "argmax": (lambda a: np.argmax(a, axis=0), _same, False, False),
}
_EVERY_DAY = ("add", "matmul", "flip", "cross", "sort", "rows of a matrix one after the other")
_SIZES = [(2, 5), (4, 3), (3, 7), (5, 4), (6, 8), (8, 6), (7, 9)]


def _call(memory: Memory, name: str, operation: Callable[..., Any], shapes: Any, rng: np.random.Generator) -> str:
    return registered(memory, name, operation, [rng.normal(size=shape) for shape in shapes])


@pytest.mark.parametrize("name", every_day(TRUTH, _EVERY_DAY))
def test_signatures_say_what_is_true(name: str) -> None:
    operation, shapes, by_shape, by_size = TRUTH[name]
    memory, rng = Memory(), np.random.default_rng(6)
    said = [_call(memory, name, operation, shapes(*size), rng) for size in _SIZES]
    assert ("reused by gen_sig" in said) == by_size, said
    assert "reused by gen_sig" not in said[:3]
    again = [_call(memory, name, operation, shapes(*_SIZES[0]), rng) for _ in range(3)]
    assert (again[-1] == "reused by dim_sig") == by_shape, again
    assert by_shape or set(said + again) == {"captured"}


def test_cross_of_vectors_of_two_is_not_that_of_three() -> None:
    memory, rng = Memory(), np.random.default_rng(7)
    said = []
    for width in (3, 3, 3, 3, 2, 2, 2, 2, 3, 2):
        rows = 4 + len(said)
        said.append(_call(memory, "cross", np.cross, [(rows, width), (rows, width)], rng))
    assert said == [*["captured"] * 3, "reused by gen_sig", *["captured"] * 3, *["reused by gen_sig"] * 3]
    assert memory.wrong == 0


def test_the_same_arrays_are_not_captured_again() -> None:
    memory, asked = Memory(), []
    x = track(np.array([3.0, 1.0, 2.0]), "x")

    def capture(at: tuple[int, ...]) -> list[int]:
        asked.append(at)
        return [int(np.argsort(x.values)[at])]

    for _ in range(3):
        y = register_operation("sort", [x], np.sort(x.values), capture, reuse=memory)
    assert len(asked) == 3 and explain(y).splitlines()[0].endswith("(reused by base_sig)")
    register_operation("sort", [x], np.sort(x.values), capture, arguments="other", reuse=memory)
    assert len(asked) == 6


def test_what_looked_alike_is_checked_before_it_is_reused() -> None:
    memory, rng = Memory(), np.random.default_rng(8)
    keeps = lambda a: np.where(a > 0, a, 0)  # noqa: E731
    for _ in range(3):  # of positive cells every one is kept, so values do not seem to matter
        array = track(rng.uniform(1, 2, 5), "x")
        register_operation("keep", [array], keeps(array.values), lambda at: [at], reuse=memory)
    x = track(np.array([1.0, -1.0, 2.0, 3.0, 4.0]), "x")
    y = register_operation("keep", [x], keeps(x.values), lambda at: [at] if x.values[at] > 0 else [], reuse=memory)
    assert memory.wrong == 1 and backward(y, slice(None))["x"].indices().tolist() == [[0], [2], [3], [4]]


def test_reuse_needs_functions() -> None:
    x = track(np.arange(3.0), "x")
    with pytest.raises(BadArgumentError, match="no function"):
        register_operation("f", [x], np.zeros(3), ([0], [0]), reuse=True)
