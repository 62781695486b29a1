"""Bodies over a real connection: decompressed, and read up to their limit."""

import asyncio
import gzip
import zlib
from collections.abc import Callable
from itertools import islice

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners._unpack import Unbrotli, Unzstd, zstd
from manners.net.bodies import decoder
from manners.net.messages import Get, Unreachable
from tests.net.exchanges import answer_with, cause, exchange, ok, opened
from tests.net.servers import OK, serving

TEXT = b"User-agent: *\nDisallow: /a\n" * 4


def bare(data: bytes) -> bytes:
    """Deflate without the zlib header."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()


BODIES = {
    "identity": ("identity", TEXT),
    "none": ("", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "GZIP": (" GZIP ", gzip.compress(TEXT)),
    "x-gzip": ("x-gzip", gzip.compress(TEXT)),
    "gzip, two members": ("gzip", gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:])),
    "gzip, empty members": ("gzip", gzip.compress(b"") * 40 + gzip.compress(TEXT)),
    "gzip, uncompressed": ("gzip", gzip.compress(TEXT, 0)),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate, level 0": ("deflate", zlib.compress(TEXT, 0)),
    "deflate, bare": ("deflate", bare(TEXT)),
    "brotli": ("br", brotli.compress(TEXT)),
    "zstd": ("zstd", zstd.compress(TEXT)),
    "zstd, two frames": ("zstd", zstd.compress(TEXT[:50]) + zstd.compress(TEXT[50:])),
}
bodies = pytest.mark.parametrize(("encoding", "body"), BODIES.values(), ids=BODIES)


@bodies
def test_a_body_is_decompressed(encoding: str, body: bytes) -> None:
    """What was offered is understood, and so is deflate without its header."""
    reply, _ = exchange(answer_with(body, f"Content-Encoding: {encoding}"))
    assert (ok(reply).body, ok(reply).complete) == (TEXT, True)


@bodies
def test_a_body_may_come_byte_by_byte(encoding: str, body: bytes) -> None:
    """Where the network cuts a body does not matter."""

    async def drip(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n".encode())
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for place in range(len(body)):
            writer.write(b"1\r\n" + body[place : place + 1] + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    reply, _ = exchange(drip)
    assert (ok(reply).body, ok(reply).complete) == (TEXT, True)


@bodies
def test_a_body_may_be_cut_anywhere(encoding: str, body: bytes) -> None:
    """Every pair of pieces, and every piece of one byte, decodes to the same."""
    for cut in range(len(body) + 1):
        decode = decoder(encoding)
        assert decode.feed(body[:cut], 999) + decode.feed(body[cut:], 999) == TEXT
        decode.end()
    decode = decoder(encoding)
    assert b"".join(decode.feed(body[at : at + 1], 999) for at in range(len(body))) == TEXT
    decode.end()


@bodies
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_body_is_read_up_to_its_limit(encoding: str, body: bytes, more: int) -> None:
    """At the limit a body is complete; one byte beyond, it is cut there and says so."""
    answer = answer_with(body, f"Content-Encoding: {encoding}")
    limit = len(TEXT) + more
    reply = ok(exchange(answer, max_bytes=limit)[0])
    assert (reply.body, reply.complete) == (TEXT[:limit], more >= 0)


@given(st.binary(max_size=300), st.integers(0, 310), st.integers(1, 40), st.sampled_from(range(6)))
def test_limits_and_pieces_do_not_mix(data: bytes, limit: int, size: int, form: int) -> None:
    """However a body is squeezed, cut and bounded, what comes out is its beginning."""
    encoding, body = [
        ("", data),
        ("gzip", gzip.compress(data[:100]) + gzip.compress(data[100:])),
        ("deflate", zlib.compress(data)),
        ("deflate", bare(data)),
        ("br", brotli.compress(data)),
        ("zstd", zstd.compress(data[:100]) + zstd.compress(data[100:])),
    ][form]
    decode, out = decoder(encoding), b""
    for at in range(0, len(body), size):
        out += decode.feed(body[at : at + size], limit + 1 - len(out))
        if len(out) > limit:
            break
    else:
        decode.end()
    assert out == data[: limit + 1]


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
)
def test_a_bomb_is_not_unfolded(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """A megabyte of zeros in a kilobyte is read as far as was asked, and no further."""
    bomb = pack(bytes(10_000_000))
    reply = ok(exchange(answer_with(bomb, f"Content-Encoding: {encoding}"), max_bytes=1000)[0])
    assert (reply.body, reply.complete) == (bytes(1000), False)


BOMB = bytes(20_000_000)


@pytest.mark.parametrize(
    ("stream", "bomb"),
    [(Unbrotli(), brotli.compress(BOMB, quality=3)), (Unzstd(9), zstd.compress(BOMB))],
    ids=["brotli", "zstd"],
)
def test_a_bomb_takes_no_memory(stream: Unbrotli | Unzstd, bomb: bytes) -> None:
    """No call of a library gives much more than is wanted, whatever a chunk would become."""
    sizes = [len(piece) for piece in islice(stream.feed(bomb, 1000), 20)]
    assert len(sizes) == 20
    assert max(sizes) <= 65_536


def test_a_window_that_is_too_large_is_refused() -> None:
    """A few bytes could ask for gigabytes of memory (RFC 9659)."""
    stream = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    large = stream.compress(TEXT) + stream.flush()
    reply, _ = exchange(answer_with(large, "Content-Encoding: zstd"))
    assert cause(reply) == "bad content-encoding"


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_small_limits_hold(limit: int) -> None:
    """A limit of nothing reads nothing."""
    reply = ok(exchange(OK, max_bytes=limit)[0])
    assert (reply.body, reply.complete) == (b"hi"[:limit], limit >= 2)
    empty = ok(exchange(answer_with(b""), max_bytes=limit)[0])
    assert (empty.body, empty.complete) == (b"", True)


def test_an_empty_body_needs_no_decompression() -> None:
    """Some servers say gzip about nothing."""
    for encoding in ("gzip", "deflate", "br", "zstd"):
        reply, _ = exchange(answer_with(b"", f"Content-Encoding: {encoding}"))
        assert (ok(reply).body, ok(reply).complete) == (b"", True)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", TEXT),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("gzip", TEXT),
        ("gzip", b"\x1f"),
        ("gzip", gzip.compress(TEXT)[:-1]),
        ("gzip", gzip.compress(TEXT) + b"garbage"),
        ("gzip", gzip.compress(b"") * 200 + gzip.compress(TEXT)),
        ("deflate", TEXT),
        ("deflate", b"\x78"),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("deflate", bare(TEXT)[:-1]),
        ("deflate", bare(TEXT) + b"garbage"),
        ("br", brotli.compress(TEXT)[:-1]),
        ("br", brotli.compress(TEXT) + b"garbage"),
        ("br, gzip", gzip.compress(brotli.compress(TEXT))),
        ("zstd", TEXT),
        ("zstd", zstd.compress(TEXT)[:-1]),
        ("zstd", zstd.compress(TEXT) + b"garbage"),
        ("zstd", zstd.compress(b"") * 200 + zstd.compress(TEXT)),
    ],
)
def test_a_body_that_is_not_what_it_says(encoding: str, body: bytes) -> None:
    """Nothing is made of a body that cannot be decoded to its end."""
    reply, _ = exchange(answer_with(body, f"Content-Encoding: {encoding}"))
    assert cause(reply) == "bad content-encoding"


@pytest.mark.parametrize("status", ["301 Moved", "404 Not Found", "500 Oh", "600 Odd", "299 OK"])
@pytest.mark.parametrize("keep_alive", [True, False])
def test_only_a_success_is_read(status: str, keep_alive: bool) -> None:
    """The body of an error is not waited for, and not what comes back for the next request."""

    async def stall(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            f"HTTP/1.1 {status}\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 9\r\n\r\nhi".encode()
        )
        await writer.drain()
        if not status.startswith("299"):
            await asyncio.sleep(60)  # until the test is over
        writer.write(b" there.")

    async def main() -> None:
        async with serving(stall) as server, opened(keep_alive=keep_alive) as sender:
            for _ in range(2):
                sent = await sender.send(Get(f"http://127.0.0.1:{server.port}/"))
                if isinstance(sent, Unreachable) and sent.is_stale:  # the server closed it
                    sent = await sender.send(Get(f"http://127.0.0.1:{server.port}/"))
                reply = ok(sent)
                assert reply.status == int(status[:3])
                assert reply.headers["x-a"] == "1, 2"
                assert reply.body == (b"hi there." if status.startswith("299") else b"")

    asyncio.run(main())


@pytest.mark.parametrize(("size", "connections"), [(10, 1), (4_000_000, 3)])
def test_a_body_that_is_left_unread_is_not_the_next_reply(size: int, connections: int) -> None:
    """With keep-alive, a connection is used again only when its reply has come to the end."""

    async def main() -> None:
        async with (
            serving(answer_with(OK * (size // len(OK) + 1))) as server,
            opened(keep_alive=True) as sender,
        ):
            get = Get(f"http://127.0.0.1:{server.port}/", max_bytes=10)
            for _ in range(3):
                reply = ok(await sender.send(get))
                assert (reply.body, reply.complete) == (OK[:10], False)
            assert server.connections == connections

    asyncio.run(main())
