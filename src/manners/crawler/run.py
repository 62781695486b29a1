"""One run of a crawl: starts what the scheduler says, and reports the results to it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import NamedTuple

from manners import logs
from manners.client.async_client import AsyncClient
from manners.client.headers import limit_logins
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import Change, FetchResult, FoundUrl, LeasedUrl
from manners.crawler.heavy import MAX_BYTES, MAX_LINKS
from manners.crawler.keeping import Keeper
from manners.crawler.opening import CrawlPlan, CrawlState, resume_times
from manners.crawler.results import Results
from manners.crawler.scheduler import LEAD, Batch, Request, Scheduler
from manners.crawler.tasks import TaskSet
from manners.crawler.worker import Add, NotFetched, Postponed, Worker
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    HostDeferred,
    InvalidURL,
    PolitenessError,
    SlotTimeout,
    StoreError,
)

FINISHED, INTERRUPTED = "finished", "interrupted"
"""Why a crawl ended, unless a budget was exceeded: nothing is left to fetch; it was stopped."""
RETRY_SECONDS = 1.0
"""Seconds after which a host is tried again whose slots are all in use, or could not be counted."""
_SAVE_SECONDS, _SAVE_SECONDS_IDLE = 1.0, 10.0
"""Seconds after which the running time is saved again, and while every host is waited for."""
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
    """Drives a scheduler: leases URLs from the frontier, has them fetched, stores the results."""

    def __init__(
        self,
        plan: CrawlPlan,
        state: CrawlState,
        frontier: Frontier,
        client: AsyncClient,
        make_worker: Callable[[Add], Worker],
        *,
        results: Results,
        ending: Ending,
    ) -> None:
        self._state, self._frontier, self._client = state, frontier, client
        self._results, self._ending, self._clock = results, ending, plan.clock
        self._worker, self._scheduler = make_worker(self.add), self._make_scheduler()
        self._stages = Stages(self._worker.stages(plan.starts))
        self._keeper = None if plan.keep is None else Keeper(plan.keep)
        self._tasks = TaskSet()
        self._resume_times: dict[str, float] = {}
        """Hosts that were asked in an earlier run, and when they may be asked again."""

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

    async def run(self, plan: CrawlPlan) -> None:
        """Crawl until nothing is left to fetch, or there is a reason to end."""
        saving = asyncio.create_task(self._save_seconds())
        try:
            if plan.is_resumed:
                await self._resume()
            self._state.budget.run(self._clock())
            self._begin_stage()
            await self._ending.wait()
        except asyncio.CancelledError:
            self._ending.cancel()
        finally:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
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

    # Beginning and ending.

    async def _resume(self) -> None:
        found = await self._frontier.hosts_with_work()
        max_delay = self._client.settings.max_delay
        self._resume_times = await asyncio.to_thread(
            resume_times, self._client.evidence, self._frontier, found, max_delay, self._clock()
        )
        for host, at in found.items():
            self._scheduler.found(host, at)

    async def _save_seconds(self) -> None:
        """Save how long the crawl has been running; end it when its time is up."""
        saved_at = self._clock()
        while True:
            await asyncio.sleep(_SAVE_SECONDS)
            now = self._clock()
            if self._state.budget.seconds_left(now) <= 0:
                self.end(str(self._state.budget.exceeded(now)))
            if not self._scheduler.is_busy and now - saved_at < _SAVE_SECONDS_IDLE:
                continue
            saved_at = now
            try:
                await self._frontier.end(None, self._state.seconds(now))
            except StoreError as error:
                self._ending.fail(error)

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
        state.ended = ending.reason if ending.error is None else f"failed: {ending.error}"
        await self._frontier.end(state.ended, state.seconds(self._clock()))
        state.pages["queued"] += state.pages.pop("leased", 0)
        if is_cut_short:  # a task may have been cancelled between writing and counting
            state.count(await asyncio.to_thread(self._frontier.states))

    # What to do next.

    def _pace(self, host: str) -> tuple[float, float]:
        delay, at = self._client.pace_of(host)
        return delay, max(at - LEAD, self._resume_times.get(host, 0.0))

    def look(self) -> None:
        """Start what may be started now, and come back when there is more; or end."""
        if self._ending.is_over:
            return
        now, at = self._clock(), None
        if self._ending.may_start:
            start, fill, at = self._scheduler.next(
                now, has_room=self._results.has_room, large_pages=self._worker.turns.waiting
            )
            for batch in fill:
                self._tasks.start(self._lease(batch))
            for request in start:
                self._tasks.start(self._work(request))
        self._tasks.call_later(None if at is None else min(at - now, _MAX_SLEEP), self.look)
        if not self._scheduler.is_busy and not self._results.pending:
            self._end_when_idle(now, at)

    def _end_when_idle(self, now: float, at: float | None) -> None:
        """Nothing is under way: end, unless something may start later, and in time."""
        ending, budget = self._ending, self._state.budget
        if not ending.may_start:
            ending.finish(ending.reason or str(ending.exceeded))
        elif not self._scheduler.queues:
            if self._stages.is_over:
                ending.finish(FINISHED)
            elif not self._stages.is_pending:
                self._begin_stage()
        elif at is not None:
            exceeded = budget.exceeded(now)
            if exceeded is not None:
                ending.finish(str(exceeded))
            elif at - now > budget.seconds_left(now):
                ending.finish("time limit: no host may be asked again before it")

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
            self._stages.is_pending = False
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
            self._scheduler.found(host)

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
        except (SlotTimeout, PolitenessError) as error:
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
        page = result.page_for_reader
        if page is not None:
            self._results.expect(page)
            if self._keeper is not None:
                self._report(request, result)  # meanwhile its host is asked for others
                self.look()
                await self._keeper.keep(page)
        self._apply(await self._frontier.finish(result))
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
