"""Discovery: what is found on a real server, what becomes of it, and what the server sees of it."""

import asyncio
import gzip
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from manners import AsyncClient
from manners.crawler import scout
from manners.crawler.discovery import Discovery, Source
from manners.crawler.frontier.values import FoundUrl
from manners.errors import InvalidURL, SlotLost, StoreError
from manners.evidence.store import EvidenceStore
from manners.politeness.backends import Lease
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.budget import Budget
from manners.store.database import Store
from manners.testing import Clock, ScriptedSender
from manners.testing.loop import run as skipping
from tests.client.asking import asking, rules, run, silence, slow, to
from tests.crawler.site import Seen, discover, html, index, interrupted, text, urlset
from tests.evidence.places import execute
from tests.faults.server import Call, Handler, Site, by_address, by_path, page

Url = Callable[..., str]
Pages = dict[str, Handler]


# Where sitemaps are looked for.


def test_robots_txt_first_then_the_sitemaps_it_names_then_the_page() -> None:
    """Each once, in this order, and nothing else; what is found is not fetched."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules(f"Sitemap: {url('/one.xml')}", "Sitemap: /two.xml"),
            "/one.xml": page(urlset(url("/a"), url("/b"))),
            "/two.xml": page(urlset(url("/b"), url("/c"))),
            "/": html("/c", "/d"),
        }

    seen = discover(make)
    assert seen.paths == ["/robots.txt", "/one.xml", "/two.xml", "/"]
    assert seen.kept == ["/", "/a", "/b", "/c", "/d"]
    assert seen.discovery.found == {"start": 1, "sitemap": 3, "link": 2}
    assert seen.discovery.allowed == {"start": 1, "sitemap": 3, "link": 2}
    assert not seen.discovery.filtered
    assert not seen.discovery.is_cut
    one, two = seen.discovery.sitemaps
    assert (one.url, one.found_in) == (seen.base + "/one.xml", seen.base + "/robots.txt")
    assert (one.form, one.entries, one.problems, one.status) == ("urlset", 2, (), "200")
    assert two.url == seen.base + "/two.xml"


def test_every_url_is_told_with_where_it_was_found() -> None:
    """The first that names it is where it was found."""

    def make(url: Url) -> Pages:
        entry = f"<url><loc>{url('/a')}</loc><lastmod>2026-01-02</lastmod></url>"
        return {
            "/sitemap.xml": page(f"<urlset>{entry}</urlset>".encode()),
            "/": html("/a", "/l"),
        }

    seen = discover(make)
    base = seen.base
    assert seen.told == [
        FoundUrl(f"{base}/", "start", "", 0, 1.0),
        FoundUrl(f"{base}/a", "sitemap", f"{base}/sitemap.xml", 1, 0.5, "2026-01-02"),
        FoundUrl(f"{base}/l", "link", f"{base}/", 1, 0.5),
    ]
    assert all(each.is_kept for each in seen.told)


@pytest.mark.parametrize("robots", [rules(), page(status=404)], ids=["none named", "no robots.txt"])
def test_where_none_is_named_one_is_looked_for(robots: Handler) -> None:
    """At /sitemap.xml, which nobody has named."""
    seen = discover(
        lambda url: {"/robots.txt": robots, "/sitemap.xml": page(urlset(url("/a")))}, "sitemap"
    )
    assert seen.paths == ["/robots.txt", "/sitemap.xml"]
    assert seen.kept == ["/a"]
    assert seen.discovery.sitemaps[0].found_in == ""


def test_a_sitemap_that_is_disallowed_is_not_fetched() -> None:
    """Named or looked for, what names it or where it redirects from: robots.txt decides."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules(
                "Disallow: /closed", f"Sitemap: {url('/closed.xml')}", f"Sitemap: {url('/i.xml')}"
            ),
            "/i.xml": page(index(url("/closed/2.xml"), url("/moved.xml"))),
            "/moved.xml": to("/closed/3.xml"),
        }

    seen = discover(make, "sitemap")
    assert seen.paths == ["/robots.txt", "/i.xml", "/moved.xml"]
    blocked = "blocked: disallowed: rule-matched, line 2: /closed"
    assert [each.status for each in seen.discovery.sitemaps] == [blocked, "200", blocked, blocked]
    seen = discover(lambda _: {"/robots.txt": rules("Disallow: /sitemap.xml")}, "sitemap")
    assert seen.paths == ["/robots.txt"]
    assert not seen.discovery.is_undecided


def test_a_robots_txt_that_is_not_to_be_asked_is_not_asked_for_sitemaps() -> None:
    """Where it is not respected, a sitemap is looked for where it usually is."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /", f"Sitemap: {url('/named.xml')}"),
            "/sitemap.xml": page(urlset(url("/a"), url("/b", "127.0.0.2"))),
        }

    seen = discover(make, "sitemap", respect_robots=False)
    assert seen.paths == ["/sitemap.xml"]
    assert seen.kept == ["/a"]


def test_sitemaps_lead_to_others_as_deep_as_is_set() -> None:
    """Five deep, and not six; whoever wants fewer says so."""

    def make(url: Url) -> Pages:
        nested = {
            f"/{depth}.xml": page(index(url(f"/{depth + 1}.xml"), url(f"/page{depth}.txt")))
            for depth in range(1, 8)
        }
        leaves = {f"/page{depth}.txt": text(url(f"/p{depth}")) for depth in range(1, 8)}
        return {"/robots.txt": rules("Sitemap: /1.xml"), **nested, **leaves}

    seen = discover(make, "sitemap")
    assert seen.kept == ["/p1", "/p2", "/p3", "/p4"]
    assert "/5.xml" in seen.paths
    assert "/6.xml" not in seen.paths
    assert seen.discovery.is_cut
    assert seen.discovery.sitemaps[-1].found_in == seen.base + "/4.xml"
    seen = discover(make, "sitemap", sitemap_depth=1)
    assert seen.paths == ["/robots.txt", "/1.xml"]
    assert discover(make, "sitemap", sitemap_depth=9).kept[-1] == "/p7"


def test_a_sitemap_is_read_once() -> None:
    """Loops end, and so do other ways to write the same URL."""

    def make(url: Url) -> Pages:
        again = f"Sitemap: HTTP://127.0.0.1:{url().rpartition(':')[2][:-1]}/a/../%69.xml#top"
        return {
            "/robots.txt": rules("Sitemap: /i.xml", "Sitemap: /i.xml", again),
            "/i.xml": page(index(url("/i.xml"), url("/j.xml"), url("/j.xml"))),
            "/j.xml": page(index(url("/i.xml"), url("/s.txt"))),
            "/s.txt": text(url("/a")),
        }

    seen = discover(make, "sitemap")
    assert seen.paths == ["/robots.txt", "/i.xml", "/j.xml", "/s.txt"]
    assert seen.kept == ["/a"]
    assert not seen.discovery.is_cut


def test_sitemaps_of_every_kind_are_read() -> None:
    """Compressed for the wire or in a file, text, feeds, behind a redirect."""

    def make(url: Url) -> Pages:
        rss = f"<rss><channel><item><link>{url('/rss')}</link></item></channel></rss>"
        named = ("a.xml.gz", "b.xml", "c.txt", "d.rss", "e.xml")
        return {
            "/robots.txt": rules(*(f"Sitemap: {url('/' + name)}" for name in named)),
            "/a.xml.gz": page(gzip.compress(urlset(url("/gz")))),
            "/b.xml": page(
                gzip.compress(urlset(url("/wire"))), headers=[("Content-Encoding", "gzip")]
            ),
            "/c.txt": text(url("/text")),
            "/d.rss": page(rss.encode()),
            "/e.xml": to("/deep/f.xml"),
            "/deep/f.xml": page(urlset("moved")),
        }

    seen = discover(make, "sitemap")
    assert seen.kept == ["/gz", "/wire", "/text", "/rss", "/deep/moved"]
    forms = [each.form for each in seen.discovery.sitemaps]
    assert forms == ["urlset", "urlset", "text", "rss", "urlset"]


# Sitemaps that are not as they should be.


async def cut_short(call: Call) -> None:
    """Half of a sitemap, and then a closed connection."""
    await call.request()
    body = urlset(f"http://127.0.0.1:{call.port}/half")[:-9] + b"<url><loc>http"
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", body)


async def stalls(call: Call) -> None:
    """The same, and then nothing."""
    await call.request()
    body = urlset(f"http://127.0.0.1:{call.port}/half")[:-9]
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", body)
    await call.pause()


async def slams(call: Call) -> None:
    await call.request()
    call.reset()


BAD: list[tuple[str, Handler, str, int, list[str]]] = [
    ("404", page(status=404), "404", 0, []),
    ("500", page(b"oops", 500), "500", 0, []),
    ("html", html("/x"), "200", 0, ["html"]),
    ("empty", page(b""), "200", 0, ["empty"]),
    ("no answer", silence, "(timeout)", 0, []),
    ("slammed", slams, "(connection lost)", 0, []),
    ("a redirect that leads nowhere", to("/bad"), "302 (redirect loop)", 0, []),
]


@pytest.mark.parametrize(("name", "handler", "status", "entries", "problems"), BAD)
def test_a_sitemap_that_cannot_be_had_is_told_and_the_others_are_read(
    name: str, handler: Handler, status: str, entries: int, problems: list[str]
) -> None:
    """What came instead, or why nothing did."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Sitemap: /bad", "Sitemap: /good", "Sitemap: http://[bad/"),
            "/bad": handler,
            "/good": text(url("/a")),
        }

    seen = discover(make, "sitemap", page_read_timeout=0.3)
    assert seen.sitemaps["/bad"] == (status, entries, problems), name
    assert seen.kept == ["/a"]
    assert seen.discovery.is_undecided == status.startswith("(")
    assert seen.discovery.sitemaps[-1].status in ("invalid IPv6 address", "200")
    assert len(seen.discovery.sitemaps) == 3


@pytest.mark.parametrize("handler", [cut_short, stalls], ids=["cut short", "stalls"])
def test_what_was_readable_of_a_sitemap_counts(handler: Handler) -> None:
    """One that breaks off, on the wire."""
    seen = discover(lambda _: {"/sitemap.xml": handler}, "sitemap", page_read_timeout=0.3)
    assert seen.kept == ["/half"]
    status, entries, problems = seen.sitemaps["/sitemap.xml"]
    assert (status, entries) == ("200", 1)
    assert "truncated" in problems


def test_a_gzip_file_that_breaks_off_counts_as_far_as_it_goes() -> None:
    """As one does in which somebody wrote nonsense."""

    def make(url: Url) -> Pages:
        packed = gzip.compress(urlset(*(url(f"/{n * 7919}") for n in range(2000))))
        return {
            "/robots.txt": rules("Sitemap: /half.gz", "Sitemap: /mixed.xml"),
            "/half.gz": page(packed[: len(packed) // 2]),
            "/mixed.xml": page(b"<urlset><url><loc>/ok</loc></url><url><loc></url><loc>x</urlset>"),
        }

    seen = discover(make, "sitemap", trap_alike=10_000)
    _, entries, problems = seen.sitemaps["/half.gz"]
    assert 0 < entries < 2000
    assert "truncated" in problems
    assert "/ok" in seen.kept


def test_a_slot_that_is_lost_leaves_what_was_read() -> None:
    """The stream has to end; what it brought stays."""

    class Losing(MemoryBackend):
        async def renew(
            self, lease: Lease, now: float | None = None, delay: float | None = None
        ) -> Lease | None:
            await super().release(lease)
            return await super().renew(lease, now, delay)

    def make(_: Url) -> Pages:
        return {"/sitemap.xml": stalls}

    seen = discover(
        make,
        "sitemap",
        client={"politeness": Losing(2, 0.6), "lease": 0.6, "page_total_timeout": 0.5,
                "total_timeout": 0.5},
    )  # fmt: skip
    assert seen.kept == ["/half"]
    (sitemap,) = seen.discovery.sitemaps
    assert str(SlotLost("")) in sitemap.problems[0].detail


# Entries of other hosts.

HERE, NAMED, OTHER, INDEXED = "127.0.0.1", "127.0.1.1", "127.0.1.2", "127.0.1.3"


def across(site: Site) -> Handler:
    """Other hosts: one names a sitemap of ours, one does not, one names the index it is from."""
    return by_address(
        {
            NAMED: by_path(
                {"/robots.txt": rules("Disallow: /no", f"Sitemap: {site.url(HERE, '/leaf.xml')}")}
            ),
            INDEXED: by_path(
                {"/robots.txt": rules(f"Sitemap: {site.url(HERE, '/./index.xml#x')}")}
            ),
        },
        by_path({"/robots.txt": rules("Sitemap: /own.xml")}),
    )


def test_entries_of_another_host_count_where_its_robots_txt_names_the_sitemap() -> None:
    """Or the index that the sitemap is from; another sitemap of the same index does not count."""

    def make(url: Url) -> Pages:
        leaf = (url("/a", NAMED), url("/no", NAMED), url("/b", OTHER), url("/c", INDEXED))
        return {
            "/robots.txt": rules("Sitemap: /index.xml"),
            "/index.xml": page(index(url("/other.xml"), url("/leaf.xml"))),
            "/other.xml": page(urlset(url("/d", NAMED), url("/e", INDEXED))),
            "/leaf.xml": page(urlset(*leaf)),
        }

    seen = discover(make, "sitemap", otherwise=across)
    port = seen.base.rpartition(":")[2]
    fates = {url.replace(f":{port}", ""): reason for url, reason in seen.fates.items()}
    assert fates == {
        f"http://{NAMED}/d": "not-named",
        f"http://{INDEXED}/e": "",
        f"http://{NAMED}/a": "",
        f"http://{NAMED}/no": "rule-matched",
        f"http://{OTHER}/b": "not-named",
        f"http://{INDEXED}/c": "",
    }
    assert seen.about(f"http://{OTHER}:{port}/b").rule == OTHER
    asked = [(visit.address, visit.path) for visit in seen.log if visit.address != HERE]
    assert sorted(asked) == [(each, "/robots.txt") for each in (NAMED, OTHER, INDEXED)]


def test_a_url_that_one_sitemap_may_not_name_and_another_may() -> None:
    """Whoever may speak for the host decides, whatever came before."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Sitemap: /one.xml", "Sitemap: /leaf.xml"),
            "/one.xml": page(urlset(url("/a", NAMED))),
            "/leaf.xml": page(urlset(url("/a", NAMED))),
        }

    seen = discover(make, "sitemap", otherwise=across)
    assert [each.reason for each in seen.told] == [""]
    assert not seen.discovery.filtered
    assert seen.discovery.found == seen.discovery.allowed == {"sitemap": 1}


def test_few_other_hosts_and_ports_are_asked() -> None:
    """A sitemap can name any number of them; each would cost a request."""

    def make(url: Url) -> Pages:
        hosts = [url("/x", f"127.0.{1 + n // 200}.{n % 200}") for n in range(300)]
        ports = [f"http://127.0.0.1:{port}/x" for port in range(20_000, 20_300)]
        return {"/sitemap.xml": page(urlset(*hosts, *ports, url("/mine")))}

    seen = discover(make, "sitemap", otherwise=lambda _: by_path({"/robots.txt": rules()}))
    assert seen.kept == ["/mine"]
    reasons = {reason: n for (reason, *_), n in seen.discovery.filtered.items()}
    assert set(reasons) == {"not-named", "too-many-origins"}
    assert len({(visit.address, visit.port) for visit in seen.log}) == 50


# Sources.


@pytest.mark.parametrize(
    ("source", "paths", "found", "kept"),
    [
        ("auto", ["/sitemap.xml", "/"], {"start": 1, "sitemap": 2, "link": 2},
         ["/", "/s", "/b", "/l"]),
        ("sitemap", ["/sitemap.xml"], {"sitemap": 2}, ["/s", "/b"]),
        ("links", ["/"], {"start": 1, "link": 2}, ["/", "/b", "/l"]),
    ],
)  # fmt: skip
def test_sources(source: Source, paths: list[str], found: dict[str, int], kept: list[str]) -> None:
    """Both, or one of them; a URL that two name counts for both, and is one URL."""

    def make(url: Url) -> Pages:
        return {"/sitemap.xml": page(urlset(url("/s"), url("/b"))), "/": html("/b", "/l")}

    seen = discover(make, source)
    assert seen.paths == ["/robots.txt", *paths]
    assert seen.discovery.found == seen.discovery.allowed == found
    assert seen.kept == kept
    assert len(seen.told) == len(kept)


def test_one_page_is_one_url() -> None:
    """However it is spelt, and whoever names it."""

    def make(url: Url) -> Pages:
        port = url().rpartition(":")[2][:-1]
        ways = [f"HTTP://127.0.0.1:{port}/x/../a", url("/%61"), url("/a#b"), url("/a?")]
        return {"/sitemap.xml": page(urlset(*ways)), "/": html("a", "./a", "/a#c", "//127.0.0.1/")}

    seen = discover(make)
    assert seen.kept == ["/", "/a"]
    assert seen.discovery.found == {"start": 1, "sitemap": 1, "link": 2}


def test_parameters_that_track_can_be_left_out() -> None:
    """If they are not to be, they make another page."""

    def make(url: Url) -> Pages:
        tracked = url("/a?utm_source=x&amp;id=1"), url("/a?id=1")
        return {"/sitemap.xml": page(urlset(*tracked)), "/": html("/a?id=1&fbclid=2")}

    assert discover(make, drop_tracking=True).kept == ["/", "/a?id=1"]
    assert len(discover(make).kept) == 4


# Links.


def test_canonical_next_and_prev_are_links() -> None:
    """And so is an area; a style sheet is none."""
    head = "".join(
        f'<link rel="{rel}" href="/{rel}">' for rel in ("canonical", "next", "prev", "stylesheet")
    )
    seen = discover(lambda _: {"/": html('<area href="/area">', head=head)}, "links")
    assert seen.kept == ["/", "/canonical", "/next", "/prev", "/area"]


@pytest.mark.parametrize(
    ("head", "headers", "rule"),
    [
        ('<meta name="robots" content="noindex, nofollow">', [], "meta robots"),
        ('<meta name="MyBot" content="none">', [], "meta mybot"),
        ("", [("X-Robots-Tag", "nofollow")], "X-Robots-Tag"),
        ("", [("X-Robots-Tag", "mybot: nofollow")], "X-Robots-Tag"),
        ('<meta name="OtherBot" content="nofollow">', [("X-Robots-Tag", "otherbot: none")], ""),
    ],
)
def test_a_page_that_says_nofollow_is_not_followed(
    head: str, headers: list[tuple[str, str]], rule: str
) -> None:
    """For all robots or for this one; the word that says so is written down."""
    seen = discover(lambda _: {"/": html("/a", "/b", head=head, headers=headers)}, "links")
    assert seen.discovery.found == {"start": 1, "link": 2}
    assert seen.discovery.pages[0].nofollow == rule
    if rule:
        assert seen.kept == ["/"]
        assert seen.discovery.filtered == {("nofollow", rule, 0): 2}
        assert (seen.about("/a").reason, seen.about("/a").rule) == ("nofollow", rule)
    else:
        assert seen.kept == ["/", "/a", "/b"]


def test_a_link_that_says_nofollow_counts_if_another_does_not() -> None:
    """On the same page, on another, or in a sitemap; in any order."""

    def make(url: Url) -> Pages:
        no = '<a rel="nofollow" href="/{}">x</a>'.format
        return {
            "/sitemap.xml": page(urlset(url("/in-sitemap"))),
            "/": html(no("never"), no("later"), no("in-sitemap"), "/next", no("next")),
            "/next": html("/later", no("never")),
        }

    seen = discover(make, link_depth=2)
    assert seen.kept == ["/", "/in-sitemap", "/later", "/next"]
    assert seen.discovery.filtered == {("nofollow", "rel=nofollow", 0): 1}
    assert seen.discovery.found == {"start": 1, "sitemap": 1, "link": 4}
    assert seen.discovery.allowed == {"start": 1, "sitemap": 1, "link": 3}
    assert (seen.about("/later").found_in, seen.about("/later").depth) == (seen.base + "/next", 2)
    assert seen.paths == ["/robots.txt", "/sitemap.xml", "/", "/next", "/in-sitemap", "/later"][:4]


def test_what_only_nofollow_names_is_not_followed() -> None:
    """Its own links are nobody's business, nor are those of a page that a sitemap names."""

    def make(url: Url) -> Pages:
        return {
            "/sitemap.xml": page(urlset(url("/s"))),
            "/": html('<a rel="nofollow" href="/s">x</a><a rel="nofollow" href="/n">x</a>'),
        }

    assert discover(make, link_depth=3).paths == ["/robots.txt", "/sitemap.xml", "/"]


def test_links_to_other_hosts_are_out() -> None:
    """With the host; another port, or another scheme, is the same host with another robots.txt."""

    def make(url: Url) -> Pages:
        port = url().rpartition(":")[2][:-1]
        return {"/": html(f"http://127.0.1.9:{port}/", "http://other.example/x", "/a")}

    seen = discover(make, "links")
    assert seen.kept == ["/", "/a"]
    assert seen.discovery.filtered == {
        ("other-host", "127.0.1.9", 0): 1,
        ("other-host", "other.example", 0): 1,
    }
    assert {visit.address for visit in seen.log} == {HERE}


def test_links_are_followed_as_deep_as_is_set() -> None:
    """Page by page, whether a sitemap names them, too, or not; nothing is fetched twice."""

    def make(url: Url) -> Pages:
        chain = {f"/{n}": html(f"/{n + 1}", "/", f"/{n}") for n in range(1, 6)}
        return {"/sitemap.xml": page(urlset(url("/2"))), "/": html("/1"), **chain}

    seen = discover(make)
    assert (seen.kept, seen.paths[2:]) == (["/", "/2", "/1"], ["/"])
    seen = discover(make, link_depth=3)
    assert seen.paths[2:] == ["/", "/1", "/2"]
    assert seen.kept == ["/", "/2", "/1", "/3"]
    assert [seen.about(f"/{n}").depth for n in (1, 2, 3)] == [1, 2, 3]
    assert [(each.status, each.links) for each in seen.discovery.pages] == [
        ("200", 1),
        ("200", 3),
        ("200", 3),
    ]


def test_a_page_without_links_is_told_with_what_came_instead() -> None:
    """A file, a failure, a redirect, one that is closed."""

    def make(_: Url) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /closed"),
            "/": html("/pdf", "/gone", "/moved", "/to-closed"),
            "/pdf": page(b"<a href=/x>", headers=[("Content-Type", "application/pdf")]),
            "/moved": to("/deep/there"),
            "/deep/there": html("here"),
            "/to-closed": to("/closed/x"),
            "/untyped": page(b"<a href=/y>"),
        }

    seen = discover(make, "links", link_depth=2)
    blocked = "blocked: disallowed: rule-matched, line 2: /closed"
    pages = {each.url.removeprefix(seen.base): each[1:3] for each in seen.discovery.pages}
    assert pages == {
        "/": ("200", 4),
        "/pdf": ("200", 0),
        "/gone": ("404", 0),
        "/deep/there": ("200", 1),
        "/closed/x": (blocked, 0),
    }
    assert "/deep/here" in seen.kept
    assert "/closed/x" not in seen.paths
    seen = discover(make, "links", "/untyped")
    assert seen.kept == ["/untyped", "/y"]


# The filter.


def test_rules_of_robots_txt_are_told_with_their_line() -> None:
    """And nothing that is disallowed is asked for."""

    def make(url: Url) -> Pages:
        robots = (
            b"User-agent: *\nDisallow: /private/  # mine\nAllow: /private/press\n\n"
            b"User-agent: MyBot\nDisallow: /private/\nDisallow: /*.pdf$\n"
        )
        sitemap = urlset(url("/private/x"), url("/a.pdf"), url("/b"))
        return {
            "/robots.txt": page(robots),
            "/sitemap.xml": page(sitemap),
            "/": html("/private/press", "/c.pdf", "/d"),
        }

    seen = discover(make, link_depth=3)
    assert seen.kept == ["/", "/b", "/d"]
    assert seen.discovery.filtered == {
        ("rule-matched", "Disallow: /private/", 6): 2,
        ("rule-matched", "Disallow: /*.pdf$", 7): 2,
    }
    assert seen.discovery.found == {"start": 1, "sitemap": 3, "link": 3}
    assert seen.discovery.allowed == {"start": 1, "sitemap": 1, "link": 1}
    assert not [path for path in seen.paths if "private" in path or "pdf" in path]


def test_exclusions_win_over_robots_txt() -> None:
    """The pattern is told; a sitemap that is excluded is not read."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Allow: /admin", "Disallow: /b", "Sitemap: /s.txt"),
            "/s.txt": text(url("/admin/x"), url("/b/logout"), url("/c?token=1"), url("/d")),
        }

    exclude = ["/admin", "*logout*", "re:[?&]token="]
    seen = discover(make, exclude=exclude)
    assert seen.kept == ["/", "/d"]
    assert seen.discovery.filtered == {("excluded", each, 0): 1 for each in exclude}
    seen = discover(make, exclude=["/s.txt"])
    assert seen.paths == ["/robots.txt", "/"]
    assert seen.discovery.sitemaps[0].status == "blocked: disallowed: excluded: /s.txt"


def test_inclusions_leave_out_the_rest() -> None:
    """What matches none of them is told as such."""
    seen = discover(
        lambda _: {"/docs/": html("/docs/a", "/docs/drafts/b", "/shop")},
        "links",
        "/docs/",
        include=["/docs/"],
        exclude=["/docs/drafts"],
    )
    assert seen.kept == ["/docs/", "/docs/a"]
    assert seen.discovery.filtered == {
        ("excluded", "/docs/drafts", 0): 1,
        ("excluded", "not included", 0): 1,
    }


def test_the_first_page_need_not_be_included() -> None:
    """Its links are needed, as in a crawl; it is not among what is to be fetched."""
    seen = discover(
        lambda _: {"/": html("/p/1", "/p/2", "/shop")}, "links", "/", include=["/p/"], link_depth=2
    )
    assert seen.kept == ["/p/1", "/p/2"]
    assert seen.paths == ["/robots.txt", "/", "/p/1", "/p/2"]
    assert seen.discovery.filtered == {("excluded", "not included", 0): 2}


@pytest.mark.parametrize(
    ("path", "reason", "rule"),
    [
        ("/a/b/a/b/a", "trap: repeated-segment", "trap_repeats = 3"),
        ("/" + "x" * 2000, "trap: too-long", "trap_length = 2000"),
        ("/" + "/".join(map(chr, range(97, 118))), "trap: too-deep", "trap_segments = 20"),
        ("/calendar/2031/05", "trap: too-many-alike", "trap_alike = 4"),
    ],
)
def test_traps_are_out_each_with_its_reason(path: str, reason: str, rule: str) -> None:
    """And its number, which is a setting."""

    def make(_: Url) -> Pages:
        days = [f"/calendar/2031/0{month}" for month in range(1, 5)]
        return {"/": html(*days, path)}

    seen = discover(make, "links", trap_alike=4)
    assert len(seen.kept) == 5
    assert (seen.about(path).reason, seen.about(path).rule) == (reason, rule)
    changes: Any = {"trap_repeats": 4, "trap_length": 3000, "trap_segments": 30, "trap_alike": 9}
    assert len(discover(make, "links", **changes).kept) == 6


def test_of_too_many_the_best_are_kept() -> None:
    """Best priority first, then first found; those over the cap are told, too."""

    def make(url: Url) -> Pages:
        entries = [("/low", 0.1), ("/first", 0.5), ("/high", 0.9), ("/second", 0.5)]
        made = urlset(*((url(path), priority) for path, priority in entries), url("/unsaid"))
        return {"/sitemap.xml": page(made)}

    assert discover(make, "sitemap").kept == ["/high", "/first", "/second", "/unsaid", "/low"]
    seen = discover(make, "sitemap", max_urls=3)
    assert seen.kept == ["/high", "/first", "/second"]
    assert seen.fates["/low"] == seen.fates["/unsaid"] == "over-cap"
    assert seen.discovery.filtered == {("over-cap", "max_urls = 3", 0): 2}
    assert seen.discovery.allowed == {"sitemap": 5}
    assert not seen.discovery.is_cut


# Limits.


def test_no_more_urls_are_looked_at_than_is_set() -> None:
    """Those that are known already do not count again."""

    def make(url: Url) -> Pages:
        sitemap = urlset(url("/1"), url("/1"), url("/2"), url("/3"))
        return {
            "/sitemap.xml": page(sitemap),
            "/": html('<a rel="nofollow" href="/n">x</a>', "/1", "/4"),
        }

    seen = discover(make, max_discovered=4)
    assert seen.kept == ["/", "/1", "/2", "/3"]
    assert seen.discovery.is_cut
    assert seen.discovery.found == {"start": 1, "sitemap": 3, "link": 1}
    assert not discover(make, max_discovered=6).discovery.is_cut


def test_no_more_sitemaps_are_read_than_is_set() -> None:
    """However many an index names."""

    def make(url: Url) -> Pages:
        leaves = {f"/{n}.txt": text(url(f"/p{n}")) for n in range(5)}
        named = index(*(url(f"/{n % 5}.txt?{n}") for n in range(40_000)))
        return {"/sitemap.xml": page(named), **leaves}

    seen = discover(make, "sitemap", max_sitemaps=4)
    assert len(seen.paths) == 5
    assert seen.kept == ["/p0", "/p1", "/p2"]
    assert seen.discovery.is_cut


def test_more_entries_than_a_sitemap_may_have() -> None:
    """The rest is not looked at, which is told; others have their turn meanwhile."""
    turns = 0

    async def during(discovery: Discovery, client: AsyncClient) -> None:
        nonlocal turns

        async def others() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        beside = asyncio.create_task(others())
        await discovery.run(start)
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        assert client.budget is None

    start = ""

    def make(url: Url) -> Pages:
        nonlocal start
        start = url()
        lines = (url(f"/{'abcdefgh'[n % 8]}{n // 8:x}z") for n in range(50_001))
        return {"/sitemap.xml": page("\n".join(lines).encode())}

    seen = discover(make, "sitemap", during=during, max_urls=10, trap_alike=100_000)
    assert seen.sitemaps["/sitemap.xml"][1:] == (50_000, ["too-many-entries"])
    assert seen.discovery.is_cut
    assert seen.discovery.allowed == {"sitemap": 50_000}
    assert turns > 50  # one for each thousand entries


def test_sitemaps_cost_nothing_of_a_budget_and_pages_do() -> None:
    """When no page is left, no more links are read; what was found counts."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /no", *(f"Sitemap: {url(f'/{n}.txt')}" for n in "12")),
            "/1.txt": text(url("/a")),
            "/2.txt": text(url("/b")),
            "/": html("/no", "/c", "/d", "/e"),
            "/c": html("/f"),
        }

    budget = Budget(pages=2, minutes=None)
    seen = discover(make, link_depth=2, client={"budget": budget})
    assert budget.pages_used == 2
    assert seen.paths == ["/robots.txt", "/1.txt", "/2.txt", "/", "/c"]
    assert seen.kept == ["/", "/a", "/b", "/c", "/d", "/e", "/f"]
    assert seen.discovery.is_cut


def test_a_page_with_more_links_than_are_read() -> None:
    """Or longer than what is read of a page."""
    links = [f"/{chr(97 + n % 26)}{n}x" for n in range(200)]
    seen = discover(lambda _: {"/": html(*links)}, "links", page_max_bytes=1000)
    assert seen.discovery.is_cut
    assert 1 < len(seen.kept) < 200


# Politeness.


class Noting(MemoryBackend):
    """Writes down when each slot was taken, and how many were at a time."""

    def __init__(self, concurrency: int = 2) -> None:
        super().__init__(concurrency)
        self.starts: list[float] = []
        self.most = self._held = 0

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        now = time.time() if now is None else now
        taken = await super().take(host, now, delay)
        if isinstance(taken, Lease):
            self.starts.append(now)
            self._held += 1
            self.most = max(self.most, self._held)
        return taken

    async def release(self, lease: Lease) -> None:
        self._held -= 1
        await super().release(lease)


@pytest.mark.parametrize(
    ("line", "delay"), [("Allow: /", 0.1), ("Crawl-delay: 0.2", 0.2)], ids=["set", "asked for"]
)
def test_sitemaps_wait_their_turn(line: str, delay: float) -> None:
    """Every request has a slot, as far from the one before as is set, or as the site asks for."""

    def make(url: Url) -> Pages:
        leaves = {f"/{n}.txt": slow(0.02, url(f"/p{n}").encode()) for n in range(4)}
        return {
            "/robots.txt": rules(line),
            "/sitemap.xml": page(index(*(url(f"/{n}.txt") for n in range(4)))),
            **leaves,
        }

    slots = Noting()
    seen = discover(make, min_delay=0.1, max_delay=0.1, client={"politeness": slots})
    assert len(slots.starts) == len(seen.log) == 7
    assert slots.most == 1
    gaps = [later - earlier for earlier, later in pairwise(slots.starts)]
    assert min(gaps) > delay - 1e-6


def test_one_slot_is_enough() -> None:
    """A sitemap holds none while the robots.txt of another port of its host is asked for."""

    def make(url: Url) -> Pages:
        return {"/sitemap.xml": page(urlset(url("/a"), "http://127.0.0.1:1/b"))}

    seen = discover(make, "sitemap", concurrency=1, slot_timeout=0.2)
    assert seen.fates == {"/a": "", "http://127.0.0.1:1/b": "unreachable"}
    assert not seen.discovery.is_undecided


def test_a_host_that_wants_to_be_left_alone_leaves_what_was_found() -> None:
    """It is told until when; the rest is not asked for."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Sitemap: /1.xml", "Sitemap: /2.xml", "Sitemap: /3.xml"),
            "/1.xml": page(urlset(url("/a"), url("/b"))),
            "/2.xml": page(status=429, headers=[("Retry-After", "1000")]),
        }

    seen = discover(make)
    assert seen.paths == ["/robots.txt", "/1.xml", "/2.xml"]
    assert seen.kept == ["/", "/a", "/b"]
    assert [each.reason for each in seen.told] == ["", "", ""]
    one, two, three = (each.status for each in seen.discovery.sitemaps)
    assert (one, two) == ("200", "429")
    assert three.startswith("127.0.0.1 is deferred until 20")
    (tried,) = seen.discovery.pages
    assert tried.status.startswith("127.0.0.1 is deferred until 20")
    assert seen.discovery.is_undecided


def test_a_url_whose_robots_txt_may_not_be_asked_yet_is_undecided() -> None:
    """Another port of a host that is to be left alone; the others are settled."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Crawl-delay: 1000"),
            "/sitemap.xml": page(urlset("http://127.0.0.1:1/x", url("/a"))),
        }

    seen = discover(make, "sitemap")
    assert seen.fates == {"http://127.0.0.1:1/x": "undecided", "/a": ""}
    assert seen.about("http://127.0.0.1:1/x").rule == HERE


def test_a_slot_that_does_not_come_leaves_what_was_found() -> None:
    """Sitemaps and pages are told as not had."""

    async def during(discovery: Discovery, client: AsyncClient) -> None:
        async with client.stream(start.replace("start", "held")):
            await discovery.run(start)

    start = ""

    def make(url: Url) -> Pages:
        nonlocal start
        start = url("/start")
        return {"/held": stalls}

    seen = discover(make, during=during, concurrency=1, slot_timeout=0.1)
    said = "Timeout waiting for host concurrency slot: 127.0.0.1"
    assert seen.sitemaps["/sitemap.xml"][0] == said
    assert [each.status for each in seen.discovery.pages] == [said]
    assert seen.kept == ["/start"]
    assert seen.discovery.is_undecided


# Ending early.


@pytest.mark.parametrize("where", ["/hangs.xml", "/"])
def test_cancelling_in_the_middle_keeps_what_was_found(where: str) -> None:
    """Every URL is told, connections are closed, the slot is free."""
    start = ""

    async def during(discovery: Discovery, client: AsyncClient) -> None:
        await interrupted(discovery.run(start), lambda: asked)
        assert (await client.get(start + "free")).status == 404

    asked: list[str] = []

    async def hangs(call: Call) -> None:
        asked.append((await call.request()).path)
        await stalls(call)

    def make(url: Url) -> Pages:
        nonlocal start
        start = url()
        return {
            "/robots.txt": rules("Disallow: /no", "Sitemap: /1.xml", "Sitemap: /hangs.xml"),
            "/1.xml": page(urlset(url("/a"), url("/no"))),
            "/": html("/never"),
            where: hangs,
        }

    seen = discover(make, during=during, concurrency=1)
    assert seen.fates == {"/no": "rule-matched", "/": "", "/a": ""}


@pytest.mark.parametrize("asked", ["/robots.txt", "/sitemap.xml", "/"])
def test_a_store_that_fails_ends_it(tmp_path: Path, asked: str) -> None:
    """Whenever it does: what cannot be written down is not found."""
    place = tmp_path / "found.db"

    async def fails(call: Call) -> None:
        execute(str(place), "ALTER TABLE urls RENAME TO away")
        await html("/a")(call)

    async def main() -> None:
        pages = {"/robots.txt": rules(), "/": html("/a"), asked: fails}
        async with Site(by_path(pages)) as site, asking() as client:
            with Store(place) as store, pytest.raises(StoreError):
                await Discovery(client, store=store).run(site.url())

    run(main)


def test_a_start_that_is_a_sitemap_is_read_as_one() -> None:
    """It is no page, and is asked for once."""
    seen = discover(lambda url: {"/sitemap.xml": page(urlset(url("/a")))}, start="/sitemap.xml")
    assert seen.paths == ["/robots.txt", "/sitemap.xml"]
    assert seen.kept == ["/a"]


def test_a_start_that_is_no_url() -> None:
    """Nothing is asked for."""

    async def main() -> None:
        async with asking() as client:
            with pytest.raises(InvalidURL):
                await Discovery(client).run("mailto:x")

    run(main)


def test_a_site_that_cannot_be_reached_is_closed() -> None:
    """By the profile; nothing but its robots.txt is asked for."""
    seen = discover(lambda _: {"/robots.txt": page(status=503)})
    assert seen.paths == ["/robots.txt"]
    assert seen.kept == []
    assert seen.fates == {"/": "unreachable"}
    assert seen.discovery.robots is not None
    assert str(seen.discovery.robots.reason) == "unreachable"


# Evidence.


def test_everything_that_was_asked_for_has_a_record(tmp_path: Path) -> None:
    """Sitemaps and pages, allowed or not; what was only found has none."""

    def make(url: Url) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /no", "Sitemap: /no.xml", "Sitemap: /s.xml"),
            "/s.xml": page(urlset(url("/a"), url("/no/b"))),
            "/": html("/c"),
        }

    place = tmp_path / "proof.db"
    seen = discover(make, client={"evidence": place})
    with EvidenceStore(place) as store:
        records = [(each.metadata["url"], each.type) for each in store.records()]
    assert records == [
        (f"{seen.base}/no.xml", "blocked_by_robots"),
        (f"{seen.base}/s.xml", "robots_allowed"),
        (f"{seen.base}/", "robots_allowed"),
    ]


def test_progress_is_told_on_the_way() -> None:
    """After each sitemap and each page, and at the end."""
    counts: list[tuple[int, int, int]] = []

    async def main() -> None:
        async with Site(by_path({})) as site, asking() as client:
            site.answer = by_path(
                {
                    "/robots.txt": rules("Sitemap: /1.txt", "Sitemap: /2.txt"),
                    "/1.txt": text(site.url(path="/a")),
                    "/2.txt": text(site.url(path="/b")),
                    "/": html("/c"),
                }
            )

            def note(its: Discovery) -> None:
                counts.append((its.found.total(), len(its.sitemaps), len(its.pages)))

            await Discovery(client, progress=note).run(site.url())

    run(main)
    assert counts == [(2, 1, 0), (3, 2, 0), (4, 2, 1), (4, 2, 1)]


def test_a_hostile_site_stays_within_bounds() -> None:
    """Rules and URLs without end are cut or out, and told all the same."""

    def make(url: Url) -> Pages:
        hostile = [f'<a href="{href}">x</a>' for href in HOSTILE]
        robots = b"User-agent: *\nDisallow: /x" + b"%E9" * 3000 + b"\nDisallow: /x\x1b[2J\xff\n"
        return {
            "/robots.txt": page(robots + b"Disallow: /" + b"y*" * 5000),
            "/sitemap.xml": page(urlset(url("/x%1b[2J%ff/1"), url("/" + "y" * 1900))),
            "/": html(*hostile),
        }

    seen: Seen = discover(make)
    assert all(each.url.isascii() and each.url.isprintable() for each in seen.told)
    assert all(len(each.rule) <= 501 for each in seen.told)
    assert seen.discovery.filtered[("trap: too-long", "trap_length = 2000", 0)] == 1


HOSTILE: list[Any] = [
    "/\x1b]0;x\x07",
    "/\u202egpj.exe",
    "//user:secret@127.0.0.1/",
    "javascript:alert(1)",
    "http://[::1",
    "http:///",
    "/" + "z" * 10_000,
    "/" + "z" * 20_000,
    "/%00%ff",
]


def test_inclusions_are_about_pages_not_about_sitemaps() -> None:
    """A sitemap need not be included for what it names to be."""

    def make(url: Url) -> Pages:
        return {"/sitemap.xml": page(urlset(url("/docs/a"), url("/b")))}

    seen = discover(make, "sitemap", include=["/docs/"])
    assert seen.paths == ["/robots.txt", "/sitemap.xml"]
    assert seen.kept == ["/docs/a"]
    assert discover(make, "sitemap", exclude=["/sitemap"]).paths == ["/robots.txt"]


def test_what_a_sitemap_lists_is_no_trap_by_its_number() -> None:
    """A shop has as many pages as it says; links without end are another thing."""

    def make(url: Url) -> Pages:
        listed = page(urlset(*(url(f"/p/{number}") for number in range(5))))
        return {"/sitemap.xml": listed, "/": html(*(f"/q/{number}" for number in range(5)))}

    seen = discover(make, trap_alike=3)
    assert seen.discovery.allowed["sitemap"] == 5
    assert seen.discovery.filtered["trap: too-many-alike", "trap_alike = 3", 0] == 2


def test_a_site_that_redirects_to_another_host_lives_there() -> None:
    """As from example.com to www.example.com: its robots.txt tells, or its first page."""

    def elsewhere(site: Site) -> Handler:
        there = site.url("127.0.0.2", "")
        return by_path(
            {
                "/robots.txt": rules("Disallow: /closed"),
                "/sitemap.xml": page(urlset(f"{there}/a", f"{there}/closed")),
                "/": html("/l", "/closed/l"),
            }
        )

    def make(url: Url) -> Pages:
        return {path: to(url(path, "127.0.0.2")) for path in ("/robots.txt", "/sitemap.xml", "/")}

    seen = discover(make, otherwise=elsewhere)
    assert sorted(each.rpartition("/")[2] for each in seen.kept) == ["", "a", "l"]
    assert seen.discovery.filtered["rule-matched", "Disallow: /closed", 2] == 2


def test_sitemaps_that_are_not_read_take_no_memory() -> None:
    """An index may name fifty thousand of them; few are read, and only these are remembered."""
    clock = Clock()
    sitemap = "<sitemap><loc>https://example.com/{}.xml</loc></sitemap>"
    names = "".join(map(sitemap.format, range(5_000)))
    replies = {
        "https://example.com/robots.txt": "Sitemap: /index.xml",
        "https://example.com/index.xml": f"<sitemapindex>{names}</sitemapindex>",
        "https://example.com/": "the last page",
    }
    sizes: list[int] = []

    def measure(discovery: Discovery) -> None:
        if not discovery.pages:  # the sitemaps are not read yet
            return
        snapshot = tracemalloc.take_snapshot()
        traces = snapshot.filter_traces([tracemalloc.Filter(True, scout.__file__)])
        sizes.append(sum(trace.size for trace in traces.traces))

    async def main() -> None:
        http = ScriptedSender(replies, clock, default="<urlset></urlset>")
        async with AsyncClient("x", http=http, clock=clock, max_sitemaps=3) as client:
            await Discovery(client, progress=measure, clock=clock).run("https://example.com/")

    tracemalloc.start()
    try:
        skipping(main(), clock)
    finally:
        tracemalloc.stop()
    assert 0 < sizes[0] < 20_000
