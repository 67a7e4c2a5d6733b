"""The histogram that is looked for: weights of bars, or those of a candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forward_lineage.approximate.matching.distance_tests import Counts, Floats
from udafs.errors import BadArgumentError, listed

Target = Mapping[Any, float] | Sequence[float] | None
_FEW = 12


def target_of(target: Any, bars: Sequence[object]) -> tuple[Floats, int]:
    """Return a target that adds up to 1, and how many bars it has that no row has; they come last.

    Args:
        target: a `Target`: a weight for each bar, by bar or in their order. Bars that it does not name have 0.
        bars: those of the table, in order.

    Raises:
        BadArgumentError: weights are missing, negative, or all 0.

    """
    if isinstance(target, Mapping):
        known = {bar: place for place, bar in enumerate(bars)}
        strange = [bar for bar in target if bar not in known]
        weights = [0.0] * len(bars) + [_weight(target[bar]) for bar in strange]
        for bar, place in known.items():
            weights[place] = _weight(target.get(bar, 0))
    else:
        if isinstance(target, str) or not hasattr(target, "__iter__"):
            raise BadArgumentError(
                f"target={target!r}", instead='Give weights: target={8: 1, 9: 2}. For those of a candidate: like="ORD".'
            )
        strange, weights = [], [_weight(each) for each in target]
        if len(weights) != len(bars):
            shown = listed([str(each) for each in bars[:_FEW]])
            raise BadArgumentError(
                f"target has {len(weights)} weights, and there are {len(bars)} bars: {shown}",
                instead="Give one for each, in this order, or a dictionary.",
            )
    total = sum(weights)
    if not total > 0:
        raise BadArgumentError("target has no weight over 0", instead="Give a weight for one bar at least.")
    return np.array(weights) / total, len(strange)


def target_like(counts: Counts, value: object) -> Floats:
    """Return the histogram of a candidate as a target."""
    total = int(counts.sum())
    if not total:
        raise BadArgumentError(f"like={value!r} has no rows", instead="Name a candidate that has some.")
    return np.asarray(counts / total)


def place_of(value: object, candidates: Sequence[object]) -> int:
    """Return the place of a candidate.

    Raises:
        BadArgumentError: there is none.

    """
    value = value.item() if hasattr(value, "item") else value  # of numpy
    found = [place for place, each in enumerate(candidates) if each == value and type(each) is type(value)]
    if not found:
        shown = listed([repr(each) for each in candidates[:_FEW]])
        raise BadArgumentError(f"like={value!r} is no candidate", instead=f"There are {shown}, …")
    return found[0]


def _weight(value: object) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise BadArgumentError(f"{value!r} as a weight in target", instead="Weights are numbers.") from None
    if not (found >= 0 and math.isfinite(found)):
        raise BadArgumentError(f"{value!r} as a weight in target", instead="Weights are 0 or more, and finite.")
    return found
