"""The page in a real Chromium, with a real mouse and real keys; what it shows is what counting the rows again gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from selenium.webdriver.common.keys import Keys

from forward_lineage.pages.server import Page
from tests.browser import Browser
from tests.forward_lineage.pages.small import shown_of
from udafs.errors import ChangedError
from udafs.lineage_set import LineageSet

VIEWS = {
    "modes": ("l_shipmode",),
    "lines": ("l_linenumber",),
    "days": ("l_shipdate",),
    "flags": ("l_returnflag", "l_linestatus"),
    "instructions": ("l_shipinstruct",),
}
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
BARS, NUMBERS, DAYS, CELLS = range(4)
EVERY = pc.scalar(True)
MODE, LINE, FLAG = (pc.field(name) for name in ("l_shipmode", "l_linenumber", "l_returnflag"))

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

#: Notes how many changes each message has.
_MESSAGES = """
    window.messages = [];
    const page = Bokeh.documents[0];
    const apply = page.apply_json_patch.bind(page);
    page.apply_json_patch = (patch, ...others) => {
        messages.push(patch.events.length);
        return apply(patch, ...others);
    };
"""


@pytest.fixture(scope="module")
def lines(tpch: Path) -> pa.Table:
    names = [*dict.fromkeys(name for keys in VIEWS.values() for name in keys), "l_comment"]
    table = pq.read_table(tpch / "lineitem.parquet", columns=names)
    texts = [field.with_type(pa.string()) if "string" in str(field.type) else field for field in table.schema]
    return table.cast(pa.schema(texts))


@pytest.fixture(scope="module")
def page(lines: pa.Table) -> Iterator[Page]:
    with Page(shown_of(lines, VIEWS, {"instructions": {"chart": "table"}})) as page:
        yield page


def drawn(browser: Browser, picture: int, column: str = "left") -> list[float]:
    return [float(each) for each in browser.script(_DRAWN, picture, column)]


def counts(lines: pa.Table, key: str, condition: pc.Expression) -> dict[Any, int]:
    found = lines.filter(condition).group_by(key).aggregate([([], "count_all")])
    return dict(zip(found[key].to_pylist(), found["count_all"].to_pylist(), strict=True))


def assert_shows(browser: Browser, lines: pa.Table, condition: pc.Expression) -> None:
    """Every picture without a brush shows the rows that a condition leaves, and no others."""
    rows = lines.filter(condition).num_rows
    assert browser.text("#left") == f"{rows:,} of {lines.num_rows:,} rows"
    if not chosen(browser, "modes"):
        found = counts(lines, "l_shipmode", condition)
        assert drawn(browser, BARS) == [found.get(mode, 0) for mode in MODES]
    if not chosen(browser, "lines"):
        found = counts(lines, "l_linenumber", condition)
        assert drawn(browser, NUMBERS) == [found.get(line, 0) for line in range(1, 8)]
    if not chosen(browser, "days"):
        days = int((browser.script(_MEAN_OF, DAYS) or "mean of 1 bars").split()[2])
        assert sum(drawn(browser, DAYS)) * days == pytest.approx(rows, rel=1e-5)
    if not chosen(browser, "instructions"):
        found = counts(lines, "l_shipinstruct", condition)
        shown = dict(row.text.rsplit(" ", 1) for row in browser.all(".table tbody tr"))
        assert shown == {name: f"{found.get(name, 0):,}" for name in shown}


def chosen(browser: Browser, view: str) -> str:
    return browser.text(f"[data-view='{list(VIEWS).index(view)}'] .chosen")


def test_a_click_shows_what_is_left(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    assert_shows(browser, lines, EVERY)
    with browser.answered():
        browser.click(BARS, None, MODES.index("RAIL"))
    assert_shows(browser, lines, MODE == "RAIL")
    assert chosen(browser, "modes") == "RAIL"
    every = counts(lines, "l_shipmode", EVERY)
    assert drawn(browser, BARS) == [every[mode] for mode in MODES]  # a view's own bars stay, to be chosen
    assert urlsplit(browser.address).fragment == "modes=RAIL"
    with browser.answered():
        browser.click(BARS, None, MODES.index("SHIP"), key=Keys.SHIFT)
    assert_shows(browser, lines, MODE.isin(["RAIL", "SHIP"]))
    with browser.answered():
        browser.click(BARS, None, MODES.index("SHIP"))
    assert_shows(browser, lines, MODE == "SHIP")
    with browser.answered():  # a bar that is chosen alone is let go
        browser.click(BARS, None, MODES.index("SHIP"))
    assert_shows(browser, lines, EVERY)
    assert urlsplit(browser.address).fragment == ""
    assert not browser.said()


def test_a_drag_chooses_many_and_brushes_meet(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    drag_lines(browser)
    condition = (LINE >= 2) & (LINE <= 4)
    assert_shows(browser, lines, condition)
    with browser.answered():
        browser.click(CELLS, *cell(browser, "R", "F"))
    condition &= FLAG == "R"
    assert_shows(browser, lines, condition)
    with browser.answered():
        browser.press_on("[data-view='4'] tbody tr")  # the table
    instruction = browser.text("[data-view='4'] tbody tr.chosen td")
    assert_shows(browser, lines, condition & (pc.field("l_shipinstruct") == instruction))
    with browser.answered():
        browser.press_on("[data-view='1'] .clear")
    assert_shows(browser, lines, (FLAG == "R") & (pc.field("l_shipinstruct") == instruction))
    with browser.answered():
        browser.press_on("#clear")
    assert_shows(browser, lines, EVERY)


def drag_lines(browser: Browser) -> None:
    with browser.answered():
        browser.drag(NUMBERS, (2.0, None), (4.2, None))
    browser.until(lambda: chosen(browser, "lines") == "2, 3, 4")
    browser.settled()


def cell(browser: Browser, x: str, y: str) -> tuple[float, float]:
    names = [browser.script(_NAMES, CELLS, side) for side in ("below", "left")]
    return names[0].index(x), names[1].index(y)


def test_the_mouse_says_what_it_is_at(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url + "#lines=7")
    left, every = (counts(lines, "l_shipmode", condition)["MAIL"] for condition in (LINE == 7, EVERY))
    browser.hover(BARS, None, MODES.index("MAIL"))
    browser.until(lambda: browser.text("[data-view='0'] .at").endswith(f"MAIL{left:,} of {every:,} rows"))
    browser.hover(NUMBERS, 7, None)
    browser.until(lambda: browser.find("[data-view='0'] .hint").is_displayed())
    browser.until(lambda: browser.all("[data-view='1'] .bar[aria-selected='true']"))


def test_base_rows(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    with browser.answered():
        browser.click(BARS, None, MODES.index("FOB"))
    ids = pc.indices_nonzero(pc.equal(lines["l_shipmode"], "FOB")).to_pylist()
    browser.until(lambda: browser.text("#rows-said") == f"1 to 50 of {len(ids):,}")
    assert [each.text for each in browser.all("#base th")] == ["row_id", *lines.column_names]
    assert [int(each.text) for each in browser.all("#base tbody td:first-child")] == ids[:50]
    comments = browser.script("return [...document.querySelectorAll('#base td:last-child')].map((e) => e.textContent)")
    assert comments == lines["l_comment"].take(ids[:50]).to_pylist()
    right = "return [...document.querySelectorAll(arguments[0])].map((e) => getComputedStyle(e).textAlign === 'right')"
    numbers = [name in ("row_id", "l_linenumber") for name in ("row_id", *lines.column_names)]
    assert [browser.script(right, f"#base {each}") for each in ("th", "tbody tr:first-child td")] == [numbers] * 2
    browser.press_on("#after")
    browser.until(lambda: browser.text("#rows-said") == f"51 to 100 of {len(ids):,}")
    assert [int(each.text) for each in browser.all("#base tbody td:first-child")] == ids[50:100]


def test_the_address_keeps_what_was_chosen(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    with browser.answered():
        browser.click(BARS, None, MODES.index("MAIL"))
    drag_lines(browser)
    address = browser.address
    assert urlsplit(address).fragment == "modes=MAIL&lines=2:4"
    condition = (MODE == "MAIL") & (LINE >= 2) & (LINE <= 4)
    browser.driver.refresh()
    browser.until(lambda: browser.answers >= 1)
    assert_shows(browser, lines, condition)
    second = Browser()
    try:
        second.open(address)
        assert_shows(second, lines, condition)
        assert drawn(second, DAYS) == drawn(browser, DAYS)
        with second.answered():
            second.press_on("#clear")
        assert_shows(second, lines, EVERY)
        assert_shows(browser, lines, condition)  # everybody has a hand of their own
    finally:
        second.close()
    with browser.answered():  # an address is followed in an open page, too
        browser.script("location.hash = 'modes=AIR,NONE&no=1'")
    assert_shows(browser, lines, MODE == "AIR")
    assert browser.text("#failed span") == "The address names what is not there: modes NONE, view no."


def test_with_keys_alone(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    tab_to(browser, "name0", at_most=8)
    option = "[data-view='0'] .bar"
    browser.until(lambda: browser.all(option) and browser.text(option).startswith("AIR"))
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.until(lambda: browser.text(option).startswith("MAIL"))
    with browser.answered():
        browser.press(" ")
    assert_shows(browser, lines, MODE == "MAIL")
    browser.until(lambda: browser.find(option).get_attribute("aria-selected") == "true")
    with browser.answered():
        browser.press(Keys.ARROW_DOWN, held=Keys.SHIFT)
    assert_shows(browser, lines, MODE.isin(["MAIL", "RAIL"]))
    browser.press(Keys.END)
    browser.until(lambda: browser.text(option).startswith("TRUCK"))
    browser.press("r", "e", "g")
    browser.until(lambda: browser.text(option).startswith("REG AIR"))
    assert browser.find(option).get_attribute("aria-posinset") == "5"
    assert browser.find(option).get_attribute("aria-setsize") == "7"
    with browser.answered():
        browser.press(Keys.ENTER)
    rows = lines.filter(MODE == "REG AIR").num_rows
    assert browser.text("#announce") == f"{rows:,} of {lines.num_rows:,} rows left. modes: REG AIR"
    with browser.answered():
        browser.press(Keys.ESCAPE)
    assert browser.text("#announce") == f"All {lines.num_rows:,} rows."
    tab_to(browser, "name1", at_most=2)  # pictures are passed over


def tab_to(browser: Browser, name: str, at_most: int) -> None:
    for _ in range(at_most):
        browser.press(Keys.TAB)
        if browser.script("return document.activeElement.getAttribute('aria-labelledby')") == name:
            return
    pytest.fail(f"{at_most} times Tab do not lead to {name}")


def test_what_is_read_aloud(browser: Browser, page: Page) -> None:
    browser.open(page.url + "#modes=AIR")
    nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(node["role"]["value"], node["name"]["value"]) for node in nodes if "name" in node and not node["ignored"]}
    assert {("listbox", name) for name in VIEWS} <= named
    assert {("heading", name) for name in ("base", *VIEWS, "Base rows")} <= named
    assert ("button", "Clear modes") in named
    assert ("button", "Clear lines") not in named
    assert not [name for role, name in named if role.lower() == "canvas"]
    browser.script((files("axe_core_python") / "axe.min.js").read_text())
    found = browser.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]] == []
    assert len(found["passes"]) > 30


def test_nothing_is_asked_of_others(page: Page) -> None:
    browser = Browser(watched=True, width=500, height=800)
    try:
        browser.open(page.url)
        assert browser.script("return document.documentElement.scrollWidth <= window.innerWidth")
        with browser.answered():
            browser.click(BARS, None, 2)
        asked = [url for url in browser.asked() if not url.startswith(("data:", "blob:", "about:", "chrome:"))]
        assert len(asked) >= 5
        assert {urlsplit(url).hostname for url in asked} == {"127.0.0.1"}
        assert not browser.said()
    finally:
        browser.close()


def _answers_in_frame(browser: Browser) -> int:
    """How many answers the page in the first frame has shown; the frame is another one once its page has come."""
    browser.driver.switch_to.default_content()
    browser.driver.switch_to.frame(0)
    return browser.answers


def test_in_a_frame_of_a_notebook(browser: Browser, page: Page, lines: pa.Table, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><html><body>{page._repr_html_()}</body></html>")
    browser.go(notebook.as_uri())
    browser.until(lambda: browser.all("iframe"))
    try:
        browser.until(lambda: _answers_in_frame(browser) >= 1)
        with browser.answered():
            browser.press_on("[data-view='4'] tbody tr")
        instruction = browser.text("[data-view='4'] tbody tr.chosen td")
        assert_shows(browser, lines, pc.field("l_shipinstruct") == instruction)
    finally:
        browser.driver.switch_to.default_content()


def test_a_brush_is_drawn_once(browser: Browser, page: Page) -> None:
    browser.open(page.url)
    browser.script(_MESSAGES)
    widths = "return Bokeh.documents[0].roots().slice(0, 4).map((picture) => picture.inner_width)"
    before = browser.script(widths)
    with browser.answered():
        browser.click(CELLS, *cell(browser, "N", "F"))
    assert max(browser.script("return messages")) >= 6  # pictures, scales and words in one message
    assert browser.script(widths) == before  # fewer rows have shorter numbers, and are not laid out anew


def test_on_a_phone(browser: Browser, page: Page) -> None:
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        browser.open(page.url)
        assert browser.script("return document.documentElement.scrollWidth") <= 390
        rows = "return [...document.querySelectorAll('.ask')].map((e) => e.clientHeight)"
        assert max(browser.script(rows)) < 40, "a range and its button stand in one line"
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_to_scale(browser: Browser, page: Page) -> None:
    top = "return Bokeh.documents[0].roots()[arguments[0]].x_range.end"
    browser.open(page.url + "#lines=7")
    small = browser.script(top, BARS)
    browser.press_on("#scale")
    browser.until(lambda: browser.script(top, BARS) > 10 * small)
    assert browser.text("#pale") == "all rows"


def test_a_range_that_is_typed(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    for name, day in (("first", "1995-03-01"), ("last", "1995-03-31")):
        browser.script(f"document.querySelectorAll('.ask .{name}')[1].value = '{day}'")
    with browser.answered():
        browser.script("document.querySelectorAll('.ask .choose')[1].click()")
    days = pc.field("l_shipdate")
    march = (days >= pa.scalar("1995-03-01").cast(pa.date32())) & (days <= pa.scalar("1995-03-31").cast(pa.date32()))
    assert browser.text("#left").startswith(f"{lines.filter(march).num_rows:,} of")
    browser.script("document.querySelectorAll('.ask .first')[1].value = '2050-01-01'")
    browser.script("document.querySelectorAll('.ask .last')[1].value = ''")
    browser.script("document.querySelectorAll('.ask .choose')[1].click()")
    browser.until(lambda: "has no bar from 2050-01-01" in browser.text("#failed"))


def test_rows_as_csv_and_sorted(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    browser.script(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => (window.saved = text)); return '#'; };"
    )
    with browser.answered():
        browser.click(BARS, None, 0)
        browser.script("document.querySelector('.ask .first').value = '7'")
        browser.script("document.querySelector('.ask .choose').click()")
    browser.until(lambda: browser.script("return !document.getElementById('export').hidden"))
    mode = browser.script(_NAMES, BARS, "left")[0]
    left = lines.filter((mode == MODE) & (LINE >= 7))
    browser.until(lambda: browser.text("#left").startswith(f"{left.num_rows:,} of"))
    browser.until(lambda: browser.text("#rows-said").endswith(f"of {left.num_rows:,}"))
    browser.script("document.getElementById('csv').click()")
    text = browser.until(lambda: browser.script("return window.saved"))
    found = csv.read_csv(pa.BufferReader(text.encode()))
    assert found.column_names == ["row_id", *lines.column_names]
    assert found["l_comment"].to_pylist() == left["l_comment"].to_pylist()
    browser.script("document.querySelectorAll('#base th button')[6].click()")
    shown = [row.find_elements("css selector", "td")[6].text for row in browser.all("#base tbody tr")]
    assert shown == sorted(shown) and len(set(shown)) > 2
    browser.script("document.getElementById('sql').click()")
    browser.until(lambda: "are rows of a saved result. Take the rows as CSV." in browser.text("#failed"))


def test_totals_and_search(browser: Browser, page: Page, lines: pa.Table) -> None:
    browser.open(page.url)
    total = f"n {lines.num_rows:,}"
    browser.until(lambda: browser.text(".total") == total)
    with browser.answered():
        browser.click(NUMBERS, 1, None)
    ones = lines.filter(LINE == 1).num_rows
    assert [each.text for each in browser.all(".total")][:2] == [f"n {ones:,} of {lines.num_rows:,}"] * 2


def test_pale_bars_that_are_not_to_scale_are_hatched(browser: Browser, page: Page) -> None:
    patterns = "return [0, 1, 2].map((n) => Bokeh.documents[0].roots()[n].renderers"
    patterns += ".find((each) => each.data_source.data.all)?.glyph.hatch_pattern.value ?? null)"
    browser.open(page.url)
    assert browser.script(patterns) == [None, None, None]
    with browser.answered():
        browser.click(NUMBERS, 1, None)
    browser.until(lambda: browser.script(patterns) == ["right_diagonal_line", None, "right_diagonal_line"])
    browser.script("document.getElementById('scale').click()")
    browser.until(lambda: browser.script(patterns) == [None, None, None])


def test_keys_that_mean_harm(browser: Browser) -> None:
    """Whatever stands in the data, in names of columns and views, is text."""
    harm = ["<script>window.harm = 1</script>", '"><img src=x onerror="window.harm = 1">', "$$\\frac{1}{2}$$",
            "{{ 7 * 7 }}", "</textarea><b>", "\u202eabc", "", "x" * 300, None]  # fmt: skip
    column, view = "<i onclick='window.harm = 1'>&amp;", "</script><script>window.harm = 1</script>"
    table = pa.table({column: harm, "b": harm[::-1]})
    shown = shown_of(table, {view: (column,), "table": ("b",), "map": (column, "b")}, {"table": {"chart": "table"}})
    with Page(shown) as page:
        browser.open(page.url)
        for place in range(len(harm)):
            with browser.answered():
                browser.click(0, None, place)
            at = int(shown.charts[0].order[place])
            label = shown.charts[0].label(at)
            assert browser.script("return document.querySelector('.head .chosen').textContent") == label
            link = browser.address
        browser.open(link)
        assert browser.text("#left") == f"1 of {len(harm)} rows"
        browser.until(lambda: browser.text("#rows-said") == "1 to 1 of 1")
        assert [each.text for each in browser.all("h2")][:3] == [view, "table", "map"]
        assert browser.script("return window.harm") is None
        assert not browser.all("img, main script, main b, i[onclick], .katex, mjx-container")
        assert not browser.said()


def test_slow_rows_hold_nobody_up(browser: Browser, lines: pa.Table) -> None:
    """Reading base rows and brushing are done in threads of their own; what fails is said."""
    shown, reading = shown_of(lines, VIEWS), Event()

    def read(ids: LineageSet) -> pa.Table:
        assert reading.wait(60)
        raise ChangedError("base is not what it was", instead="Register it again.")

    with Page(replace(shown, read_rows=read)) as page:
        browser.open(page.url + "#modes=AIR")
        browser.until(lambda: browser.text("#rows-said") == "reading …")
        with browser.answered():
            browser.click(BARS, None, MODES.index("RAIL"))
        assert_shows(browser, lines, MODE == "RAIL")
        reading.set()
        browser.until(lambda: browser.text("#failed span") == "base is not what it was. Register it again.")
        browser.press_on("#failed button")
        assert not browser.find("#failed").is_displayed()
    browser.until(lambda: "lost its server" in browser.text("#failed span"))
