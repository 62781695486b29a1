"""The gate that every request waits at: first come, first served, at the pace of each host.

Each host has a lane. The first in a lane reserves a start time, waits for it, and takes a slot;
only then is the next one first. So starts keep their distance even when slots were scarce, and no
host waits for another.

The gate remembers the starts made here: nothing asks the backend, or starts, before the time that
follows from them. So a backend that lost its data makes no host see requests faster than promised,
and a remote one is asked once per start unless others use the host too.

A host sees when requests leave, not when they could have. A caller that reports when its request
leaves (`may_depart` and `departed`) holds back the next one until then, and the gap counts from
there. Other processes allow for `schedule.grace`. A request that is later than that asks the
backend once more, and takes another turn if someone else has started meanwhile.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable

from manners import _forks
from manners.errors import ClientClosed, HostDeferred, LeaseOver, SlotTimeout
from manners.politeness.backends import Lease, NotBefore, PolitenessBackend
from manners.politeness.schedule import Defer, Pace, grace, turn
from manners.politeness.turns import Turn, give_turn, wait_for_turn

_RETRY = 0.05
"""Seconds after which a slot that another process has is tried for again."""
_WEIGHT = 0.1
"""Weight of the latest answer in the average time a backend takes to answer."""
_LANES = 10_000
"""Hosts from which on idle ones are forgotten."""

Gap = Callable[[float], float]
"""Seconds to the next start, for a random draw from 0 to 1."""
Begin = Callable[[str, float, float | None, float | None], Awaitable[Lease | float]]
"""The optional method of a backend that reserves and takes in one go."""


class _Start:
    """The last start made in a lane."""

    __slots__ = ("gap", "grace", "is_unsent", "lease", "leave_by")

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.gap = 0.0
        """Seconds to the next start."""
        self.grace = self.leave_by = 0.0
        """Seconds that the request may take to leave, and when they are over."""
        self.is_unsent = False
        """Whether the request has not left yet, and its caller will report when it does."""


class _Lane:
    """The requests that wait for one host, and how long its slots have all been taken."""

    __slots__ = (
        "_full_since",
        "alarm",
        "earliest",
        "full_before",
        "is_led",
        "last",
        "penalty",
        "reserved_gap",
        "reserved_start",
        "running",
        "waiting",
    )

    def __init__(self) -> None:
        self.waiting: deque[Turn] = deque()
        self.is_led = False
        """Whether someone is first in the lane, about to take a slot."""
        self.alarm: asyncio.Future[None] | None = None
        """Wakes up the first in the lane."""
        self.running = 0
        self.reserved_start, self.reserved_gap = 0.0, -1.0
        """A start that was reserved and not made yet, and the gap after it; -1: there is none."""
        self.last = _Start()
        self.earliest = self.penalty = 0.0
        """When the next request may start: after the last start here, and after back-off."""
        self.full_before = 0.0
        """Seconds for which all slots were taken, until the last time that one was free."""
        self._full_since = -1.0

    @property
    def is_full(self) -> bool:
        """Whether the first in the lane waits for a slot, not for a time."""
        return self._full_since >= 0

    def is_needed(self, now: float) -> bool:
        """Whether anything in it still matters."""
        return self.is_led or self.running > 0 or max(self.earliest, self.penalty) > now

    def full_seconds(self, now: float) -> float:
        """Seconds for which all slots have been taken, in total."""
        return self.full_before + (now - self._full_since if self._full_since >= 0 else 0.0)

    def fill(self, now: float) -> None:
        """All slots are taken from now on."""
        self._full_since = now

    def empty(self, now: float) -> None:
        """There is a free slot from now on."""
        self.full_before, self._full_since = self.full_seconds(now), -1.0

    def call_next(self) -> None:
        """Make the next one first."""
        self.is_led = give_turn(self.waiting)

    def wake(self) -> None:
        """Wake up the first in the lane."""
        _ring(self.alarm)


class _Places:
    """Limits the requests under way, all hosts together; first come, first served."""

    __slots__ = ("_waiting", "number", "used")

    def __init__(self, number: int) -> None:
        self.number, self.used = number, 0
        self._waiting: deque[Turn] = deque()

    async def take(self) -> None:
        """Take a place, if necessary after waiting for it."""
        if self.used < self.number:
            self.used += 1
        else:
            await wait_for_turn(self._waiting.append, self.leave)

    def leave(self) -> None:
        """Give a place back, or to the first that waits."""
        if not give_turn(self._waiting):
            self.used -= 1


class Gate:
    """Lets requests through to hosts, a few at a time, at their pace; in one event loop.

    At most `places` of them are under way at once, all hosts together.
    """

    def __init__(
        self,
        backend: PolitenessBackend,
        pace: Pace,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
        places: int = 256,
    ) -> None:
        self._backend, self._pace, self._draw, self._clock = backend, pace, draw, clock
        self._begin_remotely: Begin | None = getattr(backend, "begin", None)
        self._lanes: dict[str, _Lane] = {}
        self._max_lanes = _LANES
        self._fork = _forks.generation
        self._places = _Places(places)
        self._is_closed = False
        self.may_send: Callable[[], bool] = lambda: True
        self._admit: Callable[[str], Awaitable[None]] | None = None
        self._answer_time = self.min_grace = 0.0
        """Seconds: how long the backend takes to answer; how late a request may leave at least."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def enter(self, host: str, gap: Gap, tells: bool = False) -> Lease:
        """Wait for a slot of a host; `gap` says how far away the next start is.

        With `tells`, the caller asks `may_depart` right before a late request leaves and reports
        when it has `departed`: the gap counts from there. Otherwise it counts from now.
        """
        if self._admit is not None:
            await self._admit(host)
        lane = self._lanes.get(host)
        if lane is None or self._fork != _forks.generation:
            lane = self._lane(host)
        full_before = lane.full_before
        if lane.is_led:
            full_before = lane.full_seconds(self._clock())
            # Those behind the first do not time out before the first does.
            await wait_for_turn(lane.waiting.append, lane.call_next)
        lane.is_led = True
        try:
            if self._is_closed:
                raise ClientClosed
            seconds = gap(self._draw())
            if seconds > lane.reserved_gap:
                lane.reserved_gap = -1.0
            else:  # someone reserved a start and gave up: it can still be used
                seconds = lane.reserved_gap
            return await self._enter(lane, host, seconds, tells, full_before)
        finally:
            lane.call_next()

    async def _enter(
        self, lane: _Lane, host: str, gap: float, tells: bool, full_before: float
    ) -> Lease:
        """Wait for a slot as the first in a lane."""
        now = self._clock()
        while not self._is_closed:
            # Not even a backend that lost its data lets a request start before this.
            start = max(lane.earliest, lane.penalty)
            if lane.reserved_gap >= 0:
                start = max(start, lane.reserved_start)
            if lane.last.is_unsent or start > now:
                now = await self._wait_until(lane, host, start, now)
                continue
            taken = await self._take(lane, host, gap)
            if isinstance(taken, Lease):
                if self._starts(lane, taken, gap, tells) or await self._starts_late(lane, taken):
                    return taken
            else:
                lane.reserved_start, lane.reserved_gap = 0.0, gap
                if isinstance(taken, NotBefore):
                    lane.reserved_start = taken
                else:
                    await self._wait_for_slot(lane, host, taken, full_before)
            now = self._clock()
        raise ClientClosed

    def fence(
        self,
        may_send: Callable[[], bool],
        admit: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Let no request leave while `may_send` says no; `admit` is waited for before a turn."""
        self.may_send, self._admit = may_send, admit

    def is_asking(self, host: str) -> bool:
        """Whether a request is under way at a host, or waits for its turn."""
        lane = self._lanes.get(host)
        return lane is not None and (lane.is_led or lane.running > 0)

    def is_late(self, lease: Lease) -> bool:
        """Whether other processes may assume that a request has left, although it has not."""
        if not self.may_send():
            return True
        lane = self._lanes.get(lease.host)
        last = None if lane is None or lane.last.lease is not lease else lane.last
        return last is not None and last.is_unsent and self._clock() > last.leave_by

    async def may_depart(self, lease: Lease) -> bool:
        """Whether a late request may leave now; otherwise it has to take another turn."""
        if not self.may_send():
            raise LeaseOver
        lane = self._lanes.get(lease.host)
        if lane is None or lane.last.lease is not lease or await self._renew_start(lane, lease):
            if not self.may_send():  # this process may have stood still meanwhile
                raise LeaseOver
            return True
        lane.last.is_unsent = False  # it made no start
        lane.wake()
        return False

    def departed(self, lease: Lease) -> None:
        """A request has just left, or never will: the gap to the next one counts from here."""
        lane = self._lanes.get(lease.host)
        if lane is None or not lane.last.is_unsent or lane.last.lease is not lease:
            return
        last, now = lane.last, self._clock()
        last.is_unsent = False
        lane.earliest = max(lane.earliest, now + last.gap)
        lane.wake()
        if last.grace and now > last.leave_by:  # it was delayed: other processes have to know
            task = asyncio.create_task(self._backend.penalise(lease.host, now + last.gap))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def leave(self, lease: Lease) -> None:
        """Give a slot back."""
        lane = self._lanes.get(lease.host)
        if lane is not None and lane.last.is_unsent:
            self.departed(lease)
        try:
            await self._backend.release(lease)
        finally:
            self._places.leave()
            lane = self._lanes.get(lease.host)
            if lane is not None:
                lane.running -= 1
                if lane.is_full:
                    lane.wake()

    async def renew(self, lease: Lease) -> Lease | None:
        """Extend the lease of a slot; None when it is lost."""
        return await self._backend.renew(lease)

    async def penalise(self, host: str, until: float) -> None:
        """Start nothing at a host before a time."""
        lane = self._lane(host)
        lane.penalty = max(lane.penalty, until)
        await self._backend.penalise(host, until)

    def earliest(self, host: str) -> float:
        """When a request may start, as far as this process knows."""
        lane = self._lanes.get(host)
        return 0.0 if lane is None else max(lane.earliest, lane.penalty)

    async def pass_by(self, host: str, gap: float) -> None:
        """Wait until a host may be asked, without a slot: the caller has slots and delays itself.

        A gap that is too long to wait for (`defer_beyond`) becomes a penalty after this request.
        """
        while (start := self.earliest(host)) > (now := self._clock()):
            answer = turn(self._pace, start, now)
            if isinstance(answer, Defer):
                raise HostDeferred(host, answer.until)
            await asyncio.sleep(answer.seconds)
        if self._is_closed:
            raise ClientClosed
        if gap > self._pace.defer_beyond:
            await self.penalise(host, now + gap)

    def shut(self) -> None:
        """Turn away requests that wait or come later; those under way go on."""
        self._is_closed = True
        for lane in self._lanes.values():
            for waiting in (*lane.waiting, lane.alarm):
                _ring(waiting)

    async def close(self) -> None:
        """Turn away requests that wait or come later, and close the backend."""
        self.shut()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._backend.close()

    async def _take(self, lane: _Lane, host: str, gap: float) -> Lease | float:
        """A slot, and a place among all requests; or when to try again."""
        # The place comes first: a slot counts as a start, so no request waits with a slot in hand.
        await self._places.take()
        taken: Lease | float = 0.0
        try:
            if not self._is_closed:
                taken = await self._begin(lane, host, gap)
        finally:
            if not isinstance(taken, Lease):
                self._places.leave()
        return taken

    def _starts(self, lane: _Lane, lease: Lease, gap: float, tells: bool) -> bool:
        """Whether the slot that was just taken is a start right away."""
        last, now = lane.last, self._clock()
        lane.running, lane.reserved_gap = lane.running + 1, -1.0
        lane.earliest = now + gap + last.grace
        last.lease, last.gap, last.is_unsent = lease, gap, tells and gap > 0
        # Without grace, no other process has counted on this start meanwhile.
        return not self._is_closed and (tells or last.grace == 0 or now <= last.leave_by)

    async def _starts_late(self, lane: _Lane, lease: Lease) -> bool:
        """Whether it is a start now; otherwise it is given back."""
        starts = False
        try:
            starts = not self._is_closed and await self._renew_start(lane, lease)
        finally:
            if not starts:
                await self.leave(lease)
        return starts

    async def _renew_start(self, lane: _Lane, lease: Lease) -> bool:
        """Whether the last start may be made now instead."""
        last = lane.last
        while True:
            asked, gap = self._clock(), last.gap + last.grace
            if await self._backend.renew(lease, None, gap) is None:
                return False
            now = self._clock()
            lane.earliest = max(lane.earliest, now + gap)
            last.leave_by = max(asked + last.grace, now if self._begin_remotely is None else 0.0)
            if now <= last.leave_by:
                return True
            last.grace = 2 * (now - asked)  # the backend is too slow for less

    async def _begin(self, lane: _Lane, host: str, gap: float) -> Lease | float:
        """A slot, for a start that is reserved now unless one already is."""
        last, asked = lane.last, self._clock()
        is_remote = gap > 0 and self._begin_remotely is not None
        last.grace = max(grace(gap, self._answer_time), self.min_grace) if is_remote else 0.0
        last.leave_by, delay = asked + last.grace, gap + last.grace
        if lane.reserved_gap < 0:
            within = self._pace.defer_beyond + last.grace
            if self._begin_remotely is not None:
                taken = await self._begin_remotely(host, delay, None, within)
                self._answer_time += _WEIGHT * (self._clock() - asked - self._answer_time)
                return taken
            lane.reserved_start = await self._backend.reserve(host, delay, None, within)
            lane.reserved_gap = gap
            if lane.reserved_start > self._clock():
                return NotBefore(lane.reserved_start)
        return await self._backend.take(host, None, delay)

    async def _wait_until(self, lane: _Lane, host: str, start: float, now: float) -> float:
        """Wait for the last request to leave, or for a time; returns the time then."""
        if lane.last.is_unsent:
            await self._sleep(lane, None)
            return self._clock()
        answer = turn(self._pace, start - lane.last.grace, now)
        if isinstance(answer, Defer):
            lane.reserved_gap = -1.0
            raise HostDeferred(host, start)
        await self._sleep(lane, start - now)
        return start

    async def _wait_for_slot(
        self, lane: _Lane, host: str, again: float, full_before: float
    ) -> None:
        now = self._clock()
        patience = self._pace.patience(lane.full_seconds(now) - full_before)
        if patience <= 0:
            raise SlotTimeout(host)
        # A slot given back here wakes the lane at once; those of other processes are polled.
        lane.fill(now)
        try:
            await self._sleep(lane, min(patience, max(again - now, 0.0), _RETRY))
        finally:
            lane.empty(self._clock())

    @staticmethod
    async def _sleep(lane: _Lane, seconds: float | None) -> None:
        """Sleep until it is time, or until the lane is woken up."""
        loop = asyncio.get_running_loop()
        alarm = lane.alarm = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _ring, alarm)
        try:
            await alarm
        finally:
            if timer is not None:
                timer.cancel()
            lane.alarm = None

    def _lane(self, host: str) -> _Lane:
        if self._fork != _forks.generation:  # in a forked child, those who wait are the parent's
            self._lanes, self._fork = {}, _forks.generation
            self._places = _Places(self._places.number)
        elif len(self._lanes) >= self._max_lanes:
            now = self._clock()
            self._lanes = {name: lane for name, lane in self._lanes.items() if lane.is_needed(now)}
            self._max_lanes = max(_LANES, 2 * len(self._lanes))
        return self._lanes.setdefault(host, _Lane())


def _ring(alarm: "asyncio.Future[None] | None") -> None:
    if alarm is not None and not alarm.done():
        alarm.set_result(None)
