"""A crawled page: what came of one URL of a crawl, in one value. Quiet."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._text import printable
from manners.client.page import Page
from manners.crawler.reasons import REDIRECT
from manners.sitemaps import Problem

if TYPE_CHECKING:
    from manners.crawler.links import Link
    from manners.signals.decision import UsageDecision

_MAX_TYPE, _MAX_PROBLEMS = 200, 20


class SitemapSummary(NamedTuple):
    """A sitemap that was read, or tried."""

    url: str
    found_in: str
    """The index or the robots.txt that names it; empty where it was only looked for."""
    form: str
    entries: int
    problems: tuple[Problem, ...]
    status: str
    """What came back: a status, or why there was none."""

    @property
    def was_read(self) -> bool:
        """Whether the server sent one."""
        return self.status.isdigit() and 200 <= int(self.status) < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawledPage(Page):
    """A page, and what a crawl knows of it: the same value for the reader and for the store."""

    kind: str = "page"
    """Or `sitemap`; a crawl does not hand those out."""
    depth: int = 0
    """How many links away from the start of the crawl."""
    found_in: str = ""
    """The page or the sitemap that names it."""
    attempts: int = 0
    """How often it was requested."""
    state: str = "done"
    """`done`, `failed` or `blocked`; `queued` before it is tried again."""
    reason: str = ""
    """Why it failed or is blocked; `redirect` for one that redirects."""
    rule: str = ""
    """The line of robots.txt, or the pattern, that blocks it."""
    line: int = 0
    """Where the rule stands in robots.txt."""
    not_before: float = 0.0
    """When it is tried again."""
    title: str = ""
    links: "tuple[Link, ...]" = ()
    """Where it leads to."""
    nofollow: str = ""
    """What tells crawlers to follow none of its links; empty where nothing does."""
    location: str = ""
    """Where it redirects to; that is a page of its own."""
    sha256: str = ""
    """The hash of the body, as it was read."""
    delay: float = 0.0
    """Seconds between requests to its host at that time."""
    rendered: str = ""
    """The HTML after its scripts have run in a browser; empty where it was not rendered."""
    sitemap: SitemapSummary | None = None
    """What there is to say of a sitemap."""
    decision: "UsageDecision | None" = None
    """Whether it may be kept for the purpose of the crawl; None without one, and where only
    robots.txt has said anything, and allows it."""

    @property
    def may_be_kept(self) -> bool:
        """Whether it was not refused, after it was fetched, for the purpose of the crawl."""
        return self.decision is None or self.decision.allowed

    @property
    def cause(self) -> str:
        """Why there is no answer; a redirect is one, though it is not followed here."""
        return "" if self.reason == REDIRECT else self.hops[-1].cause

    @property
    def type(self) -> str:
        """The media type that the server gives, as `text/html`; the form of a sitemap."""
        if self.sitemap is not None:
            return self.sitemap.form
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return printable(media_type[:_MAX_TYPE])

    def to_row(self) -> dict[str, Any]:
        """What a store keeps of the answer, by column."""
        hop, sitemap = self.hops[-1], self.sitemap
        problems: list[Any] = []
        if sitemap is not None:  # the last may say why no more was read
            problems = [problem._asdict() for problem in sitemap.problems[-_MAX_PROBLEMS:]]
        return {
            "status": hop.status,
            "cause": self.cause,
            "type": self.type,
            "bytes": len(self.body),
            "sha256": self.sha256,
            "title": self.title,
            "links": len(self.links) if sitemap is None else sitemap.entries,
            "location": self.location,
            "started": hop.started,
            "waited": hop.waited,
            "seconds": hop.seconds,
            "delay": self.delay,
            "problems": json.dumps(problems) if problems else "[]",
        }

    def to_dict(self) -> dict[str, Any]:
        """What is known of the page, without its body, as plain values, ready for JSON."""
        usage = {} if self.decision is None else {"usage": self.decision.to_dict()}
        return {
            **usage,
            "url": self.url,
            "state": self.state,
            "reason": self.reason,
            "depth": self.depth,
            "found_in": self.found_in,
            "attempts": self.attempts,
            "title": self.title,
            "type": self.type,
            "sha256": self.sha256 if self.status is not None else "",
            "location": self.location,
            "links": [link.url for link in self.links],
            **Page.to_dict(self),
        }

    def __hash__(self) -> int:
        return hash((self.url, self.hops))
