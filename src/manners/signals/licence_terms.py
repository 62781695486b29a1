"""What the licences for a page allow, by RSL's rules of evaluation (sections 3.1.1 and 3.3 to 3.6).

Narrower scope beats broader: path, then class of usage. What is permitted and prohibited in one
scope is not licensed. A list of permits is closed: what it does not name is refused. Where a
narrower scope is silent about a use, the broader one decides. Nothing is ever widened in doubt.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from manners.signals.claims import Citation, Purpose, Value
from manners.signals.licence_document import Licence, LicensedContent, UsageList

CLASSES: Mapping[Purpose, tuple[str, ...]] = {
    "search": ("search", "all"),
    "ai-train": ("ai-train", "ai-all", "all"),
    "ai-input": ("ai-input", "ai-all", "all"),
    "ai-index": ("ai-index", "ai-all", "all"),
    "tdm": ("all",),
}
"""The classes of usage that a purpose belongs to, the narrowest first."""
_OPEN = 9
"""The width of a permission that no list gives: wider than any class."""


class ScopedContent(NamedTuple):
    """Content that a page belongs to, and how narrow its pattern is."""

    length: int
    content: LicensedContent
    citation: Citation
    """The document, and what announces it."""


class LicenceAnswer(NamedTuple):
    """What the licences say to one purpose.

    >>> document = Citation("licence", "https://example.com/license.xml", "")
    >>> LicenceAnswer("no", document, ("payment: training, 5 USD",)).value
    'no'
    """

    value: Value
    citation: Citation
    conditions: tuple[str, ...] = ()
    implied: bool = False


class _Offer(NamedTuple):
    """A licence that grants a use."""

    width: int
    needs: tuple[str, ...]
    owes: tuple[str, ...]
    is_limited: bool
    scope: ScopedContent
    term: UsageList


def decide(scopes: Iterable[ScopedContent], purpose: Purpose) -> LicenceAnswer | None:
    """What is said to one purpose; None where nothing is.

    >>> licence = Licence(prohibits=UsageList(frozenset(["ai-all"])))
    >>> document = Citation("licence", "https://example.com/license.xml", "")
    >>> scope = ScopedContent(1, LicensedContent("/", "", False, (licence,)), document)
    >>> decide([scope], "ai-train").value, decide([scope], "search").value
    ('no', 'yes')
    """
    by_length: dict[int, list[ScopedContent]] = {}
    for scope in scopes:
        by_length.setdefault(scope.length, []).append(scope)
    silent: list[ScopedContent] = []
    for length in sorted(by_length, reverse=True):
        answer = _in_scope(by_length[length], purpose)
        if answer is not None:
            return answer
        silent += by_length[length]
    return _unmentioned(silent, purpose)


def _in_scope(scopes: list[ScopedContent], purpose: Purpose) -> LicenceAnswer | None:
    """The answer of everything with patterns of one length; None where all are silent."""
    classes = CLASSES[purpose]
    pairs = [(scope, licence) for scope in scopes for licence in scope.content.licences]
    for scope, licence in pairs:
        width = _width(classes, licence.prohibits.words)
        if width is not None:
            return _answer("no", scope, licence.prohibits, implied=width > 0)
    lists = [(scope, licence, licence.permits) for scope, licence in pairs if licence.permits]
    offers = [
        _offer(scope, licence, width, permits)
        for scope, licence, permits in lists
        if (width := _width(classes, permits.words)) is not None
    ]
    if offers and purpose == "tdm" and any(licence.prohibits.words for _, licence in pairs):
        return None  # all uses but some: neither all of mining nor none
    if offers:
        return _best(offers)
    if lists:
        scope, _, permits = lists[0]
        return _answer("no", scope, permits, implied=True)
    return None


def _width(classes: tuple[str, ...], words: frozenset[str]) -> int | None:
    """How wide the narrowest class is that a list names; None where it names none."""
    return next((width for width, name in enumerate(classes) if name in words), None)


def _unmentioned(scopes: list[ScopedContent], purpose: Purpose) -> LicenceAnswer | None:
    """No licence names the use: what is not prohibited is licensed. Mining at large is more than
    any licence leaves open by silence."""
    if purpose == "tdm" or not scopes:
        return None
    narrowest = scopes[0].length
    return _best(
        [
            _offer(scope, licence, _OPEN, licence.prohibits)
            for scope in scopes
            if scope.length == narrowest
            for licence in scope.content.licences
        ]
    )


def _offer(scope: ScopedContent, licence: Licence, width: int, term: UsageList) -> _Offer:
    needs = licence.needs
    if scope.content.server or scope.content.is_encrypted:
        needs = (f"token from {scope.content.server or 'an unnamed server'}", *needs)
    return _Offer(width, needs, licence.owes, licence.is_limited, scope, term)


def _best(offers: list[_Offer]) -> LicenceAnswer:
    """Of several offers: those for everybody, of these the narrowest, of these the easiest."""
    best = min(offers, key=lambda offer: (offer.is_limited, offer.width, len(offer.needs)))
    answer = _answer("no" if best.needs else "yes", best.scope, best.term, implied=best.width > 0)
    return answer._replace(conditions=(*best.needs, *best.owes))


def _answer(value: Value, scope: ScopedContent, term: UsageList, *, implied: bool) -> LicenceAnswer:
    text = term.text or "<license>"
    citation = scope.citation._replace(text=text, line=term.line, path=scope.content.url)
    return LicenceAnswer(value, citation, implied=implied)
