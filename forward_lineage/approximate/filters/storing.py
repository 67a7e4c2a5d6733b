"""Filters as arrays with names, and back: so they are kept on disk, and other languages could read them.

A fuse filter is `<name>_cells` with the numbers of `FuseFilter`; a bitmap `marked` and `values0`, `values1`, …; a
learned filter two fuse filters, `vectors`, `bias` and `weights`. The source of each class says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from forward_lineage.approximate.filters.bitmap import BitmapFilter
from forward_lineage.approximate.filters.choosing import FuseOfTuples, TupleFilter
from forward_lineage.approximate.filters.classifier import Classifier
from forward_lineage.approximate.filters.files import FileFilter
from forward_lineage.approximate.filters.fuse import FuseFilter
from forward_lineage.approximate.filters.learned import LearnedFilter

Arrays = dict[str, npt.NDArray[Any]]
Described = dict[str, Any]


class Found(Protocol):
    """Arrays by name."""

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return one."""


def as_arrays(kept: TupleFilter) -> tuple[Arrays, Described]:
    """Return the arrays of a filter, and what JSON says of it."""
    arrays: Arrays = {}
    if isinstance(kept, BitmapFilter):
        arrays["marked"] = kept.marked
        arrays |= {f"values{place}": each for place, each in enumerate(kept.values)}
        return arrays, {"kind": "bitmap", "columns": len(kept.values)}
    if isinstance(kept, FuseOfTuples):
        return arrays, {"kind": "fuse", "keys": put_fuse(arrays, "keys", kept.keys)}
    assert isinstance(kept, LearnedFilter)
    model = kept.classifier
    arrays |= {"vectors": model.vectors, "bias": model.bias, "weights": model.weights}
    described = {"starts": list(model.starts), "buckets": list(model.buckets), "threshold": kept.threshold}
    fuses = {name: put_fuse(arrays, name, each) for name, each in (("before", kept.before), ("behind", kept.behind))}
    return arrays, {"kind": "learned", **described, **fuses}


def from_arrays(arrays: Found, described: Mapping[str, Any]) -> TupleFilter:
    """Return the filter that some arrays are."""
    if described["kind"] == "bitmap":
        return BitmapFilter(arrays["marked"], [arrays[f"values{place}"] for place in range(described["columns"])])
    if described["kind"] == "fuse":
        return FuseOfTuples(_fuse(arrays, "keys", described["keys"]))
    model = Classifier(
        tuple(described["starts"]), tuple(described["buckets"]), arrays["vectors"], arrays["bias"], arrays["weights"]
    )
    before, behind = (_fuse(arrays, name, described[name]) for name in ("before", "behind"))
    return LearnedFilter(before, model, described["threshold"], behind)


def put_fuse(arrays: Arrays, name: str, kept: FuseFilter) -> Described:
    """Put a fuse filter among arrays; returns what JSON says of it."""
    arrays[f"{name}_cells"] = kept.cells
    return {each: getattr(kept, each) for each in ("width", "segment", "segments", "seed", "size")}


def file_filter_of(arrays: Found, described: Mapping[str, Any]) -> FileFilter:
    """Return the filter of files that was put under the name `files`."""
    return FileFilter(_fuse(arrays, "files", described["pairs"]), described["files"])


def _fuse(arrays: Found, name: str, described: Mapping[str, int]) -> FuseFilter:
    return FuseFilter(np.asarray(arrays[f"{name}_cells"]), **described)
