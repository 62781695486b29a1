"""Gzip, decompressed bit by bit: several members, padding behind them, and what breaks off."""

import zlib
from collections.abc import Iterator

_MAGIC = b"\x1f\x8b"
_MEMBERS = 1_000
"""Members of one file: those who compress in blocks of 64 KB have 800 in 50 MB."""
_SLICE = 16 * 1024
_PIECE = 64 * 1024


class Gunzip:
    """A gzip file, of which no more than 64 KB are decompressed at a time.

    >>> import gzip
    >>> b"".join(Gunzip().feed(gzip.compress(b"first ") + gzip.compress(b"second")))
    b'first second'
    """

    def __init__(self) -> None:
        self._inflate = _member()
        self._members = 1
        self._held = b""
        self.problem = ""
        """Why it cannot be read to its end."""
        self.is_over = False
        """Whether what follows is no part of it."""

    @property
    def is_complete(self) -> bool:
        """Whether it may end here."""
        return bool(self._inflate.eof) and not self.problem

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What comes out, in pieces."""
        data, self._held, at = self._held + data, b"", 0
        while at < len(data) and not self.is_over:
            if self._inflate.eof:
                begin = data[at : at + 2]
                if begin == _MAGIC[:1]:  # a member or padding: the next byte tells
                    self._held = begin
                    return
                self._next(begin)
                continue
            piece = data[at : at + _SLICE]
            yield from self._out_of(piece)
            at += len(piece) - len(self._inflate.unused_data)

    def _next(self, begin: bytes) -> None:
        if begin != _MAGIC:
            self.is_over = True  # padding, as tapes have it
        elif self._members >= _MEMBERS:
            self._fail(f"only the first {_MEMBERS:,} members are read")
        else:
            self._members += 1
            self._inflate = _member()

    def _out_of(self, data: bytes) -> Iterator[bytes]:
        piece = b"x" * _PIECE
        while not self._inflate.eof and (data or len(piece) == _PIECE):
            before = self._inflate.copy()
            try:
                piece = self._inflate.decompress(data, _PIECE)
            except zlib.error:
                yield from self._up_to_the_error(before, data)
                return
            data = self._inflate.unconsumed_tail
            yield piece

    def _up_to_the_error(self, before: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
        """What zlib had decompressed when it found the error, which it keeps to itself."""
        try:
            for octet in data:
                yield before.decompress(bytes([octet]))
        except zlib.error:
            pass
        self._fail("the file cannot be decompressed any further")

    def _fail(self, problem: str) -> None:
        self.problem, self.is_over = problem, True


def _member() -> "zlib._Decompress":
    return zlib.decompressobj(zlib.MAX_WBITS | 16)
