"""Elements of HTML and SVG, in which whatever is not an element is text. Quiet.

Nothing that comes from a site can become markup here, because there is no way to say so: text is
escaped when it is put into an element, and only elements are not.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias
from unicodedata import category

from manners._text import cut, printable

_VOID = frozenset(("link", "meta"))
_LONG = 160
"""Characters of a text that comes from elsewhere: as many as people look at."""
_MARKS, _MOST_MARKS = ("Mn", "Me"), 4


class Element(str):
    """Markup; only `element` and `style` make it."""

    __slots__ = ()


Child: TypeAlias = "Element | str | Iterable[Child] | None"


def element(kind: str, /, *children: Child, **attributes: str | float | None) -> Element:
    r"""An element; children that are text are escaped, and attributes always are.

    `class_` is the attribute `class`, `aria_label` is `aria-label`; what is None is left out.

    >>> element("p", "1 < 2", element("b", "!"), class_='"')
    '<p class="&quot;">1 &lt; 2<b>!</b></p>'
    >>> element("td", "</td>\x1b\u202e")
    '<td>&lt;/td&gt;\\x1b\\u202e</td>'
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if kind in _VOID else f"</{kind}>"
    return Element(f"<{kind}{said}>{''.join(_markup(children))}{end}")


def style(sheet: str) -> Element:
    """A style sheet of ours, which is taken as it is."""
    return Element(f"<style>{sheet}</style>")


def its(text: str, most: int = _LONG) -> Element:
    """Text that comes from a site: cut, and kept apart from the direction of what is around it.

    >>> its("https://example.com/")
    '<bdi>https://example.com/</bdi>'
    """
    return element("bdi", cut(text, most))


def _markup(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Element):
            yield child
        elif isinstance(child, str):
            yield _text(child)
        elif child is not None:
            yield from _markup(child)


def _text(text: str) -> str:
    """Control characters, direction overrides and lone surrogates are shown as escapes."""
    return escape(printable(text if text.isascii() else _calmed(text)))


def _calmed(text: str) -> str:
    """The text with no more marks on a letter than any language puts there.

    Hundreds of them are as high as a page, or as wide where a font does not know them.
    """
    kept, marks = [], 0
    for each in text:
        marks = marks + 1 if category(each) in _MARKS else 0
        if marks <= _MOST_MARKS:
            kept.append(each)
    return "".join(kept)
