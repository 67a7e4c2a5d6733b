"""Programs of several operations, views and writes among them, against brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.arrays import backward, prov_query, track
from tests.forward_lineage.arrays import brute

Step = Callable[[list[Any]], Any]


def _last(function: Callable[[Any], Any]) -> Step:
    return lambda made: function(made[-1])


def _axis(made: Any) -> int:
    return made.ndim - 1


def _write_part(made: list[Any]) -> Any:
    x = made[-1].copy()
    x.T[..., :1] += made[0].reshape(-1)[0]
    return x


def _write_steps(made: list[Any]) -> Any:
    x = made[-1].copy()
    x[::-2] = 2 * x[::-2] - 1
    return x


def _write_through_reshape(made: list[Any]) -> Any:
    x = made[-1].copy()
    flat = x.reshape(-1)
    flat[1:3] = flat[0] * 3
    return x


def _write_mask(made: list[Any]) -> Any:
    x = made[-1].copy()
    x[x > 0.3] = 1.25
    return x


def _write_masked_values(made: list[Any]) -> Any:
    x = made[-1].copy()
    low = x < 0
    x[low] = x[low] * 2 + 1
    return x


def _write_overlapping(made: list[Any]) -> Any:
    x = made[-1].copy()
    x[..., 1:] = x[..., :-1]
    return x


def _out(made: list[Any]) -> Any:
    x = made[-1].copy()
    np.multiply(x, 2.5, out=x)
    np.sqrt(x, out=x, where=x > 0)
    return x


STEPS: dict[str, Step] = {
    "negative": _last(lambda x: -x),
    "add itself": _last(lambda x: x + x.reshape(-1)[0]),
    "add first": lambda made: made[-1] + made[0].reshape(-1)[1],
    "turn": _last(lambda x: x.T),
    "flip": _last(lambda x: x[::-1]),
    "cut": _last(lambda x: x[..., 1:] if x.shape[-1] > 1 else x),
    "reshape": _last(lambda x: x.reshape(-1)),
    "matrix": _last(lambda x: x.reshape(2, -1) if x.size % 2 == 0 else x),
    "cumsum": _last(lambda x: np.cumsum(x, axis=_axis(x))),
    "sum": _last(lambda x: x.sum(axis=0, keepdims=True)),
    "sort": _last(lambda x: np.sort(x, axis=_axis(x))),
    "roll": _last(lambda x: np.roll(x, 1)),
    "where": _last(lambda x: np.where(x > 0, x, x.reshape(-1)[-1])),
    "choose": _last(lambda x: x.reshape(-1)[(x > -0.5).reshape(-1)]),
    "repeat": _last(lambda x: np.repeat(x, 2, axis=0) if x.size < 20 else x),
    "join": lambda made: np.concatenate([made[-1].reshape(-1), made[0].reshape(-1)[:3]]),
    "order": _last(lambda x: x.reshape(-1)[np.argsort(x.reshape(-1))]),
    "write part": _write_part,
    "write steps": _write_steps,
    "write through": _write_through_reshape,
    "write mask": _write_mask,
    "write values": _write_masked_values,
    "write over": _write_overlapping,
    "out": _out,
}


def program(names: list[str]) -> Callable[..., Any]:
    def run(x: Any, y: Any) -> Any:
        made = [x, x * y]
        for name in names:
            made.append(STEPS[name](made))
        return made[-1]

    return run


PROGRAMS = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6)


def _check(names: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    brute.assert_as_told(program(names), {"x": rng.uniform(-2, 2, (2, 3)), "y": rng.uniform(-2, 2, 3)})


@settings(deadline=None, max_examples=15)
@given(PROGRAMS, st.integers(0, 2**16))
def test_random_programs(names: list[str], seed: int) -> None:
    _check(names, seed)


@pytest.mark.long
@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=10), st.integers(0, 2**32 - 1))
def test_many_random_programs(names: list[str], seed: int) -> None:
    _check(names, seed)


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name: str) -> None:
    _check([name, name], 7)


def test_how_long_an_axis_is_may_be_decided() -> None:
    x = track(np.array([3.0, -1.0, 2.0, -4.0]), "x")
    chosen = x[x > 0]
    for shown in (chosen + 1, np.cumsum(chosen), np.sort(chosen[::-1]), np.flip(chosen)[None]):
        assert 3 not in backward(shown, (0,) * shown.ndim, semantics="control")["x"].numbers()
    for hidden in (chosen.sum(), chosen[-1], chosen[:1], np.concatenate([chosen, x]), np.pad(chosen, (3, 0))[:4]):
        assert len(backward(hidden, (0,) * hidden.ndim, semantics="control")["x"]) == 4
        assert len(backward(hidden, (0,) * hidden.ndim)["x"]) < 4
    kept = x.copy()
    kept[:2] = chosen
    assert len(backward(kept, 3, semantics="control")["x"]) == 1


def test_paths_go_through_the_arrays_that_are_named() -> None:
    x = track(np.arange(6.0).reshape(2, 3), "x")
    y, other = x[:, ::2], x[:, 1:2]
    z = np.concatenate([y, other], axis=1).sum(axis=1)
    assert prov_query([z, y, x], 0).indices().tolist() == [[0, 0], [0, 2]]
    assert prov_query([z, x], 0).indices().tolist() == [[0, 0], [0, 1], [0, 2]]
    assert prov_query(["x", y, z], (0, 1)).indices().tolist() == []
    assert prov_query([x, other, z], (0, 1)).indices().tolist() == [[0]]
