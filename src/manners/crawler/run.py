"""One run of a crawl: starts what the scheduler says, and reports the results to it."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from manners.client.async_client import AsyncClient
from manners.client.headers import limit_logins
from manners.crawler.ending import Ending, Stages
from manners.crawler.fleet import Fleet
from manners.crawler.fleet_values import INTERRUPTED, Beat
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import Change, FetchResult, FoundUrl, LeasedUrl
from manners.crawler.heavy import MAX_BYTES, MAX_LINKS
from manners.crawler.holdings import Holdings, HostView
from manners.crawler.keeping import Safekeeping
from manners.crawler.opening import CrawlPlan, CrawlState, Opened
from manners.crawler.reporting import report_beat, report_block
from manners.crawler.results import Results
from manners.crawler.scheduler import Batch, Request, Scheduler
from manners.crawler.tasks import TaskSet, soonest
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
_POLL = 0.5
"""Seconds after which to ask again for pages of the budget that others gave back, or the end."""
_LOW = 64
"""Pages left of those granted from which on more are asked for."""
_MAX_SLEEP = 3_600.0
"""Seconds after which to look again at the latest: the clock may have been set."""


class CrawlRun:
    """Drives a scheduler: leases URLs of hosts it owns, has them fetched, stores the results."""

    has_own_client = True
    """Whether nobody else uses its client."""

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
        self._tasks = TaskSet()
        self._holdings = Holdings(
            opened.frontier,
            client,
            plan.clock,
            self._start,
            state.unlease,
            may_borrow=self.has_own_client,
        )
        self._worker, self._scheduler = make_worker(self.add), self._make_scheduler()
        self._holdings.scheduler = self._scheduler
        self._stages = Stages(self._worker.stages(plan.starts))
        self._keeping = Safekeeping(plan.keep, opened.archive, state.reporter)
        self._is_alone = opened.frontier.store.is_sqlite
        self._grant_at = 0.0
        """When to ask for pages of the budget."""
        self._had_pages = False
        """Whether there were some left when it last asked for more."""
        self._is_asking = False
        """Whether the store is asked for pages, or takes some back: never both at a time."""
        self._conclude_at = 0.0

    # What a discovery does in its own way.

    def _make_scheduler(self) -> Scheduler[LeasedUrl]:
        """Who decides what is fetched next."""
        settings = self._client.settings
        return Scheduler(self._holdings.pace, settings.slots_of, settings.connections)

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
            self._keeping.expire()
            self._shut_client()
            self.look()

    async def admit(self, host: str) -> None:
        """Own a host before it is asked."""
        await self._holdings.admit(host)

    @property
    def running(self) -> int:
        """Requests under way."""
        return self._scheduler.running

    def hosts(self) -> list[HostView]:
        """The hosts that are being asked or waited for, the longest wait first; any thread."""
        return self._holdings.views()

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
        now, budget, hosts = self._clock(), self._state.budget, len(self._frontier.owned)
        report_beat(self._state, beat, now, running=self.running, hosts=hosts)
        if isinstance(budget, GrantedBudget):
            under_way = max(budget.own - beat.own["page", "attempts"], 0)
            budget.set_used(beat.counted["page", "attempts"] + under_way, beat.seconds, now)
        if beat.ended:
            self.end(beat.ended)
        if self._is_alone:
            return
        self._state.count(beat.counted)
        has_work = self._is_busy or self._scheduler.queues
        self._state.wait(None if has_work else beat.wait, now)
        for name in beat.joined:
            if self._worker.join(name):  # what was found of it meanwhile was blocked
                self._apply(await self._frontier.readmit(name))
        self._holdings.rebalance(beat.active, beat.living)
        await self._holdings.release(beat.wanted, is_wanted=True)

    async def _close(self) -> None:
        state, ending = self._state, self._ending
        is_cut_short = len(self._tasks) > 0
        await self._tasks.cancel()
        await self._stages.close()
        ending.error = await self._keeping.close() or ending.error
        await self._close_client()
        if isinstance(ending.error, StoreError):
            return
        if ending.is_cancelled:
            self._frontier.store.stop_waiting()
        reason = ending.reason if ending.error is None else f"failed: {ending.error}"
        is_final = ending.error is None and reason != INTERRUPTED
        await self._holdings.release_all()
        state.ended = await self._fleet.leave(reason, is_final=is_final) or reason
        state.pages["queued"] += state.pages.pop("leased", 0)
        if is_cut_short or not self._is_alone:
            # A task may have been cancelled between writing and counting; others count, too.
            state.count(await asyncio.to_thread(self._frontier.counted))

    # What to do next.

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
            at = soonest(at, self._holdings.rest(now))
            if self._results.has_room:
                at = soonest(at, self._holdings.take_more(now))
        if not self._is_busy:
            at = soonest(at, self._end_when_idle(now))
        self._tasks.call_later(None if at is None else min(at - now, _MAX_SLEEP), self.look)

    @property
    def _is_busy(self) -> bool:
        """Whether something is under way, or fetched and not stored."""
        return self._scheduler.is_busy or self._results.pending > 0 or self._holdings.has_unstored

    def _end_when_idle(self, now: float) -> float | None:
        """Nothing is under way: end, unless something may start later; when to look again."""
        ending = self._ending
        may_get_pages = self._is_asking or not self._is_alone  # some of these were given back
        if ending.reason or (ending.exceeded is not None and not may_get_pages):
            ending.finish(ending.reason or str(ending.exceeded))
        elif not (self._stages.is_pending or self._holdings.is_taking or self._is_asking):
            if ending.may_start and self._scheduler.queues:
                self._end_before_limit(now)
                return None
            if now < self._conclude_at:
                return self._conclude_at
            self._is_asking = True
            self._start(self._conclude())
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
            await self._holdings.release_all()
            if self._is_busy:  # something was started meanwhile
                return
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
                self._holdings.take_at = min(self._holdings.take_at, found.next_at)
                is_late = found.next_at - now > budget.seconds_left(now)
                if found.is_waiting and is_late:
                    self._ending.finish("time limit: no host may be asked again before it")
        finally:
            self._is_asking = False

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
            self._holdings.found(host)
        if change.has_new_hosts:
            self._holdings.take_at = 0.0
        if change.to_wake:
            self._start(self._wake(change.to_wake))

    async def _wake(self, hosts: Iterable[str]) -> None:
        """Let hosts be taken by whoever comes first; when what they have is durable."""
        await self._frontier.wake(sorted(hosts))
        self._holdings.take_at = 0.0

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; then look what is to be done. An error of the store ends the run."""

        async def watched() -> None:
            try:
                await work
            except StoreError as error:
                self._ending.fail(error)
            finally:
                self.look()

        self._tasks.start(watched())

    # The budget.

    def _ask_for_pages(self, now: float) -> None:
        """Ask for more pages of the budget before those granted are used up."""
        budget = self._state.budget
        if not isinstance(budget, GrantedBudget):
            return
        is_low = budget.left_here < (1 if self._is_alone else _LOW)
        # That one who had some left got no more says nothing about when he has none.
        is_due = now >= self._grant_at or (self._had_pages and budget.left_here <= 0)
        if is_low and is_due and not (self._is_asking or self._ending.reason):
            self._is_asking = True
            self._start(self._grant(budget))

    async def _grant(self, budget: GrantedBudget) -> None:
        before, self._had_pages = budget.granted, budget.left_here > 0
        try:
            await self._fleet.grant(budget)
        finally:
            self._is_asking = False
            if budget.granted <= before:  # others have all that is left, so far
                self._grant_at = math.inf if self._is_alone else self._clock() + _POLL
            if self._ending.exceeded is not None:
                self._ending.exceeded = budget.exceeded(self._clock())

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
                self._state.reporter.warn(str(error))  # once, until something has been answered
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
            report_block(self._state, url, "invalid-url", self._clock())
            return
        except NotFetched as error:
            self._apply(await self._frontier.give_up(url, "failed", str(error)))
            return
        except Postponed as error:
            self._apply(await self._frontier.postpone(url, error.until))
            return
        self._state.obstacle = None
        self._state.is_cut |= result.is_cut
        self._holdings.fetched(url.host)
        try:
            await self._store(request, result)
        finally:
            self._holdings.stored(url.host)

    async def _store(self, request: Request[LeasedUrl], result: FetchResult) -> None:
        """Have a page kept, store what came of its request, and hand it out."""
        page = result.page_for_reader
        if page is not None:
            self._results.expect(page)
        if self._keeping.may_take_long(result):
            self._report(request, result)  # meanwhile its host is asked for others
            self.look()
        await self._keeping.keep(result)
        self._apply(await self._frontier.finish(result))
        if result.page.state == "blocked":
            report_block(self._state, result.url, result.page.reason, self._clock())
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
