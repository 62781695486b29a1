"""RSL documents (rslstandard.org): XML read with limits into contents, licences and terms.

A document type declaration is refused, so there are no entities; depth, size and the number of
elements are limited. An unknown element of RSL's own namespace makes a document non-conformant
(section 3), elements of other namespaces are ignored.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from manners._text import cut, to_bytes

NAMESPACE = "https://rslstandard.org/rsl"
MAX_DOCUMENT = 1_048_576
"""Bytes of a document; a longer one is not read, since a part of it says something else."""
_MAX_DEPTH = 32
_MAX_ELEMENTS = 20_000
_MAX_VALUE = 1_000

_PARENTS = {
    "rsl": (),
    "content": ("rsl",),
    "license": ("content",),
    "permits": ("license",),
    "prohibits": ("license",),
    "payment": ("license",),
    "reporting": ("license",),
    "legal": ("license",),
    "standard": ("payment",),
    "custom": ("payment",),
    "amount": ("payment",),
    "accepts": ("payment",),
    "alternate": ("content",),
    "schema": ("content",),
    "copyright": ("content",),
    "terms": ("content",),
}
"""Every element of RSL 1.0, and where it may stand."""


@dataclass(slots=True)
class LicenceElement:
    """One element of RSL's namespace."""

    name: str
    attributes: dict[str, str]
    line: int = 0
    children: "list[LicenceElement]" = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> "list[LicenceElement]":
        """The children of this name."""
        return [child for child in self.children if child.name == name]


class UsageList(NamedTuple):
    """What a `permits` or `prohibits` element lists, and the element as written.

    >>> "search" in UsageList(frozenset(["search"])).words
    True
    """

    words: frozenset[str] = frozenset()
    text: str = ""
    line: int = 0


class Licence(NamedTuple):
    """The terms of one `license` element.

    >>> Licence().permits is None
    True
    """

    permits: UsageList | None = None
    """None where there is no list, which is not the same as an empty one."""
    prohibits: UsageList = UsageList()
    needs: tuple[str, ...] = ()
    """What has to be had or done before: a payment, a report, a class of user, a country."""
    owes: tuple[str, ...] = ()
    """What is asked in return, and hinders nobody: attribution, a contribution."""
    is_limited: bool = False
    """Whether it is for some users or countries only."""


class LicensedContent(NamedTuple):
    """One `content` element: a pattern, and the licences for what it matches."""

    url: str
    server: str
    is_encrypted: bool
    licences: tuple[Licence, ...]


class NotConformant(ValueError):
    """A document that cannot be read as RSL; its text says why."""


def read_licence(document: bytes | str) -> tuple[LicensedContent, ...]:
    """The contents of a document; raises NotConformant for anything else.

    >>> [content] = read_licence('<rsl xmlns="https://rslstandard.org/rsl"><content url="/">'
    ...     '<license><prohibits type="usage">ai-all</prohibits></license></content></rsl>')
    >>> content.url, sorted(content.licences[0].prohibits.words)
    ('/', ['ai-all'])
    """
    root = _Builder().build(document)
    contents = root.all("content")
    if not contents:
        raise NotConformant("no <content>")
    return tuple(map(_content, contents))


def max_age(document: bytes | str) -> int | None:
    """For how many days a document may be kept, where it says so.

    >>> max_age('<rsl xmlns="https://rslstandard.org/rsl" max-age="7"/>')
    7
    """
    try:
        days = _Builder().build(document).attributes.get("max-age", "").strip()
    except NotConformant:
        return None
    return int(days) if _DAYS(days) else None


_DAYS = re.compile(r"[1-9][0-9]{0,8}").fullmatch


class _Builder:
    """Builds elements from expat's callbacks."""

    def __init__(self) -> None:
        self._root: LicenceElement | None = None
        self._open: list[LicenceElement | None] = []  # None: an element of another namespace
        self._count = 0
        self._xml: expat.XMLParserType | None = None

    def build(self, document: bytes | str) -> LicenceElement:
        """The root of a document."""
        data = to_bytes(document) if isinstance(document, str) else document
        if len(data) > MAX_DOCUMENT:
            raise NotConformant(f"longer than {MAX_DOCUMENT:,} bytes")
        encoding = "utf-8" if isinstance(document, str) else None
        xml = expat.ParserCreate(encoding, namespace_separator=" ")
        xml.buffer_text = True
        self._xml = xml
        xml.StartDoctypeDeclHandler = self._refuse
        xml.StartElementHandler, xml.EndElementHandler = self._start, self._end
        xml.CharacterDataHandler = self._characters
        try:
            xml.Parse(data.lstrip(), True)
        except (expat.ExpatError, LookupError, UnicodeError) as error:
            raise NotConformant(f"not well-formed XML: {cut(str(error), 100)}") from None
        except ValueError as error:
            if isinstance(error, NotConformant):
                raise
            raise NotConformant("an encoding that cannot be read") from None
        if self._root is None:
            raise NotConformant("no element of RSL")
        return self._root

    def _refuse(self, *_: object) -> None:
        raise NotConformant("a document type declaration, which is not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= _MAX_DEPTH or self._count > _MAX_ELEMENTS:
            raise NotConformant("too many elements, or too deeply nested")
        namespace, _, local = name.rpartition(" ")
        parent = self._open[-1] if self._open else None
        if not self._open and (namespace, local) != (NAMESPACE, "rsl"):
            raise NotConformant("the root is not <rsl> of RSL's namespace")
        if namespace != NAMESPACE:
            self._open.append(None)
            return
        if local not in _PARENTS:
            raise NotConformant(f"unknown element <{cut(local, 40)}>")
        element = LicenceElement(local, attributes, self._xml.CurrentLineNumber if self._xml else 0)
        if self._root is None:
            self._root = element
        elif parent is not None:
            if parent.name not in _PARENTS[local]:
                raise NotConformant(f"<{local}> in <{parent.name}>")
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _characters(self, text: str) -> None:
        element = self._open[-1] if self._open else None
        if element is not None and len(element.text) < _MAX_VALUE:
            element.text += text[:_MAX_VALUE]


def _content(element: LicenceElement) -> LicensedContent:
    attributes = element.attributes
    if "url" not in attributes:
        raise NotConformant("<content> without url")
    licences = element.all("license")
    if not licences:
        raise NotConformant("<content> without <license>")
    return LicensedContent(
        attributes["url"].strip(),
        cut(attributes.get("server", "").strip(), _MAX_VALUE),
        attributes.get("encrypted", "").strip().lower() == "true",
        tuple(map(_licence, licences)),
    )


def _licence(element: LicenceElement) -> Licence:
    permits: UsageList | None = None
    prohibits = UsageList()
    needs: list[str] = []
    owes: list[str] = []
    for child in element.all("permits") + element.all("prohibits"):
        kind, words = child.attributes.get("type", "").strip().lower(), _words(child.text)
        if not kind:
            raise NotConformant(f"<{child.name}> without type")
        if kind != "usage":
            negation = "not " if child.name == "prohibits" else ""
            needs.append(cut(f"{kind}: {negation}{' '.join(words)}", _MAX_VALUE))
            continue
        text = f'<{child.name} type="usage">{child.text.strip()}</{child.name}>'
        found = UsageList(frozenset(words), text, child.line)
        # At most one of each is allowed; of several, what is left when all of them hold.
        if child.name == "prohibits":
            prohibits = found._replace(words=found.words | prohibits.words)
        else:
            permits = (
                found if permits is None else found._replace(words=found.words & permits.words)
            )
    is_limited = bool(needs)
    for payment in element.all("payment"):
        (owes if _hinders_nobody(payment) else needs).extend(_payment(payment))
    for report in element.all("reporting"):
        profile = report.attributes.get("profile", "").strip()
        needs.append(cut(f"reporting: {profile}" if profile else "reporting", _MAX_VALUE))
    return Licence(permits, prohibits, tuple(needs), tuple(owes), is_limited)


def _words(text: str) -> list[str]:
    """A list; with spaces, and as RSL 0.9 had it with commas."""
    return [word.lower() for word in re.split(r"[\s,]+", text) if word]


def _hinders_nobody(payment: LicenceElement) -> bool:
    kind = payment.attributes.get("type", "").strip().lower()
    if kind:
        return kind in ("attribution", "contribution", "free")
    return not (payment.all("custom") or payment.all("amount") or payment.all("accepts"))


def _payment(payment: LicenceElement) -> list[str]:
    """The condition of a payment; none for a free one."""
    kind = payment.attributes.get("type", "").strip().lower()
    amounts = [
        f"{amount.text.strip()} {amount.attributes.get('currency', '').strip()}".strip()
        for amount in payment.all("amount")
    ]
    at = [custom.text.strip() for custom in payment.all("custom")]
    under = [standard.text.strip() for standard in payment.all("standard")]
    if kind in ("", "free") and _hinders_nobody(payment):
        return [cut(f"terms: {text}", _MAX_VALUE) for text in under]
    if kind in ("attribution", "contribution"):
        return [kind, *(cut(f"terms: {text}", _MAX_VALUE) for text in (*under, *at))]
    details = [*amounts, *(f"terms: {text}" for text in (*under, *at))]
    named = f"payment: {kind}" if kind else "payment"
    return [cut(", ".join([named, *details]), _MAX_VALUE)]
