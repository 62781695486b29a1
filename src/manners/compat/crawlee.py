"""Manners for crawlee: one object for its HTTP crawlers and for its browsers.

polite = PoliteCrawlee("MyBot/1.0 (+https://example.com/bot)")
crawler = ParselCrawler(**polite.http())
crawler = PlaywrightCrawler(**polite.browser())
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from manners import errors
from manners.client.async_client import AsyncClient
from manners.client.page import Page
from manners.client.streams import PageStream
from manners.settings import Settings

with errors.Extra("crawlee"):
    from crawlee import HttpHeaders
    from crawlee.http_clients import HttpClient, HttpCrawlingResult

if TYPE_CHECKING:
    from crawlee import Request
    from crawlee.browsers import BrowserPool
    from crawlee.crawlers import PlaywrightPreNavCrawlingContext
    from crawlee.sessions import Session
    from crawlee.statistics import Statistics

    from manners.browser.policy import Subresources

_OURS = ("accept-encoding", "connection", "content-length", "host", "user-agent")
"""Headers that the client sends, and crawlee does not."""


class PoliteCrawlee:
    """A client that makes the requests of crawlee's crawlers: verdict, record, turn, slot, guard.

    It takes the arguments of `manners.AsyncClient`. Use one for all crawlers of a program, and
    close it when they are done.

        async with PoliteCrawlee("MyBot/1.0 (+https://example.com/bot)") as polite:
            crawler = HttpCrawler(**polite.http())
            await crawler.run(["https://example.com/"])
    """

    def __init__(
        self, agent: str | None = None, settings: Settings | None = None, **arguments: Any
    ) -> None:
        self.client = AsyncClient(agent, settings, **arguments)
        """Decides, waits and sends; has the robots.txt files, the evidence, the budget."""
        self._browsers: WeakSet[Any] = WeakSet()
        self._blocks = AsyncExitStack()
        self._lock = asyncio.Lock()

    def http(self) -> dict[str, Any]:
        """Arguments of an HTTP crawler: who sends its requests. Its own robots.txt is off."""
        return {"http_client": PoliteHttpClient(self.client), "respect_robots_txt_file": False}

    def browser(
        self, *, subresources: "Subresources" = "same-host", **launch: Any
    ) -> dict[str, Any]:
        """Arguments of a `PlaywrightCrawler`: browsers without connections of their own.

        `launch` is for Playwright, `executable_path=` for instance. Pages share a context.
        """
        from crawlee.browsers import BrowserPool, PlaywrightBrowserPlugin

        from manners.browser.chromium import may_sandbox
        from manners.browser.gate import SEALED

        sandbox = {"chromium_sandbox": may_sandbox()}
        plugin = PlaywrightBrowserPlugin(
            browser_launch_options={**sandbox, **launch, "proxy": SEALED["proxy"]},
            browser_new_context_options={"service_workers": SEALED["service_workers"]},
        )
        pool = BrowserPool(plugins=[plugin])
        self._attach(pool, subresources)
        return {**self.http(), "browser_pool": pool}

    def _attach(self, pool: "BrowserPool", subresources: "Subresources") -> None:
        """Make every browser of a pool polite before it shows a page."""
        from manners.browser.polite import PoliteBrowser

        @pool.post_page_create_hook  # type: ignore[arg-type, untyped-decorator, unused-ignore]
        async def enter(page: Any, _: Any) -> None:
            context = page.page.context
            async with self._lock:
                if context.browser not in self._browsers:
                    block = PoliteBrowser(context, self.client, subresources)
                    await self._blocks.enter_async_context(block)
                    self._browsers.add(context.browser)

    async def decide(self, context: "PlaywrightPreNavCrawlingContext") -> None:
        """A hook that stops a disallowed request before its browser, so that it is not retried.

        crawler.pre_navigation_hook(polite.decide)
        """
        if not await self.client.allowed(context.request.url):
            _raise_if_blocked(context.request, await self.client.hop(context.request.url))

    async def close(self) -> None:
        """Let browsers request nothing more, close the connections, turn away what waits."""
        await self._blocks.aclose()
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class PoliteHttpClient(HttpClient):
    """What sends the requests of crawlee's HTTP crawlers; raises `Disallowed`."""

    def __init__(self, client: AsyncClient) -> None:
        super().__init__(persist_cookies_per_session=False)
        self._client = client

    async def crawl(
        self,
        request: "Request",
        *,
        session: "Session | None" = None,
        proxy_info: Any = None,
        statistics: "Statistics | None" = None,
        timeout: timedelta | None = None,
    ) -> HttpCrawlingResult:
        """Fetch the page of a request; redirects each have a verdict."""
        _refuse_proxy(proxy_info)
        url, headers = request.url, _headers(request.headers, session, request.url)
        async with _limited(timeout):
            page = await self._send(url, request.method, headers, request.payload)
        _raise_if_blocked(request, page)
        if statistics is not None:
            statistics.register_status_code(page.status or 0)
        request.loaded_url = page.final_url
        return HttpCrawlingResult(http_response=CrawleeResponse(page))

    async def send_request(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Any = None,
        payload: bytes | None = None,
        session: "Session | None" = None,
        proxy_info: Any = None,
        timeout: timedelta | None = None,
    ) -> "CrawleeResponse":
        """Send one more request, for a handler."""
        _refuse_proxy(proxy_info)
        async with _limited(timeout):
            page = await self._send(url, method, _headers(headers, session, url), payload)
        _raise_if_blocked(None, page)
        return CrawleeResponse(page)

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Any = None,
        payload: bytes | None = None,
        session: "Session | None" = None,
        proxy_info: Any = None,
        timeout: timedelta | None = None,
    ) -> AsyncIterator["CrawleeResponse"]:
        """Fetch a page piece by piece; `timeout` is for its headers, as the settings have it."""
        _refuse_proxy(proxy_info)
        if method != "GET" or payload or timeout:
            raise ValueError("a stream is a GET, with the timeouts of the settings")
        async with self._client.stream(url, _headers(headers, session, url)) as stream:
            _raise_if_blocked(None, stream.page)
            yield CrawleeResponse(stream.page, stream)

    async def cleanup(self) -> None:
        """Nothing to do: the client may belong to several crawlers."""

    async def _send(
        self, url: str, method: str, headers: Mapping[str, str], payload: bytes | None
    ) -> Page:
        if method == "GET" and not payload:
            return await self._client.get(url, headers)
        return await self._client.hop(url, headers, method=method, body=payload or b"")


class CrawleeResponse:
    """A page as crawlee's crawlers read it."""

    http_version = "HTTP/1.1"

    def __init__(self, page: Page, stream: PageStream | None = None) -> None:
        self.page, self._stream = page, stream
        """With its verdict, hops and usage."""

    @property
    def status_code(self) -> int:
        """The status of the last reply."""
        return self.page.status or 0

    @property
    def headers(self) -> HttpHeaders:
        """The headers of the last reply; the body is decompressed already."""
        headers = dict(self.page.headers)
        headers.pop("content-encoding", None)
        return HttpHeaders(headers)

    async def read(self) -> bytes:
        """The body."""
        if self._stream is not None:
            raise RuntimeError("a stream is read with read_stream")
        return self.page.body

    async def read_stream(self) -> AsyncIterator[bytes]:
        """The body of a stream, piece by piece."""
        if self._stream is None:
            raise RuntimeError("only a stream is read with read_stream")
        async for piece in self._stream.chunks():
            yield piece


def _raise_if_blocked(request: "Request | None", page: Page) -> None:
    """Raise where there is no reply; what is disallowed is not tried again."""
    if not page.was_allowed:
        if request is not None:
            request.no_retry = True
        raise errors.Disallowed(page.verdict)
    if page.status is None:
        raise errors.Broken(str(page))


def _headers(headers: Any, session: "Session | None", url: str) -> dict[str, str]:
    """The headers of crawlee's user, with the cookies of a session."""
    given = {
        name: value for name, value in dict(headers or {}).items() if name.lower() not in _OURS
    }
    cookies = session.cookies.get_cookie_string(url) if session is not None else ""
    return {"cookie": cookies, **given} if cookies else given


def _refuse_proxy(proxy_info: Any) -> None:
    if proxy_info is not None:
        raise ValueError("the proxy is a setting of manners: proxy=, without ProxyConfiguration")


def _limited(timeout: timedelta | None) -> asyncio.Timeout:
    return asyncio.timeout(None if timeout is None else timeout.total_seconds())
