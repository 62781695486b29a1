"""Links: where a page leads to, and whether it wants to be followed. Quiet.

Links are `a` and `area`, and `link` with rel canonical, next or prev, resolved against `base`.
nofollow is reported, and the caller decides what to do about it: on a link, in a meta element for
all robots or for this one, or in the header X-Robots-Tag.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

from manners._text import possessive, printable
from manners.charset import is_html
from manners.client.page import Page
from manners.errors import InvalidURL, MissingExtra
from manners.robots.agents import product_token
from manners.urls import page_url

try:
    from selectolax.lexbor import LexborHTMLParser
except ModuleNotFoundError:
    raise MissingExtra("selectolax", "crawl") from None

MAX_LINKS = 10_000
"""Links of one page that are read."""
MAX_HTML = 1_048_576
"""Characters of one page that are read: some pages are built to take long."""
_MAX_TITLE = 500
_MAX_HREF = 16_384

Kind = Literal["a", "area", "canonical", "next", "prev"]
_RELS: dict[str, Kind] = {"canonical": "canonical", "next": "next", "prev": "prev"}
_NO_PATH = ("/", "\\", "\t", "\n", "\r")
"""Characters after the first slash that may turn the rest into a host."""
_SHORT = 200
_HTTP = ("https://", "http://")
_BLANK = "".join(map(chr, range(33)))
_LINE_ENDS = re.compile(r"[\t\n\r]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+):").match
_PARTS = re.compile(
    rf"(([A-Za-z][A-Za-z0-9+.-]*+)://[^/?#]*+)([^?#]*+)({possessive(r'[?][^#]*+', '?')})", re.DOTALL
).match


class Link(NamedTuple):
    """Where a page leads to."""

    url: str
    """In the one form that `urls.page_url` gives it."""
    kind: Kind = "a"
    nofollow: bool = False
    """Whether the link itself says so."""


class Links(NamedTuple):
    """What a page leads to, and what it says about that."""

    links: tuple[Link, ...] = ()
    title: str = ""
    canonical: str | None = None
    nofollow: str = ""
    """What tells robots to follow nothing here; empty where nothing does."""
    noindex: str = ""
    """What tells robots not to index the page; this package indexes nothing."""
    is_cut: bool = False
    """Whether links were dropped: the page is longer, or has more links, than is read."""

    @property
    def to_follow(self) -> tuple[Link, ...]:
        """The links that may be followed."""
        return () if self.nofollow else tuple(link for link in self.links if not link.nofollow)

    def against(self, link: Link) -> str:
        """What says nofollow to a link: the page, or the link itself; empty where nothing does."""
        return self.nofollow or ("rel=nofollow" if link.nofollow else "")


def extract(
    html: str,
    url: str,
    agent: str = "*",
    robots_tag: Iterable[str] = (),
    *,
    without_tracking: bool = False,
    most: int = MAX_LINKS,
) -> Links:
    """The links of a page that came from a URL.

    `robots_tag` has the values of X-Robots-Tag, one for each header.

    >>> page = '<base href="/b/"><a href="c?x=1#y">here</a> <a rel=nofollow href="/d">there</a>'
    >>> [(link.url, link.nofollow) for link in extract(page, "https://example.com/a").links]
    [('https://example.com/b/c?x=1', False), ('https://example.com/d', True)]
    """
    outline, is_cut = _outline(html[:MAX_HTML])
    tree = LexborHTMLParser(outline)
    links, is_full = _links(tree, _Base(url, tree), without_tracking, most)
    directives = [*_meta(tree, agent), *tagged(robots_tag, agent)]
    title = tree.css_first("title")
    return Links(
        links,
        printable(" ".join(title.text()[: 4 * _MAX_TITLE].split()))[:_MAX_TITLE] if title else "",
        next((link.url for link in links if link.kind == "canonical"), None),
        next((place for place, word in directives if word in ("nofollow", "none")), ""),
        next((place for place, word in directives if word in ("noindex", "none")), ""),
        is_cut or is_full or len(html) > MAX_HTML,
    )


def _links(
    tree: LexborHTMLParser, base: "_Base", without_tracking: bool, most: int
) -> tuple[tuple[Link, ...], bool]:
    """The links of a page, and whether there are more."""
    pages: dict[str, str | None] = {}  # a page links to the same places again and again
    found: dict[tuple[str, Kind], Link] = {}
    for node in tree.css("a[href],area[href],link[rel][href]"):
        attributes = node.attributes
        href = attributes["href"] or ""
        rel = attributes.get("rel")
        rels = rel.lower().split() if rel else ()
        tag = node.tag
        kinds: Iterable[Kind | None] = (tag,) if tag != "link" else map(_RELS.get, rels)  # type: ignore[assignment]
        for kind in kinds:
            if kind is None:
                continue
            try:
                target = pages[href]
            except KeyError:
                target = pages[href] = base.page(href, without_tracking)
            if target is None:
                continue
            key, nofollow = (target, kind), "nofollow" in rels
            # A page that links twice, and once without nofollow, means it to be followed.
            if key in found:
                if found[key].nofollow and not nofollow:
                    found[key] = Link(target, kind)
            elif len(found) < most:
                found[key] = Link(target, kind, nofollow)
            else:
                return tuple(found.values()), True
    return tuple(found.values()), False


def links_of(page: Page, agent: str, *, without_tracking: bool = False) -> Links:
    """The links of a page that was fetched; none where it is not HTML."""
    if not page.ok or not is_html(page.body, page.headers.get("content-type", "")):
        return _NO_LINKS
    return extract(
        page.text, page.final_url, agent, page.robots_tag, without_tracking=without_tracking
    )


def rendered_links(
    page: Page, before: Links, html: str, targets: Iterable[str], agent: str
) -> Links:
    """The links of a page after its scripts have run; `targets` are where these would go.

    What the page said before about following them counts as well.
    """
    links = extract(html, page.final_url, agent, page.robots_tag)
    gone = tuple(Link(target) for url in targets if (target := _page(url, False)) is not None)
    return links._replace(
        links=(*links.links, *gone),
        nofollow=before.nofollow or links.nofollow,
        noindex=before.noindex or links.noindex,
    )


_NO_LINKS = Links()


# HTML section 13.2.5, as far as it says where a tag begins and ends. Nothing is tried twice.
_VALUE = possessive(r"\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\f\r >\"'][^\t\n\f\r >]*+", "?")
_ATTRIBUTE = r"[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+" + possessive(
    rf"[\t\n\f\r ]*+=[\t\n\f\r ]*+{_VALUE}", "?"
)
_ATTRIBUTES = possessive(_ATTRIBUTE, "*")
_OVER = r"(?=[\t\n\f\r />])"
_TEXTS = ("style", "textarea", "title", "iframe", "xmp", "noembed", "noframes")
_NAMES = "|".join(("a", "area", "base", "link", "meta", "plaintext", "script", *_TEXTS))
_WANTED = rf"(?:{_NAMES}|/?(?:template|svg|math)){_OVER}"
_COMMENT = rf"<!--(?:-?>|[^-]*+{possessive(r'-(?!-!?>)[^-]*+', '*')}(?:--!?>|\Z))"
_PLAIN_ATTRIBUTES = possessive(r' [a-z-]++="[^"]*+"', "*")
_UNWANTED = possessive(
    # Text, comments and other tags, first as they usually are.
    r"[^<]++|</(?!template|svg|math)[a-z][a-z0-9]*+>"
    rf"|<(?!{_WANTED})[a-z][a-z0-9]*+{_PLAIN_ATTRIBUTES}>"
    rf"|<(?![a-z/!?])|{_COMMENT}|<(?:[!?]|/(?![a-z]))[^>]*+(?:>|\Z)"
    rf"|<(?!{_WANTED})/?[a-z][^\t\n\f\r />]*+{_ATTRIBUTES}[\t\n\f\r /]*+>",
    "*",
)
# What is not wanted, and then a tag that is, with as many attributes as are read.
_wanted = re.compile(
    rf"{_UNWANTED}(<({_WANTED}){possessive(_ATTRIBUTE, '{0,200}')})({_ATTRIBUTES})[\t\n\f\r /]*+>",
    re.ASCII | re.IGNORECASE,
).match
# What has no tags in it, up to the tag that ends it. In a script, "<!-- <script>" is a beginning
# that "</script>" ends, and not the script.
_DOUBLE_ESCAPED = possessive(rf"[^<-]++|-(?!->)|<(?!/script{_OVER})", "*")
_ESCAPED = possessive(
    rf"[^<-]++|-(?!->)|<(?!/?script{_OVER})"
    rf"|<script{_OVER}{_DOUBLE_ESCAPED}(?:</script|(?=-->)|\Z)",
    "*",
)
_content = {
    name: re.compile(
        possessive(rf"[^<]++|<(?!/{name}{_OVER})", "*"), re.ASCII | re.IGNORECASE
    ).match
    for name in _TEXTS
} | {
    "script": re.compile(
        possessive(rf"[^<]++|<(?!!--|/script{_OVER})|<!--(?:-?>|{_ESCAPED}(?:-->|(?=<)|\Z))", "*"),
        re.ASCII | re.IGNORECASE,
    ).match
}


def _outline(html: str) -> tuple[str, bool]:
    """The tags of a page that are looked at, and no other; whether one has more than is read.

    Building the tree of a page takes time with the square of how deeply elements are nested and of
    how many attributes one has, and memory with the square of how many are never closed: a page can
    be built to take minutes, or all memory. A page of links alone has no depth.
    """
    parts, at, foreign, is_cut = [], 0, 0, False
    while found := _wanted(html, at):
        tag, name, more = found.groups()
        name, begun = name.lower(), found.end()
        at, is_empty = begun, html.endswith("/>", 0, begun)
        if name == "plaintext":
            break
        if name in ("svg", "math"):
            foreign += not is_empty
        elif name in ("/svg", "/math"):
            foreign = max(foreign - 1, 0)
        elif name not in _content:
            parts.append(f"{tag}></a>" if name == "a" else f"{tag}>")
            is_cut |= bool(more)
        elif not (foreign and is_empty):  # in SVG, what is written as empty is
            end = _content[name](html, begun)
            at = end.end() if end else begun
            if name == "title" and not foreign:
                parts.append(f"<title>{html[begun:at]}</title>")
    return "".join(parts), is_cut


def _page(target: str, without_tracking: bool) -> str | None:
    if target[:5].lower() not in ("http:", "https"):
        return None
    try:
        return page_url(target, without_tracking=without_tracking)
    except (InvalidURL, ValueError):
        return None


class _Base:
    """What the links of a page are relative to: its URL, or what its first `base` makes of it."""

    def __init__(self, url: str, tree: LexborHTMLParser | None = None) -> None:
        self._set(url)
        first = None if tree is None else tree.css_first("base[href]")
        if first is not None:
            base = self.resolve(first.attributes["href"] or "")
            # HTML: one that is no place for relative links does not count.
            if _page(base, False) is not None:
                self._set(base)

    def _set(self, url: str) -> None:
        found = _PARTS(url)
        self._site, scheme, path, query = found.groups() if found else ("", "", "", "")
        self._scheme = scheme.lower()
        self._page = self._site + path
        self._here = self._page + query
        self._folder = self._site + path.rpartition("/")[0] + "/"

    def page(self, href: str, without_tracking: bool) -> str | None:
        """The page that a link leads to; None where it leads to none."""
        # The pages of a site link to the same places, from its root more often than not.
        if href[:1] == "/" and href[1:2] not in _NO_PATH and len(href) <= _SHORT:
            return _from_root(self._site, href, without_tracking)
        return _page(self.resolve(href), without_tracking)

    def resolve(self, href: str) -> str:
        """Where a link leads to (RFC 3986 section 5.2.2), its dot segments left as they are."""
        # HTML: what is white space or control does not count around it, nor line ends inside it;
        # and people who write "\\" mean "/".
        href = href.strip(_BLANK)
        if "\n" in href or "\t" in href or "\r" in href:
            href = _LINE_ENDS.sub("", href)
        href = href.partition("#")[0]
        if len(href) > _MAX_HREF:
            return ""
        if "\\" in href:
            path, question, query = href.partition("?")
            href = path.replace("\\", "/") + question + query
        if not href.startswith(_HTTP):
            scheme = _SCHEME(href)
            if scheme is not None:
                if scheme[1].lower() != self._scheme or href.startswith("//", scheme.end()):
                    return href
                href = href[scheme.end() :]  # "https:next" on a page that is https
            href = self._joined(href)
        return href

    def _joined(self, href: str) -> str:
        if href.startswith("//"):
            return f"{self._scheme}:{href}"
        if href.startswith("/"):
            return self._site + href
        if href.startswith("?"):
            return self._page + href
        return self._folder + href if href else self._here


@lru_cache(maxsize=16_384)
def _from_root(site: str, href: str, without_tracking: bool) -> str | None:
    return _page(_Base(f"{site}/").resolve(href), without_tracking)


def _meta(tree: LexborHTMLParser, agent: str) -> list[tuple[str, str]]:
    """What meta elements say to all robots, and to this one."""
    own, directives = _token(agent), []
    for node in tree.css("meta[name][content]"):
        name = (node.attributes.get("name") or "").strip().lower()
        if name == "robots" or (own and name == own):
            content = (node.attributes.get("content") or "").lower()
            words = re.split(r"[,\s]+", content[:1000])
            directives += [(f"meta {printable(name)}", word) for word in words if word]
    return directives


_AGENT = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*:(?!//)(.*)", re.DOTALL).fullmatch
_WITH_VALUES = frozenset(
    ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")
)


def tagged(values: Iterable[str], agent: str) -> list[tuple[str, str]]:
    """What X-Robots-Tag headers say to all robots, and to this one, word by word.

    An agent is named before the first word that is for it. Headers may have been joined on their
    way, so that one may be named behind a comma, too.

    >>> tagged(["noindex", "otherbot: nofollow, noarchive", "MyBot: none"], "MyBot/1.0")
    [('X-Robots-Tag', 'noindex'), ('X-Robots-Tag', 'none')]
    """
    own, directives = _token(agent), []
    for value in values:
        is_meant = True
        for part in value.lower().split(","):
            named = _AGENT(part)
            if named is not None and named[1] not in _WITH_VALUES:
                is_meant, part = named[1] == own, named[2]
            word = part.strip()
            if word and is_meant:
                directives.append(("X-Robots-Tag", word))
    return directives


def _token(agent: str) -> str:
    return product_token(agent).lower()
