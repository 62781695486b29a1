"""The client for blocking code, a face on `AsyncClient` by the portal, and `manners.usage`."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    NoReturn,
    ParamSpec,
    Self,
    TypeVar,
    overload,
)

from manners._portal import portal
from manners.cache.blocking import RobotsCache
from manners.client.async_client import NO_HEADERS, AsyncClient
from manners.client.faces import combine, refuse_attribute
from manners.client.page import Page
from manners.client.streams import BlockingStream, OpenedStream
from manners.client.transport import Transport, open_http
from manners.client.visit import Visit
from manners.errors import UnknownName
from manners.events import Listener
from manners.logs import Reporter
from manners.politeness.backends import PolitenessBackend
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.budget import Budget
from manners.politeness.schedule import TOO_MUCH
from manners.robots.verdict import Verdict
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.evidence.store import EvidenceStore
    from manners.signals import Purpose, Usage

P = ParamSpec("P")
T = TypeVar("T")


class BlockingVisit:
    """A visit for blocking code; its slot is released fire-and-forget."""

    def __init__(self, visit: Visit, tells: bool = False) -> None:
        self._visit, self._tells = visit, tells
        self.name, self.lazy_verdict = visit.name, visit.lazy_verdict
        """The host, and why the request may be sent."""
        self._reply: tuple[int, float] | None = None
        self._is_over = False

    @property
    def delay(self) -> float:
        """Seconds between requests that the host's robots.txt files ask for."""
        return self._visit.delay

    def replied(self, status: int, headers: Mapping[str, str]) -> None:
        """Take a reply into account, and back off if it says so; header names are lower-case."""
        self.departed()
        if status in TOO_MUCH:
            portal.run(self._visit.replied(status, headers))
        else:
            self._reply = status, self._visit.seconds  # handed to the loop by `leave`

    def departed(self) -> None:
        """Tell that the request was sent just now: the delay to the next one starts here."""
        if self._tells:
            self._tells = False
            portal.call(self._visit.departed)

    @property
    def is_due(self) -> bool:
        """Whether a third of the lease is over, so that it is time to renew the slot."""
        return self._visit.is_due

    def renew(self) -> None:
        """Renew the slot's lease; raises `SlotLost` when the slot is gone."""
        portal.run(self._visit.renew())

    def leave(self) -> None:
        """Release the slot, without waiting: the next to ask for one will find it free."""
        if not self._is_over:
            self._is_over = True
            portal.submit(self._leave())

    async def _leave(self) -> None:
        if self._reply is not None:
            status, seconds = self._reply
            self._visit.note(status, {}, seconds)
        await self._visit.leave()


class Client:
    """Fetches pages politely, for blocking code; safe from several threads.

    It takes the parameters of `AsyncClient`, and has its methods.

        with Client(agent="MyBot/1.0 (+https://example.com/bot)") as client:
            page = client.get("https://example.com/")
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
        self.settings = combine(agent, settings, changes)
        http = http or open_http(self.settings)
        self._client = AsyncClient(
            settings=self.settings,
            budget=budget,
            politeness=politeness,
            evidence=evidence,
            on_decision=on_decision,
            on_event=on_event,
            draw=draw,
            http=http,
            clock=clock,
        )
        portal.close_behind(self, http.close)
        self._overrides = self.settings.overrides
        self.robots = RobotsCache.wrap(self._client.robots)
        """The robots.txt files that verdicts rest on."""
        self.identity, self.budget = self._client.identity, budget
        """Who decides, and what is sent."""
        self.evidence = self._client.evidence
        """The store of evidence: a record of every decision, before its request; None is off."""

    @property
    def agent(self) -> str:
        """The name that robots.txt files are read for."""
        return self.identity.agent

    def check(self, url: str) -> Verdict:
        """Whether the URL may be fetched, and why."""
        override = self._overrides.check(url)
        return self.robots.check(url, self.agent) if override is None else override

    def allowed(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return self.check(url).allowed

    def get(
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
        return portal.run(self._client.get(url, headers, since=since, must_include=must_include))

    def head(self, url: str, headers: Mapping[str, str] = NO_HEADERS) -> Page:
        """Fetch the status and headers of a page, without its body."""
        return portal.run(self._client.head(url, headers))

    def usage(self, page: Page) -> "Mapping[Purpose, Usage]":
        """What a page may be used for, by purpose, with every claim behind it.

        Like `page.usage`, and by the files that the setting `signals` names, too. They are asked
        for like pages, and kept while they are fresh; one that cannot be had is a problem.
        """
        return portal.run(self._client.usage(page))

    @contextmanager
    def stream(
        self,
        url: str,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        max_bytes: int | None = None,
        is_page: bool = True,
    ) -> Iterator[BlockingStream]:
        """Fetch a page piece by piece; its slot is held, and renewed, until the end.

        `max_bytes` limits how much is read, instead of the settings. With `is_page=False`, as for a
        sitemap, it takes nothing of the budget and need not match an inclusion.
        """
        opened = OpenedStream(
            self._client.stream(url, headers, max_bytes=max_bytes, is_page=is_page)
        )
        stream = portal.run(opened.enter())
        try:
            yield BlockingStream(stream)
        finally:
            portal.run(opened.leave())

    def pace_of(self, name: str, draw: float = 0.5) -> tuple[float, float]:
        """The current delay of a host, and when it may be asked again.

        Delays are random: `draw` 0.0 gives the shortest that is possible now, 1.0 the longest.
        """
        return portal.run(_call(self._client.pace_of, name, draw))

    def shut(self) -> None:
        """Start no more requests, and turn away all that wait; running ones continue."""
        portal.run(_call(self._client.shut))

    def visit(
        self,
        url: str,
        *,
        slot: bool = True,
        tells: bool = False,
        user_agent: str | None = None,
    ) -> BlockingVisit:
        """Wait for the turn of a request that another library sends: verdict, record, time, slot.

        Raises `Disallowed` if it may not be sent. With `slot=False` it takes no slot, for libraries
        with slots and delays of their own: they keep to `BlockingVisit.delay`. The delay to the
        next request starts now; with `tells=True` it starts when `BlockingVisit.departed` is
        called, and no other request starts before that. `user_agent` is the header that is sent, if
        it is not the client's: robots.txt is read for it, unless the client was given an agent.
        """
        visit = self._client.visit(url, slot=slot, tells=tells, user_agent=user_agent)
        return BlockingVisit(portal.run(visit), tells)

    def close(self) -> None:
        """Close connections and stores, and turn away all that wait."""
        portal.run(self._client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name)


@overload
def usage(
    url: str,
    purpose: None = None,
    agent: str | None = None,
    *,
    signals: Iterable[str] = (),
    allow_private: bool = False,
) -> "Mapping[Purpose, Usage]": ...


@overload
def usage(
    url: str,
    purpose: "Purpose",
    agent: str | None = None,
    *,
    signals: Iterable[str] = (),
    allow_private: bool = False,
) -> "Usage": ...


def usage(
    url: str,
    purpose: "Purpose | None" = None,
    agent: str | None = None,
    *,
    signals: Iterable[str] = (),
    allow_private: bool = False,
) -> "Usage | Mapping[Purpose, Usage]":
    """What a page may be used for, in one line for scripts: fetches it politely, then reads.

    With a purpose, its `Usage`; else one for each purpose. `agent` is sent, and robots.txt is read
    for it. `signals` names standards whose files are asked for, too. Connections and files are kept
    until the program ends.
    """
    from manners.signals import PURPOSES

    if purpose is not None and purpose not in PURPOSES:
        raise UnknownName("purpose", purpose, PURPOSES)
    client = _shared(agent, tuple(signals), allow_private)
    found = client.usage(client.get(url))
    return found if purpose is None else found[purpose]


@cache
def _shared(agent: str | None, signals: tuple[str, ...], allow_private: bool) -> Client:
    import atexit

    shared = Client(agent, politeness=_pace(), signals=signals, allow_private=allow_private)
    atexit.register(shared.close)
    return shared


@cache
def _pace() -> PolitenessBackend:
    """The pace of all these clients: a host is asked by each of them."""
    pace = Settings().pace
    return MemoryBackend(pace.concurrency, pace.lease, {}, time.time)


async def _call(function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
    """Call a function in the portal's loop."""
    return function(*arguments, **keywords)
