"""Bodies: read piece by piece, decompressed, and never beyond a limit."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp

from manners._inflate import DEFLATE, GZIP, Inflater
from manners._unpack import HAS_BROTLI, HAS_ZSTD, Unbrotli, UnpackError, Unzstd
from manners.net.capture import Capture
from manners.net.departures import ConnectionLost

_CHUNK = 65_536
_MEMBERS = 100
"""Members of one gzip body: more than one is rare, an endless row of empty ones an attack."""
ENCODINGS = ", ".join(["gzip", "deflate", *["br"] * HAS_BROTLI, *["zstd"] * HAS_ZSTD])
"""What is offered for pages: brotli and zstd where their libraries are installed."""


class Undecodable(Exception):
    """A body that cannot be decompressed."""


async def read_body(
    reply: aiohttp.ClientResponse, limit: int, capture: Capture | None = None
) -> tuple[bytes, bool]:
    """The body up to a limit, decompressed, and whether that is all of it."""
    body = bytearray()
    async for piece in pieces(reply, limit, capture):
        body += piece
        if len(body) > limit:
            return bytes(body[:limit]), False
    return bytes(body), True


async def pieces(
    reply: aiohttp.ClientResponse, limit: int, capture: Capture | None = None
) -> AsyncIterator[bytes]:
    """The body piece by piece, decompressed; at most one byte beyond the limit.

    `capture` gets what was received, as it came.
    """
    decode, ending = decoder(reply.headers.get("Content-Encoding", "")), _ending(reply)
    room = limit + 1
    async for chunk in reply.content.iter_chunked(_CHUNK):
        if capture is not None:
            capture.feed(chunk)
        piece = decode.feed(chunk, room)
        room -= len(piece)
        yield piece
        if room <= 0:
            return
    if ending is not None and ending.done() and ending.exception() is not None:
        raise ConnectionLost
    decode.end()


def _ending(reply: aiohttp.ClientResponse) -> "asyncio.Future[None] | None":
    """The end of the connection, if that ends the body; aiohttp hides that it may be an error."""
    connection = reply.connection
    if connection is None or connection.protocol is None:
        return None
    if "Content-Length" in reply.headers or "Transfer-Encoding" in reply.headers:
        return None
    ending = connection.protocol.closed
    if ending is not None:
        ending.add_done_callback(lambda end: end.cancelled() or end.exception())  # is retrieved
    return ending


class Plain:
    """A body that is not compressed."""

    def feed(self, chunk: bytes, room: int) -> bytes:
        """What a chunk decodes to, up to `room` bytes."""
        return chunk[:room]

    def end(self) -> None:
        """Raise `Undecodable` if the body is incomplete."""


class Compressed(Plain):
    """A body in gzip or deflate."""

    def __init__(self, window: int) -> None:
        self._inflater = Inflater(window, max_members=_MEMBERS)
        self._is_empty = True

    def feed(self, chunk: bytes, room: int) -> bytes:
        """What a chunk decodes to, up to `room` bytes."""
        self._is_empty = self._is_empty and not chunk
        out = bytearray()
        for piece in self._inflater.feed(chunk, room):
            out += piece
            if len(out) >= room:
                return bytes(out[:room])
        if self._inflater.is_over:
            raise Undecodable
        return bytes(out)

    def end(self) -> None:
        """Raise `Undecodable` if the body is incomplete."""
        if not (self._is_empty or self._inflater.is_complete):
            raise Undecodable


class Unpacked(Plain):
    """A body in brotli or zstd."""

    def __init__(self, stream: Unbrotli | Unzstd) -> None:
        self._stream, self._is_empty = stream, True

    def feed(self, chunk: bytes, room: int) -> bytes:
        """What a chunk decodes to, up to `room` bytes."""
        self._is_empty = self._is_empty and not chunk
        out = bytearray()
        try:
            for piece in self._stream.feed(chunk, max(min(room, _CHUNK), 1)):
                out += piece
                if len(out) >= room:
                    break
        except UnpackError:
            raise Undecodable from None
        return bytes(out[:room])

    def end(self) -> None:
        """Raise `Undecodable` if the body is incomplete."""
        if not (self._is_empty or self._stream.is_complete):
            raise Undecodable


def decoder(encoding: str) -> Plain:
    """What decodes a Content-Encoding."""
    match encoding.strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip":
            return Compressed(GZIP)
        case "deflate":
            return Compressed(DEFLATE)
        case "br" if HAS_BROTLI:
            return Unpacked(Unbrotli())
        case "zstd" if HAS_ZSTD:
            return Unpacked(Unzstd(_MEMBERS))
    raise Undecodable  # not one that we offered
