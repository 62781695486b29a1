"""Traces and metrics for OpenTelemetry: a listener for the events of clients and crawls.

    telemetry = Telemetry()
    for page in manners.crawl(["https://example.com/"], on_event=telemetry):
        ...

Spans go to the providers of the program, or those that are given: a crawl, its pages, and below a
page the requests for robots.txt and for itself, with the waits before them. A request has what the
semantic conventions for HTTP clients ask for. In metrics, no attribute holds a host or a URL: the
conventions want `server.address` there, of which a crawler has millions.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from manners import events
from manners._secrets import without_url_secrets
from manners._text import cut, printable
from manners.errors import MissingExtra
from manners.events import Event, cause_label, reason_label

try:
    from opentelemetry import context, metrics, trace
    from opentelemetry.trace import Span, SpanKind, StatusCode
except ModuleNotFoundError:
    raise MissingExtra("opentelemetry-api", "opentelemetry") from None

SCOPE = "manners"
_MAX_PAGES = 10_000
"""Pages under way whose spans are remembered; of more, the oldest are ended."""
_MAX_URL = 2_000
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))


class Telemetry:
    """Makes spans and metrics of what happens, for `on_event`.

    `tracer_provider` and `meter_provider` are by default those of the program. Outside a crawl, the
    span of a page is a child of the span that is current where the page is asked for.
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._instruments = Instruments(metrics.get_meter(SCOPE, meter_provider=meter_provider))
        self._crawls: dict[tuple[int, int], Span] = {}
        self._pages: dict[int, Span] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.CrawlStart: self._start_crawl,
            events.WorkerJoin: self._start_crawl,
            events.CrawlEnd: self._end_crawl,
            events.PageStart: self._start_page,
            events.PageEnd: self._end_page,
            events.UrlDecision: self._decide,
            events.RequestEnd: self._request,
            events.RequestRetry: self._retry,
        }

    def __call__(self, event: Event) -> None:
        """Take an event into account."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)
        self._instruments.count(event)

    # Spans.

    def _start_crawl(self, event: events.CrawlStart | events.WorkerJoin) -> None:
        key = event.crawl, event.worker
        if key not in self._crawls:
            attributes = {"manners.crawl": event.crawl, "manners.worker": event.worker}
            start = _nanoseconds(event.at)
            self._crawls[key] = self._tracer.start_span(
                "crawl", attributes=attributes, start_time=start
            )

    def _end_crawl(self, event: events.CrawlEnd) -> None:
        span = self._crawls.pop((event.crawl, event.worker), None)
        if span is not None:
            span.set_attributes(
                {"manners.reason": cut(event.reason, 200), "manners.pages": event.pages}
            )
            span.end(_nanoseconds(event.at))

    def _start_page(self, event: events.PageStart) -> None:
        crawl = self._crawls.get((event.crawl, event.worker))
        parent = None if crawl is None else trace.set_span_in_context(crawl)
        if len(self._pages) >= _MAX_PAGES:
            self._pages.pop(next(iter(self._pages))).end()
        self._pages[event.page] = self._tracer.start_span(
            "page",
            parent,
            attributes={"url.full": _url(event.url)},
            start_time=_nanoseconds(event.at),
        )

    def _end_page(self, event: events.PageEnd) -> None:
        span = self._pages.pop(event.page, None)
        if span is None:
            return
        if event.status is not None:
            span.set_attribute("http.response.status_code", event.status)
        elif event.cause:
            span.set_status(StatusCode.ERROR, cut(printable(event.cause), 200))
        span.end(_nanoseconds(event.at))

    def _decide(self, event: events.UrlDecision) -> None:
        span = self._pages.get(event.page)
        if span is not None and not event.allowed:
            span.add_event(
                "disallowed",
                {"manners.reason": str(event.reason), "url.full": _url(event.url)},
                _nanoseconds(event.at),
            )

    def _retry(self, event: events.RequestRetry) -> None:
        span = self._pages.get(event.page)
        if span is not None:
            attributes = {"manners.cause": cause_label(event.cause)}
            span.add_event("retry", attributes, _nanoseconds(event.at))

    def _request(self, event: events.RequestEnd) -> None:
        above = self._pages.get(event.page)
        if above is None and len(self._crawls) == 1:  # it is asked for before any page of its site
            (above,) = self._crawls.values()
        parent = context.get_current() if above is None else trace.set_span_in_context(above)
        start = event.at - event.seconds
        if event.waited > 0:
            wait = self._tracer.start_span(
                "wait",
                parent,
                attributes={"server.address": event.host, "manners.kind": event.kind},
                start_time=_nanoseconds(start - event.waited),
            )
            wait.end(_nanoseconds(start))
        if not event.is_sent:
            return
        method = _method(event.method)
        name = f"{method} /robots.txt" if event.kind == "robots" else method
        span = self._tracer.start_span(
            name,
            parent,
            SpanKind.CLIENT,
            attributes=_attributes(event, method),
            start_time=_nanoseconds(start),
        )
        if event.status is None or event.status >= 400:
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(event.at))


class Instruments:
    """What is measured, by event."""

    def __init__(self, meter: metrics.Meter) -> None:
        self._duration = meter.create_histogram(
            "http.client.request.duration", "s", "Duration of HTTP client requests."
        )
        self._size = meter.create_histogram(
            "http.client.response.body.size", "By", "Size of bodies, decompressed."
        )
        self._wait = meter.create_histogram("manners.wait.duration", "s", "Waits before requests.")
        self._evidence = meter.create_histogram(
            "manners.evidence.duration", "s", "How long records took to be durable."
        )
        self._urls = meter.create_gauge("manners.crawl.urls", "{url}", "Pages of the crawl.")
        self._decisions = meter.create_counter("manners.decisions", "{url}", "Decisions on URLs.")
        self._uses = meter.create_counter("manners.robots.uses", "{use}", "Uses of a robots.txt.")
        self._blocked = meter.create_counter("manners.crawl.blocked", "{url}", "Blocked in turn.")
        counters = {
            events.HostBackoff: ("manners.backoffs", "Replies that said: too much."),
            events.HostDeferral: ("manners.deferrals", "Pages put off until later."),
            events.RequestRetry: ("manners.retries", "Requests that are sent again."),
            events.SlotLoss: ("manners.slots.lost", "Slots of running requests that were lost."),
            events.StoreOutage: ("manners.store.outages", "Times that the store did not answer."),
            events.WorkerDeath: ("manners.workers.closed", "Silent workers that were closed."),
            events.LeaseExpiry: ("manners.leases.expired", "Times that this worker was closed."),
        }
        self._counters = {
            kind: meter.create_counter(name, "1", text) for kind, (name, text) in counters.items()
        }

    def count(self, event: Event) -> None:
        """Take an event into account."""
        counter = self._counters.get(type(event))
        if counter is not None:
            counter.add(1)
        elif isinstance(event, events.RequestEnd):
            self._count_request(event)
        elif isinstance(event, events.UrlDecision):
            reason = "" if event.allowed else str(event.reason)
            self._decisions.add(1, {"manners.allowed": event.allowed, "manners.reason": reason})
        elif isinstance(event, events.RecordCommit):
            self._evidence.record(event.seconds)
        elif isinstance(event, events.RobotsUse):
            labels = {"manners.source": event.source, "manners.availability": event.availability}
            self._uses.add(1, labels)
        elif isinstance(event, events.UrlBlock):
            self._blocked.add(1, {"manners.reason": reason_label(event.reason)})
        elif isinstance(event, events.CrawlBeat | events.CrawlEnd):
            for state in events.STATES:
                self._urls.set(event.states.get(state, 0), {"manners.state": state})

    def _count_request(self, event: events.RequestEnd) -> None:
        if not event.is_sent:
            return
        labels: dict[str, Any] = {
            "http.request.method": _method(event.method),
            "manners.kind": event.kind,
            "manners.host_class": event.host_class,
        } | _outcome(event)
        self._duration.record(event.seconds, labels)
        self._size.record(event.bytes, {"manners.kind": event.kind})
        self._wait.record(event.waited, {"manners.kind": event.kind})


def _method(method: str) -> str:
    """The method, from a fixed set; `_OTHER` where a library does not say."""
    return method if method in _METHODS else "_OTHER"


def _outcome(event: events.RequestEnd) -> dict[str, Any]:
    """Status and error of a request, as in the semantic conventions."""
    if event.status is None:
        return {"error.type": cause_label(event.cause)}
    if not 100 <= event.status < 600:
        return {"error.type": "other"}
    status = {"http.response.status_code": event.status}
    return status if event.status < 400 else status | {"error.type": str(event.status)}


def _attributes(event: events.RequestEnd, method: str) -> dict[str, Any]:
    """The attributes of the span of a request."""
    parts = urlsplit(event.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    resent = {"http.request.resend_count": event.attempt - 1} if event.attempt > 1 else {}
    return (
        {
            "http.request.method": method,
            "server.address": event.host,
            "server.port": port,
            "url.full": _url(event.url),
            "http.response.body.size": event.bytes,
            "manners.kind": event.kind,
            "manners.host_class": event.host_class,
            "manners.waited": round(event.waited, 6),
        }
        | _outcome(event)
        | resent
    )


def _url(url: str) -> str:
    return cut(printable(without_url_secrets(url)), _MAX_URL)


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)
