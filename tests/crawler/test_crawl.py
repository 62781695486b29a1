"""The crawl: sites on loopback, from the first URL to the reason why it ended."""

import asyncio
import gc
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import pytest

from manners._portal import portal
from manners.crawler import keeping, results
from manners.crawler.crawl import Crawl, crawl
from manners.crawler.fleet import Fleet
from manners.crawler.fleet_values import FINISHED, INTERRUPTED
from manners.crawler.frontier import crawls
from manners.crawler.holdings import Holdings
from manners.crawler.page import CrawledPage
from manners.crawler.run import CrawlRun
from manners.errors import InvalidURL, StoreError
from manners.evidence import store as evidence_store
from manners.evidence.store import EvidenceStore
from manners.politeness.budget import Budget
from tests.client.asking import OPEN, in_turn, rules, settings, silence, slow, to, until
from tests.contracts.postgres import Postgres
from tests.crawler.ran import (
    OTHER,
    THIRD,
    Make,
    Pages,
    Ran,
    chain,
    crawled,
    fan,
    of,
    served,
    visiting,
)
from tests.crawler.site import HTML, html, index, text, urlset
from tests.evidence.places import execute
from tests.faults.server import Call, Handler, Site, Visit, in_thread, page

ROOT = Path(__file__).parents[2]
SHOP = of(
    home=html("/a", "/private/x", "/gone", "/old", head="<title>Shop</title>"),
    a=html("/", "/b", "https://elsewhere.example/"),
    b=page(b"hello", headers=[("Content-Type", "text/plain")]),
    gone=page(status=410),
    old=to("/a"),
    **{"robots.txt": rules("Disallow: /private/")},
)
SHOP_STATES = {
    "/": ("done", ""),
    "/a": ("done", ""),
    "/b": ("done", ""),
    "/gone": ("done", ""),
    "/old": ("done", "redirect"),
    "/private/x": ("blocked", "rule-matched"),
    "https://elsewhere.example/": ("blocked", "other-host"),
}


# What comes of it.


def test_a_site_is_fetched_as_far_as_it_may_be(place: str) -> None:
    """Every page once, nothing that is disallowed, and everything known has its fate."""
    ran = crawled(SHOP, place)
    assert ran.states == SHOP_STATES
    assert sorted(ran.asked) == ["/", "/a", "/b", "/gone", "/old", "/sitemap.xml"]
    assert ran.crawl.ended == FINISHED
    assert not ran.crawl.is_cut
    assert dict(ran.crawl.states) | {"queued": 0, "leased": 0} == {
        "done": 5,
        "blocked": 2,
        "queued": 0,
        "leased": 0,
    }
    with EvidenceStore(place) as store:
        assert list(store.verify()) == []
        decided = {record.metadata["url"]: record.id for record in store.records()}
    for each in ran.pages:
        assert each.evidence_id == decided[each.url] == ran.rows[ran.path(each.url)].evidence


def test_what_is_known_of_a_page(place: str) -> None:
    """In the loop, in JSON, and in the store."""
    ran = crawled(SHOP, place)
    home, old, private = ran.page("/"), ran.page("/old"), ran.page("/private/x")
    assert (home.state, home.reason, home.status, home.title) == ("done", "", 200, "Shop")
    assert (home.depth, home.found_in, home.attempts, home.type) == (0, "", 1, "text/html")
    assert [ran.path(link.url) for link in home.links] == ["/a", "/private/x", "/gone", "/old"]
    assert (old.state, old.reason, old.status) == ("done", "redirect", 302)
    assert (old.location, old.attempts, old.found_in) == (ran.url("/a"), 0, ran.url("/"))
    assert (private.state, private.reason, private.status) == ("blocked", "rule-matched", None)
    assert not private.was_allowed
    told = json.loads(json.dumps(home.to_dict()))
    assert told["title"] == "Shop"
    assert told["links"] == [link.url for link in home.links]
    assert len(told["sha256"]) == 64
    assert private.to_dict()["sha256"] == ""
    assert old.to_dict()["location"] == ran.url("/a")
    with EvidenceStore(place) as store, store.reading() as connection:
        query = "SELECT url, pages.* FROM pages JOIN urls USING (crawl, digest)"
        rows = connection.exec_driver_sql(query).mappings()
        kept = {ran.path(row["url"]): dict(row) for row in rows}
    assert "/private/x" not in kept
    assert kept["/"]["title"] == "Shop"
    assert kept["/"]["sha256"] == home.sha256
    assert (kept["/"]["bytes"], kept["/"]["links"]) == (len(home.body), 4)
    assert kept["/"]["started"] == home.hops[0].started
    assert kept["/old"]["location"] == ran.url("/a")
    assert (kept["/b"]["type"], kept["/gone"]["status"]) == ("text/plain", 410)
    assert kept["/b"]["delay"] == 0.0


def test_every_page_is_in_the_store_before_it_is_seen(place: str) -> None:
    """With what it leads to."""

    async def work(ran: Ran) -> None:
        async for each in ran.begin():
            path, rows = ran.path(each.url), ran.rows
            assert rows[path].state == each.state
            for link in each.links:
                assert ran.path(link.url) in rows

    visiting(work, SHOP, place)


def test_the_same_pages_in_blocking_code(tmp_path: Path) -> None:
    """`for` instead of `async for`, by the short name."""
    pages: Pages = {}
    with in_thread(Site(served(pages))) as site:
        pages.update(SHOP(lambda path: site.url(path=path)))
        seen = {}
        its = settings(store=str(tmp_path / "a.db"))
        for each in crawl([site.url()], its, agent="MyBot", max_pages=50):
            seen[each.url.removeprefix(site.url(path=""))] = (each.state, each.reason)
        assert site.failures == []
    expected = {path: fate for path, fate in SHOP_STATES.items() if "://" not in path}
    assert seen == expected


def test_the_one_form_of_a_url_counts(place: str) -> None:
    """However it is written where the crawl begins, and without a password."""

    async def work(ran: Ran) -> None:
        start = ran.url("/a/../b#x").replace("//", "//me:secret@")
        await ran.go(start, ran.url("/b?"), drop_tracking=True)
        await ran.go("/b?utm_source=x&q=1", drop_tracking=True)

    ran = visiting(work, of(b=html()), place)
    assert sorted(ran.asked) == ["/b", "/b?q=1", "/sitemap.xml", "/sitemap.xml"]
    assert b"secret" not in Path(place).read_bytes()


# Where a crawl begins, and what is wrong with it.


def test_mistakes_are_noticed_at_once(tmp_path: Path) -> None:
    """Before anything is made."""
    with pytest.raises(TypeError, match="a list of URLs"):
        crawl("https://example.com/")
    with pytest.raises(TypeError, match=r"manners.Settings\(…\), or keywords .*; not dict"):
        crawl(["https://example.com/"], {"max_pages": 3})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs at least one URL"):
        crawl([])
    with pytest.raises(ValueError, match="resume needs a store"):
        crawl([], resume=True)
    with pytest.raises(InvalidURL):
        crawl(["ftp://example.com/"], store=str(tmp_path / "a.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_is_run_once(place: str) -> None:
    """It says so."""

    async def work(ran: Ran) -> None:
        made = await ran.go()
        with pytest.raises(RuntimeError, match="can be run once"):
            async for _ in made:
                pass

    visiting(work, SHOP, place)


def test_a_crawl_is_begun_once(place: str) -> None:
    """One that `start` has written is not written and fetched again; its number is told."""

    async def work(ran: Ran) -> None:
        made = ran.begin()
        assert await asyncio.to_thread(made.start) == 1
        with pytest.raises(RuntimeError, match=r"crawl 1 is in the store already.*work=1"):
            await asyncio.to_thread(made.start)
        with pytest.raises(RuntimeError, match="crawl 1 is in the store already"):
            async for _ in made:
                pass
        assert ran.asked == []

    visiting(work, SHOP, place)


def test_what_cannot_be_gone_on_with(place: str) -> None:
    """A store that is not there, and one without a crawl, are an error that says so."""

    async def work(ran: Ran) -> None:
        with pytest.raises(StoreError):
            await ran.go(resume=True)
        assert not Path(place).exists()
        EvidenceStore(place).close()
        with pytest.raises(StoreError, match="there is no crawl in it"):
            await ran.go(resume=True)

    visiting(work, SHOP, place)


def test_without_a_store_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is a folder while it runs, and no evidence."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def work(ran: Ran) -> None:
        async for each in ran.begin(store=None):
            assert len(list(tmp_path.iterdir())) == 1
            assert each.evidence_id is None
            ran.pages.append(each)

    ran = visiting(work, SHOP, "")
    assert len(ran.pages) == 6
    assert list(tmp_path.iterdir()) == []


def test_two_crawls_of_one_store(place: str) -> None:
    """Each has its own; the pages of the first are fetched again."""

    async def work(ran: Ran) -> None:
        await ran.go()
        await ran.go()

    ran = visiting(work, SHOP, place)
    assert ran.crawl.number == 2
    assert ran.states == SHOP_STATES
    assert Counter(ran.asked)["/a"] == 2


def test_two_crawls_side_by_side(place: str) -> None:
    """Different ones may run in one store at once."""

    async def work(ran: Ran) -> None:
        crawls = [Crawl([ran.url("/0")], settings(store=place)) for _ in range(3)]

        async def go(each: Crawl) -> int:
            return len([page async for page in each])

        assert await asyncio.gather(*map(go, crawls)) == [10] * 3
        assert sorted(each.number for each in crawls) == [1, 2, 3]

    visiting(work, lambda _: chain(10), place)


def test_one_at_a_time_goes_on_with_a_crawl(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other is told so, and does no harm."""
    monkeypatch.setattr("manners.crawler.opening._LOCK_TIMEOUT", 0.0)

    async def work(ran: Ran) -> None:
        first = ran.begin("/0")
        async with aclosing(aiter(first)) as pages:
            await anext(pages)
            with pytest.raises(StoreError, match="another process works on crawl 1"):
                await Ran(ran.site, place).go(resume=True)
            left = [each async for each in pages]
        assert len(left) == 19
        assert first.ended == FINISHED

    visiting(work, lambda _: chain(20), place)


# Stopping.


def assert_given_back(ran: Ran) -> None:
    """Nothing is leased any more, and the crawl can be gone on with, to the same end."""
    states = Counter(state for state, _ in ran.states.values())
    assert "leased" not in states
    assert {state: number for state, number in ran.crawl.states.items() if number} == states


def test_breaking_out_of_the_loop_stops_the_crawl(place: str) -> None:
    """What was under way is given back, nothing is left running, the store can be used."""

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin("/"))) as pages:
            async for _ in pages:
                break
        assert ran.crawl.ended == INTERRUPTED
        assert_given_back(ran)
        asked = len(ran.site.log)
        await asyncio.sleep(0.2)
        assert len(ran.site.log) == asked
        await ran.go(resume=True)
        assert ran.crawl.ended == FINISHED
        assert {state for state, _ in ran.states.values()} == {"done"}
        assert len(ran.states) == 41

    visiting(work, lambda _: fan(40, slow(0.02)), place)


BREAKS = """
import asyncio, inspect, logging, sys, threading
from manners.crawler.crawl import crawl
logging.basicConfig(level=logging.ERROR)
how, url, place = sys.argv[1:]
its = dict(store=place, allow_private=True, min_delay=0.0, max_delay=0.0, adaptive_factor=0.0)

def blocking():
    for page in crawl([url], **its):
        break
    print("left", [each.name for each in threading.enumerate() if "writer" in each.name])

def raising():
    try:
        for page in crawl([url], **its):
            raise KeyError("mine")
    except KeyError:
        print("caught")

async def plain():
    async for page in crawl([url], **its):
        break
    await asyncio.sleep(0)

async def cancelled():
    begun = asyncio.Event()
    async def work():
        async for page in crawl([url], **its):
            begun.set()
    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")

async def forgotten():
    pages = aiter(crawl([url], **its))
    await anext(pages)

work = globals()[how]
asyncio.run(work()) if inspect.iscoroutinefunction(work) else work()
"""


@pytest.mark.parametrize("how", ["blocking", "raising", "plain", "cancelled", "forgotten"])
def test_nothing_complains_about_a_crawl_that_is_left(place: str, how: str) -> None:
    """No task is destroyed, nothing is unclosed, no error goes unseen; and it can be gone on with.

    A program of its own, so that what is said at its very end is heard, too.
    """
    with in_thread(Site(served(fan(60, slow(0.02))))) as site:
        ran = subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", BREAKS, how, site.url(), place],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        if how == "blocking":
            assert ran.stdout == "left []\n"
        assert execute(place, "SELECT ended FROM crawls") == [(INTERRUPTED,)]
        again = crawl([], settings(store=place), resume=True)
        assert len(list(again)) >= 50
        assert again.ended == FINISHED


def test_an_error_in_the_body_of_the_loop_stops_the_crawl(place: str) -> None:
    """It is the caller's, and nothing else is raised."""
    with in_thread(Site(served(fan(40, slow(0.02))))) as site:
        made = crawl([site.url()], settings(store=place))

        def read() -> None:
            for _ in made:
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            read()
        assert made.ended == INTERRUPTED
        done = made.states["done"]  # a busy machine fetches a few more before it hears of the error
        assert 1 <= done < 41
        again = crawl([], settings(store=place), resume=True)
        assert len(list(again)) == 41 - done
        assert again.ended == FINISHED


def held(started: list[str], go: asyncio.Event) -> Handler:
    """A page that is answered when the test says so."""

    async def answer(call: Call) -> None:
        started.append((await call.request()).path)
        await go.wait()
        await html()(call)

    return answer


def test_stop_finishes_what_is_under_way(place: str) -> None:
    """From another thread; nothing new is asked for, and what is left can be gone on with."""

    async def work(ran: Ran) -> None:
        made, pages = ran.begin(), []

        async def read() -> None:
            pages.extend([each async for each in made])

        task = asyncio.create_task(read())
        await until(lambda: len(started) == 2)
        thread = threading.Thread(target=made.stop)
        thread.start()
        await asyncio.to_thread(thread.join)
        await until(lambda: made.view().is_stopping)
        go.set()
        await task
        assert made.ended == INTERRUPTED
        assert len(started) == 2
        assert sorted(each.url.removeprefix(ran.base) for each in pages) == ["/", *sorted(started)]
        assert {path for path, (state, _) in ran.states.items() if state == "done"} == {
            "/",
            *started,
        }
        assert_given_back(ran)

    started: list[str] = []
    go = asyncio.Event()
    visiting(work, lambda _: fan(10, held(started, go)), place)


def test_abort_ends_what_is_under_way(place: str) -> None:
    """It is asked for again when the crawl goes on."""

    async def work(ran: Ran) -> None:
        made = ran.begin()
        task = asyncio.create_task(collected(made))
        await until(lambda: len(started) == 2)
        made.abort()
        pages = await task
        assert [ran.path(each.url) for each in pages] == ["/"]
        assert made.ended == INTERRUPTED
        assert_given_back(ran)
        go.set()
        await ran.go(resume=True)
        assert len(ran.pages) == 10
        assert Counter(ran.asked) == Counter([*started[:2], *ran.states, "/sitemap.xml"])

    started: list[str] = []
    go = asyncio.Event()
    visiting(work, lambda _: fan(10, held(started, go)), place)


async def collected(made: Crawl) -> list[CrawledPage]:
    return [each async for each in made]


@pytest.mark.parametrize("how", ["stop", "abort"])
@pytest.mark.parametrize("turns", [1, 3, 50])
def test_stopping_at_the_very_beginning(place: str, how: str, turns: int) -> None:
    """Before there is a store, or a page: it ends, and is not in the way of the next."""

    async def work(ran: Ran) -> None:
        made = ran.begin("/")
        task = asyncio.create_task(collected(made))
        for _ in range(turns):
            await asyncio.sleep(0)
        getattr(made, how)()
        assert await task == []
        assert made.ended == INTERRUPTED
        await ran.go()
        assert ran.crawl.ended == FINISHED

    visiting(work, lambda _: fan(3), place)


def test_a_crawl_that_is_stopped_before_it_begins_asks_for_nothing(place: str) -> None:
    """Whoever presses Ctrl-C early means it."""

    async def work(ran: Ran) -> None:
        made = ran.begin("/")
        made.stop()
        assert await collected(made) == []
        assert made.ended == INTERRUPTED

    assert visiting(work, lambda _: fan(3), place).asked == []


# Budgets.


def final(ran: Ran) -> int:
    """How many pages were fetched, as the server has seen it."""
    known = ran.rows
    done = [path for path in ran.asked if path in known]
    return sum(known[path].reason != "redirect" for path in done)


def mixed(width: int) -> Make:
    """A page that leads to others, to redirects, and to what is closed."""
    made: Pages = {"/robots.txt": rules("Disallow: /closed")}
    chance = random.Random(3)
    links = []
    for number in range(width):
        links += [f"/closed/{number}", f"/old/{number}", f"/{number}"]
        made[f"/old/{number}"] = to(f"/new/{number}")
        made[f"/new/{number}"] = html()
        made[f"/{number}"] = slow(chance.choice((0.0, 0.01, 0.03)))
    made["/"] = html(*chance.sample(links, len(links)))
    return lambda _: made


@pytest.mark.parametrize("most", [1, 2, 37])
def test_the_limit_of_pages_is_exact(place: str, most: int) -> None:
    """With 50 requests at a time; redirects, blocked pages and sitemaps do not count."""
    ran = crawled(mixed(60), place, max_pages=most, concurrency=50, connections=50)
    assert final(ran) == most
    assert ran.crawl.budget.pages_used == most
    assert ran.crawl.ended == f"page limit reached: {most} page{'s' * (most > 1)}"
    fetched = [each for each in ran.pages if each.status and each.reason != "redirect"]
    assert len(fetched) == most
    assert_given_back(ran)


def test_a_limit_that_is_not_reached(place: str) -> None:
    """Exactly as many pages as there are: it is finished."""
    ran = crawled(lambda _: chain(7), place, "/0", max_pages=7)
    assert ran.crawl.ended == FINISHED


def test_the_limit_of_pages_goes_on_after_a_resume(place: str) -> None:
    """It is for the whole crawl: the same one allows nothing more, a higher one the rest."""

    async def work(ran: Ran) -> None:
        await ran.go(max_pages=10)
        assert final(ran) == 10
        asked = len(ran.site.log)
        await ran.go(resume=True, max_pages=10)
        assert ran.crawl.ended == "page limit reached: 10 pages"
        assert ran.pages == []
        assert len(ran.site.log) == asked
        await ran.go(resume=True, max_pages=25)
        assert final(ran) == 25
        await ran.go(resume=True, max_pages=1000)
        assert ran.crawl.ended == FINISHED
        assert final(ran) == 81
        assert max(Counter(ran.asked).values()) == 1

    visiting(work, mixed(40), place)


def test_every_attempt_counts(place: str) -> None:
    """A page that fails three times has used three of the budget."""
    ran = crawled(of(home=html("/bad"), bad=page(status=500)), place, max_pages=4)
    assert ran.crawl.ended == FINISHED
    assert ran.crawl.budget.pages_used == 4
    ran = crawled(of(home=html("/bad"), bad=page(status=500)), place, max_pages=3)
    assert ran.crawl.ended == "page limit reached: 3 pages"
    assert ran.rows["/bad"].attempts == 2


def test_the_limit_of_pages_ends_a_crawl_whose_hosts_want_to_wait(place: str) -> None:
    """It does not wait for a host only to find that no page is left."""

    async def work(ran: Ran) -> None:
        await ran.go("/0", source="links", max_pages=1, max_minutes=10_000.0)

    slow_site = {**chain(3), "/robots.txt": rules("Crawl-delay: 3000")}
    ran = visiting(work, lambda _: slow_site, place)
    assert ran.crawl.ended == "page limit reached: 1 page"


def test_the_limit_of_minutes_ends_a_crawl(place: str) -> None:
    """What is under way is finished; it takes no more, also after a resume."""

    async def work(ran: Ran) -> None:
        begun = time.monotonic()
        await ran.go("/0", max_minutes=0.02)
        assert time.monotonic() - begun >= 1.2
        assert ran.crawl.ended == "time limit reached: 0.02 minutes"
        assert_given_back(ran)
        used = len(ran.pages)
        assert used
        await ran.go(resume=True, max_minutes=0.02)
        assert ran.crawl.ended.startswith("time limit")
        assert ran.pages == []
        await ran.go(resume=True, max_minutes=10.0)
        assert ran.crawl.ended == FINISHED
        assert len(ran.pages) == 20 - used

    made = {f"/{n}": _slow_link(n) for n in range(19)} | {"/19": html()}
    visiting(work, lambda _: made, place)


def _slow_link(number: int) -> Handler:
    async def answer(call: Call) -> None:
        await call.pause(0.1)
        await html(f"/{number + 1}")(call)

    async def read(call: Call) -> None:
        await call.request()
        await answer(call)

    return read


def test_the_time_that_is_spent_waiting_counts_after_a_kill_too(place: str) -> None:
    """It is written down while it runs."""

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin("/0"))) as pages:
            await anext(pages)
            await asyncio.sleep(1.5)
            (seconds,) = execute(place, "SELECT seconds FROM crawls")[0]
            assert seconds >= 0.9

    visiting(work, lambda _: {**chain(3), "/1": slow(5.0)}, place)


# Hosts.


def test_a_slow_host_idles_no_other(place: str) -> None:
    """One asks for 100 seconds between requests: the other is done meanwhile; then it ends."""

    pages = {
        **chain(100),
        f"{OTHER}/robots.txt": rules("Crawl-delay: 100"),
        f"{OTHER}/": html("/1", "/2"),
        f"{OTHER}/sitemap.xml": html(),
    }
    ran = crawled(lambda _: pages, place, "/0", f"{OTHER}/", max_minutes=1.0, connections=2)
    assert ran.crawl.ended == "time limit: no host may be asked again before it"
    states = ran.states
    assert {states[f"/{n}"] for n in range(100)} == {("done", "")}
    of_other = [each for each in ran.asked if each.startswith(OTHER)]
    assert len(of_other) == 1
    assert states[f"{OTHER}/"] == (("done", "") if of_other == [f"{OTHER}/"] else ("queued", ""))
    assert_given_back(ran)


def test_a_host_that_says_when(place: str) -> None:
    """429 with Retry-After: nothing starts before it; then the page is there."""
    busy = in_turn(page(status=429, headers=[("Retry-After", "1")]), html())
    ran = crawled(
        of(home=html("/busy", "/b"), busy=busy, b=html()), place, source="links", concurrency=1
    )
    assert ran.states == dict.fromkeys(("/", "/busy", "/b"), ("done", ""))
    assert ran.page("/busy").attempts == 2
    first = next(visit for visit in ran.site.log if visit.path == "/busy")
    later = [visit.at for visit in ran.site.log if visit.at > (first.left or 0)]
    assert later
    assert min(later) - (first.left or 0) >= 0.99
    assert ran.crawl.budget.pages_used == 4


def test_a_host_that_wants_to_be_left_alone_for_longer_than_there_is_time(place: str) -> None:
    """The other is done; this one is left for a later run."""

    away = page(status=503, headers=[("Retry-After", "3600")])
    pages = {**chain(30), f"{OTHER}/": away, f"{OTHER}/sitemap.xml": away}
    ran = crawled(lambda _: pages, place, "/0", f"{OTHER}/", max_minutes=5.0)
    assert ran.crawl.ended.startswith("time limit")
    assert ran.states[f"{OTHER}/"] == ("queued", "status 503") or ran.states[f"{OTHER}/"] == (
        "queued",
        "",
    )
    assert ran.states["/29"] == ("done", "")


def test_hosts_are_as_polite_after_a_resume(place: str) -> None:
    """The delay of each is kept to: the last request before is not known."""

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin("/0", source="links"))) as pages:
            async for each in pages:
                if each.url.endswith("/1"):
                    break
        await ran.go(resume=True, source="links")
        starts = [visit.at for visit in ran.site.log]
        assert min(after - before for before, after in pairwise(starts)) >= 0.59
        assert ran.crawl.ended == FINISHED

    visiting(work, lambda _: {**chain(4), "/robots.txt": rules("Crawl-delay: 0.6")}, place)


def test_many_hosts_with_few_connections(place: str) -> None:
    """Five hundred of them, five requests at a time; every page of every host once."""
    names = [f"127.0.{20 + n // 250}.{1 + n % 250}" for n in range(500)]

    async def work(ran: Ran) -> None:
        async def answer(call: Call) -> None:
            visit = await call.request()
            if visit.path == "/":
                await html("/a", "/b")(call)
            elif visit.path in ("/a", "/b"):
                await html()(call)
            else:
                await page(status=404)(call)

        ran.site.answer = answer
        await ran.go(*(f"{name}/" for name in names), connections=5, max_pages=10_000)
        assert ran.crawl.ended == FINISHED
        assert len(ran.pages) == 1500
        asked = Counter((visit.address, visit.path) for visit in ran.site.log)
        assert asked == {
            (name, path): 1
            for name in names
            for path in ("/robots.txt", "/sitemap.xml", "/", "/a", "/b")
        }
        assert most_at_once(ran.site.log) <= 5

    visiting(work, lambda _: {}, place, seconds=120.0)


def test_hosts_that_are_taken_while_the_store_is_asked_for_the_end(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that were given back for the question are granted again: the limit is not reached."""
    take_more, conclude = Holdings.take_more, CrawlRun._conclude
    concluding: list[CrawlRun] = []

    def take_late(self: Holdings, now: float) -> float | None:
        return take_more(self, now) if concluding else None

    async def conclude_slowly(self: CrawlRun) -> None:
        concluding.append(self)
        await conclude(self)

    async def give_back(self: Fleet, budget: Budget) -> None:
        await give_back_pages(self, budget)
        if len(concluding) == 1:
            run = concluding[0]
            run._holdings.take_at = 0.0
            for _ in range(200):
                run.look()
                await asyncio.sleep(0.005)
                if run._ending.exceeded is not None or run._ending.is_over:
                    break

    give_back_pages = Fleet.give_back
    monkeypatch.setattr(Holdings, "take_more", take_late)
    monkeypatch.setattr(CrawlRun, "_conclude", conclude_slowly)
    monkeypatch.setattr(Fleet, "give_back", give_back)
    ran = crawled(of(home=html("/a"), a=html()), place, source="links", max_pages=100)
    assert ran.crawl.ended == FINISHED
    assert len(ran.pages) == 2


def most_at_once(log: Sequence[Visit]) -> int:
    """How many requests were being served at one time, at most."""
    marks = [(visit.at, 1) for visit in log] + [(visit.left or 0.0, -1) for visit in log]
    most = now = 0
    for _, step in sorted(marks):
        now += step
        most = max(most, now)
    return most


def test_two_requests_at_a_time_for_a_host(place: str) -> None:
    """Or as many as its settings say."""
    make = of(**{"home" if n == "/" else n[1:]: each for n, each in fan(20, slow(0.05)).items()})
    ran = crawled(make, place, source="links")
    assert most_at_once(ran.site.log) == 2
    one = {"127.0.0.1": {"concurrency": 1}}
    ran = crawled(make, place, source="links", hosts=one)
    assert most_at_once(ran.site.log) == 1


# Trying again.


async def breaks(call: Call) -> None:
    await call.request()
    call.reset()


async def breaks_off(call: Call) -> None:
    """A body that is shorter than it should be."""
    await call.request()
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n<a href=/bait>x</a>")


@pytest.mark.parametrize(
    ("answer", "state", "reason", "times"),
    [
        (page(status=500), "failed", "status 500", 3),
        (page(status=503), "failed", "status 503", 3),
        (page(status=429), "failed", "status 429", 3),
        (breaks, "failed", None, 3),
        (breaks_off, "failed", None, 3),
        (in_turn(page(status=500), breaks_off, html()), "done", "", 3),
        (in_turn(page(status=502), html()), "done", "", 2),
        (page(status=404), "done", "", 1),
        (page(status=410), "done", "", 1),
        (page(status=403), "done", "", 1),
        (page(status=304), "done", "", 1),
        (page(status=301), "done", "", 1),
        (page(status=302, headers=[("Location", "mailto:x")]), "failed", None, 1),
        (page(status=302, headers=[("Location", "http://[")]), "failed", None, 1),
    ],
    ids=[
        *("500", "503", "429", "reset", "broken", "at-last", "second", "404", "410", "403", "304"),
        *("301-without-location", "to-mail", "to-nothing"),
    ],
)
def test_what_is_tried_again(
    place: str, answer: Handler, state: str, reason: str | None, times: int
) -> None:
    """Three attempts for what may change, one for what will not."""
    ran = crawled(of(home=html("/x"), x=answer), place, source="links", backoff_window=0.0)
    row, came = ran.rows["/x"], ran.page("/x")
    # A connection that was open already may have been a stale one: that is no attempt.
    assert ran.asked.count("/x") - times in ((0, 1) if answer is breaks else (0,))
    assert (row.state, row.attempts) == (came.state, came.attempts) == (state, times)
    assert row.reason == came.reason
    assert row.reason == reason if reason is not None else row.reason
    assert ran.crawl.ended == FINISHED
    assert [each for each in ran.pages if each.url.endswith("/x")] == [came]


def test_refused_addresses_are_not_tried_again(place: str) -> None:
    """They stay refused."""
    ran = crawled(SHOP, place, allow_private=False, respect_robots=False)
    assert ran.asked == []
    assert ran.states == {"/": ("failed", "refused address")}
    assert ran.rows["/"].attempts == 1
    assert ran.crawl.ended == FINISHED


def test_attempts_are_a_setting_and_go_on_after_a_resume(place: str) -> None:
    """What was tried twice already is tried once more."""

    async def work(ran: Ran) -> None:
        task = asyncio.create_task(
            ran.go("/bad", source="links", initial_backoff=1.0, max_backoff=1.0)
        )
        await until(lambda: ran.asked == ["/bad"])
        await until(lambda: ran.states["/bad"] == ("queued", "status 500"))
        ran.crawl.abort()
        await task
        await ran.go(resume=True, source="links")
        assert ran.asked == ["/bad"] * 3
        assert ran.rows["/bad"].attempts == 3
        await ran.go("/bad", source="links", attempts=1)
        assert ran.asked == ["/bad"] * 4

    visiting(work, of(bad=page(status=500)), place)


# What belongs to it.


def test_a_start_page_needs_not_be_included(place: str) -> None:
    """It is where the links are; everything else has to be."""
    ran = crawled(
        of(home=html("/docs/a", "/b"), **{"docs/a": html("/docs/b", "/b"), "docs/b": html()}),
        place,
        source="links",
        include=("/docs/",),
    )
    assert ran.states == {
        "/": ("done", ""),
        "/docs/a": ("done", ""),
        "/docs/b": ("done", ""),
        "/b": ("blocked", "excluded"),
    }
    assert sorted(ran.asked) == ["/", "/docs/a", "/docs/b"]


def test_exclusions_win(place: str) -> None:
    """Also for where it begins; the pattern is told."""
    ran = crawled(SHOP, place, source="links", exclude=("/a", "*old*"))
    assert ran.states["/a"] == ran.states["/old"] == ("blocked", "excluded")
    assert (ran.rows["/a"].rule, ran.rows["/old"].rule) == ("/a", "*old*")
    assert sorted(ran.asked) == ["/", "/gone"]
    ran = crawled(SHOP, place, source="links", exclude=("/",))
    assert ran.asked == []
    assert ran.states == {"/": ("blocked", "excluded")}


def site_with_a_map(url: Callable[..., str]) -> Pages:
    return {
        "/robots.txt": rules("Disallow: /closed", f"Sitemap: {url('/map.xml')}"),
        "/map.xml": page(index(url("/one.xml"), url("/two.txt"))),
        "/one.xml": page(urlset((url("/listed"), 0.9), url("/closed"), url("/linked"))),
        "/two.txt": text(url("/second"), url("/x", OTHER), "nonsense"),
        "/": html("/linked", "/only-linked"),
        **{f"/{name}": html("/deeper") for name in ("listed", "linked", "only-linked", "second")},
        "/deeper": html(),
    }


@pytest.mark.parametrize(
    ("source", "fetched"),
    [
        ("sitemap", {"/listed", "/linked", "/second"}),
        ("links", {"/", "/linked", "/only-linked", "/deeper"}),
        ("auto", {"/", "/listed", "/linked", "/only-linked", "/second", "/deeper"}),
    ],
)
def test_where_pages_are_looked_for(place: str, source: str, fetched: set[str]) -> None:
    """In sitemaps, in links, or in both."""
    ran = crawled(site_with_a_map, place, source=source)
    maps = {"/map.xml", "/one.xml", "/two.txt"} if source != "links" else set()
    assert set(ran.asked) == fetched | maps
    assert {path for path, (state, _) in ran.states.items() if state == "done"} == fetched
    assert max(Counter(ran.asked).values()) == 1
    if source != "links":
        assert ran.states["/closed"] == ("blocked", "rule-matched")
        assert ran.states[f"{OTHER}/x"] == ("blocked", "other-host")
        assert ran.rows["/listed"].priority == 0.9
        assert ran.rows["/listed"].found_in == ran.url("/one.xml")


def test_a_start_page_that_a_sitemap_names(place: str) -> None:
    """With sitemaps alone it is fetched if one names it, and not otherwise."""

    def make(url: Callable[..., str]) -> Pages:
        return {"/sitemap.xml": page(urlset(url("/a"), url("/"))), "/a": html(), "/": html("/b")}

    ran = crawled(make, place, source="sitemap")
    assert ran.states == {"/": ("done", ""), "/a": ("done", "")}


def test_what_sitemaps_name_comes_by_priority(place: str) -> None:
    """Sitemaps first, then what they say is best."""

    def make(url: Callable[..., str]) -> Pages:
        entries = [(url(f"/{n}"), n / 10) for n in range(10)]
        return {"/sitemap.xml": page(urlset(*entries)), **{f"/{n}": html() for n in range(10)}}

    ran = crawled(make, place, source="sitemap", concurrency=1)
    assert ran.asked == ["/sitemap.xml", *(f"/{n}" for n in reversed(range(10)))]


def test_same_domain_is_the_same_host(place: str) -> None:
    """Other hosts are known, and not asked, unless they may be."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/": html(url("/x", OTHER), "/a"),
            "/a": html(),
            f"{OTHER}/x": html(url("/y", THIRD)),
            f"{THIRD}/y": html(),
        }

    ran = crawled(make, place, source="links")
    assert ran.states == {
        "/": ("done", ""),
        "/a": ("done", ""),
        f"{OTHER}/x": ("blocked", "other-host"),
    }
    assert {visit.address for visit in ran.site.log} == {"127.0.0.1"}
    ran = crawled(make, place, source="links", same_domain=False)
    assert set(ran.states) == {"/", "/a", f"{OTHER}/x", f"{THIRD}/y"}
    assert {state for state, _ in ran.states.values()} == {"done"}


def test_several_hosts_are_one_crawl(place: str) -> None:
    """What one of them says of another counts."""

    def make(url: Callable[..., str]) -> Pages:
        return {"/": html(url("/x", OTHER)), f"{OTHER}/": html(), f"{OTHER}/x": html()}

    ran = crawled(make, place, "/", f"{OTHER}/", source="links")
    assert ran.states[f"{OTHER}/x"] == ("done", "")


def test_a_robots_txt_that_cannot_be_had(place: str) -> None:
    """503: nothing of the host is asked for, and that is tried again by whoever goes on."""

    async def work(ran: Ran) -> None:
        await ran.go("/", f"{OTHER}/")
        assert ran.crawl.ended == FINISHED
        assert ran.states == {"/": ("blocked", "unreachable"), f"{OTHER}/": ("done", "")}
        assert not [path for path in ran.asked if not path.startswith(OTHER)]
        is_back.append(True)
        await ran.go(resume=True)
        assert ran.states == dict.fromkeys(("/", "/a", f"{OTHER}/"), ("done", ""))

    is_back: list[bool] = []

    async def robots(call: Call) -> None:
        await (OPEN if is_back else page(status=503))(call)

    pages = {"/robots.txt": robots, "/": html("/a"), "/a": html(), f"{OTHER}/": html()}
    visiting(work, lambda _: pages, place)


def test_a_host_that_is_not_there(place: str) -> None:
    """Nothing answers: it is undecided, and the crawl ends."""

    async def work(ran: Ran) -> None:
        import socket

        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
            await ran.go(url)
            assert ran.states == {ran.path(url): ("blocked", "unreachable")}
            assert ran.crawl.ended == FINISHED

    visiting(work, lambda _: {}, place)


def test_traps_are_left_alone(place: str) -> None:
    """What looks like one is not asked for."""
    ran = crawled(of(home=html("/a/b/a/b/a/b/", "/" + "x" * 3000)), place, source="links")
    assert ran.asked == ["/"]
    assert {reason for _, reason in ran.states.values()} == {
        "",
        "trap: repeated-segment",
        "trap: too-long",
    }


def test_traps_by_number_go_on_after_a_resume(place: str) -> None:
    """As many of one form as there may be, in all."""

    async def work(ran: Ran) -> None:
        await ran.go("/", source="links", trap_alike=10, max_pages=5)
        await ran.go(resume=True, source="links", trap_alike=10, max_pages=500)
        assert len(set(ran.asked)) == 1 + 10

    pages = {f"/day/{n}": html(f"/day/{n + 1}") for n in range(50)}
    visiting(work, lambda _: {"/": html("/day/0"), **pages}, place)


def test_there_is_room_for_so_many(place: str) -> None:
    """It is told that there is more."""
    ran = crawled(lambda _: fan(50), place, source="links", max_discovered=20)
    assert ran.crawl.is_cut
    assert len(ran.rows) == 20
    assert ran.crawl.ended == FINISHED


# Redirects.


def test_a_start_that_lives_elsewhere(place: str) -> None:
    """A redirect of the first page to another host brings that host in."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/": to(url("/", OTHER)),
            f"{OTHER}/": html("/a", url("/b")),
            f"{OTHER}/a": html(),
            "/b": html(),
        }

    ran = crawled(make, place, source="links")
    assert ran.states == {
        "/": ("done", "redirect"),
        f"{OTHER}/": ("done", ""),
        f"{OTHER}/a": ("done", ""),
        "/b": ("done", ""),
    }


def test_a_redirect_elsewhere_of_another_page_does_not(place: str) -> None:
    """Nor does one into what is disallowed lead there."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/robots.txt": rules("Disallow: /closed"),
            "/": html("/out", "/in"),
            "/out": to(url("/", OTHER)),
            "/in": to("/closed"),
        }

    ran = crawled(make, place, source="links")
    assert ran.states == {
        "/": ("done", ""),
        "/out": ("done", "redirect"),
        "/in": ("done", "redirect"),
        f"{OTHER}/": ("blocked", "other-host"),
        "/closed": ("blocked", "rule-matched"),
    }
    assert sorted(ran.asked) == ["/", "/in", "/out"]


def test_redirect_loops_end(place: str) -> None:
    """Each is asked for once."""
    ran = crawled(
        of(home=html("/a", "/self"), a=to("/b"), b=to("/c"), c=to("/a"), self=to("/self")),
        place,
        source="links",
    )
    assert Counter(ran.asked) == dict.fromkeys(("/", "/a", "/b", "/c", "/self"), 1)
    assert ran.crawl.ended == FINISHED
    assert {reason for _, reason in ran.states.values()} == {"", "redirect"}
    assert ran.crawl.budget.pages_used == 1


def test_chains_of_redirects_have_a_limit(place: str) -> None:
    """So many are followed one after another; the next is told as such."""
    pages = {f"/{n}": to(f"/{n + 1}") for n in range(9)}
    ran = crawled(
        lambda _: {**pages, "/9": html()}, place, "/0", source="links", page_max_redirects=4
    )
    assert ran.asked == ["/0", "/1", "/2", "/3", "/4"]
    assert ran.states["/5"] == ("blocked", "too-many-redirects")
    ran = crawled(
        lambda _: {**pages, "/9": html()}, place, "/0", source="links", page_max_redirects=9
    )
    assert ran.states["/9"] == ("done", "")
    ran = crawled(
        lambda _: {**pages, "/9": html()}, place, "/0", source="links", page_max_redirects=0
    )
    assert ran.asked == ["/0"]


def test_a_sitemap_that_is_elsewhere(place: str) -> None:
    """A redirect is followed, and what it names counts."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/sitemap.xml": to("/real.xml"),
            "/real.xml": page(urlset(url("/a"))),
            "/a": html(),
            "/": html(),
        }

    ran = crawled(make, place)
    assert ran.states == {"/": ("done", ""), "/a": ("done", "")}


# Depth.


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_links_are_followed_so_far(place: str, depth: int) -> None:
    """What is one step further is known, and blocked."""
    ran = crawled(lambda _: chain(10), place, "/0", source="links", max_depth=depth)
    assert ran.asked == [f"/{n}" for n in range(depth + 1)]
    assert ran.states[f"/{depth + 1}"] == ("blocked", "depth")
    assert len(ran.states) == depth + 2


def late(*links: str) -> Handler:
    """A page that comes when all others are done."""

    async def answer(call: Call) -> None:
        await call.request()
        await call.pause(0.5)
        await html(*links)(call)

    return answer


def test_a_shorter_way_that_is_found_late_counts(place: str) -> None:
    """Through pages that are done already: what was too deep is fetched."""
    pages = {**chain(10), "/": html("/0", "/late"), "/late": late("/3")}
    ran = crawled(lambda _: pages, place, source="links", max_depth=4)
    depths = {path: row.depth for path, row in ran.rows.items()}
    assert depths == {
        "/": 0, "/late": 1, "/0": 1, "/1": 2, "/2": 3, "/3": 2, "/4": 3, "/5": 4, "/6": 5,
    }  # fmt: skip
    assert ran.states["/5"] == ("done", "")
    assert ran.states["/6"] == ("blocked", "depth")
    assert max(Counter(ran.asked).values()) == 1


def test_a_shorter_way_that_is_found_late_counts_through_redirects(place: str) -> None:
    """A redirect that is done leads on, too."""
    pages = {
        "/": html("/0", "/late"),
        "/0": html("/1"),
        "/1": html("/moved"),
        "/moved": to("/there"),
        "/there": html("/next"),
        "/next": html(),
        "/late": late("/moved"),
    }
    ran = crawled(lambda _: pages, place, source="links", max_depth=3)
    assert ran.rows["/moved"].depth == 2
    assert (ran.rows["/there"].depth, ran.rows["/next"].depth) == (2, 3)
    assert ran.states["/next"] == ("done", "")


def test_the_depth_may_be_another_when_it_goes_on(place: str) -> None:
    """Deeper: what was cut is fetched. Less deep: what is queued is cut."""

    async def work(ran: Ran) -> None:
        await ran.go("/0", source="links", max_depth=2)
        await ran.go(resume=True, source="links", max_depth=5)
        assert ran.asked == [f"/{n}" for n in range(6)]
        assert ran.states["/6"] == ("blocked", "depth")
        await ran.go(resume=True, source="links")
        assert ran.asked == [f"/{n}" for n in range(10)]
        await ran.go("/0", source="links", max_pages=3)
        await ran.go(resume=True, source="links", max_depth=1)
        assert ran.states["/3"] == ("blocked", "depth")
        assert ran.crawl.ended == FINISHED

    visiting(work, lambda _: chain(10), place)


def test_what_one_says_not_to_follow_another_may(place: str) -> None:
    """Whoever comes first."""
    nofollow = '<a rel="nofollow" href="/x">x</a>'
    for first, second in ((nofollow, "/x"), ("/x", nofollow)):
        ran = crawled(
            of(home=html("/a", "/b"), a=html(first), b=late(second), x=html()),
            place,
            source="links",
        )
        assert ran.states["/x"] == ("done", "")
    ran = crawled(of(home=html(nofollow), x=html()), place, source="links")
    assert ran.states["/x"] == ("blocked", "nofollow")
    assert ran.asked == ["/"]


# The hosts that belong to it, when it goes on, or when they become known.


@pytest.mark.parametrize("source", ["sitemap", "auto"])
def test_the_hosts_of_a_crawl_are_known_when_it_goes_on(place: str, source: str) -> None:
    """Also where the first page itself is not to be fetched."""

    async def work(ran: Ran) -> None:
        made = ran.begin(source=source)
        task = asyncio.create_task(collected(made))
        await until(lambda: "/sitemap.xml" in ran.asked)
        made.abort()
        await task
        go.set()
        await ran.go(resume=True, source=source)
        assert ran.states["/a"] == ("done", "")

    go = asyncio.Event()

    def make(url: Callable[..., str]) -> Pages:
        async def sitemap(call: Call) -> None:
            await call.request()
            await go.wait()
            await page(urlset(url("/a")))(call)

        return {
            "/robots.txt": rules("Disallow: /$"),
            "/sitemap.xml": sitemap,
            "/": html(),
            "/a": html(),
        }

    visiting(work, make, place)


def test_a_host_that_comes_in_later_is_in(place: str) -> None:
    """What was known of it before it belonged to the crawl, and is named again, is fetched."""

    def make(url: Callable[..., str]) -> Pages:
        return {
            "/": html(url("/x", THIRD)),
            f"{OTHER}/": in_turn(slow_to(url("/", THIRD))),
            f"{THIRD}/": html("/x"),
            f"{THIRD}/x": html(),
        }

    ran = crawled(make, place, "/", f"{OTHER}/", source="links")
    assert ran.states[f"{THIRD}/"] == ("done", "")
    assert ran.states[f"{THIRD}/x"] == ("done", "")


@pytest.mark.parametrize("is_late", [True, False])
def test_when_a_host_comes_in_makes_no_difference(place: str, is_late: bool) -> None:
    """What another host names of it is fetched, in whichever order it becomes known."""

    def make(url: Callable[..., str]) -> Pages:
        moved = slow_to if is_late else to
        names = (url("/x", THIRD),)
        return {
            "/": html(*names) if is_late else late(*names),
            f"{OTHER}/": moved(url("/", THIRD)),
            f"{THIRD}/": html(),
            f"{THIRD}/x": html(),
        }

    ran = crawled(make, place, "/", f"{OTHER}/", source="links")
    assert ran.states[f"{THIRD}/x"] == ("done", "")


def slow_to(location: str) -> Handler:
    async def answer(call: Call) -> None:
        await call.request()
        await call.pause(0.5)
        await to(location)(call)

    return answer


# Going on.


def test_a_finished_page_is_not_fetched_again(place: str) -> None:
    """By whoever goes on; new URLs may be given then."""

    async def work(ran: Ran) -> None:
        await ran.go()
        asked = Counter(ran.asked)
        await ran.go("/", "/new", resume=True)
        assert ran.crawl.ended == FINISHED
        assert [ran.path(each.url) for each in ran.pages] == ["/new"]
        assert Counter(ran.asked) - asked == {"/new": 1}
        assert ran.crawl.number == 1
        assert dict(ran.crawl.states)["done"] == 6

    def make(url: Callable[..., str]) -> Pages:
        return {**SHOP(url), "/new": html(), "/sitemap.xml": page(status=404)}

    visiting(work, make, place)


def test_one_that_was_killed_before_anything_was_added(place: str) -> None:
    """It knows where it was to begin."""

    async def work(ran: Ran) -> None:
        with EvidenceStore(place) as store:
            crawls.begin(store, [ran.url("/")], now=1.0)
        await ran.go(resume=True)
        assert ran.crawl.ended == FINISHED
        assert len(ran.pages) == 4

    visiting(work, lambda _: fan(3), place)


def test_the_same_in_postgresql(postgres: Postgres) -> None:
    """Stopped, gone on with, to the same end; with one set of settings at a time."""

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin(max_depth=3))) as pages:
            async for _ in pages:
                await until(lambda: started)
                with pytest.raises(StoreError, match="crawl 1 has other settings: max_depth"):
                    await Ran(ran.site, place).go(resume=True)
                break
        go.set()
        await ran.go(resume=True, max_depth=3)
        assert ran.states == {**SHOP_STATES, "/b": ("done", "")}
        with EvidenceStore(place) as store:
            assert list(store.verify()) == []

    started: list[str] = []
    go = asyncio.Event()
    place = postgres.database()
    visiting(work, lambda url: {**SHOP(url), "/b": held(started, go)}, place)


def test_pages_are_not_granted_while_others_are_given_back(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker may spend, and what the store says that it may, stays the same number."""
    under_way: list[str] = []
    overlaps: list[tuple[str, ...]] = []
    asked: Counter[str] = Counter()

    def watched(name: str) -> None:
        verb = getattr(Fleet, name)

        async def slowly(fleet: Fleet, budget: Budget) -> None:
            under_way.append(name)
            asked[name] += 1
            if len(under_way) > 1:
                overlaps.append(tuple(under_way))
            try:
                await asyncio.sleep(0.05)  # time in which the other might be started
                await verb(fleet, budget)
                await asyncio.sleep(0.05)
            finally:
                under_way.remove(name)

        monkeypatch.setattr(Fleet, name, slowly)

    async def work(ran: Ran) -> None:
        await ran.go(max_pages=9)
        assert sum(state == "done" for state, _ in ran.states.values()) == 9

    watched("grant")
    watched("give_back")
    visiting(work, lambda _: fan(20), postgres.database())
    assert min(asked["grant"], asked["give_back"]) > 0, "nothing was looked at"
    assert overlaps == []


# keep.


def test_keep_is_called_before_a_page_counts(place: str) -> None:
    """With every page, once; while it is called the store says that it is to be fetched."""
    kept: list[tuple[str, str]] = []

    def keep(each: CrawledPage) -> None:
        found = execute(place, "SELECT state FROM urls WHERE url = ?", values=(each.url,))
        kept.append((each.url, found[0][0]))

    async def work(ran: Ran) -> None:
        await ran.go(keep=keep)
        assert sorted(kept) == sorted((each.url, "queued") for each in ran.pages)

    visiting(work, SHOP, place)


def test_an_error_in_keep_ends_the_crawl(place: str) -> None:
    """It is raised where the pages are read; the page does not count, and is asked for again."""

    def keep(each: CrawledPage) -> None:
        if each.url.endswith("/a"):
            raise OSError("disk full")

    async def work(ran: Ran) -> None:
        with pytest.raises(OSError, match="disk full"):
            await ran.go(keep=keep)
        assert ran.states["/a"] == ("queued", "")
        assert ran.crawl.ended == "failed: disk full"
        assert_given_back(ran)
        asked = Counter(ran.asked)
        await ran.go(resume=True)
        assert ran.states == SHOP_STATES
        assert (Counter(ran.asked) - asked)["/a"] == 1

    visiting(work, SHOP, place)


def test_a_keep_that_takes_its_time_holds_up_no_other_host(place: str) -> None:
    """While it waits, pages of another host are asked for."""
    begun, other_was_asked = threading.Event(), threading.Event()
    other_has_links = asyncio.Event()

    def keep(each: CrawledPage) -> None:
        if "127.0.0.1" in each.url and not begun.is_set():
            begun.set()
            assert other_was_asked.wait(50)

    async def asked(call: Call) -> None:
        path = (await call.request()).path
        other_has_links.set()
        await until(begun.is_set)
        if path == "/3":
            other_was_asked.set()
        await html()(call)

    async def first(call: Call) -> None:
        await other_has_links.wait()
        await html()(call)

    async def work(ran: Ran) -> None:
        await ran.go("/", f"{OTHER}/", keep=keep, concurrency=1)
        assert len(ran.pages) == 5

    pages = {f"{OTHER}/{n}": asked for n in (1, 2, 3)}
    visiting(work, lambda _: {"/": first, f"{OTHER}/": html("/1", "/2", "/3"), **pages}, place)


def test_keep_gets_one_page_at_a_time(place: str) -> None:
    """In one thread, which is not the event loop's."""
    threads: list[int] = []
    busy = threading.Lock()

    def keep(_: CrawledPage) -> None:
        assert busy.acquire(blocking=False)
        time.sleep(0.002)
        threads.append(threading.get_ident())
        busy.release()

    async def work(ran: Ran) -> None:
        await ran.go(keep=keep, concurrency=8)
        assert len(threads) == 13 == len(ran.pages)
        assert set(threads) not in ({threading.get_ident()}, set())
        assert len(set(threads)) == 1

    visiting(work, lambda _: fan(12), place)


@pytest.mark.parametrize("end", ["stop", "abort", "leave"])
def test_a_keep_that_hangs_does_not_hang_the_end(
    place: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page does not count, and comes again."""
    monkeypatch.setattr(keeping, "TIMEOUT", 0.05)
    begun, released = threading.Event(), threading.Event()

    def keep(each: CrawledPage) -> None:
        if each.url.endswith("/a"):
            begun.set()
            released.wait(100)

    async def work(ran: Ran) -> None:
        crawl = ran.begin(keep=keep)
        pages = aiter(crawl)
        reading = asyncio.create_task(_read(pages))
        await until(begun.is_set)
        if end == "leave":
            reading.cancel()
        else:
            getattr(crawl, end)()
        if end == "stop":
            with pytest.raises(TimeoutError, match="keep= has not returned"):
                await reading
        else:
            await asyncio.gather(reading, return_exceptions=True)
        await pages.aclose()
        assert ran.states["/a"] == ("queued", "")
        released.set()
        await ran.go(resume=True)
        assert ran.states == SHOP_STATES

    visiting(work, SHOP, place)


async def _read(pages: AsyncGenerator[CrawledPage, None]) -> None:
    async for _ in pages:
        pass


def test_an_exit_in_keep_is_one_of_whoever_iterates(place: str) -> None:
    """And the portal that runs the crawl goes on for everybody else."""

    def keep(_: CrawledPage) -> None:
        sys.exit("enough")

    async def work(ran: Ran) -> None:
        def blocking() -> None:
            with pytest.raises(SystemExit, match="enough"):
                list(ran.begin(keep=keep))
            assert portal.run(asyncio.sleep(0, "on")) == "on"

        await asyncio.to_thread(blocking)

    visiting(work, SHOP, place)


# A store that fails.


def test_a_store_that_fails_ends_the_crawl(place: str) -> None:
    """With an error that names it; what was written before can be gone on with."""

    async def work(ran: Ran) -> None:
        async def read() -> None:
            async for each in ran.begin("/0"):
                if each.url.endswith("/5"):
                    execute(place, "ALTER TABLE pages RENAME TO away")

        with pytest.raises(StoreError, match=r"crawl\.db.*pages"):
            await read()
        assert len(ran.asked) < 20
        execute(place, "ALTER TABLE away RENAME TO pages")
        await ran.go(resume=True)
        assert ran.crawl.ended == FINISHED
        assert {state for state, _ in ran.states.values()} == {"done"}

    visiting(work, lambda _: chain(30), place)


def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    """Killed in the middle, and started again: nothing is asked meanwhile, nothing is lost."""

    async def work(ran: Ran) -> None:
        async for each in ran.begin("/0"):
            if each.url.endswith("/5"):
                await asyncio.to_thread(server.kill)
                starting.append(asyncio.create_task(asyncio.to_thread(server.start)))
        assert ran.crawl.ended == FINISHED
        assert len(ran.states) == 30

    starting: list[asyncio.Task[object]] = []
    with Postgres("-c", "fsync=off") as server:
        visiting(work, lambda _: chain(30), server.database(), seconds=120.0)


def test_a_server_that_stays_away_ends_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle: an error in the end, and when it is back the crawl goes on."""
    monkeypatch.setattr(evidence_store, "PATIENCE", 1.0)

    async def work(ran: Ran) -> None:
        async def read() -> None:
            async for each in ran.begin("/0"):
                if each.url.endswith("/5"):
                    await asyncio.to_thread(server.kill)

        with pytest.raises(StoreError):
            await read()
        await asyncio.to_thread(server.start)
        await ran.go(resume=True)
        assert ran.crawl.ended == FINISHED
        assert len(ran.states) == 30

    with Postgres("-c", "fsync=off") as server:
        visiting(work, lambda _: chain(30), server.database(), seconds=120.0)


def test_leaving_a_crawl_whose_store_fails(place: str) -> None:
    """Whoever breaks out of the loop hears of it, or nobody does; nothing goes unseen."""

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin("/"))) as pages:
            async for _ in pages:
                execute(place, "ALTER TABLE urls RENAME TO away")
                break
        del pages, ran.crawl
        gc.collect()  # what went wrong, and was told to nobody, is reported now

    visiting(work, lambda _: fan(10, slow(0.05)), place)


# Whoever reads slowly.


def test_a_slow_reader_slows_the_crawl(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many pages wait for it; none is lost."""
    monkeypatch.setattr(results, "MAX_PAGES", 10)

    async def work(ran: Ran) -> None:
        async with aclosing(aiter(ran.begin(max_pages=1000))) as pages:
            await anext(pages)
            before = -1
            while before != len(ran.site.log):
                before = len(ran.site.log)
                await asyncio.sleep(0.5)
            # Those that wait, those that were under way, and what is no page.
            assert len(ran.asked) <= 1 + 10 + 2 + 1
            left = [each async for each in pages]
        assert len(left) == 200
        assert ran.crawl.ended == FINISHED

    visiting(work, lambda _: fan(200), place)


# Watching.


def test_how_far_it_is(place: str) -> None:
    """From any thread, while it runs."""

    async def work(ran: Ran) -> None:
        made = ran.begin(max_pages=50)
        assert made.view().hosts == []
        task = asyncio.create_task(collected(made))
        await until(lambda: len(started) == 2)
        view = await asyncio.to_thread(made.view)
        assert view.states["done"] == 1
        assert view.states["queued"] + view.states["leased"] == 10
        assert (view.running, view.pages) == (2, 3)
        (host,) = view.hosts
        assert (host.host, host.running) == ("127.0.0.1", 2)
        assert not view.is_stopping
        go.set()
        await task
        view = made.view()
        assert (view.states["done"], view.running, view.pages) == (11, 0, 11)
        assert view.minutes > 0

    started: list[str] = []
    go = asyncio.Event()
    visiting(work, lambda _: fan(10, held(started, go)), place)


def test_a_page_that_is_never_answered_holds_up_nobody_else(place: str) -> None:
    """It runs into its time-out, as often as it is tried."""
    ran = crawled(
        of(home=html("/hangs", "/a"), hangs=silence, a=html()),
        place,
        source="links",
        page_total_timeout=0.3,
        attempts=2,
    )
    assert ran.states == {
        "/": ("done", ""),
        "/a": ("done", ""),
        "/hangs": ("failed", "timeout"),
    }
    assert ran.asked.count("/hangs") == 2


def test_hostile_pages_do_no_harm(place: str) -> None:
    """NUL, escapes, endless titles and types, links to everywhere."""
    hostile = "\0\x1b[2J\u202e<b>" + "x" * 10_000
    body = (
        f"<title>{hostile}</title><a href='/\0\x1b.'>a</a><a href='http://[::'>b</a>"
        f"<a href='javascript:x'>c</a><a href='//'>d</a><a href='http://a.b:99999/'>e</a>"
        f"<a href='?{'y' * 1000}'>f</a>"
    )

    async def answer(call: Call) -> None:
        await call.reply(200, body.encode("utf-8"), [*HTML, ("X-Robots-Tag", "\x1b[2J")])

    async def strange(call: Call) -> None:
        await call.reply(200, b"\0\xff", [("Content-Type", "te\x1bxt/" + "z" * 5000)])

    ran = crawled(of(home=answer, **{"%EF%BF%BD%1B.": strange}), place, source="links")
    assert ran.crawl.ended == FINISHED
    assert ran.page("/%EF%BF%BD%1B.").status == 200
    for each in ran.pages:
        json.dumps(each.to_dict())
        assert each.type.isprintable()
        assert len(each.type) <= 250
