"""A store from before there were fleets, with crawls in it, as it is after the upgrade."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from alembic import command
from alembic.config import Config

from manners.crawler.fleet import Fleet
from manners.crawler.frontier import crawls, tables
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.values import FoundUrl, digest_of, key_of, place_of, unpack
from manners.crawler.frontier.ways import Limits
from manners.evidence.chain import GENESIS, Head, hash_of
from manners.evidence.store import EvidenceStore
from manners.store import schema
from tests.crawler.frontier.checks import check
from tests.evidence.drafts import drafts
from tests.evidence.places import Places, execute

A, B = "https://a.example", "https://b.example:8443"
URLS = {
    # Which crawl: URL, kind, state, reason, attempts, not_before, depth.
    1: [
        (f"{A}/", "page", "done", "", 1, 0.0, 0),
        (f"{A}/next", "page", "done", "", 2, 0.0, 3),
        (f"{A}/under-way", "page", "leased", "", 0, 0.0, 1),
        (f"{A}/later", "page", "queued", "status 500", 1, 900.0, 1),
        (f"{A}/no", "page", "blocked", "rule-matched", 0, 0.0, 1),
        (f"{A}/nofollow", "page", "blocked", "nofollow", 0, 0.0, 1),
        (f"{A}/trap/1/1", "page", "blocked", "trap: too-deep", 0, 0.0, 1),
        (f"{A}/full", "page", "blocked", "no-room", 0, 0.0, 1),
        (f"{A}/deep", "page", "blocked", "depth", 0, 0.0, 4),
        (f"{A}/s.xml", "sitemap", "done", "", 1, 0.0, 0),
        (f"{B}/", "page", "failed", "timeout", 3, 0.0, 1),
        (f"{B}/only", "page", "queued", "", 0, 500.0, 1),
        ("https://c.example/", "page", "done", "", 1, 0.0, 1),
        ("https://d.example/", "page", "blocked", "other-host", 0, 0.0, 1),
    ],
    2: [(f"{A}/", "page", "queued", "", 0, 0.0, 0), (f"{A}/kept", "page", "kept", "", 0, 0.0, 1)],
}
TARGETS = {
    # A page, and where it leads to; one of these is not known.
    f"{A}/": [f"{A}/next", f"{B}/", f"{A}/s.xml", "https://gone.example/", f"{A}/"],
    f"{A}/next": [f"{A}/deep"],
    "https://c.example/": [],
}
PAGES = [f"{A}/", f"{A}/next", f"{A}/s.xml", f"{B}/", "https://c.example/"]
RETRIES = [f"{B}/", f"{B}/", f"{A}/later", f"{A}/next"]


def third_version(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a store as it was before there were fleets."""
    upgrade = command.upgrade

    def only_third(config: Config, _: str) -> None:
        upgrade(config, "0003")

    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "VERSION", "0003")
        earlier.setattr(command, "upgrade", only_third)
        EvidenceStore(place).close()


def written(*values: object) -> str:
    """Values as SQL has them."""
    return ", ".join("NULL" if value is None else repr(value) for value in values)


def blob(place: str, targets: list[str] | None) -> str:
    """Digests one after the other, as they were kept."""
    if targets is None:
        return "NULL"
    digests = b"".join(map(key_of, targets)).hex()
    return f"X'{digests}'" if "://" not in place else f"'\\x{digests}'::bytea"


def fill(place: str) -> None:
    """Two crawls, as an earlier version wrote them."""
    statements = [
        "INSERT INTO crawls (id, start, at, command, settings, ended, seconds) VALUES"
        f" (1, '{A}/', 5, 'crawl', '{{\"max_depth\": 3}}', NULL, 12.5),"
        f" (2, '{A}/', 6, 'discover', '{{}}', 'finished', 1.0)"
    ]
    for crawl, found in URLS.items():
        for number, (url, kind, state, reason, attempts, not_before, depth) in enumerate(found):
            host = place_of(url)[0]
            statements.append(
                "INSERT INTO urls (crawl, digest, url, host, source, found_in, depth, priority,"
                " lastmod, reason, rule, line, kind, state, status, attempts, hops, not_before,"
                " seq, evidence) VALUES ("
                + written(crawl, digest_of(url), url, host, "link", f"{A}/x", depth, 0.25)
                + ", "
                + written("2027-01-01", reason, "a rule", 3, kind, state, 200, attempts, 1)
                + ", "
                + written(not_before, number + 1, 1)
                + ")"
            )
    for number, url in enumerate(PAGES):
        statements.append(
            "INSERT INTO pages (crawl, digest, status, cause, type, bytes, sha256, title, links,"
            " location, started, waited, seconds, delay, targets, problems) VALUES ("
            + written(1, digest_of(url), 200, "", "text/html", 100 + number, "ab" * 32, "A title")
            + ", "
            + written(7, "", 1.5, 0.25, 0.5, 0.75)
            + f", {blob(place, TARGETS.get(url))}, '[1]')"
        )
    for number, url in enumerate(RETRIES):
        statements.append(
            "INSERT INTO retries (crawl, digest, status, cause, bytes, started, waited, seconds,"
            f" delay) VALUES ({written(1, digest_of(url), 500, 'why', number, 1.0, 2.0, 3.0, 4.0)})"
        )
    statements.append(
        "INSERT INTO hosts (crawl, host, delay, not_before) VALUES"
        " (1, 'a.example', 0.5, 100.0), (1, 'c.example', 2.0, 200.0)"
    )
    if "://" in place:
        statements.append("SELECT setval(pg_get_serial_sequence('crawls', 'id'), 2)")
    execute(place, *statements)


@pytest.fixture
def before(places: Places, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of the third version, with evidence and crawls in it."""
    place = places.new()
    third_version(place, monkeypatch)
    fill(place)
    return place


def rows_of(store: EvidenceStore, table: Any) -> list[Any]:
    with store.reading() as connection:
        return list(connection.execute(table.select()).all())


def test_every_url_is_kept_by_its_host(before: str) -> None:
    """With all that was known of it; what was being fetched is queued."""
    with EvidenceStore(before) as store:
        assert execute(before, "SELECT version_num FROM manners_version") == [(schema.VERSION,)]
        found = {(row.crawl, row.url): row for row in rows_of(store, tables.urls)}
        assert len(found) == sum(map(len, URLS.values()))
        for crawl, told in URLS.items():
            for number, (url, kind, state, reason, attempts, not_before, depth) in enumerate(told):
                row = found[crawl, url]
                assert (row.host, row.digest) == place_of(url)
                assert row.state == ("queued" if state == "leased" else state)
                assert (row.kind, row.reason, row.rule, row.line) == (kind, reason, "a rule", 3)
                assert (row.attempts, row.not_before, row.depth) == (attempts, not_before, depth)
                assert (row.source, row.found_in, row.priority) == ("link", f"{A}/x", 0.25)
                assert (row.lastmod, row.status, row.hops) == ("2027-01-01", 200, 1)
                assert (row.seq, row.evidence) == (number + 1, 1)


def test_pages_and_retries_are_kept_by_their_host(before: str) -> None:
    """Where each leads to, too, as far as that is known."""
    known = {url for url, *_ in URLS[1]}
    with EvidenceStore(before) as store:
        found = {(row.host, row.digest): row for row in rows_of(store, tables.pages)}
        assert set(found) == set(map(place_of, PAGES))
        for number, url in enumerate(PAGES):
            row = found[place_of(url)]
            assert (row.crawl, row.status, row.cause, row.type) == (1, 200, "", "text/html")
            assert (row.bytes, row.sha256, row.title) == (100 + number, "ab" * 32, "A title")
            assert (row.links, row.location, row.problems) == (7, "", "[1]")
            assert (row.started, row.waited, row.seconds, row.delay) == (1.5, 0.25, 0.5, 0.75)
            if url not in TARGETS:
                assert row.targets is None
            else:
                expected = {place_of(target) for target in TARGETS[url] if target in known}
                assert set(unpack(bytes(row.targets))) == expected
        again = [(row.host, row.digest, row.bytes) for row in rows_of(store, tables.retries)]
        assert sorted(again) == sorted(
            (*place_of(url), number) for number, url in enumerate(RETRIES)
        )


def test_hosts_may_be_taken_when_they_have_something(before: str) -> None:
    """Every host of a URL is there, with its pace; nobody owns it."""
    with EvidenceStore(before) as store:
        found = {(row.crawl, row.host): row for row in rows_of(store, tables.hosts)}
    hosts = {(crawl, place_of(url)[0]) for crawl, told in URLS.items() for url, *_ in told}
    assert set(found) == hosts
    assert {row.owner for row in found.values()} == {None}
    assert {name: row.ready for (crawl, name), row in found.items() if crawl == 1} == {
        "a.example": 0.0,
        "b.example": 500.0,
        "c.example": None,
        "d.example": None,
    }
    paces = {key: (row.delay, row.not_before) for key, row in found.items()}
    assert paces[1, "a.example"] == (0.5, 100.0)
    assert paces[1, "c.example"] == (2.0, 200.0)
    assert paces[1, "b.example"] == paces[2, "a.example"] == (None, 0.0)


def test_the_numbers_are_right(before: str) -> None:
    """As if workers had counted from the beginning; and each crawl has its own."""
    with EvidenceStore(before) as store:
        check(Frontier(store, 1))
        check(Frontier(store, 2))
        counted = Frontier(store, 1).counted()
        assert counted["page", "attempts"] == 1 + 2 + 1 + 3 + 1
        assert counted["page", "bytes"] == 100 + 101 + 103 + 104 + sum(range(4))
        assert counted["sitemap", "bytes"] == 102
        assert counted["page", "dropped"] == 1
        assert counted["page", "refused"] == 4
        with store.writing() as connection:  # to count again changes nothing
            Queries(connection, 1).recount()
        assert +Frontier(store, 1).counted() == +counted


def test_a_crawl_goes_on(before: str) -> None:
    """What was queued or under way is given out, and a shorter way goes through old pages."""
    with EvidenceStore(before) as store:
        fleet = Fleet(store, 1, lease=600.0, clock=lambda: 1_000.0)
        told = {"max_depth": 3}
        fleet.join(told, reopen=lambda queries, now: crawls.reopen(queries, told, 3, now))
        frontier = Frontier(store, 1, worker=fleet.worker, limits=Limits(3))

        async def main() -> dict[str, set[str]]:
            await frontier.add([FoundUrl(f"{A}/next", "link", f"{A}/", 2)])
            assert (await frontier.take_hosts(10, 1e10)).more_at is None
            return {
                name: {url.url for url in (await frontier.take(name, 10, 1e10)).urls}
                for name in frontier.owned
            }

        assert asyncio.run(main()) == {
            "a.example": {f"{A}/under-way", f"{A}/later", f"{A}/deep"},
            "b.example": {f"{B}/only"},
        }
        found = Counter({row.url: row.depth for row in rows_of(store, tables.urls)})
        assert (found[f"{A}/next"], found[f"{A}/deep"]) == (2, 3)
        check(frontier)


def test_evidence_is_not_touched(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain goes on where it ended, and can be verified."""
    place = places.new()
    third_version(place, monkeypatch)
    draft = drafts(1)[0]
    hashed = hash_of(GENESIS, 1, draft.type, draft.content, draft.metadata)
    row: tuple[object, ...] = (
        1,
        draft.type,
        draft.host,
        draft.agent,
        draft.at,
        draft.content,
        draft.metadata,
        hashed,
    )
    mark = "?" if places.is_file else "%s"
    columns = "id, type, host, agent, at, content, metadata, hash"
    marks = ", ".join([mark] * len(row))
    snapshot = draft.snapshot
    if snapshot is not None:
        stored = f"INSERT INTO snapshots (sha256, body) VALUES ({mark}, {mark})"
        execute(place, stored, values=tuple(snapshot))
        columns, marks, row = f"{columns}, snapshot", f"{marks}, {mark}", (*row, snapshot.sha256)
    execute(place, f"INSERT INTO evidence ({columns}) VALUES ({marks})", values=row)
    execute(place, f"UPDATE evidence_head SET number = 1, hash = '{hashed}'")
    with EvidenceStore(place) as store:
        assert store.head() == Head(1, hashed)
        assert list(store.verify()) == []
        assert store.append_blocking(drafts(2)[1]) == 2
        assert list(store.verify()) == []


def test_a_store_without_crawls_is_upgraded(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to count."""
    place = places.new()
    third_version(place, monkeypatch)
    with EvidenceStore(place) as store:
        assert [rows_of(store, table) for table in (tables.urls, tables.hosts, tables.counts)] == [
            *([], [], []),
        ]
