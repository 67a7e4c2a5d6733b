"""The browser of the pages' tests."""

from tests.forward_lineage.pages.conftest import browser as browser  # noqa: PLC0414 - a fixture
