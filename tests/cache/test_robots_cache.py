"""The cache as its users see it, with a sender that follows a script and a clock that is set."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from manners import InvalidURL, Reason, Verdict
from manners._portal import portal
from manners.cache.blocking import RobotsCache
from manners.cache.flights import MAX_CONCURRENT
from manners.cache.robots import AsyncRobotsCache, Statistics
from manners.net.messages import Get, Response, Unreachable
from manners.testing import Clock
from manners.urls import origin
from tests.cache.steps import BODY, DAY, DOWN, FILE, GONE, HOUR, SAME, START, TIMEOUT
from tests.retrieval.scripted import Reply

T = TypeVar("T")
A, B = "https://a.example", "https://b.example"
CLOSED, OPEN = A + "/a", A + "/b"
AHEAD = 0.95 * DAY
"""A time at which a file of the start is fresh, and due to be refreshed."""
STANDSTILL = 60
"""Seconds after which a test that stands still is ended; no promise depends on them."""


class Script:
    """Sends nothing: answers as it is told, and remembers what it was asked."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self.replies = list(replies)
        """What is answered, one after the other; the last one again and again."""
        self.asked: list[Get] = []
        self.gates: dict[str, asyncio.Event] = {}
        """Origins that answer only when their event is set."""
        self.under_way = self.most = self.cancelled = self.closed = 0

    async def send(self, get: Get) -> Response | Unreachable:
        self.asked.append(get)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if (gate := self.gates.get(origin(get.url))) is not None:
                await gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way -= 1
        reply = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        self.closed += 1

    @property
    def origins(self) -> list[str]:
        return [origin(get.url) for get in self.asked]

    def hold(self, url: str = A) -> asyncio.Event:
        """Let an origin answer only when the event is set."""
        gate = self.gates[url] = asyncio.Event()
        return gate


class Bench:
    """A cache, its sender and its clock."""

    def __init__(self, *replies: Reply | Exception, **options: Any) -> None:
        self.clock, self.script = Clock(START), Script(*replies)
        self.cache = AsyncRobotsCache(http=self.script, clock=self.clock, **options)

    async def check(self, url: str = CLOSED, at: float | None = None) -> Verdict:
        if at is not None:
            self.clock.now = START + at
        return await self.cache.check(url, "MyBot")

    async def reason(self, url: str = CLOSED, at: float | None = None) -> str:
        return str((await self.check(url, at)).reason)


async def turns(number: int = 20) -> None:
    """Let everything that can go on go on."""
    for _ in range(number):
        await asyncio.sleep(0)


async def ended(work: Awaitable[object]) -> BaseException | None:
    """How some work ended."""
    (end,) = await asyncio.gather(work, return_exceptions=True)
    return end if isinstance(end, BaseException) else None


def runs(test: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], None]:
    """A test that is a coroutine."""

    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), STANDSTILL))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


# Questions and answers.


@runs
async def test_a_site_is_asked_once_and_then_remembered() -> None:
    """The first question retrieves, the others do not."""
    bench = Bench(FILE)
    for url in (CLOSED, OPEN, A + "/c?d", "https://A.EXAMPLE:443/e"):
        await bench.check(url)
    assert [get.url for get in bench.script.asked] == [A + "/robots.txt"]
    assert not await bench.cache.allowed(CLOSED, "MyBot")
    assert await bench.cache.allowed(OPEN, ["MyBot", "Other"])
    assert (await bench.cache.get(OPEN)).robots.body == BODY


@runs
async def test_every_origin_is_a_site_of_its_own() -> None:
    """Scheme, host and port tell sites apart."""
    bench = Bench(FILE)
    urls = [A, "http://a.example", A + ":8443", "https://www.a.example", B]
    for url in urls:
        await bench.check(url + "/x")
    assert bench.script.origins == urls


@runs
async def test_a_verdict_tells_how_the_file_was_retrieved() -> None:
    """Outcome, age and reason are those of the moment of the question."""
    bench = Bench(FILE, TIMEOUT)
    fresh = await bench.check()
    assert str(fresh) == "disallowed: rule-matched, line 2: /a"
    stale = await bench.check(at=DAY + 1)
    assert str(stale) == (
        "disallowed: stale-copy, line 2: /a; unreachable (timeout); used a copy from 1 d ago"
    )
    written = json.loads(json.dumps(stale.to_dict()))
    assert written["retrieval"]["hops"][0]["cause"] == "timeout"


@pytest.mark.parametrize("url", ["", "/a", "example.com/a", "ftp://a.example/", "https://", "a b"])
def test_what_is_no_url_is_an_error(url: str) -> None:
    """Everything that goes to the network raises InvalidURL, and asks nobody."""
    script = Script(FILE)
    with RobotsCache(http=script) as cache:
        for question in (
            lambda: cache.check(url, "MyBot"),
            lambda: cache.allowed(url, "MyBot"),
            lambda: cache.get(url),
            lambda: cache.forget(url),
            lambda: cache.prefetch([A, url]),
            lambda: asyncio.run(AsyncRobotsCache(http=script).check(url, "MyBot")),
        ):
            with pytest.raises(InvalidURL):
                question()
    assert script.asked == []


# One flight.


@runs
async def test_a_thousand_questions_make_one_request() -> None:
    """Whoever asks while a site is being asked waits for the same answer."""
    bench = Bench(FILE)
    gate = bench.script.hold()
    questions = [asyncio.create_task(bench.check(f"{A}/{n}")) for n in range(1000)]
    await turns()
    gate.set()
    verdicts = await asyncio.gather(*questions)
    assert len(bench.script.asked) == 1
    assert {str(verdict.reason) for verdict in verdicts} == {"no-rule-matched"}
    assert [verdict.url for verdict in verdicts[:2]] == [A + "/0", A + "/1"]


@pytest.mark.parametrize("which", [0, 1, 4])
def test_who_stops_waiting_takes_nothing_from_the_others(which: int) -> None:
    """A cancelled question cancels neither the retrieval nor another question."""

    async def test() -> None:
        bench = Bench(FILE)
        gate = bench.script.hold()
        questions = [asyncio.create_task(bench.check()) for _ in range(5)]
        await turns()
        questions[which].cancel()
        await turns()
        gate.set()
        ends = [await ended(question) for question in questions]
        assert [isinstance(end, asyncio.CancelledError) for end in ends].index(True) == which
        assert Counter(map(type, ends)) == {type(None): 4, asyncio.CancelledError: 1}
        assert (len(bench.script.asked), bench.script.cancelled) == (1, 0)

    asyncio.run(test())


@runs
async def test_a_retrieval_nobody_waits_for_is_not_lost() -> None:
    """When everybody stopped waiting, the answer is there for the next who asks."""
    bench = Bench(FILE)
    gate = bench.script.hold()
    question = asyncio.create_task(bench.check())
    await turns()
    question.cancel()
    await turns()
    gate.set()
    await turns()
    assert await bench.reason() == "rule-matched"
    assert len(bench.script.asked) == 1


@runs
async def test_a_slow_site_holds_up_no_other() -> None:
    """One site that does not answer leaves all others as they are."""
    bench = Bench(FILE)
    gate = bench.script.hold(A)
    slow = asyncio.create_task(bench.check())
    await turns()
    assert await bench.reason(B + "/a") == "rule-matched"
    assert not slow.done()
    gate.set()
    assert not await slow


@runs
async def test_an_unexpected_error_reaches_everybody_and_the_next_tries_again() -> None:
    """What a sender raises is passed on, and kept for nobody."""
    bench = Bench(RuntimeError("broken"), FILE)
    ends = await asyncio.gather(*(bench.check() for _ in range(10)), return_exceptions=True)
    assert {str(end) for end in ends} == {"broken"}
    assert len(bench.script.asked) == 1
    assert await bench.reason() == "rule-matched"
    assert len(bench.script.asked) == 2


@runs
async def test_no_more_than_so_many_retrievals_at_a_time() -> None:
    """256 sites are asked at a time; the others wait, and lose no time by it."""
    bench = Bench(FILE, entries=1000)
    sites = [f"https://{n}.example" for n in range(MAX_CONCURRENT + 50)]
    gate = asyncio.Event()
    bench.script.gates = dict.fromkeys(sites, gate)
    all_of_them = asyncio.create_task(bench.cache.prefetch(sites))
    await turns()
    assert len(bench.script.asked) == bench.script.most == MAX_CONCURRENT == 256
    gate.set()
    await all_of_them
    assert len(bench.script.asked) == len(sites)
    assert bench.script.most == MAX_CONCURRENT
    assert {get.total for get in bench.script.asked} == {10.0}


# Getting old.


@runs
async def test_what_is_fresh_is_not_asked_for() -> None:
    """Until nine tenths of its lifetime an entry answers alone."""
    bench = Bench(FILE)
    await bench.check(at=0)
    await bench.check(at=0.89 * DAY)
    await turns()
    assert len(bench.script.asked) == 1


@runs
async def test_what_is_no_longer_fresh_is_asked_for_again() -> None:
    """An expired entry waits for its site, and is asked about by its marks."""
    bench = Bench(FILE, SAME, Response(200, body=b"User-agent: *\nDisallow: /b"))
    await bench.check(at=0)
    assert await bench.reason(at=DAY) == "rule-matched"
    assert bench.script.asked[1].headers["If-None-Match"] == '"1"'
    assert await bench.reason(at=2 * DAY) == "no-rule-matched"
    assert bench.cache.statistics().not_modified == 1


@runs
async def test_a_refresh_ahead_is_made_once_and_holds_up_nobody() -> None:
    """From nine tenths on, questions are answered at once and the site is asked meanwhile."""
    bench = Bench(FILE, Response(200, body=b""))
    await bench.check(at=0)
    gate = bench.script.hold()
    for _ in range(100):
        assert await bench.reason(at=AHEAD) == "rule-matched"
        await turns(2)
    assert len(bench.script.asked) == 2
    gate.set()
    await turns()
    assert await bench.reason() == "no-group"
    assert len(bench.script.asked) == 2
    assert bench.cache.statistics().misses == 1


@runs
async def test_who_comes_when_the_entry_has_expired_waits_for_the_refresh() -> None:
    """A refresh under way is the retrieval that a later question waits for."""
    bench = Bench(FILE, Response(200, body=b""))
    await bench.check(at=0)
    gate = bench.script.hold()
    await bench.check(at=AHEAD)
    await turns()
    late = asyncio.create_task(bench.reason(at=DAY + 1))
    await turns()
    assert not late.done()
    gate.set()
    assert await late == "no-group"
    assert len(bench.script.asked) == 2


@runs
async def test_a_refresh_that_breaks_changes_nothing() -> None:
    """An unexpected error in the background leaves the entry, and reaches nobody."""
    bench = Bench(FILE, RuntimeError("broken"))
    await bench.check(at=0)
    assert await bench.reason(at=AHEAD) == "rule-matched"
    await turns()
    assert await bench.reason() == "rule-matched"
    await turns()


@runs
async def test_a_refresh_that_fails_closes_and_opens_nothing() -> None:
    """A site that is out of reach ahead of time goes on by its copy, and is left alone."""
    bench = Bench(FILE, DOWN)
    await bench.check(at=0)
    for _ in range(10):
        assert not await bench.check(CLOSED, at=AHEAD)
        assert await bench.check(OPEN)
        await turns()
    assert len(bench.script.asked) == 2


@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_a_refresh_that_fails_leaves_a_fresh_entry_fresh(profile: str) -> None:
    """What is fresh for its whole lifetime is not unreachable at nine tenths of it."""

    async def test() -> None:
        bench = Bench(FILE, DOWN, profile=profile)
        await bench.check(at=0)
        lifetime = {"rfc9309": DAY, "google": DAY, "open": HOUR / 2}[profile]
        for _ in range(3):
            assert await bench.reason(CLOSED, at=0.95 * lifetime) == "rule-matched"
            await turns()

    asyncio.run(test())


@runs
async def test_a_site_out_of_reach_is_not_pressed() -> None:
    """Retry-After is waited out: neither questions nor refreshing undercut it."""
    bench = Bench(Response(429, {"retry-after": "3600"}), FILE)
    for at in (0, 1, 1800, 3300, 3599):
        assert await bench.reason(at=at) == "unreachable"
        await turns()
    assert len(bench.script.asked) == 1
    assert await bench.reason(at=3600) == "rule-matched"


@runs
async def test_failures_in_a_row_are_asked_less_and_less() -> None:
    """A question every minute of a day makes few requests: after 5, 10, 20 … minutes."""
    bench = Bench(TIMEOUT)
    asked_at: list[int] = []
    for minute in range(24 * 60):
        before = len(bench.script.asked)
        await bench.check(at=minute * 60)
        if len(bench.script.asked) > before:
            asked_at.append(minute)
    assert asked_at == [0, 5, 15, 35, 75, 155, 315, 635, 1275]


@runs
async def test_a_standing_changes_while_an_entry_is_held() -> None:
    """In profile google a copy stands in after twelve hours, without another request."""
    bench = Bench(FILE, DOWN, profile="google")
    await bench.check(at=0)
    assert await bench.reason(at=DAY) == "unreachable"
    reasons = [await bench.reason(at=DAY + hour * HOUR) for hour in (6, 11, 13, 24)]
    assert reasons == ["unreachable", "unreachable", "stale-copy", "stale-copy"]


# Offline.


@runs
async def test_offline_nothing_is_sent() -> None:
    """What is known is used, also when it is old; what is not known is unreachable."""
    bench = Bench(FILE)
    await bench.check(at=0)
    bench.cache.offline = True
    assert await bench.reason(at=AHEAD) == "rule-matched"
    old = await bench.check(at=2 * DAY)
    assert str(old).endswith("unreachable (offline); used a copy from 2 d ago")
    assert not old
    assert await bench.reason(OPEN) == "stale-copy"
    unknown = await bench.check(B + "/")
    assert str(unknown) == "disallowed: unreachable (offline)"
    await bench.cache.prefetch([B])
    assert await bench.reason(at=31 * DAY) == "unreachable"
    await turns()
    assert len(bench.script.asked) == 1
    assert bench.cache.statistics().entries == 1


def test_offline_needs_no_sender() -> None:
    """A cache that asks nobody has nothing to ask with."""
    with RobotsCache(offline=True) as cache:
        assert cache.check(CLOSED, "MyBot").reason is Reason.UNREACHABLE
        assert not cache.allowed(CLOSED, "MyBot")
    with RobotsCache(offline=True, profile="open") as cache:
        verdict = cache.check(CLOSED, "MyBot")
        assert (verdict.allowed, verdict.reason) == (True, Reason.UNREACHABLE)
        assert verdict.to_dict()["retrieval"]["confidence"] == "low"


# Keeping house.


@runs
async def test_prefetching_asks_every_site_once() -> None:
    """Many URLs of few sites are few requests, and later questions wait for none."""
    bench = Bench(FILE)
    await bench.cache.prefetch(f"https://{n % 7}.example/{n}" for n in range(100))
    assert Counter(bench.script.origins) == {f"https://{n}.example": 1 for n in range(7)}
    await bench.check("https://3.example/a")
    await bench.cache.prefetch(["https://3.example/b"])
    await bench.cache.prefetch([])
    assert len(bench.script.asked) == 7


@runs
async def test_what_is_forgotten_is_asked_for_again() -> None:
    """Forgetting a site drops its file and its marks, and says whether there was anything."""
    bench = Bench(FILE)
    assert not await bench.cache.forget(A)
    await bench.check()
    assert await bench.cache.forget(A + "/whatever")
    assert not await bench.cache.forget(A)
    await bench.check()
    assert len(bench.script.asked) == 2
    assert dict(bench.script.asked[1].headers) == {}


@runs
async def test_the_least_recently_used_site_makes_room() -> None:
    """A full cache drops what was not asked for longest, and asks again when needed."""
    bench = Bench(FILE, entries=2)
    for url in (A, B, A, "https://c.example", A, B):
        await bench.check(url + "/")
    assert bench.script.origins == [A, B, "https://c.example", B]
    assert bench.cache.statistics().evicted == 2


@runs
async def test_statistics_say_what_was_done() -> None:
    """Hits, misses, retrievals and what came of them are counted."""
    bench = Bench(FILE, SAME, DOWN, GONE)
    assert bench.cache.statistics() == Statistics()
    await bench.check(at=0)
    await bench.check(at=1)
    await bench.check(at=DAY)
    await bench.check(at=2 * DAY)
    await bench.check(at=2 * DAY + 1)
    await bench.check(B + "/")
    counts = bench.cache.statistics()
    assert (counts.hits, counts.misses) == (2, 4)
    assert (counts.retrievals, counts.not_modified, counts.unreachable) == (4, 1, 1)
    assert (counts.entries, counts.evicted) == (2, 0)
    assert counts.bytes > len(BODY)


@pytest.mark.parametrize("options", [{}, {"dialect": "google"}], ids=str)
@pytest.mark.parametrize("reply", [FILE, GONE, DOWN])
def test_a_question_is_counted_once(reply: Reply, options: dict[str, Any]) -> None:
    """Whatever is asked, and in whatever way, it is one hit or one miss."""
    with RobotsCache(http=Script(reply), clock=Clock(START), **options) as cache:
        cache.allowed(OPEN, "MyBot")
        cache.allowed(OPEN, "MyBot")
        cache.check(OPEN, "MyBot")
        cache.get(OPEN)
        assert (cache.statistics().hits, cache.statistics().misses) == (3, 1)


# Closing.


@runs
async def test_closing_stops_what_is_under_way() -> None:
    """Nobody waits for a cache that was closed."""
    bench = Bench(FILE)
    bench.script.hold(A)
    bench.script.hold(B)
    questions = [asyncio.create_task(bench.check(url + "/")) for url in (A, A, B)]
    await turns()
    await bench.cache.close()
    for question in questions:
        assert isinstance(await ended(question), asyncio.CancelledError)
    assert (bench.script.under_way, bench.script.cancelled) == (0, 2)
    await bench.cache.close()


@runs
async def test_closing_stops_a_refresh_nobody_waits_for() -> None:
    """A refresh in the background ends with its cache."""
    bench = Bench(FILE)
    async with bench.cache:
        await bench.check(at=0)
        bench.script.hold()
        await bench.check(at=AHEAD)
        await turns()
        assert bench.script.under_way == 1
    assert bench.script.under_way == 0


@runs
async def test_a_sender_is_closed_with_the_cache() -> None:
    """A sender lives in the cache's event loop, so the cache closes it; it may open again."""
    bench = Bench(FILE)
    async with bench.cache as cache:
        await cache.check(CLOSED, "MyBot")
    assert bench.script.closed == 1


# Blocking, from several threads.


def test_blocking_answers_are_the_same() -> None:
    """The blocking cache says what the async one says."""
    clock = Clock(START)
    with RobotsCache(http=Script(FILE, TIMEOUT), clock=clock) as cache:
        assert str(cache.check(CLOSED, "MyBot")) == "disallowed: rule-matched, line 2: /a"
        assert (cache.allowed(OPEN, "MyBot"), cache.allowed(CLOSED, "MyBot")) == (True, False)
        assert cache.get(CLOSED).robots.body == BODY
        clock.now = START + DAY + 3 * HOUR
        assert str(cache.check(OPEN, "MyBot")) == (
            "allowed: stale-copy; unreachable (timeout); used a copy from 1 d 3 h ago"
        )
        assert not cache.allowed(CLOSED, "MyBot")
        assert cache.forget(A)
        assert cache.statistics().entries == 0


def test_the_google_dialect_gets_a_token_from_every_face() -> None:
    """A header is cut to its product token, on the fast way too."""
    body = b"User-agent: MyBot\nDisallow: /a\n"
    with RobotsCache(http=Script(Response(200, body=body)), dialect="google") as cache:
        for _ in range(2):
            assert not cache.allowed(CLOSED, "MyBot/1.0 (+https://example.com/bot)")
            assert not cache.check(CLOSED, "MyBot/1.0 (+https://example.com/bot)")


def test_threads_share_one_retrieval() -> None:
    """Questions from many threads at once are one request for each site."""
    script = Script(FILE)
    number = 16
    barrier = threading.Barrier(number)
    with ThreadPoolExecutor(number) as threads, RobotsCache(http=script) as cache:

        def ask(n: int) -> list[bool]:
            barrier.wait()
            return [
                cache.allowed(f"https://{site}.example/{'ab'[(n + site) % 2]}", "MyBot")
                for site in range(20)
            ]

        answers = list(threads.map(ask, range(number)))
        assert Counter(script.origins) == {f"https://{site}.example": 1 for site in range(20)}
        assert answers == [[(n + site) % 2 == 1 for site in range(20)] for n in range(number)]


def test_threads_may_ask_while_others_make_room_and_forget() -> None:
    """Looking up goes on while entries come and go."""
    with (
        RobotsCache(http=Script(FILE), entries=3) as cache,
        ThreadPoolExecutor(8) as threads,
    ):

        def ask(n: int) -> bool:
            url = f"https://{n % 5}.example"
            if n % 11 == 0:
                cache.forget(url)
            return cache.allowed(url + "/a", "MyBot") or not cache.allowed(url + "/b", "MyBot")

        assert not any(threads.map(ask, range(500)))
        assert cache.statistics().entries <= 3


def test_a_blocking_question_ahead_of_time_refreshes_in_the_background() -> None:
    """What is in memory is answered on the calling thread, and refreshed by another."""
    clock, script = Clock(START), Script(FILE, Response(200))
    with RobotsCache(http=script, clock=clock) as cache:
        cache.check(CLOSED, "MyBot")
        clock.now = START + AHEAD
        assert not cache.allowed(CLOSED, "MyBot")
        portal.run(turns())
        assert cache.allowed(CLOSED, "MyBot")
        assert len(script.asked) == 2


def test_closing_frees_a_thread_that_waits() -> None:
    """A thread that waits for a site does not wait for ever."""
    script = Script(FILE)
    script.hold()
    with ThreadPoolExecutor(1) as threads:
        cache = RobotsCache(http=script)
        question = threads.submit(cache.check, CLOSED, "MyBot")
        portal.run(_until(lambda: script.under_way == 1))
        cache.close()
        with pytest.raises((CancelledError, asyncio.CancelledError)):
            question.result()
    assert script.under_way == 0


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)


def test_an_error_reaches_the_thread_that_asked() -> None:
    """What a sender raises arrives where the question was asked, and is kept for nobody."""
    with RobotsCache(http=Script(RuntimeError("broken"), FILE)) as cache:
        with pytest.raises(RuntimeError, match="broken"):
            cache.check(CLOSED, "MyBot")
        assert not cache.check(CLOSED, "MyBot")


def test_a_blocking_question_inside_the_loop_is_refused() -> None:
    """The portal's loop cannot wait for itself, and says so instead of standing still."""

    async def ask() -> None:
        cache.check(CLOSED, "MyBot")

    with (
        RobotsCache(http=Script(FILE)) as cache,
        pytest.raises(RuntimeError, match="would deadlock"),
    ):
        portal.run(ask())


# Forks.


def in_child(work: Callable[[], bool]) -> bool:
    """What some work in a forked child came to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, since 3.12
        child = os.fork()
    if child == 0:
        code = 2
        try:
            signal.alarm(STANDSTILL)  # a child that stands still ends by itself
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@needs_fork
def test_a_forked_child_goes_on_with_what_is_known() -> None:
    """A child has its parent's files, and can ask for others."""
    script = Script(FILE)
    with RobotsCache(http=script, clock=Clock(START)) as cache:
        cache.check(CLOSED, "MyBot")

        def child() -> bool:
            known = not cache.allowed(CLOSED, "MyBot") and len(script.asked) == 1
            new = not cache.allowed(B + "/a", "MyBot") and len(script.asked) == 2
            cache.close()
            return known and new

        assert in_child(child)
        assert len(script.asked) == 1
        assert not cache.allowed(B + "/a", "MyBot")


@needs_fork
def test_a_forked_child_does_not_wait_for_its_parents_requests() -> None:
    """A retrieval under way at the time of the fork is the parent's: the child makes its own."""
    script = Script(FILE)
    gate = script.hold()
    with ThreadPoolExecutor(1) as threads, RobotsCache(http=script) as cache:
        question = threads.submit(cache.allowed, CLOSED, "MyBot")
        portal.run(_until(lambda: script.under_way == 1))

        def child() -> bool:
            script.gates.clear()
            answer = cache.allowed(CLOSED, "MyBot")
            cache.close()
            return not answer and len(script.asked) == 2

        assert in_child(child)
        portal.call(gate.set)
        assert question.result() is False
        assert len(script.asked) == 1


def test_now_is_an_old_name_of_clock() -> None:
    """It works, with a warning that says until when."""
    with pytest.warns(DeprecationWarning, match=r"now= is now clock=, and works until 1\.0"):
        cache = RobotsCache(http=Script(FILE), now=Clock(START))
    with cache:
        assert cache.get(A).outcome.at == START


def test_a_store_needs_msgspec_and_a_cache_in_memory_does_not() -> None:
    """Whoever has their own sender, and the engine alone, is told which extra is missing."""
    script = (
        "import sys; sys.modules['msgspec'] = None\n"
        "from manners import MissingExtra, RobotsCache\n"
        "RobotsCache(http=object())\n"
        "try: RobotsCache(http=object(), store='cache.db')\n"
        "except MissingExtra as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "'aiohttp' needs 'msgspec': pip install 'manners[aiohttp]'\n"
