"""The browser for pages of the service."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.browser import CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium; while it runs, this thread can run no event loop of its own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM)
        yield opened
        opened.close()
