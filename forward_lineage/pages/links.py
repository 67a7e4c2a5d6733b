"""The choice of a person, as the part of an address behind #, by the keys of the bars.

    #carriers=AA,UA&days=2001-01-01:2001-02-03&places=52+13,40+!

Bars are separated by commas, keys of one bar by +, NULL is !, and a:b is a run of bars in the order of the view. The
keys are escaped as everywhere in addresses. Keys do not change when the table changes; numbers of bars do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, unquote

import numpy as np

from forward_lineage.pages.charts import Chart
from forward_lineage.pages.page_definition import Kind

_NULL = "!"
_SHORTEST_RUN = 3
#: Browsers take 2 MB; people and what they send links with take less.
MOST = 30_000

Choice = Mapping[int, Sequence[int]]
"""For each view that has a brush, by its number, the bars."""


def link_of(charts: Sequence[Chart], choice: Choice) -> str | None:
    """Return what stands behind #; empty without a choice, None if it would be too long."""
    parts = [f"{quote(charts[view].name, safe='')}={_bars(charts[view], bars)}" for view, bars in choice.items()]
    link = "&".join(parts)
    return link if len(link) <= MOST else None


class Reader:
    """Reads links; the same for everybody who looks at the page.

    Args:
        charts: the views.

    """

    def __init__(self, charts: Sequence[Chart]) -> None:
        self._charts = charts
        self._known: dict[int, dict[str, int]] = {}

    def read(self, link: str) -> tuple[dict[int, list[int]], list[str]]:
        """Return the choice that a link stands for, and what in it is not there (any more), in words."""
        choice: dict[int, list[int]] = {}
        missing: list[str] = []
        views = {chart.name: number for number, chart in enumerate(self._charts)}
        for part in filter(None, link.removeprefix("#")[:MOST].split("&")):
            name, _, said = part.partition("=")
            view = views.get(unquote(name))
            if view is None:
                missing.append(f"view {unquote(name)}")
                continue
            found: list[int] = []
            for item in said.split(","):
                bars = self._found(view, item)
                found += bars
                if not bars:
                    missing.append(f"{unquote(name)} {unquote(item)}")
            if found:
                choice[view] = found
        return choice, missing

    def _found(self, view: int, item: str) -> list[int]:
        known = self._bars_of(view)
        first, run, last = item.partition(":")
        ends = [known.get(_again(end)) for end in ([first, last] if run else [first])]
        if None in ends:
            return []
        chart = self._charts[view]
        ranks = sorted(int(chart.rank[end]) for end in ends if end is not None)
        return [int(bar) for bar in chart.order[ranks[0] : ranks[-1] + 1]]

    def _bars_of(self, view: int) -> dict[str, int]:
        if view not in self._known:
            self._known[view] = {_item(keys): bar for bar, keys in enumerate(self._charts[view].texts)}
        return self._known[view]


def _bars(chart: Chart, bars: Sequence[int]) -> str:
    return ",".join(
        f"{_item(chart.texts[run[0]])}:{_item(chart.texts[run[-1]])}" if len(run) > 1 else _item(chart.texts[run[0]])
        for run in _runs(chart, bars)
    )


def _runs(chart: Chart, bars: Sequence[int]) -> Iterator[list[int]]:
    """Bars that follow each other, where an order of keys makes that mean something later, too."""
    ordered = chart.order[np.sort(chart.rank[np.asarray(bars, np.intp)])]
    if chart.kind in (Kind.BARS, Kind.TABLE):
        yield from ([int(bar)] for bar in ordered)
        return
    for run in np.split(ordered, np.flatnonzero(np.diff(chart.rank[ordered]) != 1) + 1):
        found = [int(bar) for bar in run]
        yield from ([found] if len(found) >= _SHORTEST_RUN else ([bar] for bar in found))


def _item(keys: Sequence[str | None]) -> str:
    return "+".join(_NULL if key is None else quote(key, safe="") for key in keys)


def _again(item: str) -> str:
    """An item escaped as we do it, whoever escaped it."""
    return "+".join(key if key == _NULL else quote(unquote(key), safe="") for key in item.split("+"))
