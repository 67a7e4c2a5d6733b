"""Random lines of numpy as strangers write them, for `test_strangers`.

In a template ``{a|b}`` is one of several, ``{axis}`` and its kin are drawn for the array at hand; X is what the line
before made, Y a line of three numbers, ``W(X, f)`` a copy of X after f has written into it.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_ELEMENTWISE = """
np.{sin|exp|negative|abs|sqrt|sign|floor|isnan|reciprocal|logical_not|conj|signbit|spacing|trunc|positive}(X)
np.{add|subtract|divide|maximum|arctan2|fmin|copysign|greater|logical_and|floor_divide|heaviside}(X, {X|2|Y|X.sum()})
np.{add|power|remainder|hypot|less}({2|0.5|Y|np.ones((2, 1))}, X)
X {+|-|*|/|**|//|%|<|>=|==|!=} {2|X|Y|True|np.float32(2)|np.arange(3.0)|[1, 2, 3]|X.mean(axis=-1, keepdims=True)}
X.astype({np.float32|complex|int|bool|str|object})
X.astype(float, order="F")
np.clip(X, {-1|None|Y[0]|X.min()}, {1|0.4|X.mean()})
X.clip({0|max=0.5|-0.2, 0.3|min=X.mean()})
np.round(X, 1) if X.ndim else X.round()
np.{real|imag|angle|nan_to_num|sinc|fix|isreal}({X|X * 1j|X / 0})
np.{modf|divmod|frexp}(X{, 0.3|})[{0|1}]
np.isclose(X, 0.5)
np.{allclose|array_equal}(X, X)
np.linspace({0|X}, X + 1, 3{, axis=-1|})
np.full_like(X, X.sum())
"""
_REDUCTIONS = """
np.{sum|prod|max|min|mean|std|var|ptp|any|all|median|nansum|nanmax|nanmean|count_nonzero}(X, axis={axes}{keep})
X.{sum|max|mean|std|any|argmax|argmin}({|{axis}|axis={axis}{keep}})
np.{sum|max|min|prod|mean|std|any}(X, axis={axes}{keep}, where=X > {0|-0.5|0.2}, initial={0|1.0|Y[0]})
np.{mean|std|any|all}(X, axis={axes}{keep}, where=X > 0)
np.std(X, axis={axes}, ddof=1, mean=X.mean(axis={axis}, keepdims=True))
np.{add|multiply|maximum|logaddexp|logical_and}.reduce(X{|, axis={axis}|, axis=None|, axis={axis}, keepdims=True})
np.{add|multiply|subtract|divide|maximum}.accumulate(X{|, axis={axis}})
np.{add|maximum}.reduceat(X, {[0, 1]|[1, 0]|[0]|I([0, 1])|np.array([1, 0, 1])}{|, axis={axis}})
np.{add|multiply|subtract|power}.outer({X, Y|Y, X|X, 2})
np.{argmax|argmin|nanargmax}(X, axis={axis}{keep})
np.{percentile|quantile|nanquantile}(X, {0.5|[0.25, 0.5]|[[0.2], [0.3]]}, axis={axes}{keep}{|, method="lower"})
np.average(X, axis={axes}{|, weights=np.abs(X) + 1})
np.linalg.norm(X{|, axis={axis}|, axis=-1, keepdims=True|, ord=1, axis=0})
np.trapezoid(X{|, axis={axis}|, dx=2.0|, x=np.arange(X.shape[-1]) ** 2})
np.cov(X{|, rowvar=False})
"""
_MOVES = """
X[{index}]
X[{slices}]
X[{...|()|None|..., None|True|np.array(True)|X > 0|X <= X.mean()|X > 9}]
X[np.argsort({X.reshape(-1)|X[..., 0]|X}) % max(X.shape[0], 1)]
np.reshape(X, {-1|(-1, 1)|(2, -1)|(-1, 3)}{|, order="F"|, order="A"})
X.{ravel|flatten|copy}({|"F"|"K"|order="A"})
X.T
np.{swapaxes|moveaxis}(X, {axis}, {axis})
np.{flip|roll}(X{, {axis}|, axis={axis}})
np.roll(X, {1|-2|(1, 2)|7}{|, axis={axis}|, axis=(0, -1)|, axis=(0, 0)})
np.{fliplr|flipud|squeeze|atleast_2d|atleast_3d|matrix_transpose}(X)
np.rot90(X, {1|2|-1|5}{|, axes=(1, 0)})
np.tile(X, {2|(2, 1)|0|(2, 1, 2)})
np.repeat(X, {2|[1, 2]|[0, 2, 1]|I([2, 1])|np.array([2])}{|, axis={axis}})
np.pad(X, {1|(1, 2)|((1, 0),)|0}, {"edge"|"reflect"|"wrap"|"symmetric"|"mean"|"linear_ramp"|"median"|constant_values=3})
np.concatenate([X, {X|X[:1]|Y}]{|, axis={axis}|, axis=None})
np.{vstack|hstack|dstack|column_stack|stack}([X, {X|X * 2}])
np.block([[X, X], [X * 2, {X|np.zeros(X.shape)}]])
np.append(X, {Y|X|3}{|, axis={axis}})
np.{split|array_split}(X, {2|3|[1]|[1, 1]|[2, 1]|[-1]}{|, axis={axis}})[{0|1|-1}]
np.broadcast_to(X, (2, *X.shape))
np.{triu|tril}(X{|, 1|, -1})
np.{diag|diagonal|trace}(X{|, 1|, -1})
np.lib.stride_tricks.sliding_window_view(X, {2|(2,) * X.ndim}{|, axis={axis}})
np.take(X, {[0, 1]|0|[[0], [1]]|I([1, 0])|[-1, -1]}{|, axis={axis}|, mode="wrap"})
np.take_along_axis(X, np.argsort(X, axis={axis}), axis={axis})
np.compress({[True, False]|[False, True, True]|[1, 0]}, X{|, axis={axis}})
X.compress({[True, False]|X.reshape(-1) > 0})
np.delete(X, {0|-1|[0, -1]|slice(0, 2)|I([0])}{|, axis={axis}})
np.insert(X, {0|-1|[0, 1]|[1, 0]|slice(0, 2)|I([1])|[1, 1]}, {5|Y[0]|[5]}{|, axis={axis}})
np.resize(X, (2, 3))
np.meshgrid(X, Y{|, indexing="ij", sparse=True})[{0|1}]
"""
_CHOICES = """
np.where(X {>|<} {0|0.3}, X, {0|Y|-X|X.sum()})
np.{flatnonzero|argwhere}(X > 0)
np.nonzero(X > 0)[{0|-1}]
np.select([X > 0.5, X > 0], [X, X * 2], {7|X.sum()})
np.choose((X > 0).astype(int), [X, {-X|Y|0}])
np.piecewise(X, [X < 0, X >= 0], [lambda v: -v, lambda v: v * 2])
np.{sort|argsort}(X, axis={axis}{|, kind="stable"})
np.{partition|argpartition}(X, {0|1|-1|(0, 1)}, axis={axis})
np.unique(np.round(X){|, return_counts=True)[1|, return_inverse=True)[1|, axis=0})
np.searchsorted(np.sort(Y), X{|, side="right"})
np.digitize(X, [-0.5, 0, 0.5])
np.histogram(X, {3|[-2, 0, 2]}{|, density=True|, weights=X})[{0|1}]
np.interp({X, [-1.0, 0.0, 1.0], [2.0, 3.0, 5.0]|[-0.4, 0.2], np.sort(Y), Y})
np.trim_zeros(np.where(X > 0, X, 0).reshape(-1){|, "f"|, "b"})
np.{intersect1d|union1d|setdiff1d|isin}(np.round(X), [0, 1])
"""
_SUMS = """
{einsum}
{X @ X.T|X.T @ X|np.dot(X, X.T)|np.inner(X, X)|np.outer(X, Y)|np.kron(X, [1, 2])|np.vdot(X, X)|np.vecdot(X, X)}
np.tensordot(X, X, axes={0|1|([0], [0])|(-1, -1)|([0, 1], [0, 1])})
np.cross(X, X[..., ::-1])
np.convolve(X, {[1, 2, 3], "same"|Y})
np.correlate({X, Y, "full"|Y, X, "same"|Y, X, "valid"})
np.{cumsum|cumprod|nancumsum}(X{|, axis={axis}})
np.cumulative_sum(X, axis={axis}{|, include_initial=True})
np.diff(X, n={1|2|0}, axis={axis}{|, prepend=0|, append=X})
np.gradient(X{|, 2.0|, axis={axis}|, edge_order=2})
np.ediff1d(X{|, to_end=Y|, to_begin=[1, 2]})
np.linalg.{inv|det|cholesky}(X @ np.swapaxes(X, -1, -2) + 3 * np.eye(X.shape[-2]))
np.linalg.solve(X @ np.swapaxes(X, -1, -2) + 3 * np.eye(X.shape[-2]), {X|np.ones(X.shape[-2])})
np.fft.{fft|rfft|ifft|fftshift|fftn}(X)
np.fft.fft(X, {axis={axis}|n=2|n=5})
np.{polyadd|polymul}(X, Y)
np.apply_along_axis({lambda v: v.sum()|np.sort|lambda v: v[::-1] * 2}, {0|-1}, X)
np.unwrap(X * 4)
"""
_WRITES = """
W(X, lambda z: z.__setitem__(({index}), {7|Y[0]|z.sum()|z.reshape(-1)[0]}))
W(X, lambda z: z.__setitem__(({slices}), {7|Y[:1]|z[{slices}] * 2}))
W(X, lambda z: z.__setitem__(z > {0|0.3}, {1.0|Y[0]|z[z > 0] * 2|z.mean()}))
W(X, lambda z: z.__setitem__({()|...}, {7|Y[0]}))
W(X, lambda z: np.{add|maximum|subtract}.at(z, {0|[0, 0]|I([0, 1])|z > 0|(..., 0)}, {1|Y[0]}))
W(X, lambda z: z.{sort()|sort(axis={axis})|partition(1)|fill(Y[0])})
W(X, lambda z: np.{put(z, [0, -1], [5, 6])|putmask(z, z > 0, Y)|place(z, z > 0, Y)|copyto(z, Y[0], where=z > 0)})
W(X, lambda z: np.put_along_axis(z, np.argmax(z, axis=0, keepdims=True), 9, axis=0))
W(X, lambda z: np.{add|multiply}(z, {z|2|z.T|z[::-1]|Y[0]}, out=z))
W(X, lambda z: np.{sqrt|exp}(z, out=z, where=z > 0))
W(X, lambda z: np.{cumsum(z, axis=0, out=z)|add(z[1:], z[:-1], out=z[1:])|sum(z, axis=0, out=z[0])|round(z, 1, out=z)})
W(X, lambda z: z{.T|[::-1]|.reshape(-1)|[None]|[..., ::2]}.__setitem__(0, {5|z[0]|2 * z}))
W(X, lambda z: {np.flip(z)|np.rot90(z)|np.moveaxis(z, 0, -1)|np.diagonal(z)|z.ravel("F")|np.real(z)}[...].sum())
W(X, lambda z: z{|[..., 0]|.T[0]|.swapaxes(0, -1)}.__iadd__({Y[0]|1}))
W(X, lambda z: z.__iadd__(z[::-1]))
"""
TEMPLATES = [
    line
    for family in (_ELEMENTWISE, _REDUCTIONS, _MOVES, _CHOICES, _SUMS, _WRITES)
    for line in family.strip().splitlines()
]
SHAPES = [(3,), (4,), (2, 3), (2, 3), (3, 3), (3, 2), (1, 3), (2, 2, 2), (2, 1, 3), (3, 1), (1,), (), (0,), (2, 0)]
_OTHER_TYPES: list[Callable[[np.ndarray], np.ndarray]] = [
    lambda x: np.abs(2 * x).astype(int),
    lambda x: x > 0,
    lambda x: x + 1j * x[..., ::-1] if x.ndim else x * 1j,
    np.asfortranarray,
]
MOST_CELLS = 60
_INNERMOST = re.compile(r"\{([^{}]*)\}")
Line = str


def line(rng: random.Random, array: np.ndarray) -> Line:
    """A line of numpy over an array; whether numpy takes it is another question."""
    text = rng.choice(TEMPLATES)
    while found := _INNERMOST.search(text):
        inside = found[1]
        drawn = _DRAWN[inside](rng, array) if inside in _DRAWN else rng.choice(inside.split("|"))
        text = text[: found.start()] + drawn + text[found.end() :]
    return text


def _axis(rng: random.Random, array: np.ndarray) -> str:
    return str(rng.randrange(-array.ndim, array.ndim)) if array.ndim else "None"


def _axes(rng: random.Random, array: np.ndarray) -> str:
    chosen = rng.sample(range(array.ndim), rng.randint(0, array.ndim))
    several = repr(tuple(each - rng.choice([0, array.ndim]) for each in chosen))
    return rng.choice([_axis(rng, array), "None", several, several])


def _slice(rng: random.Random, size: int) -> str:
    ends = [str(rng.randint(-size - 1, size + 1)) if rng.random() < 0.6 else "" for _ in range(2)]
    return ":".join([*ends, rng.choice(["", "1", "2", "-1", "-2"])])


def _slices(rng: random.Random, array: np.ndarray) -> str:
    return _joined(rng, [_basic(rng, size) for size in array.shape])


def _index(rng: random.Random, array: np.ndarray) -> str:
    length = rng.randint(1, 3)

    def place(size: int) -> str:
        places = [rng.randrange(-size, size) for _ in range(length)] if size else []
        mask = [rng.random() < 0.6 for _ in range(size)]
        several = [f"{places}", f"np.array({mask})", f"I({places})", f"np.array({[[each] for each in places]})"]
        return rng.choice([*several, *[_basic(rng, size)] * 4]) if size else ":"

    return _joined(rng, [place(size) for size in array.shape])


def _basic(rng: random.Random, size: int) -> str:
    return str(rng.randrange(-size, size)) if size and rng.random() < 0.4 else _slice(rng, size)


def _joined(rng: random.Random, parts: list[str]) -> str:
    """An index of some parts, perhaps with new axes, with dots for the last ones, or without these."""
    parts = parts[: rng.randint(1, len(parts))] if parts and rng.random() < 0.3 else parts
    if rng.random() < 0.2:
        parts = [*parts[: rng.randint(0, len(parts))], "..."]
    if rng.random() < 0.2:
        parts = [*parts, "None"]
    return f"{', '.join(parts or ['...'])},"


def _einsum(rng: random.Random, array: np.ndarray) -> str:
    letters = [rng.choice("ijk") for _ in range(array.ndim)] if rng.random() < 0.4 else list("ijk"[: array.ndim])
    known = sorted(set(letters))
    out, operand = "".join(rng.sample(known, rng.randint(0, len(known)))), "".join(letters)
    several = [f"'{operand}->{out}', X", f"'{operand}', X", f"'{operand},{operand}->{out}', X, X", "'...,...', X, X"]
    numbers = list(range(array.ndim))
    return f"np.einsum({rng.choice([*several, f'X, {numbers}, X, {numbers}, {numbers[:-1]}'])})"


_DRAWN: dict[str, Callable[[random.Random, np.ndarray], str]] = {
    "axis": _axis,
    "axes": _axes,
    "slices": _slices,
    "index": _index,
    "einsum": _einsum,
    "keep": lambda rng, array: rng.choice(["", "", ", keepdims=True", ", keepdims=1"]),
}


def _written(array: Any, write: Callable[[Any], Any]) -> Any:
    copy = array.copy()
    write(copy)
    return copy


def run(lines: list[Line], x: Any, y: Any, indices: Callable[[list[int]], Any] = np.array) -> Any:
    """What the last line makes; `indices` makes arrays of the indices that are written as ``I([…])``."""
    made = x
    for text in lines:
        made = eval(text, {"np": np, "X": made, "Y": y, "W": _written, "I": indices})
        made = (
            np.asarray(made) if isinstance(made, (np.generic, float, int)) else made
        )  # numbers are arrays where they are tracked
    return made


def program(rng: random.Random, length: int) -> tuple[list[Line], dict[str, np.ndarray]]:
    """Some lines that numpy takes, and what to run them on."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    x, y = numbers.uniform(-1.5, 1.5, rng.choice(SHAPES)), numbers.uniform(-1.5, 1.5, 3)
    x = np.array(rng.choice([*[lambda each: each] * 6, *_OTHER_TYPES])(x))
    lines: list[Line] = []
    array = x
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(20 * length):
            text = line(rng, array)
            try:
                made = run([text], array, y)
            except Exception:  # whatever is wrong with it, numpy does not take it
                continue
            if isinstance(made, (np.ndarray, np.generic, float, int)) and np.size(made) <= MOST_CELLS:
                lines.append(text)
                array = np.asarray(made)
            if len(lines) == length:
                break
    return lines, {"x": x, "y": y}
