"""Crawls: those of a store, and one that can be watched, stopped and resumed.

The page of a crawl is whole without a script. A script replaces those of its parts that change, as
server-sent events bring them: `GET /crawls/1/events`.
"""

from typing import Any

import msgspec
from aiohttp import web
from markupsafe import Markup

from manners._text import cut
from manners.crawler.status import RUNNING, ListedCrawl, crawls_of
from manners.crawler.stopping import stop_crawl
from manners.report.looking import LiveCrawl
from manners.web.live_parts import Controls, is_live, parts
from manners.web.pages import PageLink
from manners.web.problems import ServiceProblem
from manners.web.rendering import page
from manners.web.service import DEADLINE, SERVICE, Call, Service
from manners.web.watching import CrawlWatch

LINK = PageLink(40, "Crawls", "/crawls")
CRAWL = "/crawls/{crawl:[0-9]{1,15}}"
_LISTED = 200
"""Crawls that are listed, the latest."""
_HEARTBEAT = 15.0
"""Seconds after which a stream says that it is still there, so that no proxy closes it."""
_AGAIN = 3_000
"""Milliseconds after which a browser asks again if a stream was cut off."""

_encode = msgspec.json.Encoder().encode


def crawl_of(request: web.Request) -> int:
    """The number of the crawl that a request is about."""
    return int(request.match_info["crawl"])


async def show_list(request: web.Request) -> web.Response:
    """The crawls of the store, the latest first."""
    service = request.app[SERVICE]
    crawls: list[ListedCrawl] = await service.crawls.store.read(crawls_of)
    return page(
        request,
        "crawls.html",
        crawls=crawls[: -_LISTED - 1 : -1],
        total=len(crawls),
        running=RUNNING,
        place=service.crawls.store.place,
        cut=cut,
    )


async def show(request: web.Request) -> web.Response:
    """One crawl."""
    service, number = request.app[SERVICE], crawl_of(request)
    view = await service.crawls.look(number)
    controls = _controls(service, number)
    starts = view.progress.start.split(" ")
    return page(
        request,
        "crawl.html",
        number=number,
        start=starts[0],
        others=len(starts) - 1,
        live=is_live(view, controls),
        parts={name: Markup(html) for name, html in parts(view, controls).items()},  # noqa: S704
    )


async def stream(request: web.Request) -> web.StreamResponse:
    """What changes on the page of a crawl, until it ends."""
    call, number = Call.of(request), crawl_of(request)
    service = call.service
    async with service.traffic.stream(call.client), service.crawls.following(number) as watch:
        # In time, or it is a problem; from then on it takes as long as the crawl.
        view = await watch.next(None, service.serving.limits.request_seconds)
        if view is None:
            raise ServiceProblem(503, "The store does not answer.", "Ask again later.")
        service.deadlines.end(request[DEADLINE])
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        await reply.write(f"retry: {_AGAIN}\n\n".encode())
        await _tell(reply, service, watch, view)
        return reply


async def _tell(
    reply: web.StreamResponse, service: Service, watch: CrawlWatch, view: LiveCrawl | None
) -> None:
    """Write what is new, at once; a client that does not read keeps only this task waiting."""
    sent: dict[str, str] = {}
    seen: LiveCrawl | None = None
    while True:
        if view is not None:
            seen, controls = view, _controls(service, view.progress.crawl)
            now = parts(view, controls)
            changed = {name: str(html) for name, html in now.items() if sent.get(name) != html}
            sent.update(changed)
            if changed:
                await reply.write(_event("parts", changed))
        elif not watch.is_over:
            await reply.write(b": still here\n\n")
        if watch.is_over and watch.view is seen:
            if not service.stopping.is_set():
                await reply.write(_event("end", {}))
            return
        view = await watch.next(seen, _HEARTBEAT)


def _event(name: str, values: Any) -> bytes:
    """An event: JSON has no line breaks."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), _encode(values))


async def stop(request: web.Request) -> web.Response:
    """Have the workers of a crawl finish and end."""
    service, number = _controlled(request), crawl_of(request)
    settings, place = service.settings, service.settings.store
    if place is None:
        raise ServiceProblem(404, "This service has no store.", "Start it with --store PLACE.")
    await service.crawls.store.run(
        lambda: stop_crawl(place, number, timeout=settings.server_timeout)
    )
    return _back_to(number)


async def resume(request: web.Request) -> web.Response:
    """Resume a crawl in a process of this service, unless somebody works on it."""
    service, number = _controlled(request), crawl_of(request)
    view = await service.crawls.look(number)
    if not view.progress.is_running:
        await service.crawls.resumed.start(number)
    return _back_to(number)


def _controlled(request: web.Request) -> Service:
    """The service, if it may be used to stop and resume crawls."""
    service = request.app[SERVICE]
    if not service.serving.control:
        raise ServiceProblem(
            403, "This service neither stops nor resumes crawls.", "Start it with --control."
        )
    return service


def _controls(service: Service, crawl: int) -> Controls:
    is_starting = service.crawls.resumed.has(crawl)
    problem = service.crawls.resumed.problems.get(crawl, "")
    return Controls(service.serving.control, is_starting, problem)


def _back_to(crawl: int) -> web.Response:
    return web.Response(status=303, headers={"Location": f"/crawls/{crawl}"})


ROUTES = (
    web.get("/crawls", show_list),
    web.get(CRAWL, show),
    web.get(f"{CRAWL}/events", stream),
    web.post(f"{CRAWL}/stop", stop),
    web.post(f"{CRAWL}/resume", resume),
)
