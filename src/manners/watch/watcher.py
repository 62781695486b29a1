"""The watch: looks at each site when it is due, and has every event delivered."""

import asyncio
import heapq
import random
import time
from collections.abc import Callable, Sequence

from manners.errors import HostDeferred, SlotTimeout
from manners.watch.deciding import Event
from manners.watch.delivering import Channel
from manners.watch.journal import Journal
from manners.watch.looking import Observer
from manners.watch.pace import Retries, next_look
from manners.watch.telling import Teller

CONCURRENCY = 32
"""Looks at a time."""
START_GAP = 0.05
"""Seconds between the starts of two looks: many sites may be on one machine."""
_LONGEST_SLEEP = 60.0
"""Seconds: a machine that slept, or whose clock was set, notices soon after."""


class Watcher:
    """Looks at sites, once or every so many seconds, and tells the channels.

    Whatever is reported stands in the journal first. Each channel delivers one event at a time, and
    is not delayed by another.
    """

    def __init__(
        self,
        sites: Sequence[str],
        observer: Observer,
        journal: Journal,
        channels: Sequence[Channel],
        warn: Callable[[str], None],
        *,
        every: float | None = None,
        retries: Retries | None = None,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.unreachable = 0
        """Looks at sites that could not be reached, or asked for a pause."""
        self._sites, self._every = sites, every
        self._observer, self._journal, self._warn = observer, journal, warn
        self._draw, self._clock = draw, clock
        self._tellers = [
            Teller(
                channel,
                journal,
                warn,
                retries or Retries(),
                is_once=every is None,
                draw=draw,
                clock=clock,
            )
            for channel in channels
        ]
        self._tasks: list[asyncio.Task[None]] = []
        """The one that looks, and one for each channel, while it runs."""
        self._is_stopped = False

    @property
    def undelivered(self) -> int:
        """Deliveries that failed, or that the next run has to make."""
        return sum(teller.undelivered for teller in self._tellers)

    def stop(self) -> None:
        """Start nothing more, finish the deliveries that are under way, and end."""
        self._is_stopped = True
        for teller in self._tellers:
            teller.stop()
        for looking in self._tasks[:1]:
            looking.cancel()

    def abort(self) -> None:
        """End at once: what is being delivered is delivered again by the next run."""
        self.stop()
        for task in self._tasks:
            task.cancel()

    async def run(self) -> None:
        """Look at all sites, once or until `stop`, and deliver what there is to report."""
        await self._journal.drop_old(self._clock())
        if self._is_stopped:
            return
        looking = asyncio.create_task(self._look_at_all())
        looking.add_done_callback(self._expect_no_more)
        telling = [asyncio.create_task(teller.run()) for teller in self._tellers]
        self._tasks = [looking, *telling]
        try:
            done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                if not task.cancelled():
                    task.result()  # raises what went wrong
        finally:
            await _cancel(self._tasks)

    def _expect_no_more(self, _: object) -> None:
        for teller in self._tellers:
            teller.expect_no_more()

    async def _look_at_all(self) -> None:
        agenda = [(await self._due(site), order, site) for order, site in enumerate(self._sites)]
        heapq.heapify(agenda)
        turn = asyncio.Lock()
        workers = [
            asyncio.create_task(self._work(agenda, turn))
            for _ in range(min(CONCURRENCY, len(agenda)))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            await _cancel(workers)

    async def _due(self, site: str) -> float:
        """When to look at a site first: a restarted watch does not ask all sites again."""
        known = None if self._every is None else await self._journal.known(site)
        if known is None or self._every is None:
            return 0.0
        looked_at = min(known.looked_at, self._clock())  # the clock may have been set back
        return next_look(looked_at, self._every, known.not_before, self._draw())

    async def _work(self, agenda: list[tuple[float, int, str]], turn: asyncio.Lock) -> None:
        """Look at one site after another; after the last one, end or begin again."""
        while True:
            async with turn:
                if not agenda:
                    return
                due, order, site = await self._take(agenda)
            due = await self._look(site)
            if self._every is not None:
                heapq.heappush(agenda, (due, order, site))

    async def _take(self, agenda: list[tuple[float, int, str]]) -> tuple[float, int, str]:
        """Wait for the site that is due first, and take it."""
        while (wait := agenda[0][0] - self._clock()) > 0:
            await asyncio.sleep(min(wait, _LONGEST_SLEEP))
        await asyncio.sleep(START_GAP)
        return heapq.heappop(agenda)

    async def _look(self, site: str) -> float:
        """Look at a site; returns when to look again."""
        every, not_before = self._every or 0.0, 0.0
        try:
            known, event = await self._observer.look(site, self._channels_of)
        except (HostDeferred, SlotTimeout) as error:
            self.unreachable += 1
            self._warn(f"not looked at: {error}")
            if isinstance(error, HostDeferred):
                not_before = error.until
        else:
            self.unreachable += known.unreachable_since is not None
            not_before = known.not_before
            if event is not None:
                for teller in self._tellers:
                    teller.ring()
        return next_look(self._clock(), every, not_before, self._draw())

    def _channels_of(self, event: Event) -> list[str]:
        """Who is told of an event."""
        channels = [teller.channel for teller in self._tellers]
        return [channel.name for channel in channels if event.is_news or channel.has_all]


async def _cancel(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
