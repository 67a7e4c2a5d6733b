"""Operations that numpy does not know: what they made, and a lineage that the user tells.   [DSLog, §III-A]"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.captures import Capture, relation_of
from forward_lineage.arrays.graph import Edge, Node
from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.reuse import Memory, Request
from forward_lineage.arrays.tracked import TrackedArray
from udafs.errors import BadArgumentError

#: What calls with ``reuse=True`` remember.
MEMORY = Memory()


def register_operation(
    name: str,
    in_arrays: Sequence[Any],
    out: npt.ArrayLike,
    capture: Capture | Sequence[Capture] = None,
    *,
    control: Capture | Sequence[Capture] = None,
    arguments: Any = (),
    reuse: bool | Memory = False,
) -> TrackedArray:
    """Track what an operation made that numpy does not know, by the lineage that you tell.

    Example:
        >>> x = track(np.array([3.0, 1.0, 2.0]), "x")
        >>> y = register_operation("pairs", [x], x.values[:2] + x.values[1:], capture=lambda at: [at[0], at[0] + 1])
        >>> backward(y, 1)["x"].indices()
        array([[1],
               [2]])

    Args:
        name: what messages call the operation.
        in_arrays: what went in, in the order in which captures are given; what is not tracked is a constant.
        out: what came out. Of several outputs, register each.
        capture: for each input which of its cells each output cell is made of; of a single input it may stand alone.
            A function of the output index, a tuple, that gives input indices; two integer arrays with the output and
            input cells of all pairs; a relation of flat C-order indices; or None: no cell.
        control: the same of the cells that only decided.
        arguments: other arguments of the operation, of which lineage may depend; what `repr` tells apart.
        reuse: take lineage from earlier calls of this name where a signature allows it; a `Memory`, or True for one
            that all calls share. Captures have to be functions then, for reused lineage is checked cell by cell.

    Returns:
        a tracked array with the values of `out`.

    Raises:
        BadArgumentError: as many captures as inputs are needed, or one names cells that are not there.

    """
    if isinstance(out, Handle):
        raise BadArgumentError("an output that is tracked already", instead="Give the values: out.values.")
    sources = [each if isinstance(each, Handle) else np.asarray(each) for each in in_arrays]
    data, deciding = _each(capture, len(sources), "captures"), _each(control, len(sources), "controls")
    values = np.array(out)
    told = ""
    if reuse:
        memory = reuse if isinstance(reuse, Memory) else MEMORY
        request = Request(name, [_values(each) for each in sources], values.shape, repr(arguments))
        found, told = memory.lineage(request, [*data, *deciding])
    else:
        shapes = [each.shape for each in sources] * 2
        found = [relation_of(each, values.shape, into) for each, into in zip([*data, *deciding], shapes, strict=True)]
    edges = [
        Edge(source.node, (relation,), control=number >= len(sources))
        for number, (source, relation, said) in enumerate(zip(sources * 2, found, [*data, *deciding], strict=True))
        if isinstance(source, Handle) and said is not None
    ]
    return TrackedArray(values, Buffer(Node(values.shape, edges, operation=name, told=told)))


def _values(array: Handle | npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array.shown if isinstance(array, Handle) else array


def _each(given: Any, count: int, what: str) -> list[Capture]:
    """One capture for each input."""
    if given is None:
        return [None] * count
    if isinstance(given, list):
        captures: list[Capture] = given
    else:
        captures = [given]
    if len(captures) != count:
        raise BadArgumentError(f"{len(captures)} {what} for {count} inputs", instead="Give a list with one for each.")
    return captures
