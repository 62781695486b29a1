"""Crawls that are gone on with: what they still know, and what is asked for once more."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

import manners
from manners.crawler.crawl import crawl
from manners.crawler.fleet_values import FINISHED
from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from manners.politeness.backends.memory import MemoryBackend
from tests.client.asking import OPEN, rules, settings, slow
from tests.crawler.ran import OTHER, QUICK, Pages, Ran, chain, fan, visiting
from tests.crawler.site import html, urlset
from tests.faults.server import Call, page


@contextmanager
def listening(target: Any, name: str, listener: Callable[..., None]) -> Iterator[None]:
    """Have a function called for each event, for a while."""
    event.listen(target, name, listener)
    try:
        yield
    finally:
        event.remove(target, name, listener)


def test_a_program_goes_on_as_the_crawl_was_told(place: str) -> None:
    """Without settings those count that it began with, but for what is said now."""

    async def work(ran: Ran) -> None:
        told = settings(**QUICK, exclude=("/2",), max_pages=3, source="links")
        begun = manners.crawl([ran.url("/")], told, agent="MyBot/1.0", store=place)
        assert len([each async for each in begun]) == 3
        on = manners.crawl([], store=place, resume=True, max_pages=100)
        assert on.settings == told.but(agent="MyBot/1.0", store=place, max_pages=100)
        assert on.settings.exclude == ("/2",)
        assert len([each async for each in on]) == 3  # two more, and one that is excluded
        assert ran.states["/2"] == ("blocked", "excluded")
        with EvidenceStore(place) as store:
            agents = {record.metadata["agent"] for record in store.records()}
        assert agents == {"MyBot/1.0"}

    visiting(work, lambda _: fan(5), place)


def test_a_program_works_on_the_crawl_that_waits_as_it_was_told(place: str) -> None:
    """Which was begun before another one, with other settings, that has ended by now."""

    async def work(ran: Ran) -> None:
        told = settings(**QUICK, max_pages=3, source="links")
        waiting = manners.crawl([ran.url("/")], told, agent="First/1.0", store=place)
        first = await asyncio.to_thread(waiting.start)
        ended = manners.crawl([ran.url("/")], told, agent="Second/1.0", store=place, max_pages=1)
        assert len([each async for each in ended]) == 1
        on = manners.crawl([], store=place, work=True)
        assert len([each async for each in on]) == 3
        assert (on.number, on.settings.agent) == (first, "First/1.0")

    visiting(work, lambda _: fan(5), place)


def test_the_urls_of_a_crawl_are_read_before_its_lease_begins(place: str) -> None:
    """There may be so many that others would close a worker that reads them within its lease."""
    statements: list[str] = []

    def note(*args: Any) -> None:
        statements.append(args[2])

    async def work(ran: Ran) -> None:
        await ran.go(source="links", max_pages=2)
        with listening(Engine, "before_cursor_execute", note):
            await ran.go(resume=True, source="links")
        starts, joins = (
            next(place for place, each in enumerate(statements) if part in each)
            for part in ("urls.source =", "INSERT INTO workers")
        )
        assert starts < joins
        assert not any("urls.source =" in each for each in statements[joins:])

    visiting(work, lambda _: chain(5), place)


def test_settings_that_are_given_are_those(place: str) -> None:
    async def work(ran: Ran) -> None:
        await ran.go(source="links", max_pages=1, exclude=("/2",))
        its = settings(**QUICK, store=place)
        assert manners.crawl([], its, resume=True).settings == its

    visiting(work, lambda _: fan(3), place)


def test_other_settings_decide_once_more(place: str) -> None:
    """What was excluded, or disallowed to somebody else, on another host, or named by nothing."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /1", "User-agent: Other", "Allow: /"),
            "/": html("/1", "/2", url("/x", OTHER)),
            **{f"/{n}": html() for n in (1, 2)},
            f"{OTHER}/x": html(),
        }

    async def work(ran: Ran) -> None:
        await ran.go(source="links", exclude=("/2",))
        blocked = {
            "/1": ("blocked", "rule-matched"),
            "/2": ("blocked", "excluded"),
            f"{OTHER}/x": ("blocked", "other-host"),
        }
        assert ran.states == {"/": ("done", ""), **blocked}
        with EvidenceStore(place) as store:
            number = store.head().number
        await ran.go(resume=True, source="links", exclude=("/2",))
        assert ran.states == {"/": ("done", ""), **blocked}
        with EvidenceStore(place) as store:
            assert store.head().number == number  # the same settings: nothing to decide
        await ran.go(resume=True, source="links")
        assert ran.states == {"/": ("done", ""), **blocked, "/2": ("done", "")}
        await ran.go(resume=True, source="links", user_agent="Other", same_domain=False)
        assert ran.states[f"{OTHER}/x"] == ("done", "")

    visiting(work, make, place)


def test_a_start_that_only_sitemaps_counted_for(place: str) -> None:
    """Where links count as well from now on, so does where it began."""

    async def work(ran: Ran) -> None:
        await ran.go(source="sitemap")
        assert ran.states == {"/": ("blocked", "not-named")}
        await ran.go(resume=True)
        assert ran.states == dict.fromkeys(("/", "/0", "/1"), ("done", ""))

    visiting(work, lambda _: fan(2), place)


def test_sitemaps_of_a_robots_txt_that_cannot_be_had(place: str) -> None:
    """Nobody knows of them; whoever goes on asks for them."""
    is_back: list[bool] = []

    def make(url: Callable[..., str]) -> Pages:
        there = rules(f"Sitemap: {url('/map.xml')}")

        async def robots(call: Call) -> None:
            await (there if is_back else page(status=503))(call)

        return {"/robots.txt": robots, "/map.xml": page(urlset(url("/a"))), "/a": html()}

    async def work(ran: Ran) -> None:
        await ran.go(source="sitemap")
        assert ran.states == {"/": ("blocked", "unreachable")}
        assert ran.asked == []
        is_back.append(True)
        await ran.go(resume=True, source="sitemap")
        assert ran.states == {"/": ("blocked", "not-named"), "/a": ("done", "")}

    visiting(work, make, place)


def test_any_crawl_of_a_store_is_resumed_by_its_number(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Another crawl in the same store leaves an unfinished one as it is."""

    async def work(ran: Ran) -> None:
        await ran.go("/0", source="links", max_pages=2)
        await ran.go("/0", source="links")
        assert (ran.crawl.number, ran.crawl.ended) == (2, FINISHED)
        before = len(ran.asked)
        await ran.go(resume=1, source="links")
        assert (ran.crawl.number, ran.crawl.ended) == (1, FINISHED)
        assert ran.asked[before:] == ["/2", "/3", "/4"]
        with pytest.raises(StoreError, match="there is no crawl 3 in it"):
            await ran.go(resume=3, source="links")

    visiting(work, lambda _: chain(5), place)
    assert "crawl 1" not in caplog.text


@pytest.mark.parametrize("name", ["resume", "work"])
@pytest.mark.parametrize("wrong", [-1, 0, "1", 1.0])
def test_a_number_that_is_none_is_refused(place: str, name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be True or the number of a crawl"):
        crawl([], store=place, **{name: wrong})


def test_a_host_that_comes_up_late_is_left_alone_too(place: str) -> None:
    """Nothing was left to ask of it when the crawl went on; then a page of another names more."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            f"{OTHER}/robots.txt": rules("Crawl-delay: 1"),
            f"{OTHER}/": html(),
            "/": html("/1"),
            "/1": html(url("/x", OTHER)),
            f"{OTHER}/x": html(),
        }

    async def work(ran: Ran) -> None:
        await ran.go(f"{OTHER}/", source="links")
        began = time.monotonic()
        await ran.go("/", resume=True, source="links")
        assert ran.states[f"{OTHER}/x"] == ("done", "")
        seen = [each for each in ran.site.log if each.address == OTHER]
        last = max(each.at for each in seen if each.at < began)
        assert min(each.at for each in seen if each.at > began) - last >= 1.0 - 0.02

    visiting(work, make, place)


# What comes before what.


def test_what_turns_out_to_be_important_comes_soon(place: str) -> None:
    """Few are leased ahead where a host is slow: a sitemap that takes its time still counts."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            **fan(60),
            "/robots.txt": rules(f"Sitemap: {url('/map.xml')}"),
            "/map.xml": slow(0.6, urlset((url("/best"), 1.0))),
            "/best": html(),
        }

    async def work(ran: Ran) -> None:
        await ran.go(min_delay=0.1, max_delay=0.1, max_pages=40)
        assert ran.states["/best"] == ("done", "")

    visiting(work, make, place)


# What is told.


def test_a_redirect_is_no_failure(place: str) -> None:
    async def work(ran: Ran) -> None:
        await ran.go("/old", source="links")
        old = ran.page("/old")
        assert (old.state, old.reason, old.cause) == ("done", "redirect", "")
        assert old.to_dict()["cause"] == ""

    pages = {"/old": page(status=302, headers=[("Location", "/0")]), **chain(1)}
    visiting(work, lambda _: pages, place)


def test_links_beyond_what_is_read_of_a_page(place: str) -> None:
    async def work(ran: Ran) -> None:
        await ran.go(source="links", max_pages=1)
        assert ran.crawl.is_cut

    links = "".join(f"<a href=/{n}>" for n in range(10_001))
    visiting(work, lambda _: {"/": html(head=links)}, place)


def test_slots_that_others_have_are_told_of(
    place: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, until something is answered."""
    monkeypatch.setattr("manners.crawler.run.RETRY_SECONDS", 0.05)

    async def work(ran: Ran) -> None:
        await ran.go(source="links", slot_timeout=0.05, max_minutes=0.01)

    async def all_taken(*_: object) -> float:
        return time.time() + 300.0

    monkeypatch.setattr(MemoryBackend, "take", all_taken)
    visiting(work, lambda _: {"/robots.txt": OPEN, **chain(2)}, place)
    said = [each.getMessage() for each in caplog.records]
    assert said.count("Timeout waiting for host concurrency slot: 127.0.0.1") == 1
