"""Are two results the same, as far as SQL determines them? Bags of rows, order, ties under LIMIT, floating sums."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from forward_lineage.checking.outcomes import Rows
from forward_lineage.checking.values import Value

#: A sum that cancels out is as exact as its largest addend.
_CANCELLED = 1e-12
#: Up to how many rows that differ in floating numbers alone are paired each with each.
_PAIRED = 2000


def compare_bags(left: Sequence[Value], right: Sequence[Value]) -> Rows:
    """Compare two results without regard to order.

    Returns:
        `EQUAL`, `TOLERANCE` (floating numbers differ in their last digits), or `DIFFERENT`.

    """
    if len(left) != len(right):
        return Rows.DIFFERENT
    missing = _left_over(left, right)
    if not missing[0]:
        return Rows.EQUAL
    return Rows.TOLERANCE if _matched(*missing, _scale([*left, *right])) else Rows.DIFFERENT


def is_within(part: Sequence[Value], whole: Sequence[Value]) -> bool:
    """Whether one result is a part of another, each row at most as often as there."""
    spare, extra = _left_over(part, whole)
    return not spare or _matched(spare, extra, _scale(whole))


def occurrences(row: Value, rows: Iterable[Value]) -> list[int]:
    """Where a row is in a result: the places of all rows that equal it, floating numbers up to their tolerance."""
    scale = _scale([row])
    return [
        place
        for place, each in enumerate(rows)
        if each.exact == row.exact and (each.floats == row.floats or _alike(each, row, scale))
    ]


def ordered_alike(wanted: Sequence[Value], found: Sequence[Value], keys: Sequence[str]) -> bool:
    """Whether two results with the same rows stand in the same order, as far as ORDER BY determines it.

    Args:
        wanted: the rows of one, in their order.
        found: those of the other.
        keys: for each row of `wanted` its sort key; rows with equal keys stand next to each other.

    """
    ends = [n for n in range(1, len(keys) + 1) if n == len(keys) or keys[n] != keys[n - 1]]
    starts = [0, *ends[:-1]]
    return all(
        compare_bags(wanted[start:end], found[start:end]) is not Rows.DIFFERENT
        for start, end in zip(starts, ends, strict=True)
    )


def first_difference(wanted: Sequence[Value], found: Sequence[Value]) -> str:
    """Say in one line how two results differ."""
    if len(wanted) != len(found):
        return f"{len(found)} rows where plain Spark gives {len(wanted)}"
    missing, extra = _left_over(wanted, found)
    return f"{_shown(extra)} where plain Spark gives {_shown(missing)}"


def _shown(rows: Sequence[Value]) -> str:
    return f"{len(rows)} rows such as {show(rows[0])}" if len(rows) > 1 else "".join(map(show, rows[:1])) or "no row"


def show(row: Value) -> str:
    """Write a row in one short line."""
    numbers = iter(row.floats)
    text = row.exact
    for number, _ in numbers:
        text = text.replace('"~"', repr(number), 1)
    return text if len(text) <= 160 else text[:159] + "…"


def _left_over(left: Sequence[Value], right: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """The rows that each side has and the other has not."""
    ours, theirs = Counter(left), Counter(right)
    return list((ours - theirs).elements()), list((theirs - ours).elements())


def _matched(left: Sequence[Value], right: Sequence[Value], scale: Sequence[float]) -> bool:
    """Whether every row of the left side has one of its own on the right that differs in last digits only."""
    of_text: dict[str, list[Value]] = defaultdict(list)
    for row in right:
        of_text[row.exact].append(row)
    wanted: dict[str, list[Value]] = defaultdict(list)
    for row in left:
        wanted[row.exact].append(row)
    return all(_paired(rows, of_text[text], scale) for text, rows in wanted.items())


def _paired(rows: list[Value], others: list[Value], scale: Sequence[float]) -> bool:
    rows, others = sorted(rows, key=_numbers), sorted(others, key=_numbers)
    if len(rows) == len(others) and all(_alike(a, b, scale) for a, b in zip(rows, others, strict=True)):
        return True
    if len(rows) > len(others) or len(rows) > _PAIRED:
        return False
    for row in rows:
        place = next((n for n, other in enumerate(others) if _alike(row, other, scale)), None)
        if place is None:
            return False
        del others[place]
    return True


def _numbers(row: Value) -> list[tuple[bool, float]]:
    return [(math.isnan(number), 0.0 if math.isnan(number) else number) for number, _ in row.floats]


def _alike(row: Value, other: Value, scale: Sequence[float]) -> bool:
    return len(row.floats) == len(other.floats) and all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=size * _CANCELLED)
        for (a, tolerance), (b, _), size in zip(row.floats, other.floats, scale, strict=False)
    )


def _scale(rows: Sequence[Value]) -> list[float]:
    """The largest finite number in each place of some rows."""
    width = max((len(row.floats) for row in rows), default=0)
    sizes = [0.0] * width
    for row in rows:
        for place, (number, _) in enumerate(row.floats):
            if math.isfinite(number):
                sizes[place] = max(sizes[place], abs(number))
    return sizes
