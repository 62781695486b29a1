"""Section 3: every wait ends. The detailed tests are in `tests/faults` and `tests/crawler`."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest

from manners.crawler.page import CrawledPage
from manners.errors import StoreTimeout
from manners.evidence.store import EvidenceStore
from tests.client.asking import asking, run, site
from tests.contracts.postgres import Postgres
from tests.crawler.ran import Ran, of, visiting
from tests.crawler.site import html
from tests.faults.server import Site
from tests.faults.standing import LIMIT, still


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that tests here may stop."""
    with Postgres() as server:
        yield server


@contextmanager
def locked(place: str) -> Iterator[None]:
    """Another session holds the head row."""
    with psycopg.connect(place) as other:
        other.execute("SELECT * FROM evidence_head FOR UPDATE")
        yield


def get_and_close_end(place: str, in_the_way: Callable[[], AbstractContextManager[object]]) -> None:
    """With an error at the limit, and without a request."""
    EvidenceStore(place).close()

    async def main() -> None:
        async with Site(site()) as web:
            client = asking(evidence=EvidenceStore(place, timeout=LIMIT))
            with in_the_way():
                with pytest.raises(StoreTimeout, match="server_timeout"):
                    await client.get(web.url(path="/during"))
                await client.close()
                assert client.evidence is not None
                await asyncio.to_thread(client.evidence.close)
            assert "/during" not in {visit.path for visit in web.log}

    run(main)


def test_get_and_close_end_while_postgresql_stands_still(server: Postgres) -> None:
    """With an error at the limit, and without a request."""
    get_and_close_end(server.database(), lambda: still(server))


def test_get_and_close_end_while_another_session_holds_the_head_row(server: Postgres) -> None:
    """With an error at the limit, and without a request."""
    place = server.database()
    get_and_close_end(place, lambda: locked(place))


def test_keep_does_not_run_on_the_event_loop(tmp_path: Path) -> None:
    """It runs in another thread than the crawl."""
    threads: set[int] = set()

    def keep(_: CrawledPage) -> None:
        threads.add(threading.get_ident())

    async def work(ran: Ran) -> None:
        await ran.go(keep=keep)
        assert len(threads) == 1
        assert threading.get_ident() not in threads

    visiting(work, of(home=html()), f"{tmp_path}/crawl.db")
