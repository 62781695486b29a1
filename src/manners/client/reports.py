"""What is told of one page, and of each request for it."""

from itertools import count
from typing import Self

from manners import events
from manners.client.hosts import HostPace
from manners.client.page import Page
from manners.client.redirects import RedirectChain
from manners.errors import HostDeferred
from manners.events import PAGE
from manners.logs import Reporter
from manners.net.messages import Response, Unreachable


class RequestReport:
    """Tells the events of one request; the end only once.

    With `ends_at_reply`, another library reads the body: the request ends with its status.
    """

    __slots__ = (
        "_attempt",
        "_host",
        "_is_over",
        "_is_sent",
        "_kind",
        "_method",
        "_page",
        "_reporter",
        "_url",
        "_waited",
        "ends_at_reply",
    )

    def __init__(
        self,
        reporter: Reporter,
        host: HostPace,
        url: str,
        kind: events.Kind,
        waited: float,
        *,
        method: str = "GET",
        attempt: int = 1,
        ends_at_reply: bool = False,
    ) -> None:
        self._reporter, self._host, self._url, self._kind = reporter, host, url, kind
        self._waited, self._method, self._attempt = max(waited, 0.0), method, attempt
        self.ends_at_reply = ends_at_reply
        self._page = events.PAGE.get()
        self._is_sent = self._is_over = False

    @classmethod
    def of(
        cls,
        reporter: Reporter,
        host: HostPace,
        chain: RedirectChain,
        *,
        asked: float,
        kind: events.Kind,
        method: str,
    ) -> Self:
        """The report of the next request of a chain, which was asked for some time ago."""
        url, waited, attempt = chain.target.url, host.clock() - asked, chain.attempt
        return cls(reporter, host, url, kind, waited, method=method, attempt=attempt)

    def departed(self, at: float) -> None:
        """Tell that the request has left."""
        if self._is_sent:
            return
        self._is_sent = True
        if not self._reporter.wants_starts:
            return
        self._reporter.tell(
            events.RequestStart(
                at,
                self._page,
                self._host.name,
                self._url,
                self._kind,
                self._method,
                self._attempt,
                self._waited,
            )
        )

    def end(self, reply: Response | Unreachable, size: int | None = None) -> None:
        """Tell how the request ended; `size` is how much of the body was read, if it is known."""
        if self._is_over:
            return
        self._is_over = True
        status, cause, detail = None, "", ""
        if isinstance(reply, Response):
            status, size = reply.status, len(reply.body) if size is None else size
        else:
            cause, detail = reply.cause, reply.detail
        host = self._host
        self._reporter.tell(
            events.RequestEnd(
                host.clock(),
                self._page,
                host.name,
                self._url,
                self._kind,
                self._method,
                self._attempt,
                self._waited,
                status,
                cause,
                detail,
                reply.seconds,
                size or 0,
                self._is_sent or status is not None,
                host.host_class,
            )
        )


_PAGES = count(1)


class PageScope:
    """A page that is being fetched: what is told meanwhile belongs to it."""

    def __init__(self, reporter: Reporter, url: str) -> None:
        self._reporter, self._url = reporter, url
        self._before = PAGE.get()
        self.status: int | None = None
        self.cause = ""

    def __enter__(self) -> Self:
        reporter, self._number = self._reporter, next(_PAGES)
        PAGE.set(self._number)
        if reporter.hears_pages:
            at, crawl, worker = reporter.clock(), reporter.crawl, reporter.worker
            reporter.tell(events.PageStart(at, self._number, self._url, crawl, worker))
        return self

    def end(self, page: Page) -> None:
        """What came of it."""
        self.status, self.cause = page.status, page.cause

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        reporter, number, at = self._reporter, self._number, self._reporter.clock()
        PAGE.set(self._before)
        if isinstance(error, HostDeferred):
            reporter.tell(events.HostDeferral(at, number, error.host, self._url, error.until))
        if reporter.hears_pages:
            cause = self.cause if error is None else type(error).__name__
            reporter.tell(events.PageEnd(at, number, self._url, self.status, cause))
