"""HTML, as far as signals stand in it: meta and link elements, and scripts with a licence.

Tags are found one after the other and no tree is built, so that no page takes long. What stands in
comments, templates and other scripts is no part of the page.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from manners._text import possessive

MAX_HTML = 1_048_576
"""Characters of a page that are read."""
MAX_ELEMENTS = 1_000
"""Elements that may carry a signal, of one page."""
_MAX_ATTRIBUTES = 50

LICENCE_TYPE = "application/rsl+xml"


class PageElement(NamedTuple):
    """A meta or link element, or a script with a licence.

    >>> next(elements('<META name="robots" content="noai">')).attributes
    {'name': 'robots', 'content': 'noai'}
    """

    name: str
    attributes: dict[str, str]
    """By names in lower case, the first of each."""
    is_in_head: bool = True
    content: str = ""
    """What a script contains."""
    text: str = ""
    """As written."""


# HTML section 13.2.5, as far as it says where a tag begins and ends. Nothing is tried twice.
_TAG = re.compile(r"<(?:(!--)|(/?[A-Za-z][^\t\n\f\r />]*+)|[!?/])")
_ATTRIBUTE = re.compile(
    r"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    + possessive(
        r"[\t\n\f\r ]*+=[\t\n\f\r ]*+"
        r"(?:\"([^\"]*+)(?:\"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >\"'][^\t\n\f\r >]*+)|(?=>))",
        "?",
    )
)
_COMMENT_END = re.compile(r"--!?>")
_TEXTS = ("script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes")
_TEXT_END = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in _TEXTS}
_IN_HEAD = frozenset(
    ("html", "head", "base", "link", "meta", "noscript", "script", "style", "template", "title")
)
_FOREIGN = ("svg", "math")
_READ = "|".join(sorted({*_IN_HEAD, *_TEXTS, *_FOREIGN, "plaintext"}))
_PLAIN = re.compile(
    # Text, and tags of other elements as they usually are, at the speed of the regular expression.
    possessive(
        rf"[^<]++|</?(?!(?:{_READ})[\t\n\f\r />])[a-z][a-z0-9-]*+"
        + possessive(r""" [a-z-]++=(?:"[^"]*+"|'[^']*+')""", "*")
        + ">",
        "*",
    ),
    re.ASCII | re.IGNORECASE,
)


def elements(html: str) -> Iterator[PageElement]:
    """Every element of a page that may carry a signal, in order."""
    html = html[:MAX_HTML]
    is_in_head, templates, foreign, count, at = True, 0, 0, 0, 0
    while count < MAX_ELEMENTS:
        start, at = at, _end_of_plain(html, at)
        if is_in_head and html.find("<", start, at) >= 0:
            is_in_head = False
        tag = _TAG.search(html, at)
        if tag is None or (tag[2] or "").lower() == "plaintext":
            return
        at = tag.end()
        name = (tag[2] or "").lower()
        if not name:
            at = _end_of_comment(html, at) if tag[1] else html.find(">", at) + 1 or len(html)
            continue
        attributes, at = _attributes(html, at)
        bare, is_empty = name.removeprefix("/"), html.endswith("/>", 0, at)
        step = -1 if name[0] == "/" else 1
        if bare == "template":
            templates = max(templates + step, 0)
        elif bare in _FOREIGN and not is_empty:
            foreign = max(foreign + step, 0)
        if bare not in _IN_HEAD or name == "/head":
            is_in_head = False
        content = ""
        if name in _TEXT_END and not (foreign and is_empty):  # in SVG, that is an element without
            end = _TEXT_END[name].search(html, at)
            content, at = html[at : end.start()] if end else "", end.start() if end else len(html)
        if not templates and _may_carry(name, attributes):
            count += 1
            written = html[tag.start() : at][:_MAX_WRITTEN]
            yield PageElement(name, attributes, is_in_head, content, written)


_MAX_WRITTEN = 500


def _end_of_plain(html: str, at: int) -> int:
    found = _PLAIN.match(html, at)
    return found.end() if found else at


def _may_carry(name: str, attributes: dict[str, str]) -> bool:
    if name == "meta":
        return "name" in attributes and "content" in attributes
    if name == "link":
        return "license" in attributes.get("rel", "").lower().split()
    return name == "script" and media_type(attributes.get("type", "")) == LICENCE_TYPE


def media_type(text: str) -> str:
    """A media type without its parameters, in lower case.

    >>> media_type(" Application/RSL+xml; charset=utf-8")
    'application/rsl+xml'
    """
    return text.partition(";")[0].strip().lower()


def _end_of_comment(html: str, at: int) -> int:
    if html.startswith((">", "->"), at):  # "abrupt closing of an empty comment"
        return html.index(">", at) + 1
    end = _COMMENT_END.search(html, at)
    return end.end() if end else len(html)


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, and where it ends."""
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE.match(html, at):
        at = found.end()
        name = found[1].lower()
        if name not in attributes and len(attributes) < _MAX_ATTRIBUTES:
            attributes[name] = unescape(found[2] or found[3] or found[4] or "")
    return attributes, html.find(">", at) + 1 or len(html)
