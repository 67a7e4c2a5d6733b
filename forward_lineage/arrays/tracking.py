"""`track`: where lineage begins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.dispatch import refuse_kin
from forward_lineage.arrays.graph import SOURCE, Node
from forward_lineage.arrays.tracked import TrackedArray
from udafs.errors import BadArgumentError


def track(array: npt.ArrayLike | TrackedArray, name: str) -> TrackedArray:
    """Track an array: whatever numpy makes of it says of each cell which cells it was made of.

    Example:
        >>> x = track(np.arange(6.0).reshape(2, 3), "x")
        >>> y = x.sum(axis=1)
        >>> backward(y, 1)["x"].indices()
        array([[1, 0],
               [1, 1],
               [1, 2]])

    Args:
        array: its values are copied, so that writing into the original changes nothing here. A tracked array is not
            copied: it gets the name in the state that it has now.
        name: what answers call it; each source of a result needs its own.

    Returns:
        a tracked array of the same shape and type.

    Raises:
        BadArgumentError: the name is empty or no text, or the array has another one.
        NotTracedError: a masked array, or another kind with rules of its own.

    """
    if not isinstance(name, str) or not name:
        raise BadArgumentError(f"an array is tracked under a name, found {name!r}", instead="Give it one.")
    if isinstance(array, TrackedArray):
        if array.node.name not in (None, name):
            raise BadArgumentError(
                f"the array is called {array.node.name!r} already", instead="Copy it first: x.copy()."
            )
        array.node.name = name
        return array
    if isinstance(array, np.ndarray):
        refuse_kin(array)
    values = np.array(array)
    return TrackedArray(values, Buffer(Node(values.shape, operation=SOURCE, name=name)))
