"""The service: what all requests share, and one request as pages and API see it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from aiohttp import web

from manners.cache.site import Site
from manners.client.async_client import AsyncClient
from manners.errors import MissingExtra
from manners.events import Listener
from manners.robots.agents import WILDCARD
from manners.settings import Settings
from manners.urls import origin
from manners.web.deadlines import Deadlines
from manners.web.leases import Leases
from manners.web.limits import ServiceLimits, Traffic, client_of
from manners.web.problems import ServiceProblem
from manners.web.watching import StoredCrawls

try:
    from prometheus_client import CollectorRegistry
except ModuleNotFoundError:
    raise MissingExtra("prometheus-client", "serve") from None

_T = TypeVar("_T")
START_WITHIN = 0.5
"""Seconds for a request to leave after a crawler was told that it may, where other processes ask
the same hosts: these allow for twice as long."""
_SITES = 10_000
"""Sites whose robots.txt is kept in memory."""


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How the service is reached, and what it may do."""

    host: str = "127.0.0.1"
    port: int = 9309
    token: str | None = None
    """What every request has to bring; None only where this machine alone can ask."""
    names: tuple[str, ...] = ()
    """Names that it is reached by, besides localhost and addresses."""
    control: bool = False
    """Whether crawls may be stopped and resumed."""
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    """What `/metrics` shows, besides what the service counts itself."""
    on_event: Listener | None = None
    """Takes the events of the client that asks sites."""


class Service:
    """What all requests share: the polite client, the limits, and what has been counted."""

    def __init__(self, settings: Settings, serving: Serving) -> None:
        self.settings, self.serving = settings, serving
        self.overrides = settings.overrides
        """What the settings decide before robots.txt does."""
        self.traffic = Traffic(serving.limits, time.monotonic)
        self.replies: dict[tuple[str, int], int] = {}
        """How many replies there were, by route and status."""
        self.seconds: dict[str, float] = {}
        """Seconds that replies took, in total, by route."""
        self.started = time.time()
        self.stopping = asyncio.Event()
        """Set when the service is about to end."""
        self.leases = Leases()
        self.deadlines = Deadlines(serving.limits.request_seconds)
        self.crawls = StoredCrawls(settings)
        self.client: AsyncClient

    @property
    def asked_agent(self) -> str:
        """Whom answers are for if a request names nobody: the agent of the settings, else `*`."""
        settings = self.settings
        is_named = settings.agent is not None or settings.user_agent is not None
        return settings.identity.agent if is_named else WILDCARD

    @property
    def is_shared(self) -> bool:
        """Whether other processes ask the same hosts."""
        return self.settings.politeness is not None

    async def open(self) -> None:
        """Open what needs a running event loop."""
        # The store is for reading, and what is asked here is no evidence of a crawl.
        settings = self.settings.but(store=None)
        self.client = AsyncClient(
            settings=settings,
            cache_entries=max(settings.cache_entries, _SITES),
            on_event=self.serving.on_event,
        )
        self.client.leave_within(2 * START_WITHIN)

    async def close(self) -> None:
        """Close it."""
        await self.crawls.close()
        await self.leases.close()
        await self.client.close()

    async def compute(self, function: Callable[..., _T], *arguments: object) -> _T:
        """The result of a long computation, in a thread; few of them run at a time."""
        async with self.traffic.computing:
            return await asyncio.to_thread(function, *arguments)


SERVICE = web.AppKey("service", Service)
DEADLINE = web.RequestKey("deadline", asyncio.Timeout)
"""When a request has to be answered; a live page has none."""


class Call(NamedTuple):
    """One request of one client."""

    service: Service
    client: str
    """Who asks: an address."""
    request: web.Request

    @classmethod
    def of(cls, request: web.Request) -> "Call":
        """A request, as pages and API see it."""
        return cls(request.app[SERVICE], client_of(request.remote), request)

    async def site(self, url: str) -> Site:
        """What a site says; asked politely, if that is not known."""
        known = self.service.client.robots.known(origin(url))
        if known is not None:
            return known
        self.may_retrieve(url)
        return await self.service.client.robots.get(url)

    def may_retrieve(self, url: str) -> None:
        """Count a site that has to be asked; raises the problem of asking for too many."""
        if self.service.client.robots.fresh(origin(url), time.time()) is None:
            self.service.traffic.retrieve(self.client)

    async def body(self, most: int | None = None) -> bytes:
        """The body of the request; a problem if it is too large or takes too long."""
        limits = self.service.serving.limits
        most = limits.body if most is None else most
        if (self.request.content_length or 0) > most:
            raise _too_large(most)
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                async for chunk in self.request.content.iter_any():
                    body += chunk
                    if len(body) > most:
                        raise _too_large(most)
        except TimeoutError:
            raise ServiceProblem(
                408, "The body took too long to arrive.", "Send it at once."
            ) from None
        return bytes(body)


def _too_large(most: int) -> ServiceProblem:
    return ServiceProblem(413, f"The body has more than {most:,} bytes.", "Send less at a time.")
