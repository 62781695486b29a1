"""What is known of a page and its site: the material that readers read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from manners import charset
from manners._text import to_text
from manners.errors import InvalidURL
from manners.robots.agents import product_token
from manners.robots.dialects import get
from manners.robots.policy import Policy, Robots, parse
from manners.signals.claims import Citation, Confidence
from manners.signals.markup import PageElement, elements, media_type
from manners.signals.robots_lines import AgentLines, UrlPath
from manners.signals.tokens import PolicyToken
from manners.urls import origin, without_credentials

MAX_FILE = 1_048_576
"""Bytes of a file beside robots.txt that are read."""
MAX_HEADER = 65_536
"""Characters of all headers of one name that are read."""
_IMAGE_NAME = re.compile(r"\.(?:avif|bmp|gif|ico|jpe?g|png|svg|tiff?|webp)\Z", re.IGNORECASE).search


@dataclass(frozen=True, kw_only=True)
class Material:
    """Everything that was given about a page, each part read once, when a reader asks for it."""

    url: str
    agent: str | Sequence[str] = "*"
    robots_txt: bytes | str | Robots | None = None
    headers: tuple[tuple[str, str], ...] = ()
    html: bytes | str | tuple[PageElement, ...] | None = None
    """The page; or the elements of it that may carry a signal."""
    tdmrep: bytes | str | None = None
    licences: Mapping[str, bytes | str]
    trust_txt: bytes | str | None = None
    ai_txt: bytes | str | None = None
    media: str | None = None
    now: datetime | None = None
    policy_tokens: tuple[PolicyToken, ...] = ()

    @cached_property
    def policy(self) -> Policy | None:
        """The robots.txt bound to the agent; None where it was not given."""
        if self.robots_txt is None:
            return None
        robots = self.robots_txt
        return (robots if isinstance(robots, Robots) else parse(robots)).policy(self.agent)

    @cached_property
    def lines(self) -> AgentLines | None:
        """The lines of robots.txt with signals; None where it was not given."""
        return None if self.policy is None else AgentLines(self.policy)

    @cached_property
    def path(self) -> UrlPath:
        """The path of the URL, to be matched as robots.txt does."""
        dialect = get("rfc9309") if self.policy is None else self.policy.robots.dialect
        return UrlPath(self.url, dialect)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The product tokens of the agent, in lower case."""
        names = (self.agent,) if isinstance(self.agent, str) else self.agent
        return frozenset(product_token(name).lower() for name in names) - {""}

    @cached_property
    def page_url(self) -> str:
        """The URL of the page, as it may be shown."""
        return without_credentials(self.url)

    def site_url(self, path: str) -> str:
        """The URL of a file of the site; only the path where the URL names no site.

        >>> Material(url="https://example.com/a", licences={}).site_url("/trust.txt")
        'https://example.com/trust.txt'
        """
        try:
            return origin(self.url) + path
        except InvalidURL:
            return path

    @cached_property
    def robots_url(self) -> str:
        """The URL of the site's robots.txt."""
        return self.site_url("/robots.txt")

    def cite_header(self, name: str, text: str) -> Citation:
        """A header as the place of a text."""
        return Citation("header", self.page_url, text, where=name)

    def cite_element(
        self, element: PageElement, where: str, confidence: Confidence = "high"
    ) -> Citation:
        """An element of the page as the place of its text."""
        return Citation("html", self.page_url, element.text, where=where, confidence=confidence)

    def header(self, name: str) -> list[str]:
        """The values of a header, one for each line of that name, in order.

        >>> Material(url="/", licences={}, headers=(("Link", "a"), ("LINK", "b"))).header("link")
        ['a', 'b']
        """
        values, room = [], MAX_HEADER
        for written, value in self.headers:
            if written.strip().lower() == name:
                values.append(value[:room])
                room -= len(values[-1])
        return values

    @cached_property
    def media_type(self) -> str:
        """What kind of thing the page is: as given, as its header says, or as its name ends."""
        if self.media:
            return media_type(self.media)
        declared = [media_type(value) for value in self.header("content-type")]
        if declared and declared[-1]:
            return declared[-1]
        path = self.url.partition("#")[0].partition("?")[0]
        return "image" if _IMAGE_NAME(path) else ""

    @property
    def is_image(self) -> bool:
        """Whether the page is an image, where that can be known."""
        return self.media_type.partition("/")[0] == "image"

    @cached_property
    def elements(self) -> tuple[PageElement, ...]:
        """The elements of the page that may carry a signal."""
        if not self.html:
            return ()
        if isinstance(self.html, tuple):
            return self.html
        if isinstance(self.html, str):
            return tuple(elements(self.html))
        declared = self.header("content-type")
        html = charset.decode(self.html[: 4 * MAX_FILE], declared[-1] if declared else "text/html")
        return tuple(elements(html))

    def meta(self, *names: str) -> list[PageElement]:
        """The meta elements of these names."""
        return [
            element
            for element in self.elements
            if element.name == "meta" and element.attributes["name"].strip().lower() in names
        ]


def text_of(body: bytes | str) -> str:
    """A file as text, without a byte order mark and cut at the size limit.

    >>> text_of(b"\\xef\\xbb\\xbfa=b")
    'a=b'
    """
    if isinstance(body, str):
        return body[:MAX_FILE].removeprefix("\N{BYTE ORDER MARK}")
    codec, size = charset.byte_order_mark(body)
    if codec:
        return body[size:MAX_FILE].decode(codec, "replace")
    return to_text(body[:MAX_FILE])


def moment(now: datetime | float | str | None) -> datetime | None:
    """A point in time with its zone, from what callers have; UTC where it names none.

    >>> moment("2026-11-16T00:00:00Z") == moment(1794787200)
    True
    """
    if isinstance(now, str):
        now = datetime.fromisoformat(now)
    elif isinstance(now, int | float):
        now = datetime.fromtimestamp(now, UTC)
    return now.replace(tzinfo=UTC) if now is not None and now.tzinfo is None else now


def pairs(headers: "Iterable[tuple[str, str]] | Mapping[str, str]") -> tuple[tuple[str, str], ...]:
    """Headers as pairs in order; values that were joined by a line break are parted again."""
    items = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(
        (str(name), part.strip(" \t\r")) for name, value in items for part in str(value).split("\n")
    )
