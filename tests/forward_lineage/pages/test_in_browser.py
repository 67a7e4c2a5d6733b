"""The page in a real Chromium, with a real mouse and real keys, over TPC-H; what it shows is what Spark answers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession
from selenium.webdriver.common.keys import Keys

from forward_lineage import ForwardLineage
from forward_lineage.pages.server import Page
from tests.browser import Browser
from tests.forward_lineage.conftest import drop_views

VIEWS: dict[str, Any] = {
    "modes": "SELECT l_shipmode AS mode, count(*) AS n, avg(l_tax) AS tax FROM lineitem GROUP BY mode ORDER BY mode",
    "quantities": "SELECT l_quantity AS quantity, count(*) AS n FROM lineitem GROUP BY quantity",
    "days": "SELECT l_shipdate AS day, count(*) AS n FROM lineitem GROUP BY day",
    "flags": "SELECT l_returnflag, l_linestatus, count(*) AS n FROM lineitem GROUP BY ALL",
    "instructions": {"sql": "SELECT l_shipinstruct, count(*) AS n FROM lineitem GROUP BY ALL", "chart": "table"},
}
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
BARS, NUMBERS, DAYS, CELLS = range(4)

#: What a picture shows of a column of its source.
_DRAWN = """
    const [number, column] = arguments;
    const { renderers } = Bokeh.documents[0].roots()[number];
    const source = renderers.map((each) => each.data_source).find((each) => each.data[column]?.length);
    return source ? [...source.data[column]] : [];
"""

#: What stands at an axis of a picture.
_NAMES = """
    const [number, side] = arguments;
    const { args } = Bokeh.documents[0].roots()[number][side].find((each) => each.formatter?.args).formatter;
    return args instanceof Map ? args.get("labels") : args.labels;
"""
_MEAN_OF = "return Bokeh.documents[0].roots()[arguments[0]].left[0].axis_label"


@pytest.fixture(scope="module")
def lineage(spark: SparkSession, tpch: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForwardLineage]:
    lineage = ForwardLineage(spark.newSession(), tmp_path_factory.mktemp("home"))
    lineage.register("lineitem", path=tpch / "lineitem.parquet")
    yield lineage
    drop_views(lineage.spark)


@pytest.fixture(scope="module")
def page(lineage: ForwardLineage) -> Iterator[Page]:
    with lineage.explore(VIEWS, title="Line items") as page:
        yield page


def drawn(browser: Browser, picture: int, column: str = "left") -> list[float]:
    return [float(each) for each in browser.script(_DRAWN, picture, column)]


def counts(lineage: ForwardLineage, key: str, condition: str) -> dict[Any, int]:
    rows = lineage.spark.sql(f"SELECT {key} AS k, count(*) AS n FROM lineitem WHERE {condition} GROUP BY k").collect()
    return {row.k: row.n for row in rows}


def assert_shows(browser: Browser, lineage: ForwardLineage, condition: str) -> None:
    """Every picture without a brush shows the rows that a condition leaves, and no others."""
    modes, quantities = counts(lineage, "l_shipmode", condition), counts(lineage, "int(l_quantity)", condition)
    rows = sum(modes.values())
    assert browser.text("#left") == f"{rows:,} of 60,175 rows"
    if not browser.text("[data-view='0'] .chosen"):
        assert drawn(browser, BARS) == [modes.get(mode, 0) for mode in MODES]
    if not browser.text("[data-view='1'] .chosen"):
        assert drawn(browser, NUMBERS) == [quantities.get(each, 0) for each in range(1, 51)]
    if not browser.text("[data-view='2'] .chosen"):
        days = int((browser.script(_MEAN_OF, DAYS) or "mean of 1 bars").split()[2])
        assert sum(drawn(browser, DAYS)) * days == pytest.approx(rows, rel=1e-5)
    instructions = counts(lineage, "l_shipinstruct", condition)
    shown = {row.text.rsplit(" ", 1)[0]: row.text.rsplit(" ", 1)[1] for row in browser.all(".table tbody tr")}
    assert shown == {name: f"{instructions.get(name, 0):,}" for name in shown}


def test_a_click_shows_what_is_left(browser: Browser, page: Page, lineage: ForwardLineage) -> None:
    browser.open(page.url)
    assert_shows(browser, lineage, "true")
    with browser.answered():
        browser.click(BARS, 500, MODES.index("RAIL"))
    assert_shows(browser, lineage, "l_shipmode = 'RAIL'")
    assert browser.text("[data-view='0'] .chosen") == "RAIL"
    assert drawn(browser, BARS) == [counts(lineage, "l_shipmode", "true")[mode] for mode in MODES]  # may be changed
    assert urlsplit(browser.driver.current_url).fragment == "modes=RAIL"

    with browser.answered():
        browser.click(BARS, 500, MODES.index("SHIP"), key=Keys.SHIFT)
    assert_shows(browser, lineage, "l_shipmode IN ('RAIL', 'SHIP')")
    with browser.answered():  # a bar that is chosen alone is let go
        browser.click(BARS, 500, MODES.index("SHIP"))
    assert_shows(browser, lineage, "l_shipmode = 'SHIP'")
    with browser.answered():
        browser.click(BARS, 500, MODES.index("SHIP"))
    assert_shows(browser, lineage, "true")
    assert urlsplit(browser.driver.current_url).fragment == ""
    assert not browser.said()


def test_a_drag_chooses_many_and_brushes_meet(browser: Browser, page: Page, lineage: ForwardLineage) -> None:
    browser.open(page.url)
    with browser.answered():
        browser.drag(NUMBERS, (10.0, 300.0), (20.2, 500.0))
    browser.until(lambda: browser.text("[data-view='1'] .chosen") == "10 to 20: 11 bars")
    assert_shows(browser, lineage, "l_quantity BETWEEN 10 AND 20")
    with browser.answered():
        browser.click(CELLS, *cell(browser, "R", "F"))
    assert_shows(browser, lineage, "l_quantity BETWEEN 10 AND 20 AND l_returnflag = 'R' AND l_linestatus = 'F'")
    with browser.answered():
        browser.find("[data-view='4'] tbody tr").click()  # the table
    instruction = browser.text("[data-view='4'] tbody tr.chosen td")
    found = counts(
        lineage,
        "l_shipmode",
        f"l_quantity BETWEEN 10 AND 20 AND l_returnflag = 'R' AND l_shipinstruct = '{instruction}'",
    )
    assert drawn(browser, BARS) == [found.get(mode, 0) for mode in MODES]
    with browser.answered():
        browser.find("#clear").click()
    assert_shows(browser, lineage, "true")


def cell(browser: Browser, x: str, y: str) -> tuple[float, float]:
    names = [browser.script(_NAMES, CELLS, side) for side in ("below", "left")]
    return names[0].index(x), names[1].index(y)


def test_base_rows(browser: Browser, page: Page, lineage: ForwardLineage) -> None:
    browser.open(page.url)
    with browser.answered():
        browser.click(BARS, 500, MODES.index("FOB"))
    count = counts(lineage, "1", "l_shipmode = 'FOB'")[1]
    browser.until(lambda: browser.text("#rows-said") == f"1 to 50 of {count:,}")
    ids = [int(each.text) for each in browser.all("#base tbody td:first-child")]
    expected = lineage.rows("lineitem").where("l_shipmode = 'FOB'").orderBy("row_id").limit(100).collect()
    assert ids == [row.row_id for row in expected[:50]]
    names = [each.text for each in browser.all("#base th")]
    assert names == expected[0].__fields__
    comments = [each.text for each in browser.all(f"#base tbody td:nth-child({names.index('l_comment') + 1})")]
    assert comments == [" ".join(row.l_comment.split()) for row in expected[:50]]
    browser.script("document.querySelector('#after').scrollIntoView({block: 'center'})")
    browser.find("#after").click()
    browser.until(lambda: browser.text("#rows-said") == f"51 to 100 of {count:,}")
    assert [int(each.text) for each in browser.all("#base tbody td:first-child")] == [
        row.row_id for row in expected[50:]
    ]


def test_the_address_keeps_what_was_chosen(browser: Browser, page: Page, lineage: ForwardLineage) -> None:
    browser.open(page.url)
    with browser.answered():
        browser.click(BARS, 500, MODES.index("MAIL"))
    with browser.answered():
        browser.drag(NUMBERS, (31.0, 300.0), (44.0, 500.0))
    browser.until(lambda: browser.text("[data-view='1'] .chosen") == "31 to 44: 14 bars")
    address = browser.driver.current_url
    assert urlsplit(address).fragment == "modes=MAIL&quantities=31.00:44.00"
    condition = "l_shipmode = 'MAIL' AND l_quantity BETWEEN 31 AND 44"
    browser.driver.refresh()
    browser.until(lambda: browser.answers >= 1)
    assert_shows(browser, lineage, condition)
    second = Browser()
    try:
        second.open(address)
        assert_shows(second, lineage, condition)
        assert drawn(second, DAYS) == drawn(browser, DAYS)
        with second.answered():
            second.find("#clear").click()
        assert_shows(second, lineage, "true")
        assert_shows(browser, lineage, condition)  # everybody has a hand of their own
    finally:
        second.close()
    with browser.answered():  # an address is followed in an open page, too
        browser.script("location.hash = 'modes=AIR,NONE&no=1'")
    assert_shows(browser, lineage, "l_shipmode = 'AIR'")
    assert browser.text("#failed span") == "The address names what is not there: modes NONE, view no."


def test_with_keys_alone(browser: Browser, page: Page, lineage: ForwardLineage) -> None:
    browser.open(page.url)
    focused = "return document.activeElement.getAttribute('aria-labelledby')"
    for _ in range(12):
        browser.press(Keys.TAB)
        if browser.script(focused) == "name0":
            break
    option = "[data-view='0'] [role=option].bar"
    browser.until(lambda: browser.all(option) and browser.text(option).startswith("AIR"))
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.until(lambda: browser.text(option).startswith("MAIL"))
    with browser.answered():
        browser.press(" ")
    assert_shows(browser, lineage, "l_shipmode = 'MAIL'")
    assert browser.find(option).get_attribute("aria-selected") == "true"
    with browser.answered():
        browser.press(Keys.SHIFT + Keys.ARROW_DOWN + Keys.NULL)
    assert_shows(browser, lineage, "l_shipmode IN ('MAIL', 'RAIL')")
    browser.press(Keys.END)
    browser.until(lambda: browser.text(option).startswith("TRUCK"))
    browser.press("r", "e", "g")
    browser.until(lambda: browser.text(option).startswith("REG AIR"))
    assert browser.find(option).get_attribute("aria-posinset") == "5"
    with browser.answered():
        browser.press(Keys.ENTER)
    assert_shows(browser, lineage, "l_shipmode = 'REG AIR'")
    announced = browser.text("#announce")
    with browser.answered():
        browser.press(Keys.ESCAPE)
    count = counts(lineage, "1", "l_shipmode = 'REG AIR'")[1]
    assert announced == f"{count:,} of 60,175 rows left. modes: REG AIR"
    assert browser.text("#announce") == "All 60,175 rows."
    for _ in range(2):  # to the next view, past the button that is not there and the picture
        browser.press(Keys.TAB)
        if browser.script(focused) == "name1":
            break
    assert browser.script(focused) == "name1"


def test_what_is_read_aloud(browser: Browser, page: Page) -> None:
    browser.open(page.url + "#modes=AIR")
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {
        (node["role"]["value"], node["name"]["value"]) for node in nodes if node.get("name") and not node["ignored"]
    }
    assert {("listbox", name) for name in VIEWS} <= named
    assert {("heading", name) for name in ("Line items", *VIEWS, "Base rows")} <= named
    assert ("button", "Clear modes") in named
    assert not [name for role, name in named if role in ("canvas", "Canvas")]
    browser.script((files("axe_core_python") / "axe.min.js").read_text())
    found = browser.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]] == []
    assert len(found["passes"]) > 30


def test_nothing_is_asked_of_others(browser: Browser, page: Page) -> None:
    browser.asked()
    browser.open(page.url)
    with browser.answered():
        browser.click(BARS, 500, 2)
    asked = [url for url in browser.asked() if not url.startswith(("data:", "blob:", "about:", "chrome:"))]
    assert len(asked) >= 5
    assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}
    assert not browser.said()


def test_in_a_frame_of_a_notebook(browser: Browser, page: Page, lineage: ForwardLineage, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><html><body>{page._repr_html_()}</body></html>")
    browser.driver.get(notebook.as_uri())
    browser.driver.switch_to.frame(0)
    browser.until(lambda: browser.answers >= 1)
    browser.script("window.scrollTo(0, 0)")
    with browser.answered():
        browser.find("[data-view='4'] tbody tr").click()
    assert browser.text("#left") != "60,175 of 60,175 rows"
    browser.driver.switch_to.default_content()


def test_to_scale(browser: Browser, page: Page) -> None:
    top = "return Bokeh.documents[0].roots()[arguments[0]].x_range.end"
    browser.open(page.url + "#quantities=7.00")
    small = browser.script(top, BARS)
    browser.find("#scale").click()
    browser.until(lambda: browser.script(top, BARS) > 10 * small)
    assert browser.text("#pale") == "all rows"


def test_in_a_narrow_window(page: Page) -> None:
    browser = Browser(width=500, height=800)
    try:
        browser.open(page.url + "#modes=AIR")
        assert browser.script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.close()
