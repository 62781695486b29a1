"""How a crawl stands, as its store has it: on SQLite and on a real PostgreSQL."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from manners.crawler.crawl import Crawl
from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.values import FoundUrl, ReturnedHost
from manners.crawler.status import (
    KILLED,
    RUNNING,
    WAITING,
    Blocked,
    Status,
    crawls_of,
    status_of,
)
from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from tests.client.asking import run, settings, slow, to
from tests.crawler.results import Answer, result
from tests.crawler.site import html
from tests.faults.server import Call, Site, by_path, in_thread, page

ROOT = Path(__file__).parents[2]
SITE = "https://example.com"
ANSWER = Answer(body=b"x" * 1000, title="")
New = Callable[[], str]


async def finish(frontier: Frontier, **fates: tuple[Any, ...]) -> None:
    """Finish pages: a state, a reason, and what more there is to say."""
    await frontier.take_hosts(100, 1e9)
    hosts = sorted(frontier.owned)
    leased = [each for name in hosts for each in (await frontier.take(name, 100, 1e9)).urls]
    for each in leased:
        name = each.url.rpartition("/")[2]
        if name in fates:
            state, reason, status, *rule = fates[name]
            cause = "" if status else reason
            answer = ANSWER._replace(status=status, cause=cause) if state != "blocked" else None
            await frontier.finish(result(each, state, reason, *rule, answer=answer))


def link(path: str, kind: str = "page") -> FoundUrl:
    return FoundUrl(f"{SITE}{path}" if path.startswith("/") else path, "link", "", 1, kind=kind)


def test_everything_is_counted(store: EvidenceStore) -> None:
    """Pages by state and status, why they are blocked, sitemaps, hosts, bytes."""

    async def main() -> None:
        names = ["a", "b", "gone", "moved", "away", "bad", "c1", "c2", "n", "left", "under-way"]
        names += ["busy", "lost", "nowhere"]
        told = [link(f"/{name}") for name in names]
        told += [link("https://other.example/o"), link("/s.xml", "sitemap")]
        told += [link("https://third.example/again"), link("/slow.xml", "sitemap")]
        await frontier.add([*told, link("/later.xml", "sitemap")])
        await finish(
            frontier,
            a=("done", "", 200),
            b=("done", "", 200),
            o=("done", "", 200),
            gone=("done", "", 404),
            moved=("done", "redirect", 301),
            away=("failed", "timeout", None),
            bad=("failed", "status 500", 500),
            lost=("failed", "timeout", None),
            nowhere=("failed", "invalid redirect target", 302),
            busy=("queued", "status 429", 429),
            again=("queued", "reset", None),
            c1=("blocked", "rule-matched", None, "Disallow: /c", 3),
            c2=("blocked", "rule-matched", None, "Disallow: /c", 3),
            n=("blocked", "nofollow", None, "rel=nofollow"),
            **{"s.xml": ("done", "", 200), "slow.xml": ("queued", "status 503", 503)},
        )
        await frontier.release([ReturnedHost(name, 0.0, 0.0, 0.0) for name in frontier.owned])
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE crawls SET ended = 'interrupted', seconds = 75.5")
        hosts, _ = await frontier.take_hosts(100, 1e9)
        await frontier.take(min(hosts).name, 1, 1e9)

    frontier = Frontier(store, crawls.begin(store, [f"{SITE}/", "https://other.example/"], now=1.0))
    run(main)
    status = status_of(store)
    assert (status.crawl, status.crawls) == (frontier.crawl, 1)
    assert status.start == f"{SITE}/ https://other.example/"
    assert status.began.endswith("+00:00")
    assert (status.ended, status.seconds) == ("interrupted", 75.5)
    assert status.states == {"done": 5, "failed": 4, "blocked": 3, "queued": 4}
    assert [*status.statuses.items()] == [("200", 3), ("404", 1)]
    assert status.redirects == 1
    assert [*status.failures.items()] == [
        *(("timeout", 2), ("invalid redirect target", 1), ("status 500", 1)),
    ]
    assert status.retries == {"429": 1, "reset": 1}
    assert (status.fetched, status.remaining, status.unread, status.undecided) == (4, 4, 2, 0)
    assert sum(status.statuses.values()) == status.fetched
    assert sum(status.failures.values()) == status.states["failed"]
    assert status.blocked == [
        Blocked("rule-matched", "Disallow: /c", 3, 2),
        Blocked("nofollow", "rel=nofollow", 0, 1),
    ]
    assert (status.reasons, status.sitemaps) == (2, 1)
    assert (status.hosts, status.bytes) == (3, 13_000)
    told = json.loads(json.dumps(status.to_dict()))
    assert (told["fetched"], told["left"], told["resumable"]) == (4, 4, True)
    assert told["blocked"][0] == {
        "reason": "rule-matched",
        "rule": "Disallow: /c",
        "line": 3,
        "number": 2,
    }


def test_only_the_most_frequent_reasons_are_told(store: EvidenceStore) -> None:
    """Twenty, unless more are wanted."""

    async def main() -> None:
        await frontier.add([link(f"/{n}") for n in range(60)])
        await finish(
            frontier, **{str(n): ("blocked", f"reason {min(n, 40):02}", None) for n in range(60)}
        )

    frontier = Frontier(store, crawls.begin(store, [f"{SITE}/"], now=1.0))
    run(main)
    status = status_of(store)
    assert (len(status.blocked), status.reasons) == (20, 41)
    assert status.blocked[0] == Blocked("reason 40", "", 0, 20)
    assert len(status_of(store, max_reasons=50).blocked) == 41


@pytest.mark.parametrize(
    ("kind", "state", "reason", "is_resumable"),
    [
        ("page", "queued", "status 503", True),
        ("sitemap", "queued", "status 503", True),
        ("sitemap", "taken", "", True),
        ("page", "blocked", "unreachable", True),
        ("sitemap", "blocked", "unreachable", True),
        ("page", "blocked", "rule-matched", False),
        ("page", "failed", "timeout", False),
        ("sitemap", "done", "", False),
    ],
)
def test_whether_there_is_something_to_go_on_with(
    store: EvidenceStore, kind: str, state: str, reason: str, is_resumable: bool
) -> None:
    """As a resume sees it: pages and sitemaps to be asked for, and what could not be decided."""

    async def main() -> None:
        await frontier.add([link("/done"), link("/x", kind)])
        fate = {} if state == "taken" else {"x": (state, reason, None)}
        await finish(frontier, done=("done", "", 200), **fate)

    frontier = Frontier(store, crawls.begin(store, [f"{SITE}/"], now=1.0))
    run(main)
    status = status_of(store)
    assert status.resumable is is_resumable
    run(lambda: frontier.release([ReturnedHost("example.com", 0.0, 0.0, None)]))
    with store.writing() as connection:
        crawls.reopen(Queries(connection, frontier.crawl), {}, None, 1e9)
    hosts, _ = run(lambda: frontier.take_hosts(1, 1e9))
    assert bool(hosts) is is_resumable


def test_a_redirect_to_another_host_says_which(new: New) -> None:
    """As a link does."""
    place = new()
    pages = {"/robots.txt": page(b""), "/": html("/out"), "/out": to("http://other.example/")}
    with in_thread(Site(by_path(pages))) as site:
        list(Crawl([site.url()], settings(store=place, source="links")))
    with EvidenceStore(place) as store:
        assert status_of(store).blocked == [Blocked("other-host", "other.example", 0, 1)]


def test_the_last_crawl_is_told_or_any_other(store: EvidenceStore) -> None:
    """By its number."""
    with pytest.raises(StoreError, match="there is no crawl in it"):
        status_of(store)
    first = crawls.begin(store, [f"{SITE}/1"], now=1.0)
    second = crawls.begin(store, [f"{SITE}/2"], now=1.0)
    assert (status_of(store).crawl, status_of(store).crawls) == (second, 2)
    assert status_of(store, first).start == f"{SITE}/1"
    with pytest.raises(StoreError, match="there is no crawl 99 in it"):
        status_of(store, 99)


def test_all_crawls_are_listed_and_the_last_is_unfinished_or_not(store: EvidenceStore) -> None:
    """With what came of each; who reads needs no right to write."""

    async def main() -> None:
        await frontier.add([link("/a"), link("/moved"), link("/gone"), link("/no"), link("/left")])
        assert crawls.unfinished(store) == 0  # nothing was asked for
        await finish(
            frontier,
            a=("done", "", 200),
            moved=("done", "redirect", 301),
            gone=("failed", "status 500", 500),
            no=("blocked", "rule-matched", None),
        )

    first, discovered = (
        crawls.begin(store, [f"{SITE}/"], now=1.0),
        crawls.begin(store, ["x"], now=1.0),
    )
    frontier = Frontier(store, crawls.begin(store, [f"{SITE}/2"], now=1.0))

    def forget(connection: Any, items: Any) -> Any:
        connection.exec_driver_sql(f"UPDATE crawls SET command = 'x' WHERE id = {discovered}")
        return items

    store.write_blocking(forget, None)
    asyncio.run(main())
    assert crawls.unfinished(store) == frontier.crawl
    place = store.engine.url.render_as_string(hide_password=False)
    with EvidenceStore(place, readonly=True) as reader:
        one, two = crawls_of(reader)
    never = KILLED if store.is_sqlite else WAITING  # nobody has begun to work on it
    assert (one.crawl, one.start, one.ended, one.remaining) == (first, f"{SITE}/", never, 0)
    assert two[:2] == (frontier.crawl, f"{SITE}/2")
    assert (two.fetched, two.failed, two.blocked, two.remaining, two.unread) == (1, 1, 1, 1, 0)


def test_an_empty_crawl_has_a_status(store: EvidenceStore) -> None:
    """Of nothing."""
    crawls.begin(store, [f"{SITE}/"], now=1.0)
    status = status_of(store)
    assert (status.states, status.statuses, status.blocked) == ({}, {}, [])
    assert (status.fetched, status.remaining, status.hosts, status.bytes) == (0, 0, 0, 0)
    never = KILLED if store.is_sqlite else WAITING  # it was killed before it began
    assert (status.ended, status.resumable) == (never, True)


def test_a_crawl_that_runs_says_so(new: New) -> None:
    """While it runs, and to look does not disturb it; then it says why it ended."""

    async def main() -> None:
        looked = asyncio.Event()

        async def last(call: Call) -> None:
            await call.request()
            await looked.wait()
            await html()(call)

        pages = {"/robots.txt": page(b""), **{f"/{n}": html(f"/{n + 1}") for n in range(5)}}
        async with Site(by_path({**pages, "/5": last})) as site:
            made = Crawl([site.url(path="/0")], settings(store=place))
            seen = 0
            async for _ in made:
                seen += 1
                if seen < 5:
                    assert (await asyncio.to_thread(look)).ended == RUNNING
                else:
                    looked.set()
            assert made.ended == "finished"
        status = look()
        assert (status.ended, status.fetched, status.remaining) == ("finished", 6, 0)

    def look() -> Status:
        with EvidenceStore(place, create=False) as store:
            return status_of(store)

    place = new()
    run(main)


CRAWL = """
import sys
from manners.crawler.crawl import crawl
its = dict(store=sys.argv[2], allow_private=True, min_delay=0.0, max_delay=0.0)
its["worker_lease"] = 10.0
for page in crawl([sys.argv[1]], adaptive_factor=0.0, **its):
    print(page.url, flush=True)
"""


def test_a_crawl_that_was_killed_says_so(new: New) -> None:
    """It runs, it is killed, it goes on; what was leased then is left to be asked for."""
    place = new()
    pages = {"/robots.txt": page(b""), "/": html(*(f"/{n}" for n in range(30)))}
    with in_thread(Site(by_path(pages, slow(0.2)))) as site:
        with subprocess.Popen(
            [sys.executable, "-c", CRAWL, site.url(), place],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            process.stdout.readline()
            with EvidenceStore(place) as store:
                assert status_of(store).ended == RUNNING
            os.kill(process.pid, signal.SIGKILL)
        with EvidenceStore(place) as store:
            until = time.monotonic() + 60.0
            while (status := status_of(store)).ended == RUNNING and not store.is_sqlite:
                assert time.monotonic() < until  # its lease ends some time
                time.sleep(0.1)
            assert status.ended == KILLED
            assert status.remaining + status.states["done"] == 31
            assert status_of(store).ended == KILLED  # looking changes nothing
        again = Crawl([], settings(store=place, concurrency=20, worker_lease=10.0), resume=True)
        assert len(list(again)) == status.remaining
        with EvidenceStore(place) as store:
            assert status_of(store).ended == "finished"
