"""The clients of other libraries with manners: what they ask, when, and what they leave behind."""

import asyncio
import gc
import itertools
import pickle
import threading
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import requests
from aiohttp import web
from aiohttp.test_utils import TestServer
from urllib3.util import Retry

from manners.client.dropins import judged
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    Disallowed,
    HostDeferred,
    InvalidURL,
    SlotLost,
    SlotTimeout,
    StoreError,
)
from manners.evidence.store import EvidenceStore
from manners.politeness.backends import Lease
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.budget import Budget
from tests.client.asking import (
    AT_ONCE,
    OPEN,
    rules,
    run,
    settings,
    silence,
    site,
    slow,
    to,
    until,
)
from tests.client.test_streams import HEAD, trickle
from tests.compat.callers import CALLERS, AsyncHttpx, Caller, Httpx, Requests, opened
from tests.compat.test_scrapy import NO_SUCH_MODULE
from tests.compat.test_scrapy import run as alone
from tests.faults.server import Call, Handler, Site, by_address, in_thread, page

A, B = "127.0.0.1", "127.0.0.2"
CLOSED = rules("Disallow: /closed")

every_caller = pytest.mark.parametrize("make", CALLERS, ids=lambda make: make.library)
async_callers = pytest.mark.parametrize(
    "make", [each for each in CALLERS if each.is_async], ids=lambda make: make.library
)
blocking_callers = pytest.mark.parametrize(
    "make", [each for each in CALLERS if not each.is_async], ids=lambda make: make.library
)
Make = type[Caller]


def exchange(
    make: Make,
    answer: Handler,
    ask: Callable[[Caller, Site], Awaitable[Any]],
    ports: int = 1,
    **changes: Any,
) -> Site:
    """Let a client ask a server; what the server has seen. A slot that stays taken is noticed."""

    async def main() -> Site:
        async with Site(answer, ports=ports) as server:
            given = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.4, **changes}
            async with make("MyBot", **given) as caller:
                await ask(caller, server)
            assert server.failures == []
            gc.collect()  # requests leaves it to the collector to close what an error has seen
            assert await server.emptied()
        return server

    return run(main)


async def is_free(caller: Caller, server: Site) -> bool:
    """Whether the only slot of the host is free."""
    try:
        await caller.fetch(server.url(path="/other"))
    except SlotTimeout:
        return False
    return True


def paths(server: Site) -> list[str]:
    return [visit.path for visit in server.log]


# What may be fetched.


@every_caller
def test_a_closed_path_is_an_error_before_anything_is_sent(make: Make) -> None:
    """The error has the verdict, and the verdict the line."""

    async def ask(caller: Caller, server: Site) -> None:
        assert await caller.fetch(server.url(path="/open")) == (200, b"hi")
        with pytest.raises(Disallowed, match="rule-matched, line 2: /closed") as found:
            await caller.fetch(server.url(path="/closed/a"))
        assert found.value.verdict.line_text == "Disallow: /closed"
        assert found.value.verdict.url == server.url(path="/closed/a")
        assert await is_free(caller, server)

    assert paths(exchange(make, site(CLOSED), ask)) == ["/robots.txt", "/open", "/other"]


@every_caller
@pytest.mark.parametrize(
    ("location", "asked"),
    [
        ("/closed", []),
        ("/hop", ["/hop"]),
        ("http://127.0.0.2:{0}/closed", ["/robots.txt"]),
        ("http://127.0.0.1:{1}/hop", ["/robots.txt", "/hop"]),
    ],
)
def test_every_hop_of_a_redirect_is_asked_about(
    make: Make, location: str, asked: list[str]
) -> None:
    """Nothing behind a closed hop is sent; the slot of one hop is free for the next."""

    async def start(call: Call) -> None:
        await to(location.format(*call.site.ports))(call)

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(Disallowed) as found:
            await caller.fetch(server.url(path="/start"))
        assert found.value.verdict.path == "/closed"
        assert await is_free(caller, server)

    server = exchange(make, site(CLOSED, start=start, hop=to("/closed")), ask, ports=2)
    assert paths(server) == ["/robots.txt", "/start", *asked, "/other"]


@every_caller
def test_a_redirect_to_an_open_page_is_followed(make: Make) -> None:
    """By the library, with its own rules; with one slot for all hops."""

    async def ask(caller: Caller, server: Site) -> None:
        assert await caller.fetch(server.url(path="/a")) == (200, b"hi")

    server = exchange(make, site(CLOSED, a=to("/b"), b=to("/c")), ask)
    assert paths(server) == ["/robots.txt", "/a", "/b", "/c"]


@every_caller
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_site_whose_robots_txt_cannot_be_had_is_closed(make: Make, status: int) -> None:
    """RFC 9309 2.3.1.4, by the default profile; another decides otherwise."""
    answer = site(page(status=status, headers=[("Retry-After", "0")]))

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(Disallowed, match="unreachable"):
            await caller.fetch(server.url())

    assert paths(exchange(make, answer, ask)) == ["/robots.txt"]

    async def ask_openly(caller: Caller, server: Site) -> None:
        assert await caller.fetch(server.url(B)) == (200, b"hi")

    quick: dict[str, Any] = {"initial_backoff": 0.001, "max_backoff": 0.001}
    exchange(make, answer, ask_openly, profile="open", **quick)


@every_caller
def test_the_guard_is_for_robots_txt(make: Make) -> None:
    """A private address is not asked for its robots.txt, so nothing is known, and all is closed."""

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(Disallowed, match="refused address"):
            await caller.fetch(server.url())

    assert paths(exchange(make, site(), ask, allow_private=False)) == []


@every_caller
def test_the_agent_decides_and_the_library_introduces_itself(make: Make) -> None:
    """A User-Agent that the library sends changes no verdict; robots.txt is asked by the agent."""
    robots = page(b"User-agent: MyBot\nDisallow: /mine\n\nUser-agent: Other\nDisallow: /theirs")

    async def ask(caller: Caller, server: Site) -> None:
        other = {"User-Agent": "Other/1.0"}
        await caller.fetch(server.url(path="/theirs"), headers=other)
        with pytest.raises(Disallowed):
            await caller.fetch(server.url(path="/mine"), headers=other)

    server = exchange(make, site(robots), ask)
    assert [visit.headers["user-agent"] for visit in server.log] == ["MyBot", "Other/1.0"]


@every_caller
def test_a_post_is_asked_about_and_waits_as_everything_does(make: Make) -> None:
    """What a request does is the user's business; whether its URL is closed is the site's."""
    seen: list[bytes] = []

    async def form(call: Call) -> None:
        visit = await call.request()
        seen.append(await call._reader.readexactly(int(visit.headers["content-length"])))
        await call.reply(200, b"thanks")

    async def ask(caller: Caller, server: Site) -> None:
        url = server.url(path="/form")
        assert await caller.fetch(url, "POST", content=b"a=1") == (200, b"thanks")
        with pytest.raises(Disallowed):
            await caller.fetch(server.url(path="/closed"), "POST", content=b"a=1")
        assert await is_free(caller, server)

    server = exchange(make, site(CLOSED, form=form), ask)
    assert [visit.method for visit in server.log] == ["GET", "POST", "GET"]
    assert seen == [b"a=1"]


@every_caller
def test_credentials_go_to_the_page_and_nowhere_else(make: Make, tmp_path: Path) -> None:
    """Neither to robots.txt nor into a record, nor into an error."""
    place = tmp_path / "proof.db"

    async def ask(caller: Caller, server: Site) -> None:
        url = server.url().replace("http://", "http://me:secret@")
        assert await caller.fetch(url) == (200, b"hi")
        with pytest.raises(Disallowed) as found:
            await caller.fetch(url + "closed")
        assert "secret" not in str(found.value)

    server = exchange(make, site(CLOSED), ask, evidence=place)
    assert ["authorization" in visit.headers for visit in server.log] == [False, True]
    with EvidenceStore(place) as store:
        assert "secret" not in str(list(store.records()))


@every_caller
def test_a_header_that_names_another_host_is_refused(make: Make) -> None:
    """It would be answered by a site that nobody has asked about; the URL's own may be named."""

    async def ask(caller: Caller, server: Site) -> None:
        for name in ("other.example", server.url()[7:-1] + "0", "a b", ""):
            with pytest.raises(ValueError, match="the header Host would ask another site"):
                await caller.fetch(server.url(path="/page"), headers={"host": name})
        own = {"Host": f"{A}:{server.ports[0]}"}
        assert await caller.fetch(server.url(path="/page"), headers=own) == (200, b"hi")

    assert paths(exchange(make, site(CLOSED), ask)) == ["/robots.txt", "/page"]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://example.com/a", "EXAMPLE.com:80"),
        ("https://example.com:8443/", b"example.com:8443"),
        ("http://example.com./", "example.com"),
        ("http://example.com.:8080/", "example.com:8080"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("wss://example.com/", "example.com:443"),
    ],
)
def test_a_header_that_names_the_same_host_is_none_of_ours(url: str, named: str | bytes) -> None:
    """However it is written."""
    assert judged(url, named) == url.replace("wss", "https")


def test_what_is_no_http_is_refused() -> None:
    """In words that say so, and nothing is asked."""
    refused = pytest.raises(InvalidURL, match="not an http or https URL")
    with httpx.Client(transport=Httpx("MyBot").polite) as own, refused:
        own.get("ftp://127.0.0.1/")
    with requests.Session() as session, refused:
        session.mount("ftp://", Requests("MyBot").polite)
        session.get("ftp://127.0.0.1/")


# When.


@every_caller
def test_a_crawl_delay_is_kept(make: Make) -> None:
    """From start to start, robots.txt included, on all ports together."""

    async def ask(caller: Caller, server: Site) -> None:
        for number in range(3):
            await caller.fetch(server.url(path=f"/{number}", port=number % 2))

    server = exchange(make, site(rules("Crawl-delay: 0.3")), ask, ports=2)
    starts = sorted(visit.at for visit in server.log)
    assert len(starts) == 5
    # The second robots.txt is asked for before it is known what it says.
    assert all(after - before > 0.25 for before, after in pairwise(starts))


@every_caller
def test_the_delay_counts_from_when_a_request_left(make: Make) -> None:
    """However long it took to leave: the next one waits for it."""

    async def ask(caller: Caller, server: Site) -> None:
        late, visit = itertools.cycle((0.4, 0.0)), caller.client.visit

        def visit_late(*arguments: Any, **options: Any) -> Any:
            found: Any = visit(*arguments, **options)
            time.sleep(next(late))
            return found

        async def visit_late_too(*arguments: Any, **options: Any) -> Any:
            found: Any = visit(*arguments, **options)
            found = await found
            await asyncio.sleep(next(late))
            return found

        caller.client.visit = visit_late_too if caller.is_async else visit_late  # type: ignore[method-assign]
        await asyncio.gather(*(caller.fetch(server.url(path=f"/{n}")) for n in range(4)))

    server = exchange(make, site(rules("Crawl-delay: 0.3")), ask, concurrency=2, slot_timeout=60.0)
    starts = sorted(visit.at for visit in server.log)
    assert len(starts) == 5
    assert all(after - before > 0.25 for before, after in pairwise(starts))


@every_caller
@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_says_when_to_come_back_is_left_alone(make: Make, status: int) -> None:
    """Retry-After holds for the next request, whatever it asks for."""
    busy = page(b"busy", status, [("Retry-After", "1")])

    async def ask(caller: Caller, server: Site) -> None:
        assert await caller.fetch(server.url(path="/busy")) == (status, b"busy")
        await caller.fetch(server.url(path="/next"))

    server = exchange(make, site(busy=busy), ask)
    assert paths(server) == ["/robots.txt", "/busy", "/next"]
    assert server.log[2].at - server.log[1].at > 0.9


@every_caller
def test_a_host_that_is_to_be_left_alone_for_long_is_deferred(make: Make) -> None:
    """Nobody waits for it: the error says when."""

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url(path="/first"))
        with pytest.raises(HostDeferred):
            await caller.fetch(server.url(path="/second"))

    server = exchange(make, site(rules("Crawl-delay: 3600")), ask)
    assert paths(server) == ["/robots.txt", "/first"]


@blocking_callers
def test_waiting_for_a_turn_is_no_part_of_a_timeout(make: Make) -> None:
    """That begins when the request is sent."""

    async def ask(caller: Any, server: Site) -> None:
        for path in ("/0", "/1"):
            await asyncio.to_thread(caller.own.get, server.url(path=path), timeout=1.0)

    server = exchange(make, site(rules("Crawl-delay: 1.5")), ask)
    assert paths(server) == ["/robots.txt", "/0", "/1"]


@every_caller
def test_two_that_share_their_politeness_have_one_pace(make: Make) -> None:
    """Slots included; without it, they know nothing of each other."""
    shared = MemoryBackend(1)

    async def ask(caller: Caller, server: Site) -> None:
        given: dict[str, Any] = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.4}
        async with (
            make("MyBot", politeness=shared, **given) as other,
            make("MyBot", **given) as stranger,
        ):
            async with opened(caller, server.url(path="/page")):
                assert await is_free(stranger, server)
                assert not await is_free(other, server)
            assert await is_free(other, server)

    exchange(make, site(page=trickle), ask, politeness=shared)


@every_caller
def test_no_more_than_two_at_a_time(make: Make) -> None:
    """However many ask."""
    now = most = 0

    async def counted(call: Call) -> None:
        nonlocal now, most
        await call.request()
        now += 1
        most = max(most, now)
        await call.pause(0.05)
        now -= 1
        await call.reply(200, b"ok")

    async def ask(caller: Caller, server: Site) -> None:
        urls = [server.url(path=f"/page?{number}") for number in range(6)]
        assert await asyncio.gather(*map(caller.fetch, urls)) == [(200, b"ok")] * 6

    exchange(make, site(page=counted), ask, concurrency=2, slot_timeout=20.0)
    assert most == 2


@blocking_callers
def test_one_client_may_be_used_by_many_threads(make: Make) -> None:
    """They stand in one line; each has its own answer, and robots.txt is asked for once."""
    now = most = 0
    found: dict[int, bytes] = {}

    async def counted(call: Call) -> None:
        nonlocal now, most
        visit = await call.request()
        now += 1
        most = max(most, now)
        await call.pause(0.01)
        now -= 1
        await call.reply(200, visit.path.encode())

    with in_thread(Site(site(CLOSED, page=counted))) as server:
        given = {**AT_ONCE, "concurrency": 2, "slot_timeout": 30.0}
        caller: Any = make("MyBot", **given)

        def work(number: int) -> None:
            for turn in range(3):
                path = f"/page?{number}.{turn}"
                found[number * 3 + turn] = caller.own.get(server.url(path=path)).content
                with pytest.raises(Disallowed):
                    caller.own.get(server.url(path="/closed"))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        caller.own.close()
    assert found == {n: f"/page?{n // 3}.{n % 3}".encode() for n in range(24)}
    assert most == 2
    assert paths(server).count("/robots.txt") == 1


# The slot.


@every_caller
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("status", [200, 204, 304, 404, 500])
@pytest.mark.parametrize("body", [b"", b"x" * 300_000])
def test_a_response_that_is_read_has_no_slot(
    make: Make, method: str, status: int, body: bytes
) -> None:
    """Whatever its status, and whether there is anything to be read."""
    if status in (204, 304):
        body = b""

    async def ask(caller: Caller, server: Site) -> None:
        for _ in range(2):
            found = await caller.fetch(server.url(path="/page"), method)
            assert found == (status, b"" if method == "HEAD" else body)
        assert await is_free(caller, server)

    exchange(make, site(page=page(body, status)), ask)


@every_caller
@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200)]
)
def test_a_response_without_a_body_leaves_at_once(make: Make, method: str, status: int) -> None:
    """There is nothing to read, and nobody may ever close it."""

    async def ask(caller: Caller, server: Site) -> None:
        reply = await caller.open(server.url(path="/page"), method)
        assert await is_free(caller, server)
        await reply.close()
        assert await is_free(caller, server)

    body = b"x" * 300_000 if method == "HEAD" else b""
    exchange(make, site(page=page(body, status)), ask)


@every_caller
def test_a_response_has_its_slot_until_it_is_closed(make: Make) -> None:
    """Nobody else gets it meanwhile; it need not be read to its end."""

    async def ask(caller: Caller, server: Site) -> None:
        async with opened(caller, server.url(path="/page")) as reply:
            assert not await is_free(caller, server)
            assert await reply.piece()
            assert not await is_free(caller, server)
        assert await is_free(caller, server)
        async with opened(caller, server.url(path="/page")):
            pass
        assert await is_free(caller, server)

    exchange(make, site(page=trickle), ask)


@every_caller
def test_a_response_that_is_read_piece_by_piece_leaves_at_its_end(make: Make) -> None:
    """Before anybody closes it."""

    async def ask(caller: Caller, server: Site) -> None:
        async with opened(caller, server.url(path="/page")) as reply:
            while await reply.piece():
                pass
            assert await is_free(caller, server)

    exchange(make, site(page=page(b"x" * 100_000)), ask)


@every_caller
def test_a_response_that_is_never_closed_loses_its_slot_with_the_lease(make: Make) -> None:
    """Others wait for so long, and no longer."""
    given: dict[str, Any] = {
        "lease": 1.0,
        "page_total_timeout": 0.5,
        "total_timeout": 0.5,
        "slot_timeout": 10.0,
    }

    async def ask(caller: Caller, server: Site) -> None:
        reply = await caller.open(server.url(path="/page"))
        begun = time.monotonic()
        await caller.fetch(server.url(path="/other"))
        assert time.monotonic() - begun > 0.8
        await reply.close()
        assert await is_free(caller, server)

    exchange(make, site(page=trickle), ask, **given)


@pytest.mark.parametrize(
    "make", [Httpx, AsyncHttpx, Requests], ids=["httpx", "httpx, async", "requests"]
)
def test_a_long_body_keeps_its_slot_while_it_is_read(make: Make) -> None:
    """The lease is renewed; where that is too late, the body ends with an error."""
    given: dict[str, Any] = {"lease": 0.9, "page_total_timeout": 0.5, "total_timeout": 0.5}

    async def ask(caller: Caller, server: Site) -> None:
        async with opened(caller, server.url(path="/page")) as reply:
            end = time.monotonic() + 2.0
            while time.monotonic() < end:
                assert await reply.piece()
            assert not await is_free(caller, server)
            await asyncio.sleep(1.2)
            assert await is_free(caller, server)
            with pytest.raises(SlotLost):
                await reply.piece()
        assert await is_free(caller, server)

    exchange(make, site(page=trickle), ask, **given)


async def reset(call: Call) -> None:
    await call.request()
    call.reset()


async def cut_short(call: Call) -> None:
    await call.request()
    await call.send(HEAD, b"x" * 10)


@every_caller
@pytest.mark.parametrize("fault", [reset, cut_short])
def test_a_request_that_fails_has_no_slot(make: Make, fault: Handler) -> None:
    """The error is the library's own."""

    async def ask(caller: Caller, server: Site) -> None:
        for _ in range(2):
            with pytest.raises(make.failures):
                await caller.fetch(server.url(path="/page"))
        assert await is_free(caller, server)

    exchange(make, site(page=fault), ask)


@async_callers
def test_a_request_that_is_cancelled_has_no_slot(make: Make) -> None:
    """Neither while it runs, nor while it waits in line, nor while its body is read."""

    async def ask(caller: Caller, server: Site) -> None:
        running = asyncio.create_task(caller.fetch(server.url(path="/slow")))
        await until(lambda: "/slow" in paths(server))
        waiting = [asyncio.create_task(caller.fetch(server.url(path="/w"))) for _ in range(2)]
        await asyncio.sleep(0.05)
        for task in (waiting[0], running, waiting[1]):
            task.cancel()
            await asyncio.sleep(0)
        found = await asyncio.gather(running, *waiting, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in found)
        assert await is_free(caller, server)
        reading = asyncio.create_task(caller.fetch(server.url(path="/page")))
        await until(lambda: "/page" in paths(server))
        await asyncio.sleep(0.1)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert await is_free(caller, server)

    server = exchange(make, site(slow=silence, page=trickle), ask, slot_timeout=5.0)
    assert "/w" not in paths(server)


class Failing(MemoryBackend):
    """A backend that cannot keep what a host says."""

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:
        if until > time.time() + 100:
            raise StoreError("nowhere", "gone")
        await super().penalise(host, until, now)


@every_caller
def test_a_reply_that_cannot_be_kept_to_is_closed(make: Make) -> None:
    """Where slots are kept elsewhere, and that is gone: the error is told, the slot is free."""
    busy = page(b"x" * 300_000, 503, [("Retry-After", "1000")])

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(StoreError):
            await caller.fetch(server.url(path="/busy"))
        # What was heard here holds here: it is another host that shows whether a place is free.
        assert caller.client.settings.connections == 1
        await caller.fetch(server.url(B))

    exchange(make, site(busy=busy), ask, politeness=Failing(1), connections=1)


def test_a_response_that_was_read_inside_has_no_slot() -> None:
    """A transport may answer from a cache of its own."""
    reply = httpx.MockTransport(lambda _: httpx.Response(200, content=b"mine"))

    class Reading(requests.adapters.HTTPAdapter):
        def send(self, *arguments: Any, **options: Any) -> requests.Response:
            response = super().send(*arguments, **options)
            assert response.content == b"hi"
            return response

    inner: dict[Make, dict[str, Any]] = {
        Httpx: {"transport": reply},
        AsyncHttpx: {"transport": reply},
        Requests: {"adapter": Reading()},
    }
    for make, given in inner.items():

        async def ask(caller: Caller, server: Site) -> None:
            for _ in range(2):
                status, body = await caller.fetch(server.url(path="/page"))
                assert (status, body in (b"hi", b"mine")) == (200, True)

        exchange(make, site(), ask, **given)


def test_a_response_of_requests_is_what_it_was() -> None:
    """Of the same kind, with the same pickle; who breaks off reading it may read on."""

    class Own(requests.Response):
        pass

    class Adapter(requests.adapters.HTTPAdapter):
        def build_response(self, req: Any, resp: Any) -> requests.Response:
            response = super().build_response(req, resp)
            response.__class__ = Own
            return response

    with in_thread(Site(site(page=page(b"x" * 100)))) as server:
        given: dict[str, Any] = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.2}
        caller = Requests("MyBot", adapter=Adapter(), **given)
        with caller.own.get(server.url(path="/page"), stream=True) as response:
            assert isinstance(response, Own)
            assert next(response.iter_content(10)) == b"x" * 10
            with pytest.raises(SlotTimeout):
                caller.own.get(server.url())
            assert len(response.content) == 90
            caller.own.get(server.url())
        caller.own.close()
        caller = Requests("MyBot", **given)
        response = caller.own.get(server.url(path="/page"))
        again = pickle.loads(pickle.dumps(response))
        assert type(again) is requests.Response
        assert (again.content, again.status_code, again.url) == (b"x" * 100, 200, response.url)
        caller.own.close()


def test_an_adapter_of_the_users_sends_the_requests() -> None:
    """With all that it is set to."""

    class Marking(requests.adapters.HTTPAdapter):
        def add_headers(self, request: requests.PreparedRequest, **_: Any) -> None:
            request.headers["X-Mark"] = "1"

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url())

    server = exchange(Requests, site(), ask, adapter=Marking())
    assert ["x-mark" in visit.headers for visit in server.log] == [False, True]
    transport = httpx.HTTPTransport(local_address="127.0.0.9")
    server = exchange(Httpx, site(), ask, transport=transport)
    assert [visit.peer[0] for visit in server.log] == ["127.0.0.1", "127.0.0.9"]


@pytest.mark.parametrize(
    "retry",
    [
        1,
        Retry(3, status_forcelist=[503], respect_retry_after_header=False),
        Retry(0, status_forcelist=[503]),
        Retry(3, read=0, other=0),
        Retry(None, connect=0, status=0),
    ],
    ids=str,
)
def test_an_adapter_that_sends_again_by_itself_is_refused(retry: int | Retry) -> None:
    """No request leaves without its turn, and no reply is lost to others."""
    adapter = requests.adapters.HTTPAdapter(max_retries=retry)
    with pytest.raises(ValueError, match="max_retries would send requests again"):
        Requests("MyBot", adapter=adapter)


@pytest.mark.parametrize(
    "retry",
    [0, Retry(False), Retry(connect=3, read=0, other=0, respect_retry_after_header=False)],
    ids=str,
)
def test_an_adapter_may_try_again_to_connect(retry: int | Retry) -> None:
    """What has been sent is sent once, whatever comes of it."""

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(make.failures):
            await caller.fetch(server.url(path="/reset"))
        assert await caller.fetch(server.url(path="/busy")) == (503, b"")

    make = Requests
    adapter = requests.adapters.HTTPAdapter(max_retries=retry)
    busy = page(b"", 503, [("Retry-After", "1")])
    server = exchange(make, site(reset=reset, busy=busy), ask, adapter=adapter)
    assert paths(server) == ["/robots.txt", "/reset", "/busy"]


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_a_web_socket_is_asked_about_and_leaves_when_it_is_open(scheme: str) -> None:
    """It begins with a request, and stays open for long."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        if request.path == "/robots.txt":
            return web.Response(text="User-agent: *\nDisallow: /closed")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await socket.send_str(message.data)
        return socket

    async def main() -> None:
        from manners.compat.aiohttp import PoliteMiddleware

        application = web.Application()
        application.router.add_get("/{path:.*}", answer)
        given: dict[str, Any] = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.4}
        async with (
            TestServer(application) as server,
            PoliteMiddleware("MyBot", **given) as polite,
            aiohttp.ClientSession(middlewares=[polite]) as session,
        ):
            place = f"{scheme}://127.0.0.1:{server.port}"
            with pytest.raises(Disallowed):
                await session.ws_connect(place + "/closed")
            async with (
                session.ws_connect(place + "/one") as one,
                session.ws_connect(place + "/two") as two,  # there is one slot
            ):
                for socket in (one, two):
                    await socket.send_str("hello")
                    assert await socket.receive_str() == "hello"

    run(main)
    assert asked == ["/robots.txt", "/one", "/two"]


def test_a_session_that_raises_for_a_status_leaves_no_slot() -> None:
    """aiohttp does it by itself, where it is told to."""

    async def main() -> None:
        from manners.compat.aiohttp import PoliteMiddleware

        body = page(b"x" * 300_000, 500)
        async with Site(site(page=body)) as server:
            given: dict[str, Any] = {**AT_ONCE, "concurrency": 1, "slot_timeout": 0.4}
            async with (
                PoliteMiddleware("MyBot", **given) as polite,
                aiohttp.ClientSession(middlewares=[polite], raise_for_status=True) as session,
            ):
                for _ in range(3):
                    with pytest.raises(aiohttp.ClientResponseError):
                        await session.get(server.url(path="/page"))

    run(main)


# What is kept.


@every_caller
def test_every_decision_is_on_record(make: Make, tmp_path: Path) -> None:
    """Pages, redirect hops, what was blocked; in the order in which it was decided."""
    place = tmp_path / "proof.db"

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url(path="/open"))
        with pytest.raises(Disallowed):
            await caller.fetch(server.url(path="/go"))

    server = exchange(make, site(CLOSED, go=to("/closed")), ask, evidence=place)
    with EvidenceStore(place) as store:
        assert list(store.verify()) == []
        kept = [(record.type, record.url) for record in store.records()]
    assert kept == [
        ("robots_allowed", server.url(path="/open")),
        ("robots_allowed", server.url(path="/go")),
        ("blocked_by_robots", server.url(path="/closed")),
    ]


@every_caller
def test_no_request_leaves_before_its_record_is_kept(make: Make, tmp_path: Path) -> None:
    """Where it cannot be, nothing leaves."""
    store = EvidenceStore(tmp_path / "proof.db")

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url(path="/first"))
        await asyncio.to_thread(store.close)
        with pytest.raises(StoreError):
            await caller.fetch(server.url(path="/second"))

    assert paths(exchange(make, site(), ask, evidence=store)) == ["/robots.txt", "/first"]


@every_caller
def test_a_budget_counts_pages(make: Make) -> None:
    """Neither redirects nor what is blocked; an attempt that fails is one."""
    budget = Budget(pages=3, minutes=None)

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url(path="/go"))
        assert budget.pages_used == 1
        with pytest.raises(Disallowed):
            await caller.fetch(server.url(path="/closed"))
        assert budget.pages_used == 1
        with pytest.raises(make.failures):
            await caller.fetch(server.url(path="/reset"), "POST")  # a GET may be sent twice
        assert budget.pages_used == 2
        await caller.fetch(server.url(path="/page"))
        with pytest.raises(BudgetExceeded):
            await caller.fetch(server.url(path="/one-more"))
        assert budget.pages_used == 3

    answer = site(CLOSED, go=to("/page"), reset=reset)
    assert "/one-more" not in paths(exchange(make, answer, ask, budget=budget))


@every_caller
def test_it_is_told_what_a_client_of_ours_is_told(make: Make) -> None:
    """Settings, exclusions, a function for every verdict."""
    told: list[str] = []

    async def ask(caller: Caller, server: Site) -> None:
        await caller.fetch(server.url(path="/open"))
        with pytest.raises(Disallowed, match="excluded"):
            await caller.fetch(server.url(path="/out/a"))

    async def main() -> None:
        async with (
            Site(site()) as server,
            make(
                "MyBot",
                settings(exclude=("/out/",)),
                on_decision=lambda verdict: told.append(verdict.path),
            ) as caller,
        ):
            await ask(caller, server)

    run(main)
    assert told == ["/open", "/out/a"]


# The end.


@every_caller
def test_whoever_waits_when_it_is_closed_is_told_so(make: Make) -> None:
    """And whoever comes after; to close it again does nothing."""

    async def ask(caller: Caller, server: Site) -> None:
        running = asyncio.create_task(caller.fetch(server.url(path="/slow")))
        await until(lambda: "/slow" in paths(server))
        waiting = asyncio.create_task(caller.fetch(server.url(path="/waiting")))
        await asyncio.sleep(0.1)
        await close(caller)
        with pytest.raises(ClientClosed):
            await waiting
        assert (await running)[1] == b"slow"
        with pytest.raises(ClientClosed):
            await caller.fetch(server.url(path="/late"))
        await close(caller)

    server = exchange(make, site(OPEN, slow=slow(1.0)), ask, slot_timeout=20.0)
    assert {"/waiting", "/late"}.isdisjoint(paths(server))


async def close(caller: Caller) -> None:
    """Close what is ours, and leave the library's client open."""
    if caller.is_async:
        await caller.polite.client.close()
    else:
        await asyncio.to_thread(caller.polite.client.close)


def test_a_lease_is_renewed_as_long_as_there_is_one() -> None:
    """A visit that is over renews nothing, and leaves once."""
    released: list[Lease] = []

    class Watched(MemoryBackend):
        async def release(self, lease: Lease) -> None:
            released.append(lease)
            await super().release(lease)

    async def main() -> None:
        from manners import AsyncClient

        async with (
            Site(by_address({}, page(b""))) as server,
            AsyncClient("MyBot", settings(), politeness=Watched(1)) as client,
        ):
            visit = await client.visit(server.url())
            assert len(released) == 1  # that of robots.txt
            await visit.renew()
            await visit.leave()
            await visit.leave()
            await visit.renew()
            assert len(released) == 2

    run(main)


# Without the library.


@pytest.mark.parametrize(
    ("extra", "library"),
    [
        ("httpx", "httpx"),
        ("requests", "requests"),
        ("aiohttp", "aiohttp"),
        ("httpx", "aiohttp"),
        ("requests", "msgspec"),
    ],
)
def test_without_a_library_the_error_says_what_to_install(extra: str, library: str) -> None:
    """The extra of the drop-in, whose library is missing or one that our own client needs."""
    script = NO_SUCH_MODULE.format(absent=library)
    script += f"""
import manners
try:
    import manners.compat.{extra}
except manners.MissingExtra as error:
    print(error)
"""
    assert alone(script) == f"{extra!r} needs {library!r}: pip install 'manners[{extra}]'\n"


def test_a_drop_in_loads_no_other_library() -> None:
    """Each needs its own, and what manners needs by itself."""
    script = "import sys, manners.compat.requests; print({'httpx', 'scrapy'} & set(sys.modules))"
    assert alone(script) == "set()\n"
    script = "import sys, manners.compat.scrapy; print({'httpx', 'aiohttp'} & set(sys.modules))"
    assert alone(script) == "set()\n"
