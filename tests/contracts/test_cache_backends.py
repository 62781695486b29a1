"""What every backend of the cache promises: one body of tests, whatever keeps the entries.

`InDict` shows what a backend of one's own needs: five methods, and `save` that keeps the newer.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manners.cache.backends import CacheBackend, VersionBackend, history, open_backend
from manners.cache.backends.valkey import ValkeyCache
from manners.cache.encoding import valid_entry
from manners.cache.entry import Entry
from manners.cache.robots import AsyncRobotsCache
from manners.cache.tier import MAX_CONCURRENT
from manners.cache.versions import Version
from manners.errors import StoreError
from manners.testing import Clock
from tests.cache.steps import DAY, FILE, START
from tests.cache.test_robots_cache import CLOSED, OPEN, Script
from tests.contracts.entries import ENTRIES, ORIGINS, entry
from tests.contracts.valkey import Valkey
from tests.sizes import examples

STANDSTILL = 60
"""Seconds after which a test that stands still is ended; no promise depends on them."""


class InDict:
    """Entries in a dictionary, which several backends of one process may share."""

    def __init__(self, kept: dict[str, Entry]) -> None:
        self.kept = kept

    async def load(self, origin: str) -> Entry | None:
        return self.kept.get(origin)

    async def save(self, entry: Entry) -> None:
        before = self.kept.get(entry.origin)
        if before is None or entry.outcome.at >= before.outcome.at:
            self.kept[entry.origin] = entry

    async def forget(self, origin: str) -> bool:
        return self.kept.pop(origin, None) is not None

    async def entries(self) -> AsyncIterator[Entry]:
        for each in list(self.kept.values()):
            yield each

    async def close(self) -> None:
        pass


Place = Callable[[], CacheBackend]
"""A place for entries: each call is one more backend on it."""
Places = Callable[[], Place]
"""Makes empty places."""


@pytest.fixture(scope="module", params=["sqlite", "valkey", "of one's own"])
def places(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Places]:
    """Empty places of one kind."""
    folder, numbers = tmp_path_factory.mktemp("places"), itertools.count()
    if request.param == "sqlite":
        yield lambda: _file(folder / f"{next(numbers)}.db")
    elif request.param == "valkey":
        with Valkey(folder) as server:
            yield lambda: _keys(server.url, f"{next(numbers)}:")
    else:
        yield lambda: _dict({})


def _file(path: Path) -> Place:
    return lambda: open_backend(str(path))


def _keys(url: str, prefix: str) -> Place:
    return lambda: ValkeyCache(url, prefix)


def _dict(kept: dict[str, Entry]) -> Place:
    return lambda: InDict(kept)


def run(place: Place, test: Callable[..., Coroutine[Any, Any, None]], number: int = 1) -> None:
    """Run a test with so many backends on one place, which are closed behind it."""

    async def all_of_it() -> None:
        backends = [place() for _ in range(number)]
        try:
            await asyncio.wait_for(test(*backends), STANDSTILL)
        finally:
            for backend in backends:
                await backend.close()

    asyncio.run(all_of_it())


async def kept(backend: CacheBackend) -> dict[str, Entry]:
    """Everything that is kept, each once."""
    found = [each async for each in backend.entries()]
    by_origin = {each.origin: each for each in found}
    assert len(by_origin) == len(found)
    return by_origin


def test_nothing_is_known_of_an_unknown_origin(places: Places) -> None:
    """An empty place has nothing, and forgets nothing."""

    async def test(backend: CacheBackend) -> None:
        assert await backend.load(ORIGINS[0]) is None
        assert not await backend.forget(ORIGINS[0])
        assert await kept(backend) == {}
        await backend.save(entry(ORIGINS[0]))
        assert await backend.load(ORIGINS[1]) is None
        assert await backend.load("") is None
        assert await backend.load(ORIGINS[0] + "'; --*") is None

    run(places(), test)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ENTRIES, min_size=1, max_size=6, unique_by=lambda each: each.origin))
def test_what_is_saved_is_loaded_as_it_was(places: Places, saved: list[Entry]) -> None:
    """Every field comes back, in whatever state, from another object too."""

    async def test(backend: CacheBackend, other: CacheBackend) -> None:
        for each in saved:
            await backend.save(each)
        for each in saved:
            for reader in (backend, other):
                loaded = await reader.load(each.origin)
                assert loaded == each
                assert repr(loaded) == repr(each)
                assert valid_entry(loaded)
        assert await kept(other) == {each.origin: each for each in saved}

    run(places(), test, 2)


@pytest.mark.parametrize("body", [None, b"", b"+", b"\0", b"\xff\xfe", bytes(range(256))], ids=repr)
def test_bodies_are_bytes_or_none(places: Places, body: bytes | None) -> None:
    """No body, an empty one, and one of any bytes are three things."""

    async def test(backend: CacheBackend) -> None:
        await backend.save(entry(body=body))
        loaded = await backend.load(ORIGINS[0])
        assert loaded is not None
        assert (loaded.body, type(loaded.body)) == (body, type(body))

    run(places(), test)


def test_large_bodies_are_kept_whole(places: Places) -> None:
    """A body of more than any profile reads comes back byte by byte."""
    body = random.Random(0).randbytes(4 * 1024 * 1024)

    async def test(backend: CacheBackend) -> None:
        await backend.save(entry(body=body))
        loaded = await backend.load(ORIGINS[0])
        assert loaded is not None
        assert loaded.body == body

    run(places(), test)


def test_what_is_stale_is_returned(places: Places) -> None:
    """Freshness is decided by who asks: what was fresh until 1970 is still kept."""
    old = replace(entry(at=0.0), fresh_until=0.0, unreachable_since=0.0)

    async def test(backend: CacheBackend) -> None:
        await backend.save(old)
        assert await backend.load(ORIGINS[0]) == old
        assert await kept(backend) == {ORIGINS[0]: old}

    run(places(), test)


@settings(max_examples=examples(30), deadline=None)
@given(st.permutations(range(6)), st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6))
def test_the_newer_is_kept_in_any_order(places: Places, order: list[int], whose: list[int]) -> None:
    """Whoever was slow does not undo what another found out later."""

    async def test(*backends: CacheBackend) -> None:
        for number, who in zip(order, whose, strict=True):
            # Times differ by less than a millisecond, as those of a fleet do.
            await backends[who].save(entry(at=START + number / 4096, body=b"%d" % number))
        loaded = await backends[0].load(ORIGINS[0])
        assert loaded is not None
        assert loaded.body == b"5"

    run(places(), test, 2)


def test_of_two_of_one_time_the_later_is_kept(places: Places) -> None:
    """What is not older replaces what is kept."""

    async def test(backend: CacheBackend) -> None:
        for body in (b"1", None, b"2"):
            await backend.save(entry(body=body))
            loaded = await backend.load(ORIGINS[0])
            assert loaded is not None
            assert loaded.body == body

    run(places(), test)


def test_the_newer_replaces_every_field(places: Places) -> None:
    """Nothing of the older entry is left in the newer."""
    full = replace(
        entry(body=b"long" * 100), etag='"1"', last_modified="now", unreachable_since=1.0
    )

    async def test(backend: CacheBackend) -> None:
        await backend.save(full)
        bare = entry(at=START + 1, body=None)
        await backend.save(bare)
        loaded = await backend.load(ORIGINS[0])
        assert loaded == bare
        assert loaded is not None
        for field in fields(Entry):
            assert getattr(loaded, field.name) == getattr(bare, field.name)

    run(places(), test)


def test_the_newer_is_kept_while_many_save(places: Places) -> None:
    """Saves at the same time, from several objects, leave the newest of each origin."""
    order = [(site, number) for site in ORIGINS for number in range(40)]
    random.Random(1).shuffle(order)

    async def test(*backends: CacheBackend) -> None:
        for some in range(0, len(order), MAX_CONCURRENT):  # as many as a backend is asked at a time
            await asyncio.gather(
                *(
                    backends[place % 4].save(entry(site, START + number, b"%d" % number))
                    for place, (site, number) in enumerate(order[some : some + MAX_CONCURRENT])
                )
            )
        found = await kept(backends[0])
        assert {site: each.body for site, each in found.items()} == dict.fromkeys(ORIGINS, b"39")

    run(places(), test, 4)


def test_what_is_forgotten_is_gone(places: Places) -> None:
    """Forgetting drops one origin, says whether there was anything, and lets an older one in."""

    async def test(backend: CacheBackend, other: CacheBackend) -> None:
        for site in ORIGINS[:3]:
            await backend.save(entry(site))
        assert await other.forget(ORIGINS[0])
        assert not await backend.forget(ORIGINS[0])
        assert await backend.load(ORIGINS[0]) is None
        assert set(await kept(backend)) == set(ORIGINS[1:3])
        older = entry(at=START - DAY)
        await backend.save(older)
        assert await other.load(ORIGINS[0]) == older

    run(places(), test, 2)


def test_all_entries_are_listed(places: Places) -> None:
    """However many there are, each comes once, with its body."""
    saved = {f"https://{number}.example": b"%d" % number for number in range(517)}

    async def test(backend: CacheBackend, other: CacheBackend) -> None:
        for site, body in saved.items():
            await backend.save(entry(site, body=body))
        assert {site: each.body for site, each in (await kept(other)).items()} == saved

    run(places(), test, 2)


def test_entries_are_listed_while_they_change(places: Places) -> None:
    """What is there all the time is listed, each origin once; what comes and goes may be."""
    stays = {f"https://{number}.example" for number in range(0, 400, 2)}
    goes = {f"https://{number}.example" for number in range(1, 400, 2)}
    comes = {f"https://{number}.new.example" for number in range(300)}

    async def test(backend: CacheBackend, other: CacheBackend) -> None:
        for site in stays | goes:
            await backend.save(entry(site))
        changes: list[tuple[Change, str]] = [(other.forget, site) for site in sorted(goes)]
        changes += [(_saving(other), site) for site in sorted(comes | stays)]
        random.Random(2).shuffle(changes)
        listed: list[str] = []
        async for each in backend.entries():
            listed.append(each.origin)
            for change, site in (changes.pop() for _ in range(min(7, len(changes)))):
                await change(site)
        assert len(listed) == len(set(listed))
        assert stays <= set(listed) <= stays | goes | comes

    run(places(), test, 2)


Change = Callable[[str], Coroutine[Any, Any, bool]]


def _saving(backend: CacheBackend) -> Change:
    async def save(site: str) -> bool:
        await backend.save(entry(site, START + 1))
        return True

    return save


def test_a_listing_may_be_left_early(places: Places) -> None:
    """Whoever has seen enough leaves, and everything else goes on."""

    async def test(backend: CacheBackend) -> None:
        for number in range(250):
            await backend.save(entry(f"https://{number}.example"))
        async for _ in backend.entries():
            break
        await backend.save(entry())
        assert await backend.load(ORIGINS[0]) is not None
        assert len(await kept(backend)) == 251

    run(places(), test)


def test_backends_on_one_place_see_each_other(places: Places) -> None:
    """What one saves or forgets, the other sees at once, and a later one too."""
    place = places()

    async def two(one: CacheBackend, other: CacheBackend) -> None:
        for number in range(20):
            saved = entry(at=START + number, body=b"%d" % number)
            await (one, other)[number % 2].save(saved)
            assert await (other, one)[number % 2].load(ORIGINS[0]) == saved

    async def later(backend: CacheBackend) -> None:
        loaded = await backend.load(ORIGINS[0])
        assert loaded is not None
        assert loaded.body == b"19"

    run(place, two, 2)
    run(place, later)


def test_places_are_separate(places: Places) -> None:
    """What is kept in one place is not in another."""

    async def saves(backend: CacheBackend) -> None:
        await backend.save(entry())

    async def has_nothing(backend: CacheBackend) -> None:
        assert await kept(backend) == {}

    run(places(), saves)
    run(places(), has_nothing)


def test_closing_is_harmless(places: Places) -> None:
    """A backend may be closed without having been used, and twice."""

    async def test(backend: CacheBackend, unused: CacheBackend) -> None:
        await backend.save(entry())
        await backend.close()
        await backend.close()
        await unused.close()

    run(places(), test, 2)


def test_a_question_that_is_given_up_confuses_nobody(places: Places) -> None:
    """Whoever stops waiting leaves the others with answers to their own questions."""

    async def test(backend: CacheBackend) -> None:
        for site in ORIGINS:
            await backend.save(entry(site, body=site.encode()))
        for number in range(60):
            site = ORIGINS[number % len(ORIGINS)]
            given_up = asyncio.ensure_future(backend.load(ORIGINS[(number + 1) % len(ORIGINS)]))
            for _ in range(number % 7):
                await asyncio.sleep(0)
            given_up.cancel()
            loaded = await backend.load(site)
            assert loaded is not None
            assert loaded.body == site.encode()
            await asyncio.gather(given_up, return_exceptions=True)

    run(places(), test)


Told = tuple[float, float, bytes | None]


async def told(backend: CacheBackend, origin: str = ORIGINS[0]) -> list[Told] | None:
    """The history of an origin: from when, until when, and the file; None if none is kept."""
    if isinstance(backend, VersionBackend):
        versions = await history(backend, origin)
        assert all(version.origin == origin for version in versions)
        return [(version.first, version.last, version.body) for version in versions]
    with pytest.raises(StoreError, match="keeps no history of robots"):
        await history(backend, origin)
    return None


def test_history_has_one_version_for_each_change(places: Places) -> None:
    """What is said again is confirmed; what is new, or comes back, begins a version."""
    bodies = [b"a", b"a", b"b", None, None, b"b", b""]

    async def test(backend: CacheBackend, other: CacheBackend) -> None:
        assert await told(backend) in ([], None)
        for number, body in enumerate(bodies):
            await (backend, other)[number % 2].save(entry(at=START + number, body=body))
        expected: list[Told] = [
            (START, START + 1, b"a"),
            (START + 2, START + 2, b"b"),
            (START + 3, START + 4, None),
            (START + 5, START + 5, b"b"),
            (START + 6, START + 6, b""),
        ]
        assert await told(backend) in (expected, None)
        assert await told(other) == await told(backend)
        assert await told(other, ORIGINS[1]) in ([], None)

    run(places(), test, 2)


def test_history_stays_when_an_entry_is_forgotten(places: Places) -> None:
    """Forgetting makes a site be asked again; what it said is still known."""

    async def test(backend: CacheBackend) -> None:
        await backend.save(entry(body=b"a"))
        await backend.forget(ORIGINS[0])
        await backend.save(entry(at=START - 5, body=b"older"))
        await backend.save(entry(at=START + 5, body=b"a"))
        assert await told(backend) in ([(START, START + 5, b"a")], None)

    run(places(), test)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ENTRIES, min_size=1, max_size=6))
def test_history_is_read_as_it_was_saved(places: Places, saved: list[Entry]) -> None:
    """Whatever was saved, versions follow each other in time, and differ from the one before."""

    async def test(backend: CacheBackend) -> None:
        if not isinstance(backend, VersionBackend):
            return
        for each in saved:
            await backend.save(each)
        for origin in {each.origin for each in saved}:
            versions: list[Version] = await history(backend, origin)
            assert versions
            assert all(
                one.first <= one.last <= two.first for one, two in itertools.pairwise(versions)
            )
            assert all(one.content != two.content for one, two in itertools.pairwise(versions))
            latest = await backend.load(origin)
            assert latest is not None
            assert versions[-1].last == latest.outcome.at
            if latest.outcome.is_plain:
                assert versions[-1].body == latest.body

    run(places(), test)


def test_a_second_cache_makes_no_request(places: Places) -> None:
    """What one cache retrieved answers for another, which asks again when it is stale."""
    place, clock = places(), Clock(START)

    async def asked() -> int:
        script = Script(FILE)
        async with AsyncRobotsCache(http=script, clock=clock, store=place()) as cache:
            assert not await cache.check(CLOSED, "MyBot")
            assert await cache.check(OPEN, "MyBot")
        return len(script.asked)

    assert [asyncio.run(asked()) for _ in range(3)] == [1, 0, 0]
    clock.now = START + 2 * DAY
    assert [asyncio.run(asked()) for _ in range(3)] == [1, 0, 0]
