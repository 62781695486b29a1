"""Gzip and deflate, decompressed piece by piece: several members, padding, truncated data."""

import zlib
from collections.abc import Iterator
from typing import Final

GZIP: Final = zlib.MAX_WBITS | 16
DEFLATE: Final = zlib.MAX_WBITS
"""In a zlib header, as RFC 9110 section 8.4.1.2 wants it, or bare, as some servers send it."""
_BARE: Final = -zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b"
_SLICE = 16 * 1024
_PIECE = 64 * 1024


class Inflater:
    """Compressed data, decompressed in pieces of bounded size.

    Gzip may have several members, one after the other (RFC 1952 section 2.2); `max_members` bounds
    them, because a long row of empty ones is an attack. With `salvage`, everything before an error
    is decompressed, at some cost.

    >>> import gzip
    >>> b"".join(Inflater(GZIP).feed(gzip.compress(b"first ") + gzip.compress(b"second")))
    b'first second'
    """

    def __init__(self, window: int, *, max_members: int = 1_000, salvage: bool = False) -> None:
        self._window, self._salvage = window, salvage
        self._stream = zlib.decompressobj(window)
        self._members, self._max_members = 1, max_members
        self._pending = b""
        self._has_begun = False
        self.problem = ""
        """Why it cannot be decompressed to its end."""
        self.is_over = False
        """Whether the rest is not part of it: there is a problem, or padding."""

    @property
    def is_complete(self) -> bool:
        """Whether it may end here."""
        return bool(self._stream.eof) and not self.problem

    def feed(self, data: bytes, size: int = _PIECE) -> Iterator[bytes]:
        """The decompressed data, in pieces of at most `size` bytes."""
        data, self._pending, at = self._pending + data, b"", 0
        size = max(size, 1)  # to zlib, 0 is no limit
        if not self._has_begun and len(data) < 2:  # two bytes tell a zlib header from bare deflate
            self._pending = data
            return
        while at < len(data) and not self.is_over:
            if self._stream.eof:
                begin = data[at : at + 2]
                if begin == _MAGIC[:1]:  # a member or padding: the next byte tells
                    self._pending = begin
                    return
                self._next_member(begin)
                continue
            # zlib copies what it has not used yet, each time: so it gets little at a time.
            part = data[at : at + max(size // 4, _SLICE)]
            yield from self._decompress(part, size)
            at += len(part) - len(self._stream.unused_data)

    def _next_member(self, begin: bytes) -> None:
        if begin != _MAGIC or self._window != GZIP:
            self.is_over = True  # padding, as tapes have it
        elif self._members >= self._max_members:
            self._fail(f"only the first {self._max_members:,} members are read")
        else:
            self._members += 1
            self._stream = zlib.decompressobj(GZIP)

    def _decompress(self, data: bytes, size: int) -> Iterator[bytes]:
        is_full = False
        while not self._stream.eof and (data or is_full):
            before = self._stream.copy() if self._salvage else None
            try:
                piece = self._stream.decompress(data, size)
            except zlib.error:
                if not self._has_begun and self._window == DEFLATE:
                    self._window, self._stream = _BARE, zlib.decompressobj(_BARE)
                    continue
                if before is not None:
                    yield from _until_error(before, data)
                self._fail("the rest cannot be decompressed")
                return
            self._has_begun = True
            data, is_full = self._stream.unconsumed_tail, len(piece) == size
            yield piece

    def _fail(self, problem: str) -> None:
        self.problem, self.is_over = problem, True


def _until_error(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Decompress byte by byte: of a longer piece with an error in it, zlib gives nothing."""
    try:
        for octet in data:
            yield stream.decompress(bytes([octet]))
    except zlib.error:
        pass
