"""What was found, in a store: one contract, on SQLite and on a real PostgreSQL."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import found_urls
from manners.errors import InvalidURL, StoreError
from manners.evidence.store import EvidenceStore
from manners.store import database, schema
from manners.store.database import Store
from tests.client.asking import asking, rules, run
from tests.crawler.discoveries import begin, discovery_in, read, write
from tests.evidence.places import execute
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


def test_what_is_found_is_read_again(new: New) -> None:
    """Every field, in the order of URLs, by whoever opens the store later."""
    told = [
        page_of("/b", lastmod="2026-01-02", priority=0.8),
        page_of("/B", reason="rule-matched", rule="Disallow: /B", line=3),
        page_of("/", source="start", found_in="", depth=0, priority=1.0),
        page_of("/a-é", source="link", depth=2, reason="nofollow", rule="meta robots"),
    ]
    place = new()
    number = discovery_in(place, told)
    assert read(place, number) == read(place) == sorted(told)
    assert read(place, number + 1) == []


def test_a_better_word_counts(new: New) -> None:
    """Other discoveries keep theirs, and a verdict is final."""
    place = new()
    first = discovery_in(
        place, [page_of("/a", reason="nofollow"), page_of("/b", reason="over-cap")]
    )
    words = [page_of("/a", reason="nofollow"), page_of("/a"), page_of("/b", reason="not-named")]
    second = discovery_in(place, [*words, page_of("/b"), page_of("/c", reason="rule-matched")])
    assert second > first
    assert [(each.url[-2:], each.reason) for each in read(place, first)] == [
        ("/a", "nofollow"),
        ("/b", "over-cap"),
    ]
    assert read(place) == [page_of("/a"), page_of("/b"), page_of("/c", reason="rule-matched")]


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
    place = new()
    discovery_in(place, [page_of("/before"), told, page_of(f"/?{text[:50]}")])
    *_, before, kept = sorted(read(place), key=lambda each: each.url)
    assert (before.url[-7:], kept.url[-2:]) == ("/before", "/x")
    assert kept.rule == kept.found_in == kept.lastmod
    assert "\0" not in kept.rule
    kept.rule.encode()
    if "\0" not in text and text.isprintable():
        assert kept == told


def test_urls_may_be_as_long_as_they_like(new: New) -> None:
    """Longer than what an index holds, and hard to compress."""
    letters = random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=100_000)
    long = "/" + "".join(letters)
    place = new()
    discovery_in(place, [page_of(long, reason="nofollow"), page_of(long + "x", reason="depth")])
    assert read(place) == [page_of(long, reason="nofollow"), page_of(long + "x", reason="depth")]


def test_what_is_no_url_is_refused(new: New) -> None:
    """What was written before stays."""
    with Store(new()) as store:
        frontier = begin(store)
        write(frontier, [page_of("/a")])
        with pytest.raises(InvalidURL):
            write(frontier, [page_of("")._replace(url="mailto:x")])
        assert list(found_urls(store)) == [page_of("/a")]


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
    with Store(new()) as store:
        frontier = begin(store)
        write(frontier, [page_of(f"/{number:04}") for number in range(3000)])
        reading = found_urls(store)
        next(reading)
        write(frontier, [page_of("/9999")])
        assert len(list(reading)) == 2999
        assert len(list(found_urls(store))) == 3001


def test_two_processes_write_at_once(new: New) -> None:
    """Each its own discovery, and all of it."""
    place = new()
    Store(place).close()
    processes = {name: started(place, 1500, name) for name in ("one", "two")}
    for process in processes.values():
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    numbers = {name: int(ended(process).split()[0]) for name, process in processes.items()}
    for name, number in numbers.items():
        urls = [each.url for each in read(place, number)]
        assert len(urls) == 1500
        assert all(url.startswith(f"https://{name}.") for url in urls)


# Stores of an earlier version.


def first_version(place: str, today: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store as it was before anything was found, with the evidence of another in it."""

    def upgrade(config: Config, _: str) -> None:
        only_first(config, "0001")

    only_first = command.upgrade
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "VERSION", "0001")
        earlier.setattr(command, "upgrade", upgrade)
        EvidenceStore(place).close()
    columns = "id, type, host, agent, at, snapshot, content, metadata, hash"
    for table, names in (("evidence", columns), ("snapshots", "sha256, body")):
        marks = ", ".join(["%s" if "://" in place else "?"] * len(names.split(", ")))
        for row in execute(today, f"SELECT {names} FROM {table}"):
            execute(place, f"INSERT INTO {table} ({names}) VALUES ({marks})", values=row)
    ((number, last),) = execute(today, "SELECT number, hash FROM evidence_head")
    execute(place, f"UPDATE evidence_head SET number = {number}, hash = '{last}'")


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
    today = new()
    fetch_a_page(today)
    place = new()
    first_version(place, today, monkeypatch)
    with monkeypatch.context() as untouched:
        untouched.setattr(database, "_upgrade", lambda *_: None)
        with pytest.raises(StoreError, match="crawls"):
            discovery_in(place)
    discovery_in(place, [page_of("/a")])
    fetch_a_page(place)
    with EvidenceStore(place) as store:
        types = [each.type for each in store.records()]
        assert types == ["robots_allowed", "blocked_by_robots"] * 2
        assert list(store.verify()) == []
        assert list(found_urls(store)) == [page_of("/a")]
