"""A request, redirect by redirect, until it is a page. Quiet."""

from collections.abc import Mapping

from manners.client.page import Hop, LazyVerdict, Page, attach_exchanges
from manners.net.messages import Exchange, Response, Unreachable
from manners.robots.verdict import Verdict
from manners.urls import redirect_target, target, without_credentials

LOGINS = ("authorization", "cookie", "proxy-authorization")
"""Headers for one origin, which no other origin that it redirects to may see."""
_MAX_UNSENT = 10
"""How often a request is tried again that could not be sent before its turn was over."""


class Attempts:
    """How often one request was tried, and whether to try again: the site has not seen it."""

    __slots__ = ("_unsent", "needs_fresh_connection")

    def __init__(self) -> None:
        self.needs_fresh_connection = False
        """Whether the next attempt needs a new connection: a kept one turned out to be closed."""
        self._unsent = 0

    @property
    def attempt(self) -> int:
        """The number of the next attempt: 1 for the first."""
        return 1 + self.needs_fresh_connection + self._unsent

    def retry(self, reply: Response | Unreachable) -> bool:
        """Whether to send the request again."""
        if isinstance(reply, Response):
            return False
        if reply.is_stale:
            self.needs_fresh_connection = True  # so that it cannot happen twice
            return True
        self._unsent += reply.is_unsent
        return reply.is_unsent and self._unsent <= _MAX_UNSENT


class RedirectChain(Attempts):
    """The redirects from a URL to its page, and the attempts at the next one."""

    __slots__ = (
        "_exchanges",
        "_hops",
        "_max_redirects",
        "_url",
        "counts",
        "evidence_id",
        "headers",
        "is_page",
        "lazy_verdict",
        "target",
    )

    def __init__(
        self, url: str, headers: Mapping[str, str], max_redirects: int, *, is_page: bool = True
    ) -> None:
        self.needs_fresh_connection, self._unsent = False, 0
        self._url = without_credentials(url) if "@" in url else url
        self.headers, self._max_redirects = headers, max_redirects
        self.target = target(url)
        """The next URL to request."""
        self.lazy_verdict: LazyVerdict
        self.evidence_id: int | None = None
        """The number of its evidence record."""
        self._hops: tuple[Hop, ...] = ()
        self._exchanges: tuple[Exchange | None, ...] = ()
        self.counts = False
        """Whether a request was sent that counts as a page: a redirect does not."""
        self.is_page = is_page
        """Whether it is for a page, and not for a file such as a sitemap."""

    def verdict(self) -> Verdict:
        """The verdict on the next URL."""
        return self.lazy_verdict()

    def blocked(self) -> Page:
        """The page when the next URL is not allowed."""
        hop = Hop(self.target.url, False, self.lazy_verdict, evidence_id=self.evidence_id)
        return self.with_exchanges(Page(self._url, (*self._hops, hop)))

    def page(self, reply: Response | Unreachable, started: float, waited: float) -> Page | None:
        """The page that a reply completes; None for a redirect, which sets a new `target`."""
        requested, cause, detail, status = self.target, "", "", None
        if isinstance(reply, Unreachable):
            cause, detail = reply.cause, reply.detail
        else:
            status = reply.status
            if 300 <= status < 400 and status != 304:
                cause = self._follow(reply.headers.get("location", ""))
        hop = Hop(
            requested.url,
            True,
            self.lazy_verdict,
            status,
            cause,
            started,
            waited,
            reply.seconds,
            self.evidence_id,
            detail,
        )
        self._hops += (hop,)
        self.note(None if isinstance(reply, Unreachable) else reply.exchange)
        if self.target is not requested:
            self.counts = False
            return None
        if isinstance(reply, Unreachable):
            page = Page(self._url, self._hops)
        else:
            page = Page(self._url, self._hops, reply.headers, reply.body, reply.complete)
        return self.with_exchanges(page)

    def note(self, exchange: Exchange | None) -> None:
        """Keep what was on the wire for the hop that came last, if it is to be archived."""
        if exchange is not None or self._exchanges:
            before = self._exchanges[: len(self._hops) - 1]
            missing = len(self._hops) - 1 - len(before)
            self._exchanges = (*before, *(None,) * missing, exchange)

    def with_exchanges(self, page: Page) -> Page:
        """Give a page what was on the wire for its hops."""
        if self._exchanges:
            attach_exchanges(page, self._exchanges)
        return page

    def _follow(self, location: str) -> str:
        """Make the redirect's target the next one, or say why not."""
        url, problem = redirect_target(self.target.url, location)
        if problem:
            return problem
        if len(self._hops) >= self._max_redirects:
            return "too many redirects"
        if url == self.target.url or any(url == hop.url for hop in self._hops):
            return "redirect loop"
        redirected = target(url)
        if redirected.origin != self.target.origin:
            self.headers = {
                name: value
                for name, value in self.headers.items()
                if name.strip().lower() not in LOGINS
            }
        self.target, self.needs_fresh_connection = redirected, False
        return ""
