"""What a tracked array is to its user: numpy's values, no way out without a word, views, and questions."""

from __future__ import annotations

import copy
import doctest
import importlib
import math
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest

import forward_lineage.arrays
from forward_lineage.arrays import Cells, TrackedArray, backward, constant, explain, forward, prov_query, track
from forward_lineage.arrays.registry import COMPOSED, METADATA, RULES, name_of
from tests.conftest import REPOSITORY
from tests.forward_lineage.arrays import brute
from tests.forward_lineage.arrays.cases import CASES
from udafs.errors import BadArgumentError, NotTracedError

#: The 132 names of the list that the paper's authors publish of what Table IX evaluates, 136 operations, in its order.
#: `round_`, `trapz` and `msort` are gone from numpy: their successors stand for them.
PUBLISHED = [
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "hypot", "arctan2", "degrees", "radians"),
    *("unwrap", "deg2rad", "rad2deg", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "around"),
    *("round_", "rint", "fix", "floor", "ceil", "trunc", "prod", "sum", "nanprod", "nansum", "cumsum"),
    *("cumprod", "nancumsum", "nancumprod", "diff", "ediff1d", "cross", "trapz", "exp", "expm1", "exp2"),
    *("log", "log10", "log2", "log1p", "logaddexp", "logaddexp2", "sinc", "nextafter", "spacing", "add"),
    *("reciprocal", "positive", "negative", "multiply", "divide", "power", "subtract", "true_divide"),
    *("floor_divide", "float_power", "fmod", "mod", "remainder", "angle", "real", "imag", "conj"),
    *("conjugate", "maximum", "fmax", "amax", "minimum", "fmin", "convolve", "sqrt", "cbrt", "square"),
    *("absolute", "fabs", "real_if_close", "interp", "dot", "multi_dot", "vdot", "inner", "outer", "kron"),
    *("unique", "sort", "msort", "partition", "percentile", "quantile", "median", "mean", "std"),
    *("correlate", "reshape", "ravel", "moveaxis", "swapaxes", "atleast_1d", "atleast_2d", "broadcast_to"),
    *("expand_dims", "squeeze", "asarray", "asanyarray", "asfortranarray", "ascontiguousarray"),
    *("asarray_chkfinite", "require", "concatenate", "block", "stack", "vstack", "hstack", "column_stack"),
    *("row_stack", "tile", "repeat", "delete", "insert", "append", "resize", "trim_zeros", "flip"),
    *("fliplr", "flipud", "roll", "rot90"),
]
#: The list has four fewer than the table counts; these of the same kinds make up for them.
OURS = ["var", "clip", "nan_to_num", "amin"]
SUCCESSORS = {"round_": "round", "trapz": "trapezoid", "msort": "sort"}


def test_every_operation_of_table_ix_is_tried_against_brute_force() -> None:
    assert len(PUBLISHED) + len(OURS) == len({*PUBLISHED, *OURS}) == 136
    tried = {case.operation for case in CASES}
    assert [name for name in (*PUBLISHED, *OURS) if SUCCESSORS.get(name, name) not in tried] == []


def test_every_operation_of_table_ix_is_captured() -> None:
    wanted = {SUCCESSORS.get(name, name) for name in (*PUBLISHED, *OURS)}
    for case in CASES:
        if case.operation in wanted:
            tracked = {name: track(array, name) for name, array in case.inputs().items()}
            outputs = brute.listed(case.run(**tracked))
            assert all(isinstance(each, TrackedArray) for each in outputs), case
            assert any(cells for each in outputs for cells in backward(each).values()), case


WAYS_OUT: dict[str, Callable[[TrackedArray], Any]] = {
    "asarray": np.asarray,
    "array of a list": lambda x: np.array([x[0], x[1]]),
    "bool": lambda x: bool(x[0, 0]),
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "index": lambda x: range(x[0, 0].astype(int)),
    "item": lambda x: x[0, 0].item(),
    "tolist": lambda x: x.tolist(),
    "iteration": list,
    "contains": lambda x: 3 in x,
    "format": lambda x: f"{x[0, 0]:.2f}",
    "pickle": pickle.dumps,
    "rng": np.random.default_rng(0).permutation,
    "plain out": lambda x: np.add(x, 1, out=np.zeros(x.shape)),
    "plain target": lambda x: np.copyto(np.zeros(x.shape), x),
    "plain item": lambda x: np.zeros(x.shape).__setitem__(0, x[0]),
    "plain index": lambda x: np.arange(9)[x[0].astype(int)],
    "list as value": lambda x: x.__setitem__(0, [x[1, 0], 1, 2, 3]),
    "save": lambda x: np.save("nowhere", x),
    "view": lambda x: x.view(np.int64),
    "resize": lambda x: x.resize(2, 2),
    "round": lambda x: round(x.sum()),
    "if": lambda x: 1 if x.sum() > 3 else 0,
    "chain": lambda x: 1 < x.sum() < 3,
    "math": lambda x: math.sqrt(x.sum()),
    "percent": lambda x: "%d" % x.sum(),  # noqa: UP031
    "sorted": lambda x: sorted(x[0]),
    "sum of Python": lambda x: sum(x[0]),
    "unpacked": lambda x: max(*x),
    "vectorize": np.vectorize(abs),
    "nditer": lambda x: list(np.nditer(x)),
    "savez": lambda x: np.savez("nowhere", x=x),
    "savetxt": lambda x: np.savetxt("nowhere", x),
    "rng.choice": np.random.default_rng(0).choice,
    "rng.normal": np.random.default_rng(0).normal,
    "plain +=": lambda x: np.zeros(x.shape).__iadd__(x),
    "index of a list": lambda x: [1, 2, 3][x[0, 1].astype(int)],
    "assert_array_equal": lambda x: np.testing.assert_array_equal(x, x.values),
    "pandas frame": pandas.DataFrame,
    "pandas column": lambda x: pandas.DataFrame({"a": x[0]}),
    "pandas operator": lambda x: pandas.Series([1, 2, 3, 4]) * x[0],
}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_no_way_out_without_a_word(name: str) -> None:
    x = track(np.arange(12.0).reshape(3, 4), "x")
    with pytest.raises(NotTracedError) as refused:
        WAYS_OUT[name](x)
    assert refused.value.instead
    assert np.array_equal(x.values, np.arange(12.0).reshape(3, 4))


def _swapped(x: Any) -> Any:
    line = x[0].copy()
    line[0], line[2] = line[2], line[0]
    return line


def _read_before(x: Any) -> Any:
    cell = x[0, 1]
    x[0, 1] = 9
    return cell


def _summed_by_a_loop(x: Any) -> Any:
    total = x[0, 0]
    for i in range(len(x)):
        total = total + x[i, 1]
    return total


#: What a user does next with an array, and what it gives; the same of a plain one, but for what is made of `x`.
NEXT: dict[str, Callable[[Any], Any]] = {
    "swap": _swapped,
    "loop": _summed_by_a_loop,
    "reversed": lambda x: next(reversed(x)),
    "abs": abs,
    "divmod": lambda x: divmod(x, 3)[1],
    "deepcopy in a dict": lambda x: copy.deepcopy({"x": x})["x"],
    "plain on the left": lambda x: np.ones(4) + x,
    "plain matrix on the left": lambda x: np.ones((2, 3)) @ x,
    "a list on the left": lambda x: [1, 2, 3, 4] + x,  # noqa: RUF005
    "a scalar of numpy's on the left": lambda x: np.float64(2) * x,
    "frompyfunc": lambda x: np.frompyfunc(lambda each: each + 1, 1, 1)(x).astype(float),
    "equal to None": lambda x: x == None,  # noqa: E711
    "allclose": lambda x: np.allclose(x, 3),
    "a cell read before it is written": lambda x: _read_before(x.copy()),
}


@pytest.mark.parametrize("name", NEXT)
def test_what_a_user_does_next(name: str) -> None:
    plain = np.arange(12.0).reshape(3, 4)
    made, expected = NEXT[name](track(plain, "x")), NEXT[name](plain)
    assert isinstance(made, TrackedArray) and made.dtype == np.asarray(expected).dtype
    assert np.array_equal(made.values, expected)
    assert backward(made)["x"]


def test_what_is_printed_is_the_values() -> None:
    x = track(np.array([1.5, 2.0]), "x")
    assert str(x) == f"{x}" == repr(x) == "TrackedArray([1.5, 2. ], name='x')"
    assert f"{x.sum()}" == "TrackedArray(3.5)"


REFUSED: dict[str, Callable[[TrackedArray], Any]] = {
    "numpy.busday_offset": lambda x: np.busday_offset("2024-01-01", x.astype(int)),
    "numpy.pad with mode 'reflect'": lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"),
    "numpy.tile with a tracked array as reps": lambda x: np.tile(x, x[0, 1:3].astype(int)),
    "numpy.add with where=… and no out": lambda x: np.add(x, 1, where=x > 3),
    "numpy.nan_to_num would write": lambda x: np.nan_to_num(x, copy=False),
    "a field": lambda x: x["name"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused_by_name(name: str) -> None:
    with pytest.raises(NotTracedError) as refused:
        REFUSED[name](track(np.arange(12.0).reshape(3, 4), "x"))
    assert str(refused.value).startswith(name)


def test_what_a_rule_refuses_has_not_been_written() -> None:
    x, target = track(np.arange(4.0), "x"), constant(np.full((2, 2), 7.0))
    a = track(np.arange(4.0).reshape(2, 2), "a")
    with pytest.raises(NotTracedError, match="axes"):
        np.matmul(a, a, out=target, axes=[(0, 1), (0, 1), (0, 1)])
    assert np.array_equal(target.values, np.full((2, 2), 7.0)) and not backward(target)
    assert len(backward(x)["x"]) == 4


def test_the_original_and_the_values_cannot_be_changed_behind_its_back() -> None:
    original = np.zeros(3)
    x = track(original, "x")
    original[0] = 5
    assert x.values[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        x.values[0] = 5


def test_lineage_is_of_the_moment_of_reading() -> None:
    x, y = track(np.arange(3.0), "x"), track(np.ones(3), "y")
    before = x * 2
    view = x[1:]
    view += y[:2]
    after = x * 2
    assert list(backward(before, 1)) == ["x"]
    assert {name: cells.indices().tolist() for name, cells in backward(after, 1).items()} == {"x": [[1]], "y": [[0]]}
    assert forward("x", 1, after).indices().tolist() == [[1]]
    with pytest.raises(BadArgumentError, match="no lineage leads"):
        forward(x, 1, before)  # x is another array now; its name still stands for what was tracked


def test_views_of_views_write_into_the_same_buffer() -> None:
    plain, x, y = np.arange(24.0).reshape(2, 3, 4), track(np.arange(24.0).reshape(2, 3, 4), "x"), track(np.ones(2), "y")
    x.transpose(2, 0, 1)[1:3, ::-1, 1][..., 0] = y
    plain.transpose(2, 0, 1)[1:3, ::-1, 1][..., 0] = 1
    assert np.array_equal(plain, x.values)
    mask = forward(y, None, x).mask()
    assert np.array_equal(mask, plain != np.arange(24).reshape(2, 3, 4))
    np.fill_diagonal(np.diagonal(x, axis1=0, axis2=1).copy(), 0)
    assert np.array_equal(plain, x.values)


def test_what_numpy_copies_is_no_view() -> None:
    x, y = track(np.arange(6.0).reshape(2, 3), "x"), track(np.array(9.0), "y")
    copied, shown = x.T.reshape(-1), x.reshape(-1)
    copied[0] = y
    assert "y" not in backward(x)
    shown[5] = y
    assert backward(x, (1, 2)) == {"x": Cells(backward(x, (1, 2))["x"].boxes), "y": backward(y)["y"]}


def test_arrays_made_like_a_tracked_one_can_be_filled() -> None:
    x = track(np.arange(3.0), "x")
    filled = np.zeros(5, like=x)
    filled[1:4] = x
    assert backward(filled, 2)["x"].indices().tolist() == [[1]] and not backward(np.arange(3, like=x))
    assert backward(np.asarray(x, like=x), 2)["x"].indices().tolist() == [[2]]
    copied = np.array(x, dtype=np.float32, like=x)
    copied[0] = 9
    assert x.values[0] == 0 and len(backward(copied)["x"]) == 2
    with pytest.raises(NotTracedError, match=r"numpy\.full has no rule"):
        np.full(3, x[0], like=x)


def test_what_shows_a_plain_array_is_copied() -> None:
    plain, x = np.ones(3), track(np.ones((2, 1)), "x")
    _, shown = np.broadcast_arrays(x, plain)
    plain[0] = 5
    assert shown.values.tolist() == [[1, 1, 1]] * 2 and not backward(shown)


def test_cells_are_named_in_every_way() -> None:
    x = track(np.arange(12.0).reshape(3, 4), "x")
    y = x.T + 1
    mask = np.zeros((4, 3), bool)
    mask[1, 2] = mask[3, 0] = True
    expected = [[0, 3], [2, 1]]
    for cells in (mask, np.array([[3, 0], [1, 2]]), forward(x, np.array([[0, 3], [2, 1]]), y)):
        assert backward(y, cells)["x"].indices().tolist() == expected
    assert len(backward(y, (slice(1, None), 1))["x"]) == 3
    assert backward(x.sum(), ())["x"].mask().all()
    for wrong in ((9, 9), np.array([[4, 0]]), np.zeros((3, 4), bool), np.array([1.5]), True):
        with pytest.raises(BadArgumentError):
            backward(y, wrong)


def test_names_are_told_apart() -> None:
    x, other = track(np.zeros(2), "x"), track(np.zeros(2), "x")
    with pytest.raises(BadArgumentError, match="two tracked arrays are called x"):
        backward(x + other)
    with pytest.raises(BadArgumentError, match="called 'x' already"):
        track(x, "y")
    named = track(x + 1, "sum")
    assert prov_query([named * 2, "sum"], 1).indices().tolist() == [[1]]
    assert explain(named).splitlines() == ["sum (2,) of x (2,) as data", "x (2,) tracked"]
    for wrong in ("", 3):
        with pytest.raises(BadArgumentError, match="under a name"):
            track(np.zeros(1), wrong)  # type: ignore[arg-type]


def test_questions_that_have_no_answer() -> None:
    x, y = track(np.zeros(2), "x"), track(np.zeros(2), "y")
    with pytest.raises(BadArgumentError, match="is not a tracked array"):
        backward(np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(BadArgumentError, match="semantics 'both'"):
        backward(x, semantics="both")  # type: ignore[arg-type]
    with pytest.raises(BadArgumentError, match="a path of one"):
        prov_query([x])
    with pytest.raises(BadArgumentError, match="no lineage leads"):
        prov_query([x, y])
    with pytest.raises(BadArgumentError, match="no array is called 'z'"):
        forward("z", 0, x)


def test_copies_are_copies() -> None:
    x = track(np.arange(3.0), "x")
    for made in (copy.copy(x), copy.deepcopy(x), x.copy(), x.flatten()):
        made[0] = 7
        assert backward(made)["x"].indices().tolist() == [[1], [2]]
    assert x.values[0] == 0 and len(backward(x)["x"]) == 3


def test_a_long_history_is_followed_and_forgotten() -> None:
    x = track(np.zeros(2), "x")
    for _ in range(20_000):
        x += 1
    assert len(backward(x, 1)["x"]) == 1
    del x


def test_empty_arrays_have_empty_lineage() -> None:
    x = track(np.zeros((0, 3)), "x")
    for made in (x + 1, x.sum(axis=0), x.T, np.sort(x, axis=1), x[x > 0], np.concatenate([x, x]), x @ np.ones((3, 2))):
        assert not backward(made)["x"] and not backward(made, semantics="control")["x"]
    assert backward(np.concatenate([x, track(np.ones((1, 3)), "y")]), (0, 1))["y"].indices().tolist() == [[0, 1]]


def test_every_rule_has_a_case() -> None:
    """What this room claims to capture is compared with brute force under its own name."""
    tried = {getattr(np, case.operation, None) for case in CASES} | {np.amax, np.amin}
    named = {case.operation for case in CASES}
    missing = [
        name_of(f) for f in (*RULES, *COMPOSED) if f not in tried and f.__name__ not in named and f not in METADATA
    ]
    assert missing == ["numpy.empty_like"]  # whose values are anything


def test_examples_in_docstrings() -> None:
    names = vars(forward_lineage.arrays) | {"np": np}
    failed = 0
    for module in pkgutil.walk_packages(forward_lineage.arrays.__path__, "forward_lineage.arrays."):
        found = doctest.DocTestFinder().find(importlib.import_module(module.name), extraglobs=names)
        runner = doctest.DocTestRunner(verbose=False)
        failed += sum(runner.run(each).failed for each in found)
    assert not failed


def test_no_spark_is_needed() -> None:
    program = """
import importlib.machinery as machinery, sys
find = machinery.PathFinder.find_spec
none = {"pyspark", "py4j"}
machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, *more, **how: None if name.partition(".")[0] in none else find(name, *more, **how)
)
import numpy as np
from forward_lineage.arrays import backward, track
x = track(np.arange(3.0), "x")
print(backward(np.cumsum(x), 1)["x"].indices().tolist(), none & set(sys.modules))
import forward_lineage
forward_lineage.ForwardLineage
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.stdout == "[[0], [1]] set()\n"
    assert "No module named 'pyspark'" in done.stderr


def test_values_types_and_shapes_are_numpys() -> None:
    plain = np.arange(12, dtype=np.int16).reshape(3, 4)
    x = track(plain, "x")
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(x, name) == getattr(plain, name)
    assert len(x) == 3 and isinstance(x.sum().values, np.ndarray) and x.sum().dtype == plain.sum().dtype
    for name in ("T", "mT", "real", "imag"):
        assert not brute.differs(getattr(plain, name), getattr(x, name).values).any()
    for call in ("argmax", "cumsum", "mean", "std", "var", "ptp", "prod", "any", "all", "min", "ravel", "squeeze"):
        if hasattr(plain, call):
            assert np.array_equal(getattr(x, call)().values, getattr(plain, call)())
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = x.nope
