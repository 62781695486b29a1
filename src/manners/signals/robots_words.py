"""The words of robots meta and X-Robots-Tag: how a list is read, and what each word means.

Every word that counts is a refusal; `all`, `index` and `follow` name the default and grant nothing.
A few words mean more to an operator who documents it, and only to that operator's crawlers.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from manners.signals.claims import Confidence, Edition, Purpose
from manners.signals.tokens import OPERATORS

EDITIONS = (Edition("Google and Bing, 2026-11", "2026-11-16"),)
"""No standard has these words: the operators' pages, as last compared."""


class RobotsWord(NamedTuple):
    """What a word refuses.

    >>> WORDS["noindex"].refuses, WORDS["nosnippet"].at["Google"]
    (('search',), ('ai-input',))
    """

    refuses: tuple[Purpose, ...] = ()
    at: dict[str, tuple[Purpose, ...]] = {}  # noqa: RUF012  # never changed
    """What it also refuses to the crawlers of an operator who documents it."""
    confidence: Confidence = "high"
    images: bool = False
    """Whether it speaks of images only."""


WORDS: dict[str, RobotsWord] = {
    "noindex": RobotsWord(("search",)),
    "nofollow": RobotsWord(("follow",)),
    "none": RobotsWord(("search", "follow")),
    # Google: not used "as a direct input for AI Overviews and AI Mode".
    "nosnippet": RobotsWord(("snippet",), {"Google": ("ai-input",)}),
    # Bing: content is left out of chat answers and of training.
    "noarchive": RobotsWord(("archive",), {"Bing": ("ai-input", "ai-train")}),
    # Bing: URL, title and snippet stay usable in answers and training; a limit, no refusal.
    "nocache": RobotsWord(),
    "noimageindex": RobotsWord((), {"Google": ("search",)}, images=True),
    "noai": RobotsWord(("ai-train",), confidence="low"),  # DeviantArt, November 2022
    "noimageai": RobotsWord(("ai-train",), confidence="low", images=True),
    "noml": RobotsWord(("ai-train",), confidence="low"),  # noml.info
    # Limits, and words about other things.
    **dict.fromkeys(("notranslate", "indexifembedded", "nositelinkssearchbox"), RobotsWord()),
    **dict.fromkeys(("all", "index", "follow", "archive", "snippet"), RobotsWord()),
    **dict.fromkeys(("disallowaitraining", "allowaitraining"), RobotsWord()),  # a reader of its own
}
_WITH_VALUES = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


class WrittenWord(NamedTuple):
    """A word of a list, and its value if it has one."""

    word: str
    value: str = ""
    is_repaired: bool = False
    """Whether the comma before it was missing."""


class Refusal(NamedTuple):
    """A purpose that a word refuses."""

    purpose: Purpose
    word: str
    confidence: Confidence


_AGENT = re.compile(r"\s*([A-Za-z0-9_.-]+|\*)\s*:(?!//)(.*)", re.DOTALL).fullmatch
_WEEKDAY = re.compile(r"\s*(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\s*\Z")
_EVERYBODY = ("*", "robots")


def tagged(value: str, tokens: Iterable[str]) -> list[WrittenWord]:
    """The words of one X-Robots-Tag header that are for an agent, by its tokens in lower case.

    A name holds up to the end of the header, or up to the next name.

    >>> tagged("RudeBot: noindex, nofollow, googlebot: nofollow", ["googlebot"])
    [WrittenWord(word='nofollow', value='', is_repaired=False)]
    """
    own = {*tokens, *_EVERYBODY}
    kept: list[str] = []
    is_meant = True
    for part in _parts(value):
        named = _AGENT(part)
        if named is not None and named[1] not in _WITH_VALUES:
            is_meant, part = named[1] in own, named[2]
        if is_meant:
            kept.append(part)
    return [word for part in kept for word in _words(part)]


def listed(content: str) -> list[WrittenWord]:
    """The words of a meta element.

    >>> [word.word for word in listed("NOINDEX, max-snippet:0")]
    ['noindex', 'max-snippet']
    """
    return [word for part in _parts(content) for word in _words(part)]


def _parts(value: str) -> Iterator[str]:
    """The parts between commas; the comma behind a weekday belongs to a date."""
    day = ""
    for part in value.lower().split(","):
        if day:
            yield f"{day},{part}"
            day = ""
        elif "unavailable_after" in part and _WEEKDAY.match(part.rpartition(":")[2]):
            day = part
        else:
            yield part
    if day:
        yield day


def _words(part: str) -> Iterator[WrittenWord]:
    name, colon, value = (text.strip() for text in part.partition(":"))
    if colon or not name:
        if name:
            yield WrittenWord(name, value)
        return
    several = name.split()
    if len(several) > 1 and all(word in WORDS for word in several):
        yield from (WrittenWord(word, is_repaired=True) for word in several)
    else:
        yield WrittenWord(name)


def refusals(
    words: Iterable[WrittenWord],
    tokens: Iterable[str],
    *,
    is_image: bool,
    also: Iterable[str] = (),
    now: datetime | None = None,
) -> Iterator[Refusal]:
    """What the words of one place refuse to an agent.

    `also` are words from other places: at Bing, `nocache` anywhere takes noarchive's meaning back.

    >>> [found.purpose for found in refusals(listed("none"), ["mybot"], is_image=False)]
    ['search', 'follow']
    """
    words = list(words)
    present = {*also, *(written.word for written in words)}
    operators = [name for name, names in OPERATORS.items() if not names.isdisjoint(tokens)]
    for written in words:
        word = written.word
        if word == "max-snippet" and written.value == "0":
            word = "nosnippet"
        if word == "unavailable_after":
            date = date_of(written.value)
            if date is not None and now is not None and date < now:
                yield Refusal("search", word, "high")
            continue
        known = WORDS.get(word)
        if known is None or (known.images and not is_image):
            continue
        purposes = [*known.refuses]
        for operator in operators:
            if (operator, word) != ("Bing", "noarchive") or "nocache" not in present:
                purposes += known.at.get(operator, ())
        confidence: Confidence = "low" if written.is_repaired else known.confidence
        yield from (Refusal(purpose, written.word, confidence) for purpose in purposes)


def is_known(written: WrittenWord) -> bool:
    """Whether a word has a meaning, in the form it has.

    >>> is_known(WrittenWord("max-snippet", "many")), is_known(WrittenWord("nosearch"))
    (False, False)
    """
    if written.word == "unavailable_after":
        return date_of(written.value) is not None
    if written.word in ("max-snippet", "max-video-preview"):
        return re.fullmatch(r"-?[0-9]{1,9}", written.value) is not None
    return written.word in WORDS or written.word in _WITH_VALUES


_ZONES = {"gmt": 0, "utc": 0, "ut": 0, "z": 0, "bst": 60, "cet": 60, "cest": 120}
_ZONES |= {"est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360}
_ZONES |= {"pst": -480, "pdt": -420}
_ZONE = re.compile(r"\s([a-z]{1,4})\Z").search


def date_of(text: str) -> datetime | None:
    """A date as RFC 822, RFC 850 or ISO 8601 have it; None for anything else.

    >>> date_of("25 jun 2010 15:00:00 pst").isoformat()
    '2010-06-25T15:00:00-08:00'
    >>> date_of("2030-09-21").isoformat(), date_of("soon")
    ('2030-09-21T00:00:00+00:00', None)
    """
    text = text[:_MAX_DATE].strip().lower()
    zone = _ZONE(text)
    if zone and zone[1] in _ZONES:  # which zone names are known differs between versions
        minutes = _ZONES[zone[1]]
        sign = "-" if minutes < 0 else "+"
        text = f"{text[: zone.start()]} {sign}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
    for parse in (_iso, parsedate_to_datetime):
        try:
            date = parse(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        try:
            return date if date.tzinfo else date.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text.upper())


_MAX_DATE = 100
