"""A crawl fetches exactly what is open and linked, and no host sees more of it than it should.

The hosts are made from a seed, so that what has to become of every URL is known without any part of
this package: see `generated`. What was asked for is what the server's log says.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import Page, Settings
from tests.client.asking import AT_ONCE, run
from tests.crawler.generated import AGENT, Spec, Truth, truth
from tests.crawler.generated_crawl import (
    SETTINGS,
    Crawl,
    check,
    check_requests,
    check_store,
    stored,
)
from tests.crawler.generated_server import Server
from tests.sizes import size

SMALL = Spec(seed=2, hosts=10, pages=500, crawl_delay=0.5)
QUICK = {"min_delay": 0.06, "max_delay": 0.07}


PAGES = size("CRAWL_PAGES")


@pytest.mark.long
def test_exactly_what_is_open_and_reachable_is_fetched(tmp_path: Path) -> None:
    """20 hosts: every URL has its fate, no closed one is asked for, none twice, and it ends."""
    spec, seconds = Spec(seed=1, hosts=20, pages=PAGES), 180 + PAGES / 10
    with Server(spec) as server:
        site = server.site
        assert site.size >= spec.pages
        crawl = Crawl(tmp_path, site.starts)
        crawl.run(seconds)
        told = truth(site, site.starts)
        log = check(server, crawl, told)
    assert {200, 301, 404, 429, 500, 503} <= {visit.status for visit in log.visits}
    asked = {visit.host for visit in log.visits}
    strangers = {host.address for host in site.hosts.values() if host.role == "stranger"}
    assert asked.isdisjoint(strangers)
    assert all(len(robots_of(log.at(host))) == 1 for host in asked)
    for host in site.hosts.values():
        if host.role in ("away", "shut"):  # where nothing is open, nothing is asked for
            assert [visit.path for visit in log.at(host.address)] == ["/robots.txt"]


def robots_of(visits: list[Any]) -> list[Any]:
    return [visit for visit in visits if visit.path == "/robots.txt"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(SMALL) as made:
        yield made


@pytest.fixture(autouse=True)
def forget(request: pytest.FixtureRequest) -> None:
    if "server" in request.fixturenames:
        request.getfixturevalue("server").forget()


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_depth_is_the_shortest_way(tmp_path: Path, server: Server, depth: int) -> None:
    """A URL is too deep only if every way to it is too long, whichever was found first."""
    site = server.site
    crawl = Crawl(tmp_path, site.starts, "--depth", str(depth), **QUICK)
    crawl.run()
    told = truth(site, site.starts, max_depth=depth)
    check(server, crawl, told)
    rows = stored(crawl.store).pages
    fetched = {url: fate.depth for url, fate in told.pages.items() if fate.state != "blocked"}
    assert {url: rows[url].depth for url in fetched} == fetched


def test_other_hosts_are_crawled_where_they_are_wanted(tmp_path: Path, server: Server) -> None:
    """From one page, over all hosts that links lead to; without `drop_tracking`, by every URL."""
    site, options = server.site, ("--no-same-domain", "--source", "links")
    starts = site.starts[:1]
    crawl = Crawl(tmp_path, starts, *options, **QUICK, drop_tracking=False)
    crawl.run()
    told = truth(site, starts, same_domain=False, source="links", drop_tracking=False)
    log = check(server, crawl, told)
    assert log.hosts == set(site.hosts)  # the strangers, too
    assert any("utm_source" in url for url in log.requests)


def test_sitemaps_are_enough_where_they_are_to_be(tmp_path: Path, server: Server) -> None:
    """What only links lead to is not found, nor is the first page."""
    site = server.site
    crawl = Crawl(tmp_path, site.starts, "--source", "sitemap", **QUICK)
    crawl.run()
    check(server, crawl, truth(site, site.starts, source="sitemap"))


# In a program.


def settings(folder: Path, **changes: Any) -> Settings:
    chosen = {**SETTINGS, **QUICK, **changes}
    chosen |= {"agent": AGENT, "allow_private": True}
    return Settings(store=str(folder / "store.db"), **chosen)


def check_pages(told: Truth, pages: Iterable[Page]) -> None:
    """Whoever asks for pages gets each once, with its status."""
    seen = [(page.url, page.status) for page in pages if page.was_allowed]
    wanted = [(url, told.pages[url].status) for url in told.requests if url in told.pages]
    assert sorted(seen, key=str) == sorted(wanted, key=str)


def test_a_program_gets_every_page_of_a_host(tmp_path: Path, server: Server) -> None:
    """With `async for`; no other host is asked for anything, not even for its robots.txt."""
    starts = server.site.starts[:1]

    async def work() -> Sequence[Page]:
        return [page async for page in manners.crawl(starts, settings(tmp_path))]

    pages, told, log = run(work), truth(server.site, starts), server.log()
    check_pages(told, pages)
    check_store(told, stored(tmp_path / "store.db"))
    check_requests(told, log)
    assert log.hosts == {server.site.host(starts[0]).address}


def test_a_crawl_in_small_parts_comes_to_the_same(tmp_path: Path, server: Server) -> None:
    """With `for`: a small budget ends it, to the page, and a larger one lets it go on."""
    starts, chosen = server.site.starts, settings(tmp_path, **AT_ONCE)
    told = truth(server.site, starts)

    def spent() -> int:
        asked = [each for each in server.log().visits if not 300 <= each.status < 400]
        return sum(each.url in told.pages for each in asked)

    crawl = manners.crawl(starts, chosen.but(max_pages=20))
    fetched, parts = list(crawl), 1
    while crawl.ended != "finished":
        assert spent() == 20 * parts, crawl.ended
        parts += 1
        crawl = manners.crawl([], chosen.but(max_pages=20 * parts), resume=True)
        fetched += crawl
    assert parts > 5
    check_store(told, stored(tmp_path / "store.db"))
    check_requests(told, server.log())
    check_pages(told, fetched)
