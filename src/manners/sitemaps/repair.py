"""XML made readable before it is parsed: line ends, control characters, bare ampersands."""

import re

# A `&` that begins neither an entity of XML nor a character reference; and the sections in which a
# `&` is a character like any other.
_BARE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_SECTION = re.compile(rb"<!\[CDATA\[.*?(?:(\]\]>)|\Z)|<!--.*?(?:(-->)|\Z)", re.DOTALL)
_CDATA, _COMMENT = b"]]>", b"-->"
# The end of a block that may be the start of one of these.
_PARTIAL = re.compile(
    rb"(?:&[#0-9A-Za-z]{0,9}|<(?:!(?:-|\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?)\Z"
).search
_CONTROL = bytes(set(range(32)) - {9, 10, 13})


class Repair:
    """Repairs a file block by block.

    >>> Repair().ampersands(b"<loc>https://example.com/?a=1&b=2</loc>")
    b'<loc>https://example.com/?a=1&amp;b=2</loc>'
    """

    def __init__(self) -> None:
        self._ends_in_cr = False  # an LF at the start of the next block ends the same line
        self._unread = b""  # the end of the last block, which the next one decides
        self._inside = b""  # the end of the CDATA section or comment that the block is in

    @property
    def is_inside(self) -> bool:
        """Whether a CDATA section or a comment continues in the next block."""
        return bool(self._inside)

    def newlines(self, data: bytes) -> bytes:
        """The data with LF line ends (XML 1.0 section 2.11), without control characters."""
        data = data.translate(None, _CONTROL)
        if self._ends_in_cr and data:
            data = data.removeprefix(b"\n")
            self._ends_in_cr = False
        if b"\r" in data:
            self._ends_in_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def ampersands(self, data: bytes, is_final: bool = False) -> bytes:
        """The data with bare ampersands escaped; what the next block decides is kept for it."""
        data, self._unread, head = self._unread + data, b"", b""
        if self._inside:
            end = data.find(self._inside)
            if end < 0:
                return self._without_end(data, 0, is_final)
            end += len(self._inside)
            head, data, self._inside = data[:end], data[end:], b""
        tail = b""
        partial = None if is_final else _PARTIAL(data, max(len(data) - 11, 0))
        if partial is not None:
            data, tail = data[: partial.start()], partial[0]

        parts, at = [head], 0
        for found in _SECTION.finditer(data) if b"<!" in data else ():
            parts.append(_BARE.sub(b"&amp;", data[at : found.start()]))
            section, at = found[0], found.end()
            if not found.lastindex:
                self._inside, begin = (_CDATA, 9) if section[2:3] == b"[" else (_COMMENT, 4)
                section = self._without_end(section, begin, is_final)
            parts.append(section)
        parts.append(_BARE.sub(b"&amp;", data[at:]))
        self._unread += tail
        return b"".join(parts)

    def _without_end(self, data: bytes, begin: int, is_final: bool) -> bytes:
        """A section that continues in the next block, without what may begin its end."""
        for size in (2, 1):
            if len(data) - begin >= size and data.endswith(self._inside[:size]) and not is_final:
                self._unread = data[-size:]
                return data[:-size]
        return data


def line_ends(data: bytes) -> int:
    """How many line ends there are, of any kind."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
