"""Traps: URLs that a site generates without end. Quiet.

An endless calendar, a link that appends to its own path, filters in any order: each is a reason of
its own, and each limit a setting.
"""

import hashlib
import re
from collections import Counter
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Self

from manners.urls import match_path

if TYPE_CHECKING:
    from manners.settings import Settings


class Trap(StrEnum):
    """Why a URL looks like a trap.

    >>> print(Trap.REPEATED_SEGMENT)
    repeated-segment
    """

    REPEATED_SEGMENT = "repeated-segment"
    """The same segment again and again: /a/b/a/b/a/b."""
    TOO_LONG = "too-long"
    TOO_DEEP = "too-deep"
    """More segments than people write."""
    TOO_MANY_ALIKE = "too-many-alike"
    """Too many URLs of one form on a host: /calendar/2024/01, /calendar/2024/02, …"""


_NUMBER = re.compile(r"(%[0-9A-Fa-f]{2})|[0-9]+")
_ZERO = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])0").search  # not that of an escape
_LIKE_HEX = re.compile(r"[0-9A-Fa-f-]{16}").search
_WORD = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])[0-9A-Za-z-]{16,}+")
_IS_HEX = re.compile(r"[0-9A-Fa-f]*+").fullmatch


class Traps:
    """Finds traps by what a URL looks like; how many are alike, the frontier counts.

    >>> Traps().look("https://example.com/a/b/a/b/a")
    <Trap.REPEATED_SEGMENT: 'repeated-segment'>
    """

    def __init__(self, *, repeats: int = 3, length: int = 2_000, segments: int = 20) -> None:
        self._repeats, self._length, self._segments = repeats, length, segments

    @classmethod
    def by(cls, settings: "Settings") -> Self:
        """With the limits of settings."""
        return cls(
            repeats=settings.trap_repeats,
            length=settings.trap_length,
            segments=settings.trap_segments,
        )

    def look(self, url: str) -> Trap | None:
        """Why a URL looks like a trap, or None."""
        if len(url.encode("utf-8", "surrogatepass")) > self._length:
            return Trap.TOO_LONG
        path = match_path(url)
        parts = [part for part in path.partition("?")[0].split("/") if part]
        if len(parts) > self._segments:
            return Trap.TOO_DEEP
        # Most paths have no segment twice, and seeing that is quicker than counting.
        may_repeat = self._repeats < 2 or len(set(parts)) < len(parts)
        if parts and may_repeat and max(Counter(parts).values()) >= self._repeats:
            return Trap.REPEATED_SEGMENT
        return None


def form_of(url: str) -> int | None:
    """What URLs that are alike have in common, as a number; None where no other can be alike.

    >>> form_of("https://example.com/2024/01") == form_of("https://example.com/2025/12")
    True
    >>> form_of("https://example.com/about") is None
    True
    """
    path = match_path(url)
    form = template(path)
    if "?" not in form and not _ZERO(form):
        return None
    digest = hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def template(path: str) -> str:
    """The form of a path and query, without numbers and the values of parameters.

    >>> template("/calendar/2024/01?view=day&page=3")
    '/calendar/0/0?page&view'
    """
    path, _, query = path.partition("?")
    form = _WORD.sub(_without_hex, path) if _LIKE_HEX(path) else path
    # An escape is a letter of some other script, not a number.
    form = _NUMBER.sub(lambda found: found[1] or "0", form)
    names = sorted({part.partition("=")[0] for part in query.split("&") if part})
    return f"{form}?{'&'.join(names)}" if names else form


def _without_hex(found: "re.Match[str]") -> str:
    """A word without the long hexadecimal numbers in it, with or without hyphens: item-0."""
    kept: list[str] = []
    for is_hex, parts in groupby(found[0].split("-"), key=lambda part: bool(_IS_HEX(part))):
        part = "-".join(parts)
        is_number = is_hex and len(part) >= 16 and any(map(str.isdigit, part))
        kept.append("0" if is_number else part)
    return "-".join(kept)


def limit_of(trap: Trap, settings: "Settings") -> str:
    """The setting that decides, with its value.

    >>> from manners import Settings
    >>> limit_of(Trap.TOO_DEEP, Settings())
    'trap_segments = 20'
    """
    name = {
        Trap.REPEATED_SEGMENT: "trap_repeats",
        Trap.TOO_LONG: "trap_length",
        Trap.TOO_DEEP: "trap_segments",
        Trap.TOO_MANY_ALIKE: "trap_alike",
    }[trap]
    return f"{name} = {getattr(settings, name)}"
