"""The page of a pipeline in a real browser: boxes and rows to click, with mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from forward_lineage.drawing.page import MadeOf, Row, Shown, pipeline_page, write_page
from forward_lineage.drawing.pipeline import Step
from tests.browser import Browser
from udafs.errors import SetupError

STALE = "Stale. Saved 2026-02-03 04:05 UTC; stock has changed since."
HOSTILE = "</script><b onclick='x'>&\u202e\x1b"
STEPS = [
    Step("sales", base=True, touched=2),
    Step("stock", base=True, touched=0),
    Step("per_item", ("sales", "stock"), note="data", rows=40, touched=1),
    Step("large", ("per_item",), note="data", rows=3, touched=1, stale=True, saved="2026-02-03"),
    Step("quiet", ("stock",), note="control", rows=2, touched=0),
]
SHOWN = {
    "sales": Shown(("row_id", "item", "price"), (False, True), [Row(4, [HOSTILE, "7"], []), Row(9, ["pen", "5"], [])]),
    "per_item": Shown(
        ("row_id", "item"),
        (False,),
        [Row(3, ["pen"], [MadeOf("sales", [9], 1), MadeOf("stock", [0, 1], 1200)]), Row(5, ["ink"], [], touched=True)],
        "2 of 40 rows.",
        "SELECT item FROM sales JOIN stock",
    ),
    "large": Shown(
        ("row_id", "item"), (False,), [Row(0, ["pen"], [MadeOf("per_item", [3], 1)])], sql="SELECT 1", saved=STALE
    ),
    "quiet": Shown(note="No row of it is touched."),
}


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    write_page(tmp_path / "page.html", pipeline_page(STEPS, SHOWN, f"Impact of sales where item = '{HOSTILE}'"))
    browser.go((tmp_path / "page.html").as_uri())
    browser.until(lambda: browser.script("return document.body?.dataset.ready"))
    yield browser
    assert browser.said() == []


def box(name: str) -> str:
    return f'.step[data-name="{name}"]'


def rows(page: Browser) -> list[str]:
    return [row.text for row in page.all("#about tbody tr")]


def test_a_box_shows_its_rows_and_a_row_what_it_was_made_of(page: Browser) -> None:
    assert page.text("h1") == "Impact of sales where item = '</script><b onclick='x'>&\\u202e\\x1b'"
    assert page.text("#about h2") == "large", "the last result, first"
    page.press_on(box("per_item"))
    assert (page.text("#about h2"), rows(page)) == ("per_item", ["touched5 ink", "3 pen"])
    assert "SELECT item FROM sales JOIN stock" in page.text("#about") and "2 of 40 rows." in page.text("#about")
    page.press_on('#about tr[data-row="3"]')
    assert [each.text for each in page.all("#made button")] == ["1 row of sales", "1,200 rows of stock"]
    assert "0, 1, … (1,198 more)" in page.text("#made")
    page.press_on("#made button")
    assert page.text("#about h2") == "sales"
    assert [row.text for row in page.all("#about tr.found")] == ["9 pen 5"]


def test_heads_stand_above_their_values(page: Browser) -> None:
    page.press_on(box("sales"))
    aligned = "return [...document.querySelectorAll(arguments[0])].map((e) => getComputedStyle(e).textAlign)"
    heads, cells = (page.script(aligned, f"#about {each}") for each in ("th", "tr[data-row='9'] td"))
    assert heads == cells and "right" in heads


def test_what_is_touched_is_painted(page: Browser) -> None:
    touched = {each.get_attribute("data-name") for each in page.all(".step.touched")}
    assert touched == {"sales", "per_item", "large"}
    assert len(page.all(".edge.touched")) == 2 and len(page.all(".edge")) == 4
    assert [each.get_attribute("data-name") for each in page.all(".step.stale")] == ["large"]
    page.press_on(box("quiet"))
    assert "No row of it is touched." in page.text("#about")


def test_what_is_stale_has_its_date(page: Browser) -> None:
    assert page.text("#about p.stale") == STALE
    assert "saved 2026-02-03" in page.text(box("large")) and "saved" not in page.text(box("per_item"))


def test_details_are_beside_the_picture(page: Browser) -> None:
    picture, about = (
        page.script("return document.querySelector(arguments[0]).getBoundingClientRect()", each)
        for each in (".picture", "#about")
    )
    assert about["left"] >= picture["right"] and abs(about["top"] - picture["top"]) < 2


def test_on_a_phone(page: Browser) -> None:
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.driver.refresh()
        page.until(lambda: page.script("return document.body?.dataset.ready"))
        assert page.script("return document.documentElement.scrollWidth") <= 390
        assert page.text("#about h2") == "large"
        page.script("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click'))", box("per_item"))
        top = page.script("return document.querySelector('#about h2').getBoundingClientRect().top")
        assert page.text("#about h2") == "per_item" and 0 <= top < 800
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_with_keys_alone(page: Browser) -> None:
    page.script("document.querySelector(arguments[0]).focus()", box("sales"))
    page.press(Keys.ENTER)
    assert page.text("#about h2") == "sales"
    page.script("document.querySelector('#about tbody tr').focus()")
    page.press(Keys.SPACE)
    assert "is a row of a base table" in page.text("#made")


def test_text_is_text(page: Browser) -> None:
    page.press_on(box("sales"))
    assert rows(page)[0].startswith("4 </script><b onclick='x'>&")
    assert not page.all("#about b")


def test_text_stays_in_its_box(page: Browser) -> None:
    beyond = page.script(
        """
        return [...document.querySelectorAll(".step")].filter((step) => {
            const frame = step.querySelector("rect").getBoundingClientRect();
            return [...step.querySelectorAll("text")].some((text) => {
                const inner = text.getBoundingClientRect();
                return inner.right > frame.right || inner.bottom > frame.bottom || inner.left < frame.left;
            });
        }).map((step) => step.dataset.name);
        """
    )
    assert beyond == []


def test_it_can_be_used_without_sight(page: Browser) -> None:
    page.press_on(box("per_item"))
    page.press_on('#about tr[data-row="3"]')
    page.script((files("axe_core_python") / "axe.min.js").read_text())
    found = page.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]] == []
    assert len(found["passes"]) > 10


def test_it_needs_nothing_else(tmp_path: Path) -> None:
    text = pipeline_page(STEPS, SHOWN, "Saved results")
    assert "http:" not in text and "https:" not in text and "src=" not in text and "url(" not in text
    with pytest.raises(SetupError, match="cannot be written"):
        write_page(tmp_path / "missing" / "page.html", text)
