"""What responses of other libraries may be used for, read when somebody asks."""

import asyncio
import gc
import gzip
import pickle
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

import aiohttp
import httpx
import pytest
import requests

from manners.client.dropins import ResponseUsage
from manners.compat.aiohttp import PoliteMiddleware
from manners.compat.httpx import AsyncPoliteTransport, PoliteTransport
from manners.compat.requests import PoliteAdapter
from manners.signals import PURPOSES
from tests.client.asking import AT_ONCE, run
from tests.faults.server import Site, by_path, in_thread, page

ROBOTS = b"User-agent: *\nContent-Usage: train-ai=n\n"
HEADERS = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Encoding", "gzip"),
    ("X-Robots-Tag", "otherbot: noindex"),
    ("X-Robots-Tag", "nosnippet"),
]
HTML = gzip.compress(b'<meta name="robots" content="noarchive"><p>text')
SITE = by_path({"/robots.txt": page(ROBOTS), "/page": page(HTML, 200, HEADERS)})


@contextmanager
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        opened.mount("http://", PoliteAdapter("MyBot", **AT_ONCE))
        yield opened


def with_requests(url: str) -> Any:
    with session() as opened:
        response = opened.get(url)
        return response, response.usage  # type: ignore[attr-defined]


def with_httpx(url: str) -> Any:
    with httpx.Client(transport=PoliteTransport("MyBot", **AT_ONCE)) as client:
        response = client.get(url)
        return response, response.extensions["usage"]


async def with_async_httpx(url: str) -> Any:
    async with httpx.AsyncClient(transport=AsyncPoliteTransport("MyBot", **AT_ONCE)) as client:
        response = await client.get(url)
        return response, response.extensions["usage"]


async def with_aiohttp(url: str) -> Any:
    async with (
        PoliteMiddleware("MyBot", **AT_ONCE) as polite,
        aiohttp.ClientSession(middlewares=[polite]) as opened,
    ):
        async with opened.get(url) as response:
            await response.read()
        return response, response.usage  # type: ignore[attr-defined]


Ask = Callable[[str], Any]
every_library = pytest.mark.parametrize(
    "ask",
    [with_requests, with_httpx, with_async_httpx, with_aiohttp],
    ids=lambda ask: ask.__name__.removeprefix("with_"),
)


def asked(ask: Ask, server: Site) -> Any:
    """The response of a library, and its usage."""
    url = server.url(path="/page")
    if not asyncio.iscoroutinefunction(ask):
        return ask(url)

    async def main() -> Any:
        work: Awaitable[Any] = ask(url)
        return await work

    return run(main)


@every_library
def test_a_response_says_what_it_may_be_used_for(ask: Ask) -> None:
    """By the robots.txt that decided, its headers, line by line, and its HTML, decompressed."""
    with in_thread(Site(SITE)) as server:
        response, usage = asked(ask, server)
        assert [visit.path for visit in server.log] == ["/robots.txt", "/page"]
    refused = {purpose for purpose in PURPOSES if usage[purpose].answer == "no"}
    assert refused == {"ai-train", "snippet", "archive"}
    assert usage["crawl"].answer == "yes"
    assert usage["search"].answer == "unknown"  # that line was for another
    assert set(usage) == set(PURPOSES)
    assert usage["archive"] is usage["archive"]  # read once
    assert dict(pickle.loads(pickle.dumps(usage))) == dict(usage)
    del response


@every_library
def test_a_usage_does_not_keep_its_response_alive(ask: Ask) -> None:
    """A response that is dropped is gone, and its usage says what to do."""
    with in_thread(Site(SITE)) as server:
        response, usage = asked(ask, server)
    found = ref(response)
    gc.disable()
    try:
        del response
        if ask is with_requests:  # those of the others have cycles of their own
            assert found() is None
    finally:
        gc.enable()
    gc.collect()
    assert found() is None
    with pytest.raises(ReferenceError, match="the response is gone"):
        usage["crawl"]


def test_before_the_body_is_read_headers_and_robots_txt_count() -> None:
    """And the HTML as soon as it is there."""
    with in_thread(Site(SITE)) as server:
        with session() as opened, opened.get(server.url(path="/page"), stream=True) as response:
            usage = response.usage  # type: ignore[attr-defined]
            assert usage["snippet"].answer == "no"
            assert usage["archive"].answer == "unknown"
            assert response.content
            assert usage["archive"].answer == "no"
        transport = PoliteTransport("MyBot", **AT_ONCE)
        with (
            httpx.Client(transport=transport) as client,
            client.stream("GET", server.url(path="/page")) as reply,
        ):
            assert answer_of(reply) == "unknown"
            reply.read()
            assert answer_of(reply) == "no"


def answer_of(reply: httpx.Response) -> str:
    usage = reply.extensions["usage"]
    assert isinstance(usage, ResponseUsage)
    return usage["archive"].answer


def test_the_agent_that_is_sent_decides() -> None:
    """robots.txt is read for the User-Agent of the request."""
    robots = b"User-agent: Other\nContent-Usage: train-ai=n\n"
    answer = by_path({"/robots.txt": page(robots)}, page(b"hi"))
    with in_thread(Site(answer)) as server, requests.Session() as opened:
        opened.mount("http://", PoliteAdapter(**AT_ONCE))
        for sent, expected in (("Other/1.0", "no"), ("MyBot/1.0", "unknown")):
            response = opened.get(server.url(), headers={"User-Agent": sent})
            usage = response.usage  # type: ignore[attr-defined]
            assert usage["ai-train"].answer == expected
