"""A page as text for a model: headings, lists, links and tables in Markdown, nothing else. Quiet.

No tree is built. That takes time with the square of how deeply elements are nested, so that one
megabyte of unclosed elements takes ten minutes; here, every tag is looked at once. What a person
does not see is left out, as far as the page itself says so: scripts, comments, `hidden`, and
invisible characters. Style sheets are not read.
"""

import re
from collections.abc import Callable
from html import unescape
from typing import NamedTuple
from urllib.parse import urljoin

from manners._text import possessive
from manners.errors import InvalidURL
from manners.urls import page_url

MAX_HTML = 2_097_152
"""Characters of a page that are read."""
MAX_TEXT = 2_000_000
"""Characters of its text."""
_MAX_URL = 500
"""Characters of a link that is shown."""
_MAX_TITLE = 300
_MAX_DEPTH = 8
"""Levels of lists and quotations that are shown."""


class PageText(NamedTuple):
    """What a page says, as text."""

    title: str
    text: str
    is_cut: bool
    """Whether the page has more than is read."""


# Controls, soft hyphens, marks of direction, default ignorable characters, surrogates, private use:
# nobody sees them, and a model reads them. The joiners that scripts and emoji need stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0e\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]+"
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def visible(text: str) -> str:
    r"""A text without what nobody sees, with line feeds as line ends.

    >>> visible("a\x1b[2Jb\u202ec\U000e0041\r\nd")
    'a[2Jbc\nd'
    """
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text))


# HTML section 13.2.5, as far as it says where a tag begins and ends. Nothing is tried twice.
_TAG = re.compile(r"<(?:(!--)|(/?[A-Za-z][^\t\n\f\r />]*+)|[!?/])").search
_ATTRIBUTE = re.compile(
    r"[\t\n\f\r /]*+([^\t\n\f\r />][^\t\n\f\r />=]*+)"
    + possessive(
        r"[\t\n\f\r ]*+=[\t\n\f\r ]*+"
        r"(?:\"([^\"]*+)(?:\"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >\"'][^\t\n\f\r >]*+)|(?=>))",
        "?",
    )
).match
_COMMENT_END = re.compile(r"--!?>").search
_RAW = ("script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes")
"""Elements that have no tags in them."""
_RAW_END = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE).search for name in _RAW}
_READ = ("href", "hidden", "style", "alt", "start")
"""Attributes that are looked at."""
_UNSEEN = frozenset(("template", "svg", "object", "canvas", "audio", "video", "datalist"))
_UNSEEN_RAW = frozenset(("script", "style", "iframe", "noembed", "noframes"))
_IS_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE).search
_VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr"),
    )
)
_UNCLOSED = frozenset(
    ("p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot")
)
"""Elements whose end tag may be left out."""
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_PARAGRAPHS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "details"),
        *("dialog", "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "header"),
        *("hgroup", "hr", "html", "legend", "main", "menu", "nav", "ol", "p", "plaintext", "pre"),
        *("search", "section", "summary", "table", "textarea", "title", "ul", "xmp", *_HEADINGS),
    )
)
_LINES = frozenset(("li", "dt", "dd", "tr", "thead", "tbody", "tfoot", "option", "optgroup"))


def read_page(html: str, url: str) -> PageText:
    """The text of an HTML page that came from a URL.

    >>> page = "<title>Tea</title><h1>Green tea</h1><p>5 <b>Euro</b>, <a href=/buy>buy</a>"
    >>> print(read_page(page, "https://shop.example/tea").text)
    # Green tea
    <BLANKLINE>
    5 Euro, [buy](https://shop.example/buy)
    """
    reader = _TagReader(html[:MAX_HTML], url)
    is_cut = reader.read()
    title = " ".join(visible(unescape(reader.title)).split())[:_MAX_TITLE]
    return PageText(title, reader.writer.finish(), is_cut or len(html) > MAX_HTML)


class _TextWriter:
    """Puts texts into lines: what stands between two tags of blocks is one paragraph."""

    def __init__(self) -> None:
        self.size = 0
        self.lead = ""
        """What the next paragraph begins with: a mark of a heading or a list."""
        self.quotes = 0
        self.lists: list[int | None] = []
        """The number of the next item for each open list; None for bullets."""
        self.link = ""
        """The target of the link that is open."""
        self._link_at = 0
        self._inline: list[str] = []
        self._parts: list[str] = []
        self._gap = 0

    def add(self, text: str) -> None:
        """Add text to the paragraph."""
        self._inline.append(text)

    def open_link(self, url: str) -> None:
        """Begin a link; one that is open ends."""
        self.close_link()
        self.link, self._link_at = url, len(self._inline)

    def close_link(self) -> None:
        """End the link: its text and its target, if it has both."""
        self._finish_link()
        self.link = ""

    def _finish_link(self) -> None:
        label = " ".join("".join(self._inline[self._link_at :]).split())
        if label and self.link:
            before = " " if self._inline[self._link_at][:1].isspace() else ""
            after = " " if self._inline[-1][-1:].isspace() else ""
            self._inline[self._link_at :] = [f"{before}[{label}]({self.link}){after}"]
            self.link = ""

    def end(self, gap: int) -> None:
        """End the paragraph, with so many line feeds before the next one."""
        if self._inline:
            self._finish_link()  # one that has no text yet goes on in the next paragraph
            lines = [" ".join(line.split()) for line in "".join(self._inline).split("\n")]
            lines = [line.removeprefix("| ") for line in lines if line not in ("", "|")]
            self._inline = []
            self._put(lines)
        self._link_at = 0
        self._gap = max(self._gap, gap)

    def preformatted(self, text: str) -> None:
        """Add a text as it is, between fences that are not in it."""
        lines = text.strip("\n").split("\n")
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`{3,}", text)), 3)
        if any(lines):
            self._put([fence, *lines, fence])
            self._gap = 2

    def finish(self) -> str:
        """Everything that was written."""
        self.end(0)
        return "".join(self._parts)[:MAX_TEXT]

    def _put(self, lines: list[str]) -> None:
        if not lines:
            return
        if self._parts:
            self._parts.append("\n" * max(self._gap, 1))
        self._gap = 0
        indent = "  " * min(max(len(self.lists) - 1, 0), _MAX_DEPTH)
        quote = "> " * min(self.quotes, _MAX_DEPTH)
        first, rest = f"{quote}{indent}{self.lead}", f"{quote}{indent}{'  ' * bool(self.lists)}"
        written = "\n".join((first if n == 0 else rest) + line for n, line in enumerate(lines))
        self.lead = ""
        self._parts.append(written)
        self.size += len(written)


class _TagReader:
    """Goes through the tags of a page, once."""

    def __init__(self, html: str, url: str) -> None:
        self.writer, self.title = _TextWriter(), ""
        self._html, self._base, self._has_base = html, url, False
        self._unseen, self._depth = "", 0
        """The element that is left out, and how many of its name are open."""
        self._pre: list[str] | None = None
        self._has_title = False
        self._links: dict[str, str] = {}

    def read(self) -> bool:
        """Read the page; whether it has more than is read."""
        html, at = self._html, 0
        while self.writer.size < MAX_TEXT:
            tag = _TAG(html, at)
            self._text(html[at : tag.start() if tag else len(html)])
            if tag is None:
                return False
            at = tag.end()
            name = (tag[2] or "").lower()
            if not name:
                at = _comment_end(html, at) if tag[1] else html.find(">", at) + 1 or len(html)
                continue
            attributes, at = _attributes(html, at)
            if name[0] == "/":
                self._close(name[1:])
                continue
            self._open(name, attributes)
            if name == "plaintext":
                self._text(html[at:])
                return False
            if name in _RAW_END and self._unseen != "svg":
                end = _RAW_END[name](html, at)
                content = html[at : end.start() if end else len(html)]
                at = end.start() if end else len(html)
                self._raw(name, content)
        return True

    def _text(self, text: str) -> None:
        if not text or self._unseen:
            return
        text = visible(unescape(text) if "&" in text else text)
        if self._pre is not None:
            self._pre.append(text)
        else:
            self.writer.add(text.replace("\n", " "))

    def _raw(self, name: str, content: str) -> None:
        if name == "title" and not self._has_title and not self._unseen:
            self.title, self._has_title = content, True
        elif name not in _UNSEEN_RAW and name != "title":
            self._text(content)

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        if self._unseen:
            if name == self._unseen and name not in _UNCLOSED:
                self._depth += 1
                return
            ends = name == self._unseen or (self._unseen == "p" and name in _PARAGRAPHS)
            if self._unseen not in _UNCLOSED or not ends:
                return
            self._unseen = ""
        if name not in _VOID and name not in _RAW_END and _is_unseen(name, attributes):
            if name in _PARAGRAPHS:
                self._end(2)
            self._unseen, self._depth = name, 1
        elif handle := _OPEN.get(name):
            handle(self, attributes)
        elif name in _PARAGRAPHS:
            self._end(2)
            self.writer.lead = _HEADINGS.get(name, "") or self.writer.lead
        elif name in _LINES:
            self._end(1)

    def _close(self, name: str) -> None:
        if self._unseen:
            self._depth -= name == self._unseen
            if not self._depth:
                self._unseen = ""
            return
        writer = self.writer
        if name == "a":
            writer.close_link()
        elif name == "pre":
            self._end_pre()
        elif name in ("ul", "ol", "menu"):
            self._end(1 if writer.lists[1:] else 2)
            if writer.lists:
                writer.lists.pop()
        elif name in _PARAGRAPHS or name in _LINES:
            self._end(2 if name in _PARAGRAPHS else 1)
            if name in _HEADINGS:
                writer.lead = ""
            elif name == "blockquote":
                writer.quotes = max(writer.quotes - 1, 0)

    def _end(self, gap: int) -> None:
        if self._pre is None:
            self.writer.end(gap)
        else:
            self._pre.append("\n")

    def _end_pre(self) -> None:
        if self._pre is not None:
            self.writer.preformatted("".join(self._pre))
            self._pre = None

    # Tags that mean more than the end of a paragraph.

    def _open_link(self, attributes: dict[str, str]) -> None:
        if self._pre is None:
            self.writer.open_link(self._link(attributes.get("href", "")))

    def _open_list(self, _: dict[str, str]) -> None:
        self._end(1 if self.writer.lists else 2)
        if len(self.writer.lists) < 100 * _MAX_DEPTH:
            self.writer.lists.append(None)

    def _open_numbered(self, attributes: dict[str, str]) -> None:
        self._open_list(attributes)
        start = attributes.get("start", "")
        number = int(start) if start.isdecimal() and start.isascii() and len(start) < 7 else 1
        self.writer.lists[-1] = number

    def _open_item(self, _: dict[str, str]) -> None:
        self._end(1)
        lists = self.writer.lists
        number = lists[-1] if lists else None
        self.writer.lead = "- " if number is None else f"{number}. "
        if number is not None:
            lists[-1] = number + 1

    def _open_quote(self, _: dict[str, str]) -> None:
        self._end(2)
        self.writer.quotes += 1

    def _open_pre(self, _: dict[str, str]) -> None:
        self._end_pre()
        self._end(2)
        self._pre = []

    def _open_cell(self, _: dict[str, str]) -> None:
        self.writer.add(" | ") if self._pre is None else self._pre.append(" ")

    def _break(self, _: dict[str, str]) -> None:
        self.writer.add("\n") if self._pre is None else self._pre.append("\n")

    def _rule(self, _: dict[str, str]) -> None:
        self._end(2)
        self.writer.add("---")
        self._end(2)

    def _image(self, attributes: dict[str, str]) -> None:
        alt = " ".join(visible(attributes.get("alt", "")).split())
        if alt and not _is_unseen("img", attributes):
            self.writer.add(f"[image: {alt}]")

    def _set_base(self, attributes: dict[str, str]) -> None:
        base = self._link(attributes.get("href", ""))
        if base and not self._has_base:
            self._base, self._has_base = base, True
            self._links.clear()

    def _link(self, href: str) -> str:
        """The target of a link in normal form; empty for what is no page."""
        if href not in self._links:
            self._links[href] = _target(self._base, href)
        return self._links[href]


_OPEN: dict[str, Callable[[_TagReader, dict[str, str]], None]] = {
    "a": _TagReader._open_link,
    "ul": _TagReader._open_list,
    "menu": _TagReader._open_list,
    "ol": _TagReader._open_numbered,
    "li": _TagReader._open_item,
    "blockquote": _TagReader._open_quote,
    "pre": _TagReader._open_pre,
    "td": _TagReader._open_cell,
    "th": _TagReader._open_cell,
    "br": _TagReader._break,
    "hr": _TagReader._rule,
    "img": _TagReader._image,
    "base": _TagReader._set_base,
}


def _is_unseen(name: str, attributes: dict[str, str]) -> bool:
    is_hidden = "hidden" in attributes or _IS_HIDDEN(attributes.get("style", ""))
    return name in _UNSEEN or bool(is_hidden)


def _target(base: str, href: str) -> str:
    href = href.strip()
    if not href or href[0] == "#" or len(href) > _MAX_URL:
        return ""
    try:
        url = page_url(urljoin(base, href))
    except (InvalidURL, ValueError):
        return ""
    return "" if len(url) > _MAX_URL else url.replace("(", "%28").replace(")", "%29")


def _comment_end(html: str, at: int) -> int:
    if html.startswith((">", "->"), at):  # "abrupt closing of an empty comment"
        return html.index(">", at) + 1
    end = _COMMENT_END(html, at)
    return end.end() if end else len(html)


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag that are looked at, and where the tag ends."""
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE(html, at):
        at = found.end()
        name = found[1].lower()
        if name in _READ and name not in attributes:
            attributes[name] = unescape(found[2] or found[3] or found[4] or "")
    return attributes, html.find(">", at) + 1 or len(html)
