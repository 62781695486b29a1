"""The encoding of a sitemap: what it says it is, as far as that can be believed."""

import codecs
import re
from encodings.aliases import aliases

# The protocol wants UTF-8. These are what else the web has; Python, which remembers every name it
# is asked for, is not asked for others, and codecs that do something else than decode stay out.
_KNOWN = frozenset(
    (
        *("latin_1", *(f"iso8859_{part}" for part in range(2, 17) if part != 12)),
        *("koi8_r", "koi8_u", *(f"cp{page}" for page in (866, 874, 932, 949, *range(1250, 1259)))),
        *("big5", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "shift_jis"),
    )
)
_CODECS = {**{name: name for name in _KNOWN}, **{k: v for k, v in aliases.items() if v in _KNOWN}}
_DECLARED = re.compile(
    rb"<\?xml\s[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']([A-Za-z0-9._:-]{1,40})[\"']"
).match
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_MARKS = {b"\xef\xbb\xbf": "utf_8", b"\xff\xfe": "utf_16_le", b"\xfe\xff": "utf_16_be"}


class ToUtf8:
    r"""Makes UTF-8 of what a file is written in.

    A byte that is no UTF-8 is percent-encoded: in a URL, that is how it goes over the wire.

    >>> ToUtf8(b"").convert(b"/caf\xe9", is_final=True)
    b'/caf%E9'
    """

    def __init__(self, start: bytes) -> None:
        """`start` is how the file begins."""
        name, self._skip = "utf_8", 0
        for mark, marked in _MARKS.items():
            if start.startswith(mark):
                name, self._skip = marked, len(mark)
                break
        else:
            declared = _DECLARED(start.lstrip())
            if start.startswith(b"<\0"):
                name = "utf_16_le"
            elif start.startswith(b"\0<"):
                name = "utf_16_be"
            elif declared is not None:
                written = declared[1].decode("ascii").lower().replace("-", "_").replace(":", "_")
                name = _CODECS.get(written, "utf_8")
        self._is_utf8 = name == "utf_8"
        self._decode = codecs.getincrementaldecoder(name)(
            "surrogateescape" if self._is_utf8 else "replace"
        ).decode
        self.is_wrong = False
        """Whether there were bytes that are none of its encoding."""

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
