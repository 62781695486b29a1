"""What came of a request: every field of a page."""

import dataclasses
import gzip
import json
import pickle
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import brotli
import pytest

from manners import AsyncClient, Page
from manners._unpack import zstd
from tests.client.asking import asking, rules, run, silence, site, slow, statuses, to
from tests.faults.server import Call, Handler, Site, page


def fetched(
    handler: Handler, path: str = "/page", verb: str = "get", **changes: Any
) -> tuple[Page, Site]:
    """The page that a handler gives, and the server that was asked."""

    async def main() -> tuple[Page, Site]:
        async with Site(site(page=handler)) as server:
            async with asking(**changes) as client:
                found = await getattr(client, verb)(server.url(path=path))
            assert server.failures == []
            return found, server

    return run(main)


def test_a_page_has_what_the_server_sent() -> None:
    """Status, headers by name in lower case, body, and where it came from."""
    found, server = fetched(page(b"hi", 203, [("X-One", "1"), ("X-TWO", "a"), ("x-two", "b")]))
    assert (found.status, found.ok, found.body, found.text) == (203, True, b"hi", "hi")
    assert (found.headers["x-one"], found.headers["x-two"]) == ("1", "a, b")
    assert found.url == found.final_url == server.url(path="/page")
    assert (found.was_allowed, found.complete, found.cause) == (True, True, "")
    assert str(found) == "203"
    assert not found.not_modified


@pytest.mark.parametrize("status", [200, 204, 400, 404, 410, 429, 500, 503, 599])
def test_whatever_the_status_the_body_is_there(status: int) -> None:
    """An error is a page, too."""
    body = b"" if status == 204 else b"sorry"
    found, _ = fetched(page(body, status), initial_backoff=0.01)
    assert (found.status, found.body, found.was_allowed) == (status, body, True)
    assert found.ok == (status < 300)


def test_a_page_knows_how_long_it_took() -> None:
    """The requests, without the waiting before and between them."""
    before = time.time()
    found, _ = fetched(slow(0.2), min_delay=0.3, max_delay=0.3)
    hop = found.hops[0]
    assert hop.seconds >= 0.15
    assert hop.waited >= 0.25  # for the delay behind robots.txt
    assert before + hop.waited <= hop.started + 0.05
    assert hop.started <= time.time()
    assert found.seconds == hop.seconds


def test_every_hop_is_there_with_its_verdict() -> None:
    """Where it went, what was decided, what came back, and how long it took."""
    robots = rules("Allow: /page", "Allow: /two", "Disallow: /three")

    async def main() -> None:
        handler = site(robots, page=to("/two", 301), two=to("/four?x#y", 307))
        async with Site(handler) as server, asking() as client:
            found = await client.get(server.url(path="/page#top"))
            assert found.url == server.url(path="/page#top")
            assert found.final_url == server.url(path="/four?x")
            assert statuses(found) == [301, 307, 200]
            assert [hop.url for hop in found.hops] == [
                server.url(path=path) for path in ("/page", "/two", "/four?x")
            ]
            lines = [hop.verdict.line_text for hop in found.hops]
            assert lines == ["Allow: /page", "Allow: /two", ""]
            assert all(hop.verdict.allowed and hop.started for hop in found.hops)
            assert found.verdict == found.hops[-1].verdict
            assert found.seconds == sum(hop.seconds for hop in found.hops)

    run(main)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("verb", ["get", "head"])
def test_redirects_keep_the_method(status: int, verb: str) -> None:
    """What was asked with HEAD goes on with HEAD."""
    found, server = fetched(to("/there", status), verb=verb)
    assert statuses(found) == [status, 200]
    methods = [visit.method for visit in server.log if visit.path != "/robots.txt"]
    assert methods == [verb.upper()] * 2


@pytest.mark.parametrize(
    ("handler", "cause"),
    [
        (page(b"where?", 302), "redirect without Location"),
        (to("", 302), "redirect without Location"),
        (to("/page"), "redirect loop"),
        (to("/page#again"), "redirect loop"),
        (to("mailto:someone@example.com"), "invalid redirect target"),
        (to("http://[::1"), "invalid redirect target"),
        (to("http://example.com:99999/"), "invalid redirect target"),
        (to("javascript:alert(1)"), "invalid redirect target"),
        (to("file:///etc/passwd"), "invalid redirect target"),
    ],
)
def test_a_redirect_that_leads_nowhere_is_the_end(handler: Handler, cause: str) -> None:
    """The page says why; its status is that of the redirect."""
    found, server = fetched(handler)
    assert (found.status, found.cause, found.ok) == (302, cause, False)
    assert found.was_allowed
    assert str(found) == f"302 ({cause})"
    assert len(server.log) == 2


def test_a_longer_loop_ends_too() -> None:
    """No URL is asked for twice."""

    async def main() -> None:
        async with Site(site(page=to("/two"), two=to("/page"))) as server, asking() as client:
            found = await client.get(server.url(path="/page"))
            assert (statuses(found), found.cause) == ([302, 302], "redirect loop")
            assert [visit.path for visit in server.log] == ["/robots.txt", "/page", "/two"]

    run(main)


@pytest.mark.parametrize(("most", "hops"), [(0, 1), (1, 2), (10, 11)])
def test_there_is_a_limit_to_redirects(most: int, hops: int) -> None:
    """As the settings have it; ten by default."""

    async def further(call: Call) -> None:
        visit = await call.request()
        if visit.path == "/robots.txt":
            await rules()(call)
        else:
            await to(visit.path + "x")(call)

    async def main() -> None:
        async with Site(further) as server, asking(page_max_redirects=most) as client:
            found = await client.get(server.url(path="/page"))
            assert (statuses(found), found.cause) == ([302] * hops, "too many redirects")

    run(main)
    assert AsyncClient("MyBot").settings.page_max_redirects == 10


# Bodies.


def test_a_body_that_is_too_long_is_cut() -> None:
    """And the page says so."""
    found, _ = fetched(page(b"x" * 100_000), page_max_bytes=1000)
    assert (found.body, found.complete) == (b"x" * 1000, False)
    assert found.to_dict()["complete"] is False
    found, _ = fetched(page(b"x" * 1000), page_max_bytes=1000)
    assert (found.body, found.complete) == (b"x" * 1000, True)


def zipped(encoding: str, pack: Callable[[bytes], bytes], body: bytes) -> Handler:
    return page(pack(body), headers=[("Content-Encoding", encoding)])


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "deflate": partial(zlib.compress, level=9),
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_compressed_body_is_decompressed(encoding: str) -> None:
    """It is what was asked for, and offered."""
    found, server = fetched(zipped(encoding, PACKERS[encoding], b"hello " * 1000))
    assert (found.body, found.complete) == (b"hello " * 1000, True)
    offered = {visit.path: visit.headers["accept-encoding"] for visit in server.log}
    assert offered["/page"] == "gzip, deflate, br, zstd"
    assert offered["/robots.txt"] == "gzip, deflate"


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_bomb_does_not_go_off(encoding: str) -> None:
    """A few kilobytes that would be many megabytes are read up to the limit."""
    found, _ = fetched(
        zipped(encoding, PACKERS[encoding], bytes(50_000_000)), page_max_bytes=10_000
    )
    assert (found.body, found.complete) == (bytes(10_000), False)


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/html", "ü".encode(), "ü"),
        ("text/html; charset=utf-8", "ü".encode(), "ü"),
        ("text/html; charset=iso-8859-1", b"\xfc", "ü"),
        ('text/html; charset="EUC-KR"', "한글".encode("euc-kr"), "한글"),
        ("text/html; charset=utf-8", b"\xef\xbb\xbfa", "a"),
        ("text/html; charset=unheard-of", b"a\xff", "a�"),
        ("text/html; charset=utf-8", b"a\xff", "a�"),
        ("text/html; charset=rot13", b"a", "a"),
        ("", b"a", "a"),
    ],
)
def test_text_is_by_the_charset_that_the_server_names(
    content_type: str, body: bytes, text: str
) -> None:
    """A wrong one never raises."""
    found, _ = fetched(page(body, headers=[("Content-Type", content_type)]))
    assert found.text == text
    assert found.body == body


# What there is no answer for.


async def cut_short(call: Call) -> None:
    await call.request()
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi")


async def garbage(call: Call) -> None:
    await call.request()
    await call.send(b"SSH-2.0-OpenSSH\r\n\r\n")


@pytest.mark.parametrize(
    ("handler", "cause"),
    [
        (silence, "timeout"),
        (cut_short, "body cut short"),
        (garbage, "not HTTP"),
        (page(b"not gzip", headers=[("Content-Encoding", "gzip")]), "bad content-encoding"),
        (page(b"not offered", headers=[("Content-Encoding", "br")]), "bad content-encoding"),
    ],
)
def test_a_page_without_an_answer_says_why(handler: Handler, cause: str) -> None:
    """It was allowed, it has no status, and the cause is in words of ours."""
    found, _ = fetched(handler, page_read_timeout=0.3)
    assert (found.status, found.cause, found.was_allowed, found.ok) == (None, cause, True, False)
    assert (found.body, dict(found.headers)) == (b"", {})
    assert str(found) == f"({cause})"


def test_a_server_that_is_not_there_is_a_cause() -> None:
    """Its robots.txt is not there either: that closes it, unless the profile is open."""

    async def main() -> None:
        async with Site(site()) as server:
            url = server.url()
        async with asking(profile="open") as client:
            found = await client.get(url)
            assert (found.cause, found.was_allowed) == ("connection refused", True)
        async with asking() as client:
            found = await client.get(url)
            assert (found.cause, found.was_allowed) == ("", False)
            assert "connection refused" in str(found)

    run(main)


def test_a_total_time_ends_a_body_that_trickles() -> None:
    """However busy the server seems."""

    async def trickle(call: Call) -> None:
        await call.request()
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            await call.pause(0.05)
            await call.send(b"x")

    found, _ = fetched(trickle, page_total_timeout=0.4)
    assert found.cause == "timeout"


# Headers that mean something.


@pytest.mark.parametrize(
    ("headers", "tags"),
    [
        ([], ()),
        ([("X-Robots-Tag", "noindex")], ("noindex",)),
        ([("X-Robots-Tag", "noindex, nofollow")], ("noindex, nofollow",)),
        (
            [("X-Robots-Tag", "noindex"), ("x-robots-tag", "MyBot: noarchive")],
            ("noindex", "MyBot: noarchive"),
        ),
        ([("X-Robots-Tag", "  "), ("X-Robots-Tag", " noai ")], ("noai",)),
    ],
)
def test_x_robots_tag_is_there_as_read(
    headers: list[tuple[str, str]], tags: tuple[str, ...]
) -> None:
    """Header by header; nothing is done about it here."""
    found, _ = fetched(page(b"hi", headers=headers))
    assert found.robots_tag == tags
    assert found.to_dict()["robots_tag"] == list(tags)


MARKS = [("ETag", '"v1"'), ("Last-Modified", "Tue, 01 Sep 2026 00:00:00 GMT")]


async def conditional(call: Call) -> None:
    visit = await call.request()
    is_known = visit.headers.get("if-none-match") == '"v1"'
    await page(b"" if is_known else b"hi", 304 if is_known else 200, MARKS)(call)


def test_since_asks_only_for_what_is_new() -> None:
    """With the marks of the page at hand; own headers win."""

    async def main() -> None:
        async with Site(site(page=conditional)) as server, asking() as client:
            url = server.url(path="/page")
            first = await client.get(url)
            assert (first.ok, first.not_modified) == (True, False)
            second = await client.get(url, since=first)
            assert (second.status, second.not_modified, second.body) == (304, True, b"")
            assert second.cause == ""
            sent = server.log[-1].headers
            assert sent["if-none-match"] == '"v1"'
            assert sent["if-modified-since"] == MARKS[1][1]
            third = await client.get(url, {"If-None-Match": '"v2"'}, since=first)
            assert third.ok
            plain = await client.get(server.url(path="/other"))
            await client.get(server.url(path="/other"), since=plain)
            assert "if-none-match" not in server.log[-1].headers

    run(main)


@pytest.mark.parametrize("mark", ["ü", "\x80", "", " "])
def test_marks_that_cannot_be_sent_are_left_out(mark: str) -> None:
    """A hostile ETag breaks nothing."""

    async def main() -> None:
        handler = page(b"hi", headers=[("ETag", mark)])
        async with Site(site(page=handler)) as server, asking() as client:
            first = await client.get(server.url(path="/page"))
            assert (await client.get(server.url(path="/page"), since=first)).ok
            assert "if-none-match" not in server.log[-1].headers

    run(main)


def test_head_brings_the_headers_alone() -> None:
    """The length that it tells of is not waited for."""
    found, server = fetched(page(b"x" * 1000, headers=[("X-A", "1")]), verb="head")
    assert (found.status, found.body, found.complete) == (200, b"", True)
    assert (found.headers["content-length"], found.headers["x-a"]) == ("1000", "1")
    assert [visit.method for visit in server.log] == ["GET", "HEAD"]


# As values.


async def hostile(call: Call) -> None:
    await call.request()
    await call.send(
        b"HTTP/1.1 200 \xff\xfe\r\nX-\xc3: \xff\x01\x1b[31m\r\nContent-Length: 2\r\n\r\n\xff\xff"
    )


@pytest.mark.parametrize(
    "handler",
    [
        page(b"hi", headers=[("X-A", "\x80ü")]),
        page(status=500),
        to("/closed"),
        to("http://127.0.0.9:1/"),
        silence,
        hostile,
    ],
)
def test_a_page_is_ready_for_json(handler: Handler) -> None:
    """Whatever came back, and whether or not anything did."""

    async def main() -> Page:
        answer = site(rules("Disallow: /closed"), page=handler)
        async with Site(answer) as server, asking(page_read_timeout=0.2) as client:
            return await client.get(server.url(path="/page"))

    found = run(main)
    told = json.loads(json.dumps(found.to_dict()))
    assert told == json.loads(json.dumps(found.to_dict()))
    assert told["url"] == found.url
    assert told["final_url"] == found.final_url
    assert told["status"] == found.status
    assert told["cause"] == found.cause
    assert told["bytes"] == len(found.body)
    assert told["was_allowed"] == found.was_allowed
    assert told["seconds"] == found.seconds
    assert [hop["url"] for hop in told["hops"]] == [hop.url for hop in found.hops]
    assert [hop["verdict"]["allowed"] for hop in told["hops"]] == [
        hop.verdict.allowed for hop in found.hops
    ]
    assert str(found).isprintable()


def test_a_page_is_a_value() -> None:
    """It can be compared and kept, and not changed."""
    found, _ = fetched(page(b"hi"))
    assert found == dataclasses.replace(found)
    assert found != dataclasses.replace(found, body=b"ho")
    with pytest.raises(AttributeError):
        found.body = b""  # type: ignore[misc]
    kept: Page = pickle.loads(pickle.dumps(found))
    assert kept == found
    assert kept.verdict == found.verdict
