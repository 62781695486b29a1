"""The crawl: asks for what the frontier has, host by host, each at its own pace, until it ends.

A heap has the hosts in the order of when each may be asked again, which politeness says. So a host
that is slow, or wants to be left alone for an hour, keeps no other waiting.
"""

import asyncio
import heapq
import random
import shutil
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from manners import logs
from manners._portal import portal
from manners.client import AsyncClient
from manners.crawler.frontier import Change, Finished, Frontier, Named, Url
from manners.crawler.heavy import MAX_BYTES, MAX_LINKS
from manners.crawler.keeping import Keeper
from manners.crawler.pages import Crawled, Worker
from manners.crawler.traps import Traps, limit_of
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    HostDeferred,
    InvalidURL,
    PolitenessError,
    SlotTimeout,
    StoreError,
)
from manners.evidence.database import TIMEOUT
from manners.evidence.store import EvidenceStore, Filter
from manners.settings import Settings
from manners.urls import host, page_url

FINISHED, INTERRUPTED = "finished", "interrupted"
"""Why a crawl ended, besides what a budget says: nothing is left; somebody stopped it."""
_BATCH, _AHEAD = 64, 2.0
"""URLs of a host that are leased at a time, at most, and for how many seconds: what is named
meanwhile and is more important comes before those that are not leased yet."""
_SITES = 10_000
"""Sites whose robots.txt is remembered while the crawl runs."""
_UNREAD = 256
"""Pages that wait for whoever reads them; then the crawl waits, too."""
_UNREAD_BYTES = 64 * 1024 * 1024
"""The same, in bytes of memory: some pages are huge."""
_LINK_BYTES = 200
"""What a link of a page takes, about."""
_LARGE = 8
"""Large pages that may wait to be read; then hosts that have such pages are not asked."""
_NEW, _SILENT, _HEAVY = "new", "silent", "heavy"
"""Why hosts are held back: nobody knows whether they answer; they did not; they have huge pages."""
_LEAD = 0.05
"""Seconds for what has to be done before a request may start."""
_FAREWELL = 1.0
"""Seconds in which a server notices that a process was killed."""
_LATER = 1.0
"""Seconds after which a host is tried again whose slots are all in use, or nobody knows of."""
_EVERY = 1.0
"""Seconds after which it is written down how long the crawl has been running."""


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


class View(NamedTuple):
    """How far a crawl is."""

    states: dict[str, int]
    """How many pages are queued, leased, done, failed and blocked."""
    running: int
    pages: int
    """Pages of the budget that are used."""
    minutes: float
    hosts: list[HostView]
    is_stopping: bool
    is_away: bool = False
    """Whether the server that politeness is shared by does not answer: it is waited for."""


class _Line:
    """What is to be asked of one host."""

    __slots__ = (
        *("answers", "at", "is_filling", "is_heavy", "is_held", "more_at", "name", "not_before"),
        *("running", "slots", "urls"),
    )

    def __init__(self, name: str, slots: int, not_before: float) -> None:
        self.name, self.slots, self.not_before = name, slots, not_before
        self.urls: deque[Url] = deque()
        """Those that are leased."""
        self.more_at: float | None = None
        """When there are more in the frontier; None when there are none."""
        self.is_filling = False
        self.running = 0
        self.at: float | None = None
        """Where it stands in the heap."""
        self.answers: bool | None = None
        """Whether its last request was answered; None where there was none."""
        self.is_heavy = False
        """Whether its last page was a large one."""
        self.is_held = False
        """Whether it is held back until there is a place for hosts like it."""

    @property
    def is_busy(self) -> bool:
        """Whether as many requests are under way as it gets: one, unless it answers."""
        return self.running >= (self.slots if self.answers else 1)


class Crawl:
    """A crawl that is to be run: iterate over it, with `for` or `async for`, for its pages.

    Every page is in the store before it is seen here, with what it leads to. Stopping to iterate
    stops the crawl; `stop` lets what is under way finish.
    """

    def __init__(
        self,
        urls: Sequence[str],
        settings: Settings,
        *,
        agent: str | None = None,
        resume: bool | int = False,
        keep: Callable[[Crawled], object] | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if isinstance(urls, str):
            raise TypeError("a list of URLs is needed, not one")
        is_resumed, self._which = _resumed(resume)
        if is_resumed and settings.store is None:
            raise ValueError("there is nothing to resume without a store")
        self._starts = [page_url(url, without_tracking=settings.drop_tracking) for url in urls]
        if not self._starts and not is_resumed:
            raise ValueError("a crawl begins with a URL")
        self.settings, self._is_resumed = settings.for_agent(agent), is_resumed
        self._keeper, self._draw = None if keep is None else Keeper(keep), draw
        self.number = 0
        """The number of the crawl in its store."""
        self.ended = ""
        """Why it ended; empty while it goes on."""
        self.is_cut = False
        """Whether there is more than is taken in: `max_found`, `max_sitemaps`, or a page with more
        links than are read of one."""
        self.states: Counter[str] = Counter()
        """How many pages are queued, leased, done, failed and blocked."""
        self.budget = settings.budget
        self._lines: dict[str, _Line] = {}
        self._left_alone: dict[str, float] = {}
        """Hosts that were asked before this run, and when they may be again."""
        self._ready: list[tuple[float, int, _Line]] = []
        self._pushed = self._running = self._filling = self._keeping = 0
        self._silent: Counter[bool | None] = Counter()
        """Requests under way, by whether their hosts answered the last time."""
        self._held: dict[str, deque[_Line]] = {why: deque() for why in (_NEW, _SILENT, _HEAVY)}
        """Hosts that are held back, and why."""
        self._unread = 0
        """Bytes of the pages that wait for whoever reads them."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._spent: BudgetExceeded | None = None
        self._waits: type[Exception] | None = None
        """Why work waits: those who share its politeness cannot be asked, or have all slots."""
        self._reason = ""
        self._error: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._client: AsyncClient | None = None
        self._pages: deque[Crawled] = deque()
        self._news = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._is_over = False
        self._over: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # Whoever runs it.

    def __iter__(self) -> Iterator[Crawled]:
        portal.run(self._begin())
        try:
            while pages := portal.run(self._more()):
                yield from pages
        finally:
            portal.run(self._leave())

    async def __aiter__(self) -> AsyncGenerator[Crawled, None]:
        await self._begin()
        try:
            while pages := await self._more():
                for page in pages:
                    yield page
        finally:
            await self._leave()

    def stop(self) -> None:
        """Ask for nothing more, finish what is under way, and end; from any thread."""
        if self._loop is None:
            self._reason = INTERRUPTED
        else:
            self._loop.call_soon_threadsafe(self._end, INTERRUPTED)

    def abort(self) -> None:
        """End at once; what is under way is asked for again when the crawl is resumed."""
        if self._loop is None:
            self._reason = INTERRUPTED
        else:
            self._loop.call_soon_threadsafe(self._cancel)

    def view(self, most: int = 20) -> View:
        """How far it is, with the hosts that are being asked, or waited for longest."""
        now = time.time()
        lines = [each for each in list(self._lines.values()) if each.running or each.urls]
        hosts = []
        for line in lines:
            delay, until = self._client.pace_of(line.name) if self._client else (0.0, 0.0)
            until = max(until, line.not_before)
            hosts.append(HostView(line.name, delay, until, line.running, len(line.urls)))
        hosts.sort(key=lambda each: (-each.until, each.host))
        minutes = self.budget.minutes_used(now)
        pages = self.budget.pages_used
        return View(
            dict(self.states),
            self._running,
            pages,
            minutes,
            hosts[:most],
            bool(self._reason),
            self._waits is PolitenessError,
        )

    # Beginning and ending.

    async def _begin(self) -> None:
        if self._main is not None:
            raise RuntimeError("a crawl is run once; resume=True goes on with it")
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.create_task(self._run())

    async def _more(self) -> list[Crawled]:
        """The pages that are there, or come next; none at the end."""
        while not self._pages and not self._is_over:
            self._news.clear()
            await self._news.wait()
        pages = list(self._pages)
        self._pages.clear()
        self._unread -= sum(map(_size, pages))
        if pages:
            self._pump()
        elif self._main is not None:
            await self._main  # what went wrong is told here
        return pages

    async def _leave(self) -> None:
        """End, if it has not; whoever stops to look wants nothing more."""
        if self._main is not None and not self._main.done():
            self._cancel()
            # Whoever leaves is not told any more what goes wrong.
            await asyncio.gather(self._main, return_exceptions=True)

    async def _run(self) -> None:
        place = self.settings.store
        folder = None if place is not None else tempfile.mkdtemp(prefix="manners-")
        with ExitStack() as left:
            if folder is not None:
                left.callback(shutil.rmtree, folder, ignore_errors=True)
            try:
                await self._run_in(place or str(Path(folder or "", "crawl.db")), left)
            finally:
                await asyncio.to_thread(left.close)
                self._is_over = True
                self._news.set()

    async def _run_in(self, place: str, left: ExitStack) -> None:
        its, loop = self.settings, asyncio.get_running_loop()
        store = await asyncio.to_thread(
            EvidenceStore, place, create=not self._is_resumed, timeout=its.server_timeout
        )
        left.callback(store.close)
        frontier, scope = await asyncio.to_thread(self._open, store, left)
        self._frontier = frontier
        client = self._client = AsyncClient(
            settings=its.but(
                store=None,
                page_redirects=0,  # where one leads to is a URL of the frontier
                cache_entries=max(its.cache_entries, _SITES),
            ),
            budget=self.budget,
            evidence=store if its.store is not None else None,
            draw=self._draw,
        )
        hosts = scope if its.same_domain else None
        self._worker = Worker(client, hosts, self._draw, self._add)
        self._over = loop.create_future()
        ticker = asyncio.create_task(self._tick())
        try:
            if self._is_resumed:
                found = await frontier.hosts_with_work()
                self._left_alone = await asyncio.to_thread(self._paces, found)
                self._find(found)
            starts = [Named(url, "start", "", 0, 1.0) for url in self._starts]
            self._note(await frontier.add(starts))
            self.budget.run(time.time())
            self._pump()
            await self._over
        except asyncio.CancelledError:
            self._reason = self._reason or INTERRUPTED
        finally:
            ticker.cancel()
            is_cut_short = bool(self._tasks)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(ticker, *self._tasks, return_exceptions=True)
            if self._keeper is not None:
                await self._keeper.close()
            if self._timer is not None:
                self._timer.cancel()
            await client.close()
            if not isinstance(self._error, StoreError):
                self.ended = self._reason if self._error is None else f"failed: {self._error}"
                await frontier.end(self.ended, self._seconds())
                self.states["queued"] += self.states.pop("leased", 0)
                if is_cut_short:  # what was written last may have been told to nobody
                    self._count(await asyncio.to_thread(frontier.states))
        if self._error is not None:
            raise self._error

    def _open(self, store: EvidenceStore, left: ExitStack) -> tuple[Frontier, set[str]]:
        """Find out where the crawl stands; in a thread, because it may take a while."""
        its = self.settings
        if self._is_resumed:
            self.number = Frontier.find(store, self._which)
        else:
            self.number = Frontier.begin(store, self._starts, its.changed())
        left.enter_context(store.alone("crawl", self.number, _FAREWELL))
        traps = Traps.by(its)

        def judge(url: str, counts: bool) -> tuple[str, str]:
            trap = traps.look(url, counts=counts)
            return ("", "") if trap is None else (f"trap: {trap}", limit_of(trap, its))

        frontier = Frontier(
            store,
            self.number,
            max_depth=its.max_depth,
            redirects=its.page_redirects,
            most=its.max_found,
            sitemaps=its.max_sitemaps,
            judge=judge,
        )
        scope = {host(url) for url in self._starts}
        if self._is_resumed:
            frontier.resume(its.changed())
            self.is_cut = frontier.is_cut
            scope.update(map(host, frontier.starts()))
            for url in frontier.followed():
                traps.look(url)
            self._count(frontier.states())
            self.budget = its.budget_after(frontier.pages_used(), frontier.seconds() / 60)
            if not self.states:  # it was killed before it knew where to begin
                self._starts += frontier.starts()
        return frontier, scope

    def _count(self, states: "Counter[tuple[str, str]]") -> None:
        pages = {state: number for (kind, state), number in states.items() if kind == "page"}
        self.states = Counter(pages)

    def _paces(self, names: Iterable[str]) -> dict[str, float]:
        """When hosts may be asked, as if each had been just now: the last request is not known."""
        now, paces = time.time(), self._frontier.paces()
        for name in names:
            if name not in paces:
                paces[name] = (self._delay_of(name), 0.0)
        return {name: max(until, now + delay) for name, (delay, until) in paces.items()}

    def _delay_of(self, name: str) -> float:
        """The delay of a host of which nothing was finished; its record may tell."""
        for record in self._frontier.store.records(Filter(host=name), last=1):
            asked = record.content.get("crawlDelay")
            if isinstance(asked, int | float):
                return max(float(asked), self.settings.delay_most)
        return self.settings.delay_most

    def _seconds(self) -> float:
        return self.budget.minutes_used(time.time()) * 60

    async def _tick(self) -> None:
        """Write down how long it has been running; end when that was long enough."""
        while True:
            await asyncio.sleep(_EVERY)
            now = time.time()
            if self.budget.seconds_left(now) <= 0:
                self._end(str(self.budget.exceeded(now)))
            try:
                await self._frontier.end(None, self._seconds())
            except StoreError as error:
                self._fail(error)

    def _end(self, reason: str) -> None:
        """Let nothing more start."""
        if not self._reason:
            self._reason = reason
            if self._keeper is not None:
                self._keeper.expire()
            if self._client is not None:
                self._client.shut()
                self._pump()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._cancel()

    def _cancel(self) -> None:
        self._reason = self._reason or INTERRUPTED
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    # Who is asked next.

    def _line(self, name: str) -> _Line:
        line = self._lines.get(name)
        if line is None:
            own = self.settings.hosts.get(name)
            slots = (own.concurrency if own else None) or self.settings.concurrency
            line = self._lines[name] = _Line(name, slots, self._left_alone.get(name, 0.0))
        return line

    def _soonest(self, line: _Line) -> float:
        """When to begin with its next request. The client knows the pace and waits for the rest."""
        pace = self._client.pace_of(line.name)[1] if self._client else 0.0
        return max(pace - _LEAD, line.not_before)

    def _batch(self, line: _Line) -> int:
        delay = self._client.pace_of(line.name)[0] if self._client else 0.0
        return max(min(_BATCH, int(_AHEAD / delay) if delay else _BATCH), line.slots)

    async def _add(self, named: Sequence[Named]) -> None:
        self._note(await self._frontier.add(named))
        self._pump()

    def _note(self, change: Change) -> None:
        """Take in what a step has changed."""
        self.is_cut |= change.is_cut
        for state, number in change.states.items():
            self.states[state] += number
        for name in change.hosts:
            line = self._line(name)
            line.more_at = 0.0
            self._queue(line)

    def _find(self, found: dict[str, float]) -> None:
        for name, at in found.items():
            line = self._line(name)
            line.more_at = at
            self._queue(line)

    def _queue(self, line: _Line) -> None:
        """Put a host into the heap, where it is to be asked, and when."""
        if line.is_held:
            return
        if line.urls:
            if line.is_busy:
                return
            at = self._soonest(line)
        elif line.more_at is not None and not line.is_filling:
            at = line.more_at
        else:
            is_idle = not line.running and not line.is_filling and line.at is None
            if is_idle and self._lines.get(line.name) is line:
                del self._lines[line.name]  # there may be very many
            return
        if line.at is None or at < line.at:
            line.at = at
            self._pushed += 1
            heapq.heappush(self._ready, (at, self._pushed, line))

    def _pump(self) -> None:
        """Ask for what may be asked for now, and come back when there is more."""
        now, its = time.time(), self.settings
        if self._over is None or self._over.done() or self._client is None:
            return
        self._let_go()
        while self._goes_on() and self._ready and self._ready[0][0] <= now:
            unread = len(self._pages) + self._keeping
            is_unread = unread >= _UNREAD or self._unread >= _UNREAD_BYTES
            if self._running >= its.connections or is_unread:
                break
            at, _, line = heapq.heappop(self._ready)
            if line.at != at:
                continue  # it stands elsewhere
            line.at = None
            if line.urls and not line.is_busy and self._soonest(line) <= now:
                if held := self._holds(line):
                    line.is_held = True
                    self._held[held].append(line)
                    continue
                self._running += 1
                line.running += 1
                self._start(self._work(line, line.urls.popleft()))
            is_low = len(line.urls) <= self._batch(line) // 4
            if is_low and line.more_at is not None and line.more_at <= now:
                self._fill(line)
            self._queue(line)
        self._look_ahead(now)

    # Hosts that hang, or have huge pages, leave places to the others.

    def _places(self, why: str) -> int:
        """How many more of the hosts that are held back for a reason may be asked."""
        if why == _HEAVY:
            return _LARGE - self._worker.turns.waiting
        # A request that is not answered takes a place for as long as the timeout is.
        most, silent = self.settings.connections, self._silent[False]
        if why == _SILENT:
            return max(most // 4, 1) - silent
        return max(most - most // 4, 1) - silent - self._silent[None]

    def _holds(self, line: _Line) -> str:
        """Why a host has to wait for others like it; empty where it does not."""
        if not line.answers:
            why = _NEW if line.answers is None else _SILENT
            return why if self._places(why) <= 0 else ""
        return _HEAVY if line.is_heavy and self._places(_HEAVY) <= 0 else ""

    def _let_go(self) -> None:
        """Queue hosts again that were held back, as far as there are places; the first first."""
        for why, lines in self._held.items():
            number = max(self._places(why), 0) if self._running else len(lines)
            for _ in range(min(number, len(lines))):
                line = lines.popleft()
                line.is_held = False
                self._queue(line)

    def _goes_on(self) -> bool:
        return not self._reason and self._spent is None

    def _look_ahead(self, now: float) -> None:
        """End, when there is nothing more to do; else come back when there is."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._ready and self._ready[0][2].at != self._ready[0][0]:
            heapq.heappop(self._ready)
        is_busy = self._running or self._filling or self._keeping
        if not is_busy and not self._goes_on():
            self._finish(self._reason or str(self._spent))
        elif not is_busy and not self._ready:
            self._finish(FINISHED)
        elif self._ready and self._goes_on():
            at = self._ready[0][0]
            exceeded = None if is_busy or at <= now else self.budget.exceeded(now)
            if exceeded is not None:
                self._finish(str(exceeded))
            elif not is_busy and at - now > self.budget.seconds_left(now):
                self._finish("time limit: no host may be asked again before it")
            elif at > now and self._loop is not None:
                self._timer = self._loop.call_later(min(at - now, 3_600.0), self._pump)

    def _finish(self, reason: str) -> None:
        self._reason = reason
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _fill(self, line: _Line) -> None:
        if not line.is_filling:
            line.is_filling = True
            self._filling += 1
            self._start(self._take(line))

    async def _take(self, line: _Line) -> None:
        try:
            line.more_at = None  # what is added meanwhile sets it again
            taken = await self._frontier.take(line.name, self._batch(line), time.time())
            line.urls.extend(taken.urls)
            pages = sum(url.kind == "page" for url in taken.urls)
            self.states["queued"] -= pages
            self.states["leased"] += pages
            if line.more_at is None:
                line.more_at = taken.more_at
        except StoreError as error:
            self._fail(error)
        finally:
            line.is_filling = False
            self._filling -= 1
            self._queue(line)
            self._pump()

    async def _asked(self, line: _Line, url: Url) -> tuple[Finished, Crawled | None]:
        """Ask for a URL, and remember what kind of host that is."""
        answers = line.answers
        self._silent[answers] += 1
        try:
            finished, page = await self._worker.work(url)
        finally:
            self._silent[answers] -= 1
        if finished.answer is not None:
            line.answers = finished.answer.status is not None
        if page is not None:
            line.is_heavy = len(page.links) > MAX_LINKS or len(page.body) > MAX_BYTES
        return finished, page

    async def _work(self, line: _Line, url: Url) -> None:
        try:
            finished, page = await self._asked(line, url)
            self._waits = None
            self.is_cut |= finished.is_cut
            if page is not None:
                self._unread += _size(page)
            if self._keeper is not None and page is not None:
                await self._kept(self._keeper, line, page)
            self._note(await self._frontier.finish(finished))
            if page is not None:
                self._pages.append(page)
                self._news.set()
        except HostDeferred as error:
            line.not_before = error.until
            line.urls.appendleft(url)
        except (SlotTimeout, PolitenessError) as error:
            if self._waits is not type(error):
                logs.warned(str(error))  # once, until something has been answered
                self._waits = type(error)
            line.not_before = time.time() + _LATER
            line.urls.appendleft(url)
        except BudgetExceeded as error:
            self._spent = error
            line.urls.appendleft(url)
        except ClientClosed:
            line.urls.appendleft(url)
        except InvalidURL:
            self._note(await self._frontier.finish(Finished(url, "blocked", "invalid-url")))
        except (Exception, KeyboardInterrupt, SystemExit) as error:  # not a cancellation
            self._fail(error)
        finally:
            line.running -= 1
            self._running -= 1
            if self._spent is not None:  # another may have given a page back
                self._spent = self.budget.exceeded(time.time())
            self._queue(line)
            self._pump()

    async def _kept(self, keeper: Keeper, line: _Line, page: Crawled) -> None:
        """Have a page kept; meanwhile its host is asked for others."""
        self._keeping += 1
        line.running -= 1
        self._running -= 1
        self._queue(line)
        self._pump()
        try:
            await keeper.keep(page)
        finally:
            self._keeping -= 1
            line.running += 1
            self._running += 1


def _size(page: Crawled) -> int:
    """What a page takes of the memory, about."""
    return len(page.body) + _LINK_BYTES * len(page.links)


def _resumed(resume: bool | int) -> tuple[bool, int | None]:
    """Whether a crawl is resumed, and which; None is the last one of the store."""
    if isinstance(resume, bool):
        return resume, None
    if not isinstance(resume, int) or resume < 1:
        raise ValueError(f"resume is True, or the number of a crawl, not {resume!r}")
    return True, resume


def told(place: str, number: int | None = None, *, timeout: float = TIMEOUT) -> dict[str, Any]:
    """The settings that a crawl of a store was given, where they are not as by default."""
    with EvidenceStore(place, readonly=True, timeout=timeout) as store:
        return Frontier.told(store, number)


def crawl(
    urls: Sequence[str],
    settings: Settings | None = None,
    *,
    agent: str | None = None,
    resume: bool | int = False,
    keep: Callable[[Crawled], object] | None = None,
    **changes: Any,
) -> Crawl:
    """Crawl sites, beginning with some URLs; iterate over it, with `for` or `async for`.

    Settings may be given as keywords, too. With a `store` there is evidence of every decision, and
    `resume=True` goes on with the last crawl in it, `resume=3` with crawl 3: as that was told to,
    where no `settings` are given, but for the keywords. Without `resume` a new crawl begins,
    whatever else is in the store. `keep` is called with every page before it counts as fetched:
    what it has kept is not lost when the program is killed. It runs in a thread of its own, with
    one page at a time.

        for page in crawl(["https://example.com/"], store="crawl.db"):
            print(page.status, page.url, page.title)
    """
    if settings is not None and not isinstance(settings, Settings):
        given = type(settings).__name__
        raise TypeError(
            f"settings are manners.Settings(…), or keywords as max_pages=3, not {given}"
        )
    is_resumed, number = _resumed(resume)
    if settings is None and is_resumed and changes.get("store"):
        timeout = changes.get("server_timeout", TIMEOUT)
        settings = Settings(**told(changes["store"], number, timeout=timeout))
    its = (settings or Settings()).but(**changes)
    return Crawl(urls, its, agent=agent, resume=resume, keep=keep)
