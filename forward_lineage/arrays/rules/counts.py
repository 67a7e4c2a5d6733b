"""Sets and counts.   data: the equal cells, the bin's cells; control adds all cells: each could be one of them."""

from __future__ import annotations

import numpy as np

from forward_lineage.arrays.calls import Call, Input, Output
from forward_lineage.arrays.registry import rule, since
from forward_lineage.arrays.shapes import Rule, aligned, everything, reshaped
from forward_lineage.arrays.values import gather, pairs, placed
from udafs.errors import NotTracedError


@rule(np.unique, *since("unique_values unique_counts unique_inverse unique_all"))
def unique(call: Call) -> None:
    """The equal cells; of an index the cell that is named, of the inverse the cell itself. Control: all cells."""
    source = call.maybe("ar") or call.input("x")
    if call.plain.get("axis") is not None:
        raise NotTracedError("numpy.unique along an axis", instead="Use numpy.unique without axis, or register it.")
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
        outside |= (at < 0) | (at > edge.size - 2) | np.isnan(sample)
        flat = flat * (edge.size - 1) + np.clip(at, 0, edge.size - 2)
    return np.where(outside, -1, flat)


@rule(np.histogram2d)
def histogram2d(call: Call) -> None:
    """The bin's cells of both; control adds all cells of both."""
    first, second, weights = call.input("x"), call.input("y"), call.maybe("weights")
    counts, *edges = call.outputs
    if np.ndim(call["bins"]) or call["range"] is not None:
        raise NotTracedError(
            "numpy.histogram2d with bins of its own", instead="Give the number of bins, or register it."
        )
    bins = _bins([first.values, second.values], [each.values for each in edges])
    inside = np.flatnonzero(bins >= 0)
    in_bin = everything if call["density"] else pairs(bins[inside], inside)
    for each in (first, second, weights):
        if each is not None:
            counts.data(each, in_bin)
    for source, edge in zip((first, second), edges, strict=True):
        counts.control(source, everything)
        edge.data(source, everything)
