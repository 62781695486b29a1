"""Evidence: no request leaves before its record is durable, and every decision has one."""

import asyncio
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from manners import AsyncClient, Page
from manners.errors import BudgetExceeded, HostDeferred, StoreError
from manners.evidence.record import Record, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from manners.politeness.budget import Budget
from tests.client.asking import asking, blocking, rules, run, settings, silence, site, to
from tests.evidence.drafts import drafts
from tests.evidence.places import execute
from tests.faults.server import Call, Handler, Site, in_thread, page

A, B = "127.0.0.1", "127.0.0.2"
CLOSED = rules("Crawl-delay: 0", "Disallow: /closed")


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def records(place: str) -> list[Record]:
    """All that is kept, verified and replayed."""
    with EvidenceStore(place, create=False) as store:
        assert list(store.verify()) == []
        found = list(store.records())
        replay = Replay(store.snapshot, engine())
        assert [replay.again(each) for each in found] == [None] * len(found)
    return found


def exchange(answer: Handler, ask: Callable[[AsyncClient, Site], Any], **changes: Any) -> Site:
    """Let a client ask a server; what the server has seen."""

    async def main() -> Site:
        async with Site(answer) as server:
            async with asking(**changes) as client:
                await ask(client, server)
            assert server.failures == []
        return server

    return run(main)


def pages(server: Site) -> list[str]:
    return [visit.path for visit in server.log if visit.path != "/robots.txt"]


async def fetch(client: AsyncClient, verb: str, url: str) -> Page:
    if verb != "stream":
        found: Page = await getattr(client, verb)(url)
        return found
    async with client.stream(url) as stream:
        async for _ in stream.chunks():
            pass
        return stream.page


@pytest.mark.parametrize("verb", ["get", "head", "stream"])
def test_a_record_is_durable_before_its_request(place: str, verb: str) -> None:
    """Whoever is asked finds the record in the store, from a connection of its own."""
    seen: list[tuple[str, list[Any]]] = []

    async def look(call: Call) -> None:
        visit = await call.request()
        if visit.path != "/robots.txt":
            rows = execute(place, "SELECT id, type, metadata FROM evidence ORDER BY id")
            seen.append((visit.path, [(row[0], row[1], json.loads(row[2])["url"]) for row in rows]))
        await site(CLOSED, start=to("/second"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await fetch(client, verb, server.url(path="/start"))
        assert (found.status, found.evidence_id) == (200, 2)
        assert [hop.evidence_id for hop in found.hops] == [1, 2]

    server = exchange(look, ask, evidence=place)
    first = (1, "robots_allowed", server.url(path="/start"))
    second = (2, "robots_allowed", server.url(path="/second"))
    assert seen == [("/start", [first]), ("/second", [first, second])]


def test_many_at_once_each_have_their_record(place: str) -> None:
    """Every request of a crowd finds its own record when it arrives."""
    missing: list[str] = []

    async def look(call: Call) -> None:
        visit = await call.request()
        if visit.path != "/robots.txt":
            like = f'%{visit.path}"%'
            rows = execute(
                place, "SELECT count(*) FROM evidence WHERE metadata LIKE ?", values=[like]
            )
            if rows != [(1,)]:
                missing.append(visit.path)
        await site(CLOSED)(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        urls = [server.url(f"127.0.0.{n % 5 + 1}", f"/{n}") for n in range(100)]
        found = await asyncio.gather(*map(client.get, urls))
        numbers = [each.evidence_id for each in found]
        assert sorted(number or 0 for number in numbers) == list(range(1, 101))

    server = exchange(look, ask, evidence=place, concurrency=10)
    assert missing == []
    urls = {each.id: each.url for each in records(place)}
    assert len(set(urls.values())) == len(pages(server)) == 100


def test_each_hop_has_a_record(place: str) -> None:
    """Also the last, which is blocked; on another host, too, by its own robots.txt."""

    async def start(call: Call) -> None:
        await to(call.site.url(B, "/hop"))(call)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url(A, "/start"))
        assert not found.was_allowed
        assert [hop.evidence_id for hop in found.hops] == [1, 2, 3]
        assert found.evidence_id == 3
        assert found.to_dict()["evidence_id"] == 3
        assert [hop["evidence_id"] for hop in found.to_dict()["hops"]] == [1, 2, 3]
        for hop, record in zip(found.hops, records(place), strict=True):
            assert record.url == hop.url
            assert record.metadata["reason"] == hop.verdict.reason
            assert record.metadata["line"] == hop.verdict.line

    server = exchange(site(CLOSED, start=start, hop=to("/closed")), ask, evidence=place)
    assert pages(server) == ["/start", "/hop"]
    assert [each.type for each in records(place)] == [
        *("robots_allowed", "robots_allowed", "blocked_by_robots")
    ]


@pytest.mark.parametrize("verb", ["get", "head", "stream"])
def test_what_is_blocked_has_a_record(place: str, verb: str) -> None:
    """By robots.txt, by an exclusion, by not being included; and no request."""

    async def ask(client: AsyncClient, server: Site) -> None:
        for number, path in enumerate(("/closed/x", "/in/excluded", "/out"), 1):
            found = await fetch(client, verb, server.url(path=path))
            assert (found.was_allowed, found.evidence_id) == (False, number)

    changes = {"exclude": ("/in/ex",), "include": ("/in", "/closed")}
    server = exchange(site(CLOSED), ask, evidence=place, **changes)
    assert pages(server) == []
    found = records(place)
    assert [each.type for each in found] == [
        *("blocked_by_robots", "blocked_by_exclusion", "blocked_by_exclusion")
    ]
    assert found[1].metadata["exclusion"] == {"exclude": "/in/ex"}
    assert found[2].metadata["exclusion"] == {"include": ["/in", "/closed"]}
    assert found[0].metadata["matchedRule"] == "Disallow: /closed"


def test_what_is_not_respected_has_a_record(place: str) -> None:
    """The user's choice is evidence, too."""

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url(path="/closed"))).evidence_id == 1

    server = exchange(site(CLOSED), ask, evidence=place, respect_robots=False)
    assert [visit.path for visit in server.log] == ["/closed"]
    assert [each.metadata["reason"] for each in records(place)] == ["not-respected"]


def test_a_check_leaves_none(place: str) -> None:
    """Nothing depends on it."""

    async def ask(client: AsyncClient, server: Site) -> None:
        assert not await client.check(server.url(path="/closed"))
        assert await client.allowed(server.url(path="/open"))

    exchange(site(CLOSED), ask, evidence=place)
    assert records(place) == []


def test_requests_for_robots_txt_leave_none(place: str) -> None:
    """They need no permission; a page of that name that was asked for has its record."""

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url(path="/robots.txt"))).evidence_id == 1

    exchange(site(CLOSED), ask, evidence=place)
    assert [each.metadata["reason"] for each in records(place)] == ["robots-txt-itself"]


def test_without_evidence_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is off, unless somebody wants it."""
    monkeypatch.chdir(tmp_path)

    async def ask(client: AsyncClient, server: Site) -> None:
        found = await client.get(server.url())
        assert client.evidence is None
        assert (found.evidence_id, found.hops[0].evidence_id) == (None, None)

    exchange(site(CLOSED), ask)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dialect", ["rfc9309", "google", "audit", "scanner"])
def test_what_a_client_records_can_be_replayed(place: str, dialect: str) -> None:
    """With every dialect, for an agent that introduces itself at length."""
    lines = ("Disallow: /closed", "", "User-agent: MyBot", "Allow: /closed/open", "Disallow: /*x$")

    async def ask(client: AsyncClient, server: Site) -> None:
        for path in ("/", "/closed", "/closed/open", "/ax", "/ax?y", "/ü b?c=d%20", "//closed"):
            await client.get(server.url(path=path))
        await client.get(server.url(B, "/"))

    agent = "MyBot/1.0 (+https://example.com/bot)"
    exchange(site(rules(*lines)), ask, evidence=place, agent=agent, dialect=dialect)
    found = records(place)
    assert len(found) == 8
    assert {each.metadata["dialect"] for each in found} == {dialect}
    assert {each.metadata["agent"] for each in found} == {agent}


def test_a_site_out_of_reach_is_recorded(place: str) -> None:
    """With what came of asking it; in profile open it is asked all the same."""
    for profile, allowed in (("rfc9309", False), ("open", True)):

        async def ask(client: AsyncClient, server: Site, allowed: bool = allowed) -> None:
            assert (await client.get(server.url())).was_allowed is allowed

        exchange(site(page(status=503)), ask, evidence=place, profile=profile)
    found = records(place)
    assert [each.metadata["confidence"] for each in found] == ["high", "low"]
    assert [each.metadata["outcome"]["status"] for each in found] == [503, 503]
    assert [each.metadata["reason"] for each in found] == ["unreachable", "unreachable"]


def test_credentials_and_queries_are_nobodys_business(place: str) -> None:
    """A password never, a query where that is wanted."""

    async def ask(client: AsyncClient, server: Site) -> None:
        url = server.url(path="/a?token=sesame").replace("http://", "http://me:sesame@")
        assert (await client.get(url)).status == 200

    server = exchange(site(CLOSED), ask, evidence=place, redact_query=True)
    assert pages(server) == ["/a?token=sesame"]
    (found,) = records(place)
    assert found.url.endswith("/a?…")
    assert "sesame" not in json.dumps(found.to_dict())
    exchange(site(CLOSED), ask, evidence=place)
    assert records(place)[1].url.endswith("/a?token=sesame")
    assert "me:" not in json.dumps(records(place)[1].to_dict())


# Whose store it is.


@pytest.mark.parametrize("form", [str, Path, "sqlite:///{}".format])
def test_a_client_closes_what_it_opened(place: str, form: Callable[[str], Any]) -> None:
    """A path and a URL are opened by the client, and closed with it."""

    async def ask(client: AsyncClient, server: Site) -> None:
        await client.get(server.url())
        assert client.evidence is not None
        kept.append(client.evidence)

    kept: list[EvidenceStore] = []
    exchange(site(CLOSED), ask, evidence=form(place))
    with pytest.raises(StoreError, match="closed"):
        kept[0].append_blocking(drafts(1)[0])
    assert not Path(f"{place}-wal").exists()
    assert len(records(place)) == 1


def test_a_client_leaves_open_what_it_was_given(place: str) -> None:
    """Several clients may share a store, and it is closed by whoever opened it."""
    with EvidenceStore(place) as store:

        async def ask(client: AsyncClient, server: Site) -> None:
            assert client.evidence is store
            await client.get(server.url())

        for _ in range(2):
            exchange(site(CLOSED), ask, evidence=store)
        assert store.append_blocking(drafts(1)[0]) == 3


def test_the_setting_names_a_store_too(place: str) -> None:
    """`store` in the settings is where evidence is kept; an argument wins over it."""
    other = place + ".other"

    async def ask(client: AsyncClient, server: Site) -> None:
        assert (await client.get(server.url())).evidence_id == 1

    exchange(site(CLOSED), ask, settings=settings(store=place))
    exchange(site(CLOSED), ask, settings=settings(store=place), evidence=other)
    assert len(records(place)) == len(records(other)) == 1


def test_blocking_code_has_evidence_too(place: str) -> None:
    """From several threads, with one store."""
    from concurrent.futures import ThreadPoolExecutor

    with in_thread(Site(site(CLOSED))) as server:
        with blocking(evidence=place) as client, ThreadPoolExecutor(8) as pool:
            urls = [server.url(path=f"/{'closed/' if n % 2 else ''}{n}") for n in range(20)]
            found = list(pool.map(client.get, urls))
        assert sorted(each.evidence_id or 0 for each in found) == list(range(1, 21))
    assert Counter(each.type for each in records(place)) == {
        "robots_allowed": 10,
        "blocked_by_robots": 10,
    }
    assert len(pages(server)) == 10


def test_a_store_that_cannot_be_opened_is_told_at_once(tmp_path: Path) -> None:
    """Nothing is fetched that could not be proved; nothing is left open."""

    async def main() -> None:
        with pytest.raises(StoreError):
            asking(evidence=tmp_path / "nosuch" / "store.db")
        with pytest.raises(StoreError, match="memory"):
            asking(evidence=":memory:")

    run(main)


# What goes wrong.


@contextmanager
def full_pages(_: str) -> Iterator[Callable[[], object]]:
    """A file that may not grow, until there is room."""
    room, opened = [0], EvidenceStore.__init__

    def limit(connection: Any, *_: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {room[0]}")

    def limited(self: EvidenceStore, *arguments: Any, **others: Any) -> None:
        opened(self, *arguments, **others)
        room[0] = 25
        event.listen(self.engine, "checkout", limit)

    def more() -> None:
        room[0] = 1_000_000

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(EvidenceStore, "__init__", limited)
        yield more


@contextmanager
def full_disk(place: str) -> Iterator[Callable[[], object]]:
    """A file system of 400 KB, in the folder of the store."""
    folder = Path(place).parent
    if shutil.which("mount") is None:
        pytest.skip("there is no `mount` here")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"nothing can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=50m", folder], check=True)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("full", [full_pages, full_disk])
def test_a_full_disk_stops_requests(tmp_path: Path, full: Any) -> None:
    """A clear error, no request without a record, no half record; with room, it goes on."""
    folder = tmp_path / "disk"
    folder.mkdir()
    place = str(folder / "store.db")
    with full(place) as make_room:

        async def ask(client: AsyncClient, server: Site) -> None:
            async def one(number: int) -> Page | StoreError:
                try:
                    return await client.get(server.url(f"127.0.0.{number % 3 + 1}", f"/{number}"))
                except StoreError as error:
                    return error

            errors: list[StoreError] = []
            for start in range(0, 5000, 20):
                told = await asyncio.gather(*map(one, range(start, start + 20)))
                errors = [each for each in told if isinstance(each, StoreError)]
                if errors:
                    break
            assert "full" in str(errors[0])
            assert client.evidence is not None
            assert list(client.evidence.verify()) == []
            before = client.evidence.head()
            asked = len(pages(server))
            assert asked <= before.number
            for number in range(10_000, 10_005):
                assert isinstance(await one(number), StoreError | Page)
            assert len(pages(server)) <= client.evidence.head().number
            make_room()
            assert isinstance(await one(20_000), Page)
            assert isinstance(await one(20_001), Page)
            assert list(client.evidence.verify(before)) == []

        server = exchange(site(CLOSED), ask, evidence=place, concurrency=10)
        found = records(place)
        recorded = Counter(each.url.rpartition("/")[2] for each in found)
        assert all(recorded[path[1:]] for path in pages(server))
        assert "/20001" in pages(server)


def test_a_failure_costs_no_budget_and_no_slot(place: str) -> None:
    """What was not asked for does not count, and nothing is held when it is over."""
    budget = Budget(pages=2)

    async def ask(client: AsyncClient, server: Site) -> None:
        execute(
            place,
            "CREATE TRIGGER broken BEFORE INSERT ON evidence"
            " BEGIN SELECT RAISE(ABORT, 'out of order'); END",
        )
        for _ in range(5):
            with pytest.raises(StoreError, match="out of order"):
                await client.get(server.url(path="/no"))
            with pytest.raises(StoreError, match="out of order"):
                async with client.stream(server.url(path="/no")):
                    pass
        execute(place, "DROP TRIGGER broken")
        for path in ("/one", "/two"):
            assert (await client.get(server.url(path=path))).status == 200
        with pytest.raises(BudgetExceeded):
            await client.get(server.url(path="/three"))

    server = exchange(site(CLOSED), ask, evidence=place, budget=budget)
    assert pages(server) == ["/one", "/two"]
    assert [each.id for each in records(place)] == [1, 2]


def test_a_record_may_be_without_a_request_but_not_the_reverse(place: str) -> None:
    """Who is put off, or gives up, was allowed all the same."""

    async def ask(client: AsyncClient, server: Site) -> None:
        await client.get(server.url(A, "/a"))
        with pytest.raises(HostDeferred):
            await client.get(server.url(A, "/b"))
        task = asyncio.ensure_future(client.get(server.url(B, "/c")))
        while not records(place) or not records(place)[-1].url.endswith("/c"):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    slow = {A: rules("Crawl-delay: 500"), B: rules("Allow: /")}

    async def answer(call: Call) -> None:
        await call.request()
        await site(slow[call.address], c=silence)(call)  # so that it can be given up

    server = exchange(answer, ask, evidence=place)
    urls = Counter(each.url.rpartition("/")[2] for each in records(place))
    assert all(urls[path[1:]] for path in pages(server))
    assert urls["c"] == 1
