"""PostgreSQL and Valkey that stop answering: every wait ends with an error that says so, nothing
that was promised is lost, closing ends, and all goes on when they are back."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from sqlalchemy.engine import make_url

from manners import AsyncClient
from manners.crawler.crawl import Crawl
from manners.errors import MannersError, PolitenessError, StoreError, StoreTimeout
from manners.evidence.store import EvidenceStore
from tests.client.asking import asking, blocking, page_or_error, run, settings, site, until
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey
from tests.crawler.ran import fan, served
from tests.evidence.drafts import draft
from tests.faults.server import Call, Site, in_thread
from tests.faults.standing import LIMIT, Network, still, working

PAGES = 6
_T = TypeVar("_T")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that tests here may stop; it goes on behind each."""
    with Postgres() as server:
        yield server


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Valkey]:
    """A server that the test may do anything to."""
    with Valkey(tmp_path) as server:
        yield server


def made(server: Postgres) -> str:
    """A store with nothing in it."""
    place = server.database()
    EvidenceStore(place).close()
    return place


def recorded(place: str) -> set[str]:
    """The URLs that there are records of, in a chain that is whole."""
    with EvidenceStore(place) as store:
        assert list(store.verify()) == []
        return {record.metadata["url"] for record in store.records()}


def visited(site: Site) -> set[str]:
    return {visit.path for visit in site.log}


# PostgreSQL.


async def opened(place: str) -> AsyncClient:
    """A client with a store; to open that takes long on a busy machine, too."""
    opening = partial(asking, evidence=place, server_timeout=LIMIT)
    return await working(lambda: asyncio.to_thread(opening))


def test_a_page_while_postgresql_stands_still(server: Postgres) -> None:
    """It is not asked for, and the error says what to do; the next one works without a restart."""
    place = made(server)

    async def main() -> None:
        async with Site(site()) as web:
            client = await opened(place)
            await working(lambda: client.get(web.url(path="/before")))
            with still(server):
                asked = [client.get(web.url(path=f"/during/{n}")) for n in range(20)]
                found = await asyncio.gather(*asked, return_exceptions=True)
                for each in found:
                    assert isinstance(each, StoreTimeout), repr(each)
                    assert isinstance(each, StoreError)
                    assert "no answer from the server for 1 s (server_timeout)" in str(each)
                    assert str(each).startswith("'postgresql://postgres@127.0.0.1:")
            assert not any("during" in path for path in visited(web))
            page = await working(lambda: client.get(web.url(path="/after")))
            assert page.ok
            await client.close()
            assert {web.url(path="/before"), web.url(path="/after")} <= recorded(place)

    run(main)


def test_closing_while_postgresql_stands_still(server: Postgres) -> None:
    """It ends, and so does whoever waits."""
    place = made(server)

    async def main() -> None:
        async with Site(site()) as web:
            client = await opened(place)
            await working(lambda: client.get(web.url(path="/before")))
            with still(server):
                waiting = [asyncio.create_task(client.get(web.url(path="/during")))]
                await asyncio.sleep(0.05)
                await client.close()
                assert isinstance(await page_or_error(waiting[0]), MannersError)
            assert "/during" not in visited(web)
            assert web.url(path="/before") in recorded(place)

    run(main)


def blocking_until(attempt: Callable[[], _T]) -> _T:
    """What a server that works answers, as `working` does, for blocking code."""
    for _ in range(50):
        with suppress(StoreTimeout):
            return attempt()
    return attempt()


def test_blocking_code_while_postgresql_stands_still(server: Postgres) -> None:
    """A client and a store for blocking code, and opening one."""
    place = made(server)
    with in_thread(Site(site())) as web:
        client = blocking_until(lambda: blocking(evidence=place, server_timeout=LIMIT))
        blocking_until(lambda: client.get(web.url(path="/before")))
        store = blocking_until(lambda: EvidenceStore(place, timeout=LIMIT))
        with still(server):
            with pytest.raises(StoreTimeout):
                client.get(web.url(path="/during"))
            with pytest.raises(StoreTimeout):
                store.append_blocking(draft())
            with pytest.raises(StoreTimeout):
                store.head()
            with pytest.raises(StoreTimeout):
                EvidenceStore(place, timeout=LIMIT)
            client.close()
            store.close()
    assert web.url(path="/before") in recorded(place)


def test_a_crawl_while_postgresql_stands_still(server: Postgres) -> None:
    """It waits for longer than an answer may take, goes on, and loses nothing."""
    place, seen = made(server), set[str]()

    async def main() -> None:
        async def stopping(call: Call) -> None:
            path = (await call.request()).path
            if path == "/3" and not is_stopped.is_set():
                is_stopped.set()
                server.stop()
                asyncio.get_running_loop().call_later(2 * LIMIT, server.go_on)
            await call.reply(200, b"")

        is_stopped = asyncio.Event()
        async with Site(served(fan(PAGES, stopping))) as web:
            its = settings(store=place, server_timeout=LIMIT)
            try:
                async for page in Crawl([web.url()], its, agent="MyBot"):
                    seen.add(page.url)
            finally:
                server.go_on()
            every = {web.url(), *(web.url(path=f"/{n}") for n in range(PAGES))}
            assert every <= recorded(place)
            with EvidenceStore(place) as store, store.reading() as connection:
                query = "SELECT url FROM urls WHERE kind = 'page' AND state = 'done'"
                done = {row.url for row in connection.exec_driver_sql(query)}
            assert every == done == seen
            assert len([each for each in web.log if each.path == "/3"]) == 1

    run(main)


def test_leaving_a_crawl_while_postgresql_stands_still(server: Postgres) -> None:
    """Whoever stops to iterate is not held up."""
    place = made(server)

    async def main() -> None:
        async with Site(served(fan(PAGES))) as web:
            crawl = Crawl([web.url()], settings(store=place, server_timeout=LIMIT), agent="MyBot")
            pages = aiter(crawl)
            try:
                with suppress(StoreTimeout):
                    await anext(pages)
                with still(server):
                    await pages.aclose()
            finally:
                await pages.aclose()

    run(main)


def test_a_lock_that_another_session_holds(server: Postgres) -> None:
    """The head of the chain is locked by somebody: the error says so, and it is not for ever."""
    place = made(server)

    async def main() -> None:
        async with Site(site()) as web:
            client = await opened(place)
            await working(lambda: client.get(web.url(path="/before")))
            with psycopg.connect(place) as other:
                other.execute("SELECT * FROM evidence_head FOR UPDATE")
                with pytest.raises(StoreTimeout, match="another session has held a lock for 1 s"):
                    await client.get(web.url(path="/during"))
            assert "/during" not in visited(web)
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            with psycopg.connect(place) as other:
                other.execute("SELECT * FROM evidence_head FOR UPDATE")
                waiting = asyncio.create_task(client.get(web.url(path="/closing")))
                await asyncio.sleep(0.05)
                await client.close()
                assert isinstance(await page_or_error(waiting), MannersError)
            assert {web.url(path="/before"), web.url(path="/after")} <= recorded(place)

    run(main)


async def opened_through(network: Network, place: str) -> AsyncClient:
    """A client whose store is on the other side of a network."""
    there = make_url(place).set(port=network.port).render_as_string(hide_password=False)
    return await opened(there)


def test_a_network_that_swallows_packets_on_the_way_to_postgresql(server: Postgres) -> None:
    """Neither old connections nor new ones are waited for without end."""
    place = made(server)

    async def main() -> None:
        async with Site(site()) as web, Network(server.port).open() as network:
            client = await opened_through(network, place)
            await working(lambda: client.get(web.url(path="/before")))
            network.swallows = True
            for number in range(2):  # on a connection that is open, and on a new one
                with pytest.raises(StoreTimeout, match="no answer"):
                    await client.get(web.url(path=f"/during/{number}"))
            network.swallows = False
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            network.swallows = True
            await client.close()
            assert not any("during" in path for path in visited(web))
            assert {web.url(path="/before"), web.url(path="/after")} <= recorded(place)

    run(main)


def test_a_commit_whose_answer_is_lost(server: Postgres) -> None:
    """It is not said that nothing was written: nobody knows. The request does not leave."""
    place = made(server)

    async def main() -> None:
        async with Site(site()) as web, Network(server.port).open() as network:
            client = await opened_through(network, place)
            await working(lambda: client.get(web.url(path="/before")))
            network.swallows_answers_after = b"COMMIT"
            with pytest.raises(StoreTimeout, match="whether the last write was made is not known"):
                await client.get(web.url(path="/during"))
            network.swallows_answers_after, network.swallows = None, False
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            await client.close()
            assert "/during" not in visited(web)
            # It was, here; the chain goes on behind it.
            urls = {web.url(path=f"/{name}") for name in ("before", "during", "after")}
            assert urls <= recorded(place)

    run(main)


# SQLite.


def test_a_file_that_another_process_has_locked(tmp_path: Path) -> None:
    """The same setting, and the same kind of error."""
    import sqlite3

    place = tmp_path / "store.db"

    async def main() -> None:
        async with Site(site()) as web:
            client = asking(evidence=place, server_timeout=0.2)
            await working(lambda: client.get(web.url(path="/before")))
            other = sqlite3.connect(place, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreTimeout, match=r"database is locked.* 0\.2 s \(server_timeout"):
                await client.get(web.url(path="/during"))
            other.execute("ROLLBACK")
            other.close()
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            await client.close()
            assert "/during" not in visited(web)

    run(main)


# Valkey.


def shared(url: str, **more: Any) -> dict[str, Any]:
    return {"politeness": url, "server_timeout": LIMIT, **more}


def test_a_page_while_valkey_stands_still(own: Valkey) -> None:
    """No host is asked, and the error says why; the next one works without a restart."""

    async def main() -> None:
        async with Site(site()) as web:
            client = asking(**shared(own.url))
            await working(lambda: client.get(web.url(path="/before")))
            with still(own):
                asked = [client.get(web.url(path=f"/during/{n}")) for n in range(5)]
                for each in await asyncio.gather(*asked, return_exceptions=True):
                    assert isinstance(each, PolitenessError), repr(each)
                    assert "no answer within 1 s (server_timeout)" in str(each)
            assert not any("during" in path for path in visited(web))
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            await client.close()

    run(main)


def test_closing_while_valkey_stands_still(own: Valkey) -> None:
    """With a slot to give back, somebody in line, and a host that is to be left alone."""

    async def main() -> None:
        async def slow(call: Call) -> None:
            await call.request()
            asked.set()
            await call.pause()

        asked = asyncio.Event()
        async with Site(site(slow=slow)) as web:
            client = asking(**shared(own.url, concurrency=1))
            await working(lambda: client.get(web.url(path="/before")))
            running = asyncio.create_task(client.get(web.url(path="/slow")))
            waiting = asyncio.create_task(client.get(web.url(path="/waiting")))
            await until(lambda: asked.is_set() or running.done(), 50)
            with still(own):
                await client.close()
                for task in (running, waiting):
                    found = await page_or_error(task)
                    assert isinstance(found, MannersError) or not found.ok
            assert "/waiting" not in visited(web)

    run(main)


def test_a_crawl_while_valkey_stands_still(own: Valkey, tmp_path: Path) -> None:
    """It waits for the server, and goes on when that is back: every page comes once."""

    async def main() -> None:
        async with Site(served(fan(PAGES))) as web:
            its = settings(**shared(own.url, store=str(tmp_path / "crawl.db")))
            crawl = Crawl([web.url()], its, agent="MyBot")
            pages = aiter(crawl)
            seen = [(await anext(pages)).url]
            with still(own):
                # Pages that were under way come; then the crawl says that it waits.
                reading = asyncio.create_task(_rest(pages))
                await until(lambda: crawl.view().is_away, 50)
            seen += await reading
            assert sorted(seen) == sorted(
                [web.url(), *(web.url(path=f"/{n}") for n in range(PAGES))]
            )

    run(main)


@pytest.mark.parametrize("end", ["stop", "abort"])
def test_stopping_a_crawl_while_valkey_stands_still(own: Valkey, tmp_path: Path, end: str) -> None:
    """It ends, and what was not asked for is left for a resume."""

    async def main() -> None:
        async with Site(served(fan(PAGES))) as web:
            place = str(tmp_path / "crawl.db")
            its = settings(**shared(own.url, store=place, min_delay=0.1, max_delay=0.1))
            crawl = Crawl([web.url()], its, agent="MyBot")
            pages = aiter(crawl)
            await anext(pages)
            with still(own):
                getattr(crawl, end)()
                await _rest(pages)
            assert crawl.ended == "interrupted"

    run(main)


async def _rest(pages: Any) -> list[str]:
    return [page.url async for page in pages]


def test_a_network_that_swallows_packets_on_the_way_to_valkey(own: Valkey) -> None:
    """Neither old connections nor new ones are waited for without end."""

    async def main() -> None:
        async with Site(site()) as web, Network(own.port).open() as network:
            client = asking(**shared(f"valkey://127.0.0.1:{network.port}/0"))
            await working(lambda: client.get(web.url(path="/before")))
            network.swallows = True
            for number in range(2):
                with pytest.raises(PolitenessError, match="no answer within"):
                    await client.get(web.url(path=f"/during/{number}"))
            network.swallows = False
            assert (await working(lambda: client.get(web.url(path="/after")))).ok
            network.swallows = True
            await client.close()
            assert not any("during" in path for path in visited(web))

    run(main)
