"""What was found, in a store: one contract, on SQLite and on a real PostgreSQL."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from manners.crawler.frontier import tables
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import FoundUrls
from manners.errors import InvalidURL, StoreError
from manners.evidence.store import EvidenceStore
from manners.store import database, schema
from manners.store.database import Store
from tests.client.asking import asking, rules, run
from tests.faults.server import Site, by_path, page
from tests.sizes import size

ROOT = Path(__file__).parents[2]
New = Callable[[], str]


def page_of(path: str, **changes: object) -> FoundUrl:
    made = FoundUrl(f"https://example.com{path}", "sitemap", "https://example.com/s.xml", 1, 0.5)
    return made._replace(**changes)  # type: ignore[arg-type]


def started(place: str, number: int, name: str) -> "subprocess.Popen[str]":
    """A process that writes so many URLs, when it is told to."""
    words = [sys.executable, "-W", "error", "-m", "tests.crawler.inventory_process"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*words, place, str(number), name],
        cwd=ROOT,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    """What it has printed, when it has ended well."""
    out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (0, "")
    return out


# Writing and reading.


def test_what_is_added_is_read_again(new: New) -> None:
    """Every field, in the order of URLs, by whoever opens the store later."""
    told = [
        page_of("/b", lastmod="2026-01-02", priority=0.8),
        page_of("/B", reason="rule-matched", rule="Disallow: /B", line=3),
        page_of("/", source="start", found_in="", depth=0, priority=1.0),
        page_of("/a-é", source="link", depth=2, reason="nofollow", rule="meta robots"),
    ]
    place = new()
    with FoundUrls(place) as found:
        assert found.latest() == 0
        assert found.begin("https://example.com/") is found
        for each in told:
            found.add(each)
        found.flush()
        assert list(found.read(found.crawl)) == sorted(told)
        number = found.crawl
    with FoundUrls(place, create=False) as found:
        assert found.latest() == number
        assert list(found.read(number)) == sorted(told)
        assert list(found.read(number + 1)) == []


def test_what_is_waiting_is_written_at_the_end(new: New) -> None:
    """And not before it has to be."""
    place = new()
    with FoundUrls(place) as found, FoundUrls(place) as other:
        found.begin("https://example.com/").add(page_of("/a"))
        assert list(other.read(found.crawl)) == []
        for number in range(1000):
            found.add(page_of(f"/{number}"))
        assert len(list(other.read(found.crawl))) == 1000
    with FoundUrls(place) as found:
        assert len(list(found.read(found.latest()))) == 1001


def test_a_later_word_counts(new: New) -> None:
    """Whether the earlier one is written already or not; other discoveries keep theirs."""
    place = new()
    with FoundUrls(place) as found:
        first = found.begin("https://example.com/").crawl
        found.add(page_of("/a", reason="nofollow"))
        found.add(page_of("/b", reason="over-cap"))
        second = found.begin("https://example.com/").crawl
        assert second > first
        found.add(page_of("/a", reason="nofollow"))
        found.add(page_of("/a", reason=""))
        found.add(page_of("/b", reason="not-named"))
        found.flush()
        found.add(page_of("/b", reason=""))
        found.flush()
        found.flush()
        assert found.latest() == second
        assert [(each.url[-2:], each.reason) for each in found.read(first)] == [
            ("/a", "nofollow"),
            ("/b", "over-cap"),
        ]
        assert list(found.read(second)) == [page_of("/a"), page_of("/b")]


HOSTILE = [
    "nul \0 in it",
    "lone \ud800 surrogate",
    "a byte \udcff that is no UTF-8",
    "\x1b[2J\u202e\u2028\uffff",
    "'; DROP TABLE urls; --",
    "%s %(x)s :name \\0 \\",
    "é" * 100_000,
    "",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_kept_as_far_as_text_goes(new: New, text: str) -> None:
    """No NUL and no surrogate, everything else as it is, and no other URL is lost for it."""
    told = page_of("/x", found_in=text, rule=text, reason="rule-matched", lastmod=text)
    with FoundUrls(new()) as found:
        found.begin(text).add(page_of("/before"))
        found.add(told)
        found.add(page_of(f"/?{text[:50]}"))
        found.flush()
        *_, before, read = sorted(found.read(found.crawl), key=lambda each: each.url)
    assert (before.url[-7:], read.url[-2:]) == ("/before", "/x")
    assert read.rule == read.found_in == read.lastmod
    assert "\0" not in read.rule
    read.rule.encode()
    if "\0" not in text and text.isprintable():
        assert read == told


def test_urls_may_be_as_long_as_they_like(new: New) -> None:
    """Longer than what an index holds, and hard to compress."""
    letters = random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=100_000)
    long = "/" + "".join(letters)
    with FoundUrls(new()) as found:
        found.begin("https://example.com/").add(page_of(long, reason="trap: too-long"))
        found.add(page_of(long + "x", reason="trap: too-long"))
        found.add(page_of(long, reason=""))
        found.flush()
        assert list(found.read(found.crawl)) == [
            page_of(long),
            page_of(long + "x", reason="trap: too-long"),
        ]


def test_what_is_no_url_is_refused_at_once(new: New) -> None:
    """The others are written."""
    with FoundUrls(new()) as found:
        found.begin("https://example.com/").add(page_of("/a"))
        with pytest.raises(InvalidURL):
            found.add(page_of("")._replace(url="mailto:x"))
        found.flush()
        assert list(found.read(found.crawl)) == [page_of("/a")]


def test_no_password_is_kept(new: New) -> None:
    """The start is written down without it."""
    place = new()
    with FoundUrls(place) as found:
        found.begin("https://user:secret@example.com/")
    store = Store(place)
    with store.reading() as connection:
        starts = [row.start for row in connection.execute(tables.crawls.select())]
    store.close()
    assert starts == ["https://…@example.com/"]


@pytest.mark.long
def test_many_urls_take_little_memory(new: New) -> None:
    """Tens of thousands are written and read again, a thousand at a time."""
    place = new()
    many = size("FOUND_URLS")
    many = many * 3 // 10 if "://" in place else many  # a server is slower, and no other
    number, count, kilobytes = map(int, ended(started(place, many, "many")).split())
    assert (number, count) == (1, many)
    assert kilobytes < 40_000


def test_a_reader_sees_what_was_there_when_it_began(new: New) -> None:
    """Whoever writes meanwhile is not kept from it."""
    place = new()
    with FoundUrls(place) as found:
        found.begin("https://example.com/")
        for number in range(3000):
            found.add(page_of(f"/{number:04}"))
        found.flush()
        reading = found.read(found.crawl)
        next(reading)
        found.add(page_of("/9999"))
        found.flush()
        assert len(list(reading)) == 2999
        assert len(list(found.read(found.crawl))) == 3001


def test_two_processes_write_at_once(new: New) -> None:
    """Each its own discovery, and all of it."""
    place = new()
    FoundUrls(place).close()
    processes = {name: started(place, 1500, name) for name in ("one", "two")}
    for process in processes.values():
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    numbers = {name: int(ended(process).split()[0]) for name, process in processes.items()}
    with FoundUrls(place) as found:
        for name, number in numbers.items():
            urls = [each.url for each in found.read(number)]
            assert len(urls) == 1500
            assert all(url.startswith(f"https://{name}.") for url in urls)


# Where it cannot be.


def test_a_place_that_is_not_there_is_not_made_for_a_reader(tmp_path: Path) -> None:
    """Nor is one that cannot be."""
    with pytest.raises(StoreError):
        FoundUrls(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError):
        FoundUrls(tmp_path / "no" / "folder.db")


def test_what_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    """A store that is locked, or full, loses nothing that was handed to it."""
    place = tmp_path / "a.db"
    with FoundUrls(place) as found:
        found.begin("https://example.com/").add(page_of("/a"))
        with sqlite3.connect(place) as other:
            other.execute("ALTER TABLE urls RENAME TO away")
        other.close()
        with pytest.raises(StoreError):
            found.flush()
        with sqlite3.connect(place) as other:
            other.execute("ALTER TABLE away RENAME TO urls")
        other.close()
        found.flush()
        assert list(found.read(found.crawl)) == [page_of("/a")]


# Stores of an earlier version.


def first_version(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store as it was before anything was found, with evidence in it."""

    def upgrade(config: Config, _: str) -> None:
        only_first(config, "0001")

    only_first = command.upgrade
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "VERSION", "0001")
        earlier.setattr(command, "upgrade", upgrade)
        fetch_a_page(place)


def fetch_a_page(place: str) -> None:
    async def main() -> None:
        pages = by_path({"/robots.txt": rules("Disallow: /no")}, page(b"hi"))
        async with Site(pages) as site, asking(evidence=place) as client:
            await client.get(site.url(path="/a"))
            await client.get(site.url(path="/no"))

    run(main)


def test_a_store_of_the_first_version_is_upgraded_and_keeps_its_evidence(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever opens it first; what is found then goes beside it."""
    place = new()
    first_version(place, monkeypatch)
    with monkeypatch.context() as untouched:
        untouched.setattr(database, "_upgrade", lambda *_: None)
        with FoundUrls(place) as found, pytest.raises(StoreError, match="crawls"):
            found.begin("https://example.com/")
    with FoundUrls(place) as found:
        found.begin("https://example.com/").add(page_of("/a"))
    fetch_a_page(place)
    with EvidenceStore(place) as store:
        types = [each.type for each in store.records()]
        assert types == ["robots_allowed", "blocked_by_robots"] * 2
        assert list(store.verify()) == []
    with FoundUrls(place) as found:
        assert list(found.read(found.latest())) == [page_of("/a")]
