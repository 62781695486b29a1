"""A scripted sender answers as a server would, and records what it was sent."""

import asyncio
from typing import Any

import pytest

from manners import AsyncClient, Page
from manners.testing import Clock, Get, Response, ScriptedSender, Unreachable, run

SITE = "https://a.example"


def fetch(script: Any, *paths: str, clock: Clock | None = None, **keywords: Any) -> list[Page]:
    """Pages of a site that answers by a script."""
    clock = clock or Clock()
    http = ScriptedSender({SITE + path: reply for path, reply in script.items()}, clock)

    async def crawl() -> list[Page]:
        async with AsyncClient("MyBot", http=http, clock=clock, **keywords) as client:
            return [await client.get(SITE + path) for path in paths]

    return run(crawl(), clock)


@pytest.mark.parametrize(
    ("reply", "status", "body"),
    [
        ("text", 200, b"text"),
        (b"bytes", 200, b"bytes"),
        (410, 410, b""),
        (Response(201, body=b"whole"), 201, b"whole"),
        (Unreachable("timeout"), None, b""),
        (lambda get: get.url, 200, f"{SITE}/a".encode()),
    ],
)
def test_replies(reply: Any, status: int | None, body: bytes) -> None:
    """A text, bytes, a status, a response, a failure, or a function of the request."""
    (page,) = fetch({"/a": reply}, "/a")
    assert (page.status, page.body) == (status, body)


def test_one_after_the_other() -> None:
    """The last is for all that follow."""
    pages = fetch({"/a": ["one", 404, "three"]}, *["/a"] * 4)
    assert [page.text or page.status for page in pages] == ["one", 404, "three", "three"]


def test_what_is_not_in_the_script() -> None:
    """A 404, or whatever is the default; so without a robots.txt everything is allowed."""
    assert fetch({}, "/a")[0].status == 404
    sender = ScriptedSender({}, default="hi")
    assert asyncio.run(sender.send(Get(f"{SITE}/a"))) == Response(200, body=b"hi")


def test_redirects_and_headers() -> None:
    """Names of headers may be written as they are usually written."""
    (page,) = fetch({"/a": Response(301, {"Location": "/b"}), "/b": "here"}, "/a")
    assert [hop.url for hop in page.hops] == [f"{SITE}/a", f"{SITE}/b"]
    assert page.text == "here"


def test_a_reply_takes_its_time() -> None:
    """On the clock."""
    clock = Clock()
    (page,) = fetch({"/a": Response(200, seconds=2.5)}, "/a", clock=clock, min_delay=0, max_delay=0)
    assert page.seconds == 2.5
    assert clock() - clock.start == 2.5


def test_retry_after_is_kept_to() -> None:
    """A busy host is asked again when it says so, and not before."""
    clock = Clock()
    busy = Response(503, {"Retry-After": "900"})
    pages = fetch({"/a": [busy, "now"]}, "/a", "/a", clock=clock, defer_beyond=3600)
    assert [page.status for page in pages] == [503, 200]
    assert pages[1].hops[0].started - pages[0].hops[0].started == 900


def test_requests_are_recorded() -> None:
    """With their time, their method and the headers that were added."""
    clock = Clock()
    http = ScriptedSender({}, clock)

    async def crawl() -> None:
        async with AsyncClient("MyBot", http=http, clock=clock) as client:
            await client.head(f"{SITE}/a", {"Accept": "text/html"})

    run(crawl(), clock)
    robots, head = http.requests
    assert (robots.method, robots.url, robots.at) == ("GET", f"{SITE}/robots.txt", clock.start)
    assert (head.method, head.headers["Accept"]) == ("HEAD", "text/html")
    assert http.urls == [robots.url, head.url]


def test_no_more_than_is_asked_for() -> None:
    """A limit cuts the body, HEAD has none, and the error page of a robots.txt is not read."""
    sender = ScriptedSender({f"{SITE}/a": "x" * 100, f"{SITE}/b": Response(404, body=b"sorry")})
    assert asyncio.run(sender.send(Get(f"{SITE}/a", max_bytes=10)))[2:4] == (b"x" * 10, False)
    assert asyncio.run(sender.send(Get(f"{SITE}/a", method="HEAD")))[2] == b""
    assert asyncio.run(sender.send(Get(f"{SITE}/b")))[2] == b""
    assert asyncio.run(sender.send(Get(f"{SITE}/b", any_status=True)))[2] == b"sorry"


def test_a_stream_comes_in_pieces() -> None:
    """Up to a limit; a host that does not answer has no body."""
    clock = Clock()
    script: dict[str, Any] = {f"{SITE}/a": b"x" * 150_000, f"{SITE}/down": Unreachable("timeout")}
    http = ScriptedSender(script, clock)

    async def crawl() -> None:
        async with AsyncClient("MyBot", http=http, clock=clock) as client:
            async with client.stream(f"{SITE}/a") as stream:
                assert [len(chunk) async for chunk in stream.chunks()] == [65_536, 65_536, 18_928]
                assert stream.complete
            async with client.stream(f"{SITE}/a", max_bytes=70_000) as stream:
                assert [len(chunk) async for chunk in stream.chunks()] == [65_536, 4_464]
                assert not stream.complete
            async with client.stream(f"{SITE}/down") as stream:
                assert stream.page.cause == "timeout"
                assert [chunk async for chunk in stream.chunks()] == []

    run(crawl(), clock)
