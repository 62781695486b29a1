"""The client: one verdict, one polite request, one page."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from manners import logs
from manners.cache.robots import AsyncRobotsCache
from manners.client.admission import Admission
from manners.client.faces import combine, refuse_attribute
from manners.client.headers import checked, conditions
from manners.client.hosts import Hosts
from manners.client.page import Page
from manners.client.page_usages import PageUsages
from manners.client.redirects import RedirectChain
from manners.client.reports import PageScope
from manners.client.requesters import Requesters
from manners.client.requests import next_request
from manners.client.sender import PoliteSender
from manners.client.stores import PageArchive, open_evidence, open_politeness
from manners.client.streams import PageStream
from manners.client.transport import Transport, open_http
from manners.client.visit import SlotRenewal, Visit
from manners.errors import ClientClosed, Disallowed
from manners.events import Kind, Listener
from manners.logs import Reporter
from manners.net.messages import Response, Unreachable
from manners.politeness.backends import PolitenessBackend
from manners.politeness.budget import Budget
from manners.politeness.gate import Gate
from manners.robots.verdict import Verdict
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.evidence.store import EvidenceStore
    from manners.retrieval.profiles import Profile
    from manners.signals import Purpose, Usage
    from manners.signals.decision import UsageDecision

NO_HEADERS: Mapping[str, str] = {}
_PageT = TypeVar("_PageT", bound=Page)


class AsyncClient:
    """Fetches pages politely, for async code: asks robots.txt, waits its turn, follows redirects.

    `agent` is sent as User-Agent, and robots.txt files are read for it; the default is `manners`.
    `user_agent` is for sending another header. Settings can be given as keywords, too. `budget`
    limits pages and minutes; without one there is no limit. `politeness` shares start times and
    slots with other processes: an object, or `valkey://…`. `evidence` is a store, or a path or URL
    of one, for a record of every decision. `on_decision` is called with every verdict that a
    request depends on, `on_event` with everything that happens (`manners.events`).

    `http` sends the requests, instead of connections of the client's own, and is closed with the
    client; `clock` returns the time in seconds since the epoch. `manners.testing` has both for
    tests.

        async with AsyncClient(agent="MyBot/1.0 (+https://example.com/bot)") as client:
            page = await client.get("https://example.com/")
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        budget: Budget | None = None,
        politeness: str | PolitenessBackend | None = None,
        evidence: "str | Path | EvidenceStore | None" = None,
        on_decision: Callable[[Verdict], None] | None = None,
        on_event: Listener | Reporter | None = None,
        draw: Callable[[], float] = random.random,
        http: Transport | None = None,
        clock: Callable[[], float] = time.time,
        **changes: Any,
    ) -> None:
        self.settings = settings = combine(agent, settings, changes)
        self.identity, self.budget = settings.identity, budget
        """Who decides, and what is sent."""
        self._reporter = Reporter.of(on_event, clock)
        if budget is not None and budget.warn is logs.budget_warned:
            budget.warn = self._reporter.warn_of_budget
        backend = open_politeness(politeness, settings, clock)
        self._http = http or open_http(settings)
        self._archive = PageArchive(settings, http)
        own_delays = {name: own.delay for name, own in settings.hosts.items()}
        self._hosts = Hosts(settings.pace, own_delays, clock, draw)
        self._gate = Gate(backend, settings.pace, draw, clock, settings.connections)
        self.robots = AsyncRobotsCache(
            dialect=settings.dialect,
            profile=settings.retrieval,
            entries=settings.cache_entries,
            store=settings.cache,
            http=PoliteSender(self._http, self._gate, self._hosts, self._reporter),
            clock=clock,
            on_event=self._reporter,
        )
        """The robots.txt files that verdicts rest on."""
        evidence = settings.store if evidence is None else evidence
        self._owns_evidence = isinstance(evidence, str | Path)
        self.evidence = open_evidence(evidence, settings)
        """The store of evidence: a record of every decision, before its request; None is off."""
        self._requesters = Requesters(
            settings, self.robots.dialect, self.evidence is not None, self._reporter
        )
        self._admission = Admission(
            settings,
            robots=self.robots,
            gate=self._gate,
            hosts=self._hosts,
            requester=self._requesters.default,
            evidence=self.evidence,
            on_decision=on_decision,
            clock=clock,
            reporter=self._reporter,
        )
        self._usages = PageUsages(
            settings,
            self._admission.purposes,
            fetch=self.fetch_file,
            evidence=self.evidence,
            requester=self._requesters.default,
            clock=clock,
        )

    @property
    def reporter(self) -> Reporter:
        """Who tells the log, and the listener, what happens."""
        return self._reporter

    @property
    def agent(self) -> str:
        """The name that robots.txt files are read for."""
        return self.identity.agent

    async def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        return await self._admission.check(url)

    async def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return (await self.check(url)).allowed

    async def get(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        since: Page | None = None,
        must_include: bool = True,
    ) -> Page:
        """Fetch a page; with `since`, an earlier page, only if it has changed.

        With `must_include=False`, the page need not match an inclusion of the settings.
        """
        if since is not None:
            headers = {**conditions(url, since), **headers}
        page = await self._fetch("GET", self._chain(url, headers), must_include=must_include)
        return await self._usages.for_purpose(page)

    async def read(self, url: str, *, must_include: bool = True) -> Page:
        """Fetch a page, with its content even if it may not be kept: `decide_usage` says that."""
        return await self._fetch("GET", self._chain(url), must_include=must_include)

    async def head(self, url: str, headers: Mapping[str, str] = NO_HEADERS) -> Page:
        """Fetch the status and headers of a page, without its body."""
        return await self._fetch("HEAD", self._chain(url, headers))

    async def usage(self, page: Page) -> "Mapping[Purpose, Usage]":
        """What a page may be used for, by purpose, with every claim behind it.

        Like `page.usage`, and by the files that the setting `signals` names, too. They are asked
        for like pages, and kept while they are fresh; one that cannot be had is a problem.
        """
        return await self._usages.usage(page)

    async def decide_usage(self, page: _PageT) -> "tuple[_PageT, UsageDecision | None]":
        """Decide, on record, whether a page that was `read` may be kept for the purpose.

        No decision is one that keeps it: nothing but robots.txt has said anything.
        """
        return await self._usages.decide(page)

    @asynccontextmanager
    async def stream(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        max_bytes: int | None = None,
        is_page: bool = True,
    ) -> AsyncIterator[PageStream]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end.

        `max_bytes` limits how much is read, instead of the settings. With `is_page=False`, as for a
        sitemap, it takes nothing of the budget and need not match an inclusion.
        """
        with PageScope(self._reporter, url) as scope:
            async with self._stream(url, headers, max_bytes, is_page) as stream:
                scope.end(stream.page)
                yield stream

    @asynccontextmanager
    async def _stream(
        self, url: str, headers: Mapping[str, str], max_bytes: int | None, is_page: bool
    ) -> AsyncIterator[PageStream]:
        chain = self._chain(url, headers, is_page=is_page)
        if self.budget is not None and is_page:
            self.budget.reserve(self.robots.clock())
        try:
            while True:
                asked = self.robots.clock()
                kind: Kind = "page" if is_page else "file"
                visit = await self._admission.admit(chain, is_page, kind=kind)
                if visit is None:
                    yield PageStream(await self._archive.keep(chain.blocked()))
                    return
                started, chain.counts = self.robots.clock(), True
                get = next_request(self.settings, "GET", chain, max_bytes=max_bytes)
                async with (
                    SlotRenewal(visit, self.settings.lease) as slot,
                    self._http.stream(get, visit) as reply,
                ):
                    head = reply if isinstance(reply, Unreachable) else reply.head
                    if isinstance(head, Response):
                        await visit.replied(head.status, head.headers, head.seconds)
                    else:
                        visit.end(head)
                    if isinstance(head, Unreachable) and self._retries(chain, head):
                        continue
                    started = visit.departed_at or started
                    page = chain.page(head, started, started - asked)
                    if page is not None:
                        body = None if isinstance(reply, Unreachable) else reply
                        page = await self._usages.for_purpose(page) if is_page else page
                        stream = PageStream(page, body, lambda: self._admission.is_closed, slot)
                        try:
                            yield stream
                        finally:
                            visit.end(head, stream.size)
                    visit.end(head, 0)
                    chain.note(getattr(reply, "exchange", None))
                if page is not None:
                    await self._archive.keep(chain.with_exchanges(page))
                    return
        finally:
            if is_page:
                self._settle(chain)

    def pace_of(self, name: str, draw: float = 0.5) -> tuple[float, float]:
        """The current delay of a host, and when it may be asked again.

        Delays are random: `draw` 0.0 gives the shortest that is possible now, 1.0 the longest.
        """
        return self._hosts.gap(name, draw), self._gate.earliest(name)

    def fence(
        self,
        may_send: Callable[[], bool],
        admit: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Let no request leave while `may_send` says no, robots.txt included: `LeaseOver`.

        `admit` is waited for with the host of every request, before its turn comes.
        """
        self._gate.fence(may_send, admit)

    def leave_within(self, seconds: float) -> None:
        """Give the requests of visits that long to leave, as far as other processes know."""
        self._gate.min_grace = seconds

    def is_asking(self, name: str) -> bool:
        """Whether a request is under way at a host, or waits for its turn."""
        return self._gate.is_asking(name)

    async def penalise(self, name: str, until: float) -> None:
        """Ask a host for nothing before a time."""
        await self._gate.penalise(name, until)

    def shut(self) -> None:
        """Start no more requests, and turn away all that wait; running ones continue."""
        self._gate.shut()

    async def visit(
        self,
        url: str,
        *,
        slot: bool = True,
        tells: bool = False,
        user_agent: str | None = None,
    ) -> Visit:
        """Wait for the turn of a request that another library sends: verdict, record, time, slot.

        Raises `Disallowed` if it may not be sent. With `slot=False` it takes no slot, for libraries
        with slots and delays of their own: they keep to `Visit.delay`. The delay to the next
        request starts now; with `tells=True` it starts when `Visit.departed` is called, and no
        other request starts before that. `user_agent` is the header that is sent, if it is not the
        client's: robots.txt is read for it, unless the client was given an agent.
        """
        chain = RedirectChain(url, NO_HEADERS, 0)
        requester = self._requesters.get(user_agent)
        if self.budget is not None:
            self.budget.reserve(self.robots.clock())
        try:
            visit = await self._admission.admit(chain, slot=slot, tells=tells, requester=requester)
            if visit is None:
                raise Disallowed(chain.verdict())
            chain.counts, visit.budget, visit.lazy_verdict = True, self.budget, chain.lazy_verdict
            if visit.report is not None:
                visit.report.ends_at_reply = True
        finally:
            self._settle(chain)
        return visit

    async def close(self) -> None:
        """Close connections and stores, and turn away all that wait."""
        await self._admission.close()
        await self._usages.close()
        await self.robots.close()
        await self._http.close()
        await self._archive.close()
        if self.evidence is not None and self._owns_evidence:
            await asyncio.to_thread(self.evidence.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name)

    async def fetch_file(self, url: str, limits: "Profile") -> Page:
        """Fetch a file that is no page, within the limits of a profile.

        Like a sitemap, it takes nothing of the budget and need not match an inclusion.
        """
        return await self._fetch("GET", self._chain(url), is_page=False, limits=limits)

    async def hop(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        method: str = "GET",
        body: bytes = b"",
        is_page: bool = True,
    ) -> Page:
        """Send one request of a browser, which follows redirects itself: one is a page here.

        With `is_page=False`, as for an image, it takes no budget and no turn, and need not match.
        """
        chain = self._chain(url, headers, 0)
        page = await self._fetch(method, chain, body=body, is_page=is_page, has_turn=is_page)
        if is_page and self.budget is not None and page.is_redirect:
            self.budget.give_back()
        return page

    # One page.

    def _fetch(self, method: str, chain: RedirectChain, **how: Any) -> Coroutine[Any, Any, Page]:
        if self._reporter.wants_pages:
            return self._tell_page(method, chain, **how)
        return self._request_page(method, chain, **how)

    async def _tell_page(self, method: str, chain: RedirectChain, **how: Any) -> Page:
        with PageScope(self._reporter, chain.target.url) as scope:
            page = await self._request_page(method, chain, **how)
            scope.end(page)
            return page

    async def _request_page(
        self,
        method: str,
        chain: RedirectChain,
        *,
        body: bytes = b"",
        must_include: bool = True,
        is_page: bool = True,
        has_turn: bool = True,
        limits: "Profile | None" = None,
    ) -> Page:
        chain.is_page = is_page
        if self.budget is not None and is_page:
            self.budget.reserve(self.robots.clock())
        try:
            while True:
                asked = self.robots.clock()
                visit = await self._admission.admit(
                    *(chain, must_include and is_page),
                    has_turn=has_turn,
                    kind="page" if is_page else "file",
                    method=method,
                )
                if visit is None:
                    return await self._archive.keep(chain.blocked())
                started, chain.counts = self.robots.clock(), True
                get = next_request(self.settings, method, chain, body=body, limits=limits)
                try:
                    reply = await self._http.send(get, visit)
                    visit.end(reply)
                    if isinstance(reply, Response):
                        await visit.replied(reply.status, reply.headers, reply.seconds)
                finally:
                    await visit.leave()
                if isinstance(reply, Unreachable) and self._retries(chain, reply):
                    continue
                started = visit.departed_at or started
                page = chain.page(reply, started, started - asked)
                if page is not None:
                    return await self._archive.keep(page)
        finally:
            if self.budget is not None and is_page:
                self._settle(chain)

    def _chain(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        max_redirects: int | None = None,
        *,
        is_page: bool = True,
    ) -> RedirectChain:
        """A request that begins with a URL, with the headers of the caller and of the settings."""
        headers = self._requesters.headers.plus(checked(headers) if headers else headers, url)
        most = self.settings.page_max_redirects if max_redirects is None else max_redirects
        return RedirectChain(url, headers, most, is_page=is_page)

    def _retries(self, chain: RedirectChain, reply: Unreachable) -> bool:
        """Whether to send the request again, because the site has not seen it."""
        if self._admission.is_closed:
            raise ClientClosed
        if not chain.retry(reply):
            return False
        if self._reporter.wants_requests:
            self._reporter.tell_retry(chain.target, reply.cause, chain.attempt)
        return True

    def _settle(self, chain: RedirectChain) -> None:
        if self.budget is not None and not chain.counts:
            self.budget.give_back()
