"""Health: whether the service runs, whether it can answer, and how much it has done.

`/metrics` is the text format of Prometheus: what the service counts itself, and the metrics of its
client, which are those of any other.
"""

import time
from collections.abc import Iterator

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from manners.web.problems import ServiceProblem
from manners.web.service import SERVICE, Service

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_ROUTE_STATUS = ("route", "status")


async def is_alive(_: web.Request) -> web.Response:
    """That the service runs."""
    return web.Response(text="ok\n")


async def is_ready(request: web.Request) -> web.Response:
    """That the service takes requests: not while it is stopping."""
    if request.app[SERVICE].stopping.is_set():
        raise ServiceProblem(503, "The service is stopping.", "Ask another one.")
    return web.Response(text="ok\n")


async def show_metrics(request: web.Request) -> web.Response:
    """What the service has done, and does now; and what its client has."""
    service = request.app[SERVICE]
    own = CollectorRegistry()
    own.register(ServiceCollector(service))
    text = generate_latest(own) + generate_latest(service.serving.registry)
    return web.Response(body=text, headers={"Content-Type": _TEXT})


class ServiceCollector(Collector):
    """The numbers of the service, as metrics."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Each metric."""
        service, name = self._service, "manners_service_requests"
        replies = CounterMetricFamily(name, "Replies, by route and status.", None, _ROUTE_STATUS)
        for (route, status), number in sorted(service.replies.items()):
            replies.add_metric((route, str(status)), number)
        yield replies
        text = "Seconds that replies took."
        seconds = CounterMetricFamily(f"{name}_seconds", text, None, ["route"])
        for route, total in sorted(service.seconds.items()):
            seconds.add_metric([route], total)
        yield seconds
        robots, traffic = service.client.robots.statistics(), service.traffic
        expired, uptime = service.leases.expired, time.time() - service.started
        for gauge, what, value in (
            ("requests_running", "Requests under way.", traffic.requests),
            ("streams", "Live pages that are open.", traffic.streams),
            ("leases", "Slots that are reserved.", len(service.leases)),
            ("robots_entries", "Sites whose robots.txt is known.", robots.entries),
            ("uptime_seconds", "Since the start.", round(uptime, 3)),
        ):
            yield GaugeMetricFamily(f"manners_service_{gauge}", what, value)
        text = "Slots that were not given back in time."
        yield CounterMetricFamily("manners_service_leases_expired", text, expired)


ROUTES = (
    web.get("/healthz", is_alive),
    web.get("/readyz", is_ready),
    web.get("/metrics", show_metrics),
)
