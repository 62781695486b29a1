"""The judge: decides what becomes of a found URL, for `discover` and `crawl` alike. Quiet.

First the URL is brought into its one form. Then the reasons against it, in this order:

    what it looks like    a trap
    where it was found    nofollow, other-host, not-named, too-many-origins
    the verdict           an exclusion of the user's, or a rule of robots.txt

A crawl asks for the verdict when it fetches a URL, a discovery at once. How deep a URL may be, and
which of several ways to it counts, is for `frontier/ways.py`; how many there may be, for
`frontier/room.py` and `sources.py`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from manners._text import cut
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.frontier.ways import Alike, Look
from manners.crawler.reasons import NOFOLLOW, NOT_NAMED, OTHER_HOST, TOO_MANY_ORIGINS, TRAP
from manners.crawler.traps import Trap, Traps, form_of, limit_of
from manners.errors import InvalidURL
from manners.robots.verdict import Verdict
from manners.urls import host, origin, page_url

if TYPE_CHECKING:
    from manners.settings import Settings

DEFAULT_PRIORITY = 0.5
"""What the sitemap protocol means where a sitemap gives no priority."""
_MAX_ORIGINS = 50
"""Origins whose robots.txt a discovery retrieves: a sitemap can name any number of them."""
_MAX_RULE = 500
"""Characters of a rule that are kept with a URL."""


class Ruling(NamedTuple):
    """Why a URL is blocked, and by which rule; all empty where it is not."""

    reason: str = ""
    rule: str = ""
    line: int = 0
    """Where the rule stands in robots.txt."""


OPEN = Ruling()


class Judge:
    """Decides about the URLs of one crawl.

    `hosts` are the hosts that belong to it; None is every host.
    """

    def __init__(self, settings: "Settings", hosts: Iterable[str] | None) -> None:
        self._settings = settings
        self._hosts = None if hosts is None else set(hosts)
        self._traps = Traps.by(settings)
        self._origins: set[str] = set()

    # The form of a URL, and whose it is.

    def url(self, url: str, kind: str = "page") -> str | None:
        """A URL in its one form; None where it is none."""
        without_tracking = self._settings.drop_tracking and kind == "page"
        try:
            return page_url(url, without_tracking=without_tracking)
        except InvalidURL:
            return None

    def is_inside(self, url: str) -> bool:
        """Whether a URL is of a host that belongs to the crawl."""
        return self._hosts is None or host(url) in self._hosts

    def join(self, name: str) -> bool:
        """Let a host belong to the crawl; False where it did before."""
        if self._hosts is None or name in self._hosts:
            return False
        self._hosts.add(name)
        return True

    # Where it was found.

    def by_link(self, url: str, nofollow: str = "") -> Ruling:
        """A link, and what says nofollow to it; empty where nothing does."""
        if nofollow:
            return Ruling(NOFOLLOW, nofollow)
        return OPEN if self.is_inside(url) else Ruling(OTHER_HOST, host(url))

    def by_sitemap(self, url: str, named: Iterable[str], sitemaps: Iterable[str]) -> Ruling:
        """A page that a sitemap names, and whether that may speak for the host of the page.

        `named` are the sitemaps that the robots.txt of that host names; `sitemaps` the one that
        names the page, and the first of the indexes it was found through. sitemaps.org, "Sitemaps &
        Cross Submits": this is how a host says that a sitemap elsewhere may speak for it.
        """
        if self.is_inside(url) or not set(named).isdisjoint(sitemaps):
            return OPEN
        return Ruling(NOT_NAMED, host(url))

    def by_origin(self, url: str) -> Ruling:
        """Whether the robots.txt of one more origin may be retrieved for a URL."""
        place = origin(url)
        if place not in self._origins:
            if len(self._origins) >= _MAX_ORIGINS:
                return Ruling(TOO_MANY_ORIGINS, host(url))
            self._origins.add(place)
        return OPEN

    # What it looks like.

    def by_form(self, found: FoundUrl, reason: str) -> Look:
        """Why a URL looks like a trap, and the setting; or its form, if such are to be counted.

        The start of a crawl never does, and the URLs of other hosts are not looked at. Only links
        that may be followed are counted: what a site lists is no trap by its number.
        """
        if found.kind != "page" or found.source == "start" or reason == OTHER_HOST:
            return "", "", None
        trap = self._traps.look(found.url)
        if trap is not None:
            return f"{TRAP}{trap}", limit_of(trap, self._settings), None
        counts = not reason and found.source == "link"
        return "", "", form_of(found.url) if counts else None

    @property
    def alike(self) -> Alike:
        """How many URLs of one form a host may have."""
        trap, settings = Trap.TOO_MANY_ALIKE, self._settings
        return Alike(settings.trap_alike, f"{TRAP}{trap}", limit_of(trap, settings))


def by_verdict(verdict: Verdict) -> Ruling:
    """What a verdict says; a pattern of the user's own has no line."""
    if verdict.allowed:
        return OPEN
    pattern = verdict.rule.pattern if verdict.rule else ""
    rule = verdict.line_text.strip() if verdict.line else pattern
    return Ruling(str(verdict.reason), cut(rule, _MAX_RULE), verdict.line)
