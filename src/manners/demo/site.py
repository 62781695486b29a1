"""The demo site: two hosts on this machine, with everything that a crawl has to handle.

It logs every request with its time, so that a crawl can be checked from the server's side.

URLs are abbreviated here: `/tea` is on the first host, `localhost/letters` on the other.
"""

import asyncio
import errno
import gzip
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from manners.errors import MissingExtra
from manners.settings import Settings
from manners.urls import host

try:
    from aiohttp import web
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "aiohttp", "crawl") from None

SHOP, LIBRARY = "127.0.0.1", "localhost"
"""Two hosts to a crawler, one server; every machine has both names."""
CRAWL_DELAY, RETRY_AFTER, SLOW = 1, 2, 2.0
ALIKE = 3
SETTINGS = Settings(agent="DemoBot", allow_private=True, trap_alike=ALIKE, initial_backoff=1.0)
"""The settings for crawling it: as usual, but on this machine, and with short limits."""

ROBOTS: Mapping[str, str] = {
    SHOP: """\
User-agent: *
Disallow: /private/
Allow: /private/open-day
Disallow: /*?sort=
Disallow: /*.pdf$

User-agent: GreedyBot
Disallow: /

Sitemap: {site}/sitemap.xml
""",
    LIBRARY: f"""\
User-agent: *
Crawl-delay: {CRAWL_DELAY}
""",
}
_INDEX = "<sitemapindex><sitemap><loc>{site}/sitemap-archive.xml.gz</loc></sitemap></sitemapindex>"
_ARCHIVE = ("/archive/first", "/archive/second", "/private/ledger")

# The links of each page; an entry that is not a path is an element.
_PAGES: Mapping[str, tuple[str, ...]] = {
    "/": (
        "/tea/green",
        "/tea/black",
        "/private/plans",
        "/private/open-day",
        "/tea?sort=price",
        "/manual.pdf",
        "/manual.pdf.html",
        "/invitation",
        "<a rel=nofollow href=/cart>Cart</a>",
        "/members",
        "/feed",
        "/slow",
        "/loop/",
        "/calendar/2026/1",
        "/busy",
        "<a href=https://elsewhere.example/>A friend</a>",
    ),
    "/tea/green": ("/",),
    "/tea/black": ("/",),
    "/private/open-day": ("/",),
    "/manual.pdf.html": ("/",),
    "/members": ("<meta name=robots content=nofollow>", "/members/list"),
    "/feed": ("/feed/item",),
    "/loop/": ("loop/",),
    "/loop/loop/": ("loop/",),
    "/archive/first": (),
    "/archive/second": (),
    "/slow": (),
    "/busy": (),
    **{f"/calendar/2026/{n}": (f"/calendar/2026/{n + 1}",) for n in range(1, 12)},
    "localhost/": ("/letters/one", "/letters/two"),
    "localhost/letters/one": (),
    "localhost/letters/two": (),
}


@dataclass(slots=True)
class DemoRequest:
    """A request, as the server sees it."""

    url: str
    at: float
    """When it arrived, in seconds of the site's clock."""
    status: int | None = None
    """The status of the response; None before it is sent."""


class DemoSite:
    """The site, running while it is entered; other robots.txt files give other outcomes.

    `clock` never goes backwards.
    """

    def __init__(
        self, robots: Mapping[str, str] = ROBOTS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._robots, self._clock = robots, clock
        self.log: list[DemoRequest] = []
        """All requests, in the order of their arrival."""
        self.on_response: Callable[[DemoRequest], object] = lambda _: None
        """Called with each request when it is answered."""
        self._port = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        while not self._port:
            await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _listen(self, port: int = 0) -> None:
        """Listen on one port for IPv4 and IPv6: `localhost` may be either, or both."""
        ipv4 = web.TCPSite(self._runner, SHOP, port)
        await ipv4.start()
        port = self._runner.addresses[-1][1]
        try:
            await web.TCPSite(self._runner, "::1", port).start()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # by another program
                await ipv4.stop()
                return
        self._port = port

    def url(self, short: str) -> str:
        """The full URL of an abbreviated one.

        >>> DemoSite().url("localhost/letters")
        'http://localhost:0/letters'
        """
        if short.startswith("http"):
            return short
        name, slash, path = short.partition("/")
        return f"http://{name or SHOP}:{self._port}{slash}{path}"

    def short(self, url: str) -> str:
        """A URL of the site, abbreviated.

        >>> site = DemoSite()
        >>> site.short(site.url("/tea")), site.short(site.url("localhost/letters"))
        ('/tea', 'localhost/letters')
        """
        for name in (SHOP, LIBRARY):
            path = url.removeprefix(f"http://{name}:{self._port}")
            if path != url:
                return path if name == SHOP else name + path
        return url

    def robots(self, name: str) -> str:
        """The robots.txt of a host."""
        return self._robots[name].format(site=self.url(""))

    def gap(self, request: DemoRequest) -> float | None:
        """Seconds since the previous request to the same host; None for the first."""
        earlier = [other.at for other in self.requests(host(request.url)) if other.at < request.at]
        return request.at - earlier[-1] if earlier else None

    def requests(self, name: str) -> list[DemoRequest]:
        """The requests to a host."""
        return [request for request in self.log if host(request.url) == name]

    async def _answer(self, request: web.Request) -> web.Response:
        url = f"http://{request.host}{request.raw_path}"
        logged, short = DemoRequest(url, self._clock()), self.short(url)
        self.log.append(logged)
        if short == "/slow":
            await asyncio.sleep(SLOW)
        response = self._response(short, url)
        logged.status = response.status
        self.on_response(logged)
        return response

    def _response(self, short: str, url: str) -> web.Response:
        status, headers, body = 200, {"Content-Type": "application/xml"}, b""
        match short:
            case "/robots.txt" | "localhost/robots.txt":
                headers, body = {"Content-Type": "text/plain"}, self.robots(host(url)).encode()
            case "/sitemap.xml":
                body = _INDEX.format(site=self.url("")).encode()
            case "/sitemap-archive.xml.gz":
                entries = "".join(f"<url><loc>{self.url(path)}</loc></url>" for path in _ARCHIVE)
                body = gzip.compress(f"<urlset>{entries}</urlset>".encode())
            case "/invitation":
                status, headers = 302, {"Location": "/private/party"}
            case "/busy" if sum(request.url == url for request in self.log) == 1:
                status, headers = 429, {"Retry-After": str(RETRY_AFTER)}
            case _:
                status, body = (200, _html(short)) if short in _PAGES else (404, b"no such page")
                headers = {"Content-Type": "text/html"}
                if short == "/feed":
                    headers["X-Robots-Tag"] = "nofollow"
        return web.Response(status=status, headers=headers, body=body)


def _html(short: str) -> bytes:
    title = short.strip("/").replace("/", ", ") or "shop"
    links = [
        link if link.startswith("<") else f"<a href={link}>{link}</a>" for link in _PAGES[short]
    ]
    text = f"<!doctype html><title>Demo: {title}</title><h1>{title}</h1>{' '.join(links)}"
    return text.encode()
