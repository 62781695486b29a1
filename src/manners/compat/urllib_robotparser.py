"""The interface of `urllib.robotparser`, with RFC 9309's answers: change one import.

from manners.compat.urllib_robotparser import RobotFileParser
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from manners._text import count
from manners.robots.directives import TIMED
from manners.robots.groups import Group
from manners.robots.policy import Policy, parse
from manners.urls import origin

if TYPE_CHECKING:
    from http.client import HTTPResponse

_SECONDS = 10.0
"""Timeout for the server, and for the body; urllib has none."""
_MAX_READ = 1_048_576
"""Bytes; more than is parsed, so that the last line is complete."""
_CHUNK = 65_536


class RequestRate(NamedTuple):
    """How many requests a site accepts in how many seconds."""

    requests: int
    seconds: int


class RobotFileParser:
    """A robots.txt, as the standard library's class has it.

    >>> parser = RobotFileParser("https://example.com/robots.txt")
    >>> parser.can_fetch("MyBot", "https://example.com/")  # nothing is known before it is read
    False
    >>> parser.parse(["User-agent: *", "Disallow: /*.pdf$"])
    >>> parser.can_fetch("MyBot", "https://example.com/report.pdf")
    False
    """

    def __init__(self, url: str = "") -> None:
        self.disallow_all = False
        """Set it to True to disallow everything, whatever the file says."""
        self.allow_all = False
        """True when the site has no robots.txt: everything may be fetched."""
        self.last_checked = 0.0
        self._robots = parse(b"")
        self.set_url(url)

    def set_url(self, url: str) -> None:
        """Set the URL of the robots.txt."""
        self.url = url
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path

    def mtime(self) -> float:
        """When the file was last read, in seconds since the epoch; 0 when it was not."""
        return self.last_checked

    def modified(self) -> None:
        """Record that the file was read just now."""
        self.last_checked = time.time()

    def read(self) -> None:
        """Retrieve the file, and read it.

        The status of the answer decides as in RFC 9309 section 2.3.1. Where there is no answer,
        `urllib.error.URLError` is raised, and an earlier copy is kept.
        """
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import HTTPRedirectHandler, urlopen

        origin(self.url)  # InvalidURL for anything but http and https: urlopen opens files, too
        # 2.3.1.4: until the server is reached again, an earlier copy is used; "no file" is no copy.
        self.allow_all = False
        try:
            with urlopen(self.url, timeout=_SECONDS) as reply:  # noqa: S310
                origin(reply.url)  # and a redirect may lead to ftp
                body = _body(reply)
        except HTTPError as error:
            with error:
                too_many_hops = HTTPRedirectHandler.inf_msg in str(error.reason)
                self.allow_all = _is_unavailable(error.code, too_many_hops)
        except URLError:
            raise
        except (OSError, HTTPException, ValueError) as error:  # the last: a redirect to no URL
            raise URLError(str(error)) from error
        else:
            self._take(body)

    def parse(self, lines: Iterable[str]) -> None:
        """Read the lines of a robots.txt."""
        # A str is a whole file, not a sequence of lines.
        self._take(lines if isinstance(lines, str | bytes) else "\n".join(lines))

    def _take(self, body: bytes | str) -> None:
        self._robots = parse(body, url=self.url or None)
        self.allow_all = False
        self.modified()

    def can_fetch(self, useragent: str, url: str) -> bool:
        """Whether the agent may fetch the URL; False before anything was read."""
        if self.disallow_all:
            return False
        if self.allow_all:
            return True
        policy = self._policy(useragent)
        return policy is not None and policy.allowed(url)

    def crawl_delay(self, useragent: str) -> float | None:
        """Seconds the site asks the agent to wait between requests, an int when they are whole.

        >>> parser = RobotFileParser()
        >>> parser.parse(["User-agent: *", "Crawl-delay: 3"])
        >>> parser.crawl_delay("MyBot")
        3
        """
        policy = self._policy(useragent)
        delay = None if policy is None else policy.crawl_delay
        return int(delay) if delay is not None and delay.is_integer() else delay

    def request_rate(self, useragent: str) -> RequestRate | None:
        """The rate the site asks the agent to keep to."""
        policy = self._policy(useragent)
        rate = None if policy is None else policy.request_rate
        return None if rate is None else RequestRate(rate.requests, rate.seconds)

    def site_maps(self) -> list[str] | None:
        """The URLs of the sitemaps the file names; None when it names none."""
        return [sitemap.url for sitemap in self._robots.sitemaps] or None

    def __str__(self) -> str:
        # As in the standard library: groups for `*` come last.
        return "\n\n".join(map(_written, sorted(self._robots.groups, key=_is_for_everybody)))

    def _policy(self, useragent: str) -> Policy | None:
        return self._robots.policy(useragent) if self.last_checked else None


def _body(reply: "HTTPResponse") -> bytes:
    """The body of a reply, within the limits of size and time."""
    deadline = time.monotonic() + _SECONDS
    body = bytearray()
    while len(body) < _MAX_READ:
        chunk = reply.read1(_CHUNK)
        if not chunk:
            missing = getattr(reply, "length", None)  # unknown to replies of some openers
            if missing:  # half a file would allow what the other half disallows
                raise ConnectionError(f"the connection ended {count(missing, 'byte')} early")
            break
        body += chunk
        if time.monotonic() > deadline:
            raise TimeoutError(f"not read within {_SECONDS:g} s")
    return bytes(body)


def _is_unavailable(status: int, too_many_hops: bool = False) -> bool:
    """Whether a status says that there is no robots.txt: RFC 9309 section 2.3.1.

    >>> [_is_unavailable(status) for status in (404, 403, 401, 429, 500, 304)]
    [True, True, True, False, False, False]
    """
    # 2.3.1.2: after too many redirects "crawlers MAY assume that the robots.txt file is
    # unavailable"; a redirect to nowhere is an answer that cannot be used, as in 2.3.1.4.
    return too_many_hops or (400 <= status < 500 and status != 429)


def _is_for_everybody(group: Group) -> bool:
    return "*" in group.agents


def _written(group: Group) -> str:
    lines = [f"User-agent: {agent}" for agent in group.agents]
    lines += [
        f"{directive.name.capitalize()}: {directive.written}"
        for directive in group.directives
        if directive.name in TIMED and directive.value is not None
    ]
    lines += [f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}" for rule in group.rules]
    return "\n".join(lines)
