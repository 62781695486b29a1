"""Everything a server can do wrong, and what part B of the semantics makes of it.

A fault is a handler and the outcome that each profile has for it. Faults come in families; those of
a family are played side by side, each on addresses of its own.
"""

import asyncio
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import repeat

from tests.faults.server import Call, Handler, page

FILE = b"User-agent: *\nDisallow: /private\n"
OK = b"HTTP/1.1 200 OK\r\n"
PLAIN = OK + b"Content-Type: text/plain\r\n"
WHOLE = PLAIN + b"Content-Length: %d\r\n\r\n" % len(FILE) + FILE


class Means(Enum):
    """What an answer means."""

    FILE = auto()
    """Available: its one rule holds."""
    EMPTY = auto()
    """Available, and without any rule."""
    LONG = auto()
    """Available and too long: cut, its rule holds; `open` allows everything."""
    UNAVAILABLE = auto()
    """Everything is allowed."""
    UNREACHABLE = auto()
    """Nothing is allowed; `open` allows everything, with low confidence."""


@dataclass(frozen=True)
class Fault:
    """One thing to go wrong."""

    name: str
    answer: Handler
    means: Means
    but: dict[str, Means] = field(default_factory=dict)
    """Where a profile differs."""
    also: Means | None = None
    """What else may become of it, where HTTP leaves it open or the cut of the packets decides."""
    requests: int = 1
    """How many connections are made for it, at most."""

    def meanings(self, profile: str) -> set[Means]:
        """What a profile may make of it."""
        means = self.but.get(profile, self.means)
        return {means} if self.also is None else {means, self.also}


def raw(*parts: bytes, after: str = "close") -> Handler:
    """Bytes instead of an answer; then the connection is closed, reset or left open."""

    async def answer(call: Call) -> None:
        await call.request()
        for part in parts:
            await call.send(part)
            await asyncio.sleep(0)  # whoever listens hears each part by itself
        if after == "reset":
            await asyncio.sleep(0.02)  # a RST overtakes what has not been read yet
            call.reset()
        elif after == "silence":
            await call.pause()

    return answer


def endless(
    start: bytes, again: bytes | Callable[[], Iterator[bytes]], every: float = 0.0
) -> Handler:
    """A beginning, then the same again and again until the client has had enough."""

    async def answer(call: Call) -> None:
        await call.request()
        await call.send(start)
        for part in repeat(again) if isinstance(again, bytes) else again():
            await call.send(part)
            if every:
                await call.pause(every)
            else:
                await asyncio.sleep(0)

    return answer


def headed(*lines: bytes, body: bytes = FILE) -> bytes:
    """A whole answer with more header lines."""
    head = b"".join(line + b"\r\n" for line in lines)
    return PLAIN + b"Content-Length: %d\r\n" % len(body) + head + b"\r\n" + body


def encoded(encoding: bytes, body: bytes) -> bytes:
    return headed(b"Content-Encoding: " + encoding, body=body)


def slowly(whole: bytes) -> list[bytes]:
    """The same, byte by byte."""
    return [whole[at : at + 1] for at in range(len(whole))]


def chunked(*parts: bytes, after: bytes = b"0\r\n\r\n") -> bytes:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return PLAIN + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + after


# Statuses.


def status(code: int) -> Fault:
    """A status, with a robots.txt as the body, which counts in a success only."""
    if 200 <= code < 300:
        means = Means.EMPTY if code == 204 else Means.FILE
    elif 400 <= code < 500 and code != 429:
        means = Means.UNAVAILABLE
    else:
        means = Means.UNREACHABLE
    body = b"" if code in {204, 304} else FILE
    return Fault(f"status {code}", page(body, code), means)


STATUSES = [status(code) for code in range(200, 600)]

ODD_STATUSES = [
    *(
        Fault(f"status {code!r}", raw(WHOLE.replace(b"200", code, 1)), Means.UNREACHABLE)
        for code in (b"000", b"0", b"99", b"099", b"600", b"999", b"1000", b"20", b"2000", b"-200")
    ),
    *(
        Fault(f"status {code!r}", raw(WHOLE.replace(b"200", code, 1)), Means.UNREACHABLE)
        for code in (b"", b"20x", b"0x200", b"+200", b"2e2", "٢٠٠".encode(), b"200.0")
    ),
    Fault("status 101", raw(b"HTTP/1.1 101 \r\nUpgrade: x\r\n\r\n"), Means.UNREACHABLE),
    Fault("100 and nothing", raw(b"HTTP/1.1 100 Continue\r\n\r\n"), Means.UNREACHABLE),
    Fault(
        "100 and silence",
        raw(b"HTTP/1.1 100 Continue\r\n\r\n", after="silence"),
        Means.UNREACHABLE,
    ),
    Fault(
        "100, 103, then a file",
        raw(b"HTTP/1.1 100 \r\n\r\nHTTP/1.1 103 \r\n\r\n", WHOLE),
        Means.FILE,
    ),
    Fault("100 storm", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 200), Means.UNREACHABLE),
    Fault(
        "103 storm",
        endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" * 100),
        Means.UNREACHABLE,
    ),
    Fault(
        "103 drip",
        endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", every=0.05),
        Means.UNREACHABLE,
    ),
    Fault(
        "304 out of place",
        raw(b'HTTP/1.1 304 \r\nETag: "a"\r\n\r\n'),
        Means.UNREACHABLE,
    ),
    Fault(
        "404 and an endless body",
        endless(b"HTTP/1.1 404 \r\n\r\n", b"x" * 65_536),
        Means.UNAVAILABLE,
    ),
    Fault(
        "503 and an endless body",
        endless(b"HTTP/1.1 503 \r\n\r\n", b"x" * 65_536),
        Means.UNREACHABLE,
    ),
    Fault(
        "404 and a broken body",
        raw(b"HTTP/1.1 404 \r\nContent-Length: 99\r\n\r\n"),
        Means.UNAVAILABLE,
    ),
    Fault("no reason phrase", raw(WHOLE.replace(b" OK", b"", 1)), Means.FILE),
    Fault("not found, as HTML", page(b"<!doctype html><p>gone", 404), Means.UNAVAILABLE),
    Fault("HTML", page(b"<!doctype html><p>hello"), Means.EMPTY),
]


# Redirects.


def hop(call: Call, step: int, way: str) -> str:
    """Where the step of a chain is: on the same host, on others, on other ports, or on both."""
    block, _, _ = call.address.rpartition(".")
    host = f"{block}.{step + 1}" if way in {"host", "both"} else f"{block}.1"
    return call.site.url(host, f"/hop/{step}", step % 2 if way in {"port", "both"} else 0)


def chain(length: int, way: str, code: int = 302, end: Handler | None = None) -> Handler:
    """So many redirects, then an answer."""
    last = end or page(FILE)

    async def answer(call: Call) -> None:
        visit = await call.request()
        step = int(visit.path.rpartition("/")[2]) if visit.path.startswith("/hop/") else 0
        if step == length:
            await last(call)
        else:
            await call.reply(code, b"moved", [("Location", hop(call, step + 1, way))])

    return answer


def redirects(length: int, way: str, code: int = 302) -> Fault:
    """A chain of redirects; `open` follows three, and none to another host."""
    means = Means.FILE if length <= 5 else Means.UNAVAILABLE
    leaves = length and way in {"host", "both"}
    means_open = Means.UNAVAILABLE if leaves or length > 3 else Means.FILE
    name = f"{length} redirects ({code}) by {way}"
    return Fault(name, chain(length, way, code), means, {"open": means_open}, requests=length + 1)


CHAINS = [redirects(length, way) for length in range(8) for way in ("path", "host", "port", "both")]
CODES = [
    redirects(length, way, code)
    for code in (300, 301, 303, 305, 306, 307, 308, 310, 399)
    for length, way in ((1, "path"), (1, "host"), (6, "path"))
]
ALL_CHAINS = [
    redirects(length, way, code)
    for code in (300, 301, 302, 303, 305, 306, 307, 308, 310, 399)
    for length in range(8)
    for way in ("path", "host", "port", "both")
]


def moved(location: bytes, *more: bytes) -> Handler:
    """One redirect, byte by byte."""
    lines = b"".join(b"\r\n" + line for line in more)
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + lines
    return raw(head + b"\r\n\r\n")


def _then(first: bytes, handler: Handler) -> Handler:
    """A redirect from robots.txt, and what is found where it leads to."""

    async def answer(call: Call) -> None:
        visit = await call.request()
        await (moved(first) if visit.path == "/robots.txt" else handler)(call)

    return answer


async def _circle(call: Call) -> None:
    visit = await call.request()
    target = "/a" if visit.path != "/a" else "/robots.txt"
    await call.reply(302, b"", [("Location", target)])


async def _never_twice(call: Call) -> None:
    visit = await call.request()
    await call.reply(302, b"", [("Location", visit.path + "x")])


LOCATIONS = [
    Fault("redirect to itself", moved(b"/robots.txt"), Means.UNAVAILABLE),
    Fault("redirect to itself, with a fragment", moved(b"#a"), Means.UNAVAILABLE),
    Fault("redirect in a circle", _circle, Means.UNAVAILABLE, requests=2),
    Fault("redirects without end", _never_twice, Means.UNAVAILABLE, requests=6),
    Fault("redirect without Location", page(b"", 301), Means.UNREACHABLE),
    *(
        Fault(f"redirect to {location[:30]!r}", moved(location), Means.UNREACHABLE)
        for location in (
            *(b"", b"  ", b"file:///etc/passwd", b"ftp://127.0.0.1/robots.txt", b"mailto:a@b.test"),
            *(b"http://", b"http:///robots.txt", b"http://[", b"http://[::1", b"http://a b/"),
            *(b"http://127.0.0.1:99999/", b"http://127.0.0.1:x/", b"javascript:alert(1)"),
            *(b"data:text/plain,a", b"gopher://127.0.0.1:70/", b"https://", b"http://\xff\xfe/"),
            *(b"http://" + b"a" * 300 + b"/", b"unix:/run/docker.sock", b"http://%31%32%37.1/"),
        )
    ),
    *(
        Fault(f"redirect to {location!r}", _then(location, page(FILE)), Means.FILE, requests=2)
        for location in (b"/r", b"r", b"?r", b"./r#top", b"/a b", b"/\xc3\xbc", b"/\xfc", b"/../r")
    ),
    Fault("redirect to 404", _then(b"/r", page(b"", 404)), Means.UNAVAILABLE, requests=2),
    Fault("redirect to 503", _then(b"/r", page(b"", 503)), Means.UNREACHABLE, requests=2),
    Fault("redirect to 429", _then(b"/r", page(b"", 429)), Means.UNREACHABLE, requests=2),
    Fault(
        "redirect to 304",
        _then(b"/r", raw(b"HTTP/1.1 304 \r\n\r\n")),
        Means.UNREACHABLE,
        requests=2,
    ),
    Fault("redirect to silence", _then(b"/r", raw(after="silence")), Means.UNREACHABLE, requests=2),
    Fault("redirect to a reset", _then(b"/r", raw(after="reset")), Means.UNREACHABLE, requests=2),
    Fault("redirect to garbage", _then(b"/r", raw(b"\0" * 100)), Means.UNREACHABLE, requests=2),
    Fault("Location of 8 kB", moved(b"/" + b"a" * 7_900), Means.UNAVAILABLE, requests=2),
    Fault("Location of 1 MB", moved(b"/" + b"a" * 1_000_000), Means.UNREACHABLE),
    Fault("two Locations", moved(b"/a", b"Location: /b"), Means.UNAVAILABLE, requests=2),
    Fault(
        "a redirect with an endless body",
        endless(b"HTTP/1.1 302 \r\nLocation: file:///a\r\n\r\n", b"x" * 65_536),
        Means.UNREACHABLE,
    ),
]


# Connections that break or go quiet.


async def _reset_on_accept(call: Call) -> None:
    call.reset()


async def _close_on_accept(call: Call) -> None:
    pass


async def _deaf(call: Call) -> None:
    await call.pause()


CONNECTIONS = [
    Fault("reset on accept", _reset_on_accept, Means.UNREACHABLE),
    Fault("closed on accept", _close_on_accept, Means.UNREACHABLE),
    Fault("no answer", _deaf, Means.UNREACHABLE),
    *(
        Fault(f"{after} {where}", raw(part, after=after), Means.UNREACHABLE)
        for after in ("reset", "close", "silence")
        for where, part in {
            "after the request": b"",
            "in the status line": b"HTTP/1.1 20",
            "after the status line": OK,
            "in the headers": PLAIN[:-9],
            "after the headers": WHOLE[: -len(FILE)],
            "in the body": WHOLE[:-5],
            "in a chunk": chunked(FILE)[:-12],
            "after a chunk": chunked(FILE, after=b""),
        }.items()
    ),
    Fault(
        "reset in a body without length",
        raw(PLAIN + b"\r\n" + FILE, after="reset"),
        Means.UNREACHABLE,
    ),
    Fault(
        "silence in a body without length",
        raw(PLAIN + b"\r\n" + FILE, after="silence"),
        Means.UNREACHABLE,
    ),
    Fault("one byte a second", endless(PLAIN + b"\r\n", b"#", every=1.0), Means.UNREACHABLE),
    Fault(
        "a byte every now and then", endless(PLAIN + b"\r\n", b"#", every=0.05), Means.UNREACHABLE
    ),
    Fault("headers, drop by drop", endless(OK, b"a", every=0.05), Means.UNREACHABLE),
    Fault(
        "chunks, drop by drop",
        endless(chunked(after=b""), b"1\r\n#\r\n", every=0.05),
        Means.UNREACHABLE,
    ),
    Fault("a file, byte by byte", raw(*slowly(WHOLE)), Means.FILE),
]


# Bodies without end, and bombs.


def bomb(window: int) -> bytes:
    """A gibibyte of robots.txt, which is a megabyte on the wire."""
    packer = zlib.compressobj(9, zlib.DEFLATED, window)
    start = packer.compress(FILE) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(b"#" * 1024 * 1024) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + again * 1024  # what a full flush ends can be repeated


def _members() -> Iterator[bytes]:
    yield gzip.compress(FILE)
    yield from repeat(gzip.compress(b"") * 1000)


def _stored() -> Iterator[bytes]:
    """Gzip that never ends and never gives anything: empty blocks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    yield packer.compress(FILE) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from repeat(b"\0\0\0\xff\xff" * 4000)


ZIPPED = PLAIN + b"Content-Encoding: gzip\r\n"

ENDLESS = [
    Fault("endless body", endless(PLAIN + b"\r\n" + FILE, b"#" * 65_536), Means.LONG),
    Fault("endless lines", endless(PLAIN + b"\r\n" + FILE, b"Disallow: /a\n" * 5_000), Means.LONG),
    Fault(
        "endless chunks",
        endless(chunked(FILE, after=b""), b"10000\r\n" + b"#" * 65_536 + b"\r\n"),
        Means.LONG,
    ),
    Fault(
        "endless small chunks",
        endless(chunked(FILE, after=b""), (b"40\r\n" + b"#" * 64 + b"\r\n") * 900),
        Means.LONG,
    ),
    Fault(
        "a length of 10**18",
        endless(PLAIN + b"Content-Length: 1000000000000000000\r\n\r\n" + FILE, b"#" * 65_536),
        Means.LONG,
    ),
    Fault("gzip bomb", raw(encoded(b"gzip", bomb(zlib.MAX_WBITS | 16))), Means.LONG),
    Fault("deflate bomb", raw(encoded(b"deflate", bomb(zlib.MAX_WBITS))), Means.LONG),
    Fault("endless empty gzip members", endless(ZIPPED + b"\r\n", _members), Means.UNREACHABLE),
    Fault("endless empty gzip blocks", endless(ZIPPED + b"\r\n", _stored), Means.UNREACHABLE),
    Fault("endless status line", endless(b"HTTP/1.1 200 ", b"a" * 65_536), Means.UNREACHABLE),
    Fault("endless header", endless(OK + b"a: ", b"a" * 65_536), Means.UNREACHABLE),
    Fault("endless header name", endless(OK, b"a" * 65_536), Means.UNREACHABLE),
    Fault("endless headers", endless(OK, b"a: b\r\n" * 5_000), Means.UNREACHABLE),
    Fault("endless folded header", endless(OK + b"a: b\r\n", b" b\r\n" * 5_000), Means.UNREACHABLE),
    Fault("endless empty lines", endless(b"", b"\r\n" * 10_000), Means.UNREACHABLE),
    Fault(
        "endless chunk extension",
        endless(chunked(after=b"") + b"1;", b"a" * 65_536),
        Means.UNREACHABLE,
    ),
    Fault("endless chunk size", endless(chunked(after=b""), b"0" * 65_536), Means.UNREACHABLE),
    Fault(
        "endless trailer",
        endless(chunked(FILE, after=b"0\r\n"), b"a: b\r\n" * 5_000),
        Means.UNREACHABLE,
    ),
    Fault("endless garbage", endless(b"", b"\xff\x00garbage" * 5_000), Means.UNREACHABLE),
]


# What a body is packed in.

_BARE = zlib.compress(FILE)[2:-4]
_MANY = b"".join(gzip.compress(FILE[at : at + 1]) for at in range(len(FILE)))

ENCODINGS = [
    Fault("gzip", raw(encoded(b"gzip", gzip.compress(FILE))), Means.FILE),
    Fault("x-gzip", raw(encoded(b" X-GZip ", gzip.compress(FILE))), Means.FILE),
    Fault("gzip, byte by byte", raw(*slowly(encoded(b"gzip", gzip.compress(FILE)))), Means.FILE),
    Fault("gzip in many members", raw(encoded(b"gzip", _MANY)), Means.FILE),
    Fault("gzip in too many members", raw(encoded(b"gzip", _MANY * 10)), Means.UNREACHABLE),
    Fault("gzip cut short", raw(encoded(b"gzip", gzip.compress(FILE)[:-9])), Means.UNREACHABLE),
    Fault(
        "gzip without its end", raw(encoded(b"gzip", gzip.compress(FILE)[:-1])), Means.UNREACHABLE
    ),
    Fault(
        "gzip with a header only",
        raw(encoded(b"gzip", gzip.compress(FILE)[:10])),
        Means.UNREACHABLE,
    ),
    Fault("gzip of one byte", raw(encoded(b"gzip", b"\x1f")), Means.UNREACHABLE),
    Fault(
        "gzip with a wrong sum",
        raw(encoded(b"gzip", gzip.compress(FILE)[:-8] + b"\0" * 8)),
        Means.UNREACHABLE,
    ),
    Fault(
        "gzip broken inside",
        raw(encoded(b"gzip", gzip.compress(FILE)[:12] + b"\xff" * 40)),
        Means.UNREACHABLE,
    ),
    Fault(
        "gzip and garbage",
        raw(encoded(b"gzip", gzip.compress(FILE) + b"garbage")),
        Means.UNREACHABLE,
    ),
    Fault("gzip that is none", raw(encoded(b"gzip", FILE)), Means.UNREACHABLE),
    Fault("gzip of nothing", raw(encoded(b"gzip", b"")), Means.EMPTY),
    Fault("deflate", raw(encoded(b"deflate", zlib.compress(FILE))), Means.FILE),
    Fault("deflate, bare", raw(encoded(b"deflate", _BARE)), Means.FILE),
    Fault(
        "deflate, byte by byte", raw(*slowly(encoded(b"deflate", zlib.compress(FILE)))), Means.FILE
    ),
    Fault("deflate, bare, byte by byte", raw(*slowly(encoded(b"deflate", _BARE))), Means.FILE),
    Fault(
        "deflate cut short", raw(encoded(b"deflate", zlib.compress(FILE)[:-5])), Means.UNREACHABLE
    ),
    Fault("deflate that is none", raw(encoded(b"deflate", b"\xff" * 40)), Means.UNREACHABLE),
    *(
        Fault(f"encoding {name[:20]!r}", raw(encoded(name, FILE)), Means.UNREACHABLE)
        for name in (b"br", b"zstd", b"compress", b"gzip, gzip", b"gzip;q=1", b"x" * 1000, b"\xff")
    ),
    Fault("encoding identity", raw(encoded(b"identity", FILE)), Means.FILE),
    Fault("encoding named and empty", raw(encoded(b"", FILE)), Means.FILE),
    *(
        Fault(
            f"charset {name[:20]!r}",
            raw(WHOLE.replace(b"text/plain", b"text/plain; charset=" + name)),
            Means.FILE,
        )
        for name in (
            *(b"utf-8", b"UTF8", b"iso-8859-1", b"windows-1252", b"no-such", b"", b'""', b"'"),
            *(b"base64", b"zlib", b"rot13", b"idna", b"punycode", b"undefined", b"unicode_escape"),
            *(b"\xff", b"../../x", b"utf-7", b"utf-8;charset=utf-16", b"x" * 4000, b"mbcs"),
        )
    ),
    # The server is not believed: no line of UTF-16 that says anything is without a NUL.
    Fault(
        "charset utf-16, wrongly",
        raw(WHOLE.replace(b"text/plain", b"text/plain; charset=utf-16")),
        Means.FILE,
    ),
    Fault(
        "bytes of no charset",
        raw(headed(body=b"\xfe\x00\x80" * 100 + b"\n" + FILE)),
        Means.FILE,
    ),
]


# How long a body is said to be.

LENGTHS = [
    Fault("length too long", raw(WHOLE.replace(b"h: 33", b"h: 99")), Means.UNREACHABLE),
    Fault(
        "length too long, and silence",
        raw(WHOLE.replace(b"h: 33", b"h: 99"), after="silence"),
        Means.UNREACHABLE,
    ),
    Fault(
        "length too short", raw(headed() + b"Disallow: /\n" * 9), Means.UNREACHABLE, also=Means.FILE
    ),
    Fault(
        "length zero", raw(WHOLE.replace(b"h: 33", b"h: 0")), Means.UNREACHABLE, also=Means.EMPTY
    ),
    Fault("length twice, the same", raw(headed(b"Content-Length: 33")), Means.UNREACHABLE),
    Fault("length twice, another", raw(headed(b"Content-Length: 12")), Means.UNREACHABLE),
    *(
        Fault(f"length {value!r}", raw(WHOLE.replace(b"h: 33", b"h: " + value)), Means.UNREACHABLE)
        for value in (
            b"-1",
            b"+33",
            b"0x21",
            b"33, 33",
            b"x",
            b"3 3",
            b"1e9",
            b"9" * 40,
            b"33.0",
            b"\xd9\xa3",
        )
    ),
    Fault("length empty", raw(WHOLE.replace(b"h: 33", b"h: ")), Means.UNREACHABLE),
    Fault(
        "length and chunks",
        raw(chunked(FILE).replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n", 1)),
        Means.UNREACHABLE,
    ),
    Fault("no length", raw(PLAIN + b"\r\n" + FILE), Means.FILE),
    Fault("chunks", raw(chunked(FILE[:10], FILE[10:])), Means.FILE),
    Fault("chunks, byte by byte", raw(*slowly(chunked(*slowly(FILE)))), Means.FILE),
    Fault(
        "chunks with extensions and trailer",
        raw(chunked(after=b"21;a=b\r\n" + FILE + b"\r\n0\r\nA: b\r\n\r\n")),
        Means.FILE,
    ),
    *(
        Fault(f"chunk {part[:12]!r}", raw(chunked(FILE, after=part)), Means.UNREACHABLE)
        for part in (
            *(
                b"x\r\n\r\n",
                b"-1\r\n",
                b"0x1\r\n#\r\n0\r\n\r\n",
                b"ffffffffffffffffff\r\n",
                b"\r\n\r\n",
            ),
            *(
                b"5\r\n#\r\n0\r\n\r\n",
                b"1\r\n##\r\n0\r\n\r\n",
                b"0\r\n",
                b"0",
                b" \r\n",
                b"\xff\r\n",
            ),
        )
    ),
    Fault(
        "chunked twice",
        raw(chunked(FILE).replace(b": chunked", b": chunked, chunked")),
        Means.UNREACHABLE,
        also=Means.FILE,
    ),
    Fault(
        "transfer-encoding of no kind",
        raw(chunked(FILE).replace(b": chunked", b": magic")),
        Means.FILE,  # RFC 9112 section 6.3: then it ends with the connection
    ),
]


# Headers, and what is no HTTP at all.

HEADERS = [
    Fault("header of 1 MB", raw(headed(b"A: " + b"a" * 1_000_000)), Means.UNREACHABLE),
    Fault("header name of 1 MB", raw(headed(b"a" * 1_000_000 + b": a")), Means.UNREACHABLE),
    Fault("reason of 1 MB", raw(WHOLE.replace(b"OK", b"a" * 1_000_000, 1)), Means.UNREACHABLE),
    Fault(
        "10,000 headers", raw(headed(*(b"A%d: b" % n for n in range(10_000)))), Means.UNREACHABLE
    ),
    Fault(
        "10,000 cookies",
        raw(headed(*(b"Set-Cookie: a%d=b" % n for n in range(10_000)))),
        Means.UNREACHABLE,
    ),
    Fault("100 headers", raw(headed(*(b"A%d: b" % n for n in range(100)))), Means.FILE),
    Fault(
        "a strange cookie",
        raw(headed(b"Set-Cookie: \x01=\xff; Max-Age=x; Expires=")),
        Means.FILE,
        also=Means.UNREACHABLE,
    ),
    *(
        Fault(f"header {line!r}", raw(headed(line)), Means.UNREACHABLE)
        for line in (
            b"A\0: b",
            b"A: b\0c",
            b"\0",
            b": a",
            b"no colon",
            b"A b: c",
            b"A\x01: b",
            b"A : b",
        )
    ),
    *(
        Fault(f"header {line!r}", raw(headed(line)), Means.FILE)
        for line in (b"A: \xff\xfe", b"A: b\tc", b"A:", b"ETag: \xe2\x82", b"Expires: 0", b"Age: x")
    ),
    Fault("a bare CR in a header", raw(headed(b"A: b\rC: d")), Means.UNREACHABLE),
    Fault(
        "bare LF instead of CRLF",
        raw(WHOLE.replace(b"\r\n", b"\n")),
        Means.FILE,
        also=Means.UNREACHABLE,
    ),
    Fault("a folded header", raw(headed(b"A: b\r\n c")), Means.FILE, also=Means.UNREACHABLE),
    Fault(
        "dates out of this world",
        raw(headed(b"Expires: Fri, 99 Foo 99999 99:99:99 GMT", b"Date: -1")),
        Means.FILE,
    ),
    Fault("max-age without end", raw(headed(b"Cache-Control: max-age=" + b"9" * 400)), Means.FILE),
    Fault(
        "retry-after without end",
        raw(headed(b"Retry-After: " + b"9" * 400).replace(b"200", b"503", 1)),
        Means.UNREACHABLE,
    ),
    Fault(
        "retry-after of no date",
        raw(headed(b"Retry-After: Fri, 31 Dec 9999 23:59:59 -9999").replace(b"200", b"503", 1)),
        Means.UNREACHABLE,
    ),
    *(
        Fault(f"garbage {part[:16]!r}", raw(part), Means.UNREACHABLE)
        for part in (
            *(
                b"",
                b"\0",
                b"\n",
                b"\r\n\r\n",
                b"\xff" * 5000,
                b"SSH-2.0-OpenSSH_9.6\r\n",
                b"+OK ready\r\n",
            ),
            *(FILE, b"<html>" + FILE, b"220 mail ESMTP\r\n"),
            *(
                b"HTTP/9.9 200 OK\r\n\r\n" + FILE,
                b"HTTP/1.1\r\n\r\n" + FILE,
                b"http/1.1 200 OK\r\n\r\n",
            ),
            *(
                b"HTTP/1.1 200 OK",
                b"HTTP/2 200\r\n\r\n" + FILE,
                b"GET /robots.txt HTTP/1.1\r\n\r\n",
            ),
            *(
                b"\x15\x03\x01\x00\x02\x02\x16",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                b"HTTP/1.1 \0 OK\r\n\r\n",
            ),
            *(
                b"ICY 200 OK\r\n\r\n" + FILE,
                b"XHTTP/1.1 200 OK\r\n\r\n" + FILE,
                b"HTTP/1.12 200 OK\r\n\r\n",
            ),
        )
    ),
    Fault(
        "HTTP/0.9 and a status",
        raw(b"HTTP/0.9 200 OK\r\n\r\n" + FILE),
        Means.FILE,
        also=Means.UNREACHABLE,
    ),
    Fault("HTTP/1.0", raw(WHOLE.replace(b"1.1", b"1.0", 1)), Means.FILE),
]

FAMILIES: dict[str, list[Fault]] = {
    "odd statuses": ODD_STATUSES,
    "redirect chains": CHAINS,
    "redirect codes": CODES,
    "locations": LOCATIONS,
    "connections": CONNECTIONS,
    "endless": ENDLESS,
    "encodings": ENCODINGS,
    "lengths": LENGTHS,
    "headers": HEADERS,
}
