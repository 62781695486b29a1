"""The client: one verdict, one polite request, one page."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, NoReturn, Self

import msgspec

from manners import logs
from manners._portal import portal
from manners.cache.freshness import retry_after
from manners.cache.robots import AsyncRobotsCache, default_user_agent
from manners.cache.site import Site
from manners.errors import HostDeferred, MannersError
from manners.net.http import Http, Stream
from manners.net.messages import Get, Response, Unreachable
from manners.page import Page, Way
from manners.politeness.backends import Backend, Lease
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.budget import Budget
from manners.politeness.gate import Gate
from manners.politeness.schedule import TOO_MUCH, Health, Pace, Reply, after, opens_at, rate_gap
from manners.robots.verdict import Verdict
from manners.settings import Settings
from manners.urls import host, origin

_HOSTS = 10_000
"""Hosts of which it is remembered how they answer."""
_YEAR = 365 * 86_400.0
_NONE: Mapping[str, str] = {}


class AsyncClient:
    """Fetches pages politely, for async code: asks robots.txt, waits its turn, follows redirects.

    `agent` decides verdicts, and is what requests introduce themselves as unless `user_agent` says
    otherwise. Settings may be given as keywords, too. `budget` limits pages and minutes; without
    one there is no limit. `on_decision` is told every verdict that a request depends on.

        async with AsyncClient(agent="MyBot/1.0 (+https://example.com/bot)") as client:
            page = await client.get("https://example.com/")
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        budget: Budget | None = None,
        politeness: Backend | None = None,
        on_decision: Callable[[Verdict], None] | None = None,
        draw: Callable[[], float] = random.random,
        **changes: Any,
    ) -> None:
        self.settings = _settings(agent, settings or Settings(), changes)
        self.agent, self.budget = self.settings.agent, budget
        self._on_decision, self._draw = on_decision, draw
        self._rulings = self.settings.rulings
        self._pace = self.settings.pace
        self._http = Http(
            user_agent=self.settings.user_agent or default_user_agent(),
            allow_private=self.settings.allow_private,
            proxy=self.settings.proxy,
            ca_file=self.settings.ca_file,
            cookies=self.settings.cookies,
            keep_alive=True,
        )
        if politeness is None:
            hosts = self.settings.hosts.items()
            own = {name: each.concurrency for name, each in hosts if each.concurrency is not None}
            politeness = MemoryBackend(self._pace.concurrency, self._pace.lease, own)
        self._gate = Gate(politeness, self._pace, draw)
        self._known: dict[str, _Host] = {}
        self.robots = AsyncRobotsCache(
            dialect=self.settings.dialect,
            profile=self.settings.retrieval,
            entries=self.settings.cache_entries,
            store=self.settings.cache,
            http=_Polite(self),
        )
        """The robots.txt files that verdicts rest on."""

    async def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        ruled = self._rulings.check(url)
        return await self.robots.check(url, self.agent) if ruled is None else ruled

    async def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return (await self.check(url)).allowed

    async def get(
        self, url: str, headers: Mapping[str, str] = _NONE, *, since: Page | None = None
    ) -> Page:
        """Fetch a page; with `since`, only if it is not as it was then."""
        if since is not None:
            headers = {**_conditions(since), **headers}
        return await self._fetch("GET", url, headers)

    async def head(self, url: str, headers: Mapping[str, str] = _NONE) -> Page:
        """Fetch what is said about a page, without the page."""
        return await self._fetch("HEAD", url, headers)

    @asynccontextmanager
    async def stream(
        self, url: str, headers: Mapping[str, str] = _NONE
    ) -> AsyncIterator["PageStream"]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end."""
        way = self._set_out(url, headers)
        try:
            while True:
                asked = time.time()
                verdict, lease = await self._admit(way.target)
                if lease is None:
                    yield PageStream(way.blocked(verdict))
                    return
                started, way.is_spent = time.time(), True
                async with (
                    _Holding(self._gate, lease, self._pace.lease) as held,
                    self._http.stream(self._request("GET", way)) as reply,
                ):
                    body = reply if isinstance(reply, Stream) else None
                    begun = reply.begun if isinstance(reply, Stream) else reply
                    if isinstance(begun, Response):
                        await self._note(lease.host, begun)
                    page = way.arrived(verdict, begun, started, started - asked)
                    if page is not None:
                        yield PageStream(page, body, held)
                        return
        finally:
            self._settle(way)

    async def close(self) -> None:
        """Close what is open, and turn away whoever waits."""
        await self._gate.close()
        await self.robots.close()
        await self._http.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, name)

    # One page.

    async def _fetch(self, method: str, url: str, headers: Mapping[str, str]) -> Page:
        way = self._set_out(url, headers)
        try:
            while True:
                asked = time.time()
                verdict, lease = await self._admit(way.target)
                if lease is None:
                    return way.blocked(verdict)
                started, way.is_spent = time.time(), True
                try:
                    reply = await self._http.send(self._request(method, way))
                finally:
                    await self._gate.leave(lease)
                if isinstance(reply, Response):
                    await self._note(lease.host, reply)
                page = way.arrived(verdict, reply, started, started - asked)
                if page is not None:
                    return page
        finally:
            if self.budget is not None:
                self._settle(way)

    def _set_out(self, url: str, headers: Mapping[str, str]) -> Way:
        way = Way(url, _checked(headers) if headers else headers, self.settings.page_redirects)
        if self.budget is not None:
            self.budget.reserve(time.time())
        return way

    def _settle(self, way: Way) -> None:
        if self.budget is not None and not way.is_spent:
            self.budget.give_back()

    async def _admit(self, url: str) -> tuple[Verdict, Lease | None]:
        """The verdict on a hop and, when it is allowed, a slot at the time for it."""
        while True:
            site, verdict = None, self._rulings.check(url)
            if verdict is None:
                site = await self.robots.get(url)
                verdict = site.check(url, self.agent)
                logs.matched(verdict)
            if self._on_decision is not None:
                self._on_decision(verdict)
            if not verdict.allowed:
                return verdict, None
            name = host(url)
            known = self._host(name)
            if site is not None:
                await self._heed(known, name, url, site)
            lease = await self._gate.enter(name, known.gap)
            if site is None or site.entry is None or time.time() < site.entry.fresh_until:
                return verdict, lease
            # While it waited its turn, what the site says has expired: it is asked again.
            await self._gate.leave(lease)

    async def _heed(self, known: "_Host", name: str, url: str, site: Site) -> None:
        """Keep to what a robots.txt says about how fast, and when, this agent may come."""
        policy = site.robots.policy(site.robots.dialect.own_name(self.agent))
        if not policy.is_timed:
            if known.demands:
                known.demand(origin(url), 0.0)
            return
        now = time.time()
        opening = opens_at(policy.visit_time, now)
        if opening > now:
            raise HostDeferred(name, opening)
        known.demand(
            origin(url), max(policy.crawl_delay or 0.0, rate_gap(policy.request_rate, now))
        )
        asked, known.robots_asked = known.robots_asked, None
        # The request for robots.txt was a request, too. One that would have to be waited for
        # longer than anything is waited for here is let pass: it would put off the first page
        # again and again, wherever nothing is kept between runs.
        if asked is not None and 0.0 < known.least <= self._pace.defer_beyond:
            await self._gate.penalise(name, asked + known.least)

    async def _note(self, name: str, reply: Response) -> None:
        """Remember what a reply says about its host."""
        now, known = time.time(), self._host(name)
        asked = None
        if reply.status in TOO_MUCH:
            asked = retry_after(reply.headers.get("retry-after", ""), now)
            asked = None if asked is None else min(asked, _YEAR)
        seen = Reply(reply.status, reply.seconds, asked)
        known.health, until = after(known.health, self._pace, seen, now, self._draw())
        if until is not None:
            await self._gate.penalise(name, until)

    def _host(self, name: str) -> "_Host":
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= _HOSTS:
                del self._known[next(iter(self._known))]
            own = self.settings.hosts.get(name)
            known = self._known[name] = _Host(self._pace, own.delay if own else None)
        return known

    def _request(self, method: str, way: Way) -> Get:
        its = self.settings
        return Get(
            way.target,
            way.headers,
            its.page_bytes,
            its.page_connect_timeout,
            its.page_read_timeout,
            its.page_total_timeout,
            method,
            True,
        )


class _Host:
    """What a client remembers of a host."""

    __slots__ = ("_own", "_pace", "demands", "health", "least", "robots_asked")

    def __init__(self, pace: Pace, own: float | None) -> None:
        self._pace, self._own = pace, own
        self.health = Health()
        self.demands: dict[str, float] = {}
        """Seconds between requests that its robots.txt files ask for, by origin."""
        self.least = 0.0
        """The most of them: the delay is the host's, all ports and schemes together."""
        self.robots_asked: float | None = None
        """When its robots.txt was last asked for, if nothing has come of it yet."""

    def demand(self, site: str, seconds: float) -> None:
        """Keep to what a robots.txt asks for."""
        self.demands[site] = seconds
        self.least = max(self.demands.values())

    def gap(self, draw: float) -> float:
        """Seconds to the next start, for a random draw."""
        return self._pace.gap(draw, self.least, self.health.smoothed, self._own)


class _Polite:
    """Sends the requests for robots.txt files with the slots and the pace of all others."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def send(self, get: Get) -> Response | Unreachable:
        """Send a request when it is time."""
        client, name = self._client, host(get.url)
        known = client._host(name)
        lease = await client._gate.enter(name, known.gap)
        known.robots_asked = time.time()
        try:
            reply = await client._http.send(get)
        finally:
            await client._gate.leave(lease)
        if isinstance(reply, Response):
            await client._note(name, reply)
        return reply

    async def close(self) -> None:
        """The client closes what it opened."""


class SlotLost(MannersError):
    """The slot of a stream could not be renewed, so that it had to end."""


class _Holding:
    """A slot that is renewed every third of its lease; when that fails, its holder has to stop."""

    def __init__(self, gate: Gate, lease: Lease, seconds: float) -> None:
        self._gate, self._lease, self._seconds = gate, lease, seconds
        self.is_lost = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._gate.leave(self._lease)

    async def _renew(self) -> None:
        while not self.is_lost:
            await asyncio.sleep(self._seconds / 3)
            try:
                self.is_lost = await self._gate.renew(self._lease) is None
            except Exception:
                self.is_lost = True


class PageStream:
    """A page whose body comes piece by piece."""

    def __init__(
        self, page: Page, reply: Stream | None = None, held: _Holding | None = None
    ) -> None:
        self.page = page
        """What is known before the body: hops, verdicts, status, headers."""
        self._reply, self._held = reply, held

    @property
    def complete(self) -> bool:
        """False when the body is longer than what was read of it; known at its end."""
        return self._reply is None or self._reply.complete

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed; nothing where the page was blocked, or did not answer."""
        if self._reply is None:
            return
        async for chunk in self._reply.chunks():
            if self._held is not None and self._held.is_lost:
                raise SlotLost(f"{self.page.final_url}: the slot is lost, and the stream ends")
            yield chunk


def _settings(agent: str | None, settings: Settings, changes: dict[str, Any]) -> Settings:
    if "max_pages" in changes or "max_minutes" in changes:
        raise TypeError("a client has no limit of its own: pass budget=Settings(…).budget")
    if agent is not None:
        changes = {"agent": agent, **changes}
        if settings.user_agent is None and agent != "*":
            changes = {"user_agent": agent, **changes}
    return msgspec.structs.replace(settings, **changes)


def _conditions(since: Page) -> dict[str, str]:
    """The headers that ask for a page only if it is not as it was (RFC 9110 section 13.1)."""
    marks = {
        "If-None-Match": since.headers.get("etag", ""),
        "If-Modified-Since": since.headers.get("last-modified", ""),
    }
    return {name: value for name, value in marks.items() if value.isascii() and value.strip()}


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if name.strip().lower() == "host":
            raise ValueError("the header Host would ask another site than the one that was checked")
        if not {"\r", "\n", "\0"}.isdisjoint(name + value):
            raise ValueError(f"the header {name[:100]!r} has a line break, or a NUL, in it")
    return headers


def _refuse(client: object, name: str) -> NoReturn:
    if name in ("post", "put", "patch", "delete", "options", "request"):
        raise AttributeError(
            f"no {name!r}: this client reads pages, with get, head and stream only"
        )
    raise AttributeError(f"{type(client).__name__!r} object has no attribute {name!r}")


class Client:
    """Fetches pages politely, for blocking code; safe from several threads.

    It takes what `AsyncClient` takes.

        with Client(agent="MyBot/1.0 (+https://example.com/bot)") as client:
            page = client.get("https://example.com/")
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        budget: Budget | None = None,
        politeness: Backend | None = None,
        on_decision: Callable[[Verdict], None] | None = None,
        **changes: Any,
    ) -> None:
        self._client = AsyncClient(
            agent,
            settings,
            budget=budget,
            politeness=politeness,
            on_decision=on_decision,
            **changes,
        )

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._client.settings

    def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        return portal.run(self._client.check(url))

    def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return portal.run(self._client.allowed(url))

    def get(
        self, url: str, headers: Mapping[str, str] = _NONE, *, since: Page | None = None
    ) -> Page:
        """Fetch a page; with `since`, only if it is not as it was then."""
        return portal.run(self._client.get(url, headers, since=since))

    def head(self, url: str, headers: Mapping[str, str] = _NONE) -> Page:
        """Fetch what is said about a page, without the page."""
        return portal.run(self._client.head(url, headers))

    @contextmanager
    def stream(self, url: str, headers: Mapping[str, str] = _NONE) -> Iterator["BlockingStream"]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end."""
        opened = _Opened(self._client.stream(url, headers))
        stream = portal.run(opened.enter())
        try:
            yield BlockingStream(stream)
        finally:
            portal.run(opened.leave())

    def close(self) -> None:
        """Close what is open, and turn away whoever waits."""
        portal.run(self._client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, name)


class _Opened:
    """A stream that is entered and left by one task: a timeout, or a cancellation, is a task's."""

    def __init__(self, manager: AbstractAsyncContextManager[PageStream]) -> None:
        self._manager = manager
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> PageStream:
        entered: asyncio.Future[PageStream] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(entered))
        try:
            return await entered
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def _live(self, entered: "asyncio.Future[PageStream]") -> None:
        try:
            async with self._manager as stream:
                entered.set_result(stream)
                await self._done.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    async def leave(self) -> None:
        self._done.set()
        if self._task is not None:
            await self._task


class BlockingStream:
    """A page whose body comes piece by piece, for blocking code."""

    def __init__(self, stream: PageStream) -> None:
        self._stream = stream
        self.page = stream.page
        """What is known before the body: hops, verdicts, status, headers."""

    @property
    def complete(self) -> bool:
        """False when the body is longer than what was read of it; known at its end."""
        return self._stream.complete

    def chunks(self) -> Iterator[bytes]:
        """The body, decompressed; nothing where the page was blocked, or did not answer."""
        chunks = self._stream.chunks()
        while (chunk := portal.run(_next(chunks))) is not None:
            yield chunk


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)
