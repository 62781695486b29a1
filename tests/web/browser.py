"""Pages of the service in a real browser: a tab that notes whatever a page should not do.

    def test_something(browser: Browser) -> None:
        with background(service()) as asker, tab(browser, asker.address, "/site/a.example") as seen:
            ...
            seen.is_for_everybody()

`tab` itself asserts that nothing was run, loaded from elsewhere, or complained about.
"""

import asyncio
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from manners._portal import portal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

T = TypeVar("T")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (1280, 400)

PATIENCE = 30.0
"""Seconds for a page to show something, on a busy machine."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: `make browser`")


@contextmanager
def background(opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """A server in the loop of another thread: Playwright has the loop of this one."""
    ready: Future[tuple[T, asyncio.Event]] = Future()

    async def hold() -> None:
        try:
            async with opened as value:
                stop = asyncio.Event()
                ready.set_result((value, stop))
                await stop.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    held = portal.submit(hold())
    value, stop = ready.result(timeout=60)
    try:
        yield value
    finally:
        portal.call(stop.set)
        held.result(timeout=60)


def serious_of(results: Any) -> list[str]:
    """What axe-core finds that keeps people from using a page."""
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:160]} {node['failureSummary'][:400]}"
        for rule in results.response["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


class Tab:
    """A page, and what it did besides being shown."""

    def __init__(self, page: "Page", address: str) -> None:
        self.page, self.address = page, address.rstrip("/")
        self.messages: list[str] = []
        """What the console says: errors, and what the content security policy stopped."""
        self.dialogs: list[str] = []
        self.asked: list[str] = []
        """Addresses that were requested, as they were sent."""
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, path: str) -> None:
        """Go to a path of the service."""
        self.page.goto(self.address + path)

    def until(self, expression: str) -> None:
        """Wait until an expression holds; Playwright's own wait is stopped by the policy."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"still not: {expression}"
            self.page.wait_for_timeout(50)

    @property
    def serious(self) -> list[str]:
        """What axe-core finds that keeps people from using the page as it is now."""
        axe: Any = pytest.importorskip("axe_playwright_python.sync_playwright")
        return serious_of(axe.Axe().run(self.page))

    @property
    def too_wide(self) -> list[str]:
        """What stands out of the page at the right, other than what scrolls by itself."""
        found: list[str] = self.page.evaluate(
            """() => {
                const width = document.documentElement.clientWidth;
                const inside = ".scroller, .editor, .hidden, .skip, svg";
                const wide = [...document.querySelectorAll("body *")]
                    .filter(each => !each.parentElement.closest(inside))
                    .filter(each => each.getBoundingClientRect().right > width + 1)
                    .map(each => each.outerHTML.slice(0, 200));
                return document.documentElement.scrollWidth > width ? ["the page", ...wide] : wide;
            }"""
        )
        return found

    def fits(self) -> None:
        """Nothing stands out of the page, wide and narrow."""
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 900})
            assert self.too_wide == [], width

    def is_for_everybody(self) -> None:
        """axe-core finds nothing serious and everything fits: wide and narrow, light and dark."""
        schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for scheme in schemes:
            self.page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                self.page.set_viewport_size({"width": width, "height": 900})
                assert self.serious == [], (scheme, width)
        self.fits()

    def check(self) -> None:
        """Nothing was run, nothing complained, and nobody else was asked."""
        assert (self.dialogs, self.messages) == ([], [])
        own = (self.address, "data:", "blob:")
        assert [url for url in self.asked if not url.startswith(own)] == []
        assert self.page.evaluate("typeof window.hacked") == "undefined"
        markup = "iframe, object, embed, base, meta[http-equiv=refresh], [onload], [onerror]"
        assert self.page.locator(markup).count() == 0


@contextmanager
def tab(
    browser: "Browser",
    address: str,
    path: str = "/",
    *,
    width: int = 1280,
    scheme: Any = "light",
    script: str = "",
    **options: Any,
) -> Iterator[Tab]:
    """A tab with a page of the service; at the end it has done nothing that it should not.

    `script` runs before those of the page; `options` are those of a context of Playwright.
    """
    size: Any = {"width": width, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=scheme, **options)
    if script:
        context.add_init_script(script)
    context.set_default_timeout(PATIENCE * 1_000)
    try:
        seen = Tab(context.new_page(), address)
        seen.open(path)
        yield seen
        seen.check()
    finally:
        context.close()
