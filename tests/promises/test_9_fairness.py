"""One expensive, hanging or greedy host takes neither the loop nor the room of the others."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from manners.crawler import links as reading
from manners.crawler import results
from manners.crawler.fleet import FINISHED
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import Change, FetchResult, FoundUrl
from manners.crawler.heavy import SLICE
from manners.crawler.links import Links
from manners.crawler.links import extract as extracted
from manners.crawler.reasons import NO_ROOM
from manners.crawler.status import status_of
from manners.evidence.store import EvidenceStore
from manners.sitemaps import SitemapParser
from tests.client.asking import silence
from tests.crawler.ran import OTHER, Pages, Ran, chain, crawled, visiting
from tests.crawler.site import html, index, urlset
from tests.faults.server import Call, page


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Where the store of a crawl is to be."""
    return str(tmp_path / "crawl.db")


MANY = 1_200
"""Links of a page that is a large one."""


def many(name: str, number: int = MANY) -> list[str]:
    return [f"/{name}/{each}" for each in range(number)]


# The loop.


STATES = ("queued", "done", "failed", "blocked")


def known(frontier: Frontier) -> int:
    """How many pages and sitemaps the frontier has."""
    counted = frontier.counted()
    return sum(counted[kind, state] for kind in ("page", "sitemap") for state in STATES)


def test_links_of_a_large_page_are_read_beside_the_loop(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a small page are read in it: a thread would cost more."""
    threads: dict[int, int] = {}

    def extract(html: str, *more: Any, **options: Any) -> Links:
        found = extracted(html, *more, **options)
        threads[len(found.links)] = threading.get_ident()
        return found

    monkeypatch.setattr(reading, "extract", extract)

    async def work(ran: Ran) -> None:
        crawl = ran.begin(source="links", max_pages=2)
        async with aclosing(aiter(crawl)) as pages:
            assert [len(each.links) async for each in pages] == [1, MANY]
        assert threads[1] == threading.get_ident()
        assert threads[MANY] != threading.get_ident()

    visiting(work, lambda _: {"/": html("/big"), "/big": html(*many("a"))}, place)


def test_entries_of_a_large_sitemap_are_read_beside_the_loop(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is compressed."""
    threads: set[int] = set()
    feed = SitemapParser.feed

    def fed(self: SitemapParser, data: bytes) -> Any:
        threads.add(threading.get_ident())
        return feed(self, data)

    monkeypatch.setattr(SitemapParser, "feed", fed)

    async def work(ran: Ran) -> None:
        await ran.go(source="sitemap", max_pages=1, trap_alike=5_000)
        assert threads
        assert threading.get_ident() not in threads
        assert len(ran.rows) == 1 + 2 * MANY

    def make(url: Callable[..., str]) -> Pages:
        listed = [url(each) for each in many("a", 2 * MANY)]
        return {"/": html(), "/sitemap.xml": page(urlset(*listed))}

    visiting(work, make, place)


def test_what_a_large_page_leads_to_is_written_in_slices(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records of other hosts come between them, and the page is done after the last."""
    sizes: list[int] = []
    before: list[int] = []
    add, finish = Frontier.add, Frontier.finish

    async def adding(self: Frontier, named: Sequence[FoundUrl]) -> Change:
        sizes.append(len(named))
        return await add(self, named)

    async def finishing(self: Frontier, finished: FetchResult) -> Change:
        if finished.url.url.endswith("/big"):
            before.append(known(self))
        sizes.append(len(finished.found))
        return await finish(self, finished)

    monkeypatch.setattr(Frontier, "add", adding)
    monkeypatch.setattr(Frontier, "finish", finishing)
    make = {"/": html("/big"), "/big": html(*many("a"))}
    ran = crawled(lambda _: make, place, source="links", max_pages=2)
    assert max(sizes) <= SLICE
    assert len(ran.rows) == 2 + MANY
    assert 2 + MANY - SLICE <= before[0] < 2 + MANY


def test_a_large_page_is_asked_for_again_when_the_crawl_ends_between_its_slices(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as done only when all that it leads to is written, whenever the crawl ends."""
    add = Frontier.add

    async def work(ran: Ran) -> None:
        async def adding(self: Frontier, named: Sequence[FoundUrl]) -> Change:
            if len(named) == SLICE and known(self) > 2 * SLICE:
                ran.crawl.abort()
                await asyncio.Event().wait()
            return await add(self, named)

        with monkeypatch.context() as patched:
            patched.setattr(Frontier, "add", adding)
            await ran.go("/big", source="links", max_pages=1)
        assert ran.states["/big"] == ("queued", "")
        assert SLICE < len(ran.rows) < MANY
        await ran.go(resume=True, max_pages=2)
        assert ran.states["/big"] == ("done", "")
        assert len(ran.rows) == 1 + MANY
        assert ran.asked.count("/big") == 2

    visiting(work, lambda _: {"/big": html(*many("a"))}, place)


# Places.


def test_hosts_that_hang_leave_places_to_the_others(place: str) -> None:
    """A host that answers is done with all its pages before those that do not are given up."""
    hanging = [f"127.0.8.{each}/{path}" for each in range(1, 5) for path in "ab"]

    async def work(ran: Ran) -> None:
        crawl = ran.begin(*hanging, "/0", source="links", connections=8)
        async with aclosing(aiter(crawl)) as pages:
            found = [await anext(pages) for _ in range(20)]
        assert [ran.path(each.url) for each in found] == [f"/{each}" for each in range(20)]
        asked = [each for each in ran.asked if each in hanging]
        assert sorted(asked) == hanging[::2]  # one at a time, until they answer

    visiting(work, lambda _: chain(20) | dict.fromkeys(hanging, silence), place)


def test_huge_pages_that_nobody_reads_are_few(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their size, where they are not too many by their number."""
    monkeypatch.setattr(results, "MAX_BYTES", 10 * 20_000)
    pages = {f"/{n}": page(b"x" * 20_000) for n in range(50)}

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin(source="links", max_pages=1000))) as found:
            await anext(found)
            before = -1
            while before != len(ran.site.log):
                before = len(ran.site.log)
                await asyncio.sleep(0.5)
            assert len(ran.asked) <= 1 + 10 + 2 + 1
            assert len([each async for each in found]) == 50

    visiting(work, lambda _: {"/": html(*pages), **pages}, place)


# Room.


def behind(own: Pages, others: Pages, path: str) -> Pages:
    """Two hosts; one does not answer before the other, which is greedy, was asked for a page."""
    was_asked = asyncio.Event()

    async def asked(call: Call) -> None:
        was_asked.set()
        await others.get(path, html())(call)

    async def late(call: Call) -> None:
        await call.request()
        await was_asked.wait()
        await own[first](call)

    first = next(iter(own))
    return {**own, **others, first: late, path: asked}


def greedy(number: int) -> Pages:
    """Another host: its first page leads to so many, and each of them to as many again."""
    each = {f"{OTHER}/x/{n}": html(*many(f"x{n}", number)) for n in range(number)}
    return {f"{OTHER}/": html(*many("x", number)), **each}


async def until_done(ran: Ran, number: int, **changes: Any) -> None:
    """Crawl until so many pages are there of the host that is not greedy, and stop."""
    slow = {OTHER: {"delay": 0.2}}  # or it would be done before the other has begun
    crawl = ran.begin(f"{OTHER}/", "/0", source="links", hosts=slow, **changes)
    async for each in crawl:
        number -= ran.path(each.url).startswith("/")
        if not number:
            crawl.stop()


def test_a_host_that_names_very_many_leaves_room_to_the_others(place: str) -> None:
    """All of the other's 41 pages are fetched; what is dropped says so, and the counts add up."""

    async def work(ran: Ran) -> None:
        await until_done(ran, 41, max_discovered=90)
        own = {path: row.state for path, row in ran.rows.items() if path.startswith("/")}
        assert own == dict.fromkeys(chain(41), "done")
        dropped = [row for row in ran.rows.values() if row.reason == NO_ROOM]
        assert len(ran.rows) - len(dropped) == 90
        assert {(row.host, row.state, row.rule) for row in dropped} == {
            (OTHER, "blocked", "max_discovered = 90")
        }
        states = Counter(row.state for row in ran.rows.values())
        assert states == +ran.crawl.states
        with EvidenceStore(place) as store:
            found = status_of(store)
        assert found.states == states
        assert (NO_ROOM, len(dropped)) in [(each.reason, each.number) for each in found.blocked]
        assert ran.crawl.is_cut

    visiting(work, lambda _: behind(chain(41), greedy(100), f"{OTHER}/x/0"), place)


def test_each_host_has_its_share_of_the_room(place: str) -> None:
    """Also where another one has used up all of it, and nothing of that can be dropped."""
    others = {f"{OTHER}/": html(*many("x", 50))}
    pages = behind(chain(20), others, f"{OTHER}/x/37")  # the last there is room for
    ran = crawled(lambda _: pages, place, f"{OTHER}/", "/0", source="links", max_discovered=40)
    assert len([path for path in ran.seen if path.startswith("/")]) == 20
    assert ran.crawl.ended == FINISHED
    assert ran.crawl.is_cut


def test_a_host_that_names_very_many_sitemaps_leaves_room_to_the_others(place: str) -> None:
    """The sitemap of another, found when there is no room left, is read all the same."""

    def make(url: Callable[..., str]) -> Pages:
        listed = [url(f"/{each}.xml", OTHER) for each in range(30)]
        others = {f"{OTHER}/sitemap.xml": page(index(*listed))}
        own = {"/": html(), "/sitemap.xml": page(urlset(url("/named"))), "/named": html()}
        return behind(own, others, f"{OTHER}/2.xml")

    ran = crawled(make, place, f"{OTHER}/", "/", max_sitemaps=4)
    assert ran.states["/named"] == ("done", "")
    assert ran.crawl.is_cut
    assert len([path for path in ran.asked if path.endswith(".xml")]) <= 5


def test_what_was_dropped_is_asked_for_when_there_is_more_room(place: str) -> None:
    """A crawl that is resumed says that it is cut, and with another limit goes on."""

    async def work(ran: Ran) -> None:
        await until_done(ran, 12, max_discovered=30)
        dropped = {path for path, state in ran.states.items() if state == ("blocked", NO_ROOM)}
        assert dropped
        await ran.go(resume=True, source="links", max_discovered=30)
        assert ran.crawl.is_cut
        assert {ran.states[path] for path in dropped} == {("blocked", NO_ROOM)}
        await ran.go(resume=True, source="links", max_discovered=1_000)
        assert {ran.states[path] for path in dropped} == {("done", "")}

    others = {f"{OTHER}/": html(*many("x", 25))}
    visiting(work, lambda _: behind(chain(12), others, f"{OTHER}/x/0"), place)
