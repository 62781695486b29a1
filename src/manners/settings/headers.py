"""Headers that the user adds to requests for pages, written as lines: `Name: value`."""

import re
from collections.abc import Iterable

from manners._secrets import HIDDEN
from manners._text import header_problem

_RESERVED = {
    *("accept-encoding", "connection", "content-length", "expect", "host", "te", "trailer"),
    *("transfer-encoding", "upgrade"),
}
"""Headers that nobody can set: verdict, connection and decompression depend on them."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


def parse_headers(lines: Iterable[str]) -> dict[str, str]:
    """Headers by name; ValueError where a line is none. No message has a value: it may be secret.

    >>> parse_headers(["Accept-Language: de", "X-Key: 1"])
    {'Accept-Language': 'de', 'X-Key': '1'}
    """
    headers: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN(name):
            raise ValueError(f"header {number} is not written as 'Name: value'")
        if name.lower() == "user-agent":
            raise ValueError(f"{name} is a setting of its own: --user-agent")
        if name.lower() in _RESERVED:
            raise ValueError(f"{name} cannot be set")
        value = value.strip(" ")
        if problem := header_problem(value):
            raise ValueError(f"{name} {problem}")
        if not value.isascii():
            raise ValueError(f"{name} has a character that is not ASCII")
        for known in [known for known in headers if known.lower() == name.lower()]:
            del headers[known]  # the last one counts
        headers[name] = value
    return headers


def hidden_header(line: str) -> str:
    """A header without its value, so that it may be shown.

    >>> hidden_header("Authorization: Bearer secret")
    'Authorization: ***'
    """
    name, colon, _ = line.partition(":")
    return f"{name}: {HIDDEN}" if colon else HIDDEN
