"""Which paths there are: what a dialect compares with its patterns, as a small automaton.

A dialect normalises a path before it compares it, so each path stands for those that are normalised
to it. Comparisons are about normalised, *canonical*, paths only: a verdict on any other is the
verdict on its canonical one, which is never longer. So a path that is found is a real URL's.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass

from manners.robots import patterns
from manners.robots.dialects import Dialect

START, PLAIN, PERCENT = 0, 1, 2
"""Before the first byte; between escapes; behind `%`. The states behind `%` and a digit follow."""
_DIGIT = 3

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_RESERVED = frozenset("/:?[]@!&'()+,;=")  # `#` begins the fragment, which is not sent
_OPERATORS = frozenset("*$")
_UPPER, _LOWER = "0123456789ABCDEF", "abcdef"
_PLEASANT = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~/=&?+:@!,;()'[]*$"
"""Bytes of paths, those first that people like to read."""


@dataclass(frozen=True)
class PathSpace:
    """The canonical paths of a dialect, or those that two dialects read alike."""

    plain: frozenset[str]
    """The bytes that stand for themselves."""
    digits: str
    """The hexadecimal digits of escapes."""
    never_escaped: frozenset[str]
    """The characters whose escapes are decoded, and so do not occur."""

    def step(self, state: int, byte: str) -> int:
        """The state after one more byte; -1 if no path continues like this."""
        if state == PLAIN:
            if byte == "%":
                return PERCENT
            return PLAIN if byte in self.plain else -1
        if state == START:
            return PLAIN if byte == "/" else -1
        if byte not in self.digits:
            return -1
        value = int(byte, 16)
        if state == PERCENT:
            return _DIGIT + value
        return -1 if chr((state - _DIGIT) * 16 + value) in self.never_escaped else PLAIN

    def contains(self, path: str) -> bool:
        """Whether this is a canonical path."""
        state = START
        for byte in path:
            state = self.step(state, byte)
            if state < 0:
                return False
        return state == PLAIN

    def another(self, state: int, taken: Container[str]) -> str | None:
        """A byte that is not taken, and as pleasant as possible.

        If all plain bytes are taken, it is the beginning of an escape.
        """
        if state == START:
            return None if "/" in taken else "/"
        for byte in _PLEASANT if state == PLAIN else self.digits:
            if byte not in taken and self.step(state, byte) >= 0:
                return byte
        return "%" if state == PLAIN and "%" not in taken else None

    def __and__(self, other: "PathSpace") -> "PathSpace":
        digits = "".join(digit for digit in self.digits if digit in other.digits)
        return PathSpace(self.plain & other.plain, digits, self.never_escaped | other.never_escaped)


_URI = PathSpace(_UNRESERVED | _RESERVED | _OPERATORS, _UPPER + _LOWER, frozenset())
_SPACES: dict[Callable[[str], str], PathSpace] = {
    # RFC 9309 section 2.2.2: unreserved characters are decoded, and `*` and `$` are escaped.
    patterns.rfc_path: PathSpace(_UNRESERVED | _RESERVED, _UPPER, _UNRESERVED),
    patterns.literal_path: PathSpace(
        _UNRESERVED | _RESERVED | _OPERATORS, _UPPER, _UNRESERVED | _OPERATORS
    ),
    # Nothing is changed in a URL that is one by RFC 3986.
    patterns.raw_path: _URI,
    patterns.escaped_path: _URI,
    # Escapes are upper-cased; `Automata.without_query` cuts off the query.
    patterns.scanner_path: PathSpace(_UNRESERVED | _RESERVED | _OPERATORS, _UPPER, frozenset()),
}


def space_of(dialect: Dialect) -> PathSpace | None:
    """The canonical paths of a dialect; None for one that normalises in a way of its own.

    >>> from manners.robots.dialects import get
    >>> space_of(get("rfc9309")).contains("/%7Ejoe"), space_of(get("google")).contains("/%7Ejoe")
    (False, True)
    """
    return _SPACES.get(dialect.normalise_path)


def cuts_query(dialect: Dialect) -> bool:
    """Whether a dialect compares paths without their queries."""
    return dialect.normalise_path is patterns.scanner_path
