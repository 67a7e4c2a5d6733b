"""The page of an answer in a real browser: from panel to panel, with mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from forward_lineage.explaining.missing_page import marked
from forward_lineage.explaining.page import Code, Images, Item, Panel, walk_page, write_walk
from tests.browser import Browser
from udafs.errors import BadArgumentError, Position, SetupError

HOSTILE = "</script><b onclick='x'>&\u202e\x1b"
ROW = Panel(
    "base rows",
    "sales 2 differs",
    "+6,930",
    ["1 joined row before, 1 after"],
    images=[
        Images(
            "sales 2",
            ["before", "after"],
            [("item", HOSTILE, HOSTILE), ("price", "70", "7000"), ("gone", "1", None)],
            [False, True, True],
        )
    ],
)
COLUMN = Panel(
    "column",
    "total",
    "190 → 7130 (+6,940)",
    items=[
        Item("region = EU", "1 part", "+6,930", 1.0, "Ranked", chosen=True, panel=ROW),
        Item("region = US", "1 part", "-10", -0.1, "Ranked", panel=Panel("group", "region = US")),
        Item("3 more parts", "", "+20"),
    ],
)
CODE = Panel("step", "WHERE b > 1", code=[Code("q, line 2", "SELECT a\nWHERE ", "b > 1", " AND c")])
START = Panel(
    "rows that differ",
    f"q of {HOSTILE}",
    items=[
        Item("segment = retail", "total 190 → 7130", "changed", chosen=True, panel=COLUMN),
        Item("WHERE b > 1", "b = 0", "1 → 0", stops=True, panel=CODE),
    ],
)


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Browser]:
    browser.go(write_walk(tmp_path / "page.html", START).as_uri())
    browser.until(lambda: browser.script("return document.body?.dataset.ready"))
    yield browser
    assert browser.said() == []


def titles(page: Browser) -> list[str]:
    return [each.text for each in page.all(".panel h2")]


def press_on(page: Browser, label: str) -> None:
    places = page.script("return [...document.querySelectorAll('.item .label')].map((each) => each.textContent)")
    page.script("document.querySelectorAll('.item')[arguments[0]].setAttribute('data-test', '')", places.index(label))
    page.press_on(".item[data-test]")
    page.script("document.querySelectorAll('[data-test]').forEach((each) => each.removeAttribute('data-test'))")


def test_it_opens_on_the_way_down_and_others_can_be_taken(page: Browser) -> None:
    assert titles(page) == ["rows that differ", "total", "sales 2 differs"], "the way that explains most"
    press_on(page, "region = US")
    assert titles(page) == ["rows that differ", "total", "region = US"]
    press_on(page, "WHERE b > 1")
    assert titles(page) == ["rows that differ", "WHERE b > 1"]
    assert page.text("mark") == "b > 1" and page.text("pre") == "SELECT a\nWHERE b > 1 AND c"
    assert len(page.all(".item.stops")) == 1
    assert [each.text.split("\n")[0] for each in page.all("[aria-expanded=true]")] == ["WHERE b > 1"]


def test_old_and_new_values_and_what_differs(page: Browser) -> None:
    assert [each.text for each in page.all("tr.differs")] == ["price 70 7000", "gone 1 no row"]
    assert page.text("h1") == "q of </script><b onclick='x'>&\\u202e\\x1b"
    assert not page.all("b"), "text is text"


def test_with_keys_alone(page: Browser) -> None:
    page.script("[...document.querySelectorAll('button.item')].find((e) => e.textContent.includes('US')).focus()")
    page.press(Keys.ENTER)
    assert titles(page)[-1] == "region = US"
    page.script("document.querySelectorAll('button.item')[1].focus()")
    page.press(Keys.SPACE)
    assert titles(page)[-1] == "WHERE b > 1"


def test_on_a_phone(page: Browser) -> None:
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        page.driver.refresh()
        page.until(lambda: page.script("return document.body?.dataset.ready"))
        assert page.script("return document.documentElement.scrollWidth") <= 390
        tops = page.script("return [...document.querySelectorAll('.panel')].map((e) => e.getBoundingClientRect().top)")
        assert tops == sorted(tops) and len(set(tops)) == 3, "each panel below the last"
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_can_be_used_without_sight(page: Browser) -> None:
    page.script((files("axe_core_python") / "axe.min.js").read_text())
    for label in ("segment = retail", "WHERE b > 1"):
        press_on(page, label)
        found = page.driver.execute_async_script("axe.run().then(arguments[0])")
        assert [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]] == []


def test_it_needs_nothing_else(tmp_path: Path) -> None:
    text = walk_page(START)
    assert "http:" not in text and "https:" not in text and "src=" not in text and "url(" not in text
    with pytest.raises(SetupError, match="cannot be written"):
        write_walk(tmp_path / "missing" / "page.html", START)
    with pytest.raises(BadArgumentError, match=r"End it in \.html"):
        write_walk(tmp_path / "page.txt", START)


@pytest.mark.parametrize(
    ("line", "column", "part", "found"),
    [
        (3, 4, "JOIN u ON t.a = u.a", "join u\nON t.a=u.a"),  # the place is that of the condition
        (4, 7, "b > 1", "`b`>1"),
        (4, 17, "WHERE c LIKE 'x  y'", None),
        (4, 17, "c <> 2", "c <> 2"),
        (9, 1, "b > 1", None),
    ],
)
def test_the_part_of_the_query(line: int, column: int, part: str, found: str | None) -> None:
    text = "SELECT *\nFROM t join u\nON t.a=u.a\nWHERE `b`>1 AND c <> 2"
    span = marked(text, Position(line, column), part)
    assert (None if span is None else text[slice(*span)]) == found
