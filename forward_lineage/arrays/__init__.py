"""Arrays whose every cell says which cells it was made of: numpy, tracked.   Needs numpy and no Spark."""

from forward_lineage.arrays.cell_questions import backward, explain, forward, prov_query
from forward_lineage.arrays.cells import Cells
from forward_lineage.arrays.namespace import (
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    permutation,
    poly,
    require,
    roots,
)
from forward_lineage.arrays.registered import register_operation
from forward_lineage.arrays.reuse import Memory
from forward_lineage.arrays.tracked import TrackedArray, constant
from forward_lineage.arrays.tracking import track

__all__ = [
    "Cells",
    "Memory",
    "TrackedArray",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "backward",
    "constant",
    "explain",
    "forward",
    "permutation",
    "poly",
    "prov_query",
    "register_operation",
    "require",
    "roots",
    "track",
]
