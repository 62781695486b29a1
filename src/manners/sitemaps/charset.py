"""The encoding of a sitemap: by its byte order mark, its first bytes or its declaration."""

import codecs
import re

from manners.charset import byte_order_mark, legacy_codec

_DECLARED = re.compile(
    rb"<\?xml\s[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._:-]{1,40})[\"']"
).match
_NO_UTF8 = re.compile("[\udc80-\udcff]")


class ToUtf8:
    r"""Converts a file to UTF-8, piece by piece.

    A byte that is not UTF-8 is percent-encoded, as it would be in a request.

    >>> ToUtf8(b"").convert(b"/caf\xe9", is_final=True)
    b'/caf%E9'
    """

    def __init__(self, start: bytes) -> None:
        """`start` is how the file begins."""
        marked, self._skip = byte_order_mark(start)
        name = marked or _codec(start)
        self._is_utf8 = name == "utf-8"
        self._decode = codecs.getincrementaldecoder(name)(
            "surrogateescape" if self._is_utf8 else "replace"
        ).decode
        self.is_wrong = False
        """Whether there were bytes that are not UTF-8."""

    def convert(self, data: bytes, is_final: bool = False) -> bytes:
        """The next bytes of the file, in UTF-8."""
        if self._skip:
            data, self._skip = data[self._skip :], max(self._skip - len(data), 0)
        text = self._decode(data, is_final)
        try:
            return text.encode()
        except UnicodeEncodeError:
            self.is_wrong = True
            return _NO_UTF8.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", text).encode()


def _codec(start: bytes) -> str:
    """The codec of a file without a byte order mark: by its first bytes, or its declaration."""
    if start.startswith(b"<\0"):
        return "utf-16-le"
    if start.startswith(b"\0<"):
        return "utf-16-be"
    declared = _DECLARED(start.lstrip())
    codec = legacy_codec(declared[1].decode("ascii")) if declared else None
    # A declaration that could be read is not in UTF-16, whatever it says.
    return "utf-8" if codec is None or codec.startswith("utf-16") else codec
