"""The page in the browser: from the mouse to the pictures drawn.   [Smoke, §6.5.1: 150 ms]

    python -m tests.bench.page [--rows 10000000] [--bars 12] [--rounds 3]

Flights shaped as the paper's Ontime, a real mouse in headless Chromium. Of each view some bars are clicked, from the
largest to the smallest, each from no brush; those that are not in sight are scrolled to, every second day is looked at
more closely. Then the mouse is pressed and moved on, step by step, and let go: each step is a brush. The clock is the
browser's: from the time stamp of the event to the first frame after the last canvas was painted and the page's text
changed. What comes next waits for the base rows of the choice before, which Spark reads and which are not part of it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table
from selenium.webdriver.common.actions.action_builder import ActionBuilder

from forward_lineage import ForwardLineage
from forward_lineage.pages.charts import Chart
from forward_lineage.pages.page_definition import Kind
from forward_lineage.pages.server import Page
from forward_lineage.spark.local import local_session
from forward_lineage.views.linked import LinkedViews
from tests.bench import ontime
from tests.browser import Browser, Point
from tests.conftest import REPOSITORY

BAR = 150.0  # milliseconds
STEPS = 8  # of a drag
_QUIET = 0.25  # seconds without anything new, after which all is drawn
_PATIENCE = 2.0  # seconds, after which a step of a drag has chosen nothing

#: Notes when the mouse did something, when each canvas was painted after it, and when the answer's text was there.
_CLOCK = """
    const none = { begun: 0, drawn: 0, answered: 0, paints: 0 };
    window.clock = { ...none };
    const frame = (name) => requestAnimationFrame(() => { clock[name] = performance.now(); });
    const begin = (event) => {
        if (event.type === "pointerup" || event.buttons) window.clock = { ...none, begun: event.timeStamp };
    };
    addEventListener("pointerup", begin, true);
    addEventListener("pointermove", begin, true);
    new MutationObserver(() => frame("answered")).observe(document.body, { attributeFilter: ["data-answers"] });
    for (const view of Bokeh.index) {
        if (!view._actual_paint) continue;
        const paint = view._actual_paint;
        view._actual_paint = function () {
            paint.call(this);
            clock.paints += 1;
            frame("drawn");
        };
    }
"""
_SEEN = "Bokeh.documents[0].roots()[arguments[0]][arguments[1]].setv({ start: arguments[2], end: arguments[3] })"
_CLOSER = 30  # days on both sides


@dataclass
class Found:
    """Milliseconds.

    Attributes:
        clicks: of each bar, a figure a round.
        steps: of a drag.
        let_go: from letting go at its end.
        engine: what the engine takes for the slowest of the clicked bars.

    """

    clicks: list[list[float]] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    let_go: list[float] = field(default_factory=list)
    engine: float = 0.0

    @property
    def every(self) -> list[float]:
        return [each for bar in self.clicks for each in bar] + self.steps + self.let_go


class Hand:
    """Somebody at the page.

    Args:
        browser: theirs.
        linked: the views.
        charts: how they are drawn.

    """

    def __init__(self, browser: Browser, linked: LinkedViews, charts: Sequence[Chart]) -> None:
        self.browser, self.linked, self.charts = browser, linked, charts
        browser.script(_CLOCK)

    def bars(self, view: int, count: int) -> list[int]:
        """Some bars, from the largest to the smallest."""
        by_size = np.argsort(-self.linked.engine.memberships[view].sizes[:-1], kind="stable")
        return [int(by_size[place]) for place in np.unique(np.linspace(0, by_size.size - 1, count).astype(int))]

    def places(self, view: int, bars: Sequence[int]) -> Iterator[Point]:
        """Where they are, each brought into sight."""
        chart = self.charts[view]
        for number, bar in enumerate(bars):
            at = [float(axis.at[bar] + (axis.unit / 2 if axis.time else 0)) for axis in chart.axes]
            if chart.kind is Kind.BARS:
                first = max(0.0, min(at[0], chart.bars - 15))
                self.browser.script(_SEEN, view, "y_range", first + 14.5, first - 0.5)
                yield None, at[0]
                continue
            axis = chart.axes[0]
            if axis.time:
                close = number % 2 * _CLOSER * axis.unit
                seen = (at[0] - close, at[0] + close) if close else axis.ends
                self.browser.script(_SEEN, view, "x_range", *seen)
            yield at[0], at[1] if len(at) > 1 else None

    def clicked(self, view: int, place: Point) -> float:
        """Click a place from no brush, and clear it again."""
        self.browser.settled()
        with self.browser.answered():
            self.browser.click(view, *place)
        taken = self._taken(painted=True)
        self._clear()
        return taken

    def dragged(self, view: int) -> tuple[list[float], float]:
        """Drag over a third of a view; returns what each step took, and what letting go took."""
        self.browser.settled()
        first, last = self._ends(view)
        places = [[one + (other - one) * step / STEPS for one, other in zip(first, last, strict=True)]
                  for step in range(STEPS + 1)]  # fmt: skip
        self._do("pointer_down", places[0])
        steps = [taken for place in places[1:] if (taken := self._brushed(None, place)) is not None]
        let_go = self._brushed("pointer_up", places[-1])
        assert let_go is not None, "the end of the drag was not seen"
        assert len(steps) > STEPS // 2, "few steps chose anything"
        self._clear()
        return steps, let_go

    def _brushed(self, what: str | None, place: Sequence[float]) -> float | None:
        """Move the mouse, press it or let it go; returns what that took, None if it chose nothing."""
        before, end = self.browser.answers, time.monotonic() + _PATIENCE
        self._do(what, place)
        while self.browser.answers == before:
            if time.monotonic() > end:
                return None
            time.sleep(0.02)
        return self._taken(painted=False)

    def _ends(self, view: int) -> list[tuple[int, int]]:
        """Where a drag begins and ends in the window: a third of the picture, from its middle."""
        box = self.browser.script(
            "const picture = document.querySelectorAll('.picture')[arguments[0]];"
            "picture.scrollIntoView({block: 'center'}); const box = picture.getBoundingClientRect();"
            "return [box.left, box.top, box.width, box.height]",
            view,
        )
        left, top, width, height = map(float, box)
        return [(round(left + width * at), round(top + height * at)) for at in (0.45, 0.78)]

    def _do(self, what: str | None, place: Sequence[float]) -> None:
        actions = ActionBuilder(self.browser.driver, duration=0)
        actions.pointer_action.move_to_location(round(place[0]), round(place[1]))
        if what is not None:
            getattr(actions.pointer_action, what)()
        actions.perform()

    def _taken(self, *, painted: bool) -> float:
        """Wait until nothing more is drawn; returns the milliseconds since the mouse did something."""
        before = None
        while (clock := self.browser.script("return clock")) != before:
            before = clock
            time.sleep(_QUIET)
        assert clock["paints"] > 0 or not painted, "nothing was painted"
        assert clock["answered"] > clock["begun"] > 0, "the mouse was not seen"
        return float(max(clock["drawn"], clock["answered"]) - clock["begun"])

    def _clear(self) -> None:
        self.browser.until(lambda: self.browser.text("#rows-said") != "reading …")
        assert not self.browser.text("#failed"), self.browser.text("#failed")
        with self.browser.answered():
            self.browser.press_on("#clear")

    def engine(self, view: int, bars: Sequence[int]) -> float:
        """What the engine takes for the slowest of some bars, in milliseconds."""
        taken = []
        for bar in bars:
            start = time.perf_counter()
            self.linked.brush(self.linked.names[view], [bar])
            taken.append(time.perf_counter() - start)
        return max(taken) * 1e3


def measured(page: Page, linked: LinkedViews, count: int, rounds: int) -> dict[str, Found]:
    """Click bars of each view, all of them once a round, and drag over it."""
    browser = Browser()
    try:
        browser.open(page.url)
        hand = Hand(browser, linked, page.charts)
        found: dict[str, Found] = {}
        for view, name in enumerate(linked.names):
            bars = hand.bars(view, count)
            hand.clicked(view, next(hand.places(view, bars)))  # once before it counts
            clicks = [[hand.clicked(view, place) for place in hand.places(view, bars)] for _ in range(rounds)]
            drags = [hand.dragged(view) for _ in range(rounds)]
            found[name] = Found(
                [list(bar) for bar in zip(*clicks, strict=True)],
                [step for steps, _ in drags for step in steps],
                [let_go for _, let_go in drags],
                hand.engine(view, bars),
            )
        return found
    finally:
        browser.close()


def run(spark: SparkSession, home: Path, rows: int, bars: int, rounds: int) -> dict[str, Found]:
    lineage = ForwardLineage(spark, home)
    lineage.register("ontime", path=ontime.generate(REPOSITORY / ".data" / "ontime" / str(rows), rows))
    linked = lineage.views(ontime.VIEWS)
    with lineage.explore(linked) as page:
        return measured(page, linked, bars, rounds)


def report(found: dict[str, Found], rows: int) -> None:
    """Print them."""
    console = Console(width=120)
    columns = ("view", "", "how many", "median, ms", "slowest, ms", f"over {BAR:.0f} ms", "engine, ms")
    table = Table(*columns, title=f"{rows:,} rows")
    clicks = {name: [each for bar in view.clicks for each in bar] for name, view in found.items()}
    lines = [(name, "clicks", clicks[name], view.engine) for name, view in found.items()]
    lines += [(name, "steps of drags", view.steps + view.let_go, None) for name, view in found.items()]
    lines.append(("all", "clicks", [each for view in clicks.values() for each in view], None))
    lines.append(("all", "clicks, steps", [each for view in found.values() for each in view.every], None))
    for name, what, times, engine in lines:
        figures = f"{statistics.median(times):.0f}", f"{max(times):.0f}", str(sum(each > BAR for each in times))
        table.add_row(name, what, str(len(times)), *figures, "" if engine is None else f"{engine:.1f}")
    console.print(table)
    bars = [statistics.median(bar) for view in found.values() for bar in view.clicks]
    slowest = max(each for view in found.values() for each in view.every)
    console.print(f"Of the bars' medians the slowest: {max(bars):.0f} ms.")
    console.print(f"Everything under {BAR:.0f} ms: {'met' if slowest < BAR else 'missed'}.")
    console.print(f"Load of the machine at the end: {os.getloadavg()[0]:.1f}, over {os.cpu_count()} cores.")


@click.command(help=(__doc__ or "").split("\n", 1)[0])
@click.option("--rows", default=10_000_000, show_default=True, type=click.IntRange(1000))
@click.option("--bars", default=12, show_default=True, type=click.IntRange(1), help="Bars of each view.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="Times that each bar is clicked.")
def main(rows: int, bars: int, rounds: int) -> None:
    """Measure and print."""
    (REPOSITORY / ".data").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="page-", dir=REPOSITORY / ".data") as scratch:
        spark = local_session("page", master="local[2]", driver_memory="2g", log=Path(scratch) / "spark.log")
        try:
            found = run(spark, Path(scratch) / "home", rows, bars, rounds)
        finally:
            spark.stop()
    report(found, rows)


if __name__ == "__main__":
    main()
