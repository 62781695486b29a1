"""Elements of HTML and SVG; whatever is not an element is text. Quiet.

Nothing from a site can become markup: text is escaped when it is put into an element, and only
`element` and `style` make elements.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias
from unicodedata import category

from manners._text import cut, printable

_VOID = frozenset(("link", "meta"))
_MAX_LENGTH = 160
"""Characters of an untrusted text: more than that nobody reads."""
_COMBINING, _MAX_COMBINING = ("Mn", "Me"), 4


class Element(str):
    """Markup; only `element` and `style` make it."""

    __slots__ = ()


Child: TypeAlias = "Element | str | Iterable[Child] | None"


def element(kind: str, /, *children: Child, **attributes: str | float | None) -> Element:
    r"""An element; attributes, and children that are text, are escaped.

    `class_` is the attribute `class`, `aria_label` is `aria-label`; an attribute that is None is
    omitted.

    >>> element("p", "1 < 2", element("b", "!"), class_='"')
    '<p class="&quot;">1 &lt; 2<b>!</b></p>'
    >>> element("td", "</td>\x1b\u202e")
    '<td>&lt;/td&gt;\\x1b\\u202e</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if kind in _VOID else f"</{kind}>"
    return Element(f"<{kind}{written}>{''.join(_markup(children))}{end}")


def style(sheet: str) -> Element:
    """Our own style sheet, which is not escaped."""
    return Element(f"<style>{sheet}</style>")


def untrusted(text: str, limit: int = _MAX_LENGTH) -> Element:
    """Text from a site: cut, and isolated from the writing direction around it.

    >>> untrusted("https://example.com/")
    '<bdi>https://example.com/</bdi>'
    """
    return element("bdi", cut(text, limit))


def _markup(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Element):
            yield child
        elif isinstance(child, str):
            yield escaped(child)
        elif child is not None:
            yield from _markup(child)


def escaped(text: str) -> str:
    """Text for HTML; control characters, direction overrides and lone surrogates are shown."""
    return escape(printable(text if text.isascii() else _limit_combining(text)))


def _limit_combining(text: str) -> str:
    """The text with at most four combining characters on a letter.

    No language uses more. Hundreds of them are as high as a page, or as wide where a font lacks
    them.
    """
    kept, combining = [], 0
    for character in text:
        combining = combining + 1 if category(character) in _COMBINING else 0
        if combining <= _MAX_COMBINING:
            kept.append(character)
    return "".join(kept)
