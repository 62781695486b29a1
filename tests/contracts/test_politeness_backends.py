"""What every backend of politeness promises: one body of tests, whatever keeps slots and starts.

Time is data: the tests say what time it is, and nothing sleeps. All times are quarters of seconds,
which every backend has to keep exactly.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manners.politeness.backends import Lease, NotBefore, PolitenessBackend, open_backend
from manners.politeness.backends.memory import MemoryBackend
from tests.sizes import examples

NOW = 1_800_000_000.0
LEASE = 300.0
HOST, OTHER = "example.com", "other.example"
STANDSTILL = 60
"""Seconds after which a test that stands still is ended; no promise depends on them."""

Place = Callable[[], PolitenessBackend]
"""Where slots and starts are kept: each call is one more backend on it, as of another process."""


class Places(Protocol):
    """Makes empty places, with so many slots for each host, and other numbers for some."""

    def __call__(self, concurrency: int = 2, own: Mapping[str, int] | None = None) -> Place: ...


@pytest.fixture(scope="module", params=["memory", "valkey"])
def places(request: pytest.FixtureRequest) -> Places:
    """Empty places of one kind."""
    if request.param == "memory":
        return _memory
    return partial(_valkey, request.getfixturevalue("valkey").url, itertools.count())


def _valkey(
    url: str, numbers: Iterator[int], concurrency: int = 2, own: Mapping[str, int] | None = None
) -> Place:
    slots, times = (f"{name}:{next(numbers)}:" for name in ("slots", "times"))
    return lambda: open_backend(url, concurrency, LEASE, own, slots, times)


def _memory(concurrency: int = 2, own: Mapping[str, int] | None = None) -> Place:
    backend = MemoryBackend(concurrency, LEASE, own)
    return lambda: backend


def run(place: Place, test: Callable[..., Coroutine[Any, Any, None]], number: int = 1) -> None:
    """Run a test with so many backends on one place, which are closed behind it."""

    async def all_of_it() -> None:
        backends = [place() for _ in range(number)]
        try:
            await test(*backends)
        finally:
            for backend in backends:
                await backend.close()

    asyncio.run(asyncio.wait_for(all_of_it(), STANDSTILL))


async def taken(backend: PolitenessBackend, now: float, host: str = HOST) -> Lease:
    """A slot that is free."""
    lease = await backend.take(host, now)
    assert isinstance(lease, Lease)
    assert lease.host == host
    return lease


async def full(backend: PolitenessBackend, now: float, host: str = HOST) -> float:
    """When to try again where all slots are in use."""
    again = await backend.take(host, now)
    assert isinstance(again, float)
    assert not isinstance(again, NotBefore)
    return again


async def too_early(backend: PolitenessBackend, now: float, host: str = HOST) -> float:
    """When to come back where it is not for a slot."""
    again = await backend.take(host, now)
    assert isinstance(again, NotBefore)
    return float(again)


# Start times.


def test_starts_are_apart_by_the_delays(places: Places) -> None:
    """The first is at once, each later one a delay behind the one before, whoever asks."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        assert await backend.reserve(HOST, 0.25, NOW) == NOW
        assert await other.reserve(HOST, 5.0, NOW) == NOW + 0.25
        assert await backend.reserve(HOST, 0.0, NOW) == NOW + 5.25
        assert await other.reserve(HOST, 1.0, NOW + 1) == NOW + 5.25
        assert await backend.reserve(HOST, 1.0, NOW + 1) == NOW + 6.25

    run(places(), test, 2)


def test_time_that_passes_unused_is_not_saved_up(places: Places) -> None:
    """After a break the next two are apart like all others."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.reserve(HOST, 1.0, NOW)
        assert await backend.reserve(HOST, 1.0, NOW + 1) == NOW + 1
        assert await backend.reserve(HOST, 1.0, NOW + 100) == NOW + 100
        assert await backend.reserve(HOST, 1.0, NOW + 100) == NOW + 101

    run(places(), test)


QUARTERS = st.integers(0, 400).map(lambda each: each / 4)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(QUARTERS, QUARTERS, st.none() | QUARTERS)))
def test_no_start_is_before_its_time(
    places: Places, asked: list[tuple[float, float, float | None]]
) -> None:
    """Never in the past, never within a delay, and never later than that."""

    async def test(backend: PolitenessBackend) -> None:
        now, free = NOW, NOW
        for later, delay, within in asked:
            now += later
            start = await backend.reserve(HOST, delay, now, within)
            assert start == max(now, free)
            if within is None or start - now <= within:
                free = start + delay

    run(places(), test)


def test_what_is_too_far_ahead_reserves_nothing(places: Places) -> None:
    """It is told when it would be, as often as it is asked; what is near enough is reserved."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.reserve(HOST, 61.0, NOW, 60.0)
        for _ in range(3):
            assert await backend.reserve(HOST, 61.0, NOW, 60.0) == NOW + 61
        assert await backend.reserve(HOST, 61.0, NOW + 1, 60.0) == NOW + 61
        assert await backend.reserve(HOST, 61.0, NOW + 1, 60.0) == NOW + 122
        assert await backend.reserve(HOST, 61.0, NOW + 1, 60.0) == NOW + 122

    run(places(), test)


def test_what_is_too_far_ahead_leaves_the_delay_before_it(places: Places) -> None:
    """Nothing of it counts for those who come near enough."""

    async def test(backend: PolitenessBackend) -> None:
        assert await backend.reserve(HOST, 2.0, NOW) == NOW
        assert await backend.reserve(HOST, 50.0, NOW, 1.0) == NOW + 2
        await taken(backend, NOW + 1)
        assert await backend.reserve(HOST, 2.0, NOW + 1) == NOW + 3

    run(places(), test)


def test_whoever_takes_a_slot_late_moves_the_next_start(places: Places) -> None:
    """The host sees starts, not plans; who has reserved already is told, too."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        assert await backend.reserve(HOST, 5.0, NOW) == NOW
        assert await other.reserve(HOST, 5.0, NOW) == NOW + 5
        await taken(backend, NOW + 3)
        assert await too_early(other, NOW + 5) == NOW + 8
        assert await backend.reserve(HOST, 5.0, NOW + 5) == NOW + 10
        await taken(other, NOW + 8)
        assert await too_early(backend, NOW + 10) == NOW + 13
        assert await other.reserve(HOST, 5.0, NOW + 20) == NOW + 20

    run(places(), test, 2)


def test_whoever_takes_a_slot_in_time_moves_nothing(places: Places) -> None:
    """The plan holds."""

    async def test(backend: PolitenessBackend) -> None:
        for number in range(4):
            start = await backend.reserve(HOST, 5.0, NOW)
            assert start == NOW + 5 * number
            await backend.release(await taken(backend, start))

    run(places(), test)


def test_whoever_takes_a_slot_may_say_which_delay_is_theirs(places: Places) -> None:
    """Others who have reserved meanwhile, with a delay of their own, do not shorten it."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        assert await backend.reserve(HOST, 5.0, NOW) == NOW
        assert await other.reserve(HOST, 0.25, NOW) == NOW + 5
        lease = await backend.take(HOST, NOW + 3, 5.0)
        assert isinstance(lease, Lease)
        assert await too_early(other, NOW + 5) == NOW + 8
        assert isinstance(await other.take(HOST, NOW + 8, 0.25), Lease)
        assert await too_early(backend, NOW + 8) == NOW + 8.25

    run(places(), test, 2)


def test_whoever_leaves_late_moves_the_next_start(places: Places) -> None:
    """Also after the time at which others were told that they may start."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        lease = await backend.take(HOST, NOW, 5.0)
        assert isinstance(lease, Lease)
        assert await other.reserve(HOST, 5.0, NOW + 1) == NOW + 5
        assert await backend.renew(lease, NOW + 3, 5.0) == lease._replace(until=NOW + 3 + LEASE)
        assert await too_early(other, NOW + 5) == NOW + 8
        assert await backend.renew(lease, NOW + 9, 5.0) is not None  # nobody has started since
        assert await too_early(other, NOW + 13.75) == NOW + 14
        assert await other.reserve(HOST, 5.0, NOW + 14) == NOW + 14
        await taken(other, NOW + 14)

    run(places(), test, 2)


def test_whoever_leaves_late_needs_another_turn_when_others_have_started(places: Places) -> None:
    """Until it is far enough from them; its slot it keeps, and a start of theirs is not moved."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        late = await backend.take(HOST, NOW, 5.0)
        assert isinstance(late, Lease)
        assert isinstance(await other.take(HOST, NOW + 5, 3.0), Lease)
        assert await backend.renew(late, NOW + 6, 5.0) is None
        assert await backend.renew(late, NOW + 6) is not None
        assert await backend.renew(late, NOW + 7.75, 5.0) is None
        assert await backend.renew(late, NOW + 8, 5.0) is not None
        assert await too_early(other, NOW + 12.75) == NOW + 13

    run(places(), test, 2)


def test_whoever_leaves_late_never_brings_the_next_start_nearer(places: Places) -> None:
    """With a shorter delay, or none; a lease that has ended moves nothing."""

    async def test(backend: PolitenessBackend) -> None:
        lease = await backend.take(HOST, NOW, 5.0)
        assert isinstance(lease, Lease)
        for delay in (0.0, 0.25, None):
            assert await backend.renew(lease, NOW + 1, delay) is not None
        assert await too_early(backend, NOW + 1) == NOW + 5
        await backend.release(lease)
        assert await backend.renew(lease, NOW + 2, 50.0) is None
        await taken(backend, NOW + 5)

    run(places(), test)


def test_a_penalty_does_not_stop_who_has_started_before_it(places: Places) -> None:
    """It is on its way already; those behind it wait."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        lease = await backend.take(HOST, NOW, 1.0)
        assert isinstance(lease, Lease)
        await other.penalise(HOST, NOW + 30, NOW)
        assert await backend.renew(lease, NOW + 2, 1.0) is not None
        assert await too_early(other, NOW + 3) == NOW + 30

    run(places(), test, 2)


# Slots.


@pytest.mark.parametrize("slots", [1, 2, 7])
def test_no_more_slots_are_taken_than_there_are(places: Places, slots: int) -> None:
    """Whoever takes them; the answer is when the first is free by itself."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        leases = [await taken((backend, other)[n % 2], NOW + n) for n in range(slots)]
        assert [lease.until for lease in leases] == [NOW + n + LEASE for n in range(slots)]
        assert len({lease.token for lease in leases}) == slots
        for each in (backend, other):
            assert await full(each, NOW + slots) == NOW + LEASE

    run(places(slots), test, 2)


def test_a_host_may_have_its_own_number_of_slots(places: Places) -> None:
    """Fewer or more; all others have the usual number."""

    async def test(backend: PolitenessBackend) -> None:
        for host, slots in ((HOST, 1), (OTHER, 5), ("third.example", 2)):
            for _ in range(slots):
                await taken(backend, NOW, host)
            await full(backend, NOW, host)

    run(places(2, {HOST: 1, OTHER: 5}), test)


def test_a_slot_that_is_released_is_free(places: Places) -> None:
    """For whoever comes first, from the same object or another."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        one = await taken(backend, NOW)
        await taken(backend, NOW)
        await full(other, NOW)
        await backend.release(one)
        two = await taken(other, NOW)
        assert two.token != one.token
        await full(backend, NOW)
        await backend.release(two)  # by another object than took it
        await taken(backend, NOW)

    run(places(), test, 2)


def test_a_lease_that_is_not_released_ends_by_itself(places: Places) -> None:
    """At its time, not before, each by itself."""

    async def test(backend: PolitenessBackend) -> None:
        await taken(backend, NOW)
        await taken(backend, NOW + 10)
        assert await full(backend, NOW + LEASE - 0.25) == NOW + LEASE
        await taken(backend, NOW + LEASE)
        assert await full(backend, NOW + LEASE) == NOW + LEASE + 10
        await taken(backend, NOW + LEASE + 10)
        await full(backend, NOW + LEASE + 10)

    run(places(), test)


def test_a_lease_is_renewed_from_now_on(places: Places) -> None:
    """Its slot stays taken beyond what was its end, as often as it is renewed."""

    async def test(backend: PolitenessBackend) -> None:
        first = await taken(backend, NOW)
        later = NOW
        for _ in range(4):
            later += 200
            renewed = await backend.renew(first, later)
            assert renewed == Lease(HOST, first.token, later + LEASE)
        assert await full(backend, later + LEASE - 0.25) == later + LEASE
        await backend.release(first)  # the token counts, not when it was given out
        await taken(backend, later + LEASE - 0.25)

    run(places(1), test)


def lost(lease: Lease) -> dict[str, Lease]:
    """Leases that are not this one."""
    return {
        "another token": lease._replace(token=lease.token + "0"),
        "no token": lease._replace(token=""),
        "another host": lease._replace(host=OTHER),
        "an unknown host": lease._replace(host="unknown.example"),
    }


@pytest.mark.parametrize("which", lost(Lease("", "", 0.0)))
def test_a_wrong_lease_releases_and_renews_nothing(places: Places, which: str) -> None:
    """The slots of others stay theirs, and end when they would have."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        mine = await taken(backend, NOW)
        await taken(backend, NOW, OTHER)
        wrong = lost(mine)[which]
        if wrong.token == mine.token:  # every lease has a token of its own
            assert await other.renew(mine, NOW + 1) is not None
            mine = mine._replace(until=NOW + 1 + LEASE)
        await other.release(wrong)
        assert await other.renew(wrong, NOW + 2) is None
        assert await full(backend, NOW + 2) == mine.until
        assert await full(backend, NOW + 2, OTHER) == NOW + LEASE
        if which == "an unknown host":
            await taken(backend, NOW + 2, wrong.host)

    run(places(1), test, 2)


def test_a_lease_that_has_ended_is_nobodys(places: Places) -> None:
    """Its holder cannot renew it, nor release what another has taken since."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        ended = await taken(backend, NOW)
        assert await backend.renew(ended, NOW + LEASE) is None
        theirs = await taken(other, NOW + LEASE)
        assert await backend.renew(ended, NOW + LEASE) is None
        await backend.release(ended)
        assert await full(backend, NOW + LEASE) == theirs.until
        assert await other.renew(theirs, NOW + LEASE + 1) is not None

    run(places(1), test, 2)


def test_a_lease_is_released_once(places: Places) -> None:
    """A second time does nothing, and it cannot be renewed."""

    async def test(backend: PolitenessBackend) -> None:
        one, two = await taken(backend, NOW), await taken(backend, NOW)
        await backend.release(one)
        await backend.release(one)
        assert await backend.renew(one, NOW + 1) is None
        three = await taken(backend, NOW + 1)
        await backend.release(one)
        assert await full(backend, NOW + 1) == two.until < three.until

    run(places(), test)


# Penalties.


def test_nothing_starts_during_a_penalty(places: Places) -> None:
    """Neither who reserves, nor who has reserved before; and it says that it is for the time."""

    async def test(backend: PolitenessBackend, other: PolitenessBackend) -> None:
        assert await backend.reserve(HOST, 1.0, NOW) == NOW
        await other.penalise(HOST, NOW + 30, NOW)
        assert await too_early(backend, NOW) == NOW + 30
        assert await too_early(backend, NOW + 29.75) == NOW + 30
        assert await other.reserve(HOST, 1.0, NOW + 10) == NOW + 30
        assert await backend.reserve(HOST, 1.0, NOW + 10) == NOW + 31
        await taken(backend, NOW + 30)

    run(places(), test, 2)


def test_a_penalty_is_never_shortened(places: Places) -> None:
    """The longest counts, in any order."""

    async def test(backend: PolitenessBackend) -> None:
        for until in (10.0, 30.0, 20.0, -5.0):
            await backend.penalise(HOST, NOW + until, NOW)
        assert await backend.reserve(HOST, 1.0, NOW) == NOW + 30
        assert await too_early(backend, NOW) == NOW + 30

    run(places(), test)


def test_a_penalty_is_for_the_time_slot_or_no_slot(places: Places) -> None:
    """Whoever waits for both is told about the time; those under way keep their slots."""

    async def test(backend: PolitenessBackend) -> None:
        lease = await taken(backend, NOW)
        await backend.penalise(HOST, NOW + 30, NOW)
        assert await too_early(backend, NOW + 1) == NOW + 30
        assert await backend.renew(lease, NOW + 1) is not None
        assert await full(backend, NOW + 30) == NOW + 1 + LEASE
        await backend.release(lease)
        await taken(backend, NOW + 30)

    run(places(1), test)


def test_a_penalty_counts_for_how_far_ahead_it_is(places: Places) -> None:
    """Beyond what is waited for, nothing is reserved."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.penalise(HOST, NOW + 900, NOW)
        for _ in range(2):
            assert await backend.reserve(HOST, 1.0, NOW, 60.0) == NOW + 900
        assert await backend.reserve(HOST, 1.0, NOW + 840, 60.0) == NOW + 900
        assert await backend.reserve(HOST, 1.0, NOW + 840, 60.0) == NOW + 901

    run(places(), test)


def test_a_penalty_that_is_over_changes_nothing(places: Places) -> None:
    """Nor does one that was over when it came."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.penalise(HOST, NOW, NOW)
        assert await backend.reserve(HOST, 1.0, NOW) == NOW
        await taken(backend, NOW)
        assert await backend.reserve(HOST, 1.0, NOW + 100) == NOW + 100

    run(places(), test)


# All together.


def test_hosts_have_nothing_to_do_with_each_other(places: Places) -> None:
    """Starts, slots and penalties are one host's."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.reserve(HOST, 50.0, NOW)
        await taken(backend, NOW)
        await full(backend, NOW + 50)
        await backend.penalise(HOST, NOW + 900, NOW)
        for host in (OTHER, "example.com.", "www.example.com", "xexample.com", "*"):
            assert await backend.reserve(host, 1.0, NOW) == NOW
            await taken(backend, NOW, host)

    run(places(1), test)


def test_50_tasks_share_slots_and_starts(places: Places) -> None:
    """However many ask at once, each gets a start of its own, and only so many a slot."""

    async def test(*backends: PolitenessBackend) -> None:
        starts = await asyncio.gather(
            *(backends[n % 3].reserve(HOST, 0.25, NOW) for n in range(50))
        )
        assert sorted(starts) == [NOW + n / 4 for n in range(50)]
        found = await asyncio.gather(*(backends[n % 3].take(OTHER, NOW) for n in range(50)))
        assert sum(isinstance(each, Lease) for each in found) == 4

    run(places(4), test, 3)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "start", "take", "release", "renew", "penalise", "stale"]),
        QUARTERS,
        st.integers(0, 5),
    ),
    max_size=60,
)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS, st.integers(1, 3), QUARTERS)
def test_whatever_happens_slots_and_starts_are_kept_to(
    places: Places, steps: list[tuple[str, float, int]], slots: int, delay: float
) -> None:
    """Never more leases than slots, never a start within a delay or a penalty, none in vain."""

    async def test(backend: PolitenessBackend) -> None:
        now, earliest, penalty = NOW, NOW, NOW
        held: dict[str, Lease] = {}
        ended = [Lease(HOST, "x", NOW)]
        await backend.reserve(HOST, delay, NOW)
        for verb, later, which in steps:
            now += later
            if verb == "start":
                now = max(now, await backend.reserve(HOST, delay, now))
            ended += [lease for lease in held.values() if lease.until <= now]
            held = {token: lease for token, lease in held.items() if lease.until > now}
            mine = list(held.values())[which % len(held)] if held else ended[0]
            if verb == "penalise":
                await backend.penalise(HOST, now + which, now)
                penalty = max(penalty, now + which)
            elif verb == "stale":
                await backend.release(ended[which % len(ended)])
                assert await backend.renew(ended[which % len(ended)], now) is None
            elif verb == "release":
                await backend.release(mine)
                ended.append(held.pop(mine.token, mine))
            elif verb == "renew":
                renewed = await backend.renew(mine, now)
                assert renewed == (mine._replace(until=now + LEASE) if held else None)
                held |= {renewed.token: renewed} if renewed else {}
            elif now < max(earliest, penalty):
                assert await too_early(backend, now) == max(earliest, penalty)
            elif len(held) == slots:
                assert await full(backend, now) == min(lease.until for lease in held.values())
            else:
                lease = await taken(backend, now)
                assert lease.until == now + LEASE
                assert lease.token not in held
                held[lease.token], earliest = lease, now + delay

    run(places(slots), test)


ASKED = st.lists(st.tuples(QUARTERS, QUARTERS, st.none() | QUARTERS, st.booleans()), max_size=20)


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ASKED)
def test_beginning_is_reserving_and_taking(
    places: Places, asked: list[tuple[float, float, float | None, bool]]
) -> None:
    """Where a backend can do both in one go, the same comes of it, and is left behind."""

    async def test(backend: PolitenessBackend) -> None:
        if not (begin := getattr(backend, "begin", None)):
            return
        now, held = NOW, list[Lease]()
        for later, delay, within, is_over in asked:
            now += later
            start = await backend.reserve(HOST, delay, now, within)
            expected = NotBefore(start) if start > now else await backend.take(HOST, now, delay)
            found = await begin(OTHER, delay, now, within)
            assert type(found) is type(expected)
            if isinstance(found, Lease) and isinstance(expected, Lease):
                assert found == Lease(OTHER, found.token, expected.until)
                held += found, expected
            else:
                assert found == expected
            for lease in held if is_over else ():
                await backend.release(lease)

    run(places(), test)


@pytest.mark.parametrize("rounds", range(12))
def test_a_take_that_is_cancelled_leaves_no_slot_behind(places: Places, rounds: int) -> None:
    """At whatever moment: all slots are free again, soon."""

    async def test(backend: PolitenessBackend) -> None:
        await backend.reserve(HOST, 0.0)
        tasks = [asyncio.create_task(_take(backend)) for _ in range(2)]
        for _ in range(rounds):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(found, Lease):
                await backend.release(found)
        async with asyncio.timeout(STANDSTILL):
            for _ in range(2):
                while not isinstance(await backend.take(HOST), Lease):
                    await asyncio.sleep(0.01)

    run(places(), test)


async def _take(backend: PolitenessBackend) -> Lease | float:
    return await backend.take(HOST)


def test_without_a_time_it_is_the_backends_own(places: Places) -> None:
    """Which is the time of day, here."""

    async def test(backend: PolitenessBackend) -> None:
        before = time.time()
        start = await backend.reserve(HOST, 0.0)
        lease = await backend.take(HOST)
        assert isinstance(lease, Lease)
        renewed = await backend.renew(lease)
        assert renewed is not None
        after = time.time()
        assert before - 1 <= start <= after + 1
        assert before - 1 <= lease.until - LEASE <= renewed.until - LEASE <= after + 1
        await backend.penalise(HOST, after + 900)
        assert isinstance(await backend.take(HOST), NotBefore)

    run(places(), test)


def test_closing_is_harmless(places: Places) -> None:
    """A backend may be closed without having been used, and twice."""

    async def test(backend: PolitenessBackend, unused: PolitenessBackend) -> None:
        await taken(backend, NOW)
        await backend.close()
        await backend.close()
        await unused.close()

    run(places(), test, 2)


# In memory: what nobody needs is not kept.


def test_hosts_that_nobody_needs_are_forgotten() -> None:
    """Those with a request under way, a start or a penalty ahead are remembered."""
    backend = MemoryBackend(1, LEASE)

    async def test() -> None:
        held = await taken(backend, NOW + 100, "held.example")
        abandoned = await taken(backend, NOW - LEASE, "abandoned.example")
        await backend.reserve("starts.example", 10_000.0, NOW)
        await backend.reserve("starts.example", 10_000.0, NOW)
        await backend.penalise("penalised.example", NOW + 10_000, NOW)
        for number in range(30_000):
            host, now = f"{number}.example", NOW + number / 128
            assert await backend.reserve(host, 0.5, now) == now
            await backend.release(await taken(backend, now, host))
            assert len(backend._hosts) <= 20_000
        assert "abandoned.example" not in backend._hosts
        assert await backend.renew(abandoned, NOW) is None
        assert await full(backend, NOW + 300, "held.example") == held.until
        assert await backend.reserve("starts.example", 1.0, NOW + 300) == NOW + 20_000
        assert await too_early(backend, NOW + 300, "penalised.example") == NOW + 10_000

    asyncio.run(test())


@pytest.mark.parametrize("theirs", [0, 1, 2])
def test_a_child_does_not_wait_for_its_parents_requests(
    monkeypatch: pytest.MonkeyPatch, theirs: int
) -> None:
    """What was under way when a process was forked is the parent's; starts and penalties hold."""
    backend = MemoryBackend(2, LEASE)

    async def test() -> None:
        await backend.reserve(HOST, 5.0, NOW)
        leases = [await taken(backend, NOW + 5 * number) for number in range(theirs)]
        await backend.penalise(OTHER, NOW + 30, NOW)
        monkeypatch.setattr("manners._forks.generation", 1)
        for number in (2, 3):
            await taken(backend, NOW + 5 * number)
        assert await full(backend, NOW + 20) == NOW + 10 + LEASE
        for lease in leases:
            assert await backend.renew(lease, NOW + 20) is None
        assert await full(backend, NOW + 20) == NOW + 10 + LEASE
        assert await too_early(backend, NOW, OTHER) == NOW + 30

    asyncio.run(test())
