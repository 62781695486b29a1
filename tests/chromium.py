"""Chromium, as tests use it: that of the system's packages (`make browser`), or none."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.async_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: `make browser`")


@asynccontextmanager
async def launched() -> "AsyncIterator[Browser]":
    """A browser without windows."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM)
        try:
            yield browser
        finally:
            await browser.close()
