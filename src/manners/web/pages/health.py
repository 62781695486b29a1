"""Health: whether the service runs, whether it can answer, and how much it has done.

`/metrics` is the text format of Prometheus, version 0.0.4.
"""

import time
from collections.abc import Iterator

from aiohttp import web

from manners.web.problems import ServiceProblem
from manners.web.service import SERVICE, Service

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def is_alive(_: web.Request) -> web.Response:
    """That the service runs."""
    return web.Response(text="ok\n")


async def is_ready(request: web.Request) -> web.Response:
    """That the service takes requests: not while it is stopping."""
    if request.app[SERVICE].stopping.is_set():
        raise ServiceProblem(503, "The service is stopping.", "Ask another one.")
    return web.Response(text="ok\n")


async def show_metrics(request: web.Request) -> web.Response:
    """What the service has done, and does now."""
    text = "".join(f"{line}\n" for line in _lines(request.app[SERVICE]))
    return web.Response(body=text.encode(), headers={"Content-Type": _TEXT})


def _lines(service: Service) -> Iterator[str]:
    yield from _head("manners_requests_total", "counter", "Replies, by route and status.")
    for (route, status), number in sorted(service.replies.items()):
        yield f'manners_requests_total{{route="{_label(route)}",status="{status}"}} {number}'
    yield from _head("manners_request_seconds_total", "counter", "Seconds that replies took.")
    for route, seconds in sorted(service.seconds.items()):
        yield f'manners_request_seconds_total{{route="{_label(route)}"}} {seconds:.6f}'
    robots, traffic = service.client.robots.statistics(), service.traffic
    values = (
        ("manners_requests_running", "gauge", "Requests under way.", traffic.requests),
        ("manners_streams", "gauge", "Live pages that are open.", traffic.streams),
        ("manners_leases", "gauge", "Slots that are reserved.", len(service.leases)),
        ("manners_leases_expired_total", "counter", "Not given back.", service.leases.expired),
        ("manners_robots_entries", "gauge", "Sites whose robots.txt is known.", robots.entries),
        ("manners_robots_retrievals_total", "counter", "Retrievals.", robots.retrievals),
        ("manners_robots_unreachable_total", "counter", "Failed ones.", robots.unreachable),
        ("manners_uptime_seconds", "gauge", "Since the start.", time.time() - service.started),
    )
    for name, kind, text, value in values:
        yield from _head(name, kind, text)
        yield f"{name} {round(value, 3)}"


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


ROUTES = (
    web.get("/healthz", is_alive),
    web.get("/readyz", is_ready),
    web.get("/metrics", show_metrics),
)
