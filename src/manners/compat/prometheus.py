"""Metrics for Prometheus: a listener for the events of clients and crawls, and a page to scrape.

    metrics = Metrics()
    with metrics.serve(9464):
        for page in manners.crawl(["https://example.com/"], on_event=metrics):
            ...

No label holds a host, a URL or anything else that a site has sent: each label has a fixed set of
values, so there are as many time series for a million hosts as for one.
"""

import socket
import threading
import time
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from socketserver import TCPServer
from typing import Any

from manners import events
from manners.errors import MissingExtra
from manners.events import STATES, Event, cause_label, reason_label, status_label

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.registry import Collector
except ModuleNotFoundError:
    raise MissingExtra("prometheus-client", "prometheus") from None

PORT = 9464
"""Where metrics of Python programs are mostly served."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_WAITS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_ANSWERS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_COMMITS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
_MAX_HOSTS = 10_000
"""Hosts that are backed off from and are remembered; the oldest are forgotten."""
_MAX_SCRAPES, _TIMEOUT = 8, 10.0
"""Connections at a time, and seconds that one may stand still."""


class Metrics:
    """Counts what happens, for `on_event`; one for a process, however many clients it has.

    `registry` is where the metrics are registered, by default a registry of their own.

    >>> metrics = Metrics()
    >>> metrics(events.HostEnd(0.0, "a.example"))
    >>> b"manners_hosts_done_total 1.0" in metrics.text()
    True
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        self._backing_off: dict[str, float] = {}
        self.handlers: dict[type, Callable[[Any], None]] = {}
        """What takes each event; others are not made for it."""
        self._count_requests()
        self._count_decisions()
        self._count_robots()
        self._count_crawls()
        self._count_troubles()

    def __call__(self, event: Event) -> None:
        """Take an event into account."""
        handler = self.handlers.get(type(event))
        if handler is not None:
            handler(event)

    def text(self) -> bytes:
        """Everything, in the text format of Prometheus."""
        return generate_latest(self.registry)

    @contextmanager
    def serve(self, port: int = PORT, address: str = "127.0.0.1") -> Iterator[str]:
        """Serve the metrics, as `/metrics`; yields the address. Port 0 is any that is free."""
        server = _Server((address, port), _handler(self.text))
        thread = threading.Thread(target=server.serve_forever, name="manners-metrics", daemon=True)
        thread.start()
        shown = f"[{address}]" if ":" in address else address
        try:
            yield f"http://{shown}:{server.server_address[1]}/metrics"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    # What is counted.

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"manners_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"manners_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Any:
        return Histogram(f"manners_{name}", text, labels, buckets=buckets, registry=self.registry)

    def _count_requests(self) -> None:
        failures = self._counter(
            "request_failures", "Requests without an answer, sent or not.", "kind", "cause"
        )
        requests = RequestCounts()
        self.registry.register(requests)

        def end(event: events.RequestEnd) -> None:
            if event.status is None:
                failures.labels(event.kind, cause_label(event.cause)).inc()
            if event.is_sent:
                requests.count(event)

        self.handlers[events.RequestEnd] = end
        retries = self._counter("retries", "Requests that are sent again.")
        self.handlers[events.RequestRetry] = _incrementing(retries)

    def _count_decisions(self) -> None:
        allowed = self._counter("allowed", "URLs that may be requested.")
        disallowed = self._counter("disallowed", "URLs that may not, by reason.", "reason")
        evidence = self._histogram(
            "evidence_seconds", "How long records took to be durable.", _COMMITS
        )
        blocked = self._counter("blocked", "URLs of crawls that were blocked in turn.", "reason")

        def decide(event: events.UrlDecision) -> None:
            if event.allowed:
                allowed.inc()
            else:
                disallowed.labels(str(event.reason)).inc()

        def block(event: events.UrlBlock) -> None:
            blocked.labels(reason_label(event.reason)).inc()

        self.handlers[events.UrlDecision] = decide
        self.handlers[events.RecordCommit] = lambda event: evidence.observe(event.seconds)
        self.handlers[events.UrlBlock] = block

    def _count_robots(self) -> None:
        counter = self._counter("robots_uses", "Uses of a robots.txt.", "source")
        uses = {source: counter.labels(source) for source in ("memory", "store", "site")}
        retrievals = self._counter(
            "robots_retrievals", "Retrievals of a robots.txt, by outcome.", "availability"
        )

        def use(event: events.RobotsUse) -> None:
            uses[event.source].inc()
            if event.source == "site":
                retrievals.labels(event.availability).inc()

        self.handlers[events.RobotsUse] = use

    def _count_crawls(self) -> None:
        urls = self._gauge("crawl_urls", "Pages of the crawl, by state.", "state")
        pages = self._gauge("crawl_pages_used", "Pages of the budget that are used.")
        hosts = self._gauge("crawl_hosts", "Hosts that this process owns.")
        running = self._gauge("crawl_requests_running", "Requests of this process under way.")
        workers = self._gauge("crawl_workers", "Workers that live.")
        started = self._counter("crawls_started", "Crawls that began, or were resumed.")
        ended = self._counter("crawls_ended", "Crawls, or parts of workers, that ended.")
        joined = self._counter("workers_joined", "Times that this process joined a crawl.")
        done = self._counter("hosts_done", "Times that nothing was left at a host.")

        def show(states: Mapping[str, int], used: int) -> None:
            for state in STATES:
                urls.labels(state).set(states.get(state, 0))
            pages.set(used)

        def progress(event: events.CrawlBeat) -> None:
            show(event.states, event.pages)
            hosts.set(event.hosts)
            running.set(event.running)
            workers.set(event.workers)

        def end(event: events.CrawlEnd) -> None:
            show(event.states, event.pages)
            hosts.set(0)
            running.set(0)
            workers.set(0)
            ended.inc()

        self.handlers[events.CrawlBeat] = progress
        self.handlers[events.CrawlEnd] = end
        self.handlers[events.CrawlStart] = lambda _: started.inc()
        self.handlers[events.WorkerJoin] = lambda _: joined.inc()
        self.handlers[events.HostEnd] = lambda _: done.inc()

    def _count_troubles(self) -> None:
        backoffs = self._counter("backoffs", "Replies that said: too much.", "status")
        backing_off = self._gauge("hosts_backing_off", "Hosts that get no requests for now.")
        away = self._gauge("store_away", "1 while the store does not answer.")
        outages = self._counter("store_outages", "Times that the store did not answer.")
        counters = {
            events.HostDeferral: ("deferrals", "Pages put off, because their host has to wait."),
            events.SlotLoss: ("slots_lost", "Slots of running requests that were lost."),
            events.CacheProblem: ("cache_failures", "Times that the cache's store failed."),
            events.RetrievalProblem: ("robots_problems", "Retrievals that failed or were cut."),
            events.BudgetWarning: ("budget_warnings", "Budgets that are nearly used up."),
            events.OperatorWarning: ("warnings", "Other warnings to the operator."),
            events.WorkerDeath: ("workers_closed", "Silent workers that this one closed."),
            events.LeaseExpiry: ("leases_expired", "Times that this worker was closed."),
        }
        for event_type, (name, text) in counters.items():
            self.handlers[event_type] = _incrementing(self._counter(name, text))
        backing_off.set_function(self._number_backing_off)

        def back_off(event: events.HostBackoff) -> None:
            backoffs.labels(status_label(event.status)).inc()
            hosts = self._backing_off
            hosts.pop(event.host, None)
            if len(hosts) >= _MAX_HOSTS:
                del hosts[next(iter(hosts))]
            hosts[event.host] = event.at + event.seconds

        def lose(_: events.StoreOutage) -> None:
            away.set(1)
            outages.inc()

        self.handlers[events.HostBackoff] = back_off
        self.handlers[events.StoreOutage] = lose
        self.handlers[events.StoreReturn] = lambda _: away.set(0)

    def _number_backing_off(self) -> int:
        """How many hosts get no requests now; others may be added meanwhile."""
        now = time.time()
        return sum(until > now for until in list(self._backing_off.values()))


class _KindCounts:
    """What was counted of requests of one kind; a histogram is a number for each bucket."""

    def __init__(self) -> None:
        self.bytes = 0
        self.waits, self.answers = [0] * (len(_WAITS) + 1), [0] * (len(_ANSWERS) + 1)
        self.waited = self.answered = 0.0
        """Seconds, in total."""


class RequestCounts(Collector):
    """Counts requests: quicker than the metrics of the library, for what comes most often."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int | None], int] = {}
        self._kinds: dict[str, _KindCounts] = {}

    def count(self, event: events.RequestEnd) -> None:
        """Count a request that left, and has ended."""
        kind, status = event.kind, event.status
        if status is not None and not 0 <= status < 1_000:
            status = 0
        key, seconds, waited = (kind, event.host_class, status), event.seconds, event.waited
        with self._lock:
            self._requests[key] = self._requests.get(key, 0) + 1
            counts = self._kinds.get(kind)
            if counts is None:
                counts = self._kinds[kind] = _KindCounts()
            counts.bytes += event.bytes
            counts.waits[bisect_left(_WAITS, waited)] += 1
            counts.answers[bisect_left(_ANSWERS, seconds)] += 1
            counts.waited += waited
            counts.answered += seconds

    def collect(self) -> Iterator[Metric]:
        """The metrics."""
        text = "Requests that left, by kind, class of host and status."
        labels = ("kind", "host_class", "status")
        requests = CounterMetricFamily("manners_requests", text, None, labels)
        text = "Bytes of bodies, decompressed."
        size = CounterMetricFamily("manners_response_bytes", text, None, ["kind"])
        text = "How long requests waited."
        waits = HistogramMetricFamily("manners_wait_seconds", text, labels=["kind"])
        text = "How long requests took."
        answers = HistogramMetricFamily("manners_request_seconds", text, labels=["kind"])
        with self._lock:
            by_label: Counts[tuple[str, str, str]] = Counts()
            for (kind, host_class, status), number in self._requests.items():
                by_label[kind, host_class, status_label(status)] += number
            for kind, counts in self._kinds.items():
                size.add_metric([kind], counts.bytes)
                waits.add_metric([kind], _buckets(_WAITS, counts.waits), counts.waited)
                answers.add_metric([kind], _buckets(_ANSWERS, counts.answers), counts.answered)
        for key, number in by_label.items():
            requests.add_metric(key, number)
        yield from (requests, size, waits, answers)


def _buckets(bounds: Sequence[float], numbers: Sequence[int]) -> list[tuple[str, float]]:
    """The buckets of a histogram as Prometheus has them: each includes those before it."""
    names = [*map(str, bounds), "+Inf"]
    return [(name, float(total)) for name, total in zip(names, accumulate(numbers), strict=True)]


def _incrementing(counter: Counter) -> Callable[[Event], None]:
    return lambda _: counter.inc()


# The page to scrape.


class _Server(ThreadingHTTPServer):
    """Serves a few connections at a time; those beyond that are closed."""

    daemon_threads = True

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._places = threading.BoundedSemaphore(_MAX_SCRAPES)
        if ":" in place[0]:
            self.address_family = socket.AF_INET6
        super().__init__(place, handler)

    def server_bind(self) -> None:
        """Take the port; without a lookup of this machine's name, which may take long."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, if there is a place."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and give the place back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, *_: Any) -> None:
        """Nothing: whoever scrapes went away."""


def _handler(text: Callable[[], bytes]) -> type[BaseHTTPRequestHandler]:
    class MetricsPage(BaseHTTPRequestHandler):
        timeout = _TIMEOUT
        server_version, sys_version = "manners", ""

        def do_GET(self) -> None:
            """The metrics, at `/metrics`."""
            is_found = self.path.partition("?")[0] in ("/metrics", "/")
            body = text() if is_found else b"metrics are at /metrics\n"
            self.send_response(200 if is_found else 404)
            self.send_header("Content-Type", CONTENT_TYPE if is_found else "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: scrapes are not logged."""

    return MetricsPage
