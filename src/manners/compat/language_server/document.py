"""A document as an editor shows it: its bytes for the linter, its positions for the protocol."""

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from lsprotocol import types

from manners import lint
from manners._text import to_bytes, to_text
from manners.lint.finding import Edit, Finding, Severity
from manners.lint.source import ENGINES, Source

MAX_DOCUMENT = 1024 * 1024
"""Bytes; a larger document is not linted. Crawlers read half of that."""

_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""The encodings of positions: the codec, and the bytes of a unit."""
# The protocol has these line ends only, as robots.txt does; str.splitlines() has more.
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SURROGATE = re.compile("[\ud800-\udfff]")


class LintOptions(NamedTuple):
    """What is linted for whom, as in `manners.lint.run`."""

    engines: tuple[str, ...] = ENGINES
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


class OpenDocument:
    """A document as an editor shows it, and what the linter says about it.

    The protocol counts units of the encoding that was negotiated, the linter counts bytes.

    >>> document = OpenDocument("# 𝄞 x", encoding="utf-16")
    >>> document.offset(types.Position(0, 5)), document.position(7).character
    (7, 5)
    """

    def __init__(
        self,
        text: str,
        version: int | None = None,
        encoding: str = "utf-16",
        options: LintOptions = LintOptions(),  # noqa: B008 - immutable
    ) -> None:
        # The replacement character has as many units as a lone surrogate, in each encoding.
        self.body = _SURROGATE.sub("\ufffd", text).encode()
        self.version = version
        self.options = options
        self._codec, self._unit = _CODECS.get(encoding, _CODECS["utf-16"])

    @property
    def is_too_large(self) -> bool:
        """Whether it is larger than any robots.txt that somebody reads."""
        return len(self.body) > MAX_DOCUMENT

    @cached_property
    def source(self) -> Source:
        """The document as the linter reads it."""
        return Source(self.body, self.options.engines)

    @cached_property
    def findings(self) -> list[Finding]:
        """What the linter finds, the worst first; nothing in a document that is too large."""
        if self.is_too_large:
            return []
        engines, select, ignore = self.options
        found = lint.run(self.body, engines, select=select, ignore=ignore)
        order = list(Severity)
        return sorted(found, key=lambda finding: (order.index(finding.severity), finding.line))

    # Places: bytes of the body, and positions of the protocol.

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.body))]

    @property
    def _mark(self) -> int:
        """The bytes of a byte order mark, which the linter does not count."""
        return len(self.body) - len(self.source.data)

    def _span(self, line: int) -> tuple[int, int]:
        """Where a line begins and ends, counted from 0, without its line end."""
        line = min(line, len(self._starts) - 1)
        start, following = self._starts[line], self._starts[line + 1 : line + 2]
        raw = self.body[start : following[0] if following else len(self.body)]
        return start, start + len(raw.rstrip(b"\r\n"))

    def position(self, offset: int) -> types.Position:
        """The position of a byte."""
        line = bisect_right(self._starts, offset) - 1
        before = self.body[self._starts[line] : offset].decode("utf-8", "ignore")
        return types.Position(line, len(before.encode(self._codec)) // self._unit)

    def offset(self, position: types.Position) -> int:
        """The byte at a position; the nearest one if there is no such position."""
        start, end = self._span(position.line)
        units = self.body[start:end].decode().encode(self._codec)[: position.character * self._unit]
        return start + len(units.decode(self._codec, "ignore").encode())

    def before(self, position: types.Position) -> bytes:
        """The line of a position, up to it."""
        return self.body[self._span(position.line)[0] : self.offset(position)]

    def range(self, start: int, end: int) -> types.Range:
        """The range of some bytes."""
        return types.Range(self.position(start), self.position(end))

    def range_of(self, finding: Finding) -> types.Range:
        """What a finding is about."""
        start, end = self._span(finding.line - 1)
        if finding.line == 1:
            start = min(start + self._mark, end)
        text = to_text(self.body[start:end])
        first = start + len(to_bytes(text[: finding.column - 1]))
        if finding.end_column:
            end = start + len(to_bytes(text[: finding.end_column - 1]))
        return self.range(first, max(first, end))

    def text_edit(self, edit: Edit) -> types.TextEdit:
        """An edit of the linter, for the editor."""
        # An edit of nothing at the beginning stands for the byte order mark: `data` has none.
        start = 0 if edit == (0, 0, b"") else edit.start + self._mark
        place = self.range(start, edit.end + self._mark)
        return types.TextEdit(place, edit.replacement.decode("utf-8", "replace"))

    def edits_to(self, body: bytes) -> list[types.TextEdit]:
        """What makes this document another: from the first line that differs to the last."""
        if body == self.body:
            return []
        old, new = _lines(self.body), _lines(body)
        least = min(len(old), len(new))
        same = next((n for n in range(least) if old[n] != new[n]), least)
        rest = least - same
        tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
        start, end = len(b"".join(old[:same])), len(b"".join(old[: len(old) - tail]))
        text = b"".join(new[same : len(new) - tail]).decode("utf-8", "replace")
        return [types.TextEdit(self.range(start, end), text)]


def _lines(body: bytes) -> list[bytes]:
    ends = [found.end() for found in _LINE_END.finditer(body)]
    return [body[start:end] for start, end in zip([0, *ends], [*ends, len(body)], strict=True)]
