"""A watch in this process: sites on loopback, looked at again and again."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from manners import Settings, StoreError
from manners.cache.backends.sqlite import SqliteCache
from manners.store.locks import InUse
from manners.watch import watcher
from manners.watch.deciding import decide
from manners.watch.delivering import Channel
from manners.watch.journal import MAX_AGE, Delivery, Journal
from manners.watch.opening import OpenWatch, cache_path, only_watch
from manners.watch.pace import Retries
from manners.watch.sight import Known
from tests.watch.places import PATIENCE, Answer, Sites, receiver, sites, wait_until
from tests.watch.test_deciding import SITE, entry_of
from tests.watch.test_delivering import webhook

QUICK = Retries(first=0.01, most=0.05, attempts=6)
SETTINGS = Settings(
    allow_private=True,
    min_delay=0.0,
    max_delay=0.0,
    adaptive_factor=0.0,
    connect_timeout=PATIENCE,
    read_timeout=PATIENCE,
    total_timeout=PATIENCE,
)


class Notes:
    """A channel that keeps what it gets."""

    name, is_retried, has_all = "notes", False, True

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def deliver(self, delivery: Delivery) -> str:
        self.events.append(json.loads(delivery.text))
        return ""

    @property
    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]


class Ran:
    """A watch that ran: what it noted, what it warned of, and its counts."""

    def __init__(self, *channels: Channel, settings: Settings = SETTINGS) -> None:
        self.notes, self.warnings = Notes(), list[str]()
        self.channels, self.settings = [self.notes, *channels], settings
        self.watch: OpenWatch

    def run(
        self,
        urls: list[str],
        path: Path,
        *,
        every: float | None = None,
        until: Callable[[], bool] = lambda: False,
        retries: Retries = QUICK,
    ) -> "Ran":
        """Run once, or again and again until something is so."""
        self.watch = OpenWatch(
            urls,
            self.settings,
            path,
            self.channels,
            self.warnings.append,
            every=every,
            retries=retries,
        )

        async def main() -> None:
            async with asyncio.timeout(PATIENCE):
                running = asyncio.create_task(self.watch.run())
                while not (running.done() or until()):
                    await asyncio.sleep(0.005)
                self.watch.watcher.stop()
                await running

        # A run that ends is not stopped before.
        if every is None:
            asyncio.run(self.watch.run())
        else:
            asyncio.run(main())
        return self


def once(place: Sites, path: Path, *channels: Channel, **settings: Any) -> Ran:
    return Ran(*channels, settings=SETTINGS.but(**settings)).run([place.url()], path)


def test_a_change_is_reported_with_what_it_does(tmp_path: Path) -> None:
    """Sentences first, then for whom, with the lines before and after."""
    with sites() as place:
        place.say("User-agent: *\nDisallow: /cart\n")
        assert once(place, tmp_path / "w.db").notes.kinds == ["watching"]
        place.say("User-agent: *\nDisallow: /\n")
        (event,) = once(place, tmp_path / "w.db").notes.events
    url = f"{place.url()}/robots.txt"
    assert event["sentences"][0] == f"{url} changed: 30 bytes before, 26 bytes now."
    assert "loses everything" in event["sentences"][1]
    assert event["text"] == " ".join(event["sentences"])
    assert (event["event"], event["site"], event["url"]) == ("changed", place.url(), url)
    assert (event["before"]["bytes"], event["after"]["bytes"]) == (30, 26)
    (change,) = event["impact"]["changes"]
    (closed,) = change["closed"][:1]
    assert closed["after"] == {"line": 2, "text": "Disallow: /"}


def test_only_different_bytes_are_a_version(tmp_path: Path) -> None:
    """The same file again is no event and no version; another one is both."""
    path = tmp_path / "w.db"
    with sites() as place:
        for body in ("a: b", "a: b", "c: d", "c: d", "a: b"):
            place.say(body)
            once(place, path)
        site = place.url()

    async def versions() -> list[bytes | None]:
        cache = SqliteCache(path)
        found = await cache.history(site)
        await cache.close()
        return [version.body for version in found]

    assert asyncio.run(versions()) == [b"a: b", b"c: d", b"a: b"]


def test_a_site_that_goes_away_is_reported_once(tmp_path: Path) -> None:
    """Also over several runs: and once more when it is back, with what changed meanwhile."""
    path, kinds, unreachable = tmp_path / "w.db", [], []
    with sites() as place:
        for status, body in (
            *((503, ""), (503, ""), (200, "a: b"), (500, ""), (503, ""), (200, "a: b")),
            *((500, ""), (200, "c: d"), (404, ""), (403, ""), (200, "c: d")),
        ):
            place.say(body, status=status)
            ran = once(place, path)
            kinds.append(ran.notes.kinds)
            unreachable.append(ran.watch.watcher.unreachable)
    assert kinds == [
        *(["unreachable"], [], ["watching"], ["unreachable"], [], ["back"]),
        *(["unreachable"], ["changed"], ["changed"], [], ["changed"]),
    ]
    assert unreachable == [1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0]


def test_a_page_in_place_of_the_file_is_a_change(tmp_path: Path) -> None:
    """An error page with status 200 allows what the file disallowed, and is named as what it is."""
    with sites() as place:
        place.say("User-agent: *\nDisallow: /\n")
        once(place, tmp_path / "w.db")
        place.say("<!doctype html>\n<title>Not found</title>\n")
        (event,) = once(place, tmp_path / "w.db").notes.events
    assert "is a web page (HTML) now" in event["sentences"][0]
    assert any("may now fetch everything" in sentence for sentence in event["sentences"])
    assert event["after"]["result"] == "200, looks like HTML"


def test_a_file_that_is_gone_opens_what_it_closed(tmp_path: Path) -> None:
    """A 404 allows everything, and a file that comes back closes it again."""
    with sites() as place:
        place.say("User-agent: *\nDisallow: /private/\n")
        once(place, tmp_path / "w.db")
        place.say("", status=404)
        (gone,) = once(place, tmp_path / "w.db").notes.events
        place.say("User-agent: *\nDisallow: /private/\n")
        (back,) = once(place, tmp_path / "w.db").notes.events
    assert "is gone (404): everything is allowed now" in gone["text"]
    assert "may now fetch /private/" in gone["text"]
    assert (gone["before"]["bytes"], gone["after"]["bytes"]) == (34, None)
    assert "loses /private/" in back["text"]


def test_a_copy_is_confirmed_with_a_conditional_request(tmp_path: Path) -> None:
    """A site with an ETag is asked whether it changed, and need not send the file again."""
    with sites() as place:
        place.answers["127.0.0.1"] = Answer(200, b"a: b", (("ETag", '"1"'),))
        once(place, tmp_path / "w.db")
        place.answers["127.0.0.1"] = Answer(304)
        assert once(place, tmp_path / "w.db").notes.events == []
    assert place.headers[-1]["if-none-match"] == '"1"'


def test_a_file_that_was_just_changed_is_asked_for_again(tmp_path: Path) -> None:
    """It may change once more in the same second, and keep its date: nothing is missed."""
    now = "Thu, 01 Oct 2026 06:00:00 GMT"
    old = "Thu, 01 Oct 2026 05:00:00 GMT"
    with sites() as place:
        for changed in (now, old):
            headers = (("Last-Modified", changed), ("ETag", '"1"'), ("Date", now))
            place.answers["127.0.0.1"] = Answer(200, b"a: b", headers)
            once(place, tmp_path / "w.db")
        once(place, tmp_path / "w.db")
    assert ["if-none-match" in sent for sent in place.headers] == [False, False, True]


def test_the_cache_of_a_crawl_can_be_watched(tmp_path: Path) -> None:
    """What another command retrieved is a copy like any other, fresh or not: the site is asked."""
    path = tmp_path / "w.db"
    with sites() as place:
        place.say("a: b")

        async def crawl() -> None:
            from manners import AsyncRobotsCache

            async with AsyncRobotsCache(store=path, allow_private=True) as cache:
                await cache.check(place.url())

        once(place, path)
        place.say("c: d")
        with closing(sqlite3.connect(path)) as file:  # so that the crawl has to ask
            file.execute("DELETE FROM entries")
            file.commit()
        asyncio.run(crawl())
        (event,) = once(place, path).notes.events
    assert event["event"] == "changed"
    assert (event["before"]["bytes"], event["after"]["bytes"]) == (4, 4)
    assert event["impact"]["equal"] is True  # the earlier file is found among the versions


def test_a_change_from_a_file_that_is_not_kept_is_still_reported(tmp_path: Path) -> None:
    """Somebody may have emptied the cache: then what the change does is not known, and said so."""
    path = tmp_path / "w.db"
    with sites() as place:
        place.say("a: b")
        once(place, path)
        with closing(sqlite3.connect(path)) as file:
            for table in ("entries", "versions"):
                file.execute(f"DELETE FROM {table}")
            file.commit()
        place.say("c: d")
        (event,) = once(place, path).notes.events
    assert event["sentences"][-1] == "The earlier file is not kept: what changes is unknown."
    assert event["impact"] is None


def test_a_pause_that_a_site_asks_for_is_respected_by_the_next_run(tmp_path: Path) -> None:
    """Retry-After of an overloaded site holds for the next run, which does not ask."""
    with sites() as place:
        place.answers["127.0.0.1"] = Answer(503, b"", (("Retry-After", "3600"),))
        once(place, tmp_path / "w.db")
        ran = once(place, tmp_path / "w.db")
    assert len(place.asked) == 1
    assert (ran.notes.events, ran.watch.watcher.unreachable) == ([], 1)


def test_sites_are_looked_at_again_and_again(tmp_path: Path) -> None:
    """Until the watch is stopped; what changed meanwhile is reported as it is found."""
    ran = Ran()
    with sites() as place:
        place.say("a: b")

        def proceed() -> bool:
            if "watching" in ran.notes.kinds and len(place.asked) >= 3:
                place.say("c: d")
            return "changed" in ran.notes.kinds

        ran.run([place.url()], tmp_path / "w.db", every=0.01, until=proceed)
    assert ran.notes.kinds == ["watching", "changed"]


def test_a_restarted_watch_does_not_ask_again_at_once(tmp_path: Path) -> None:
    """When a site was looked at is remembered, so that restarts are no load; a new one is asked."""
    with sites() as place:
        first = Ran()
        first.run(
            [place.url()], tmp_path / "w.db", every=3600.0, until=lambda: bool(first.notes.events)
        )
        second = Ran()
        second.run(
            [place.url(), place.url("127.0.0.2")],
            tmp_path / "w.db",
            every=3600.0,
            until=lambda: bool(second.notes.events),
        )
    assert place.asked == ["127.0.0.1", "127.0.0.2"]


def test_many_sites_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked once in a run, some at a time; the same run again finds no change."""
    monkeypatch.setattr(watcher, "START_GAP", 0.0)
    addresses = [f"127.0.{number // 250}.{number % 250 + 1}" for number in range(300)]
    with sites() as place:
        for address in addresses:
            place.say(f"# {address}", address)
        urls = [place.url(address) for address in addresses]
        ran = Ran().run(urls, tmp_path / "w.db")
        assert sorted(place.asked) == sorted(addresses)
        assert sorted(event["site"] for event in ran.notes.events) == sorted(urls)
        place.say("# new", addresses[7])
        ran = Ran().run(urls, tmp_path / "w.db")
    assert [event["site"] for event in ran.notes.events] == [place.url(addresses[7])]


def test_looks_at_many_sites_are_spread(tmp_path: Path) -> None:
    """Between the starts of two looks there is a gap, which is waited for."""
    waits: list[float] = []

    async def main() -> None:
        real = asyncio.sleep

        async def sleep(seconds: float, *_: Any) -> None:
            waits.append(seconds)
            await real(0)

        with sites() as place, pytest.MonkeyPatch.context() as patch:
            patch.setattr(asyncio, "sleep", sleep)
            watch = OpenWatch(
                [place.url(f"127.0.0.{number}") for number in range(1, 6)],
                SETTINGS,
                tmp_path / "w.db",
                [],
                print,
            )
            await watch.run()

    asyncio.run(main())
    assert waits.count(watcher.START_GAP) == 5


def test_a_webhook_that_fails_is_tried_again(tmp_path: Path) -> None:
    """Until it accepts: the same event, signed each time."""
    with sites() as place, receiver() as hook:
        place.say("a: b")
        once(place, tmp_path / "w.db")
        place.say("c: d")
        hook.answers = [500, 503, 200]
        ran = once(place, tmp_path / "w.db", webhook(hook.url))
    assert len(hook.posts) == 3
    assert len(set(hook.events)) == 1
    assert all(post.is_signed() for post in hook.posts)
    assert ran.watch.watcher.undelivered == 0
    assert "replied 500; trying event" in ran.warnings[0]


def test_a_run_leaves_a_receiver_that_is_down_to_the_next_one(tmp_path: Path) -> None:
    """A run with an end has little patience, and the event waits for the next run."""
    impatient = QUICK._replace(first=1000.0, most=1000.0)
    with sites() as place, receiver() as hook:
        place.say("a: b")
        once(place, tmp_path / "w.db")
        place.say("c: d")
        hook.answers = [500]
        ran = Ran(webhook(hook.url)).run([place.url()], tmp_path / "w.db", retries=impatient)
        assert (len(hook.posts), ran.watch.watcher.undelivered) == (1, 1)
        assert "the next run delivers event" in ran.warnings[0]
        again = Ran(webhook(hook.url)).run([place.url()], tmp_path / "w.db", retries=impatient)
        assert (len(hook.posts), again.watch.watcher.undelivered) == (1, 1)  # it is not due yet
        with closing(sqlite3.connect(tmp_path / "w.db")) as file:
            file.execute("UPDATE watch_deliveries SET due = 0")
            file.commit()
        hook.answers = [200]
        last = Ran(webhook(hook.url)).run([place.url()], tmp_path / "w.db", retries=impatient)
    assert (len(hook.posts), last.watch.watcher.undelivered) == (2, 0)
    assert len(set(hook.events)) == 1


def test_a_receiver_that_never_accepts_is_given_up(tmp_path: Path) -> None:
    """After a bounded number of attempts, which is reported."""
    with sites() as place, receiver() as hook:
        place.say("a: b")
        once(place, tmp_path / "w.db")
        place.say("c: d")
        hook.answers = [500]
        ran = once(place, tmp_path / "w.db", webhook(hook.url))
        assert len(hook.posts) == QUICK.attempts
        assert ran.watch.watcher.undelivered == 1
        assert "gave up event" in ran.warnings[-1]
        once(place, tmp_path / "w.db", webhook(hook.url))
    assert len(hook.posts) == QUICK.attempts


def test_a_slow_channel_does_not_delay_another(tmp_path: Path) -> None:
    """While a receiver hangs, other channels get their events, and sites are looked at."""
    ran: Ran

    with sites() as place, receiver() as hook:
        hook.answers = ["hang"]
        ran = Ran(webhook(hook.url))
        place.say("a: b")
        count = [0]

        def proceed() -> bool:
            if len(ran.notes.events) > count[0]:
                count[0] = len(ran.notes.events)
                place.say(f"# {count[0]}")
            if count[0] >= 4:
                hook.release()
            return count[0] >= 4

        ran.run([place.url()], tmp_path / "w.db", every=0.01, until=proceed)
    assert ran.notes.kinds[:4] == ["watching", "changed", "changed", "changed"]


def test_an_error_ends_the_watch(tmp_path: Path) -> None:
    """A channel that cannot go on, as when nobody reads the output, is not passed over."""

    class Closed(Notes):
        name = "closed"

        async def deliver(self, _: Delivery) -> str:
            raise BrokenPipeError

    with sites() as place, pytest.raises(BrokenPipeError):
        Ran(Closed()).run([place.url()], tmp_path / "w.db", every=3600.0)


def test_one_watch_at_a_time_works_with_a_cache(tmp_path: Path) -> None:
    """A second one is told so; when the first has ended, the next may begin."""
    path = tmp_path / "w.db"
    refused = pytest.raises(InUse, match="another watch works with this cache")
    with only_watch(path), refused, only_watch(path):
        pass
    with only_watch(tmp_path / "w.db"):
        pass


def test_a_cache_on_a_server_cannot_be_watched() -> None:
    """What a watch knows is kept in a file."""
    with pytest.raises(StoreError, match="needs a cache in a file"):
        cache_path("valkey://localhost")


# The journal.


def test_an_event_is_kept_until_all_channels_have_it(tmp_path: Path) -> None:
    """Each channel has its own delivery, due in the order of events; then the event is removed."""

    async def main() -> None:
        journal = Journal(tmp_path / "j.db")
        known, event = decide(SITE, None, entry_of(b"a", None, 100.0), 100.0)
        assert event is not None
        await journal.record(SITE, known, (event, "{}"), ["a", "b"])
        assert await journal.known(SITE) == known
        first = await journal.first("a")
        assert first == Delivery(1, "a", 0, 100.0, "{}")
        await journal.postpone(first, 500.0)
        assert await journal.first("a") == Delivery(1, "a", 1, 500.0, "{}")
        await journal.remove(first)
        assert await journal.first("a") is None
        second = await journal.first("b")
        assert second is not None
        await journal.remove(second)
        await journal.close()

    asyncio.run(main())
    with closing(sqlite3.connect(tmp_path / "j.db")) as file:
        assert file.execute("SELECT count(*) FROM watch_events").fetchone() == (0,)


def test_events_that_nobody_asks_for_are_dropped_some_day(tmp_path: Path) -> None:
    """A channel that is not used any more does not fill the file."""

    async def main() -> None:
        journal = Journal(tmp_path / "j.db")
        known, event = decide(SITE, None, entry_of(b"a", None, 100.0), 100.0)
        assert event is not None
        await journal.record(SITE, known, (event, "{}"), ["a"])
        await journal.drop_old(100.0 + MAX_AGE)
        assert await journal.first("a") is not None
        await journal.drop_old(101.0 + MAX_AGE)
        assert await journal.first("a") is None
        assert await journal.known(SITE) == known
        await journal.close()

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "{}", "[" * 10_000, '{"began": "x"}', "nonsense"])
def test_what_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    """Other programs may have written anything."""
    path = tmp_path / "j.db"

    async def main() -> None:
        journal = Journal(path)
        await journal.record(SITE, Known(1.0, 2.0), None, [])
        with closing(sqlite3.connect(path)) as file:
            file.execute("UPDATE watched SET known = ?", (text,))
            file.commit()
        try:
            await journal.known(SITE)
        finally:
            await journal.close()

    with pytest.raises(StoreError, match=r"j\.db.*cannot be read"):
        asyncio.run(main())


def test_the_journal_of_another_application_is_refused(tmp_path: Path) -> None:
    """A database that is not a cache is not written to."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE t (a)")

    async def main() -> None:
        journal = Journal(path)
        try:
            await journal.known(SITE)
        finally:
            await journal.close()

    with pytest.raises(StoreError, match="another application"):
        asyncio.run(main())


def test_a_watch_that_is_stopped_before_it_begins_does_nothing(tmp_path: Path) -> None:
    """A signal may come first."""
    with sites() as place:
        watch = OpenWatch([place.url()], SETTINGS, tmp_path / "w.db", [], print, every=3600.0)
        watch.watcher.stop()
        asyncio.run(watch.run())
    assert place.asked == []


def test_stopping_a_watch_that_waits_ends_it(tmp_path: Path) -> None:
    """Also one that has nothing to do for hours."""
    with sites() as place:
        ran = Ran()
        ran.run(
            [place.url()], tmp_path / "w.db", every=86_400.0, until=lambda: bool(ran.notes.events)
        )
        wait_until(lambda: place.asked)
    assert ran.notes.kinds == ["watching"]
