"""A browser for the tests of a file; they are skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import browser as chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    if not chromium.found():
        pytest.skip("there is no Chromium with its driver: python -m tests.browser installs it where that can be done")
    found = chromium.Browser()
    yield found
    found.close()
