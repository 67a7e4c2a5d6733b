"""Values of attributes that explain a difference, ranked as DIFF ranks them.   [Abuzaid et al. 2018, §3, §4]

The test relation are joined rows that came, went or differ; the control relation are those that are what they were. An
explanation is a value of one attribute, or of several. Its support is its share of the test relation. Its risk ratio
says how much more often its rows are in the test relation than others. Let a of its rows be in test and b in control,
and c and d of the others: the ratio is (a / (a + b)) / (c / (c + d)). Explanations with too little of either
are left out. An explanation that contains another one is left out, too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

MOST_ATTRIBUTES = 3
_MOST_OF_IT = 0.5  # such a share of the difference is an explanation, whatever the risk ratio


@dataclass(frozen=True)
class Explanation:
    """Values of attributes, and what they explain.

    Attributes:
        values: attribute → value.
        rows: joined rows that came, went or differ, and have these values.
        support: their share of all that did.
        risk_ratio: how much more often rows with these values changed than others; infinite if no others did.
        difference: what they add to the difference.
        share: their share of it; None if the difference is 0.

    """

    values: Mapping[str, Any]
    rows: int
    support: float
    risk_ratio: float
    difference: Fraction
    share: float | None


def ranked(
    names: Sequence[str],
    test: Mapping[tuple[Any, ...], tuple[int, Fraction]],
    control: Mapping[tuple[Any, ...], int],
    *,
    min_support: float = 0.05,
    min_risk_ratio: float = 1.0,
) -> list[Explanation]:
    """Rank explanations: by risk ratio, then by support.

    Args:
        names: of the attributes.
        test: values of all attributes → rows that changed, and what they add to the difference.
        control: values of all attributes → rows that did not change.
        min_support: the least support of an explanation.
        min_risk_ratio: explanations must have more than that, or half of the difference.

    """
    changed, kept = sum(rows for rows, _ in test.values()), sum(control.values())
    total = sum((amount for _, amount in test.values()), Fraction(0))
    found: list[Explanation] = []
    explained: list[set[tuple[int, Any]]] = []
    for order in range(1, min(MOST_ATTRIBUTES, len(names)) + 1):
        smaller = list(explained)
        for places in combinations(range(len(names)), order):
            tested, others, amounts = _added_up(places, test, control)
            for values, rows in tested.items():
                mine = set(zip(places, values, strict=True))
                if any(each <= mine for each in smaller):
                    continue
                ratio = risk_ratio(rows, others[values], changed - rows, kept - others[values])
                share = float(amounts[values] / total) if total else None
                if rows < min_support * changed or not (ratio > min_risk_ratio or (share or 0) >= _MOST_OF_IT):
                    continue
                explained.append(mine)
                named = {names[at]: value for at, value in zip(places, values, strict=True)}
                found.append(Explanation(named, rows, rows / changed, ratio, amounts[values], share))
    return sorted(found, key=lambda each: (-each.risk_ratio, -each.support, len(each.values), str(each.values)))


def risk_ratio(a: int, b: int, c: int, d: int) -> float:
    """Return (a / (a + b)) / (c / (c + d)); 1 where there are no other rows to compare with."""
    if not (a + b) or not (c + d):
        return 1.0
    if not c:
        return math.inf if a else 1.0
    return (a / (a + b)) / (c / (c + d))


def _added_up(
    places: Sequence[int],
    test: Mapping[tuple[Any, ...], tuple[int, Fraction]],
    control: Mapping[tuple[Any, ...], int],
) -> tuple[Counter[tuple[Any, ...]], Counter[tuple[Any, ...]], dict[tuple[Any, ...], Fraction]]:
    amounts: dict[tuple[Any, ...], Fraction] = {}
    for values, (_, amount) in test.items():
        part = tuple(values[at] for at in places)
        amounts[part] = amounts.get(part, Fraction(0)) + amount
    tested = _rows_added_up(places, {values: rows for values, (rows, _) in test.items()})
    return tested, _rows_added_up(places, control), amounts


def _rows_added_up(places: Sequence[int], rows_of: Mapping[tuple[Any, ...], int]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for values, rows in rows_of.items():
        found[tuple(values[at] for at in places)] += rows
    return found
