"""Whatever bytes come back, the answer is a value, and no more is allowed than the profile says."""

import asyncio
import gzip
import re
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manners.cache.robots import AsyncRobotsCache
from manners.cache.site import Site as Known
from manners.net.http import Http
from manners.net.messages import Get, Response, Unreachable
from manners.retrieval.outcome import Availability
from manners.retrieval.profiles import Profile
from manners.robots.verdict import Reason
from manners.urls import origin
from tests.faults.faults import FILE, PLAIN, WHOLE, chunked, encoded, headed
from tests.faults.play import hurried
from tests.faults.server import Call, Site
from tests.sizes import size

ANSWERS = (
    *(WHOLE, PLAIN + b"\r\n" + FILE, chunked(FILE), chunked(FILE[:7], FILE[7:])),
    *(encoded(b"gzip", gzip.compress(FILE)), encoded(b"deflate", zlib.compress(FILE))),
    *(WHOLE.replace(b"200 OK", b"%d X" % status) for status in (404, 403, 429, 500, 503, 206)),
    b"HTTP/1.1 302 Found\r\nLocation: /else\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.2:1/robots.txt\r\n\r\n",
    b'HTTP/1.1 304 Not Modified\r\nETag: W/"a"\r\n\r\n',
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + WHOLE,
    headed(b"Cache-Control: max-age=60", b"Expires: 0", b"Set-Cookie: a=b", b"Age: 3"),
    WHOLE.replace(b"text/plain", b"text/html; charset=iso-8859-1"),
    WHOLE.replace(b"200 OK", b"503 X").replace(b"\r\n\r\n", b"\r\nRetry-After: 7\r\n\r\n", 1),
)
PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"0", b"-1", b"\xff", b"\r\n\r\n", b"HTTP/1.1 "),
    *(b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 404 X\r\n\r\n", b"Content-Length: 5\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n", b"Connection: close\r\n"),
    *(b"Connection: keep-alive, upgrade\r\n", b"Upgrade: h2c\r\n", b"Location: //[\r\n", b";a=b"),
    *(b"Location: http://\xc3\xbc/\r\n", b"Trailer: a\r\n", b"Content-Type: a; charset=utf-16\r\n"),
)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """An answer that was right before something happened to it."""
    whole = bytearray(draw(st.sampled_from(ANSWERS)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(whole)))
        to = min(at + draw(st.integers(0, 12)), len(whole))
        match draw(st.sampled_from(("insert", "replace", "delete", "repeat", "cut", "flip"))):
            case "insert":
                whole[at:at] = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
            case "replace":
                whole[at:to] = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
            case "delete":
                del whole[at:to]
            case "repeat":
                whole[at:at] = whole[at:to] * draw(st.integers(1, 50))
            case "cut":
                del whole[at:]
            case "flip":
                whole[at:to] = bytes(byte ^ 0x20 for byte in whole[at:to])
    return bytes(whole)


class Fenced:
    """Sends requests to one server only: a redirect that was made up leads nowhere."""

    def __init__(self) -> None:
        self.site = ""
        self._http = Http(user_agent="faults", allow_private=True)

    async def send(self, get: Get) -> Response | Unreachable:
        """Send a request, if it goes where it may."""
        if origin(get.url) != self.site:
            return Unreachable("fenced off")
        return await self._http.send(get)

    async def close(self) -> None:
        """Close what is open."""
        await self._http.close()


def complaint(raw: bytes, profile: Profile, known: Known) -> str | None:
    """What is wrong with an answer, whatever was sent."""
    outcome, url = known.outcome, known.outcome.url.removesuffix("robots.txt")
    verdicts = [known.check(url + path, agent="MyBot") for path in ("", "private", "%ff?x")]
    allowed, reasons = {each.allowed for each in verdicts}, {each.reason for each in verdicts}
    closed, status = profile.unreachable == "disallow", outcome.status or 0
    match outcome.availability:
        case Availability.AVAILABLE:
            right = 200 <= status < 300 and re.search(rb"2\d\d", raw) and known.everything is None
        case Availability.UNAVAILABLE:
            gone = 400 <= status < 500 and status != 429 and b"4" in raw
            away = 300 <= status < 400 and "redirect" in outcome.note and b"3" in raw
            right = (gone or away) and allowed == {True} and reasons == {Reason.UNAVAILABLE}
        case Availability.UNREACHABLE:
            right = allowed == {not closed} and reasons == {Reason.UNREACHABLE}
    return None if right else f"{raw!r}: {outcome}, {verdicts}"


def play(profile: str, examples: int) -> None:
    """Send answers to a cache, many of them, all in one event loop."""
    with asyncio.Runner() as runner:
        problems: list[str] = []
        fenced, now = Fenced(), [b""]

        async def answer(call: Call) -> None:
            await call.request()
            cut = len(now[0]) // 2
            await call.send(now[0][:cut])
            await asyncio.sleep(0)
            await call.send(now[0][cut:])

        site = Site(answer)
        runner.get_loop().set_exception_handler(lambda _, what: problems.append(str(what)))
        runner.run(site.__aenter__())
        fenced.site = origin(site.url())
        cache = AsyncRobotsCache(profile=hurried(profile), http=fenced)

        @settings(
            max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
        @given(answers() | st.binary(max_size=200))
        def one(raw: bytes) -> None:
            now[0] = raw
            runner.run(cache.forget(fenced.site))
            wrong = complaint(raw, cache.profile, runner.run(cache.get(fenced.site)))
            assert wrong is None, wrong
            assert not problems, (raw, problems)

        try:
            one()
        finally:
            runner.run(cache.close())
            runner.run(fenced.close())
            runner.run(site.__aexit__())
        assert not site.open
        assert not site.failures


@pytest.mark.long
@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_whatever_comes_back_is_answered(profile: str) -> None:
    """Any bytes at all give an outcome, and a verdict that the profile has for it."""
    play(profile, size("ANSWERS"))
