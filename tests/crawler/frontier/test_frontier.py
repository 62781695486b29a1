"""The frontier: one contract, on SQLite and on a real PostgreSQL."""

import asyncio
import hashlib
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, inspect, select

from manners.crawler.frontier import crawls, tables
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.statements import PAGE_COLUMNS
from manners.crawler.frontier.values import (
    FetchResult,
    FoundUrl,
    LeasedUrl,
    OwnedHost,
    ReturnedHost,
)
from manners.crawler.frontier.ways import Limits
from manners.crawler.inventory import found_urls
from manners.crawler.judge import Judge
from manners.crawler.reasons import (
    DEPTH,
    NO_ROOM,
    NOFOLLOW,
    NOT_NAMED,
    OTHER_HOST,
    REDIRECT,
    TOO_MANY_HOPS,
)
from manners.crawler.traps import Traps, form_of
from manners.errors import InvalidURL, StoreError
from manners.evidence.store import EvidenceStore
from manners.settings import Settings
from manners.store import schema
from tests.client.asking import run
from tests.crawler import discoveries
from tests.crawler.frontier.checks import check
from tests.crawler.frontier.graphs import BESIDE, NODES, Edges, Model, made_up
from tests.crawler.results import Answer, result
from tests.evidence.places import execute
from tests.sizes import examples

ROOT = Path(__file__).parents[3]
SITE = "https://example.com"
ANSWER = Answer()
New = Callable[[], str]


def made(store: EvidenceStore, **how: Any) -> Frontier:
    """The frontier of a new crawl."""
    return Frontier(store, crawls.begin(store, [f"{SITE}/"], now=1.0), **limited(how))


def limited(how: dict[str, Any]) -> dict[str, Any]:
    """With `max_depth` where it belongs."""
    return {"limits": Limits(how.pop("max_depth", None)), **how}


def again(frontier: Frontier, told: Mapping[str, Any] | None = None, **how: Any) -> Frontier:
    """The same crawl, gone on with when whoever worked on it is gone."""
    arguments = limited(how)

    def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
        queries = Queries(connection, frontier.crawl)
        queries.release_hosts(frontier.worker, map(idle, frontier.owned))
        crawls.reopen(queries, told or {}, arguments["limits"].max_depth, 0.0)
        return items

    frontier.store.write_blocking(job, None)
    check(frontier)
    return Frontier(frontier.store, frontier.crawl, **arguments)


def idle(name: str) -> ReturnedHost:
    """A host that is handed back, with nothing to ask it for that anybody knows of."""
    return ReturnedHost(name, 0.0, 0.0, None)


def url(path: str) -> str:
    return path if "://" in path else f"{SITE}{path}"


def link(path: str, depth: int = 1, **more: Any) -> FoundUrl:
    return FoundUrl(url(path), "link", f"{SITE}/", depth, **more)


def start(path: str = "/") -> FoundUrl:
    return FoundUrl(url(path), "start", "", 0, 1.0)


def rows(frontier: Frontier) -> dict[str, Any]:
    """What the store has of each URL, by its path where it is the site's."""
    with frontier.store.reading() as connection:
        query = tables.urls.select().where(tables.urls.c.crawl == frontier.crawl)
        found = connection.execute(query).all()
    return {row.url.removeprefix(SITE): row for row in found}


def states(frontier: Frontier) -> dict[str, tuple[str, str]]:
    return {path: (row.state, row.reason) for path, row in rows(frontier).items()}


async def taken(frontier: Frontier, most: int = 100, now: float = 1e9) -> dict[str, LeasedUrl]:
    """All that may be asked for, leased, by path."""
    found: list[LeasedUrl] = []
    await frontier.take_hosts(1_000, now)
    for name in sorted(frontier.owned):
        found += (await frontier.take(name, most, now)).urls
    return {each.url.removeprefix(SITE): each for each in found}


def waiting(frontier: Frontier) -> dict[str, float]:
    """The hosts with queued URLs, and when the first of each may be fetched."""
    found: dict[str, float] = {}
    for row in rows(frontier).values():
        if row.state == "queued":
            found[row.host] = min(row.not_before, found.get(row.host, row.not_before))
    return found


def by_state(frontier: Frontier) -> dict[tuple[str, str], int]:
    """How many URLs there are, by kind and state, as the crawl has counted."""
    known = ("queued", "done", "failed", "blocked", "kept")
    found = frontier.counted()
    return {key: number for key, number in found.items() if key[1] in known and number}


def pages_used(frontier: Frontier) -> int:
    """How many requests for pages count for the budget."""
    return frontier.counted()["page", "attempts"]


def paces(frontier: Frontier) -> dict[str, tuple[float | None, float]]:
    """The delay of each host, and when it may be requested again."""
    with frontier.store.reading() as connection:
        query = tables.hosts.select().where(tables.hosts.c.crawl == frontier.crawl)
        return {row.host: (row.delay, row.not_before) for row in connection.execute(query)}


def done(
    asked: LeasedUrl, *paths: str, targets: Sequence[str] | None = None, **more: Any
) -> FetchResult:
    """A page that was fetched, and leads to others."""
    named = [link(path, asked.depth + 1) for path in paths]
    follow = [url(path) for path in (paths if targets is None else targets)]
    given: dict[str, Any] = {"attempts": 1, "answer": ANSWER, **more}
    return result(asked, "done", found=named, targets=follow, **given)


def moved(asked: LeasedUrl, path: str, **more: Any) -> FetchResult:
    """A page that is elsewhere."""
    target = FoundUrl(url(path), "redirect", asked.url, asked.depth, hops=asked.hops + 1, **more)
    answer = ANSWER._replace(status=301, location=url(path))
    targets = [] if more.get("reason") else [url(path)]
    return result(asked, "done", REDIRECT, answer=answer, found=[target], targets=targets)


async def walk(frontier: Frontier, *steps: tuple[str, Sequence[str]]) -> None:
    """Finish pages that are queued, one after the other, with what each leads to."""
    for path, paths in steps:
        leased = await taken(frontier)
        await frontier.finish(done(leased.pop(path), *paths))
        await frontier.release([idle(name) for name in frontier.owned])  # nobody fetches the others


# The verbs.


def test_a_url_stays_queued_until_it_is_done(store: EvidenceStore) -> None:
    """It is given out once, and the store has every word of the way."""

    async def main() -> None:
        frontier = made(store)
        change = await frontier.add([start()])
        assert (change.has_new_hosts, dict(change.states)) == (True, {"queued": 1})
        assert change.hosts == change.to_wake == frozenset()
        hosts, more_at = await frontier.take_hosts(10, now=5.0)
        assert (hosts, more_at) == ([OwnedHost("example.com", 1, None, 0.0)], None)
        assert waiting(frontier) == {"example.com": 0.0}
        assert states(frontier) == {"/": ("queued", "")}
        found = await frontier.take("example.com", 10, now=5.0)
        assert found.urls == (
            LeasedUrl(f"{SITE}/", "example.com", "page", "start", "", 0, 0, 1.0, 0),
        )
        assert found.more_at is None
        assert states(frontier) == {"/": ("queued", "")}
        assert await frontier.take("example.com", 10, now=5.0) == ((), None)
        change = await frontier.finish(
            done(found.urls[0], "/a", evidence=7, pace=(0.3, 12.5), rule="r", line=3)
        )
        assert change.hosts == {"example.com"}
        assert Counter(change.states) == {"leased": -1, "done": 1, "queued": 1}
        home, a = rows(frontier)["/"], rows(frontier)["/a"]
        assert (home.state, home.reason, home.rule, home.line) == ("done", "", "r", 3)
        assert (home.status, home.attempts, home.evidence) == (200, 1, 7)
        assert (a.state, a.source, a.found_in, a.depth) == ("queued", "link", f"{SITE}/", 1)
        assert paces(frontier) == {"example.com": (0.3, 12.5)}
        with store.reading() as connection:
            names = [tables.pages.c[name] for name in PAGE_COLUMNS]
            row = connection.execute(select(*names)).one()
        sha256 = hashlib.sha256(b"hello").hexdigest()
        assert tuple(row) == (
            *(200, "", "text/html", 5, sha256, "A title", 2, "", 1.5, 0.25, 0.5, 0.3, "[]"),
        )
        assert by_state(frontier) == {("page", "done"): 1, ("page", "queued"): 1}
        assert pages_used(frontier) == 1

    run(main)


def test_a_finished_page_is_not_queued_again(store: EvidenceStore) -> None:
    """Whoever names it."""

    async def main() -> None:
        frontier = made(store, max_depth=3)
        await frontier.add([start()])
        leased = await taken(frontier)
        await frontier.finish(done(leased["/"], "/"))
        await frontier.add([start(), link("/", 1), link("/", 0, reason=NOFOLLOW)])
        assert states(frontier) == {"/": ("done", "")}
        assert waiting(frontier) == {}

    run(main)


def test_what_comes_first(store: EvidenceStore) -> None:
    """By priority, by depth, by when it was found; whatever order the database likes."""

    async def main() -> None:
        frontier = made(store)
        told = [
            link("/c", 1), link("/b", 1), link("/deep", 2), link("/a", 1),
            link("/first", 9, priority=2.0), link("/last", 1, priority=0.1),
            link("/e", 1), link("/d", 1, priority=0.8),
        ]  # fmt: skip
        await frontier.add(told[:4])
        await frontier.add(told[4:])
        found = await frontier.take("example.com", 3, 0.0)
        assert [each.url.removeprefix(SITE) for each in found.urls] == ["/first", "/d", "/c"]
        assert found.more_at == 0.0
        found = await frontier.take("example.com", 100, 0.0)
        assert [each.url.removeprefix(SITE) for each in found.urls] == [
            "/b", "/a", "/e", "/deep", "/last",
        ]  # fmt: skip

    run(main)


def test_what_was_found_later_comes_later_after_a_resume_too(store: EvidenceStore) -> None:
    """The count goes on."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/z"), link("/y")])
        frontier = again(frontier)
        await frontier.add([link("/a")])
        assert list(await taken(frontier)) == ["/z", "/y", "/a"]

    run(main)


def test_hosts_are_told_apart(store: EvidenceStore) -> None:
    """Each has its own; ports and schemes of one host are one."""

    async def main() -> None:
        frontier = made(store)
        told = ("https://a.example/", "http://a.example:8080/", "https://b.example/")
        change = await frontier.add([link(each) for each in told])
        assert change.has_new_hosts
        assert set(waiting(frontier)) == {"a.example", "b.example"}
        hosts, _ = await frontier.take_hosts(10, 0.0)
        assert {host.name for host in hosts} == {"a.example", "b.example"}
        assert len((await frontier.take("a.example", 10, 0.0)).urls) == 2
        assert len((await frontier.take("b.example", 10, 0.0)).urls) == 1
        assert (await frontier.take("nobody.example", 10, 0.0)) == ((), None)

    run(main)


def test_crawls_of_one_store_do_not_see_each_other(store: EvidenceStore) -> None:
    """Nor does a discovery count as a crawl."""

    async def main() -> None:
        first = made(store)
        await first.add([start(), link("/a")])
        discovery = discoveries.begin(store)
        await discovery.add([FoundUrl(f"{SITE}/d", "sitemap", "", 1, to_fetch=False)])
        assert states(discovery) == {"/d": ("kept", "")}
        assert crawls.latest(store) == first.crawl
        second = made(store)
        assert crawls.latest(store) == second.crawl > first.crawl
        assert waiting(second) == {}
        await second.add([link("/a")])
        assert list(await taken(second)) == ["/a"]
        assert states(first) == {"/": ("queued", ""), "/a": ("queued", "")}
        with pytest.raises(StoreError, match="there is no crawl 99"):
            Frontier(store, 99)

    run(main)


def test_what_happens_at_once_is_told_once(store: EvidenceStore) -> None:
    """Steps that go to the disk together: whoever adds up what each was told has it all."""

    async def main() -> None:
        frontier = made(store, max_depth=4)
        await frontier.add([start()])
        home = (await taken(frontier))["/"]
        await frontier.finish(done(home, *(f"/{n}" for n in range(40))))
        leased = await taken(frontier)
        counted: Counter[str] = Counter()
        steps = [frontier.finish(done(each, "/x", f"{path}/y")) for path, each in leased.items()]
        adding = [frontier.add([link(f"/z{n % 3}", 2)]) for n in range(9)]
        changes = await asyncio.gather(*steps, *adding)
        for change in changes:
            counted.update(change.states)
        assert counted == {"leased": -40, "done": 40, "queued": 1 + 40 + 3}
        assert {name for change in changes for name in change.hosts} == {"example.com"}

    run(main)


# Depth.


def test_the_smallest_depth_counts(store: EvidenceStore) -> None:
    """In whichever order it becomes known; and the highest priority."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/a", 3), link("/b", 1, priority=0.9), link("/a", 2)])
        await frontier.add([link("/a", 1, priority=0.7), link("/b", 4)])
        await frontier.add([link("/a", 5)])
        found = {path: (row.depth, row.priority) for path, row in rows(frontier).items()}
        assert found == {"/a": (1, 0.7), "/b": (1, 0.9)}

    run(main)


def test_what_is_too_deep_is_blocked_and_a_shorter_way_reopens_it(store: EvidenceStore) -> None:
    """At once, when the shorter way is found."""

    async def main() -> None:
        frontier = made(store, max_depth=2)
        change = await frontier.add([link("/a", 3), link("/b", 4)])
        assert (change.has_new_hosts, change.states) == (False, {"blocked": 2})
        assert states(frontier) == {"/a": ("blocked", DEPTH), "/b": ("blocked", DEPTH)}
        change = await frontier.add([link("/a", 2), link("/b", 3)])
        assert change.has_new_hosts
        assert Counter(change.states) == {"blocked": -1, "queued": 1}
        assert states(frontier) == {"/a": ("queued", ""), "/b": ("blocked", DEPTH)}
        assert {path: row.depth for path, row in rows(frontier).items()} == {"/a": 2, "/b": 3}

    run(main)


def test_depth_does_not_cut_sitemaps(store: EvidenceStore) -> None:
    """They have a limit of their own."""

    async def main() -> None:
        frontier = made(store, max_depth=0)
        await frontier.add([link("/s.xml", 5, kind="sitemap"), start(), link("/a", 1)])
        assert states(frontier) == {
            "/s.xml": ("queued", ""),
            "/": ("queued", ""),
            "/a": ("blocked", DEPTH),
        }

    run(main)


def test_a_shorter_way_goes_through_pages_that_are_done(store: EvidenceStore) -> None:
    """What they lead to is less deep, too, as far as it goes; what was cut is queued."""

    async def main() -> None:
        frontier = made(store, max_depth=4)
        await frontier.add([start()])
        await walk(
            frontier,
            ("/", ["/1", "/short"]),
            ("/1", ["/2"]),
            ("/2", ["/3"]),
            ("/3", ["/4"]),
            ("/4", ["/5", "/"]),
        )
        assert states(frontier)["/5"] == ("blocked", DEPTH)
        leased = await taken(frontier)
        change = await frontier.finish(done(leased["/short"], "/3"))
        assert change.hosts == {"example.com"}
        assert Counter(change.states) == {"leased": -1, "done": 1, "blocked": -1, "queued": 1}
        found = {path: row.depth for path, row in rows(frontier).items()}
        assert found == {"/": 0, "/1": 1, "/2": 2, "/short": 1, "/3": 2, "/4": 3, "/5": 4}
        assert list(await taken(frontier)) == ["/5"]

    run(main)


def test_a_shorter_way_goes_through_redirects(store: EvidenceStore) -> None:
    """Which make nothing deeper."""

    async def main() -> None:
        frontier = made(store, max_depth=3)
        await frontier.add([start()])
        await walk(frontier, ("/", ["/1", "/short"]), ("/1", ["/2"]), ("/2", ["/moved"]))
        leased = await taken(frontier)
        await frontier.finish(moved(leased["/moved"], "/3"))
        leased |= await taken(frontier)
        assert (leased["/3"].depth, leased["/3"].hops) == (3, 1)
        await frontier.finish(done(leased["/3"], "/4"))
        assert states(frontier)["/4"] == ("blocked", DEPTH)
        await frontier.finish(done(leased["/short"], "/moved"))
        assert {path: rows(frontier)[path].depth for path in ("/moved", "/3", "/4")} == {
            "/moved": 2,
            "/3": 2,
            "/4": 3,
        }
        assert states(frontier)["/4"] == ("queued", "")

    run(main)


def test_a_shorter_way_is_found_while_a_page_is_being_asked_for(store: EvidenceStore) -> None:
    """What it leads to counts from the shorter way."""

    async def main() -> None:
        frontier = made(store, max_depth=3)
        await frontier.add([start()])
        await walk(frontier, ("/", ["/1", "/short"]), ("/1", ["/2"]), ("/2", ["/3"]))
        leased = await taken(frontier)
        assert leased["/3"].depth == 3
        await frontier.finish(done(leased["/short"], "/3"))
        await frontier.finish(done(leased["/3"], "/4"))
        assert {path: rows(frontier)[path].depth for path in ("/3", "/4")} == {"/3": 2, "/4": 3}
        assert states(frontier)["/4"] == ("queued", "")

    run(main)


def test_a_shorter_way_to_a_redirect_that_is_being_asked_for(store: EvidenceStore) -> None:
    """The same for where it leads to."""

    async def main() -> None:
        frontier = made(store, max_depth=2)
        await frontier.add([start(), link("/moved", 2)])
        leased = await taken(frontier)
        await frontier.finish(done(leased["/"], "/moved"))
        await frontier.finish(moved(leased["/moved"], "/there"))
        assert rows(frontier)["/there"].depth == 1

    run(main)


def test_loops_do_not_make_a_shorter_way_endless(store: EvidenceStore) -> None:
    """Pages that lead to each other, to themselves, and back to the start."""

    async def main() -> None:
        frontier = made(store, max_depth=9)
        await frontier.add([start(), link("/a", 7)])
        leased = await taken(frontier)
        await frontier.finish(done(leased["/a"], "/a", "/b"))
        await frontier.finish(done((await taken(frontier))["/b"], "/a", "/b", "/"))
        await frontier.finish(done(leased["/"], "/a", "/"))
        found = {path: row.depth for path, row in rows(frontier).items()}
        assert found == {"/": 0, "/a": 1, "/b": 2}

    run(main)


def test_a_page_that_failed_leads_nowhere(store: EvidenceStore) -> None:
    """It may be nearer, and nothing breaks."""

    async def main() -> None:
        frontier = made(store, max_depth=3)
        await frontier.add([link("/a", 3)])
        asked = (await taken(frontier))["/a"]
        answer = ANSWER._replace(status=None, cause="timeout")
        await frontier.finish(result(asked, "failed", "timeout", attempts=3, answer=answer))
        await frontier.add([link("/a", 1)])
        assert states(frontier) == {"/a": ("failed", "timeout")}
        assert pages_used(frontier) == 3

    run(main)


def test_a_change_of_the_limit_counts_when_it_goes_on(store: EvidenceStore) -> None:
    """Both ways: what is too deep now, and what no longer is."""

    async def main() -> None:
        frontier = made(store, max_depth=2)
        await frontier.add([link(f"/{depth}", depth) for depth in (1, 2, 3, 4)])
        frontier = again(frontier, max_depth=1)
        assert {path: state for path, (state, _) in states(frontier).items()} == {
            "/1": "queued", "/2": "blocked", "/3": "blocked", "/4": "blocked",
        }  # fmt: skip
        frontier = again(frontier, max_depth=3)
        assert {path: state for path, (state, _) in states(frontier).items()} == {
            "/1": "queued", "/2": "queued", "/3": "queued", "/4": "blocked",
        }  # fmt: skip
        frontier = again(frontier)
        assert set(states(frontier).values()) == {("queued", "")}

    run(main)


def test_what_was_being_asked_for_is_cut_by_a_lower_limit_too(store: EvidenceStore) -> None:
    """It is queued again, and then it is too deep."""

    async def main() -> None:
        frontier = made(store, max_depth=5)
        await frontier.add([link("/1", 1), link("/4", 4), link("/away", 4)])
        leased = await taken(frontier)
        await frontier.finish(result(leased["/away"], "blocked", "unreachable"))
        frontier = again(frontier, max_depth=2)
        assert states(frontier) == {
            "/1": ("queued", ""),
            "/4": ("blocked", DEPTH),
            "/away": ("blocked", DEPTH),
        }

    run(main)


# Ways that count, and ways that do not.


@pytest.mark.parametrize("reason", [OTHER_HOST, NOT_NAMED, NOFOLLOW, TOO_MANY_HOPS])
def test_a_way_that_may_be_followed_is_better(store: EvidenceStore, reason: str) -> None:
    """Whichever is found first; and its depth is the one that counts."""

    async def main() -> None:
        frontier = made(store, max_depth=5)
        await frontier.add([link("/a", 1, reason=reason, rule="r"), link("/b", 3)])
        assert states(frontier)["/a"] == ("blocked", reason)
        assert rows(frontier)["/a"].rule == "r"
        await frontier.add([link("/a", 3), link("/b", 1, reason=reason, rule="r")])
        for path in ("/a", "/b"):
            row = rows(frontier)[path]
            assert (row.state, row.reason, row.rule, row.depth) == ("queued", "", "", 3), path
        assert set(await taken(frontier)) == {"/a", "/b"}

    run(main)


def test_the_best_of_several_reasons_is_told(store: EvidenceStore) -> None:
    """In whichever order they come."""

    async def main() -> None:
        frontier = made(store, max_depth=1)
        told = [link("/a", 1, reason=each) for each in (OTHER_HOST, NOFOLLOW)] + [link("/a", 7)]
        for seed in range(10):
            mixed = random.Random(seed).sample(told, 3)
            await frontier.add([each._replace(url=url(f"/{seed}")) for each in mixed])
        assert set(states(frontier).values()) == {("blocked", DEPTH)}
        assert {row.depth for row in rows(frontier).values()} == {7}

    run(main)


def test_hard_reasons_stay(store: EvidenceStore) -> None:
    """What robots.txt, an exclusion or a trap says is about the URL itself."""

    async def main() -> None:
        def judge(found: FoundUrl, _: str) -> tuple[str, str, None]:
            return ("trap: x", "3", None) if "trap" in found.url else ("", "", None)

        frontier = made(store, judge=judge)
        reasons = ("rule-matched", "excluded", "not-included", "unreachable", "invalid-url")
        await frontier.add([link(f"/{each}", 2) for each in reasons])
        for path, asked in (await taken(frontier)).items():
            await frontier.finish(result(asked, "blocked", path[1:], "Disallow: /", 4))
        await frontier.add([link("/trap", 2)])
        await frontier.add([link(path, 1) for path in ("/trap", *(f"/{r}" for r in reasons))])
        expected = {f"/{each}": ("blocked", each) for each in reasons}
        assert states(frontier) == {**expected, "/trap": ("blocked", "trap: x")}
        row = rows(frontier)["/rule-matched"]
        assert (row.rule, row.line) == ("Disallow: /", 4)
        assert waiting(frontier) == {}

    run(main)


def test_who_is_judged(store: EvidenceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be fetched counts among those alike, once; what starts a crawl is never a trap."""

    async def main() -> None:
        asked: list[str] = []
        monkeypatch.setattr(Traps, "look", lambda _, url: asked.append(url.removeprefix(SITE)))

        def counted() -> dict[str, int]:
            names = {form_of(url(path)): path for path in ("/a/1", "/b/1", "/deep/1")}
            with store.reading() as connection:
                found = connection.execute(tables.forms.select()).all()
            return {names[row.form]: row.number for row in found}

        frontier = made(store, judge=Judge(Settings(), None).by_form, max_depth=2)
        await frontier.add([start("/0"), link("/a/1", 1), link("/b/1", 1, reason=NOFOLLOW)])
        await frontier.add([link("/a/1", 1), link("/other/1", 1, reason=OTHER_HOST)])
        await frontier.add([FoundUrl(url("/s/1"), "sitemap", "", 1), link("/deep/1", 3)])
        assert asked == ["/a/1", "/b/1", "/s/1", "/deep/1"]
        assert counted() == {"/a/1": 1}
        asked.clear()
        await frontier.add([link("/b/1", 2), link("/deep/1", 2)])
        assert asked == ["/b/1", "/deep/1"]
        assert counted() == {"/a/1": 1, "/b/1": 1, "/deep/1": 1}
        await frontier.add([link("/b/1", 1), link("/a/2", 1), link("/a/2", 1, reason=NOFOLLOW)])
        assert counted() == {"/a/1": 2, "/b/1": 1, "/deep/1": 1}

    run(main)


def test_hops_of_redirects_add_up(store: EvidenceStore) -> None:
    """A way without any is the better one."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/0")])
        for number in range(3):
            asked = (await taken(frontier))[f"/{number}"]
            assert asked.hops == number
            await frontier.finish(moved(asked, f"/{number + 1}"))
        found = rows(frontier)
        assert {path: row.hops for path, row in found.items()} == {
            "/0": 0, "/1": 1, "/2": 2, "/3": 3,
        }  # fmt: skip
        assert {row.depth for row in found.values()} == {1}
        assert found["/3"].source == "redirect"
        await frontier.add([link("/3")])
        assert rows(frontier)["/3"].hops == 0

    run(main)


@pytest.mark.parametrize("is_limited", [True, False])
def test_fewer_redirects_reopen_what_was_too_far(store: EvidenceStore, is_limited: bool) -> None:
    """The outcome does not depend on which way is found first."""

    async def main() -> None:
        frontier = made(store, max_depth=5 if is_limited else None)
        await frontier.add([link("/last", hops=10), link("/page")])
        leased = await taken(frontier)
        await frontier.finish(moved(leased["/last"], "/there", reason=TOO_MANY_HOPS))
        assert states(frontier)["/there"] == ("blocked", TOO_MANY_HOPS)
        await frontier.finish(done(leased["/page"], "/last"))  # a link: the first of one hop
        assert states(frontier)["/there"] == ("queued", "")

    run(main)


# Trying again.


def test_what_is_tried_again_waits_for_its_time(store: EvidenceStore) -> None:
    """It is not given out before; whoever asks is told when."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/a"), link("/b")])
        leased = await taken(frontier)
        change = await frontier.finish(
            result(leased["/a"], "queued", "status 500", attempts=1, not_before=100.0)
        )
        assert change.hosts == {"example.com"}
        assert Counter(change.states) == {"leased": -1, "queued": 1}
        assert await frontier.take("example.com", 10, 99.9) == ((), 100.0)
        await frontier.finish(done(leased["/b"], "/c"))
        assert waiting(frontier) == {"example.com": 0.0}
        found = await frontier.take("example.com", 10, 99.9)
        assert [each.url for each in found.urls] == [f"{SITE}/c"]
        assert found.more_at == 100.0
        found = await frontier.take("example.com", 10, 100.0)
        assert [(each.url, each.attempts) for each in found.urls] == [(f"{SITE}/a", 1)]
        assert pages_used(frontier) == 2

    run(main)


def test_answers_before_the_last_are_kept_apart(store: EvidenceStore) -> None:
    """A page has one answer, and what came of earlier tries is not lost; nor on a resume."""

    def kept(table: Table) -> list[tuple[int | None, str, float]]:
        with store.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.started))
            return [(row.status, row.cause, row.started) for row in rows]

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/a")])
        for number, (status, cause) in enumerate([(429, ""), (None, "time\0out")], 1):
            leased = await taken(again(frontier) if number == 2 else frontier)
            answer = ANSWER._replace(status=status, cause=cause, started=float(number))
            await frontier.finish(
                result(leased["/a"], "queued", "why", attempts=number, answer=answer)
            )
            assert kept(tables.pages) == []
        leased = await taken(frontier)
        await frontier.finish(result(leased["/a"], "done", attempts=3, answer=ANSWER))
        assert kept(tables.retries) == [(429, "", 1.0), (None, "time\ufffdout", 2.0)]
        assert kept(tables.pages) == [(200, "", ANSWER.started)]

    run(main)


# Going on.


def test_what_was_being_fetched_is_given_out_again(store: EvidenceStore) -> None:
    """When the crawl ends, and when one goes on that was killed; what is settled stays so."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link(f"/{n}") for n in range(6)])
        leased = list((await taken(frontier, 4)).values())
        await frontier.finish(done(leased[0]))
        await frontier.finish(result(leased[1], "failed", "status 500", attempts=3))
        await frontier.finish(result(leased[2], "blocked", "rule-matched", "Disallow: /2", 1))
        expected = {
            "/0": ("done", ""), "/1": ("failed", "status 500"), "/2": ("blocked", "rule-matched"),
            "/3": ("queued", ""), "/4": ("queued", ""), "/5": ("queued", ""),
        }  # fmt: skip
        assert states(frontier) == expected
        assert set(await taken(frontier)) == {"/4", "/5"}
        frontier = again(frontier)
        assert set(await taken(frontier)) == {"/3", "/4", "/5"}
        assert await taken(frontier) == {}
        assert await frontier.release([idle("example.com")]) == 3
        assert frontier.owned == set()
        assert set(await taken(frontier)) == {"/3", "/4", "/5"}
        assert states(frontier) == expected

    run(main)


def test_what_could_not_be_decided_is_tried_again(store: EvidenceStore) -> None:
    """By whoever goes on: the robots.txt may be there now."""

    async def main() -> None:
        frontier = made(store)
        await frontier.add([link("/a"), link("/s.xml", kind="sitemap")])
        for asked in (await taken(frontier)).values():
            await frontier.finish(result(asked, "blocked", "unreachable", "r", 5))
        frontier = again(frontier)
        for row in rows(frontier).values():
            assert (row.state, row.reason, row.rule, row.line) == ("queued", "", "", 0)

    run(main)


def test_what_a_crawl_was_told_is_kept(store: EvidenceStore) -> None:
    """And changed by whoever goes on with it, for the next."""
    assert crawls.stored_settings(store) == {}
    first = crawls.begin(store, [f"{SITE}/", "https://b.example/"], {"max_pages": 5}, now=1.0)
    with store.reading() as connection:
        row = connection.execute(tables.crawls.select()).one()
    assert (row.start, row.command) == (f"{SITE}/ https://b.example/", "crawl")
    assert crawls.stored_settings(store) == {"max_pages": 5}
    again(Frontier(store, first), {"max_pages": 9, "exclude": ["/é"]})
    assert crawls.stored_settings(store) == {"max_pages": 9, "exclude": ["/é"]}
    crawls.begin(store, [f"{SITE}/"], now=1.0)
    assert crawls.stored_settings(store) == {}


# Limits.


def test_there_is_room_for_so_many(store: EvidenceStore) -> None:
    """What is beyond is left out, and that is told; known ones are not counted again."""

    async def main() -> None:
        frontier = made(store, max_urls=3, max_sitemaps=1)
        change = await frontier.add([link("/a"), link("/b"), link("/a")])
        assert not change.is_cut
        change = await frontier.add([link("/b"), link("/c"), link("/d")])
        assert change.is_cut
        change = await frontier.add([link("/s.xml", kind="sitemap")])
        assert not change.is_cut
        change = await frontier.add([link("/t.xml", kind="sitemap")])
        assert change.is_cut
        assert set(rows(frontier)) == {"/a", "/b", "/c", "/s.xml"}
        frontier = again(frontier, max_urls=4, max_sitemaps=2)
        change = await frontier.add(
            [link("/d"), link("/e"), link("/t.xml", kind="sitemap"), link("/u", kind="sitemap")]
        )
        assert change.is_cut
        assert set(rows(frontier)) == {"/a", "/b", "/c", "/d", "/s.xml", "/t.xml"}
        change = await frontier.add([link("/a", 0), link("/b")])
        assert not change.is_cut

    run(main)


A, B = "https://a.example", "https://b.example"


def on(site: str, *paths: str, **more: Any) -> list[FoundUrl]:
    return [link(site + path, **more) for path in paths]


def numbered(first: int, last: int) -> list[str]:
    return [f"/{each}" for each in range(first, last)]


def test_who_has_most_gives_way(store: EvidenceStore) -> None:
    """One host fills the room; each URL of another takes the place of its worst."""

    async def main() -> None:
        frontier = made(store, max_urls=12)
        await frontier.add(on(A, *numbered(0, 10)) + on(A, "/first", priority=0.9))
        change = await frontier.add(on(B, "/0"))
        assert not change.is_cut
        change = await frontier.add(on(B, "/1", "/2"))
        assert change.is_cut
        assert change.states == {"queued": 2 - 2, "blocked": 2}
        assert change.hosts == frozenset()
        assert change.to_wake == {"b.example"}
        found = rows(frontier)
        assert {found[f"{A}/{each}"].rule for each in (8, 9)} == {"max_discovered = 12"}
        assert states(frontier)[f"{A}/9"] == ("blocked", NO_ROOM)
        assert states(frontier)[f"{A}/7"] == states(frontier)[f"{A}/first"] == ("queued", "")
        # Both have six then, and whoever names more loses it.
        await frontier.add(on(B, *numbered(3, 9)))
        await frontier.add(on(A, *numbered(20, 30)))
        names = Counter(row.host for row in rows(frontier).values() if row.state == "queued")
        assert names == {"a.example": 6, "b.example": 6}
        assert len(rows(frontier)) == 12 + 5  # what is dropped stays, but for what was new
        assert frontier.is_cut

    run(main)


def test_the_worst_of_a_host_is_dropped_first(store: EvidenceStore) -> None:
    """By priority, then by depth, then by when it came: what would be asked for last."""

    async def main() -> None:
        frontier = made(store, max_urls=8)
        await frontier.add(on(A, "/low", priority=0.1) + on(A, "/deep", depth=5))
        await frontier.add(on(A, "/old", "/new", depth=2) + on(A, *numbered(0, 3), priority=0.9))
        lost = [set[str]()]
        for path in numbered(0, 4):
            await frontier.add(on(B, path))
            found = {each for each, fate in states(frontier).items() if fate[1] == NO_ROOM}
            lost.append({each.removeprefix(A) for each in found})
        assert lost == [set(), set(), {"/low"}, {"/low", "/deep"}, {"/low", "/deep", "/new"}]

    run(main)


def test_what_is_done_or_under_way_is_not_dropped(store: EvidenceStore) -> None:
    """A host has its share of the room all the same, beyond the limit."""

    async def main() -> None:
        frontier = made(store, max_urls=6)
        await frontier.add(on(A, *numbered(0, 6)))
        await frontier.take_hosts(1, 1e9)
        leased = (await frontier.take("a.example", 6, 1e9)).urls
        for each in leased[:3]:
            await frontier.finish(done(each))
        change = await frontier.add(on(B, *numbered(0, 5)))
        assert change.is_cut
        found = Counter((row.host, row.state) for row in rows(frontier).values())
        assert found == {
            ("a.example", "done"): 3,
            ("a.example", "queued"): 3,
            ("b.example", "queued"): 3,
        }
        for each in leased[3:]:
            await frontier.finish(done(each))
        assert Counter(row.state for row in rows(frontier).values()) == {"done": 6, "queued": 3}

    run(main)


def test_what_is_not_to_be_asked_for_takes_half_of_the_room(store: EvidenceStore) -> None:
    """Links to other hosts, and what says nofollow, leave the rest to what is asked for."""

    async def main() -> None:
        frontier = made(store, max_urls=8)
        change = await frontier.add(on(A, *numbered(0, 9), reason=OTHER_HOST))
        assert change.is_cut
        assert change.states == {"blocked": 4}
        change = await frontier.add(on(B, *numbered(0, 4)))
        assert not change.is_cut
        # Another names what was out: that is no more room, and no less.
        change = await frontier.add(on(A, "/0"))
        assert not change.is_cut
        assert states(frontier)[f"{A}/0"] == ("queued", "")
        change = await frontier.add(on(B, "/more"))
        assert change.is_cut

    run(main)


def test_room_is_counted_again_when_a_crawl_goes_on(store: EvidenceStore) -> None:
    """Also when it was killed: what each host has is what the store says."""

    async def main() -> None:
        frontier = made(store, max_urls=10, max_sitemaps=4)
        await frontier.add(on(A, *numbered(0, 9)))
        await frontier.add(on(B, "/0"))
        await frontier.take_hosts(2, 1e9)
        leased = (await frontier.take("a.example", 3, 1e9)).urls
        await frontier.finish(done(leased[0]))
        frontier = again(frontier, max_urls=10)
        assert not frontier.is_cut
        await frontier.add(on(B, *numbered(1, 8)))
        found = Counter((row.host, row.state) for row in rows(frontier).values())
        assert found[("a.example", "queued")] + found[("a.example", "done")] == 5
        assert found[("b.example", "queued")] == 5
        assert found[("a.example", "blocked")] == 4
        assert again(frontier, max_urls=10).is_cut

    run(main)


def test_sitemaps_have_a_room_of_their_own(store: EvidenceStore) -> None:
    """It is shared in the same way."""

    async def main() -> None:
        frontier = made(store, max_urls=3, max_sitemaps=4)
        await frontier.add(on(A, *numbered(0, 9), kind="sitemap", priority=2.0))
        await frontier.add(on(A, "/page"))
        change = await frontier.add(on(B, *numbered(0, 9), kind="sitemap", priority=2.0))
        assert change.is_cut
        assert change.states == {}
        found = Counter((row.host, row.kind, row.state) for row in rows(frontier).values())
        assert found == {
            ("a.example", "sitemap", "queued"): 2,
            ("a.example", "sitemap", "blocked"): 2,
            ("b.example", "sitemap", "queued"): 2,
            ("a.example", "page", "queued"): 1,
        }
        assert rows(frontier)[f"{A}/3"].rule == "max_sitemaps = 4"

    run(main)


def test_sitemaps_are_not_counted_as_pages(store: EvidenceStore) -> None:
    """They are leased and finished all the same, and use nothing of the budget."""

    async def main() -> None:
        frontier = made(store)
        change = await frontier.add([link("/s.xml", kind="sitemap"), link("/a")])
        assert change.states == {"queued": 1}
        assert change.has_new_hosts
        asked = (await taken(frontier))["/s.xml"]
        assert asked.kind == "sitemap"
        change = await frontier.finish(done(asked, "/b"))
        assert Counter(change.states) == {"queued": 1}
        assert pages_used(frontier) == 0
        assert by_state(frontier)["sitemap", "done"] == 1

    run(main)


# Hostile URLs.

HOSTILE = [
    "/nul\0in it",
    "/lone\ud800surrogate",
    "/byte\udcffthat is no UTF-8",
    "/\x1b[2J\u202e\u2028\uffff",
    "/'; DROP TABLE urls; --",
    "/%s %(x)s :name \\0 \\ {among} ?",
    "/" + "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=100_000)),
    "/\U0001f600",
]


@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_urls_do_no_harm(store: EvidenceStore, path: str) -> None:
    """They are added, leased, finished and known again, as far as text goes."""

    async def main() -> None:
        frontier = made(store, max_depth=3)
        told = link(path, 2, rule=path, lastmod=path, reason="")._replace(found_in=path)
        await frontier.add([link("/before"), told, link("/after")])
        await frontier.add([link(path, 1)])
        leased = await taken(frontier)
        assert len(leased) == 3
        assert next(iter(leased)) == "/before"
        (mine,) = set(leased) - {"/before", "/after"}
        mine.encode()
        assert "\0" not in mine
        asked = leased[mine]
        assert asked.depth == 1
        answer = ANSWER._replace(title=path, cause=path, location=url(path), type=path)
        await frontier.finish(
            result(
                *(asked, "done", path, path),
                answer=answer,
                found=[link(path + "/next", 2)],
                targets=[url(path + "/next"), url(path)],
            )
        )
        assert rows(frontier)[mine].state == "done"
        assert len(rows(frontier)) == 4
        await frontier.add([link(path + "/next", 1), link(path, 0)])
        assert len(rows(frontier)) == 4

    run(main)


def test_what_is_no_url_is_refused(store: EvidenceStore) -> None:
    """Whoever names it made a mistake; the others wait for nothing."""

    async def main() -> None:
        frontier = made(store)
        with pytest.raises(InvalidURL):
            await frontier.add([FoundUrl("mailto:x", "link", "", 1)])
        await frontier.add([link("/a")])
        assert states(frontier) == {"/a": ("queued", "")}

    run(main)


# Against a plain search.


async def crawled(
    frontier: Frontier, edges: Edges, moved_to: dict[int, int], limit: int | None, draw: Any
) -> Frontier:
    """Crawl a site: some pages come late, some together, and at times it is gone on with."""
    await frontier.add([start("/0")])
    leased: list[LeasedUrl] = []
    over: set[str] = set()
    late = {f"/{node}": draw.choice((0, 0, 0, 0, 0, 1, 2)) for node in range(NODES)}
    late |= {f"/{node}": draw.randrange(4) for node in range(BESIDE, NODES)}
    while True:
        leased += (await taken(frontier, draw.randint(1, 4))).values()
        if not leased:
            return frontier
        draw.shuffle(leased)
        first = min(late[each.url.removeprefix(SITE)] for each in leased)
        together = [each for each in leased if late[each.url.removeprefix(SITE)] == first][
            : draw.randint(1, 3)
        ]
        finished = []
        for asked in together:
            leased.remove(asked)
            assert asked.url not in over, "it is asked for once"
            over.add(asked.url)
            node = int(asked.url.rpartition("/")[2])
            if node in moved_to:
                finished.append(moved(asked, f"/{moved_to[node]}"))
                continue
            mine = [(target, nofollow) for source, target, nofollow in edges if source == node]
            draw.shuffle(mine)
            named = [
                link(f"/{target}", asked.depth + 1, reason=NOFOLLOW if nofollow else "")
                for target, nofollow in mine
            ]
            finished.append(
                result(
                    *(asked, "done"),
                    answer=ANSWER,
                    found=named,
                    targets=[url(f"/{target}") for target, nofollow in mine if not nofollow],
                )
            )
        await asyncio.gather(*map(frontier.finish, finished))
        if draw.random() < 0.05:
            frontier, leased = again(frontier, max_depth=limit), []


@example(seed=2, limit=4)  # where each step of a shorter way matters
@example(seed=7, limit=4)
@example(seed=13, limit=4)
@given(seed=st.integers(0, 2**64), limit=st.sampled_from([None, 2, 3, 4, 5, 6]))
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_order_of_finishing_makes_no_difference(
    store: EvidenceStore, seed: int, limit: int | None
) -> None:
    """Every URL ends as a plain search says: its state, its reason, and its depth."""

    async def main() -> None:
        draw = random.Random(seed)
        edges, moved_to = made_up(draw)
        frontier = made(store, max_depth=limit)
        frontier = await crawled(frontier, edges, moved_to, limit, draw)
        model = Model(edges, moved_to, limit)
        found = {
            path: (row.state, "" if row.reason == REDIRECT else row.reason)
            for path, row in rows(frontier).items()
        }
        assert found == model.fates()
        if limit is not None:
            depths = {path: row.depth for path, row in rows(frontier).items()}
            assert {f"/{node}": depth for node, depth in model.depths.items()} == {
                path: depth for path, depth in depths.items() if found[path][1] != NOFOLLOW
            }

    run(main)


# One process at a time.

HOLD = """
import sys
from manners.evidence.store import EvidenceStore
with EvidenceStore(sys.argv[1]) as store, store.lock("crawl", int(sys.argv[2])):
    print("mine", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("ends", ["well", "killed"])
def test_one_process_at_a_time_works_on_a_crawl(new: New, ends: str) -> None:
    """Another is told so; whoever is gone, even by SIGKILL, is in nobody's way."""
    place = new()
    with EvidenceStore(place) as store:
        number, other = made(store).crawl, made(store).crawl
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, place, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == "mine\n"
            with pytest.raises(StoreError, match=f"another process works on crawl {number}"):
                store.lock("crawl", number).__enter__()
            with store.lock("crawl", other):  # another crawl of the same store
                pass
            if ends == "killed":
                process.send_signal(signal.SIGKILL)
            process.communicate("\n", timeout=30)
        mine = store.lock("crawl", number, wait=10.0)
        with mine, pytest.raises(StoreError, match="another process works"):
            store.lock("crawl", number).__enter__()
        with store.lock("crawl", number, wait=10.0):
            pass
    if "://" not in place:
        assert not list(Path(place).parent.glob("*-crawl-*"))


# Stores of an earlier version.


def second_version(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store as it was before there were crawls, with a discovery in it."""
    upgrade = command.upgrade

    def only_second(config: Config, _: str) -> None:
        upgrade(config, "0002")

    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "VERSION", "0002")
        earlier.setattr(command, "upgrade", only_second)
        EvidenceStore(place).close()


def test_a_store_from_before_crawls_keeps_what_was_found(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is brought up to date, and is then like one that is made today."""
    place, today = new(), new()
    second_version(place, monkeypatch)
    told = [("/a", ""), ("/b", "nofollow"), ("/c", "")]
    statements = ["INSERT INTO crawls (id, start, at) VALUES (1, 'https://example.com/', 5)"]
    statements += [
        "INSERT INTO urls (crawl, digest, url, host, source, found_in, depth, priority, reason,"
        f" rule, line) VALUES (1, '{path}', 'https://example.com{path}', 'example.com', 'link',"
        f" 'https://example.com/', 1, 0.5, '{reason}', '', 0)"
        for path, reason in told
    ]
    if "://" in place:
        statements.append("SELECT setval(pg_get_serial_sequence('crawls', 'id'), 1)")
    execute(place, *statements)
    with EvidenceStore(place) as store, EvidenceStore(today) as other:
        read = [(each.url.removeprefix(SITE), each.reason) for each in found_urls(store, 1)]
        assert read == told
        assert crawls.latest(store) == 0  # a discovery is no crawl
        with store.reading() as connection:
            kept = connection.execute(tables.urls.select()).all()
            state = {row.url.removeprefix(SITE): row.state for row in kept}
            shape = shape_of(connection)
        assert state == {"/a": "queued", "/b": "blocked", "/c": "queued"}
        with other.reading() as connection:
            assert shape == shape_of(connection)
        frontier = made(store)
        assert frontier.crawl == 2
        run(lambda: frontier.add([start()]))
        assert states(frontier) == {"/": ("queued", "")}
        assert list(store.verify()) == []


def shape_of(connection: Any) -> Any:
    found = inspect(connection)
    return {
        table: (
            sorted((each["name"], str(each["type"])) for each in found.get_columns(table)),
            sorted(str(each["name"]) for each in found.get_indexes(table)),
        )
        for table in found.get_table_names()
    }
