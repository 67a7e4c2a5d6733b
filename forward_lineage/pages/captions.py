"""The page in words: the rows that are left, the choice, and the bar that somebody is at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from forward_lineage.pages.charts import number
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.page_model import TABLE_ROWS, Shown
from forward_lineage.views.linked import Answer

_NAMED = 3


class Words:
    """The words for an answer.

    Args:
        shown: the page.
        now: the answer.

    """

    def __init__(self, shown: Shown, now: Answer) -> None:
        self._shown, self.now = shown, now
        self._tables: dict[int, pa.Table] = {}

    def answer(self, choice: Mapping[int, Sequence[int]]) -> dict[str, Any]:
        """Return what changes in the page's own HTML.

        Args:
            choice: the bars that are chosen, by the number of their view.

        """
        charts = self._shown.charts
        rows = f"{self.now.rows:,} of {self._shown.linked.rows:,} rows"
        chosen = {view: self._chosen(view, bars) for view, bars in choice.items()}
        said = "; ".join(f"{charts[view].name}: {text}" for view, text in chosen.items())
        return {
            "rows": rows,
            "announce": f"{rows} left. {said}" if said else f"All {self._shown.linked.rows:,} rows.",
            "chosen": [chosen.get(view, "") for view in range(len(charts))],
            "ends": [self._ends(view) for view in range(len(charts))],
            "totals": [self._total(view, choice.get(view)) for view in range(len(charts))],
            "tables": {str(view): self._rows(view, choice) for view, c in enumerate(charts) if c.kind is Kind.TABLE},
        }

    def option(self, view: int, bar: int | None, *, chosen: bool) -> dict[str, Any]:
        """Return the words for a bar."""
        if bar is None:
            return {"view": view, "bar": None}
        chart = self._shown.charts[view]
        return {
            "view": view,
            "bar": bar,
            "chosen": chosen,
            "place": int(chart.rank[bar]) + 1,
            "label": chart.label(bar),
            "text": "; ".join(self._facts(view, bar)),
        }

    def cells(self, view: int, bar: int) -> list[str]:
        """Return what a table says of a bar: its rows, unless a column says them, then what is computed of them."""
        chart = self._shown.charts[view]
        row = self._row(view, bar)
        others = [number(row[place]) for place in range(len(chart.columns)) if place not in chart.keys]
        return others if chart.counted else [f"{int(self.now[chart.name][bar]):,}", *others]

    def _facts(self, view: int, bar: int) -> list[str]:
        chart = self._shown.charts[view]
        left, all_ = int(self.now[chart.name][bar]), int(self._shown.whole[chart.name][bar])
        facts = [f"{left:,} of {all_:,} rows" if left != all_ else f"{all_:,} rows"]
        row = self._row(view, bar)
        for place, column in enumerate(chart.columns):
            if place in chart.keys:
                continue
            now, whole = row[place], chart.table.column(place)[bar].as_py()
            if now != left or whole != all_:  # count(*) is said already
                facts.append(f"{column} {number(now)}" + (f", of all {number(whole)}" if now != whole else ""))
        return facts

    def _chosen(self, view: int, bars: Sequence[int]) -> str:
        chart = self._shown.charts[view]
        ordered = sorted(bars, key=lambda bar: int(chart.rank[bar]))
        if len(bars) <= _NAMED:
            return ", ".join(chart.label(bar) for bar in ordered)
        if chart.kind in (Kind.HISTOGRAM, Kind.TIMELINE):
            return f"{chart.label(ordered[0])} to {chart.label(ordered[-1])}: {len(bars):,} bars"
        return f"{', '.join(chart.label(bar) for bar in ordered[:_NAMED])} and {len(bars) - _NAMED:,} more"

    def _ends(self, view: int) -> list[str]:
        """The meaning of the palest and the darkest cell of a heat map."""
        chart = self._shown.charts[view]
        if chart.kind is not Kind.HEATMAP:
            return []
        values = chart.values(self.now)
        known = values[~np.isnan(values)]
        least = known.min(initial=np.inf) if not chart.adds_up and known.size else 0.0
        return [number(float(least)), number(float(known.max(initial=0.0)))]

    def _total(self, view: int, bars: Sequence[int] | None) -> str:
        """Add up the measure over the chosen bars of a view, or over all; nothing if it cannot be added up."""
        chart = self._shown.charts[view]
        if chart.value is None or not self._shown.linked.is_total(chart.name, chart.value):
            return ""
        now = pa.chunked_array([self._table(view).column(chart.value).combine_chunks()])
        if bars is not None:
            now = now.take(pa.array(bars, pa.int64()))
        left, whole = (pc.sum(each).as_py() or 0 for each in (now, chart.table.column(chart.value)))
        return f"{chart.drawn} {number(left)}" + (f" of {number(whole)}" if left != whole else "")

    def _rows(self, view: int, choice: Mapping[int, Sequence[int]]) -> dict[str, Any]:
        bars = [int(bar) for bar in self._shown.charts[view].order[:TABLE_ROWS]]
        chosen, counts = set(choice.get(view, ())), self.now[self._shown.charts[view].name]
        return {
            "cells": [self.cells(view, bar) for bar in bars],
            "chosen": [place for place, bar in enumerate(bars) if bar in chosen],
            "nothing": [place for place, bar in enumerate(bars) if not counts[bar]],
        }

    def _row(self, view: int, bar: int) -> list[Any]:
        return [column[bar].as_py() for column in self._table(view).columns]

    def _table(self, view: int) -> pa.Table:
        if view not in self._tables:
            self._tables[view] = self.now.table(self._shown.charts[view].name)
        return self._tables[view]
