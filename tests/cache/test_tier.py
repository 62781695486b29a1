"""A backend may be slow, away or full of rubbish: it costs a moment, and decides nothing."""

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners._portal import portal
from manners.cache import tier
from manners.cache.backends import CacheBackend
from manners.cache.blocking import RobotsCache
from manners.cache.encoding import metadata, read_entry, sealed, valid_entry
from manners.cache.entry import Entry
from manners.cache.robots import AsyncRobotsCache
from manners.cache.tier import CALL_TIMEOUT, DOWN_FOR, MAX_CONCURRENT, Tier
from manners.errors import StoreError
from manners.net.messages import Response
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.testing import Clock
from tests.cache.steps import BODY, DAY, DOWN, FILE, GONE, HOUR, SAME, TIMEOUT, after
from tests.cache.test_robots_cache import (
    CLOSED,
    OPEN,
    A,
    B,
    Bench,
    Script,
    in_child,
    needs_fork,
    runs,
    turns,
)
from tests.client.apart import judged
from tests.contracts.entries import START, entry
from tests.contracts.test_cache_backends import InDict
from tests.sizes import examples

STORED = entry(A, body=BODY)
BOUND = 20.0
"""Seconds in which an answer is there that a backend may delay by a quarter of one."""


def hear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let warnings about stores go where Python's logging sends them."""
    logger = logging.getLogger("manners.cache")
    for name, value in (("propagate", True), ("handlers", []), ("level", logging.NOTSET)):
        monkeypatch.setattr(logger, name, value)
    logger.manager._clear_cache()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings reach the test, also where a command of another test has turned them away."""
    hear(monkeypatch)


Failure = Callable[[str], Any]
"""What a verb does instead of its work: it returns a value, or an awaitable of one."""


def raises(error: Exception) -> Failure:
    async def fail(_: str) -> None:
        raise error

    return fail


async def hangs(_: str) -> None:
    await asyncio.Event().wait()


async def is_slow(_: str) -> Entry:
    await asyncio.sleep(4 * CALL_TIMEOUT)
    return STORED


def returns(value: object) -> Failure:
    async def give(_: str) -> object:
        return value

    return give


def changed(**changes: Any) -> Entry:
    """The stored entry with something else in a field."""
    return replace(STORED, **changes)


def told(**changes: Any) -> Entry:
    """The stored entry with something else in a field of its outcome."""
    return replace(STORED, outcome=STORED.outcome.but(**changes))


RUBBISH: dict[str, Any] = {
    "another origin's": entry(B, body=BODY),
    "a dictionary": {"origin": A},
    "text": "rubbish",
    "True": True,
    "a class": Entry,
    "no body": changed(body=None),
    "a body of text": changed(body="User-agent: *\nDisallow:"),
    "no outcome": changed(outcome=None),
    "an outcome in JSON": changed(outcome=STORED.outcome.to_dict()),
    "times of text": changed(fresh_until="never"),
    "no time": changed(validated_at=None),
    "no number": changed(fresh_until=float("nan")),
    "for ever": changed(fresh_until=float("inf")),
    "a large number": changed(fresh_until=10**400),
    "yes": changed(fetched_at=True),
    "a charset of bytes": changed(charset=b"utf-8"),
    "marks that are numbers": changed(etag=7),
    "an unknown availability": told(availability="perhaps"),
    "a time of text": told(at="now"),
    "hops of text": told(hops=("https://a.example/",)),
    "a status of text": told(hops=(RobotsHop(A, "200"),)),  # type: ignore[arg-type]
    "hops in a list": told(hops=[RobotsHop(A, 200)]),
    "headers in JSON": told(headers={"etag": "1"}),
    "headers of three": told(headers=(("a", "b", "c"),)),
    "an unknown confidence": told(confidence="some"),
    "complete by a number": told(complete=1),
}
FAILURES: dict[str, Failure] = {
    "raises": raises(RuntimeError("broken")),
    "raises StoreError": raises(StoreError("place", "is gone")),
    "raises TimeoutError": raises(TimeoutError()),
    "raises OSError": raises(OSError(28, "No space left on device")),
    "raises a hostile text": raises(ValueError("\x1b[2J\n")),
    "hangs": hangs,
    "is slow": is_slow,
    "is no coroutine": lambda _: STORED,
    **{f"returns {name}": returns(value) for name, value in RUBBISH.items()},
}


class Faulty:
    """A backend that fails as it is told, or else keeps entries."""

    def __init__(self, failure: Failure | None = None, *kept: Entry) -> None:
        self.failure = failure
        self.kept = {each.origin: each for each in kept}
        self._works = InDict(self.kept)
        self.asked: list[str] = []
        self.under_way = self.most = self.closed = 0

    async def _ask(self, verb: str, origin: str, work: Any) -> Any:
        self.asked.append(f"{verb} {origin}")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.failure is None:
                await asyncio.sleep(0)
                return await work
            work.close()
            return await self.failure(origin)
        finally:
            self.under_way -= 1

    async def load(self, origin: str) -> Entry | None:
        found: Entry | None = await self._ask("load", origin, self._works.load(origin))
        return found

    async def save(self, entry: Entry) -> None:
        await self._ask("save", entry.origin, self._works.save(entry))

    async def forget(self, origin: str) -> bool:
        return bool(await self._ask("forget", origin, self._works.forget(origin)))

    def entries(self) -> AsyncIterator[Entry]:
        return self._works.entries()

    async def close(self) -> None:
        self.closed += 1
        if self.failure is not None:
            await self.failure("")


class Watch:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


class Seen:
    """A tier on a faulty backend, its clock, and what it reported."""

    def __init__(self, failure: Failure | None = None, *kept: Entry) -> None:
        self.backend, self.watch = Faulty(failure, *kept), Watch()
        self.reports: list[str] = []
        self.tier = Tier(self.backend, self.reports.append, self.watch)


# The tier.


@pytest.mark.impatient
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failure_is_nothing_found_and_one_report(failure: Failure) -> None:
    """Whatever a backend does instead of answering, the answer is None, soon, and one warning."""

    async def test() -> None:
        seen = Seen(failure)
        began = time.monotonic()
        assert await seen.tier.load(A) is None
        assert time.monotonic() - began < BOUND
        assert len(seen.reports) == 1
        assert seen.reports[0].startswith("cache failed, not used for 5 s: ")
        assert not seen.reports[0].endswith(": ")
        await seen.tier.load(A)
        await seen.tier.save(STORED)
        await seen.tier.forget(A)
        assert seen.backend.asked == [f"load {A}"]
        assert len(seen.reports) == 1

    asyncio.run(test())


@pytest.mark.impatient
@pytest.mark.parametrize("failure", ["raises", "hangs", "raises TimeoutError", "is slow"])
@pytest.mark.parametrize("verb", ["save", "forget"])
def test_every_verb_may_fail(verb: str, failure: str) -> None:
    """A save or a forget that fails counts like a load."""

    async def test() -> None:
        seen = Seen(FAILURES[failure])
        await (seen.tier.save(STORED) if verb == "save" else seen.tier.forget(A))
        assert await seen.tier.load(A) is None
        assert (len(seen.backend.asked), len(seen.reports)) == (1, 1)

    asyncio.run(test())


@runs
async def test_a_backend_has_250_ms_and_is_then_left_alone_for_5_s() -> None:
    """Until the five seconds are over nothing is asked; then it is asked once, and warned again."""
    assert (CALL_TIMEOUT, DOWN_FOR) == (0.25, 5.0)
    seen = Seen(FAILURES["raises"], STORED)
    for round_number in range(1, 4):
        for moment in (0.0, 0.001, 2.5, 4.999):
            seen.watch.at = 1000.0 + 5.0 * round_number + moment
            assert await seen.tier.load(A) is None
        assert len(seen.backend.asked) == len(seen.reports) == round_number
    seen.watch.at += 0.001
    seen.backend.failure = None
    assert await seen.tier.load(A) == STORED
    assert len(seen.reports) == 3


@pytest.mark.impatient
@runs
async def test_a_backend_that_comes_back_is_used_again() -> None:
    """After five seconds loads, saves and forgets arrive as before."""
    seen = Seen(hangs, STORED)
    await seen.tier.load(A)
    seen.backend.failure = None
    assert await seen.tier.load(A) is None
    seen.watch.at += DOWN_FOR
    assert await seen.tier.load(A) == STORED
    await seen.tier.save(entry(B))
    await seen.tier.forget(A)
    assert set(seen.backend.kept) == {B}
    assert len(seen.reports) == 1


@pytest.mark.impatient
@runs
async def test_many_questions_at_once_are_one_warning() -> None:
    """A backend that hangs is warned about once, however many wait for it."""
    seen = Seen(hangs)
    began = time.monotonic()
    found = await asyncio.gather(*(seen.tier.load(f"https://{n}.example") for n in range(1000)))
    assert time.monotonic() - began < BOUND
    assert set(found) == {None}
    assert len(seen.reports) == 1
    assert len(seen.backend.asked) <= MAX_CONCURRENT


@runs
async def test_a_healthy_backend_is_not_overrun() -> None:
    """Thousands of questions at once wait for their turn, and do not look like a failure."""
    seen = Seen()
    sites = [f"https://{n}.example" for n in range(3000)]
    await asyncio.gather(*(seen.tier.save(entry(site)) for site in sites))
    found = await asyncio.gather(*(seen.tier.load(site) for site in sites))
    assert [each and each.origin for each in found] == sites
    assert seen.backend.most <= MAX_CONCURRENT
    assert seen.reports == []


@runs
async def test_time_does_not_run_while_a_question_waits_for_its_turn() -> None:
    """A backend that does one thing after the other, as a file does, is not down for it."""
    one = asyncio.Lock()

    async def load(_: str) -> None:
        async with one:
            await asyncio.sleep(0.01)

    async def ask() -> list[str]:
        seen = Seen()
        seen.backend.load = load  # type: ignore[assignment]
        await asyncio.gather(*(seen.tier.load(A) for _ in range(300)))
        return seen.reports

    with pytest.MonkeyPatch.context() as timeouts:
        timeouts.setattr(tier, "CALL_TIMEOUT", 2.0)
        assert await judged(ask) == []


@runs
async def test_who_stops_waiting_is_no_failure() -> None:
    """A question that is cancelled does not put the backend down."""
    seen = Seen(hangs, STORED)
    question = asyncio.create_task(seen.tier.load(A))
    await turns()
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    seen.backend.failure = None
    assert await seen.tier.load(A) == STORED
    assert seen.reports == []


@pytest.mark.impatient
@pytest.mark.parametrize("failure", [None, hangs, FAILURES["raises"]])
def test_a_backend_is_closed_in_any_case(failure: Failure | None) -> None:
    """Also one that is left alone, or that does not even close."""

    async def test() -> None:
        seen = Seen(FAILURES["raises"])
        await seen.tier.load(A)
        seen.backend.failure = failure
        began = time.monotonic()
        await seen.tier.close()
        assert time.monotonic() - began < BOUND
        assert seen.backend.closed == 1
        assert len(seen.reports) == 1

    asyncio.run(test())


@runs
async def test_what_is_there_is_passed_on() -> None:
    """A backend that works is not in anybody's way."""
    seen = Seen(None, STORED)
    assert await seen.tier.load(A) == STORED
    assert await seen.tier.load(B) is None
    assert seen.reports == []


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_one_wrong_bit_is_noticed(data: st.DataObject) -> None:
    """Disks have accidents: what comes back other than it was saved is no entry."""
    text = bytearray(metadata(STORED).encode())
    whole = text + BODY
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    with pytest.raises(StoreError):
        read_entry("place", bytes(whole[: len(text)]), bytes(whole[len(text) :]))
    for body in (None, b"", BODY[:-1], BODY + b"\0"):
        with pytest.raises(StoreError):
            read_entry("place", bytes(text), body)


def test_rubbish_is_told_from_entries() -> None:
    """An entry is one through and through; every field counts."""
    assert valid_entry(STORED)
    assert valid_entry(entry(body=None))
    assert valid_entry(after((0, FILE), (DAY, TIMEOUT)))
    assert not any(valid_entry(value) for name, value in RUBBISH.items() if "another" not in name)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=8,
    ),
    st.sampled_from(["", *STORED.to_dict(), *(f"outcome.{name}" for name in told().to_dict())]),
)
def test_any_json_is_an_entry_or_a_store_error(rubbish: object, place: str) -> None:
    """What others wrote into a store is read whole, or is one kind of error."""
    values: Any = STORED.to_dict()
    first, _, second = place.partition(".")
    if not first:
        values = rubbish
    elif second:
        values["outcome"][second] = rubbish
    else:
        values[first] = rubbish
    try:
        found = read_entry("place", sealed(json.dumps(values), BODY), BODY)
    except StoreError:
        return
    assert valid_entry(found)
    assert json.loads(json.dumps(found.to_dict())) == json.loads(json.dumps(values))


# The cache in front of it.


async def both(script: list[Any], store: CacheBackend, ats: list[float], **options: Any) -> None:
    """The same questions with a store and without one have the same verdicts."""
    alone, bench = Bench(*script, **options), Bench(*script, store=store, **options)
    for at in ats:
        for url in (CLOSED, OPEN):
            plain, stored = await alone.check(url, at), await bench.check(url, at)
            assert stored == plain
        await turns()
    assert [get.headers for get in bench.script.asked] == [g.headers for g in alone.script.asked]
    await bench.cache.close()


@pytest.mark.impatient
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_store_that_fails_changes_no_verdict(
    failure: Failure, caplog: pytest.LogCaptureFixture
) -> None:
    """With a store that fails, the verdicts are those without one, and a warning says so."""
    asyncio.run(both([FILE, SAME, DOWN], Faulty(failure), [0, 1, DAY, 3 * DAY]))
    warnings = [each for each in caplog.records if each.name == "manners.cache"]
    assert len(warnings) == 1
    assert warnings[0].levelno == logging.WARNING
    assert "not used" in warnings[0].getMessage()
    assert "\x1b" not in warnings[0].getMessage()
    assert "\n" not in warnings[0].getMessage()


_FAST = [name for name in FAILURES if name not in ("hangs", "is slow")]
_STEPS = st.tuples(
    st.sampled_from([FILE, SAME, DOWN, GONE, TIMEOUT, Response(200, {}, b"")]),
    st.sampled_from([None, None, *_FAST]),
    st.floats(0, 2 * DAY),
    st.booleans(),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(_STEPS, min_size=1, max_size=6), st.sampled_from(["rfc9309", "google", "open"]))
def test_no_script_of_failures_changes_a_verdict(
    steps: list[tuple[Any, str | None, float, bool]], profile: str
) -> None:
    """Whatever sites answer and whenever the store fails, verdicts are those without a store."""

    async def test() -> None:
        watch, store = Watch(), Faulty()
        alone = Bench(*(step[0] for step in steps), profile=profile)
        bench = Bench(*(step[0] for step in steps), profile=profile, store=store)
        bench.cache._store = Tier(store, lambda _: None, watch)  # with a clock of ours
        at = 0.0
        for _, failure, later, comes_back in steps:
            store.failure = FAILURES[failure] if failure else None
            watch.at += DOWN_FOR if comes_back else 1.0
            at += later
            for url in (CLOSED, OPEN):
                assert await bench.check(url, at) == await alone.check(url, at)
            await turns()
        assert len(bench.script.asked) == len(alone.script.asked)
        await bench.cache.close()

    asyncio.run(test())


@pytest.mark.impatient
@runs
async def test_an_answer_waits_250_ms_for_a_store_that_hangs() -> None:
    """The first question costs that much, the next ones nothing."""
    bench = Bench(FILE, store=Faulty(hangs), entries=1000)
    began = time.monotonic()
    assert not await bench.check()
    assert CALL_TIMEOUT * 0.9 < time.monotonic() - began < BOUND
    began = time.monotonic()
    for number in range(200):
        assert not await bench.check(f"https://{number}.example/a")
    assert time.monotonic() - began < BOUND


@runs
async def test_saving_does_not_delay_the_answer() -> None:
    """The verdict is there while the store still saves, and closing waits for that."""
    gate = asyncio.Event()
    store = Faulty()
    saved: list[Entry] = []

    async def save(entry: Entry) -> None:
        await gate.wait()
        saved.append(entry)

    store.save = save  # type: ignore[method-assign]
    bench = Bench(FILE, store=store)
    assert not await bench.check()
    assert saved == []
    closing = asyncio.create_task(bench.cache.close())
    await turns()
    assert not closing.done()
    assert store.closed == 0
    gate.set()
    await closing
    assert [each.origin for each in saved] == [A]
    assert store.closed == 1


@pytest.mark.impatient
@runs
async def test_closing_does_not_wait_for_ever() -> None:
    """Saves that hang are given up, and the store is closed all the same."""
    store = Faulty()
    bench = Bench(FILE, store=store, entries=1000)
    store.failure = hangs
    bench.cache._store = Tier(store, lambda _: None, Watch())
    store.load = InDict({}).load  # type: ignore[method-assign]
    began = time.monotonic()
    await bench.cache.prefetch(f"https://{number}.example" for number in range(300))
    await bench.cache.close()
    assert time.monotonic() - began < 2 * BOUND
    assert store.closed == 1


@runs
async def test_what_is_stored_and_fresh_is_not_asked_for() -> None:
    """An entry of the store answers like one of memory, until it is stale."""
    first = after((0, FILE))
    store = Faulty(None, replace(first, origin=A))
    bench = Bench(SAME, store=store)
    assert not await bench.check(CLOSED, at=DAY / 2)
    assert await bench.check(OPEN)
    assert bench.script.asked == []
    assert store.asked == [f"load {A}"]
    verdict = await bench.check(at=DAY)
    assert bench.script.asked[0].headers["If-None-Match"] == '"1"'
    assert isinstance(verdict.retrieval, Outcome)
    assert verdict.retrieval.not_modified
    await turns()
    assert store.kept[A].validated_at == START + DAY


@runs
async def test_what_is_stored_and_stale_is_a_copy() -> None:
    """A site that cannot be reached is answered by what another process kept."""
    store = Faulty(None, replace(after((0, FILE)), origin=A))
    bench = Bench(TIMEOUT, store=store)
    assert str(await bench.check(at=2 * DAY)) == (
        "disallowed: stale-copy, line 2: /a; unreachable (timeout); used a copy from 2 d ago"
    )
    assert (await bench.check(OPEN)).allowed
    assert await bench.reason(at=31 * DAY) == "unreachable"


@runs
async def test_an_older_entry_does_not_replace_what_is_held() -> None:
    """What is in memory counts more than what a slower process has stored."""
    store = Faulty()
    bench = Bench(FILE, SAME, store=store)
    await bench.check(at=0)
    await turns()
    store.kept[A] = replace(entry(A, START - 1, b""), fresh_until=START + 9 * DAY)
    assert await bench.reason(at=DAY) == "rule-matched"
    assert bench.script.asked[1].headers["If-None-Match"] == '"1"'


@runs
async def test_what_another_process_found_out_is_taken() -> None:
    """When memory is stale, a newer entry of the store spares the request."""
    store = Faulty()
    bench = Bench(FILE, DOWN, store=store)
    await bench.check(at=0)
    await turns()
    store.kept[A] = entry(A, START + DAY, b"User-agent: *\nDisallow: /b")
    assert await bench.check(CLOSED, at=DAY + 1)
    assert not await bench.check(OPEN)
    assert len(bench.script.asked) == 1


@runs
async def test_entries_of_another_profile_are_copies_and_not_fresh() -> None:
    """Another profile asks otherwise: its entry is confirmed, or stands in, but does not answer."""
    kept = replace(after((0, FILE), profile="open"), origin=A)
    bench = Bench(SAME, store=Faulty(None, kept))
    assert await bench.reason(at=1) == "rule-matched"
    assert bench.script.asked[0].headers["If-None-Match"] == '"1"'
    unreached = Bench(TIMEOUT, store=Faulty(None, kept))
    assert await unreached.reason(at=1) == "stale-copy"
    assert len(unreached.script.asked) == 1


@runs
async def test_offline_a_store_is_all_there_is() -> None:
    """What is stored is used, also when it is old; nothing is asked, and nothing saved."""
    store = Faulty(None, replace(after((0, FILE)), origin=A))
    bench = Bench(FILE, store=store, offline=True)
    assert await bench.reason(at=1) == "rule-matched"
    later = Bench(FILE, store=store, offline=True)
    assert str(await later.check(at=2 * DAY)).endswith(
        "unreachable (offline); used a copy from 2 d ago"
    )
    assert await later.reason(B + "/") == "unreachable"
    await later.cache.close()
    assert later.script.asked == bench.script.asked == []
    assert set(store.kept) == {A}
    failing = Bench(FILE, store=Faulty(FAILURES["raises"]), offline=True)
    assert await failing.reason() == "unreachable"


@runs
async def test_offline_a_fresh_entry_of_another_profile_is_a_copy() -> None:
    """Where nobody can be asked, a younger copy is not worse than an old one."""
    kept = replace(after((0, FILE), profile="google"), origin=A)
    bench = Bench(FILE, store=Faulty(None, kept), offline=True)
    assert await bench.reason(at=1) == "stale-copy"


@runs
async def test_an_entry_of_a_time_to_come_is_not_taken() -> None:
    """A machine whose clock is ahead does not make the others believe it for so long."""
    kept = replace(after((0, FILE)), origin=A)
    bench = Bench(FILE, store=Faulty(None, kept))
    await bench.check(at=-HOUR)
    assert len(bench.script.asked) == 1


@runs
async def test_what_is_forgotten_is_not_taken_from_the_store() -> None:
    """Whoever forgets a site wants it to be asked again."""
    bench = Bench(FILE, store=Faulty())
    await bench.check(at=0)
    await turns()
    assert await bench.cache.forget(A)
    await bench.check(at=1)
    assert len(bench.script.asked) == 2


@runs
async def test_a_refresh_ahead_takes_what_another_process_found_out() -> None:
    """Of many processes that share a store, one asks the site and the others need not."""
    store = Faulty()
    bench = Bench(FILE, store=store)
    await bench.check(at=0)
    await turns()
    store.kept[A] = entry(A, START + 0.94 * DAY, b"")
    await bench.check(at=0.95 * DAY)
    await turns()
    assert await bench.check(CLOSED)
    assert len(bench.script.asked) == 1


@runs
async def test_a_store_is_asked_once_for_many_questions() -> None:
    """Questions about one site share the look into the store, as they share the retrieval."""
    store = Faulty(None, replace(after((0, FILE)), origin=A))
    bench = Bench(FILE, store=store)
    bench.clock.now = START + 1
    await asyncio.gather(*(bench.check(f"{A}/{number}") for number in range(100)))
    assert store.asked == [f"load {A}"]
    assert bench.script.asked == []


def test_a_place_is_a_path_or_a_url(tmp_path: Path) -> None:
    """`store` takes a Path, the same as text, and `sqlite:///…`."""
    script, path = Script(FILE), tmp_path / "cache.db"
    for place in (path, str(path), f"sqlite:///{path}"):
        with RobotsCache(http=script, clock=Clock(START), store=place) as cache:
            assert not cache.allowed(CLOSED, "MyBot")
    assert len(script.asked) == 1


def test_a_closed_cache_may_be_used_again(tmp_path: Path, caplog: Any) -> None:
    """A cache that was closed opens its store when it is needed."""
    cache = RobotsCache(http=Script(FILE), clock=Clock(START), store=tmp_path / "cache.db")
    for site in (A, B):
        assert not cache.allowed(site + "/a", "MyBot")
        cache.close()
        cache.close()
    assert caplog.records == []


@needs_fork
def test_a_forked_child_answers_without_its_parents_store(tmp_path: Path) -> None:
    """The file stays the parent's: the child's verdicts are those without a store."""

    def child() -> bool:
        tier.CALL_TIMEOUT = CALL_TIMEOUT  # its parent's thread does not answer here
        return not cache.allowed(B + "/a", "MyBot")

    with RobotsCache(http=Script(FILE), clock=Clock(START), store=tmp_path / "cache.db") as cache:
        cache.check(CLOSED, "MyBot")
        assert in_child(child)
        assert not cache.allowed("https://c.example/a", "MyBot")
    with RobotsCache(offline=True, clock=Clock(START), store=tmp_path / "cache.db") as cache:
        assert cache.get(A).robots.body == BODY


def test_without_a_store_nothing_is_written(tmp_path: Path, monkeypatch: Any) -> None:
    """A cache in memory leaves no file behind."""
    monkeypatch.chdir(tmp_path)
    with RobotsCache(http=Script(FILE)) as cache:
        cache.check(CLOSED, "MyBot")
    portal.run(turns())
    assert os.listdir(tmp_path) == []  # noqa: PTH208 (names are enough)


def test_an_outcome_is_kept_as_it_was(tmp_path: Path) -> None:
    """A verdict from a store tells the same story as the one that was retrieved."""
    path, clock = tmp_path / "cache.db", Clock(START)
    verdicts = []
    for _ in range(2):
        with RobotsCache(http=Script(FILE), clock=clock, store=path) as cache:
            verdicts.append(cache.check(CLOSED, "MyBot"))
    assert verdicts[0] == verdicts[1]
    assert isinstance(verdicts[1].retrieval, Outcome)
    assert verdicts[1].retrieval.availability is Availability.AVAILABLE


@pytest.mark.parametrize("store", ["nosuch://place", "valkey://localhost:port/"])
def test_a_place_that_is_none_is_an_error(store: str) -> None:
    """A store that cannot be named is a mistake of the program, and is noticed at once."""
    with pytest.raises((LookupError, StoreError)):
        AsyncRobotsCache(http=Script(FILE), store=store)
