"""What a client and a crawl tell while they work: a stream of small, frozen values. Quiet.

`on_event` of a client, a cache or a crawl is called with each, at once and where it happens. The
log, metrics and traces are made of nothing else.

    page-start, decision, evidence, wait, request, backoff, response, retry, deferral, page-end
    retrieval, retrieval-failure, cache-failure, warning, budget, slot-lost
    crawl-start, worker-joined, progress, blocked, host-done, worker-died, lease-expired, crawl-end
    store-away, store-back

`at` is the time by the client's clock, in seconds since the epoch. `page` is the number of the page
of this process that something was done for, 0 if for none.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Literal, NamedTuple

from manners.robots.verdict import Reason, Verdict

Kind = Literal["page", "file", "robots"]
"""What is requested: a page; a sitemap or another file about pages; a robots.txt."""
HostClass = Literal["normal", "delayed", "backing-off"]
"""How a host is asked: at the user's pace; at a slower one that its robots.txt asks for; or slower,
because it said 429 or 503 a short time ago."""
Source = Literal["memory", "store", "site"]
"""Where a robots.txt comes from."""

PAGE: ContextVar[int] = ContextVar("manners-page", default=0)
"""The number of the page that is being fetched here."""


class PageStart(NamedTuple):
    """A page is asked for; `crawl` and `worker` are 0 outside a crawl."""

    at: float
    page: int
    url: str
    crawl: int = 0
    worker: int = 0


class PageEnd(NamedTuple):
    """A page is there, or is not to be had; `cause` is why it has no status."""

    at: float
    page: int
    url: str
    status: int | None
    cause: str


class UrlDecision(NamedTuple):
    """Whether a URL may be requested was decided."""

    at: float
    page: int
    host: str
    url: str
    allowed: bool
    lazy_verdict: Callable[[], Verdict]
    """Read `verdict` instead."""

    @property
    def verdict(self) -> Verdict:
        """The whole answer; it is worked out when it is first read."""
        return self.lazy_verdict()

    @property
    def reason(self) -> Reason:
        """What decided."""
        return self.lazy_verdict().reason


class RecordCommit(NamedTuple):
    """The evidence of a decision is durable; `seconds` is how long the request waited for that."""

    at: float
    page: int
    host: str
    url: str
    seconds: float


class HostWait(NamedTuple):
    """A request waits for its start time; after that, it may wait for a slot."""

    at: float
    page: int
    host: str
    seconds: float


class RequestStart(NamedTuple):
    """A request has left."""

    at: float
    page: int
    host: str
    url: str
    kind: Kind
    method: str
    attempt: int
    """1 for the first."""
    waited: float
    """Seconds that it waited for its turn."""


class RequestEnd(NamedTuple):
    """A request was answered, or failed."""

    at: float
    page: int
    host: str
    url: str
    kind: Kind
    method: str
    attempt: int
    waited: float
    status: int | None
    """None if no answer came."""
    cause: str
    """Why no answer came."""
    detail: str
    """The same in more words."""
    seconds: float
    """From the start of the request to the end of the body, as far as it was read."""
    bytes: int
    """Bytes of the body that were read, decompressed; 0 where another library reads it."""
    is_sent: bool
    """Whether the request has left: not one to an address that was refused."""
    host_class: HostClass


class RequestRetry(NamedTuple):
    """A request is sent again; `attempt` counts from 1, so that the first retry is 2."""

    at: float
    page: int
    host: str
    url: str
    cause: str
    attempt: int


class HostBackoff(NamedTuple):
    """A host said that it is overloaded, and gets no requests for some seconds."""

    at: float
    host: str
    status: int
    seconds: float


class HostDeferral(NamedTuple):
    """A page was given up for now: its host may not be asked before a time."""

    at: float
    page: int
    host: str
    url: str
    until: float


class SlotLoss(NamedTuple):
    """The slot of a running request was lost, so that the request was stopped."""

    at: float
    page: int
    host: str


class RobotsUse(NamedTuple):
    """A robots.txt was used: from memory, from a store, or just retrieved."""

    at: float
    page: int
    host: str
    status: int | None
    source: Source
    age: float
    """Seconds since the site last confirmed it."""
    bytes: int
    availability: str
    """`available`, `unavailable` or `unreachable`, as in RFC 9309."""


class RetrievalProblem(NamedTuple):
    """The retrieval of a robots.txt failed, or a limit was exceeded."""

    at: float
    host: str
    message: str


class CacheProblem(NamedTuple):
    """The store of a cache does not answer; the cache goes on without it."""

    at: float
    message: str


class OperatorWarning(NamedTuple):
    """Something that the operator should know."""

    at: float
    message: str


class BudgetWarning(NamedTuple):
    """A budget is nearly used up."""

    at: float
    message: str


class StoreOutage(NamedTuple):
    """The store does not answer; a crawl waits for it."""

    at: float
    message: str


class StoreReturn(NamedTuple):
    """The store answers again."""

    at: float
    message: str


class CrawlStart(NamedTuple):
    """A crawl begins, or is resumed."""

    at: float
    crawl: int
    worker: int
    is_resumed: bool


class WorkerJoin(NamedTuple):
    """This process is a worker of a crawl from now on."""

    at: float
    crawl: int
    worker: int


class CrawlBeat(NamedTuple):
    """How far a crawl is, about once a second; a worker of several knows of all of them."""

    at: float
    crawl: int
    worker: int
    states: Mapping[str, int]
    """How many pages are queued, leased, done, failed and blocked."""
    pages: int
    """Pages of the budget that are used."""
    running: int
    """Requests under way in this process."""
    hosts: int
    """Hosts that this process owns."""
    workers: int
    """Workers that live."""


class UrlBlock(NamedTuple):
    """A URL whose turn had come is blocked; `reason` is as in the status of the crawl."""

    at: float
    host: str
    url: str
    reason: str


class HostEnd(NamedTuple):
    """Nothing is left to fetch at a host, until a page leads to more."""

    at: float
    host: str


class WorkerDeath(NamedTuple):
    """Another worker was not heard of, and was closed by this one: its hosts are free."""

    at: float
    crawl: int
    worker: int
    """Which one."""


class LeaseExpiry(NamedTuple):
    """This worker was not heard of in time, so that another one closed it; it joins again."""

    at: float
    message: str


class CrawlEnd(NamedTuple):
    """A crawl ended, or this worker's part of it."""

    at: float
    crawl: int
    worker: int
    reason: str
    states: Mapping[str, int]
    pages: int


PageEvent = PageStart | PageEnd | UrlDecision | RecordCommit | HostDeferral
RequestEvent = HostWait | RequestStart | RequestEnd | RequestRetry | HostBackoff | SlotLoss
RobotsEvent = RobotsUse | RetrievalProblem | CacheProblem
OperatorEvent = OperatorWarning | BudgetWarning | StoreOutage | StoreReturn | LeaseExpiry
CrawlEvent = CrawlStart | WorkerJoin | CrawlBeat | UrlBlock | HostEnd | WorkerDeath | CrawlEnd
Event = PageEvent | RequestEvent | RobotsEvent | OperatorEvent | CrawlEvent
Listener = Callable[[Event], object]
"""What `on_event` takes: it is called with every event, and should return at once."""

NAMES: dict[type[Event], str] = {
    PageStart: "page-start",
    PageEnd: "page-end",
    UrlDecision: "decision",
    RecordCommit: "evidence",
    HostWait: "wait",
    RequestStart: "request",
    RequestEnd: "response",
    RequestRetry: "retry",
    HostBackoff: "backoff",
    HostDeferral: "deferral",
    SlotLoss: "slot-lost",
    RobotsUse: "retrieval",
    RetrievalProblem: "retrieval-failure",
    CacheProblem: "cache-failure",
    OperatorWarning: "warning",
    BudgetWarning: "budget",
    StoreOutage: "store-away",
    StoreReturn: "store-back",
    CrawlStart: "crawl-start",
    WorkerJoin: "worker-joined",
    CrawlBeat: "progress",
    UrlBlock: "blocked",
    HostEnd: "host-done",
    WorkerDeath: "worker-died",
    LeaseExpiry: "lease-expired",
    CrawlEnd: "crawl-end",
}
"""What each is called in the log."""

# Labels: what metrics may tell apart, whatever sites send.

STATES = ("queued", "leased", "done", "failed", "blocked", "kept")
"""The states of a page of a crawl."""
STATUSES = frozenset(
    (
        *(200, 203, 204, 206, 300, 301, 302, 303, 304, 307, 308),
        *(400, 401, 403, 404, 405, 406, 410, 414, 416, 421, 429, 451),
        *(500, 501, 502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 530),
    )
)
"""Statuses with a label of their own."""
CAUSES = frozenset(
    (
        *("timeout", "refused address", "TLS error", "proxy failed", "no such host"),
        *("connection refused", "cannot connect", "connection lost", "body cut short"),
        *("not HTTP", "bad content-encoding", "turn lost", "given up"),
    )
)
"""Why a request got no answer."""
REASONS = frozenset(
    (
        *map(str, Reason),
        *("depth", "nofollow", "no-room", "not-named", "other-host", "over-cap", "redirect"),
        *("too-many-redirects", "too-many-origins", "trap", "undecided", "invalid-url"),
    )
)
"""Why a URL is blocked."""


def status_label(status: int | None) -> str:
    """The label of a status: itself, if it is a usual one, or its class.

    >>> status_label(429), status_label(299), status_label(999), status_label(None)
    ('429', '2xx', 'other', 'none')
    """
    if status is None:
        return "none"
    if status in STATUSES:
        return str(status)
    return f"{status // 100}xx" if 100 <= status < 600 else "other"


def cause_label(cause: str) -> str:
    """The label of a cause, or `other`."""
    return cause if cause in CAUSES else "other"


def reason_label(reason: str) -> str:
    """The label of a reason, or `other`.

    >>> reason_label("trap: a loop of paths"), reason_label("whatever")
    ('trap', 'other')
    """
    kind = reason.partition(":")[0]
    return kind if kind in REASONS else "other"
