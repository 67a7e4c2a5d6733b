"""Sets and counts.   data: the equal cells, the bin's cells; control adds all cells: each could be one of them."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output, one_axis
from forward_lineage.arrays.registry import rule, since
from forward_lineage.arrays.shapes import Rule, aligned, boxes, everything, reshaped
from forward_lineage.arrays.values import gather, pairs, placed


@rule(np.unique, *since("unique_values unique_counts unique_inverse unique_all"))
def unique(call: Call) -> None:
    """The equal cells; of an index the cell that is named, of the inverse the cell itself. Control: all cells."""
    source = call.maybe("ar") or call.input("x")
    if call.plain.get("axis") is not None:
        _unique_slices(call, source)
        return
    name = call.name.rpartition(".")[2]
    kinds = {
        "unique_values": "v",
        "unique_counts": "vc",
        "unique_inverse": "vi",
        "unique_all": "vnic",
        "unique": "v"
        + "".join(
            k
            for k, on in (("n", "return_index"), ("i", "return_inverse"), ("c", "return_counts"))
            if call.plain.get(on)
        ),
    }[name]
    nans_equal = name == "unique" and bool(call["equal_nan"])
    of_value = groups(source, call.outputs[0].values, equal_nan=nans_equal)
    for kind, output in zip(kinds, call.outputs, strict=True):
        output.data(source, {"v": of_value, "c": of_value, "n": gather(output.values), "i": reshaped}[kind])
        output.control(source, everything)
        if kind != "i":
            output.decided_by(source)


def _unique_slices(call: Call, source: Input) -> None:
    """The equal slices along an axis, cell by cell; of an index, a number or a count all cells of its slices."""
    axis, size = one_axis(call["axis"], source.ndim), source.values.size
    first, group = np.unique(
        source.values, return_index=True, return_inverse=True, axis=axis, equal_nan=bool(call["equal_nan"])
    )[1:]
    group = group.reshape(-1)
    along = tuple(-1 if k == axis else 1 for k in range(source.ndim))
    of_slice = np.broadcast_to(group.reshape(along), source.shape).reshape(-1)
    place = np.broadcast_to(np.arange(group.size).reshape(along), source.shape).reshape(-1)
    values = call.outputs[0].values
    cells = np.take(np.arange(values.size).reshape(values.shape), group, axis=axis).reshape(-1)
    named = np.flatnonzero(first[of_slice] == place)
    every = np.arange(size)
    rules = {
        "v": pairs(cells, every),
        "n": pairs(of_slice[named], named),
        "i": pairs(place, every),
        "c": pairs(of_slice, every),
    }
    asked = [k for k, on in (("n", "return_index"), ("i", "return_inverse"), ("c", "return_counts")) if call[on]]
    for kind, output in zip(["v", *asked], call.outputs, strict=True):
        output.data(source, rules[kind])
        output.control(source, everything)
        if kind != "i":
            output.decided_by(source, axis if kind == "v" else 0)


def groups(source: Input, values: np.ndarray, *, equal_nan: bool = True) -> Rule:
    """For each of some distinct values, ascending, the cells that are equal to it."""
    flat = source.values.reshape(-1)
    order = np.argsort(values, kind="stable")
    at = np.clip(np.searchsorted(values[order], flat), 0, max(values.size - 1, 0))
    equal = np.zeros(flat.size, bool)
    if values.size:
        at = order[at]
        equal = (values[at] == flat) | (_nan(values)[at] & _nan(flat))
    if not equal_nan and _nan(flat).any():
        # Each NaN is a value of its own; they come last, in the order of the sort.
        own = np.flatnonzero(_nan(flat))
        at[own] = np.flatnonzero(_nan(values))[: own.size]
    return pairs(at[equal], np.flatnonzero(equal))


def _nan(values: np.ndarray) -> np.ndarray:
    return np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)


@rule(np.union1d)
def union1d(call: Call) -> None:
    """The equal cells of both; control all cells of both."""
    _both(call, call.outputs[0], [call.input("ar1"), call.input("ar2")], [call.input("ar1"), call.input("ar2")])


@rule(np.intersect1d)
def intersect1d(call: Call) -> None:
    """The equal cells of both; of an index the cell that is named. Control: all cells of both."""
    first, second = call.input("ar1"), call.input("ar2")
    _both(call, call.outputs[0], [first, second], [first, second])
    for source, output in zip((first, second), call.outputs[1:], strict=False):
        output.data(source, gather(output.values))
        output.control(first, everything)
        output.control(second, everything)


@rule(np.setdiff1d, np.setxor1d)
def setdiff1d(call: Call) -> None:
    """The equal cells of that one which has them; control all cells of both."""
    first, second = call.input("ar1"), call.input("ar2")
    _both(call, call.out, [first, second] if call.name.endswith("setxor1d") else [first], [first, second])


def _both(call: Call, output: Output, data: list[Input], control: list[Input]) -> None:
    for source in data:
        output.data(source, groups(source, output.values))
    for source in control:
        output.control(source, everything)
        output.decided_by(source)


@rule(np.isin)
def isin(call: Call) -> None:
    """The cell that is looked for; control adds all of the set, as of a subquery behind IN."""
    call.out.data(call.input("element"), aligned)
    call.out.control(call.input("test_elements"), everything)


@rule(np.bincount)
def bincount(call: Call) -> None:
    """The bin's cells and their weights; control adds all cells, not their weights."""
    source, weights = call.input("x"), call.maybe("weights")
    in_bin = pairs(source.values, np.arange(source.values.size))
    call.out.data(source, in_bin)
    if weights is not None:
        call.out.data(weights, in_bin)
    call.out.control(source, everything)


@rule(np.histogram)
def histogram(call: Call) -> None:
    """The bin's cells and weights, and its two edges; control adds all cells. Density is made of all."""
    source, weights = call.input("a"), call.maybe("weights")
    counts, edges = call.outputs
    automatic = np.ndim(call["bins"]) == 0
    _edges(call, edges, source, automatic=automatic)
    bins = _bins([source.values.reshape(-1)], [edges.values])
    inside = np.flatnonzero(bins >= 0)
    in_bin = everything if call["density"] else pairs(bins[inside], inside)
    for each in (source, weights):
        if each is not None:
            counts.data(each, in_bin)
    counts.control(source, everything)
    if not automatic:
        for by in (0, 1):
            counts.data(call.input("bins"), everything if call["density"] else placed(-by, edges.values.size))
        counts.control(call.input("bins"), everything)


def _edges(call: Call, edges: Output, source: Input, *, automatic: bool) -> None:
    if not automatic:
        edges.data(call.input("bins"), aligned)
    elif call["range"] is None:
        edges.data(source, everything)
    else:
        for each in call.given["range"]:
            edges.data(call.as_input(each), everything)


@rule(np.histogram_bin_edges)
def histogram_bin_edges(call: Call) -> None:
    """All cells, for they say where the bins begin and end."""
    _edges(call, call.out, call.input("a"), automatic=np.ndim(call["bins"]) == 0)
    if call["range"] is not None and isinstance(call["bins"], str):
        call.out.data(call.input("a"), everything)


def _bins(samples: list[np.ndarray], edges: list[np.ndarray]) -> np.ndarray:
    """The flat bin of each sample, −1 for none; the last bin has its right edge."""
    flat = np.zeros(samples[0].size, np.int64)
    outside = np.zeros(samples[0].size, bool)
    for sample, edge in zip(samples, edges, strict=True):
        at = np.searchsorted(edge, sample, side="right") - 1
        at = np.where(sample == edge[-1], edge.size - 2, at)
        outside |= (at < 0) | (at > edge.size - 2) | np.not_equal(sample, sample)
        flat = flat * (edge.size - 1) + np.clip(at, 0, edge.size - 2)
    return np.where(outside, -1, flat)


@rule(np.histogram2d)
def histogram2d(call: Call) -> None:
    """The bin's cells of both; control adds all cells of both. Edges that are not given are made of all cells."""
    sources = [call.input("x"), call.input("y")]
    bins = call["bins"]
    if not _is_number(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    _counted(call, [(source, every, None) for source in sources for every in [np.arange(source.values.size)]], bins)


@rule(np.histogramdd)
def histogramdd(call: Call) -> None:
    """The same of any number of samples: columns of a matrix, or arrays."""
    sample, bins = call.given["sample"], call["bins"]
    if isinstance(sample, (list, tuple)):
        sources = [call.as_input(each) for each in sample]
        _counted(call, [(each, np.arange(each.values.size), None) for each in sources], bins)
        return
    source = call.input("sample")
    size, axes = source.shape if source.ndim == 2 else (source.values.size, 1)
    _counted(call, [(source, np.arange(size) * axes + k, k if source.ndim == 2 else None) for k in range(axes)], bins)


_Sample = tuple[Input, np.ndarray, int | None]
"""A sample: the array that has it, its cells there by number, and its column, None where it is all of the array."""


def _counted(call: Call, samples: list[_Sample], bins: object) -> None:
    counts, *edges = call.outputs
    values = [source.values.reshape(-1)[cells] for source, cells, _ in samples]
    in_bin = _bins(values, [each.values for each in edges])
    inside = np.flatnonzero(in_bin >= 0)
    weights = call.maybe("weights")
    for source, cells, _ in samples:
        counts.data(source, everything if call["density"] else pairs(in_bin[inside], cells[inside]))
        counts.control(source, everything)
    if weights is not None:
        counts.data(weights, everything if call["density"] else pairs(in_bin[inside], inside))
    _edges_of_samples(call, samples, edges, bins)


def _edges_of_samples(call: Call, samples: list[_Sample], edges: list[Output], bins: object) -> None:
    """Where only their number is given, all of the sample says where bins begin and end."""
    each_bins = [bins] * len(samples) if _is_number(bins) else list(bins)  # type: ignore[call-overload]
    ranges = [None] * len(samples) if call["range"] is None else list(call["range"])
    for (source, _, column), edge, own, limits in zip(samples, edges, each_bins, ranges, strict=True):
        if _is_number(own) and limits is None:
            edge.data(source, everything if column is None else _column(column))


def _is_number(bins: object) -> bool:
    """Whether bins are a number of them, and not edges; lists may be ragged."""
    return not isinstance(bins, (list, tuple, np.ndarray))


def _column(column: int) -> Rule:
    return lambda out, into: boxes(out, into, {}, {0: (0, into[0] - 1), 1: (column, column)})
