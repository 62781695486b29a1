"""Brotli and Zstandard, decompressed piece by piece, where their libraries are installed."""

from collections.abc import Iterator
from typing import Any

try:
    import brotli
except ModuleNotFoundError:
    brotli = None
try:
    from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
except ModuleNotFoundError:
    try:
        from backports import zstd  # type: ignore[no-redef, import-not-found, unused-ignore]
    except ModuleNotFoundError:
        zstd = None

__all__ = ["HAS_BROTLI", "HAS_ZSTD", "Unbrotli", "UnpackError", "Unzstd", "zstd"]

# Before 1.2, one call of brotli gave everything that came of a chunk, however much it was.
HAS_BROTLI = hasattr(getattr(brotli, "Decompressor", None), "can_accept_more_data")
HAS_ZSTD = zstd is not None
_WINDOW_LOG = 23
"""A zstd body needs a window of 8 MB at most (RFC 9659 section 3); others are not decompressed."""


class UnpackError(Exception):
    """What came is not what it says."""


class Unbrotli:
    """A brotli stream (RFC 7932).

    >>> import brotli
    >>> b"".join(Unbrotli().feed(brotli.compress(b"hello"), 100))
    b'hello'
    """

    def __init__(self) -> None:
        self._stream: Any = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        """Whether it may end here."""
        return bool(self._stream.is_finished())

    def feed(self, data: bytes, size: int) -> Iterator[bytes]:
        """The decompressed data, in pieces; the library rounds their size up, to some 32 kB."""
        if self._stream.is_finished() and data:
            raise UnpackError  # the stream is over
        try:
            while True:
                piece = self._stream.process(data, output_buffer_limit=size)
                data = b""
                if piece:
                    yield piece
                if self._stream.is_finished() or self._stream.can_accept_more_data():
                    return
        except brotli.error:
            raise UnpackError from None


class Unzstd:
    """Zstandard (RFC 8878): frames, one after the other; `max_frames` bounds them.

    >>> from manners._unpack import zstd
    >>> b"".join(Unzstd(2).feed(zstd.compress(b"hello ") + zstd.compress(b"you"), 100))
    b'hello you'
    """

    def __init__(self, max_frames: int) -> None:
        self._frames, self._max_frames = 0, max_frames
        self._stream = self._next_frame()

    @property
    def is_complete(self) -> bool:
        """Whether it may end here."""
        return bool(self._stream.eof)

    def feed(self, data: bytes, size: int) -> Iterator[bytes]:
        """The decompressed data, in pieces of at most `size` bytes."""
        try:
            while data or not (self._stream.eof or self._stream.needs_input):
                if self._stream.eof:
                    self._stream = self._next_frame()
                piece = self._stream.decompress(data, size)
                data = self._stream.unused_data if self._stream.eof else b""
                if piece:
                    yield piece
        except zstd.ZstdError:
            raise UnpackError from None

    def _next_frame(self) -> Any:
        if self._frames == self._max_frames:
            raise UnpackError
        self._frames += 1
        limits = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return zstd.ZstdDecompressor(options=limits)
