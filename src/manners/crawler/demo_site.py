"""The site of `manners demo`: two hosts on this machine, with all that a crawl has to cope with.

It knows what is to become of each of its URLs, and writes down what it was asked for and when. So
a crawl of it can be judged, case by case.

A URL is written in short here: `/tea` is on the first host, `localhost/letters` on the other.
"""

import asyncio
import errno
import gzip
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

from manners.errors import MissingExtra
from manners.settings import Settings
from manners.urls import host

try:
    from aiohttp import web
    from sqlalchemy import select

    from manners.evidence.schema import pages, urls
    from manners.evidence.store import EvidenceStore
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "aiohttp", "crawl") from None

SHOP, LIBRARY = "127.0.0.1", "localhost"
"""Two hosts for whoever crawls, and one server; any machine has both."""
CRAWL_DELAY, RETRY_AFTER, SLOW = 1, 2, 2.0
ALIKE = 3
SETTINGS = Settings(agent="DemoBot", allow_private=True, trap_alike=ALIKE, backoff_first=1.0)
"""How it is to be crawled: as any other site, but on this machine, and in no more than a moment."""

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
_NOT_PAGES = (
    *("/robots.txt", "/sitemap.xml", "/sitemap-archive.xml.gz"),
    *("localhost/robots.txt", "localhost/sitemap.xml"),
)
"""What is asked for besides pages; the last of them is only looked for, and not there."""

# The links of each page; what is no path is a whole element.
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
class Visit:
    """A request, as the server sees it."""

    url: str
    at: float
    """When it came, in seconds, by a clock that only goes forward."""
    status: int | None = None
    """What it was answered; None while it is not."""


class Fate(NamedTuple):
    """What became of a URL, as the store has it."""

    said: str
    """A status; or why it was not asked for, or failed."""
    seconds: float = 0.0
    """How long the answer took."""
    delay: float = 0.0
    """Seconds between requests to its host, from then on."""


class Measured(NamedTuple):
    """Something that was measured, and whether it is as it should be."""

    ok: bool
    said: str


class Case(NamedTuple):
    """One thing that a crawl has to cope with."""

    name: str
    says: str
    """What is to be expected."""
    at: str
    """The URL at which it is told; empty for what is known at the end."""
    expected: tuple[tuple[str, str], ...]
    """What is to become of URLs."""
    measure: "Callable[[DemoSite, Mapping[str, Fate]], Measured] | None" = None


class DemoSite:
    """The site, for as long as it is entered; with other robots.txt files it has other fates."""

    def __init__(self, robots: Mapping[str, str] = ROBOTS) -> None:
        self._robots = robots
        self.log: list[Visit] = []
        """What it was asked for, in this order."""
        self.told: Callable[[Visit], object] = lambda _: None
        """Is called at every answer."""
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
        """Listen on one port: `localhost` is the first address, or that of IPv6, or both."""
        first = web.TCPSite(self._runner, SHOP, port)
        await first.start()
        port = self._runner.addresses[-1][1]
        try:
            await web.TCPSite(self._runner, "::1", port).start()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:  # it is somebody else's there
                await first.stop()
                return
        self._port = port

    def url(self, short: str) -> str:
        """A URL that is written in short.

        >>> DemoSite().url("localhost/letters")
        'http://localhost:0/letters'
        """
        if short.startswith("http"):
            return short
        name, slash, path = short.partition("/")
        return f"http://{name or SHOP}:{self._port}{slash}{path}"

    def short(self, url: str) -> str:
        """A URL of the site, in short.

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

    def since(self, visit: Visit) -> float | None:
        """Seconds from the request before, to the same host; None for the first."""
        before = [each.at for each in self.visits(host(visit.url)) if each.at < visit.at]
        return visit.at - before[-1] if before else None

    def visits(self, name: str) -> list[Visit]:
        """The requests to a host."""
        return [each for each in self.log if host(each.url) == name]

    # Answers.

    async def _answer(self, request: web.Request) -> web.Response:
        url = f"http://{request.host}{request.raw_path}"
        visit, short = Visit(url, time.monotonic()), self.short(url)
        self.log.append(visit)
        if short == "/slow":
            await asyncio.sleep(SLOW)
        reply = self._reply(short, url)
        visit.status = reply.status
        self.told(visit)
        return reply

    def _reply(self, short: str, url: str) -> web.Response:
        status, headers, body = 200, {"Content-Type": "application/xml"}, b""
        match short:
            case "/robots.txt" | "localhost/robots.txt":
                headers, body = {"Content-Type": "text/plain"}, self.robots(host(url)).encode()
            case "/sitemap.xml":
                body = _INDEX.format(site=self.url("")).encode()
            case "/sitemap-archive.xml.gz":
                entries = "".join(f"<url><loc>{self.url(each)}</loc></url>" for each in _ARCHIVE)
                body = gzip.compress(f"<urlset>{entries}</urlset>".encode())
            case "/invitation":
                status, headers = 302, {"Location": "/private/party"}
            case "/busy" if sum(each.url == url for each in self.log) == 1:
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
        each if each.startswith("<") else f"<a href={each}>{each}</a>" for each in _PAGES[short]
    ]
    text = f"<!doctype html><title>Demo: {title}</title><h1>{title}</h1>{' '.join(links)}"
    return text.encode()


def fates(store: EvidenceStore, crawl: int, site: DemoSite) -> dict[str, Fate]:
    """What became of every page that a crawl of the site knows of."""
    mine = (urls.c.crawl == crawl) & (urls.c.kind == "page")
    joined = (urls.c.crawl == pages.c.crawl) & (urls.c.digest == pages.c.digest)
    columns = (urls, pages.c.location, pages.c.seconds, pages.c.delay)
    query = select(*columns).select_from(urls.outerjoin(pages, joined)).where(mine)
    found = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            said = str(row.status)
            if row.location:
                said = f"{row.status} to {site.short(row.location)}"
            elif row.line:
                said = f"line {row.line}: {row.rule}"
            elif row.reason:
                said = f"{row.reason} ({row.rule})" if row.rule else row.reason
            elif row.attempts > 1:
                said = f"{row.status} on attempt {row.attempts}"
            elif row.state != "done":
                said = row.state
            found[row.url] = Fate(said, row.seconds or 0.0, row.delay or 0.0)
    return found


# What is to be expected, and what is measured.


def _by(rule: str) -> str:
    lines = ROBOTS[SHOP].splitlines()
    return f"line {lines.index(rule) + 1}: {rule}"


def _crawl_delay(site: DemoSite, _: Mapping[str, Fate]) -> Measured:
    at = [visit.at for visit in site.visits(LIBRARY)]
    least = min((after - before for before, after in pairwise(at)), default=0.0)
    # A server sees requests when it gets round to it.
    ok = len(at) > 1 and least >= 0.8 * CRAWL_DELAY
    return Measured(ok, f"{len(at)} requests, {least:.2f} s apart or more")


def _left_alone(site: DemoSite, _: Mapping[str, Fate]) -> Measured:
    refused = [visit.at for visit in site.log if visit.status == 429]
    if not refused:
        return Measured(False, "it never said 429")
    # What was under way at that moment may still arrive.
    later = [visit.at for visit in site.visits(SHOP) if visit.at > refused[-1] + 0.1]
    seconds = min(later, default=refused[-1]) - refused[-1]
    return Measured(seconds >= 0.95 * RETRY_AFTER, f"left alone for {seconds:.2f} s")


def _slowed(site: DemoSite, became: Mapping[str, Fate]) -> Measured:
    fate = became.get(site.url("/slow"), Fate("not found"))
    said = f"answered after {fate.seconds:.2f} s; from then on {fate.delay:.2f} s between requests"
    return Measured(fate.seconds >= 0.95 * SLOW and fate.delay > 0.5, said)


def _only_allowed(site: DemoSite, _: Mapping[str, Fate]) -> Measured:
    """Whether everything that is to be asked for was, once, and nothing else."""
    meant = Counter(site.url(short) for short in _NOT_PAGES)
    for case in CASES:
        for short, said in case.expected:
            meant[site.url(short)] = 2 if short == "/busy" else int(said[:1].isdigit())
    asked = Counter(visit.url for visit in site.log)
    wrong = sorted(site.short(url) for url in {*meant, *asked} if meant[url] != asked[url])
    said = f"{len(site.log)} requests, none for a blocked URL, and none too many"
    return Measured(not wrong, f"not as it should be: {', '.join(wrong)}" if wrong else said)


_CLOSED = _by("Disallow: /private/")

CASES: tuple[Case, ...] = (
    Case(
        "allowed",
        "No rule matches these, so they are fetched.",
        "/",
        (("/", "200"), ("/tea/green", "200"), ("/tea/black", "200")),
    ),
    Case(
        "disallowed",
        "The rule covers every path that begins with it. No request is made.",
        "/private/plans",
        (("/private/plans", _CLOSED),),
    ),
    Case(
        "longest rule",
        "An Allow matches, too. It is longer, so it wins.",
        "/private/open-day",
        (("/private/open-day", "200"),),
    ),
    Case(
        "wildcard",
        "`*` is any run of characters, and the query counts.",
        "/tea?sort=price",
        (("/tea?sort=price", _by("Disallow: /*?sort=")),),
    ),
    Case(
        "anchor",
        "`$` is the end of the path: the other one goes on behind .pdf, and is fetched.",
        "/manual.pdf",
        (("/manual.pdf", _by("Disallow: /*.pdf$")), ("/manual.pdf.html", "200")),
    ),
    Case(
        "sitemap",
        "Nothing links to it. robots.txt names an index, which names a gzip file, which names it.",
        "/archive/first",
        (("/archive/first", "200"), ("/archive/second", "200"), ("/private/ledger", _CLOSED)),
    ),
    Case(
        "redirect",
        "It leads to where nobody may go: the way ends here.",
        "/invitation",
        (("/invitation", "302 to /private/party"), ("/private/party", _CLOSED)),
    ),
    Case(
        "crawl-delay",
        f"This host wants {CRAWL_DELAY} s between requests, and gets it. The other goes on.",
        "localhost/",
        (
            ("localhost/", "200"),
            ("localhost/letters/one", "200"),
            ("localhost/letters/two", "200"),
        ),
        _crawl_delay,
    ),
    Case(
        "slow page",
        "It takes its time. Others go on meanwhile, but the host is asked more slowly now.",
        "/slow",
        (("/slow", "200"),),
        _slowed,
    ),
    Case(
        "429",
        f"Too many requests: the host is left alone for {RETRY_AFTER} s, then asked again.",
        "/busy",
        (("/busy", "200 on attempt 2"),),
        _left_alone,
    ),
    Case(
        "trap: a loop",
        "Its link adds to its own path, again and again. The third time is a trap.",
        "/loop/loop/",
        (
            ("/loop/", "200"),
            ("/loop/loop/", "200"),
            ("/loop/loop/loop/", "trap: repeated-segment (trap_repeats = 3)"),
        ),
    ),
    Case(
        "trap: a calendar",
        f"There is always a next month. After {ALIKE} alike it is a trap (usually after 1,000).",
        f"/calendar/2026/{ALIKE}",
        (
            *((f"/calendar/2026/{n}", "200") for n in range(1, ALIKE + 1)),
            (f"/calendar/2026/{ALIKE + 1}", f"trap: too-many-alike (trap_alike = {ALIKE})"),
        ),
    ),
    Case(
        "nofollow: a link",
        "One of its links says rel=nofollow: where that leads to is not asked for.",
        "/",
        (("/cart", "nofollow (rel=nofollow)"),),
    ),
    Case(
        "nofollow: a page",
        "A meta element says nofollow: none of its links is followed.",
        "/members",
        (("/members", "200"), ("/members/list", "nofollow (meta robots)")),
    ),
    Case(
        "nofollow: a header",
        "The header X-Robots-Tag says nofollow: none of its links is followed.",
        "/feed",
        (("/feed", "200"), ("/feed/item", "nofollow (X-Robots-Tag)")),
    ),
    Case(
        "another site",
        "One of its links leads to another host: a crawl stays on those that it began with.",
        "/",
        (("https://elsewhere.example/", "other-host (elsewhere.example)"),),
    ),
    Case(
        "the server's log",
        "The server has seen all that was allowed, and nothing else.",
        "",
        (),
        _only_allowed,
    ),
)
