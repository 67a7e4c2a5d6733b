"""``x[key]`` and ``x[key] = value``.

Slices, numbers, ``...`` and ``None`` are boxes, and what is read is a view. A mask or arrays of indices choose cells:
data is the cell, control adds the mask up to it, or the index that names it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.calls import Input
from forward_lineage.arrays.dispatch import frozen_inputs, plain
from forward_lineage.arrays.graph import Edge, Node, Shape
from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.shapes import (
    At,
    Rule,
    Steps,
    Stretch,
    aligned,
    boxes,
    everything,
    same,
)
from forward_lineage.arrays.values import gather, kept, let_in, prefix, taken, up_to_chosen
from udafs.errors import NotTracedError


def read_item(array: Handle, key: Any) -> Handle:
    """``array[key]``."""
    _check(key)
    if is_basic(key):
        # Of an array of objects numpy gives the object, which may be a list: a cell stays a cell.
        one = array.shown.dtype == object and _is_cell(key, array.shown.ndim)
        values = array.shown[_wider(key)].copy() if one else np.asarray(array.shown[key])
        steps = basic(key, array.shape)(values.shape, array.shape)
        if values.size and np.may_share_memory(values, array.shown):
            return array.showing(values, steps, "indexing")
        return type(array)(values, Buffer(Node(values.shape, [Edge(array.node, steps)], operation="indexing")))
    values = np.asarray(array.shown[plain(key)])
    edges = [Edge(array.node, _chosen(plain(key), array.shape)(values.shape, array.shape))]
    for source in frozen_inputs(key).values():
        edges.append(_deciding(key, source, values.shape, array.shape))
    node = Node(values.shape, edges, operation="indexing")
    for source in frozen_inputs(key).values():
        if source.values.dtype == bool and source.node is not None and values.ndim:
            axis = _first_axis(key) % values.ndim if _masks(key) else 0
            node.lengths[axis] = (*node.lengths.get(axis, ()), source.node)
    return type(array)(values, Buffer(node))


def _chosen(key: Any, shape: Shape) -> Rule:
    """The cells that a mask or indices choose: whole masks and indices of rows are told without listing all cells."""
    whole = np.asarray(key) if not isinstance(key, tuple) else None
    if whole is not None and whole.dtype == bool and whole.ndim:
        return let_in(whole)
    if whole is not None and whole.dtype.kind in "iu" and whole.ndim:
        return taken(0, whole)
    return gather(np.arange(prod(shape)).reshape(shape)[key])


def write_item(array: Handle, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    _check(key)
    sources = frozen_inputs(value)
    if sources and not isinstance(value, Handle):
        raise NotTracedError(
            "writing a list with tracked arrays in it", instead="Join them with np.stack or np.concatenate."
        )
    given = next(iter(sources.values()), None)
    if is_basic(key):
        view = read_item(array, _wider(key) if _is_cell(key, array.shown.ndim) else key)
        array.shown[key] = plain(value)
        view.write(Node(view.shape, _written(given, view.shape), operation="writing"))
        return
    before, cells = array.node, np.arange(array.shown.size).reshape(array.shape)
    chosen = cells[plain(key)]
    deciding = list(frozen_inputs(key).values())
    array.shown[plain(key)] = plain(value)
    turned = np.full(array.shown.size, -1)
    turned[chosen.reshape(-1)] = np.arange(chosen.size)  # of an index that comes twice the last one is written
    edges = [Edge(before, kept(turned.reshape(array.shape) < 0)(array.shape, array.shape))]
    if given is not None and given.node is not None:
        steps = gather(turned)(array.shape, chosen.shape) + aligned(chosen.shape, given.shape)
        edges.append(Edge(given.node, steps))
    for source in deciding:
        edges.append(_deciding_write(key, source, array.shape, alike=np.ndim(plain(value)) == 0))
    array.write(Node(array.shape, edges, operation="writing"))


def _wider(key: Any) -> tuple[Any, ...]:
    """The key that shows one cell as a view: numpy would give what it holds."""
    return (*(key if isinstance(key, tuple) else (key,)), ...)


def _written(given: Input | None, shape: Shape) -> list[Edge]:
    if given is None or given.node is None:
        return []
    # numpy lets a value have more axes in front, all of length 1; or a cell holds all of it, as an object.
    in_front = max(0, len(given.shape) - len(shape))
    is_object = prod(given.shape[:in_front]) != 1
    steps = everything(shape, given.shape) if is_object else aligned(shape, given.shape[in_front:])
    return [Edge(given.node, steps)]


# ------------------------------------------------------------ keys


def _check(key: Any) -> None:
    for each in key if isinstance(key, tuple) else (key,):
        if isinstance(each, (str, bytes)) or (isinstance(each, list) and each and isinstance(each[0], str)):
            raise NotTracedError("a field of a structured array", instead="Track each field as an array of its own.")
        if isinstance(each, list) and frozen_inputs(each):
            raise NotTracedError("a list with tracked arrays as an index", instead="Join them with np.stack.")
        if isinstance(each, slice) and frozen_inputs((each.start, each.stop, each.step)):
            raise NotTracedError("a slice with a tracked bound", instead="Say which it is: int(bound.values).")


def is_basic(key: Any) -> bool:
    """Whether a key has slices, numbers, ``...`` and ``None`` only."""
    listed = key if isinstance(key, tuple) else (key,)
    return all(each is None or each is Ellipsis or isinstance(each, slice) or _is_number(each) for each in listed)


def _is_cell(key: Any, ndim: int) -> bool:
    """Whether a key names one cell: a number for each axis, and nothing else."""
    listed = key if isinstance(key, tuple) else (key,)
    return len(listed) == ndim and all(map(_is_number, listed))


def _is_number(each: Any) -> bool:
    return isinstance(each, (int, np.integer)) and not isinstance(each, (bool, np.bool))


def basic(key: Any, shape: Shape) -> Rule:
    """The rule of a key that `is_basic`, over an array of a shape."""
    listed = list(key) if isinstance(key, tuple) else [key]
    used = sum(each is not None and each is not Ellipsis for each in listed)
    if not any(each is Ellipsis for each in listed):
        listed.append(Ellipsis)
    place = next(i for i, each in enumerate(listed) if each is Ellipsis)
    listed[place : place + 1] = [slice(None)] * (len(shape) - used)

    def made(out: Shape, into: Shape) -> Steps:
        along: dict[int, list[Stretch]] = {}
        fixed: dict[int, tuple[int, int]] = {}
        j = k = 0
        for each in listed:
            if each is None:
                j += 1
            elif isinstance(each, slice):
                start, _, step = each.indices(into[k])
                at = At(step, start)
                along[j] = [Stretch(0, out[j] - 1, {k: (at, at)})]
                j, k = j + 1, k + 1
            else:
                fixed[k] = (int(each) % into[k],) * 2
                k += 1
        return boxes(out, into, along, fixed)

    return made


# ------------------------------------------------------------ what a key decides


def _masks(key: Any) -> bool:
    """Whether there is a mask in a key, and nothing else that chooses."""
    listed = [each for each in (key if isinstance(key, tuple) else (key,)) if not is_basic(each)]
    return len(listed) == 1 and np.asarray(plain(listed[0])).dtype == bool


def _deciding(key: Any, source: Input, out: Shape, into: Shape) -> Edge:
    """What of a tracked mask or index decided which cell an output cell is."""
    assert source.node is not None
    if source.values.dtype == bool:
        if _masks(key):
            return Edge(source.node, up_to_chosen(source.values, _first_axis(key))(out, source.shape), control=True)
        return Edge(source.node, everything(out, source.shape), control=True)
    return Edge(source.node, _index_of(key, source, out), control=True)


def _first_axis(key: Any) -> int:
    """The output axis on which the chosen cells of a mask lie."""
    listed = key if isinstance(key, tuple) else (key,)
    if any(each is Ellipsis for each in listed):
        before = [each for each in listed if each is Ellipsis or not is_basic(each)]
        if before[0] is Ellipsis:
            return -1 - sum(isinstance(each, slice) or each is None for each in _behind(listed))
    return sum(isinstance(each, slice) or each is None for each in _ahead(listed))


def _ahead(listed: tuple[Any, ...]) -> list[Any]:
    place = next(i for i, each in enumerate(listed) if not is_basic(each))
    return list(listed[:place])


def _behind(listed: tuple[Any, ...]) -> list[Any]:
    place = next(i for i, each in enumerate(listed) if not is_basic(each))
    return list(listed[place + 1 :])


def _index_of(key: Any, source: Input, out: Shape) -> Steps:
    """The index that names the cell: indices are broadcast against each other, and lie where numpy puts them."""
    listed = key if isinstance(key, tuple) else (key,)
    plain_key = plain(listed)
    arrays = [np.asarray(each) for each in plain_key if not is_basic(each) or _is_number(each)]
    masked = any(each.dtype == bool for each in arrays)
    if masked:
        return everything(out, source.shape)
    joint = np.broadcast_shapes(*(each.shape for each in arrays))
    first = _joint_axis(listed, len(out), len(joint))
    along = {first + j: [Stretch(0, n - 1, {j: (At(), At())})] for j, n in enumerate(joint)}
    return boxes(out, joint, along) + aligned(joint, source.shape)


def _joint_axis(listed: tuple[Any, ...], ndim: int, joint: int) -> int:
    """Where in the output the axes of the indices are: where they stood if they stood together, else in front."""
    choosing = [not is_basic(each) or _is_number(each) for each in listed]
    places = [i for i, yes in enumerate(choosing) if yes]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    before, behind = listed[: places[0]], listed[places[-1] + 1 :]
    if any(each is Ellipsis for each in before):
        return ndim - joint - len(behind)
    return len(before)


def _deciding_write(key: Any, source: Input, shape: Shape, *, alike: bool) -> Edge:
    """The cells of a tracked mask or index that decided whether, and with which value, a cell was written."""
    assert source.node is not None
    if source.values.dtype == bool and _masks(key) and not isinstance(key, tuple):
        seen = (*source.shape, *shape[len(source.shape) :])
        along = {k: same(k, n) for k, n in enumerate(source.shape)}
        own = boxes(seen, source.shape, along)
        if alike:
            return Edge(source.node, own, control=True)
        # Which of the values a cell gets depends on how many were true before it.
        flat = (prod(source.shape),)
        steps = own + prefix(flat, flat)
        return Edge(source.node, steps, control=True)
    return Edge(source.node, everything(shape, source.shape), control=True)
