"""The client: one verdict, one polite request, one page."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from manners import logs
from manners._portal import portal
from manners._text import header_problem
from manners.cache.robots import AsyncRobotsCache, RobotsCache
from manners.cache.site import Site
from manners.errors import Broken, ClientClosed, Disallowed, HostDeferred, SlotLost
from manners.identity import Identity, identity
from manners.net.http import Http, Stream
from manners.net.messages import Get, Response, Unreachable
from manners.page import Page, Way
from manners.politeness.backends import Backend, open_backend
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.budget import Budget
from manners.politeness.gate import Gate
from manners.politeness.schedule import opens_at, rate_gap
from manners.robots.policy import Policy
from manners.robots.verdict import Verdict
from manners.settings import Settings
from manners.urls import host, origin, without_credentials
from manners.visit import BlockingVisit, Holding, Host, Visit

if TYPE_CHECKING:
    from manners.evidence.record import Clerk
    from manners.evidence.store import EvidenceStore

_SPEAKERS = 100
"""Other headers than its own for which a client remembers who decides."""
_HOSTS = 10_000
"""Hosts of which it is remembered how they answer."""
_NONE: Mapping[str, str] = {}


class AsyncClient:
    """Fetches pages politely, for async code: asks robots.txt, waits its turn, follows redirects.

    `agent` is sent as User-Agent, and robots.txt files are read for it; without one the client is
    `manners`. `user_agent` is for sending something else. Settings may be given as keywords, too.
    `budget` limits pages and minutes; without one there is no limit. `politeness` is where start
    times and slots are shared with others: an object, or `valkey://…`. `on_decision` is told every
    verdict that a request depends on.

        async with AsyncClient(agent="MyBot/1.0 (+https://example.com/bot)") as client:
            page = await client.get("https://example.com/")
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        budget: Budget | None = None,
        politeness: str | Backend | None = None,
        evidence: "str | Path | EvidenceStore | None" = None,
        on_decision: Callable[[Verdict], None] | None = None,
        draw: Callable[[], float] = random.random,
        **changes: Any,
    ) -> None:
        self.settings = _settings(agent, settings or Settings(), changes)
        self.identity, self.budget = self.settings.identity, budget
        """Who decides, and what is sent."""
        self.agent = self.identity.agent
        if not self.identity.is_one:
            logs.warned(_differs(self.identity))
        self._on_decision, self._draw = on_decision, draw
        self._is_closed = False
        its = self.settings
        self._rulings = its.rulings
        self._has_rulings = bool(its.exclude or its.include or its.hosts or not its.respect_robots)
        self._pace = self.settings.pace
        self._limits = (
            its.page_bytes,
            its.page_connect_timeout,
            its.page_read_timeout,
            its.page_total_timeout,
        )
        self._http = Http(
            user_agent=self.identity.user_agent,
            allow_private=self.settings.allow_private,
            proxy=self.settings.proxy,
            ca_file=self.settings.ca_file,
            cookies=self.settings.cookies,
            connections=its.connections,
            keep_alive=True,
        )
        where = its.politeness if politeness is None else politeness
        politeness = self._opened(where) if where is None or isinstance(where, str) else where
        self._gate = Gate(politeness, self._pace, draw, places=its.connections)
        self._known: dict[str, Host] = {}
        self.robots = AsyncRobotsCache(
            dialect=self.settings.dialect,
            profile=self.settings.retrieval,
            entries=self.settings.cache_entries,
            store=self.settings.cache,
            http=_Polite(self),
        )
        """The robots.txt files that verdicts rest on."""
        self._own_name = self.robots.dialect.own_name(self.agent)
        self._speakers: dict[str, _Speaker] = {}
        self._open_evidence(its.store if evidence is None else evidence)

    def _opened(self, politeness: str | None) -> Backend:
        its, pace = self.settings, self._pace
        hosts = its.hosts.items()
        own = {name: each.concurrency for name, each in hosts if each.concurrency is not None}
        if politeness is None:
            return MemoryBackend(pace.concurrency, pace.lease, own)
        prefixes = its.concurrency_prefix, its.delay_prefix
        return open_backend(
            politeness, pace.concurrency, pace.lease, own, *prefixes, its.server_timeout
        )

    def _open_evidence(self, evidence: "str | Path | EvidenceStore | None") -> None:
        self.evidence: "EvidenceStore | None" = None  # noqa: UP037 (it is loaded below, if at all)
        """Where a record of each decision is kept, before its request leaves; None: nowhere."""
        self._owns_evidence = isinstance(evidence, str | Path)
        if evidence is None:
            return
        from manners.evidence.record import Clerk, engine
        from manners.evidence.store import EvidenceStore

        if not isinstance(evidence, EvidenceStore):
            evidence = EvidenceStore(evidence, timeout=self.settings.server_timeout)
        self.evidence, its = evidence, self.settings
        rest = its.retrieval, its.dialect, engine(), its.include, its.redact_query
        self._new_clerk: Callable[[Identity], Clerk]
        self._new_clerk = lambda who: Clerk(who.agent, *rest, who.user_agent)
        self._clerk = self._new_clerk(self.identity)

    async def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        verdict = self._rulings.check(url)
        if verdict is None:
            verdict = (await self._site(url)).check(url, self.agent)
            logs.matched(verdict)
        return verdict

    async def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return (await self.check(url)).allowed

    async def get(
        self,
        url: str,
        headers: Mapping[str, str] = _NONE,
        *,
        since: Page | None = None,
        must_include: bool = True,
    ) -> Page:
        """Fetch a page; with `since`, only if it is not as it was then.

        Whoever asks for a page by name may not care whether an inclusion matches it, too.
        """
        if since is not None:
            headers = {**_conditions(url, since), **headers}
        return await self._fetch("GET", url, headers, must_include)

    async def head(self, url: str, headers: Mapping[str, str] = _NONE) -> Page:
        """Fetch what is said about a page, without the page."""
        return await self._fetch("HEAD", url, headers)

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        headers: Mapping[str, str] = _NONE,
        *,
        max_bytes: int | None = None,
        is_page: bool = True,
    ) -> AsyncIterator["PageStream"]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end.

        `max_bytes` is how much of it is read, instead of what the settings say. What is no page, as
        a sitemap is none, takes nothing of the budget and needs not be included.
        """
        limits = (max_bytes or self._limits[0], *self._limits[1:])
        way = Way(url, _checked(headers), self.settings.page_redirects)
        if self.budget is not None and is_page:
            self.budget.reserve(time.time())
        try:
            while True:
                asked = time.time()
                visit = await self._admit(way, is_page)
                if visit is None:
                    yield PageStream(way.blocked())
                    return
                started, way.is_spent = time.time(), True
                async with (
                    Holding(visit, self._pace.lease) as held,
                    self._http.stream(
                        Get(way.target, way.headers, *limits, any_status=True, fresh=way.fresh),
                        visit,
                    ) as reply,
                ):
                    body = reply if isinstance(reply, Stream) else None
                    begun = reply.begun if isinstance(reply, Stream) else reply
                    if logs.wants_requests():
                        logs.responded(way.target, begun, started - asked)
                    if isinstance(begun, Unreachable):
                        if self._repeats(way, begun):
                            continue
                    else:
                        await visit.replied(begun.status, begun.headers, begun.seconds)
                    started = visit.left_at or started
                    page = way.arrived(begun, started, started - asked)
                    if page is not None:
                        if body is not None:
                            held.hold_for(body)
                        yield PageStream(page, body, lambda: self._is_closed, held)
                        return
        finally:
            if is_page:
                self._settle(way)

    def pace_of(self, name: str, draw: float = 0.5) -> tuple[float, float]:
        """The delay of a host, as far as it is known, and when it may be asked again.

        Delays are drawn: 0.0 is for the shortest that is possible now, 1.0 for the longest.
        """
        known = self._known.get(name)
        delay = self._pace.gap(draw) if known is None else known.gap(draw)
        return delay, self._gate.earliest(name)

    def shut(self) -> None:
        """Let nothing more start, and turn away whoever waits; what is under way goes on."""
        self._gate.shut()

    async def visit(
        self,
        url: str,
        *,
        slot: bool = True,
        tells: bool = False,
        user_agent: str | None = None,
    ) -> Visit:
        """Wait for the turn of a request that somebody else sends: verdict, record, time, slot.

        `Disallowed` is raised where it may not be made. With `slot=False` there is none: who has
        slots and delays of its own keeps to `Visit.delay`. The gap to the next request counts from
        now; with `tells=True` from when `Visit.left` is called, and nobody starts before that.
        `user_agent` is the header that is sent, where that is not the client's: it decides, unless
        the client was told who does.
        """
        way = Way(url, _NONE, 0)
        who = None
        if user_agent is not None and user_agent != self.identity.user_agent:
            who = self._speaker(user_agent)
        if self.budget is not None:
            self.budget.reserve(time.time())
        try:
            visit = await self._admit(way, slot=slot, tells=tells, who=who)
            if visit is None:
                raise Disallowed(way.written())
            way.is_spent, visit.budget = True, self.budget
        finally:
            self._settle(way)
        return visit

    async def close(self) -> None:
        """Close what is open, and turn away whoever waits."""
        self._is_closed = True
        await self._gate.close()
        await self.robots.close()
        await self._http.close()
        if self.evidence is not None and self._owns_evidence:
            await asyncio.to_thread(self.evidence.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(self, name)

    # One page.

    async def _fetch(
        self, method: str, url: str, headers: Mapping[str, str], must_include: bool = True
    ) -> Page:
        way = Way(url, _checked(headers) if headers else headers, self.settings.page_redirects)
        if self.budget is not None:
            self.budget.reserve(time.time())
        try:
            while True:
                asked = time.time()
                visit = await self._admit(way, must_include)
                if visit is None:
                    return way.blocked()
                started, way.is_spent = time.time(), True
                get = Get(way.target, way.headers, *self._limits, method, True, way.fresh)
                try:
                    reply = await self._http.send(get, visit)
                    if isinstance(reply, Response):
                        await visit.replied(reply.status, reply.headers, reply.seconds)
                finally:
                    await visit.leave()
                if logs.wants_requests():
                    logs.responded(way.target, reply, started - asked)
                if isinstance(reply, Unreachable) and self._repeats(way, reply):
                    continue
                started = visit.left_at or started
                page = way.arrived(reply, started, started - asked)
                if page is not None:
                    return page
        finally:
            if self.budget is not None:
                self._settle(way)

    def _repeats(self, way: Way, reply: Unreachable) -> bool:
        """Whether to ask for the same URL again, because the site has not seen the request."""
        if self._is_closed:
            raise ClientClosed
        if not way.repeats(reply):
            return False
        if logs.wants_requests():
            logs.retried(way.target, reply.cause, way.attempt)
        return True

    def _settle(self, way: Way) -> None:
        if self.budget is not None and not way.is_spent:
            self.budget.give_back()

    async def _admit(
        self,
        way: Way,
        must_include: bool = True,
        slot: bool = True,
        tells: bool = True,
        who: "_Speaker | None" = None,
    ) -> Visit | None:
        """The next hop, at the time for it and with a slot; None when it is not allowed."""
        name = host(way.target)
        while True:
            known, allowed, fresh_until = await self._decide(way, name, must_include, who)
            if not allowed:
                return None
            if logs.wants_requests():
                self._tell_wait(name)
            if slot:
                lease = await self._gate.enter(name, known.gap, tells)
            else:
                lease = None
                await self._gate.pass_by(name, known.least)
            if fresh_until is None or time.time() < fresh_until:
                return Visit(self._gate, known, name, lease, self._draw)
            # While it waited its turn, what the site says has expired: it is asked again.
            if lease is not None:
                await self._gate.leave(lease)

    async def _decide(
        self, way: Way, name: str, is_page: bool, who: "_Speaker | None" = None
    ) -> tuple[Host, bool, float | None]:
        """The verdict on the next hop, on record; and until when what it rests on is fresh."""
        url, known = way.target, self._host(name)
        fresh_until, site, policy = None, None, None
        ruled = self._rulings.check(url, is_page=is_page) if self._has_rulings else None
        if ruled is not None:
            way.verdict, allowed = ruled, ruled.allowed
        else:
            own_name = self._own_name if who is None else who.own_name
            if who is None and known.holds(url, self.robots.changes, time.time()):
                site, policy = known.site, known.policy
                if logs.wants_uses() and site.entry is not None:
                    self.robots._tell_use(site.entry)
            else:
                site = self.robots._remembered(url) or await self._site(url)
                policy = site.robots.policy(own_name)
                if who is None:
                    known.hold(url, site, policy, self.robots.changes)
            if site.everything is None:
                allowed = policy.allowed(url)
            else:
                allowed = site.allowed(url, own_name)
            way.verdict = partial(site.check, url, own_name)
            fresh_until = site.entry.fresh_until if site.entry else None
        if self._on_decision is not None or logs.wants_matches() or logs.wants_requests():
            self._tell(way)
        if self.evidence is not None:
            clerk = self._clerk if who is None or who.clerk is None else who.clerk
            draft = clerk.draft(url, way.written, site, time.time(), policy)
            way.evidence_id = await self.evidence.append(draft)
        if allowed and policy is not None and (policy.is_timed or known.demands):
            await self._heed(policy, known, name, url)
        return known, allowed, fresh_until

    def _speaker(self, user_agent: str) -> "_Speaker":
        """Whoever sends requests with a header of their own."""
        found = self._speakers.get(user_agent)
        if found is None:
            is_named = self.settings.agent is not None or self.settings.user_agent is not None
            who = identity(self.agent if is_named else None, user_agent)
            if not who.is_one:
                logs.warned(_differs(who))
            clerk = None if self.evidence is None else self._new_clerk(who)
            found = _Speaker(self.robots.dialect.own_name(who.agent), clerk)
            if len(self._speakers) >= _SPEAKERS:
                del self._speakers[next(iter(self._speakers))]
            self._speakers[user_agent] = found
        return found

    async def _site(self, url: str) -> Site:
        """What is known of a site; who waits for it when the client is closed is told so."""
        try:
            return await self.robots.get(url)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._is_closed and task is not None and not task.cancelling():
                raise ClientClosed from None
            raise

    def _tell(self, way: Way) -> None:
        verdict = way.written()
        logs.matched(verdict)
        if logs.wants_requests():
            logs.decided(verdict)
        if self._on_decision is not None:
            self._on_decision(verdict)

    def _tell_wait(self, name: str) -> None:
        seconds = self._gate.earliest(name) - time.time()
        if seconds > 0:
            logs.waiting(name, seconds)

    async def _heed(self, policy: Policy, known: Host, name: str, url: str) -> None:
        """Keep to what a robots.txt says about how fast, and when, this agent may come."""
        now = time.time()
        opening = opens_at(policy.visit_time, now)
        if opening > now:
            raise HostDeferred(name, opening)
        known.demand(
            origin(url), max(policy.crawl_delay or 0.0, rate_gap(policy.request_rate, now))
        )
        asked, known.robots_asked = known.robots_asked, None
        # The request for robots.txt was a request, too. A Crawl-delay that is longer than anything
        # is waited for here does not count for it: it would put off the first page again and again,
        # wherever nothing is kept between runs.
        if asked is not None and 0.0 < known.least <= self._pace.defer_beyond:
            await self._gate.penalise(name, asked + known.least)

    def _host(self, name: str) -> Host:
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= _HOSTS:
                del self._known[next(iter(self._known))]
            own = self.settings.hosts.get(name)
            known = self._known[name] = Host(self._pace, own.delay if own else None)
        return known


class _Speaker(NamedTuple):
    """Somebody whose requests have another User-Agent than the client's."""

    own_name: str | Sequence[str]
    """Who decides, as the dialect has it."""
    clerk: "Clerk | None"
    """Who writes down what was decided."""


class _Polite:
    """Sends the requests for robots.txt files with the slots and the pace of all others."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def send(self, get: Get) -> Response | Unreachable:
        """Send a request when it is time, and again if the site has not seen it."""
        client, name = self._client, host(get.url)
        known = client._host(name)
        way = Way(get.url, _NONE, 0)
        while True:
            asked = time.time()
            if logs.wants_requests():
                client._tell_wait(name)
            lease = await client._gate.enter(name, known.gap, tells=True)
            waited = time.time() - asked
            visit = Visit(client._gate, known, name, lease, client._draw)
            try:
                reply = await client._http.send(get._replace(fresh=way.fresh), visit)
                known.robots_asked = visit.left_at or time.time()
                if isinstance(reply, Response):
                    await visit.replied(reply.status, reply.headers, reply.seconds)
            finally:
                await visit.leave()
            if logs.wants_requests():
                logs.responded(get.url, reply, waited)
            if not way.repeats(reply):
                return reply
            if logs.wants_requests() and isinstance(reply, Unreachable):
                logs.retried(get.url, reply.cause, way.attempt)

    async def close(self) -> None:
        """The client closes what it opened."""


class PageStream:
    """A page whose body comes piece by piece."""

    def __init__(
        self,
        page: Page,
        reply: Stream | None = None,
        is_closed: Callable[[], bool] = lambda: False,
        held: Holding | None = None,
    ) -> None:
        self.page = page
        """What is known before the body: hops, verdicts, status, headers."""
        self._reply, self._is_closed, self._held = reply, is_closed, held

    @property
    def complete(self) -> bool:
        """False when the body is longer than what was read of it; known at its end."""
        return self._reply is None or self._reply.complete

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed; nothing where the page was blocked, or did not answer."""
        if self._reply is None:
            return
        try:
            async for chunk in self._reply.chunks():
                self._check()
                yield chunk
        except Broken:
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        if self._held is not None and self._held.is_lost:
            raise SlotLost(self.page.final_url) from None
        if self._is_closed():
            raise ClientClosed from None


def _settings(agent: str | None, settings: Settings, changes: dict[str, Any]) -> Settings:
    if "max_pages" in changes or "max_minutes" in changes:
        raise TypeError("a client has no limit of its own: pass budget=Settings(…).budget")
    return settings.for_agent(agent).but(**changes)


def _differs(who: Identity) -> str:
    return (
        f"robots.txt files are read for {who.agent!r}, and requests are sent as"
        f" {who.user_agent!r}: sites cannot tell whom their rules are for. Name the agent alone to"
        " send it"
    )


def _conditions(url: str, since: Page) -> dict[str, str]:
    """The headers that ask for a page only if it is not as it was (RFC 9110 section 13.1)."""
    if since.url != without_credentials(url):
        raise ValueError("since= is a page of another URL")
    if not (since.ok or since.not_modified):
        return {}
    marks = {
        "If-None-Match": since.headers.get("etag", ""),
        "If-Modified-Since": since.headers.get("last-modified", ""),
    }
    return {name: value for name, value in marks.items() if value.isascii() and value.strip()}


def _checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        match name.strip().lower():
            case "host":
                raise ValueError("the header Host would ask another site than was checked")
            case "user-agent":
                raise ValueError("the header User-Agent is a setting: user_agent")
        if problem := header_problem(name) or header_problem(value):
            raise ValueError(f"the header {name[:100]!r} {problem}")
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
        politeness: str | Backend | None = None,
        evidence: "str | Path | EvidenceStore | None" = None,
        on_decision: Callable[[Verdict], None] | None = None,
        draw: Callable[[], float] = random.random,
        **changes: Any,
    ) -> None:
        self._client = AsyncClient(
            agent,
            settings,
            budget=budget,
            politeness=politeness,
            evidence=evidence,
            on_decision=on_decision,
            draw=draw,
            **changes,
        )
        portal.close_behind(self, self._client._http.close)
        self.robots = RobotsCache._over(self._client.robots)
        """The robots.txt files that verdicts rest on."""
        self.settings, self.agent = self._client.settings, self._client.agent
        self.identity = self._client.identity
        """Who decides, and what is sent."""
        self.budget, self.evidence = budget, self._client.evidence

    def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        ruled = self._client._rulings.check(url)
        return self.robots.check(url, self.agent) if ruled is None else ruled

    def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return self.check(url).allowed

    def get(
        self,
        url: str,
        headers: Mapping[str, str] = _NONE,
        *,
        since: Page | None = None,
        must_include: bool = True,
    ) -> Page:
        """Fetch a page; with `since`, only if it is not as it was then.

        With `must_include=False`, inclusions of the settings do not count: the page was named.
        """
        return portal.run(self._client.get(url, headers, since=since, must_include=must_include))

    def head(self, url: str, headers: Mapping[str, str] = _NONE) -> Page:
        """Fetch what is said about a page, without the page."""
        return portal.run(self._client.head(url, headers))

    @contextmanager
    def stream(
        self,
        url: str,
        headers: Mapping[str, str] = _NONE,
        *,
        max_bytes: int | None = None,
        is_page: bool = True,
    ) -> Iterator["BlockingStream"]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end.

        `max_bytes` limits what is read of it, instead of the settings. With `is_page=False`, as for
        a sitemap, it takes nothing of the budget and need not be included.
        """
        opened = _Opened(self._client.stream(url, headers, max_bytes=max_bytes, is_page=is_page))
        stream = portal.run(opened.enter())
        try:
            yield BlockingStream(stream)
        finally:
            portal.run(opened.leave())

    def pace_of(self, name: str, draw: float = 0.5) -> tuple[float, float]:
        """The delay of a host, as far as it is known, and when it may be asked again."""
        return portal.run(self._pace_of(name, draw))

    async def _pace_of(self, name: str, draw: float) -> tuple[float, float]:
        return self._client.pace_of(name, draw)

    def shut(self) -> None:
        """Let nothing more start, and turn away whoever waits; what is under way goes on."""
        portal.run(self._shut())

    async def _shut(self) -> None:
        self._client.shut()

    def visit(
        self,
        url: str,
        *,
        slot: bool = True,
        tells: bool = False,
        user_agent: str | None = None,
    ) -> BlockingVisit:
        """Wait for the turn of a request that somebody else sends: verdict, record, time, slot.

        `Disallowed` is raised where it may not be made. With `slot=False` there is none: who has
        slots and delays of its own keeps to `BlockingVisit.delay`. The gap to the next request
        counts from now; with `tells=True` from when `BlockingVisit.left` is called, and nobody
        starts before that. `user_agent` is the header that is sent, where that is not the client's:
        it decides, unless the client was told who does.
        """
        visit = self._client.visit(url, slot=slot, tells=tells, user_agent=user_agent)
        return BlockingVisit(portal.run(visit), tells)

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
