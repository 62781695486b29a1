"""The hosts that a worker owns: it takes those that are due, and hands them back.

    frontier --take--> owned --found--> scheduler
        ^                |                  |
        +----release-----+ <------idle------+

A host stays with its worker until it has nothing left to do, has to wait for long, or the worker
has more than its share of the hosts. While it is handed back nothing of it is asked: what is found
of it then is for whoever takes it next.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from manners.client.async_client import AsyncClient
from manners.crawler.frontier.values import LeasedUrl, OwnedHost, ReturnedHost
from manners.crawler.opening import recorded_delays
from manners.crawler.scheduler import LEAD, Scheduler
from manners.errors import HostDeferred
from manners.events import HostEnd

if TYPE_CHECKING:
    from manners.crawler.frontier.frontier import Frontier

_HOSTS = 4
"""Hosts that a worker owns at a time, for each connection: some of them have to wait."""
_DISTANT, _FAR = 10.0, 60.0
"""Seconds until a host may be asked from which on it is handed back: if others are due; if not."""
_REST = 0.5
"""Seconds after which a host that has nothing to do is handed back: pages may lead to it again."""
_POLL, _SOON = 0.5, 0.05
"""Seconds after which to look again for hosts that others handed back; and for one that is due."""
_BORROW = 30.0
"""Seconds for which a host that another worker owns is waited for."""


class HostView(NamedTuple):
    """How a crawl stands with a host."""

    host: str
    delay: float
    """Seconds between requests."""
    until: float
    """When it may be asked again."""
    running: int
    """Requests under way, or about to be."""
    leased: int
    """URLs that wait for their turn here; there may be more in the store."""


class Holdings:
    """The hosts of one worker, in one event loop.

    `start` starts a task, whose errors end the run; `unlease` is called with the number of URLs
    that were leased and are handed back. `may_borrow` is whether requests of the client wait for
    `admit`; if not, somebody else may be using it, too.
    """

    def __init__(
        self,
        frontier: "Frontier",
        client: AsyncClient,
        clock: Callable[[], float],
        start: Callable[[Coroutine[Any, Any, None]], None],
        unlease: Callable[[int], None],
        *,
        may_borrow: bool,
    ) -> None:
        self._frontier, self._client, self._clock = frontier, client, clock
        self._start, self._unlease = start, unlease
        self._is_alone = frontier.store.is_sqlite
        self._may_borrow = may_borrow and not self._is_alone
        self._most = _HOSTS * client.settings.connections
        self._share = self._most
        """Hosts that this worker owns, at most."""
        self.scheduler: Scheduler[LeasedUrl]
        """Who decides which of them is asked next."""
        self._resume_times: dict[str, float] = {}
        """Hosts that somebody asked before, and when they may be asked again."""
        self._resting: dict[str, float] = {}
        """Hosts that have nothing to do, and since when."""
        self._ready: set[str] = set()
        """Hosts that may be asked: they are owned, their pace is known, and none is being handed
        back."""
        self._unstored: Counter[str] = Counter()
        """Pages of each host that were fetched and are not stored: in the store they are queued."""
        self.take_at = 0.0
        """When to look for hosts to take."""
        self.is_taking = False

    # The pace.

    def pace(self, host: str) -> tuple[float, float]:
        """The delay of a host, and when its next request may be started."""
        delay, at = self._client.pace_of(host)
        return delay, max(at - LEAD, self._resume_times.get(host, 0.0))

    def views(self) -> list[HostView]:
        """The hosts that are being asked or waited for, the longest wait first; any thread."""
        views = []
        for queue in list(self.scheduler.queues.values()):
            if queue.running or queue.items:
                delay, at = self._client.pace_of(queue.name)
                until = max(at, queue.not_before, self._resume_times.get(queue.name, 0.0))
                views.append(HostView(queue.name, delay, until, queue.running, len(queue.items)))
        return sorted(views, key=lambda view: (-view.until, view.host))

    # Taking.

    def found(self, host: str) -> None:
        """A host that is owned has something to do."""
        if host in self._ready:
            self._resting.pop(host, None)
            self.scheduler.found(host)

    def take_more(self, now: float) -> float | None:
        """Take hosts, if this worker may have more; when to look again."""
        number = self._share - len(self._frontier.owned)
        if number <= 0 or self.is_taking:
            return None
        if now < self.take_at:
            return self.take_at if self.take_at < math.inf else None
        self.is_taking = True
        self._start(self._take(number, now))
        return None

    async def _take(self, number: int, now: float) -> None:
        try:
            self.take_at = math.inf
            taken, more_at = await self._frontier.take_hosts(number, now)
            if more_at is not None:
                self.take_at = min(self.take_at, more_at)
            if not self._is_alone:  # others may hand some back at any time
                soon, late = self._clock() + _SOON, self._clock() + _POLL
                self.take_at = min(max(self.take_at, soon), late)
            await self._own(taken)
            for host in taken:
                self.found(host.name)
        finally:
            self.is_taking = False

    async def _own(self, taken: Sequence[OwnedHost]) -> None:
        """Let hosts be asked that were taken, each not before its time."""
        unknown = [host for host in taken if host.delay is None and host.epoch > 1]
        recorded = await self._recorded_delays(unknown) if unknown else {}
        now = self._clock()
        for host in taken:
            at = max(host.not_before, now + recorded.get(host.name, -math.inf))
            if at > now:
                self._resume_times[host.name] = at
            self._ready.add(host.name)

    async def _recorded_delays(self, hosts: Sequence[OwnedHost]) -> dict[str, float]:
        """The delays of hosts that were asked by a worker that did not come to write that down."""
        max_delay, evidence = self._client.settings.max_delay, self._client.evidence
        if evidence is None:
            return {host.name: max_delay for host in hosts}

        def read() -> dict[str, float]:
            return recorded_delays(evidence, [host.name for host in hosts], max_delay)

        return await asyncio.to_thread(evidence.when_back, read)

    async def admit(self, host: str) -> None:
        """Own a host before it is asked: a robots.txt, or a page of a list, may redirect to any.

        Its owner, if it has one, hands it back with his next beat.
        """
        gives_up_at = self._clock() + _BORROW
        while True:
            now = self._clock()
            if self._is_alone or host in self._ready:
                at = self._resume_times.get(host, 0.0)
                if at <= now:
                    return
                # Who had it before has asked it, and the gate does not know of that.
                await self._client.penalise(host, at)
                self._resume_times.pop(host, None)
            elif (borrowed := await self._frontier.borrow(host)) is not None:
                await self._own([borrowed])
                self._resting[host] = self._clock()  # and handed back if nothing comes of it
            elif now > gives_up_at:
                raise HostDeferred(host, now + _BORROW)
            else:
                await asyncio.sleep(_POLL)

    # Handing back.

    def fetched(self, host: str) -> None:
        """A page of a host was fetched, and is to be stored."""
        self._unstored[host] += 1

    def stored(self, host: str) -> None:
        """A page that was fetched is stored, or never will be."""
        self._unstored[host] -= 1
        if not self._unstored[host]:
            del self._unstored[host]

    @property
    def has_unstored(self) -> bool:
        """Whether pages were fetched that are not stored."""
        return bool(self._unstored)

    def rest(self, now: float) -> float | None:
        """Hand back hosts that have had nothing to do for a while; when to look again."""
        scheduler, resting = self.scheduler, self._resting
        for host in scheduler.idle:
            if host not in scheduler.queues and host in self._ready:
                resting.setdefault(host, now)
        scheduler.idle.clear()
        tired = [host for host, since in resting.items() if now - since >= _REST]
        if tired:
            for host in tired:
                del resting[host]
            self._start(self.release(tired))
        return min(resting.values()) + _REST if resting else None

    def rebalance(self, active: int, workers: int) -> None:
        """Hand back hosts that are not asked for long; and some, if this worker has too many.

        `active` is how many hosts have something to do, for so many workers.
        """
        share = math.ceil(active / workers) if workers > 1 else self._most
        self._share = min(self._most, max(share, 1))
        scheduler, owned = self.scheduler, len(self._frontier.owned)
        is_full = owned >= self._share
        distant = scheduler.distant(self._clock() + (_DISTANT if is_full else _FAR))
        surplus = owned - len(distant) - self._share - self._share // 8
        if surplus > 0:
            known = set(distant)
            near = [host for host in scheduler.distant(-math.inf) if host not in known]
            distant += near[:surplus]
        if distant:
            self._start(self.release(distant))

    async def release_all(self) -> None:
        """Hand every host back where nothing is under way."""
        await self.release(list(self._frontier.owned))

    async def release(self, hosts: Iterable[str], *, is_wanted: bool = False) -> None:
        """Hand hosts back, with what there is to know for whoever takes them next."""
        returned = []
        for host in hosts:
            if host not in self._ready:
                continue
            if self._is_asking(host) or host in self._unstored:
                if host not in self.scheduler.queues:
                    self._resting[host] = self._clock()
                continue
            ready = None
            if host in self.scheduler.queues:
                ready = self.scheduler.time_of(host)
                if not self.scheduler.drop(host):
                    continue
                if is_wanted:  # whoever wants it comes before those who take what is due
                    ready = max(ready, self._clock() + 4 * _POLL)
            returned.append(self._returned(host, ready))
            if ready is None:
                self._client.reporter.tell(HostEnd(self._clock(), host))
        if returned:
            self._unlease(await self._frontier.release(returned))

    def _is_asking(self, host: str) -> bool:
        """Whether something is asked of a host that the scheduler does not know of."""
        return self._may_borrow and self._client.is_asking(host)

    def _returned(self, host: str, ready: float | None) -> ReturnedHost:
        self._resting.pop(host, None)
        self._ready.discard(host)
        self.take_at = min(self.take_at, math.inf if ready is None else ready)
        delay, at = self._client.pace_of(host)
        return ReturnedHost(host, delay, max(at, self._resume_times.pop(host, 0.0)), ready)
