"""OpenTelemetry: spans from crawl to request, with the conventions' names; bounded metrics."""

import json
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import manners
from manners import events
from manners.compat.opentelemetry import Telemetry
from manners.net.messages import Unreachable
from manners.testing import Clock, ScriptedSender, run, skip_waiting
from tests.client.test_events import PAGES, SECRET, SITE, client_of


class Observed:
    """A listener, and what came of it."""

    def __init__(self) -> None:
        self._exporter, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.listener = Telemetry(self.provider, meters)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def metrics(self) -> dict[str, list[Any]]:
        """The points of each metric."""
        data = self._reader.get_metrics_data()
        assert data is not None
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return {
            each.name: list(each.data.data_points) for scope in scopes for each in scope.metrics
        }


def parent_of(span: ReadableSpan, spans: list[ReadableSpan]) -> str:
    """The name of the span that a span is below; empty for a root."""
    names = {each.context.span_id: each.name for each in spans if each.context}
    return "" if span.parent is None else names[span.parent.span_id]


def test_a_crawl_is_a_tree_of_spans() -> None:
    """crawl, page, and below a page robots.txt, waits and requests, each with its times."""
    clock, seen = Clock(), Observed()
    http = ScriptedSender(
        {**PAGES, f"{SITE}/gone": Unreachable("timeout", 2.0)}, clock, default=404
    )
    with skip_waiting(clock):
        pages = list(
            manners.crawl([f"{SITE}/"], http=http, clock=clock, on_event=seen.listener, attempts=1)
        )
    assert len(pages) == 4
    spans = seen.spans
    (crawl,) = seen.named("crawl")
    assert parent_of(crawl, spans) == ""
    assert {parent_of(span, spans) for span in seen.named("page")} == {"crawl"}
    for name in ("GET", "GET /robots.txt", "wait"):
        assert seen.named(name)
        assert {parent_of(span, spans) for span in seen.named(name)} <= {"page", "crawl"}
    assert {parent_of(span, spans) for span in seen.named("GET")} == {"page"}
    assert len({span.context.trace_id for span in spans if span.context}) == 1
    for span in spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
    (failed,) = [
        span
        for span in seen.named("GET")
        if span.status.status_code is StatusCode.ERROR
        and (span.attributes or {}).get("error.type") == "timeout"
    ]
    assert (failed.end_time or 0) - (failed.start_time or 0) == 2_000_000_000


def test_a_request_has_the_attributes_of_the_conventions() -> None:
    """Method, server, URL without secrets, status; an error where the status is one."""
    clock, seen = Clock(), Observed()
    http = ScriptedSender({}, clock, default=404)
    url = f"http://a.example:8080/x?token={SECRET}"

    async def go() -> None:
        async with client_of(http, clock, seen.listener) as client:
            await client.get(url)

    run(go(), clock)
    (span,) = seen.named("GET")
    attributes = dict(span.attributes or {})
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.ERROR
    assert {
        "http.request.method": "GET",
        "server.address": "a.example",
        "server.port": 8080,
        "url.full": "http://a.example:8080/x?token=***",
        "http.response.status_code": 404,
        "error.type": "404",
    }.items() <= attributes.items()
    assert SECRET not in json.dumps([dict(each.attributes or {}) for each in seen.spans])


def test_a_page_is_below_the_span_of_the_program() -> None:
    """Outside a crawl, it belongs to whatever span is current."""
    clock, seen = Clock(), Observed()
    http = ScriptedSender({}, clock, default="text")

    async def go() -> None:
        tracer = trace.get_tracer("program", tracer_provider=seen.provider)
        async with client_of(http, clock, seen.listener) as client:
            with tracer.start_as_current_span("job"):
                await client.get(f"{SITE}/")

    run(go(), clock)
    assert [parent_of(span, seen.spans) for span in seen.named("page")] == ["job"]


def test_metrics_have_no_host_and_stay_few() -> None:
    """Ten thousand hosts and whatever causes they give make a handful of series."""
    seen = Observed()
    for number in range(10_000):
        host = f"h{number}.example"
        url, cause = f"https://{host}/", f"cause {number}"
        seen.listener._instruments.count(
            events.RequestEnd(
                *(0.0, 0, host, url, "page", f"M{number}", 1, 0.1, None, cause, "", 0.1, 5, True),
                "normal",
            )
        )
        seen.listener(events.UrlBlock(0.0, host, url, cause))
    found = seen.metrics()
    assert {name: len(points) for name, points in found.items()} == {
        "http.client.request.duration": 1,
        "http.client.response.body.size": 1,
        "manners.wait.duration": 1,
        "manners.crawl.blocked": 1,
    }
    assert found["http.client.request.duration"][0].count == 10_000


def test_pages_that_never_end_do_not_pile_up() -> None:
    """Of more than ten thousand, the oldest spans are ended."""
    seen = Observed()
    for number in range(10_050):
        seen.listener(events.PageStart(0.0, number, SITE))
    assert len(seen.listener._pages) == 10_000
    assert len(seen.spans) == 50
