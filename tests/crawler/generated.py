"""Hosts made from a seed, and what a crawl has to make of them.

    site = Site(Spec(seed=1, hosts=20, pages=5_000), port)
    site.answer("127.0.40.1", "/", times=1)     what a server answers
    truth(site, site.starts)                    what has to become of every URL

What is open and what is closed is known from how each page was made: nothing here reads a
robots.txt, resolves a link or parses HTML. The truth is a plain search over what was made.
"""

import gzip
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from html import escape
from itertools import count, islice, pairwise
from typing import Any, NamedTuple

AGENT = "TruthBot"
ALIKE = 12
"""The `trap_alike` that numbered pages are made for: so many of them are in."""
ATTEMPTS = 3
"""How often what fails is asked for."""
REDIRECTS = 10
"""How many redirects may lead to a page, one after the other (`page_max_redirects`)."""

_MONTHS = 2 * ALIKE
_LETTERS = "ghijklmnopqrstuvwxyz"  # none of them a digit, in any base that is used: no forms alike
_SECTIONS = ("news", "shop", "help", "team", "work", "life", "town", "music", "sport", "look")
_RECENT = 40
"""How many pages back the one that links to a page may be: so there are ways of many steps."""
_RULES = """\
Disallow: /private/
Allow: /private/open/
Disallow: /*/secret-
Disallow: /*.pdf$
Disallow: /exact$
Disallow: /*?sort=
Disallow: /caf%C3%A9/
Disallow: /item/3$
Disallow: /item/6$
Disallow: /item/10$
"""
_CLOSED_ITEMS = (3, 6, 10)
_TRACKING = re.compile(r"[?&]utm_source=[a-z]+$")


class Spec(NamedTuple):
    """What a site is made from: the same makes the same."""

    seed: int = 1
    hosts: int = 20
    """Those that a crawl starts from, one of each of the special ones among them."""
    pages: int = 5_000
    """Of all hosts, the closed ones included."""
    crawl_delay: float = 1.0
    """What one of the hosts asks for."""
    retry_after: int = 1
    """What another does, when it is asked too much."""


# What there is.


class Link(NamedTuple):
    """An element of a page, and what it means."""

    markup: str
    url: str
    nofollow: bool = False


@dataclass(slots=True)
class Page:
    """What is at a URL."""

    url: str
    path: str
    is_closed: bool = False
    """Whether the rules that most hosts have are against it."""
    status: int = 200
    location: str = ""
    """As a redirect writes it."""
    target: str = ""
    """What it means."""
    type: str = "text/html; charset=utf-8"
    base: str = ""
    """The path that relative links begin at, where the page says so."""
    nofollow: str = ""
    """What the page says to robots: a meta element, or a header."""
    says_nofollow: bool = False
    """Whether that is said to us, and to be obeyed."""
    fails: str = ""
    """How, and how often: `500 once`, `broken`."""
    seconds: float = 0.0
    """How long the answer takes."""
    number: int = 0
    """Which of those that are alike it is, in the order in which they are found."""
    links: list[Link] = field(default_factory=list)

    @property
    def leads_on(self) -> bool:
        """Whether its links are there to be followed, at last."""
        is_html, is_over = self.type.startswith("text/html"), self.fails in ("500", "broken")
        return self.status == 200 and is_html and not is_over


@dataclass(slots=True)
class Sitemap:
    """A sitemap: what it names, and how it is answered."""

    url: str
    entries: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    is_closed: bool = False
    status: int = 200


@dataclass(slots=True)
class Host:
    """One address, and all that it has."""

    address: str
    role: str
    origin: str
    pages: dict[str, Page] = field(default_factory=dict)
    """By path and query."""
    sitemaps: dict[str, Sitemap] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    """The paths of the sitemaps that robots.txt names."""
    crawl_delay: float = 0.0

    def why_not(self, is_closed: bool) -> str:
        """Why robots.txt keeps a crawl out of a page; empty where it does not."""
        match self.role:
            case "away":
                return "unreachable"
            case "shut":
                return "rule-matched"
            case "without":
                return ""
        return "rule-matched" if is_closed else ""

    @property
    def robots(self) -> tuple[int, str]:
        """The status and the text of its robots.txt."""
        lines = [f"Sitemap: {self.origin}{path}" for path in self.named]
        delay = f"Crawl-delay: {self.crawl_delay}\n" if self.crawl_delay else ""
        everybody = f"User-agent: *\n{delay}{_RULES}"
        match self.role:
            case "away":
                return 503, ""
            case "without":
                return 404, "not here"
            case "shut":
                everybody = "User-agent: *\nDisallow: /\n"
            case "back":  # the front door is shut
                everybody += "Disallow: /$\n"
            case "picky":  # a group of our own, which is all that counts
                everybody = (
                    f"User-agent: *\nDisallow: /\n\nUser-agent: {AGENT}\n{_RULES}"
                    "\nUser-agent: OtherBot\nAllow: /\n"
                )
        return 200, everybody + "\n" + "\n".join(lines)


class Answer(NamedTuple):
    """What a server sends, and after how long."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    seconds: float = 0.0
    is_broken: bool = False
    """Whether the body breaks off."""


ROLES = ("plain", "slow", "delay", "without", "away", "picky", "shut", "busy", "back")
_SIZES = {"slow": 24, "delay": 4, "away": 6, "shut": 10, "busy": 20, "back": 20, "stranger": 8}
"""Pages of the hosts that are slow, or have nothing to be fetched."""
STRANGERS = 2
"""Hosts that are linked to, and that no crawl starts from."""


class Site:
    """All hosts of a spec, on one port."""

    def __init__(self, spec: Spec, port: int) -> None:
        self.spec, self.port = spec, port
        roles = [*ROLES, *["plain"] * (spec.hosts - len(ROLES))][: spec.hosts]
        roles += ["stranger"] * STRANGERS
        small = sum(_SIZES.get(role, 0) for role in roles)
        large = sum(role not in _SIZES for role in roles)
        self.hosts: dict[str, Host] = {}
        self.traps: dict[str, str] = {}
        """URLs that are traps by their looks, with the reason; there is nothing there."""
        makers: list[_Maker] = []
        for number, role in enumerate(roles):
            size = _SIZES.get(role) or max((spec.pages - small) // large, 20)
            address = f"127.0.{40 + number // 250}.{1 + number % 250}"
            host = Host(address, role, f"http://{address}:{port}")
            self.hosts[address] = host
            makers.append(_Maker(self, host, size, random.Random(f"{spec.seed} {number}")))
        for maker in makers:
            maker.make()
        for maker in makers:
            maker.connect(makers)

    @property
    def starts(self) -> list[str]:
        """The first page of each host but the strangers."""
        return [each.origin + "/" for each in self.hosts.values() if each.role != "stranger"]

    @property
    def size(self) -> int:
        """How many pages there are."""
        return sum(len(host.pages) for host in self.hosts.values())

    def host(self, url: str) -> Host:
        return self.hosts[url.split("/", 3)[2].partition(":")[0]]

    def page(self, url: str) -> Page | None:
        path = "/" + untracked(url).split("/", 3)[3]
        return self.host(url).pages.get(path)

    def answer(self, address: str, path: str, times: int) -> Answer:
        """What is answered when a path is asked for the so-manieth time."""
        host = self.hosts.get(address)
        if host is None:
            return Answer(404, [], b"no such host")
        if path == "/robots.txt":
            status, text = host.robots
            return Answer(status, [("Content-Type", "text/plain")], text.encode())
        if path in host.sitemaps:
            return _sitemap(host.sitemaps[path])
        page = host.pages.get(untracked(path))
        if page is None:
            return Answer(404, [("Content-Type", "text/html")], b"<a href=/bait>bait</a>")
        return _page(page, times, self.spec.retry_after)


def untracked(url: str) -> str:
    """A URL, or a path, without what only tells who sent a visitor."""
    return _TRACKING.sub("", url)


def _sitemap(sitemap: Sitemap) -> Answer:
    if sitemap.status != 200:
        return Answer(sitemap.status, [], b"")
    inner, outer = ("sitemap", "sitemapindex") if sitemap.children else ("url", "urlset")
    urls = sitemap.children or sitemap.entries
    made = "".join(f"<{inner}><loc>{escape(url)}</loc></{inner}>\n" for url in urls)
    body = f'<{outer} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{made}</{outer}>'
    is_gzip = sitemap.url.endswith(".gz")
    data = gzip.compress(body.encode(), 1, mtime=0) if is_gzip else body.encode()
    kind = "application/gzip" if is_gzip else "application/xml"
    return Answer(200, [("Content-Type", kind)], data, 0.01)


_FAILURES = {"500": 500, "503": 503, "429": 429}


def _page(page: Page, times: int, retry_after: int) -> Answer:
    headers = [("Content-Type", page.type)]
    failure, _, once = page.fails.partition(" ")
    if failure and (not once or times == 1):
        if failure == "broken":
            return Answer(200, headers, b"x" * 1000, page.seconds, is_broken=True)
        if failure == "429":
            headers.append(("Retry-After", str(retry_after)))
        bait = b'<a href="/bait">bait</a>'
        return Answer(_FAILURES[failure], headers, bait, page.seconds)
    if page.location:
        headers.append(("Location", page.location))
    head = "" if page.nofollow.startswith("X-") else page.nofollow
    if page.nofollow and not head:
        headers.append(("X-Robots-Tag", page.nofollow.partition(": ")[2]))
    if page.base:
        head += f'<base href="{page.base}">'
    # What is no link, whatever it looks like.
    body = (
        f'<!doctype html><html><head><title>{page.path}</title>{head}<link rel="stylesheet"'
        ' href="/bait.css"></head><body><img src="/bait.png"><script src="/bait.js"></script>'
        '<form action="/bait"></form><a href="mailto:bait@example.com">a</a>'
        '<a href="javascript:bait()">b</a><a name="/bait">c</a><!-- <a href="/bait">d</a> -->'
        f"{''.join(f'<p>{link.markup}</p>' for link in page.links)}</body></html>"
    )
    return Answer(page.status, headers, body.encode(), page.seconds)


# How it is made.


class _Maker:
    """Makes the pages of one host; `good` are those from which links lead on."""

    def __init__(self, site: Site, host: Host, size: int, draw: random.Random) -> None:
        self.site, self.host, self.size, self.draw = site, host, size, draw
        self.good: list[Page] = []
        self.closed: list[Page] = []
        self.listed: list[Page] = []
        """What a sitemap names."""
        self._words = count(1)

    # Names.

    def word(self) -> str:
        """A word that no other page of the host has."""
        number, made = next(self._words), ""
        while number:
            number, rest = divmod(number, len(_LETTERS))
            made += _LETTERS[rest]
        return made + "q"

    def open_path(self) -> str:
        section, word = self.draw.choice(_SECTIONS), self.word()
        return self.draw.choice(
            (
                f"/{word}",
                f"/{section}/{word}",
                f"/{section}/{word}/",
                f"/{section}/{word}.html",
                f"/{section}/{word}/{self.word()}",
                f"/{section}/{word}?page=next&view={section}",
                f"/{section}/~{word}",
                f"/{section}/caf%C3%A9-{word}",
                # These are open because of a longer rule, or because one ends with "$".
                f"/private/open/{word}",
                f"/{section}/{word}.pdf?as=text",
                f"/exact/{word}",
            )
        )

    def closed_path(self) -> str:
        section, word = self.draw.choice(_SECTIONS), self.word()
        made = self.draw.choice(
            (
                f"/private/{word}",
                f"/private/{section}/{word}",
                f"/{section}/secret-{word}",
                f"/{section}/{word}.pdf",
                f"/{section}/{word}?sort=up",
                f"/caf%C3%A9/{word}",
                "/exact",
            )
        )
        return made if made not in self.host.pages else f"/private/{word}"

    # Pages and links.

    def page(self, path: str = "", **more: Any) -> Page:
        path = path or self.open_path()
        made = Page(self.host.origin + path, path, **more)
        made.seconds = self.draw.choice((0.0, 0.0, 0.002, 0.01, 0.03))
        if self.host.role == "slow":
            made.seconds = self.draw.uniform(0.3, 0.5)
        if self.draw.random() < 0.1:
            made.base = self.draw.choice((f"/{self.draw.choice(_SECTIONS)}/", "/a/b/c.html", "/"))
        self.host.pages[path] = made
        return made

    def closed_page(self) -> Page:
        made = self.page(self.closed_path(), is_closed=True)
        self.closed.append(made)
        return made

    def parent(self) -> Page:
        return self.draw.choice(self.good[-_RECENT:])

    def link(self, page: Page, url: str, *, nofollow: bool = False) -> None:
        page.links.append(_element(self.draw, page, url, nofollow))

    def behind(self, page: Page) -> None:
        """Pages that only this one leads to."""
        for _ in range(self.draw.randint(1, 3)):
            made = self.page()
            self.link(page, made.url)
            self.link(made, self.draw.choice(self.good).url)
            page = self.draw.choice((page, made))

    def grow(self, page: Page) -> Page:
        """Let a page be one that links lead on from."""
        self.good.append(page)
        return page

    # The host.

    def make(self) -> None:
        """All pages, with the links inside of the host."""
        role = self.host.role
        root = self.page("/", is_closed=role == "back")
        self.grow(root if role != "back" else self.page())
        if role == "delay":
            self.host.crawl_delay = self.site.spec.crawl_delay
        if role in ("plain", "without", "picky"):
            self._traps(root)
            self._items(root)
            self._hops(root)
        if role == "busy":
            for failure in ("429 once", "503 once", "429 once"):
                self.link(self.parent(), self.grow(self.page(fails=failure)).url)
        features = _SMALL_FEATURES if role in _SIZES else _FEATURES
        while len(self.host.pages) < self.size:
            if self.draw.random() < 0.6:
                made = self.page()
                self.link(self.parent(), made.url)
                self.grow(made)
            else:
                self.draw.choice(features)(self)
        for page in self.good:
            for _ in range(self.draw.choice((0, 0, 1, 2))):
                wanted = self.closed if self.closed and self.draw.random() < 0.2 else self.good
                target = self.draw.choice(wanted)
                self.link(page, target.url, nofollow=self.draw.random() < 0.1)
        if role == "busy":
            self._tail()
        self._sitemaps()

    def connect(self, makers: "list[_Maker]") -> None:
        """The links to other hosts."""
        own = makers.index(self)
        for step in (1, 2, 3, 5):  # some lead nowhere
            following = makers[(own + step) % len(makers)]
            self.link(self.good[0], following.good[0].url)
        share = max(0.06, 12 / len(self.good))
        for page in self.good:
            if self.draw.random() < share:
                other = self.draw.choice(makers)
                wanted = other.closed if other.closed and self.draw.random() < 0.2 else other.good
                url = self.draw.choice(wanted).url
                if self.draw.random() < 0.3:
                    gone = self.page(f"/go/{self.word()}", status=302, location=url, target=url)
                    url = gone.url
                self.link(page, url, nofollow=self.draw.random() < 0.05)

    def _traps(self, root: Page) -> None:
        """What has no end; some of it shows only after a while."""
        path = "/loop/"
        self.link(root, self.host.origin + path)
        for _ in range(2):  # the third looks like what it is
            page = self.page(path)
            page.base, path = "", path + "loop/"
            page.links.append(Link('<a href="loop/">on</a>', self.host.origin + path))
        self.site.traps[self.host.origin + path] = "trap: repeated-segment"
        long = self.host.origin + "/long/" + "x" * 2_000
        self.site.traps[long] = "trap: too-long"
        deep = self.host.origin + "/" + "/".join(self.word() for _ in range(21))
        self.site.traps[deep] = "trap: too-deep"
        self.link(root, long)
        self.link(root, deep)
        # Each month leads to the next, and back.
        months = [
            self.page(f"/calendar/{2000 + number // 12}/{number % 12 + 1}", number=number + 1)
            for number in range(_MONTHS)
        ]
        self.link(root, months[0].url)
        for before, after in pairwise(months):
            self.link(before, after.url)
            self.link(after, before.url)

    def _items(self, root: Page) -> None:
        """Numbered pages, some of them closed: these count as well when it comes to too many.

        They are in lists, each of which only the one before leads to, by a redirect: so they are
        found in order.
        """
        items = iter(range(1, 2 * ALIKE))
        before = root
        for size in (2, 2, 3, 4, 5, 6):
            listing = self.page(f"/list/{self.word()}")
            self.link(before, _redirect(self, listing.url).url)
            for number in islice(items, size):
                closed = number in _CLOSED_ITEMS
                item = self.page(f"/item/{number}", is_closed=closed, number=number)
                self.link(listing, item.url)
            before = listing

    def _hops(self, root: Page) -> None:
        """More redirects in a row than are followed; of two rows, a link leads into one, later."""
        for late in (None, next(page for page in self.host.pages.values() if page.number == ALIKE)):
            before = self.page().url
            chain = [before := _redirect(self, before).url for _ in range(REDIRECTS + 3)]
            self.link(root, chain[-1])
            if late is not None:
                self.link(late, chain[-4])

    def _tail(self) -> None:
        """What fails when nothing else is left to do: then nothing but patience delays it."""
        page = self.good[0]
        for failure in (*[""] * 8, "500 once", "500"):
            before, page = page, self.page(fails=failure)
            self.link(before, page.url)

    def _sitemaps(self) -> None:
        """An index, one with gzip among what it names; or one where it is looked for; or none."""
        host, listed = self.host, [page.url for page in self.listed]
        listed += [page.url for page in self.draw.sample(self.good, len(self.good) // 8)]
        listed += [page.url for page in self.closed[:3]]
        role = host.role
        if role in ("without", "busy", "stranger"):
            self._sitemap("/sitemap.xml", entries=listed)
        elif role == "delay":
            self._sitemap("/sitemap.xml", status=404)
        else:
            half = len(listed) // 2
            # What only a sitemap names that is closed is not known to anybody.
            hidden = [self.page().url for _ in range(2)]
            names = ("/map/a.xml.gz", "/map/b.xml", "/private/map.xml", "/map/missing.xml")
            children = [host.origin + name for name in names]
            self._sitemap("/map/index.xml", children=children)
            self._sitemap(names[0], entries=listed[:half])
            self._sitemap(names[1], entries=listed[half:])
            self._sitemap(names[2], entries=hidden, is_closed=True)
            self._sitemap(names[3], status=404)
            host.named = ["/map/index.xml"]

    def _sitemap(self, path: str, **more: Any) -> None:
        self.host.sitemaps[path] = Sitemap(self.host.origin + path, **more)


# What there is on a host, besides pages that link to pages.


def _closed_door(maker: _Maker) -> None:
    """Pages that only a closed one leads to."""
    door = maker.closed_page()
    maker.link(maker.parent(), door.url)
    maker.behind(door)


def _nofollow_link(maker: _Maker) -> None:
    """A link that is not to be followed; at times another is."""
    page = maker.page()
    maker.link(maker.parent(), page.url, nofollow=True)
    if maker.draw.random() < 0.5:
        maker.link(maker.parent(), page.url)


_SAYS = (
    ('<meta name="robots" content="noindex, nofollow">', True),
    ('<meta name="ROBOTS" content="none">', True),
    (f'<meta name="{AGENT.lower()}" content="nofollow">', True),
    ('<meta name="otherbot" content="nofollow">', False),
    ('<meta name="robots" content="noindex">', False),
    ("X-Robots-Tag: nofollow", True),
    (f"X-Robots-Tag: {AGENT}: noarchive, nofollow", True),
    ("X-Robots-Tag: otherbot: nofollow", False),
)


def _nofollow_page(maker: _Maker) -> None:
    """A page that says it of all its links, or seems to."""
    said, is_meant = maker.draw.choice(_SAYS)
    page = maker.page(nofollow=said, says_nofollow=is_meant)
    maker.link(maker.parent(), page.url)
    maker.behind(page)


def _redirects(maker: _Maker) -> None:
    """One to four redirects to a page that nothing else leads to, or to a closed one."""
    draw = maker.draw
    page = maker.closed_page() if draw.random() < 0.3 else maker.page()
    if not page.is_closed:
        maker.grow(page)
    target = page.url
    for _ in range(draw.choice((1, 1, 2, 4))):
        target = _redirect(maker, target).url
    maker.link(maker.parent(), target)


def _redirect(maker: _Maker, target: str) -> Page:
    path = target.removeprefix(maker.host.origin)
    location = maker.draw.choice((target, path, f"../..{path}", f"{path}#part"))
    status = maker.draw.choice((301, 302, 303, 307, 308))
    return maker.page(f"/go/{maker.word()}", status=status, location=location, target=target)


def _redirect_loop(maker: _Maker) -> None:
    """Redirects to each other, or to themselves."""
    first = maker.page(f"/go/{maker.word()}", status=301)
    last = _redirect(maker, first.url) if maker.draw.random() < 0.7 else first
    first.location, first.target = last.path, last.url
    maker.link(maker.parent(), first.url)


def _gone(maker: _Maker) -> None:
    """A page that is not there, or not for everybody: its links are no links."""
    page = maker.page(status=maker.draw.choice((404, 404, 410, 403)))
    maker.link(maker.parent(), page.url)
    maker.behind(page)


def _fails_once(maker: _Maker) -> None:
    page = maker.page(fails=maker.draw.choice(("500 once", "broken once")))
    maker.link(maker.parent(), maker.grow(page).url)


def _fails(maker: _Maker) -> None:
    page = maker.page(fails=maker.draw.choice(("500", "broken")))
    maker.link(maker.parent(), page.url)
    maker.behind(page)


def _no_html(maker: _Maker) -> None:
    page = maker.page(type=maker.draw.choice(("text/plain", "application/json", "image/png")))
    maker.link(maker.parent(), page.url)
    maker.behind(page)


def _listed(maker: _Maker) -> None:
    """Pages that only a sitemap names, and what only they lead to."""
    page = maker.closed_page() if maker.draw.random() < 0.2 else maker.page()
    maker.listed.append(page)
    maker.behind(page)


Feature = Callable[[_Maker], None]
_FEATURES: tuple[Feature, ...] = (
    *(_closed_door, _nofollow_link, _nofollow_page, _redirects, _redirect_loop),
    *(_gone, _fails_once, _fails, _no_html, _listed),
)
_SMALL_FEATURES: tuple[Feature, ...] = (_closed_door, _nofollow_link, _redirects, _listed)


# How links are written.


def _element(draw: random.Random, page: Page, url: str, nofollow: bool) -> Link:
    """A link to a URL, written in one of many ways."""
    written, url = _written(draw, page, url)
    href = escape(written)
    if nofollow:
        rel = draw.choice(("nofollow", "external NOFOLLOW", "ugc nofollow noopener"))
        return Link(f'<a rel="{rel}" href="{href}">x</a>', url, nofollow=True)
    forms = ('<a href="{}">x</a>', "<A HREF='{}' class=y>x</A>", '<area href="{}">')
    form = draw.choice((*forms[:1] * 8, *forms, '<link rel="next" href="{}">'))
    return Link(form.format(href), url)


def _written(draw: random.Random, page: Page, url: str) -> tuple[str, str]:
    """How a URL is written in a page, and what is meant then."""
    origin, path = url[: url.index("/", 8)], url[url.index("/", 8) :]
    is_trap = path.startswith(("/calendar/", "/item/", "/loop/", "/long/")) or path.count("/") > 20
    if not is_trap and draw.random() < 0.03:
        tracked = f"{path}{'&' if '?' in path else '?'}utm_source={draw.choice(_SECTIONS)}"
        path, url = tracked, origin + tracked
    if "%C3%A9" in path:
        path = path.replace("%C3%A9", draw.choice(("%C3%A9", "%c3%a9", "é")))
    if "/~" in path:
        path = path.replace("~", draw.choice(("~", "%7E", "%7e")))
    form = draw.randrange(8)
    if not page.url.startswith(origin + "/"):
        form = draw.randrange(3)
    if form == 0:
        written = origin + path
    elif form == 1:
        written = origin.removeprefix("http:") + path
    elif form == 2:
        written = f"HTTP{origin.removeprefix('http')}{path}"
    elif form == 3:
        written = f" {path}\n"
    elif form == 4:
        written = f"/x/.././y/..{path}"
    elif form == 5:
        written = path
    else:  # from where the page is, or says that it is
        folders = (page.base or page.path).partition("?")[0].count("/") - 1
        written = "../" * folders + path[1:] or "./"
    return written + draw.choice(("", "", "", "#part")), url


# What has to become of it.


class Fate(NamedTuple):
    """What has to become of a URL."""

    state: str
    reasons: frozenset[str]
    """One of these; where a URL is out for several, which one is told is not promised."""
    status: int | None = None
    depth: int = 0

    def fits(self, reason: str) -> bool:
        """Whether it is what may be told; why something failed is told in any words."""
        return bool(reason) if self.state == "failed" else reason in self.reasons


class Truth(NamedTuple):
    """What has to become of all URLs."""

    pages: dict[str, Fate]
    sitemaps: dict[str, Fate]
    requests: dict[str, int]
    """How often each is asked for, robots.txt files aside."""


def truth(
    site: Site,
    starts: Iterable[str],
    *,
    max_depth: int | None = None,
    same_domain: bool = True,
    source: str = "auto",
    drop_tracking: bool = True,
) -> Truth:
    """What a crawl has to make of a site: a search by depth, in what was made."""
    choices = {"same_domain": same_domain, "source": source, "drop_tracking": drop_tracking}
    return _Search(site, list(starts), max_depth, **choices).run()


class _Search:
    def __init__(
        self, site: Site, starts: list[str], max_depth: int | None, **choices: Any
    ) -> None:
        self.site, self.starts, self.max_depth = site, starts, max_depth
        self.source, self.drop = choices["source"], choices["drop_tracking"]
        self.same_domain = choices["same_domain"]
        self.scope = {site.host(url).address for url in starts}
        self.found = Truth({}, {}, {})
        self.waiting: list[tuple[int, int, int, str]] = []
        self.best: dict[str, tuple[int, int]] = {}
        """The depth of each, and how many redirects lead to it: the least of either."""
        self.shunned: dict[str, int] = {}
        self.order = count()

    def run(self) -> Truth:
        if self.source != "sitemap":
            for url in self.starts:
                self.add(url, 0)
        if self.source != "links":
            for address in sorted(self.scope):
                for url in self.read_sitemaps(self.site.hosts[address]):
                    self.add(url, 1)
        while self.waiting:
            depth, hops, _, url = heappop(self.waiting)
            known = self.best.get(url, (depth, hops + 1))
            best = min(known[0], depth), min(known[1], hops)
            if best != known:
                self.best[url] = best
                self.visit(url, *best)
        for url, depth in self.shunned.items():
            self.leave_out(url, depth, "nofollow")
        for url in self.starts:
            self.leave_out(url, 0, "not-named")
        return self.found

    def leave_out(self, url: str, depth: int, reason: str) -> None:
        """A URL is out for a reason, unless something is for it."""
        if url not in self.found.pages:
            reasons = frozenset((reason, *self.why_not(url, depth, 0)))
            self.found.pages[url] = Fate("blocked", reasons, depth=depth)

    def add(self, url: str, depth: int, hops: int = 0) -> None:
        url = untracked(url) if self.drop else url
        heappush(self.waiting, (depth, hops, next(self.order), url))

    def shun(self, url: str, depth: int) -> None:
        url = untracked(url) if self.drop else url
        self.shunned[url] = min(depth, self.shunned.get(url, depth))

    def why_not(self, url: str, depth: int, hops: int) -> Iterator[str]:
        """All that is against a URL."""
        host, page = self.site.host(url), self.site.page(url)
        if self.max_depth is not None and depth > self.max_depth:
            yield "depth"
        if hops > REDIRECTS:
            yield "too-many-redirects"
        if self.same_domain and host.address not in self.scope:
            yield "other-host"
            return  # its robots.txt is none of ours
        if url in self.site.traps:
            yield self.site.traps[url]
        elif page is not None and page.number > ALIKE:
            yield "trap: too-many-alike"
        said = host.why_not(page is not None and page.is_closed)
        if said:
            yield said

    def visit(self, url: str, depth: int, hops: int) -> None:
        """Settle the fate of a URL, going by the best that is known of it."""
        reasons = frozenset(self.why_not(url, depth, hops))
        if reasons:
            self.found.pages[url] = Fate("blocked", reasons, depth=depth)
            return
        page = self.site.page(url)
        assert page is not None, url
        self.found.requests[url] = _requests(page)
        if page.fails in ("500", "broken"):
            status = 500 if page.fails == "500" else None
            self.found.pages[url] = Fate("failed", frozenset(), status, depth)
            return
        reason = "redirect" if page.target else ""
        self.found.pages[url] = Fate("done", frozenset((reason,)), page.status, depth)
        if page.target:
            self.add(page.target, depth, hops + 1)
        elif page.leads_on and self.source != "sitemap":
            for link in page.links:
                follow = self.shun if link.nofollow or page.says_nofollow else self.add
                follow(link.url, depth + 1)

    def read_sitemaps(self, host: Host) -> Iterator[str]:
        """What the sitemaps of a host name; where robots.txt names none, one is looked for."""
        waiting = host.named if host.role not in ("away", "without") else []
        waiting = [host.origin + path for path in waiting or ["/sitemap.xml"]]
        while waiting:
            url = waiting.pop(0)
            sitemap = host.sitemaps.get(url.removeprefix(host.origin), Sitemap(url, status=404))
            reason = host.why_not(sitemap.is_closed)
            if reason:
                self.found.sitemaps[url] = Fate("blocked", frozenset((reason,)))
                continue
            self.found.requests[url] = 1
            self.found.sitemaps[url] = Fate("done", frozenset(("",)), sitemap.status)
            if sitemap.status == 200:
                waiting += sitemap.children
                yield from sitemap.entries


def _requests(page: Page) -> int:
    if not page.fails:
        return 1
    return 2 if page.fails.endswith(" once") else ATTEMPTS
