"""Places in a file: the bytes that the linter counts, and the places of a text in a browser. Quiet.

A browser counts UTF-16 units. The linter counts the bytes behind a byte order mark, and columns in
characters.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable

from manners.lint.finding import NO_MARK, Edit

_MARK = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class Places:
    """The places of a text, by line: asked for many edits, each costs a line.

    >>> places = Places("# é\\n# 𝄞x")
    >>> places.edits([Edit(11, 12, b"y")]), places.column(2, 4)
    ([(8, 9, 'y')], 4)
    """

    def __init__(self, text: str) -> None:
        self._shift = len(_MARK) if text.startswith(_MARK) else 0
        self._lines = _LINE.findall(text[self._shift :])
        self._bytes, self._units = [0], [self._shift]
        for line in self._lines:
            self._bytes.append(self._bytes[-1] + len(line.encode()))
            self._units.append(self._units[-1] + units(line))

    def edits(self, edits: Iterable[Edit]) -> list[tuple[int, int, str]]:
        """Edits of the file as edits of its text: from, to, and what stands there then."""
        return [
            (0, self._shift, "")
            if edit == NO_MARK
            else (
                self._unit(edit.start),
                self._unit(edit.end),
                edit.replacement.decode("utf-8", "replace"),
            )
            for edit in edits
        ]

    def column(self, line: int, column: int) -> int:
        """How many units of a line are before a column; both are counted from 1."""
        if not 0 < line <= len(self._lines):
            return 0
        return units(self._lines[line - 1][: max(0, column - 1)])

    def _unit(self, offset: int) -> int:
        at = min(bisect_right(self._bytes, offset), len(self._lines)) - 1
        rest = self._lines[at].encode()[: offset - self._bytes[at]]
        return self._units[at] + units(rest.decode("utf-8", "replace"))


def units(text: str) -> int:
    """How many UTF-16 units a text has.

    >>> units("𝄞x")
    3
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
