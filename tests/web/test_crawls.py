"""Crawls of a store in the service: one that runs, and pages, report and evidence of others."""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from sqlalchemy import text

from manners.crawler.status import status_of
from manners.crawler.stopping import stop_crawl
from manners.evidence.store import EvidenceStore
from manners.report.progress import progress_of
from manners.store.database import Store
from tests.client.asking import run
from tests.contracts.postgres import Postgres
from tests.crawler import hostile
from tests.web.crawling import TITLE, crawling
from tests.web.service import Asker, service

HTML = {"Accept": "text/html"}
SECONDS = 240.0
"""For processes to start and end, on a machine that is busy."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that others write: a file, or a database."""
    if request.param == "sqlite":
        return str(tmp_path / "crawl.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.database()


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of a crawl of sites that would like to run something."""
    where = tmp_path_factory.mktemp("hostile") / "crawl.db"
    hostile.made(where)
    return str(where)


class Events:
    """Server-sent events, as a browser reads them."""

    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines
        self.parts: dict[str, str] = {}
        """The latest of each part."""
        self.is_over = False

    async def next(self) -> str:
        """The name of the next event."""
        name = ""
        async for line in self._lines:
            key, _, value = line.decode().rstrip("\n").partition(": ")
            if key == "event":
                name = value
            elif key == "data" and name == "parts":
                self.parts.update(msgspec.json.decode(value))
            elif not key and name:
                self.is_over = name == "end"
                return name
        return ""

    async def until(self, is_there: Callable[[dict[str, str]], bool]) -> None:
        """Read until the parts are as they should be."""
        while not (self.parts and is_there(self.parts)):
            assert await self.next() == "parts", self.parts


@asynccontextmanager
async def events(asker: Asker, path: str = "/crawls/1/events") -> AsyncIterator[Events]:
    """The stream of a crawl."""
    async with asker.session.get(asker.address.rstrip("/") + path) as reply:
        assert reply.status == 200, await reply.text()
        assert reply.content_type == "text/event-stream"
        yield Events(aiter(reply.content))


def tile(html: str, name: str) -> str:
    """The number in a tile."""
    found = re.search(rf"{name}</dt><dd>(?:<a[^>]*>)?([^<]*)", html)
    return found[1] if found else ""


# A crawl that runs.


def test_a_crawl_is_seen_while_it_runs_until_it_is_stopped(place: str) -> None:
    """Numbers, hosts and workers come as they change; Stop ends the crawl, and the stream."""

    async def look() -> None:
        async with crawling(place) as running, service(store=place, control=True) as asker:
            async with events(asker) as stream:
                await stream.until(lambda parts: tile(parts["totals"], "Answered") == "4")
                assert "running, with 1 worker" in stream.parts["state"]
                assert "1 host: 1 asked now" in stream.parts["hosts"]
                running.shop.most += 6
                await stream.until(lambda parts: int(tile(parts["totals"], "Answered")) > 8)
                listed = await asker.get("/crawls", HTML)
                assert ">running<" in listed.text
                answer = await asker.post("/crawls/1/stop", None)
                assert (answer.status, answer.headers["Location"]) == (303, "/crawls/1")
                await stream.until(lambda parts: "finishing the running" in parts["state"])
                await running.stops()
                while not stream.is_over:
                    assert await stream.next()
            assert running.crawl.is_interrupted
            assert "interrupted" in stream.parts["state"]
            assert 'action="/crawls/1/resume"' in stream.parts["state"]

    run(look, SECONDS)


def test_a_crawl_is_resumed_in_a_process_of_the_service(tmp_path: Path) -> None:
    """Resume goes on where it stopped, with the settings that the store has, to the end."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place, max_pages=12) as running:
            assert stop_crawl(place) == (1, True)
            await running.stops()
            assert stop_crawl(place) == (1, False)
            before = running.shop.pages
            async with service(store=place, control=True) as asker:
                assert (await asker.post("/crawls/1/resume", None)).status == 303
                async with events(asker) as stream:
                    while not stream.is_over:
                        assert await stream.next()
                assert "limit" in stream.parts["state"]
                assert running.shop.pages > before

    run(look, SECONDS)
    with Store(place, readonly=True) as store:
        status = status_of(store)
    assert "12 pages" in status.ended, status
    assert len(status.workers) == 2


def test_a_service_that_ends_stops_what_it_resumed(tmp_path: Path) -> None:
    """The process of a crawl ends gracefully with the service, and the crawl can go on later."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place) as running:
            stop_crawl(place)
            await running.stops()
            running.shop.most = running.shop.answered + 2
            before = running.shop.pages
            async with service(store=place, control=True) as asker:
                assert (await asker.post("/crawls/1/resume", None)).status == 303
                while running.shop.pages == before:
                    await asyncio.sleep(0.02)
                asyncio.get_running_loop().call_later(1.0, setattr, running.shop, "most", math.inf)

    run(look, SECONDS)
    with Store(place, readonly=True) as store:
        status = status_of(store)
    assert (status.ended, status.resumable) == ("interrupted", True)


def test_only_with_control_and_from_its_own_pages(tmp_path: Path) -> None:
    """Without --control nothing is stopped or resumed; with it, no other site can do that."""
    place = str(tmp_path / "crawl.db")
    hostile.made(place)

    async def look() -> None:
        async with service(store=place) as asker:
            for action in ("stop", "resume"):
                answer = await asker.post(f"/crawls/1/{action}", None)
                assert (answer.status, "--control" in answer.json["advice"]) == (403, True)
            assert "<form" not in (await asker.get("/crawls/1", HTML)).text
        async with service(store=place, control=True) as asker:
            for headers in (
                {"Origin": "https://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
            ):
                for action in ("crawls/1/stop", "crawls/1/resume", "evidence/verify"):
                    assert (await asker.post(f"/{action}", None, headers)).status == 403
            for action in ("stop", "resume"):
                assert (await asker.get(f"/crawls/1/{action}")).status == 405
                assert (await asker.post(f"/crawls/7/{action}", None)).status == 404

    run(look)


# Streams.


def test_streams_are_bounded_share_one_reader_and_end_with_the_service(tmp_path: Path) -> None:
    """A client has so many streams; those of all clients cost one look a second; none lasts."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place) as running, aiohttp.ClientSession() as other:
            async with service(store=place, streams=3) as asker:
                async with events(asker) as one, events(asker) as two, events(asker) as three:
                    for stream in (one, two, three):
                        assert await stream.next() == "parts"
                    refused = await asker.get("/crawls/1/events")
                    assert (refused.status, refused.json["title"]) == (429, "Too Many Requests")
                    assert b"manners_service_streams 3" in (await asker.get("/metrics")).body
                while b"manners_service_streams 0" not in (await asker.get("/metrics")).body:
                    await asyncio.sleep(0.02)
                reply = await other.get(asker.address + "crawls/1/events")
            # The service has ended, and the crawl goes on.
            rest = (await reply.content.read()).decode()
            assert "event: end" not in rest
            assert not running.task.done()

    run(look)


def test_a_client_that_does_not_read_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Others see what comes; what he does not read is not kept for him."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place) as running, service(store=place) as asker:
            port = int(asker.address.rstrip("/").rpartition(":")[2])
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /crawls/1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await writer.drain()
            async with events(asker) as stream:
                await stream.until(lambda parts: tile(parts["totals"], "Answered") == "4")
                running.shop.most += 6
                await stream.until(lambda parts: int(tile(parts["totals"], "Answered")) > 8)
            writer.close()

    run(look)


def test_a_stream_of_a_crawl_that_has_ended_says_so(bad: str) -> None:
    """All parts once, then the end."""

    async def look() -> None:
        async with service(store=bad) as asker, events(asker) as stream:
            assert [await stream.next() for _ in range(2)] == ["parts", "end"]
            assert {"state", "totals", "hosts", "workers", "latest"} <= stream.parts.keys()
            assert (await asker.get("/crawls/9/events")).status == 404

    run(look)


# Pages.


PAGES = ("/crawls", "/crawls/1", "/crawls/1/pages", "/crawls/1/report", "/evidence", "/evidence/1")


def test_nothing_of_a_site_or_a_store_is_markup(bad: str) -> None:
    """Every attack, on every page and in every event, is text."""
    wanted = re.compile(r'href="(/(?:crawls/1/pages?\?|evidence/)[^"]*)"')

    async def look() -> None:
        async with service(store=bad) as asker, events(asker) as stream:
            await stream.next()
            texts = list(stream.parts.values())
            links = ["/evidence?type=blocked_by_robots"]
            for path in PAGES:
                answer = await asker.get(path, HTML)
                assert answer.status == 200, (path, answer.text)
                texts.append(answer.text)
                links += wanted.findall(answer.text)[:30]
            for link in dict.fromkeys(link.replace("&amp;", "&") for link in links):
                answer = await asker.ask("GET", link, HTML)
                assert answer.status == 200, (link, answer.text)
                assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
                texts.append(answer.text)
            for html in texts:
                assert "<script>" not in html
                assert "<img" not in html
                assert "<base" not in html
                assert "onerror=&quot;" in html or 'onerror="' not in html
                assert "\u202e" not in html
                assert "\x1b" not in html
                assert "javascript:" not in re.sub(r">[^<]*<", "><", html)
            assert any("&lt;script&gt;window.hacked" in html for html in texts)

    run(look)


def test_a_page_without_a_script_is_whole(tmp_path: Path) -> None:
    """What the script replaces is in the page, which loads itself again while the crawl runs."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place), service(store=place) as asker:
            html = (await asker.get("/crawls/1", HTML)).text
            assert tile(html, "Answered") == "4"
            assert '<noscript><meta http-equiv="refresh"' in html
            assert "style=" not in html
            assert "<script>" not in html

    run(look)


def test_each_page_has_its_record_and_what_led_to_it(tmp_path: Path) -> None:
    """From a list to a page, from there to the page that it was found on, and to its record."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place, max_pages=20) as running, service(store=place) as asker:
            running.shop.most = math.inf
            await running.task
            path = "/crawls/1/pages?state=blocked&text=/private/1"
            answer = await asker.get(path, HTML)
            links = re.findall(r'href="(/crawls/1/page\?[^"]*)"', answer.text)
            assert len(links) == 1
            why = "Disallowed by a line of robots.txt, line 2: <bdi>Disallow: /private</bdi>"
            assert why in answer.text
            shown = (await asker.ask("GET", links[0].replace("&amp;", "&"), HTML)).text
            assert f"<bdi>{running.url}private/1</bdi></h1>" in shown
            record = re.findall(r'href="(/evidence/\d+)"', shown)[0]
            decided = (await asker.get(record, HTML)).text
            assert "Disallow: /private" in decided
            assert "the same decision" in decided
            parent = re.findall(r'on <a href="(/crawls/1/page\?[^"]*)"', shown)[0]
            above = (await asker.ask("GET", parent.replace("&amp;", "&"), HTML)).text
            assert f"<bdi>{running.url}1</bdi></h1>" in above
            assert "&lt;script&gt;" in above
            assert TITLE not in above
            for path in ("/crawls/1/page?host=127.0.0.1&key=no", "/crawls/1/page", "/evidence/99"):
                assert (await asker.ask("GET", path)).status == 404
            assert (await asker.get("/crawls/1/pages", after="x")).status == 422

    run(look)


def test_a_list_of_pages_goes_on_where_it_ended(bad: str) -> None:
    """Each URL is listed exactly once, by following More."""

    async def look() -> None:
        async with service(store=bad) as asker:
            path, seen = "/crawls/1/pages", list[str]()
            while path:
                html = (await asker.ask("GET", path, HTML)).text
                seen += re.findall(r'href="(/crawls/1/page\?[^"]*)"', html)
                more = re.search(r'href="([^"]*)" rel="next"', html)
                path = "" if more is None else more[1].replace("&amp;", "&")
        with Store(bad, readonly=True) as store, store.reading() as connection:
            total = connection.execute(text("SELECT count(*) FROM urls")).scalar_one()
        assert (len(seen), len(set(seen))) == (total, total)

    run(look)


def test_evidence_that_was_changed_is_found(tmp_path: Path) -> None:
    """Verifying says what was changed, and where the chain ends."""
    place = str(tmp_path / "crawl.db")
    hostile.made(place)

    async def look() -> None:
        async with service(store=place) as asker:
            for head, status, said in (("", 200, "chain intact"), ("x", 422, "no head")):
                body: dict[str, Any] = {"data": {"head": head}}
                answer = await asker.ask("POST", "/evidence/verify", HTML, **body)
                assert (answer.status, said in answer.text) == (status, True)
            with EvidenceStore(place) as store, store.writing() as connection:
                changed = "UPDATE evidence SET content = '{\"allowed\":true}' WHERE id = 3"
                connection.exec_driver_sql(changed)
            answer = await asker.ask("POST", "/evidence/verify", HTML, data={})
            assert "finding" in answer.text
            assert "does not match the record" in (await asker.get("/evidence/3", HTML)).text

    run(look)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """An unknown crawl, an empty store, no store, and words that are no search."""

    async def look() -> None:
        async with service() as asker:
            assert "--store" in (await asker.get("/crawls")).json["advice"]
        async with service(store=str(tmp_path / "none.db")) as asker:
            answer = await asker.get("/crawls", HTML)
            assert (answer.status, "there is no such file" in answer.text) == (503, True)
            with EvidenceStore(tmp_path / "none.db"):
                pass
            assert "None so far" in (await asker.get("/crawls", HTML)).text
            for path in ("", "/report", "/pages", "/events", "/page"):
                assert (await asker.get(f"/crawls/1{path}")).status == 404
            for query in ("since=yesterday", "host=a%20b", "type=x", "agent=%00"):
                assert (await asker.get(f"/evidence?{query}")).status == 422
            assert (
                await asker.get("/evidence", host="a.example", since="2026-01-31")
            ).status == 200

    run(look)


def test_queries_are_hidden_where_the_service_says_so(bad: str) -> None:
    """With redact_query, no page has a query in it."""

    async def look() -> None:
        async with service(store=bad, redact_query=True) as asker:
            for path in (*PAGES, "/crawls/1/pages?text=.xml"):
                html = (await asker.ask("GET", path, HTML)).text
                assert ".xml?&lt;" not in html, path

    run(look)


def test_programs_get_the_same(place: str) -> None:
    """`/v1/crawls` and `/v1/crawl`: as the command prints them, and how a crawl goes."""

    async def look() -> None:
        async with crawling(place), service(store=place) as asker:
            (listed,) = (await asker.get("/v1/crawls")).json["crawls"]
            assert (listed["crawl"], listed["ended"], listed["fetched"]) == (1, "running", 4)
            shown = (await asker.get("/v1/crawl", crawl="1")).json
            assert shown["progress"]["hosts"]["asked"] == 1
            assert shown["status"]["statuses"] == {"200": 3, "404": 1}
            assert (await asker.get("/v1/crawl", crawl="2")).status == 404
            assert (await asker.get("/v1/crawl")).status == 422

    run(look)


# What the live page is made of.


def test_progress_is_read_without_urls(place: str) -> None:
    """Hosts, workers, retries and numbers of a crawl that runs, by its store alone."""

    async def look() -> None:
        async with crawling(place):
            with Store(place, readonly=True) as store:
                progress = await asyncio.to_thread(progress_of, store)
            assert progress.is_running
            assert not progress.is_stopping
            assert progress.states["done"] == 4
            assert progress.hosts.asked + progress.hosts.backing_off == 1
            assert [host.host for host in progress.active] == ["127.0.0.1"]
            assert progress.active[0].queued >= 1
            assert [worker.ended for worker in progress.workers] == ["running"]
            assert msgspec.json.encode(progress.to_dict())

    run(look)
