"""Rendering: a page that was fetched is shown by a Chromium without connections, and read again.

The document is not requested again. What its scripts need comes from its host alone, through the
client, by robots.txt. Where they would go instead is not followed: it is a link of the page.

Browsers, pages of one, its memory and the time of a page are bounded. A browser that dies takes
nothing along: the page is rendered once more, by another.
"""

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from manners import logs
from manners._text import cut, printable
from manners.browser.chromium import chromium, may_sandbox
from manners.browser.gate import SEALED, BrowserGate, BrowserRequest, RefusedRequest, is_window
from manners.browser.need import needs_browser
from manners.browser.policy import LoadingPolicy
from manners.charset import is_html
from manners.client.async_client import AsyncClient
from manners.client.page import Page
from manners.errors import MissingExtra

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_BROWSERS = 2
"""Browsers at a time, each with one page."""
_PAGES = 100
"""Pages of a browser before another takes its place: they grow."""
_MEMORY = 1024 * 1024 * 1024
"""Bytes that a browser, with all its processes, may have."""
_LOAD, _SETTLE, _TOTAL = 20.0, 3.0, 40.0
"""Seconds: for a page to load, for its scripts to come to rest after that, and for everything."""
_LOOK = 0.5
"""Seconds from one look at the memory of a browser to the next."""
_MAX_TARGETS = 100
"""Places where the scripts of a page would go."""
_ARGUMENTS = (
    "--js-flags=--max-old-space-size=512",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--mute-audio",
)
_READ = (
    "limit => document.documentElement ? document.documentElement.outerHTML.slice(0, limit) : ''"
)

Render = Literal["never", "auto", "always"]
"""Which pages are rendered: none, those that show nothing without scripts, or all."""


class Rendering(NamedTuple):
    """A page after its scripts have run."""

    html: str
    targets: tuple[str, ...] = ()
    """Where its scripts would have gone."""


class Renderer:
    """Renders pages that a client has fetched, in browsers of its own.

    renderer = Renderer("auto")
    await renderer.start()  # raises NoChromium
    rendering = await renderer.render(page, client)
    """

    def __init__(self, render: Render) -> None:
        self._render = render
        self._driver: Playwright | None = None
        self._path = ""
        self._idle: deque[_RenderBrowser] = deque()
        self._free = asyncio.Semaphore(_BROWSERS)

    async def start(self) -> None:
        """Find Chromium; raises `NoChromium`, or `MissingExtra` without Playwright."""
        await self._start_driver()

    async def close(self) -> None:
        """End the browsers."""
        while self._idle:
            await self._idle.pop().close()
        await self._stop_driver()

    async def render(self, page: Page, client: AsyncClient) -> Rendering | None:
        """A page after its scripts have run; None if it needs no browser, or breaks every one."""
        if not page.ok or not is_html(page.body, page.headers.get("content-type", "")):
            return None
        if self._render == "auto" and not needs_browser(page.text):
            return None
        async with self._free:
            for _ in range(2):
                with suppress(_BrowserGone):
                    return await self._render_once(page, client)
        logs.warned(f"not rendered, two browsers broke: {printable(cut(page.final_url, 200))}")
        return None

    async def _render_once(self, page: Page, client: AsyncClient) -> Rendering:
        browser = self._idle.pop() if self._idle else await self._launch()
        is_fine = False
        try:
            rendering = await browser.render(page, client)
            is_fine = browser.pages < _PAGES
        finally:
            if is_fine:
                self._idle.append(browser)
            else:
                await browser.close()
        return rendering

    async def _launch(self) -> "_RenderBrowser":
        """Start a browser; with a new driver if the one there is has died."""
        from playwright.async_api import Error

        for _ in range(2):
            try:
                driver = self._driver or await self._start_driver()
                return await _RenderBrowser.launch(driver, self._path)
            except (Error, OSError) as error:
                problem = str(error)
                await self._stop_driver()
        logs.warned(f"Chromium does not start: {printable(cut(problem, 500))}")
        raise _BrowserGone

    async def _start_driver(self) -> "Playwright":
        try:
            from playwright.async_api import async_playwright
        except ModuleNotFoundError:
            raise MissingExtra("playwright", "render") from None
        self._driver = driver = await async_playwright().start()
        try:
            self._path = chromium(driver)
        except BaseException:
            await self._stop_driver()
            raise
        return driver

    async def _stop_driver(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            with suppress(Exception):  # it may have died
                await driver.stop()


class _BrowserGone(Exception):
    """A browser that died, hung, or took too much memory."""


class _RenderBrowser:
    """One Chromium, with one page at a time."""

    def __init__(self, browser: "Browser", session: Any) -> None:
        self._browser, self._session = browser, session
        self._gate = BrowserGate(session)
        self.processes: list[int] = []
        """Its processes, the first of all first."""
        self.pages = 0

    @classmethod
    async def launch(cls, driver: "Playwright", path: str) -> "_RenderBrowser":
        """Start one. Where Chromium's sandbox cannot be had, as for root, it does without."""
        from playwright.async_api import Error

        options: dict[str, Any] = {
            "executable_path": path,
            "proxy": SEALED["proxy"],
            "args": list(_ARGUMENTS),
        }
        try:
            browser = await driver.chromium.launch(**options, chromium_sandbox=may_sandbox())
        except Error:
            if not may_sandbox():
                raise
            browser = await driver.chromium.launch(**options, chromium_sandbox=False)
            logs.warned("Chromium runs without its sandbox, which this system does not allow")
        found = cls(browser, await browser.new_browser_cdp_session())
        await found._gate.enable()
        return found

    async def render(self, page: Page, client: AsyncClient) -> Rendering:
        """Show a page and read it; raises `_BrowserGone`."""
        from playwright.async_api import Error

        self.pages += 1
        watch = asyncio.create_task(self._watch_memory())
        try:
            async with asyncio.timeout(_TOTAL):
                return await self._render(page, client)
        except (Error, TimeoutError) as error:
            raise _BrowserGone from error
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            await self._gate.shut()

    async def _render(self, page: Page, client: AsyncClient) -> Rendering:
        from playwright.async_api import TimeoutError as TooLong

        view = _View(page, client, self._session)
        self._gate.open(view.answer, lambda *_: None)
        context = await self._browser.new_context(
            service_workers="block",
            accept_downloads=False,
            user_agent=client.identity.user_agent,
        )
        try:
            window = await context.new_page()
            with suppress(TooLong):  # what is there by then is read
                await window.goto(page.final_url, wait_until="commit", timeout=_LOAD * 1000)
                await window.wait_for_load_state("load", timeout=_LOAD * 1000)
                await window.wait_for_load_state("networkidle", timeout=_SETTLE * 1000)
            html = await window.evaluate(_READ, client.settings.page_max_bytes)
        finally:
            await context.close()
        return Rendering(html, tuple(view.targets))

    async def close(self) -> None:
        """End it, at once if it does not end by itself."""
        with suppress(Exception):
            async with asyncio.timeout(5.0):
                await self._gate.shut()
                await self._browser.close()
            return
        self._kill()

    async def _watch_memory(self) -> None:
        """Kill the browser when it takes too much memory."""
        from playwright.async_api import Error

        while True:
            with suppress(Error):
                found = await self._session.send("SystemInfo.getProcessInfo")
                known = sorted(
                    found["processInfo"], key=lambda process: process["type"] != "browser"
                )
                self.processes = [process["id"] for process in known]
            if sum(map(_memory_of, self.processes)) > _MEMORY:
                self._kill()
                return
            await asyncio.sleep(_LOOK)

    def _kill(self) -> None:
        for process in self.processes[:1]:  # the others end with it
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)


class _View:
    """A page that is shown: its document is there already; scripts get what the policy loads."""

    def __init__(self, page: Page, client: AsyncClient, session: Any) -> None:
        self._page, self._session = page, session
        self._policy = LoadingPolicy(client, "same-host", self._is_window)
        self._is_shown = False
        self.targets: dict[str, None] = {}

    async def answer(self, request: BrowserRequest) -> Page:
        """The document, or a sub-resource."""
        if not request.is_document:
            return await self._policy.answer(request)
        if not self._is_shown:
            self._is_shown = True
            self._policy.opened(request.frame, self._page.final_url)
            return self._page
        if await self._is_window(request.frame) and len(self.targets) < _MAX_TARGETS:
            self.targets[request.url] = None
        raise RefusedRequest("a page that is rendered goes nowhere")

    async def _is_window(self, frame: str) -> bool:
        return await is_window(self._session, frame)


def _memory_of(process: int) -> int:
    """The bytes that a process has for itself; 0 where that cannot be found out."""
    try:
        _, resident, shared, *_ = Path(f"/proc/{process}/statm").read_text("ascii").split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
