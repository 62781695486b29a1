"""Structured fields (RFC 9651): dictionaries and lists, as far as signals need them.

`http-sf` reads all of it, and takes ten times as long to import as this package; the tests compare
the two. As there, one error anywhere makes the whole field unreadable.
"""

import binascii
import re
from typing import Literal, NamedTuple

Kind = Literal["token", "string", "number", "boolean", "bytes", "date", "display", "list"]


class FieldItem(NamedTuple):
    """A value of a structured field, and its parameters.

    >>> read_dictionary("train-ai=n;why=\\"x\\"")["train-ai"].parameters["why"].kind
    'string'
    """

    kind: Kind
    text: str
    """As written, without the delimiters of its kind."""
    parameters: "dict[str, FieldItem]" = {}  # noqa: RUF012  # never changed


def read_dictionary(text: str) -> dict[str, FieldItem] | None:
    """The members of a Dictionary (section 4.2.2), the last of each key; None for a malformed one.

    >>> {key: item.text for key, item in read_dictionary("train-ai=n, search, train-ai=y").items()}
    {'train-ai': 'y', 'search': '1'}
    >>> read_dictionary("Train-AI=n") is None
    True
    """
    members: dict[str, FieldItem] = {}
    scanner = _Scanner(text.strip(" "))
    try:
        while not scanner.is_over:
            key = scanner.key()
            members[key] = scanner.value_or_list() if scanner.take("=") else scanner.flag()
            scanner.next_member()
    except _Malformed:
        return None
    return members


def read_list(text: str) -> list[FieldItem] | None:
    """The members of a List (section 4.2.1); None for a malformed one.

    >>> [(item.text, *item.parameters) for item in read_list("*;nosnippet, FriendBot;noindex")]
    [('*', 'nosnippet'), ('FriendBot', 'noindex')]
    """
    members: list[FieldItem] = []
    scanner = _Scanner(text.strip(" "))
    try:
        while not scanner.is_over:
            members.append(scanner.value_or_list())
            scanner.next_member()
    except _Malformed:
        return None
    return members


class _Malformed(Exception):
    """The field cannot be read."""


_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*+")
_BARE: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("token", re.compile(r"([A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*+)")),
    ("string", re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')),
    ("number", re.compile(r"(-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15}))(?![0-9.])")),
    ("boolean", re.compile(r"\?([01])")),
    ("bytes", re.compile(r":([A-Za-z0-9+/=]*+):")),
    ("date", re.compile(r"@(-?[0-9]{1,15})(?![0-9.])")),
    ("display", re.compile(r'%"((?:[ !#$&-~]|%[0-9a-f]{2})*)"')),
)
_SPACES = re.compile(" *+")
_OPTIONAL_SPACE = re.compile(r"[ \t]*+")
_TRUE = FieldItem("boolean", "1")


class _Scanner:
    """Where reading has come to in a field."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._text)

    def take(self, character: str) -> bool:
        """Whether this character is next; then it is read."""
        found = self._text.startswith(character, self._at)
        self._at += found
        return found

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _Malformed
        self._at = found.end()
        return found[0]

    def key(self) -> str:
        return self._skip(_KEY)

    def next_member(self) -> None:
        """Go behind the comma; there must be a member behind it."""
        self._skip(_OPTIONAL_SPACE)
        if self.is_over:
            return
        if not self.take(","):
            raise _Malformed
        self._skip(_OPTIONAL_SPACE)
        if self.is_over:
            raise _Malformed

    def flag(self) -> FieldItem:
        """A key without a value is true."""
        return _TRUE._replace(parameters=self._parameters())

    def value_or_list(self) -> FieldItem:
        start = self._at
        if not self.take("("):
            return self._value()._replace(parameters=self._parameters())
        self._skip(_SPACES)
        while not self.take(")"):
            self._value()
            self._parameters()
            if not self._skip(_SPACES) and not self._text.startswith(")", self._at):
                raise _Malformed
        written = self._text[start + 1 : self._at - 1]
        return FieldItem("list", written, self._parameters())

    def _parameters(self) -> dict[str, FieldItem]:
        parameters: dict[str, FieldItem] = {}
        while self.take(";"):
            self._skip(_SPACES)
            key = self.key()
            parameters[key] = self._value() if self.take("=") else _TRUE
        return parameters

    def _value(self) -> FieldItem:
        for kind, pattern in _BARE:
            found = pattern.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
                if not _is_valid(kind, found[1]):
                    raise _Malformed
                return FieldItem(kind, found[1])
        raise _Malformed


def _is_valid(kind: Kind, text: str) -> bool:
    """What a pattern cannot see: base64 that decodes, and escapes that are UTF-8."""
    try:
        if kind == "bytes":
            binascii.a2b_base64(text + "=" * (-len(text.rstrip("=")) % 4))
        elif kind == "display":
            re.sub(rb"%(..)", lambda e: bytes.fromhex(e[1].decode()), text.encode()).decode()
    except ValueError:
        return False
    return True
