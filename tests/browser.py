"""A real Chromium without a window, driven with a real mouse and real keys.

    python -m tests.browser     installs it, where this machine's package manager is apt-get and may be used

Only the browser package that is there is used; nothing is downloaded from elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")
Point = tuple[float | None, float | None]
PACKAGES = ("chromium", "chromium-driver")
NAMES = ("chromium", "chromium-browser", "google-chrome")
DOUBLE = 0.35  # seconds
PATIENCE = 60.0  # seconds; a busy machine is slow, not wrong

#: Where a point of a view's picture is in the window; arguments are the number of the picture, x and y, each null for
#: the middle of what is seen.
_POINT = """
    const [number, x, y] = arguments;
    const root = Bokeh.documents[0].roots()[number];
    const view = [...Bokeh.index].find((each) => each.model === root);
    const box = view.el.getBoundingClientRect();
    const { x_scale, y_scale, bbox } = view.frame;
    const inside = (at, least, most) => Math.min(Math.max(at, least + 1), most - 1);
    const left = x === null ? (bbox.left + bbox.right) / 2 : x_scale.compute(x);
    const top = y === null ? (bbox.top + bbox.bottom) / 2 : y_scale.compute(y);
    return [box.left + inside(left, bbox.left, bbox.right), box.top + inside(top, bbox.top, bbox.bottom)];
"""

_NOTHING = "about:blank"
_KEPT = "return location.hash.slice(1) === Bokeh.documents[0].get_model_by_name('talk').answer.link"


def found() -> tuple[str, str] | None:
    """The browser and its driver, None if one is missing."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """A window in which a page is open; watched, it notes what is asked for, which makes it slower."""

    def __init__(self, width: int = 1300, height: int = 1000, *, watched: bool = False) -> None:
        self._clicked = 0.0
        programs = found()
        assert programs, "there is no Chromium"
        options = webdriver.ChromeOptions()
        options.binary_location = programs[0]
        options.page_load_strategy = "none"  # the driver now and then waits for ever for a page that is there
        for word in (
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            f"--window-size={width},{height}",
        ):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"} | ({"performance": "ALL"} if watched else {}))
        self.driver = webdriver.Chrome(options=options, service=Service(programs[1]))

    def open(self, url: str) -> None:
        """Open a page of views, and wait until it shows what its address says."""
        self.go(url)
        self.until(lambda: self.answers >= 1)

    def go(self, url: str) -> None:
        """Leave a page for another one, and wait until the other one is there, perhaps in part."""
        self.driver.get(_NOTHING)  # a change behind # alone would load nothing
        self.until(lambda: self.script("return location.href") == _NOTHING)
        self.driver.get(url)
        self.until(lambda: self.script("return location.href") != _NOTHING)

    @property
    def answers(self) -> int:
        """How many answers to brushes the page has shown."""
        return int(self.script("return document.body?.dataset.answers || 0"))

    def until(self, true: Callable[[], T]) -> T:
        """Wait until something is true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (value := true()):
            assert time.monotonic() < end, f"waited in vain; the browser says {self.said()}"
            time.sleep(0.05)  # to ask is work for the browser, too
        return value

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Do what is in the block, then wait for the answer to it."""
        before = self.answers
        yield
        self.until(lambda: self.answers > before)
        self.settled()

    def settled(self) -> None:
        """Wait until the last choice is answered and drawn."""
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(self.script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)).strip()

    # ------------------------------------------------------------ mouse and keys

    def press_on(self, selector: str) -> None:
        """Click an element, with the mouse, in the middle of the window."""
        self.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.find(selector).click()

    def point(self, picture: int, x: float | None, y: float | None) -> tuple[int, int]:
        """Bring a point of a picture into sight; returns where it is in the window."""
        self.script("document.querySelectorAll('.picture')[arguments[0]].scrollIntoView({block: 'center'})", picture)
        left, top = self.script(_POINT, picture, x, y)
        return round(left), round(top)

    def click(self, picture: int, x: float | None, y: float | None, key: str | None = None) -> None:
        """Click a point of a picture, with the mouse, no double click; with a key held down."""
        time.sleep(max(0.0, self._clicked + DOUBLE - time.monotonic()))
        self._clicked = time.monotonic()
        self._mouse(lambda pointer: pointer.click(), self.point(picture, x, y), key)

    def hover(self, picture: int, x: float | None, y: float | None) -> None:
        self._mouse(lambda pointer: None, self.point(picture, x, y))

    def drag(self, picture: int, start: Point, end: Point) -> None:
        """Press the mouse at a point, move it, let it go."""
        (left, top), (right, bottom) = self.point(picture, *start), self.point(picture, *end)
        actions = ActionBuilder(self.driver, duration=20)
        pointer = actions.pointer_action
        pointer.move_to_location(left, top)
        pointer.pointer_down()
        for step in range(1, 6):
            pointer.move_to_location(left + (right - left) * step // 5, top + (bottom - top) * step // 5)
        pointer.pointer_up()
        actions.perform()

    def _mouse(self, act: Callable[[Any], object], at: tuple[int, int], key: str | None = None) -> None:
        actions = ActionBuilder(self.driver, duration=0)
        if key is not None:
            actions.key_action.key_down(key)
            actions.pointer_action.pause(0)
        actions.pointer_action.move_to_location(*at)
        act(actions.pointer_action)
        actions.perform()
        if key is not None:
            actions = ActionBuilder(self.driver, duration=0)
            actions.key_action.key_up(key)
            actions.perform()

    def press(self, *keys: str, held: str | None = None) -> None:
        """Press keys, one after another, wherever the focus is; with another one held down."""
        actions = ActionChains(self.driver, duration=0)
        if held is not None:
            actions.key_down(held)
        actions.send_keys(*keys)
        if held is not None:
            actions.key_up(held)
        actions.perform()

    # ------------------------------------------------------------ what happened

    def asked(self) -> list[str]:
        """The addresses that were asked for since the last call, by a browser that is watched."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                found.append(message["params"]["url"])
        return found

    def said(self) -> list[str]:
        """What went wrong according to the browser since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    @property
    def address(self) -> str:
        """The page's address, once it keeps what is chosen."""
        self.until(lambda: self.script(_KEPT))
        return str(self.driver.current_url)

    def close(self) -> None:
        """End the browser and its driver."""
        self.driver.quit()


def install() -> int:
    """Install Chromium, or say that it is not there."""
    if found():
        return 0
    before = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") and not (before and subprocess.run([*before, "true"], check=False).returncode):
        print("installing Chromium for the tests of pages …", flush=True)
        environment = [*before, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
        for words in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
            subprocess.run([*environment, *words], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not found():
        print(
            "There is no Chromium with its driver: tests of pages in a browser are skipped. "
            f"Install {' and '.join(PACKAGES)}."
        )
    return 0


if __name__ == "__main__":
    sys.exit(install())
