"""The page in the browser: from letting the mouse go to the pictures drawn.   [Smoke, §6.5.1: 150 ms]

    python -m tests.bench.page [--rows 10000000] [--bars 12] [--rounds 3]

Flights shaped as the paper's Ontime. Some bars of each view that are in sight, spread over the picture, are clicked
with a real mouse in headless Chromium, each from no brush. The clock is the browser's: from the time stamp of
`pointerup` to the first frame after the last canvas was painted and the page's text changed. The next click waits for
the base rows of the one before, which are read by Spark and not part of it. A bar's time is the median of some rounds,
as in `crossfilter`; beside it stands the most that any click took.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import click
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from forward_lineage import ForwardLineage
from forward_lineage.pages.server import Page
from forward_lineage.spark.local import local_session
from tests.bench import ontime
from tests.browser import Browser
from tests.conftest import REPOSITORY

BAR = 150.0  # milliseconds

Found = dict[str, list[tuple[float, ...]]]
"""For each view the bars that were clicked: milliseconds of each click."""

#: Notes when the mouse is let go, when each canvas was painted after it, and when the answer's text was there.
_CLOCK = """
    window.clock = { up: 0, drawn: 0, answered: 0, paints: 0 };
    const frame = (name) => requestAnimationFrame(() => { clock[name] = performance.now(); });
    addEventListener("pointerup", (event) => {
        window.clock = { up: event.timeStamp, drawn: 0, answered: 0, paints: 0 };
    }, true);
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

#: Places in a picture that are in some bar that has rows and is in sight. `args`: its number.
_PLACES = """
    const root = Bokeh.documents[0].roots()[arguments[0]];
    const { x_range: x, y_range: y } = root;
    const within = (range, at) => (at - range.start) * (at - range.end) < 0;
    const middle = (range) => (range.start + range.end) / 2;
    const sources = root.renderers.map((each) => each.data_source?.data).filter(Boolean);
    const all = (name) => [...(sources.find((each) => each[name]?.length)?.[name] ?? [])];
    const marks = all("x").map((at, i) => [at, all("y")[i]]);
    if (marks.length) return marks.filter((each) => within(x, each[0]) && within(y, each[1]));
    if (all("at").length) return all("at").slice(0, -1).map((at, i) => [(at + all("at")[i + 1]) / 2, middle(y)]);
    const middles = all("begin").map((at, i) => (at + all("end")[i]) / 2);
    return arguments[1] === "bars"
        ? middles.filter((at) => within(y, at)).map((at) => [middle(x), at])
        : middles.filter((at) => within(x, at)).map((at) => [at, middle(y)]);
"""


def spread(places: list[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """Some of the places, from the first to the last."""
    step = max(1, len(places) // count)
    return places[::step][:count]


def clicked(browser: Browser, view: int, place: tuple[float, float]) -> float:
    """Click a place; returns milliseconds until the pictures are drawn."""
    browser.settled()
    with browser.answered():
        browser.click(view, *place)
    time.sleep(0.2)  # a picture that was still to be painted would be by then
    clock = browser.script("return clock")
    assert clock["paints"] > 0, "nothing was painted"
    assert clock["answered"] > clock["up"] > 0, "the click was not seen"
    taken = max(clock["drawn"], clock["answered"]) - clock["up"]
    browser.until(lambda: browser.text("#rows-said") != "reading …")
    assert not browser.text("#failed"), browser.text("#failed")
    with browser.answered():
        browser.find("#clear").click()
    return float(taken)


def measured(page: Page, bars: int, rounds: int) -> Found:
    """Click some bars of each view, all of them once a round."""
    browser = Browser()
    try:
        browser.open(page.url)
        browser.script(_CLOCK)
        found: Found = {}
        for number, name in enumerate(ontime.VIEWS):
            kind = browser.find(f"[data-view='{number}']").get_attribute("class").split()[-1]
            places = spread([tuple(each) for each in browser.script(_PLACES, number, kind)], bars)
            assert places, f"{name}: nothing to click"
            clicked(browser, number, places[0])  # once before it counts
            clicks = [[clicked(browser, number, place) for place in places] for _ in range(rounds)]
            found[name] = list(zip(*clicks, strict=True))
        return found
    finally:
        browser.close()


def run(spark: SparkSession, home: Path, rows: int, bars: int, rounds: int) -> Found:
    lineage = ForwardLineage(spark, home)
    lineage.register("ontime", path=ontime.generate(REPOSITORY / ".data" / "ontime" / str(rows), rows))
    with lineage.explore(ontime.VIEWS) as page:
        return measured(page, bars, rounds)


def report(found: Found, rows: int) -> None:
    """Print them."""
    console = Console(width=120)
    columns = ("view", "bars clicked", "median, ms", "most, ms", "most of one click, ms", f"clicks over {BAR:.0f} ms")
    table = Table(*columns, title=f"{rows:,} rows")
    everything = [each for bars in found.values() for each in bars]
    for name, bars in {**found, "all": everything}.items():
        times, clicks = [statistics.median(each) for each in bars], [each for bar in bars for each in bar]
        figures = (f"{statistics.median(times):.0f}", f"{max(times):.0f}", f"{max(clicks):.0f}")
        table.add_row(name, str(len(bars)), *figures, f"{sum(each > BAR for each in clicks)} of {len(clicks)}")
    console.print(table)
    slowest = max(statistics.median(each) for each in everything), max(each for bar in everything for each in bar)
    for what, most in zip(("The median of every bar", "Every single click"), slowest, strict=True):
        console.print(f"{what} under {BAR:.0f} ms: {'met' if most < BAR else 'missed'}.")
    load = os.getloadavg()[0]
    console.print(f"Load of the machine at the end: {load:.1f}, over {os.cpu_count()} cores.")


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
