"""Protego's interface, with RFC 9309's answers: change one import.

from manners.compat.protego import Protego
"""

from collections.abc import Iterator
from datetime import time
from typing import NamedTuple, Self

from manners.robots.policy import Robots, parse


class RequestRate(NamedTuple):
    """How many requests a site accepts in how many seconds, and in which hours (UTC)."""

    requests: int
    seconds: int
    start_time: time | None = None
    end_time: time | None = None


class VisitTime(NamedTuple):
    """The hours (UTC) in which a site wants to be visited."""

    start_time: time
    end_time: time


class Protego:
    """A parsed robots.txt, as Protego has it.

    >>> robots = Protego.parse("User-agent: *\\nDisallow: /private/\\nCrawl-delay: 2")
    >>> robots.can_fetch("https://example.com/private/x", "MyBot"), robots.crawl_delay("MyBot")
    (False, 2.0)
    """

    def __init__(self) -> None:
        self._robots: Robots = parse(b"")

    @classmethod
    def parse(cls, content: str) -> Self:
        """Read the text of a robots.txt; whatever it contains, this does not raise."""
        if not isinstance(content, str):
            raise TypeError(f"Protego.parse takes a str, not {type(content).__name__}")
        parser = cls()
        parser._robots = parse(content)
        return parser

    def can_fetch(self, url: str, user_agent: str) -> bool:
        """Whether the agent may fetch the URL."""
        return self._robots.policy(user_agent).allowed(url)

    def crawl_delay(self, user_agent: str) -> float | None:
        """Seconds the site asks the agent to wait between requests."""
        return self._robots.policy(user_agent).crawl_delay

    def request_rate(self, user_agent: str) -> RequestRate | None:
        """The rate the site asks the agent to keep to.

        >>> Protego.parse("User-agent: *\\nRequest-rate: 1/5s").request_rate("MyBot").seconds
        5
        """
        rate = self._robots.policy(user_agent).request_rate
        return None if rate is None else RequestRate(*rate)

    def visit_time(self, user_agent: str) -> VisitTime | None:
        """The hours in which the site wants the agent."""
        window = self._robots.policy(user_agent).visit_time
        return None if window is None else VisitTime(*window)

    @property
    def sitemaps(self) -> Iterator[str]:
        """The URLs of the sitemaps the file names."""
        return iter([sitemap.url for sitemap in self._robots.sitemaps])

    @property
    def preferred_host(self) -> str | None:
        """The host the file names as the site's own."""
        return self._robots.host
