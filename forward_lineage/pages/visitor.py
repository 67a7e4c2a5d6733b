"""One person who looks at the page: a hand, what they are at, and what they are shown.

Long work is done elsewhere: a brush in one pool of threads, base rows in another. While a brush is being answered
others may come; only the last choice counts then, so that dragging never lags behind the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from bokeh.core.properties import Any as AnyProperty
from bokeh.document import Document
from bokeh.events import DoubleTap, MouseLeave, MouseMove, SelectionGeometry, Tap
from bokeh.model import DataModel

from forward_lineage.pages.captions import Words
from forward_lineage.pages.charts import Chart
from forward_lineage.pages.choices import MOST_ROWS, bars_between, csv_of, has_range, sql_of
from forward_lineage.pages.drawing import Drawing, Marks
from forward_lineage.pages.grids import heat_map
from forward_lineage.pages.links import link_of
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.page_model import Shown, places_of_numbers, rows_as_text
from forward_lineage.pages.spans import Spans, TimeLine
from forward_lineage.views.linked import Answer
from udafs.errors import BadArgumentError, InternalError, LineageError

ROWS_A_TIME = 50
_SETTLED = 250  # milliseconds without a new brush, after which base rows are read


class Talk(DataModel):  # type: ignore[misc]
    """The messages between the page's script and us, besides the pictures."""

    heard: Any = AnyProperty()
    answer: Any = AnyProperty()
    option: Any = AnyProperty()
    rows: Any = AnyProperty()
    file: Any = AnyProperty()
    failed: Any = AnyProperty()


@dataclass(frozen=True)
class Pools:
    """Where work is done that would hold others up.

    Attributes:
        brushes: answers brushes.
        rows: reads base rows, in Spark jobs.

    """

    brushes: Executor
    rows: Executor


class Person:
    """Somebody with a browser.

    Args:
        shown: the page.
        document: theirs.
        pools: where work is done.

    """

    def __init__(self, shown: Shown, document: Document, pools: Pools) -> None:
        self._shown, self._document, self._pools = shown, document, pools
        self._charts = shown.charts
        self._hand = shown.linked.hand()
        self._choice: dict[int, list[int]] = {}
        self._asked: set[int] = set()
        self._busy = False
        self._answers = 0
        self._words = Words(shown, shown.whole)
        self._at: list[int | None] = [None] * len(self._charts)
        self._last_tapped: tuple[int, int | None] = 0, None
        self._to_scale = False
        self._rows_asked = 0
        self._sent = 0
        self.talk = Talk(name="talk")
        self.drawings = [_drawing(chart, shown) for chart in self._charts]
        for view, drawing in enumerate(self.drawings):
            if drawing is not None:
                self._listen(view, drawing)
                document.add_root(drawing.figure)
        document.add_root(self.talk)
        self.talk.on_change("heard", lambda _, __, said: self._hear(said))
        self._gone = False
        document.on_session_destroyed(self._leave)

    def _leave(self, _: Any) -> None:
        self._gone = True

    # ------------------------------------------------------------ the mouse

    def _listen(self, view: int, drawing: Drawing) -> None:
        plot = drawing.figure
        plot.on_event(Tap, partial(self._tapped, view, drawing))
        plot.on_event(DoubleTap, partial(self._tapped, view, drawing))
        plot.on_event(SelectionGeometry, partial(self._dragged, view, drawing))
        plot.on_event(MouseMove, lambda event: self._be_at(view, _bar_at(drawing, event), follow=False))
        plot.on_event(MouseLeave, lambda _: self._be_at(view, None, follow=False))

    def _tapped(self, view: int, drawing: Drawing, event: Any) -> None:
        bar = _bar_at(drawing, event)
        # A quick second click is "double" wherever it is. On the same bar it is part of the first one.
        again = isinstance(event, DoubleTap) and self._last_tapped == (view, bar)
        self._last_tapped = view, bar
        if bar is not None and not again:
            pressed = event.modifiers or {}
            self._pick(view, bar, add=bool(pressed.get("shift") or pressed.get("ctrl") or pressed.get("meta")))

    def _dragged(self, view: int, drawing: Drawing, event: Any) -> None:
        said = event.geometry or {}
        if said.get("type") == "rect":
            bars = drawing.bars_in((said["x0"], said["x1"]), (said["y0"], said["y1"]))
            if bars.size:
                self._choose({view: [int(bar) for bar in bars]})

    # ------------------------------------------------------------ the keyboard, and what else the page's script says

    def _hear(self, said: Any) -> None:
        """Obey one order; whatever is not one is passed over: it comes from a browser."""
        orders: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "move": self._move,
            "pick": lambda said: self._pick_here(said, add=bool(said.get("add"))),
            "find": self._find,
            "clear": lambda said: self._choose({self._view(said): None}),
            "clear all": lambda _: self._choose(dict.fromkeys(self._choice)),
            "link": self._follow,
            "scale": self._scale,
            "zoom": self._zoom,
            "rows": lambda said: self._read_rows(int(said["first"])),
            "range": self._range,
            "csv": lambda _: self._export_rows(),
            "sql": lambda _: self._export_sql(),
        }
        if isinstance(said, dict) and said.get("do") in orders:
            with suppress(KeyError, ValueError, TypeError, IndexError, OverflowError):
                orders[said["do"]](said)

    def _view(self, said: dict[str, Any]) -> int:
        view = int(said["view"])
        if not 0 <= view < len(self._charts):
            raise IndexError(view)
        return view

    def _move(self, said: dict[str, Any]) -> None:
        view = self._view(said)
        chart, at = self._charts[view], self._at[view]
        if not chart.bars:
            return
        by = said["by"]
        rank = 0 if at is None else int(chart.rank[at])
        if by in ("first", "last"):
            rank = 0 if by == "first" else chart.bars - 1
        elif at is not None:
            rank = min(max(rank + int(by), 0), chart.bars - 1)
        bar = int(chart.order[rank])
        self._be_at(view, bar)
        if said.get("extend"):
            self._choose({view: sorted({*self._choice.get(view, ()), bar, *(() if at is None else (at,))})})

    def _pick_here(self, said: dict[str, Any], *, add: bool) -> None:
        view = self._view(said)
        bar = said.get("bar", self._at[view])
        if bar is not None and 0 <= int(bar) < self._charts[view].bars:
            self._be_at(view, int(bar))
            self._pick(view, int(bar), add=add)

    def _find(self, said: dict[str, Any]) -> None:
        """Go to the next bar whose name begins with what was typed."""
        view, text = self._view(said), str(said["text"]).casefold()
        chart, at = self._charts[view], self._at[view]
        start = 0 if at is None else int(chart.rank[at])
        ways: list[Callable[[str], bool]] = [lambda label: label.startswith(text)]
        if said.get("inside"):
            ways.append(lambda label: text in label)
        for is_meant in ways:
            for rank in [*range(start, chart.bars), *range(start)]:
                bar = int(chart.order[rank])
                if is_meant(chart.label(bar).casefold()):
                    self._be_at(view, bar)
                    return

    def _range(self, said: dict[str, Any]) -> None:
        """Choose the bars in a range that was typed."""
        view = self._view(said)
        if has_range(self._charts[view]):
            try:
                bars = bars_between(self._charts[view], str(said["first"]), str(said["last"]))
            except LineageError as error:
                self.talk.failed = str(error)
            else:
                self._choose({view: bars})

    def _zoom(self, said: dict[str, Any]) -> None:
        view = self._view(said)
        drawing = self.drawings[view]
        if drawing is not None:
            drawing.zoom(min(max(float(said["factor"]), 0.0), 10.0), self._at[view])

    def _scale(self, said: dict[str, Any]) -> None:
        self._to_scale = bool(said["all"])
        self._draw(range(len(self._charts)))

    def _follow(self, said: dict[str, Any]) -> None:
        """Take over what a link says."""
        choice, missing = self._shown.links.read(str(said["link"]))
        if missing:
            self.talk.failed = f"The address names what is not there: {', '.join(missing[:5])}."
        self._choose({**dict.fromkeys(self._choice), **choice})

    def _be_at(self, view: int, bar: int | None, *, follow: bool = True) -> None:
        if bar == self._at[view]:
            return
        self._at[view] = bar
        drawing = self.drawings[view]
        if drawing is not None:
            drawing.point(bar, follow=follow)
        self._say_option(view)

    def _say_option(self, view: int) -> None:
        bar = self._at[view]
        chosen = bar is not None and bar in self._choice.get(view, ())
        self.talk.option = self._words.option(view, bar, chosen=chosen)

    # ------------------------------------------------------------ brushes

    def _pick(self, view: int, bar: int, *, add: bool) -> None:
        """Choose a bar, alone or besides others; one that is chosen already is let go."""
        before = self._choice.get(view, [])
        bars = sorted({bar} ^ set(before)) if add else [] if before == [bar] else [bar]
        self._choose({view: bars or None})

    def _choose(self, changes: Mapping[int, list[int] | None]) -> None:
        for view, bars in changes.items():
            if bars:
                self._choice[view] = bars
            else:
                self._choice.pop(view, None)
        self._asked |= changes.keys()
        if not self._busy:
            self._ask()

    def _ask(self) -> None:
        self._busy = True
        changes = {self._charts[view].name: self._choice.get(view) for view in self._asked}
        self._asked = set()
        self._in_turn(self._pools.brushes, partial(self._brush, changes), self._show)

    def _brush(self, changes: Mapping[str, list[int] | None]) -> Answer:
        answer = self._hand.answer() if not changes else None
        for name, bars in changes.items():
            answer = self._hand.brush(name, bars)
        assert answer is not None, "a brush has an answer"
        return answer

    def _show(self, done: Future[Answer]) -> None:
        answer = done.result()
        self._busy = False
        if self._asked:
            self._ask()
        self._words = Words(self._shown, answer)
        self._answers += 1
        self._draw(range(len(self._charts)))
        link = link_of(self._charts, self._choice)
        self.talk.answer = {**self._words.answer(self._choice), "n": self._answers, "link": link}
        for view, bar in enumerate(self._at):
            if bar is not None:
                self._say_option(view)
        if not self._busy:
            self._rows_later()

    def _draw(self, views: range) -> None:
        for view in views:
            drawing = self.drawings[view]
            if drawing is not None:
                chart = self._charts[view]
                chosen: Marks = None
                if view in self._choice:
                    chosen = np.zeros(chart.bars, np.bool_)
                    chosen[self._choice[view]] = True
                drawing.show(chart.values(self._words.now), chosen, to_scale=self._to_scale)

    # ------------------------------------------------------------ base rows

    def _rows_later(self) -> None:
        """Read base rows when the hand has come to rest."""
        self._rows_asked += 1
        asked = self._rows_asked
        if not self._choice:
            self.talk.rows = {"state": "none"}
            return
        self.talk.rows = {"state": "reading"}

        def settled() -> None:
            if asked == self._rows_asked:
                self._read_rows(0)

        self._document.add_timeout_callback(settled, _SETTLED)

    def _read_rows(self, first: int) -> None:
        self._rows_asked += 1
        asked, left = self._rows_asked, self._words.now.rows
        first = min(max(first, 0), max(left - 1, 0))
        self.talk.rows = {"state": "reading"}

        def read() -> dict[str, Any]:
            if asked != self._rows_asked:
                return {}
            rows = self._shown.read_rows(self._hand.ids(first, ROWS_A_TIME))
            head, body = rows_as_text(rows)
            shown = {"head": head, "body": body, "numbers": places_of_numbers(rows)}
            return {"state": "there", **shown, "first": first, "left": left, "step": ROWS_A_TIME}

        def show(done: Future[dict[str, Any]]) -> None:
            found = done.result()
            if asked == self._rows_asked:
                self.talk.rows = found

        self._in_turn(self._pools.rows, read, show)

    def _export_rows(self) -> None:
        """Send the rows that are left as a file."""
        left = self._words.now.rows
        if left > MOST_ROWS:
            most = f"{left:,} rows are left, and {MOST_ROWS:,} is the most that a browser is sent"
            self.talk.failed = str(BadArgumentError(most, instead="Choose fewer, or take the SQL."))
            return

        def read() -> dict[str, Any]:
            text = csv_of(self._shown.read_rows(self._hand.ids(0, left)))
            return {"name": f"{self._shown.linked.table_name}.csv", "text": text}

        self._in_turn(self._pools.rows, read, lambda done: self._send(done.result()))

    def _export_sql(self) -> None:
        """Send the query for the rows that are left."""
        try:
            text = sql_of(self._shown, self._choice) if self._choice else ""
        except LineageError as error:
            self.talk.failed = str(error)
        else:
            self._send({"name": "", "text": text})

    def _send(self, file: dict[str, Any]) -> None:
        self._sent += 1
        self.talk.file = {**file, "n": self._sent}  # the same file again is another message

    # ------------------------------------------------------------ threads

    def _in_turn(self, pool: Executor, work: Callable[[], Any], then: Callable[[Future[Any]], None]) -> None:
        """Do some work in another thread, and then something with its result, in ours; failures are told."""

        def finish(done: Future[Any]) -> None:
            try:
                then(done)
            except LineageError as error:
                self._fail(str(error))
            except Exception as error:  # the person must learn of it, and the page go on
                self._fail(str(InternalError(f"the page failed: {type(error).__name__}: {error}")))

        def later(done: Future[Any]) -> None:
            if not self._gone and not done.cancelled():
                self._document.add_next_tick_callback(partial(finish, done))

        with suppress(RuntimeError):  # the server is being stopped
            pool.submit(work).add_done_callback(later)

    def _fail(self, what: str) -> None:
        self._busy = False
        self.talk.rows = {"state": "none"}
        self.talk.failed = what


def _bar_at(drawing: Drawing, event: Any) -> int | None:
    return None if event.x is None or event.y is None else drawing.bar_at(float(event.x), float(event.y))


def _drawing(chart: Chart, shown: Shown) -> Drawing | None:
    totals = chart.values(shown.whole)
    if chart.kind is Kind.TABLE:
        return None
    if chart.kind is Kind.HEATMAP:
        return heat_map(chart, totals)
    return TimeLine(chart, totals) if chart.kind is Kind.TIMELINE else Spans(chart, totals)
