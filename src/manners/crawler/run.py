"""One run of a crawl: starts what the scheduler says, and reports the results to it."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import NamedTuple

from manners import logs
from manners.client.async_client import AsyncClient
from manners.client.headers import limit_logins
from manners.crawler.fleet import INTERRUPTED, Beat, Fleet
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import (
    Change,
    FetchResult,
    FoundUrl,
    LeasedUrl,
    OwnedHost,
    ReturnedHost,
)
from manners.crawler.heavy import MAX_BYTES, MAX_LINKS
from manners.crawler.keeping import Keeper
from manners.crawler.opening import CrawlPlan, CrawlState, Opened, recorded_delay
from manners.crawler.results import Results
from manners.crawler.scheduler import LEAD, Batch, Request, Scheduler
from manners.crawler.tasks import TaskSet
from manners.crawler.worker import Add, NotFetched, Postponed, Worker
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    HostDeferred,
    InvalidURL,
    LeaseOver,
    PolitenessError,
    SlotTimeout,
    StoreError,
)
from manners.politeness.budget import GrantedBudget

RETRY_SECONDS = 1.0
"""Seconds after which a host is tried again whose slots are all in use, or could not be counted."""
_IDLE_BEAT = 10.0
"""Seconds between two beats while every host is waited for, where nobody else works on it."""
_HOSTS = 4
"""Hosts that a worker owns at a time, for each connection: some of them have to wait."""
_DISTANT, _FAR = 10.0, 60.0
"""Seconds until a host may be asked from which on it is handed back: if others are due; if not."""
_REST = 0.5
"""Seconds after which a host that has nothing to do is handed back: pages may lead to it again."""
_POLL = 0.5
"""Seconds after which to look again for hosts or pages of the budget that others gave back."""
_BORROW = 30.0
"""Seconds for which a host that another worker owns is waited for."""
_LOW = 64
"""Pages left of those granted from which on more are asked for."""
_MAX_SLEEP = 3_600.0
"""Seconds after which to look again at the latest: the clock may have been set."""


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


class Ending:
    """Why a run is to end, and whether it is over."""

    def __init__(self) -> None:
        self.reason = ""
        """Why nothing more starts."""
        self.error: BaseException | None = None
        self.exceeded: BudgetExceeded | None = None
        """Why no page may be fetched now; a request under way may give a page back."""
        self._over = asyncio.Event()

    @property
    def may_start(self) -> bool:
        """Whether requests may be started."""
        return not self.reason and self.exceeded is None

    @property
    def is_over(self) -> bool:
        """Whether the run ends without waiting for what is under way."""
        return self._over.is_set()

    def finish(self, reason: str) -> None:
        """Nothing is under way and nothing will start."""
        self.reason = reason
        self._over.set()

    def cancel(self) -> None:
        """End now; what is under way is cancelled."""
        self.reason = self.reason or INTERRUPTED
        self._over.set()

    def fail(self, error: BaseException) -> None:
        """End now, because of an error; the first one counts."""
        self.error = self.error or error
        self.cancel()

    async def wait(self) -> None:
        """Wait until the run is over."""
        await self._over.wait()


class Stages:
    """What a run begins with, stage by stage."""

    def __init__(self, source: AsyncGenerator[Sequence[FoundUrl], None]) -> None:
        self._source = source
        self.is_pending = False
        """Whether the next stage is being found and added."""
        self.is_over = False
        """Whether there is no other stage."""

    async def next(self) -> Sequence[FoundUrl] | None:
        """The URLs of the next stage; None where there is none."""
        found = await anext(self._source, None)
        self.is_over = found is None
        return found

    async def close(self) -> None:
        """Begin no other stage."""
        await self._source.aclose()


class CrawlRun:
    """Drives a scheduler: takes hosts and their URLs, has them fetched, stores the results.

        frontier --take_hosts--> owned --found--> scheduler --start--> worker
            ^                      |                                     |
            +-------release--------+   <------------finish---------------+

    A host that is taken stays with this worker until it has nothing left to do, has to wait for
    long, or the worker has more than its share of the hosts.
    """

    def __init__(
        self,
        plan: CrawlPlan,
        state: CrawlState,
        opened: Opened,
        client: AsyncClient,
        make_worker: Callable[[Add], Worker],
        *,
        results: Results,
        ending: Ending,
    ) -> None:
        self._state, self._client = state, client
        self._frontier: Frontier = opened.frontier
        self._fleet: Fleet = opened.fleet
        self._results, self._ending, self._clock = results, ending, plan.clock
        self._worker, self._scheduler = make_worker(self.add), self._make_scheduler()
        self._stages = Stages(self._worker.stages(plan.starts))
        self._keeper = None if plan.keep is None else Keeper(plan.keep)
        self._tasks = TaskSet()
        self._is_alone = opened.frontier.store.is_sqlite
        self._share = _HOSTS * client.settings.connections
        """Hosts that this worker owns, at most."""
        self._resume_times: dict[str, float] = {}
        """Hosts that somebody asked before, and when they may be asked again."""
        self._resting: dict[str, float] = {}
        """Hosts that are owned and have nothing to do, and since when."""
        self._unstored: Counter[str] = Counter()
        """Pages of each host that were fetched and are not stored: to others they are queued."""
        self._returning: set[str] = set()
        """Hosts that are being handed back: what is found of them now is for who takes them."""
        self._take_at = 0.0
        """When to look for hosts to take."""
        self._grant_at = 0.0
        """When to ask for pages of the budget."""
        self._had_pages = False
        """Whether there were some left when it last asked for more."""
        self._is_taking = self._is_granting = self._is_concluding = False
        self._conclude_at = 0.0

    # What a discovery does in its own way.

    def _make_scheduler(self) -> Scheduler[LeasedUrl]:
        """Who decides what is fetched next."""
        settings = self._client.settings
        return Scheduler(self._pace, settings.slots_of, settings.connections)

    def _shut_client(self) -> None:
        self._client.shut()

    async def _close_client(self) -> None:
        await self._client.close()

    # The run.

    async def run(self) -> None:
        """Crawl until nothing is left to fetch, or there is a reason to end."""
        beating = asyncio.create_task(self._beat())
        try:
            self._state.budget.run(self._clock())
            await self._fleet.grant(self._state.budget)
            self._begin_stage()
            await self._ending.wait()
        except asyncio.CancelledError:
            self._ending.cancel()
        except StoreError as error:
            self._ending.fail(error)
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            await self._close()
        if self._ending.error is not None:
            raise self._ending.error

    def end(self, reason: str) -> None:
        """Start nothing more, and end when what is under way is finished."""
        if not self._ending.reason:
            self._ending.reason = reason
            if self._keeper is not None:
                self._keeper.expire()
            self._shut_client()
            self.look()

    @property
    def running(self) -> int:
        """Requests under way."""
        return self._scheduler.running

    @property
    def is_away(self) -> bool:
        """Whether the shared politeness server does not answer."""
        return self._state.obstacle is PolitenessError

    def hosts(self) -> list[HostView]:
        """The hosts that are being asked or waited for, the longest wait first; any thread."""
        views = []
        for queue in list(self._scheduler.queues.values()):
            if queue.running or queue.items:
                delay, at = self._client.pace_of(queue.name)
                until = max(at, queue.not_before, self._resume_times.get(queue.name, 0.0))
                views.append(HostView(queue.name, delay, until, queue.running, len(queue.items)))
        return sorted(views, key=lambda view: (-view.until, view.host))

    # Living and ending.

    async def _beat(self) -> None:
        """Tell the other workers that this one lives; end when the time of the crawl is up."""
        beat_at = self._clock()
        while True:
            await asyncio.sleep(self._fleet.interval)
            now, budget = self._clock(), self._state.budget
            if budget.seconds_left(now) <= 0:
                self.end(str(budget.exceeded(now)))
            is_idle = self._is_alone and not self._scheduler.is_busy
            if is_idle and now - beat_at < _IDLE_BEAT:
                continue
            beat_at = now
            try:
                await self._apply_beat(await self._fleet.beat())
            except StoreError as error:
                self._ending.fail(error)

    async def _apply_beat(self, beat: Beat) -> None:
        now, budget, connections = (
            self._clock(),
            self._state.budget,
            self._client.settings.connections,
        )
        if isinstance(budget, GrantedBudget):
            under_way = max(budget.own - beat.own["page", "attempts"], 0)
            budget.set_used(beat.counted["page", "attempts"] + under_way, beat.seconds, now)
        if beat.ended:
            self.end(beat.ended)
        if self._is_alone:
            return
        self._state.count(beat.counted)
        share = math.ceil(beat.active / beat.living) if beat.living > 1 else beat.active
        self._share = min(_HOSTS * connections, max(share, 1))
        for name in beat.joined:
            if self._worker.join(name):  # what was found of it meanwhile was blocked
                self._apply(await self._frontier.readmit(name))
        self._hand_back_distant(now)
        if beat.wanted:
            await self._release(beat.wanted, wanted=True)

    async def _close(self) -> None:
        state, ending = self._state, self._ending
        is_cut_short = len(self._tasks) > 0
        await self._tasks.cancel()
        await self._stages.close()
        if self._keeper is not None:
            await self._keeper.close()
        await self._close_client()
        if isinstance(ending.error, StoreError):
            return
        reason = ending.reason if ending.error is None else f"failed: {ending.error}"
        is_final = ending.error is None and reason != INTERRUPTED
        await self._release(list(self._frontier.owned))
        state.ended = await self._fleet.leave(reason, is_final=is_final) or reason
        state.pages["queued"] += state.pages.pop("leased", 0)
        if is_cut_short or not self._is_alone:
            # A task may have been cancelled between writing and counting; others count, too.
            state.count(await asyncio.to_thread(self._frontier.counted))

    # What to do next.

    def _pace(self, host: str) -> tuple[float, float]:
        delay, at = self._client.pace_of(host)
        return delay, max(at - LEAD, self._resume_times.get(host, 0.0))

    def look(self) -> None:
        """Start what may be started now, and come back when there is more; or end."""
        if self._ending.is_over:
            return
        now, at = self._clock(), None
        self._ask_for_pages(now)
        if self._ending.may_start:
            start, fill, at = self._scheduler.next(
                now, has_room=self._results.has_room, large_pages=self._worker.turns.waiting
            )
            for batch in fill:
                self._tasks.start(self._lease(batch))
            for request in start:
                self._tasks.start(self._work(request))
            at = _soonest(at, self._rest(now))
            if self._results.has_room:
                at = _soonest(at, self._take_more(now))
        if not self._scheduler.is_busy and not self._results.pending:
            at = _soonest(at, self._end_when_idle(now))
        self._tasks.call_later(None if at is None else min(at - now, _MAX_SLEEP), self.look)

    def _end_when_idle(self, now: float) -> float | None:
        """Nothing is under way: end, unless something may start later; when to look again."""
        ending = self._ending
        if ending.reason:
            ending.finish(ending.reason)
        elif ending.exceeded is not None and self._is_alone:
            ending.finish(str(ending.exceeded))
        elif not self._stages.is_pending and not self._is_taking and not self._is_concluding:
            if ending.may_start and self._scheduler.queues:
                self._end_before_limit(now)
                return None
            if now < self._conclude_at:
                return self._conclude_at
            self._is_concluding = True
            self._tasks.start(self._conclude())
        return None

    def _end_before_limit(self, now: float) -> None:
        """End if no host may be asked again before the time limit."""
        at, budget = self._scheduler.first_time(), self._state.budget
        if at is None or not self._is_alone:
            return
        exceeded = budget.exceeded(now)
        if exceeded is not None:
            self._ending.finish(str(exceeded))
        elif at - now > budget.seconds_left(now):
            self._ending.finish("time limit: no host may be asked again before it")

    async def _conclude(self) -> None:
        """Ask whether anything is left, for anybody."""
        try:
            # Without pages to fetch here, others may have some.
            await self._release(list(self._frontier.owned))
            budget, now = self._state.budget, self._clock()
            await self._fleet.give_back(budget)
            limit = budget.exceeded(now)
            found = await self._fleet.conclude(limit, budget.pages)
            self._conclude_at, self._grant_at = self._clock() + _POLL, 0.0
            if found.ended:
                self._ending.finish(found.ended)
            elif found.is_idle and not self._stages.is_over:
                self._begin_stage()
            elif found.next_at is not None:
                self._take_at = min(self._take_at, found.next_at)
                is_late = found.next_at - now > budget.seconds_left(now)
                if found.is_waiting and is_late:
                    self._ending.finish("time limit: no host may be asked again before it")
        except StoreError as error:
            self._ending.fail(error)
        finally:
            self._is_concluding = False
            self.look()

    def _begin_stage(self) -> None:
        self._stages.is_pending = True
        self._tasks.start(self._add_stage())

    async def _add_stage(self) -> None:
        """Add the URLs of the next stage, or of all that are left."""
        try:
            while (found := await self._stages.next()) is not None:
                self._apply(await self._frontier.add(found))
                if self._worker.waits_for_stages or self._ending.reason:
                    break
                self.look()
            if self._stages.is_over:
                await self._fleet.added()
            self._stages.is_pending = False
            self._conclude_at = 0.0
            self.look()
        except Exception as error:
            self._ending.fail(error)

    async def add(self, found: Sequence[FoundUrl]) -> None:
        """Add URLs that were found to the frontier."""
        self._apply(await self._frontier.add(found))
        self.look()

    def _apply(self, change: Change) -> None:
        self._state.apply(change)
        for host in change.hosts:
            self._found(host)
        if change.has_new_hosts:
            self._take_at = 0.0
        if change.to_wake:
            self._tasks.start(self._wake(change.to_wake))

    def _found(self, host: str) -> None:
        if host not in self._returning:
            self._resting.pop(host, None)
            self._scheduler.found(host)

    async def _wake(self, hosts: Iterable[str]) -> None:
        """Let hosts be taken by whoever comes first; when what they have is durable."""
        try:
            await self._frontier.wake(sorted(hosts))
        except StoreError as error:
            self._ending.fail(error)
        self._take_at = 0.0
        self.look()

    # Hosts.

    def _take_more(self, now: float) -> float | None:
        """Take hosts, if this worker may have more; when to look again."""
        wanted = self._share - len(self._frontier.owned)
        if wanted <= 0 or self._is_taking:
            return None
        if now < self._take_at:
            return self._take_at if self._take_at < math.inf else None
        self._is_taking = True
        self._tasks.start(self._take_hosts(wanted, now))
        return None

    async def _take_hosts(self, wanted: int, now: float) -> None:
        try:
            self._take_at = math.inf
            taken, more_at = await self._frontier.take_hosts(wanted, now)
            if more_at is not None:
                self._take_at = min(self._take_at, more_at)
            if not self._is_alone:  # others may hand some back at any time
                self._take_at = min(max(self._take_at, now), self._clock() + _POLL)
            unknown = [host for host in taken if host.delay is None and host.epoch > 1]
            recorded = await self._recorded_delays(unknown) if unknown else {}
            for host in taken:
                at = max(host.not_before, now + recorded.get(host.name, -math.inf))
                if at > now:
                    self._resume_times[host.name] = at
                self._returning.discard(host.name)
                self._found(host.name)
        except StoreError as error:
            self._ending.fail(error)
        finally:
            self._is_taking = False
            self.look()

    async def admit(self, host: str) -> None:
        """Own a host before it is asked: a robots.txt, or a page of a list, may redirect to any.

        Its owner, if it has one, hands it back with his next beat.
        """
        gives_up_at = self._clock() + _BORROW
        while not (self._is_alone or self._owns(host)):
            borrowed = None
            if host not in self._returning:
                borrowed = await self._frontier.borrow(host)
            now = self._clock()
            if borrowed is not None:
                self._resting[host] = now  # it is handed back when nothing comes of it
                if borrowed.not_before > now:
                    await self._client.penalise(host, borrowed.not_before)
            elif now > gives_up_at:
                raise HostDeferred(host, now + _BORROW)
            else:
                await asyncio.sleep(_POLL)

    async def _recorded_delays(self, hosts: Sequence[OwnedHost]) -> dict[str, float]:
        """The delays of hosts that were asked, by somebody who did not come to write that down."""
        max_delay, evidence = self._client.settings.max_delay, self._client.evidence

        def read() -> dict[str, float]:
            return {host.name: recorded_delay(evidence, host.name, max_delay) for host in hosts}

        return await asyncio.to_thread(read)

    def _rest(self, now: float) -> float | None:
        """Hand back hosts that have had nothing to do for a while; when to look again."""
        scheduler, resting = self._scheduler, self._resting
        for host in scheduler.idle:
            if host not in scheduler.queues and host in self._frontier.owned:
                resting.setdefault(host, now)
        scheduler.idle.clear()
        if not resting:
            return None
        tired = [host for host, since in resting.items() if now - since >= _REST]
        if tired:
            for host in tired:
                del resting[host]
            self._tasks.start(self._release_now(tired))
        return min(resting.values()) + _REST if resting else None

    def _hand_back_distant(self, now: float) -> None:
        """Hand back hosts that are not asked for long; and some, if this worker has too many."""
        scheduler, owned = self._scheduler, len(self._frontier.owned)
        is_full = owned >= self._share
        distant = scheduler.distant(now + (_DISTANT if is_full else _FAR))
        surplus = owned - len(distant) - self._share - self._share // 8
        if surplus > 0:
            others = scheduler.distant(-math.inf)
            distant += [host for host in others if host not in set(distant)][:surplus]
        if distant:
            self._tasks.start(self._release_now(distant))

    async def _release_now(self, hosts: Sequence[str]) -> None:
        try:
            await self._release(hosts)
        except StoreError as error:
            self._ending.fail(error)
        self.look()

    async def _release(self, hosts: Iterable[str], *, wanted: bool = False) -> None:
        """Hand hosts back, with what there is to know for whoever takes them next."""
        returned = []
        for host in hosts:
            if not self._owns(host):
                continue
            if self._client.is_asking(host) or self._unstored[host]:
                if host not in self._scheduler.queues:
                    self._resting[host] = self._clock()
                continue
            ready = None
            if host in self._scheduler.queues:
                ready = self._scheduler.time_of(host)
                if not self._scheduler.drop(host):
                    continue
                if wanted:  # whoever wants it comes before those who take what is due
                    ready = max(ready, self._clock() + 4 * _POLL)
            self._resting.pop(host, None)
            delay, at = self._client.pace_of(host)
            not_before = max(at, self._resume_times.pop(host, 0.0))
            returned.append(ReturnedHost(host, delay, not_before, ready))
            self._take_at = min(self._take_at, math.inf if ready is None else ready)
            self._returning.add(host)
        if returned:
            try:
                self._state.unlease(await self._frontier.release(returned))
            finally:
                self._returning.difference_update(host.name for host in returned)

    def _owns(self, host: str) -> bool:
        """Whether this worker may ask a host."""
        return host in self._frontier.owned and host not in self._returning

    # The budget.

    def _ask_for_pages(self, now: float) -> None:
        """Ask for more pages of the budget before those granted are used up."""
        budget = self._state.budget
        if not isinstance(budget, GrantedBudget):
            return
        is_low = budget.left_here < (1 if self._is_alone else _LOW)
        # That one who had some left got no more says nothing about when he has none.
        is_due = now >= self._grant_at or (self._had_pages and budget.left_here <= 0)
        if is_low and not self._is_granting and is_due and not self._ending.reason:
            self._is_granting = True
            self._tasks.start(self._grant(budget))

    async def _grant(self, budget: GrantedBudget) -> None:
        before, self._had_pages = budget.granted, budget.left_here > 0
        try:
            await self._fleet.grant(budget)
        except StoreError as error:
            self._ending.fail(error)
        finally:
            self._is_granting = False
            if budget.granted <= before:  # others have all that is left, so far
                self._grant_at = math.inf if self._is_alone else self._clock() + _POLL
            if self._ending.exceeded is not None:
                self._ending.exceeded = budget.exceeded(self._clock())
            self.look()

    # What is under way.

    async def _lease(self, batch: Batch) -> None:
        urls: Sequence[LeasedUrl] = ()
        more_at = None
        try:
            urls, more_at = await self._frontier.take(batch.host, batch.size, self._clock())
            self._state.lease(urls)
        except StoreError as error:
            self._ending.fail(error)
        finally:
            self._scheduler.leased(batch.host, urls, more_at)
            self.look()

    async def _work(self, request: Request[LeasedUrl]) -> None:
        ending = self._ending
        try:
            await self._fetch(request)
        except HostDeferred as error:
            self._scheduler.returned(request, error.until)
        except (SlotTimeout, PolitenessError, LeaseOver) as error:
            if self._state.obstacle is not type(error):
                logs.warned(str(error))  # once, until something has been answered
                self._state.obstacle = type(error)
            self._scheduler.returned(request, self._clock() + RETRY_SECONDS)
        except BudgetExceeded as error:
            ending.exceeded = error
            self._scheduler.returned(request)
        except ClientClosed:
            self._scheduler.returned(request)
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # not a cancellation
            ending.fail(error)
        finally:
            if ending.exceeded is not None:  # another request may have given a page back
                ending.exceeded = self._state.budget.exceeded(self._clock())
            self._scheduler.finished(request)
            self.look()

    async def _fetch(self, request: Request[LeasedUrl]) -> None:
        """Fetch a URL, have its page kept, and store what came of it."""
        url = request.item
        try:
            # What a site names may be another's, or its own without encryption.
            with limit_logins(self._state.login_origins):
                result = await self._worker.work(url)
        except InvalidURL:
            self._apply(await self._frontier.give_up(url, "blocked", "invalid-url"))
            return
        except NotFetched as error:
            self._apply(await self._frontier.give_up(url, "failed", str(error)))
            return
        except Postponed as error:
            self._apply(await self._frontier.postpone(url, error.until))
            return
        self._state.obstacle = None
        self._state.is_cut |= result.is_cut
        self._unstored[url.host] += 1
        try:
            await self._store(request, result)
        finally:
            self._unstored[url.host] -= 1

    async def _store(self, request: Request[LeasedUrl], result: FetchResult) -> None:
        """Have a page kept, store what came of its request, and hand it out."""
        page = result.page_for_reader
        if page is not None:
            self._results.expect(page)
            if self._keeper is not None:
                self._report(request, result)  # meanwhile its host is asked for others
                self.look()
                await self._keeper.keep(page)
        self._apply(await self._frontier.finish(result))
        if result.joined_host:
            await self._fleet.join_host(result.joined_host)
        self._report(request, result)
        if page is not None:
            self._results.put(page)

    def _report(self, request: Request[LeasedUrl], result: FetchResult) -> None:
        page = result.page
        answered = page.status is not None if page.was_allowed else None
        is_large = None
        if result.page_for_reader is not None:
            is_large = len(page.links) > MAX_LINKS or len(page.body) > MAX_BYTES
        self._scheduler.finished(request, answered=answered, is_large=is_large)


def _soonest(*times: float | None) -> float | None:
    """The first of some times; None are those that never come."""
    return min((at for at in times if at is not None), default=None)
