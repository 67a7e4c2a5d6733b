"""Lines of numpy that nobody chose: tracked, they give numpy's values, and lineage as brute force finds it."""

from __future__ import annotations

import random
import warnings
from itertools import count
from typing import Any

import numpy as np
import pytest

from forward_lineage import LineageError
from forward_lineage.arrays import TrackedArray, constant, track, tracked
from tests.forward_lineage.arrays import brute, strangers

#: What random lines have found wrong, one of each kind.
FOUND = [
    ["X.compress([True, False])"],
    ["X.reshape(-1)", "X.compress(X > 0)"],
    ["X.clip(0)", "X.clip(max=0.5)"],
    ["np.argmin(X, axis=-2, keepdims=1)"],
    ["X[0, 0]", "W(X, lambda z: z.__setitem__((), Y[0]))"],
    ["X[0, 0]", "np.argsort(X)"],
    ["X[0, 0]", "np.add.reduce(X)"],
    ["X.astype(object)", "X[0, 1] * 2"],
    ["X[np.array([True, False])]", "np.sort(X)"],
    ["X.sum()", "np.polymul(X, Y)", "np.polyadd(X[0], X)"],
    ["np.piecewise(X, [X > 9, X < -9], [lambda v: -v, lambda v: v * 2])", "X.max()"],
    ["X[X > 9]", "X.ravel('F')", "np.mean(X)"],
    ["X.sum()", "np.diff(X, n=0, axis=None)"],
]


#: Complex numbers divided by themselves differ from 1 by rounding alone, so the smallest change sorts them otherwise.
TIED = (4324,)


def _check(lines: list[str], inputs: dict[str, np.ndarray]) -> bool:
    """Whether the program was tracked, and as brute force has it; False: something in it was refused."""
    numbers = count()

    def run(x: Any, y: Any) -> Any:
        def indices(places: list[int]) -> Any:
            made = np.array(places, int)
            return track(made, f"index {next(numbers)}") if isinstance(x, TrackedArray) else made

        return strangers.run(lines, x, y, indices)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what numpy warns of is no matter here
        try:
            brute.assert_as_told(run, inputs)
        except LineageError:
            return False
    return True


@pytest.mark.parametrize("lines", FOUND, ids="; ".join)
def test_what_was_found(lines: list[str]) -> None:
    rng = np.random.default_rng(3)
    assert _check(lines, {"x": rng.uniform(-1.5, 1.5, (2, 3)), "y": rng.uniform(-1.5, 1.5, 3)})


def test_an_order_of_numpys_own_is_refused() -> None:
    x = track(np.zeros((2, 1, 3)), "x")
    for refused in (np.nanquantile, np.nanpercentile):
        with pytest.raises(LineageError, match="one line"):
            refused(x, [[0.2], [0.3]], axis=(0, 2))
    assert np.nanquantile(x, [[0.2], [0.3]], axis=(0, 1, 2)).shape == (2, 1)


def _checked(seeds: range, length: int) -> int:
    tracked = 0
    for seed in (each for each in seeds if each not in TIED):
        lines, inputs = strangers.program(random.Random(seed), length)
        try:
            tracked += _check(lines, inputs)
        except Exception as failed:
            raise AssertionError(f"seed {seed}: {lines} of {inputs}") from failed
    return tracked


def test_some_lines() -> None:
    assert _checked(range(40), 1) > 30


@pytest.mark.long
@pytest.mark.parametrize(("first", "length"), [(0, 1), (1000, 1), (2000, 2), (3000, 3), (4000, 5)])
def test_many_lines(first: int, length: int) -> None:
    assert _checked(range(first, first + 500), length) > 300


#: Arguments by position of methods that need some: they may stand in another order than those of numpy's function.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "argpartition": (1,), "choose": ([[5, 6, 7], [7, 8, 9], [1, 2, 3]],), "clip": (1,), "compress": ([True, False], 0),
    "dot": (np.ones((3, 2)),), "repeat": (2, 0), "searchsorted": (1,), "swapaxes": (0, 1), "take": ([1, 0], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*tracked._METHODS, *ARGUMENTS} - {"ptp"}))
def test_methods_are_those_of_numpys_arrays(name: str) -> None:
    plain = np.array([[2, 0, 1], [1, 1, 2]])
    plain = plain[0] if name == "searchsorted" else plain
    expected = getattr(plain, name)(*ARGUMENTS.get(name, ()))
    made = getattr(track(plain, "x"), name)(*ARGUMENTS.get(name, ()))
    for old, new in zip(brute.listed(expected), brute.listed(made), strict=True):
        assert np.array_equal(new.values, old) and new.dtype == old.dtype


def test_an_object_may_be_an_array() -> None:
    x = track(np.array([5.0, 8.0]), "x")
    cells = constant(np.array([[1], [2, 3]], object))
    cells[0] = x
    assert brute.relation(cells.node, x.node, control=False).tolist() == [[True, True], [False, False]]
    assert cells[1].values.item() == [2, 3]


class Metres(np.ndarray):
    """Numbers with a unit."""


@pytest.mark.parametrize(
    "kin", [np.ma.array([1.0, 2.0], mask=[True, False]), np.ones(2).view(Metres)], ids=["masked", "unit"]
)
def test_arrays_with_rules_of_their_own_are_refused(kin: np.ndarray) -> None:
    x = track(np.array([5.0, 8.0]), "x")
    for refused in (lambda: track(kin, "kin"), lambda: x * kin, lambda: kin * x, lambda: np.concatenate([x, kin])):
        with pytest.raises(LineageError):
            refused()
