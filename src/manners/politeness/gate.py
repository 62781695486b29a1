"""The way to a slot: first come, first served, at the pace of each host.

Whoever is first in a host's line reserves a start time, waits for it, and takes a slot; only then
is the next one first. So starts are apart by what the host was promised, also when slots were
scarce meanwhile, and no host's line stands in another's way.

What was started here is known here, too: nobody asks the backend, or starts, before the time that
follows from it. So a backend that has lost everything makes no host wait for less than it was
promised, and one that is far away is asked once for each start that nobody else is in the way of.

A host sees when requests leave, not when they could have. Whoever tells when its request leaves
(`departs` and `left`) keeps the next one back until then, and the gap counts from there. Others, in
other processes, allow for `schedule.grace`. Who is later than that asks the backend once more, and
takes another turn where somebody else has started.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable

from manners import _forks
from manners.errors import ClientClosed, HostDeferred, SlotTimeout
from manners.politeness.backends import Backend, Lease, NotBefore
from manners.politeness.schedule import Defer, Pace, grace, turn

_RETRY = 0.05
"""Seconds after which a slot that another process holds is tried for again."""
_WEIGHT = 0.1
"""How much the latest answer counts for how long a backend takes to answer."""
_LINES = 10_000
"""Hosts from which on those that nobody waits for are forgotten."""

Gap = Callable[[float], float]
"""Seconds to the next start, for a random draw from 0 to 1."""
Begin = Callable[[str, float, float | None, float | None], Awaitable[Lease | float]]
"""What a backend may have to reserve and take in one go."""


class _Line:
    """Who waits for one host, and for how long its slots have all been in use."""

    __slots__ = (
        "_full_since",
        "alarm",
        "apart",
        "earliest",
        "gap",
        "grace",
        "is_led",
        "is_unsent",
        "latest",
        "leave_by",
        "penalty",
        "running",
        "start",
        "waiting",
        "was_full",
    )

    def __init__(self) -> None:
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.is_led = False
        """Whether somebody is first in line, on the way to a slot."""
        self.alarm: asyncio.Future[None] | None = None
        """What the first in line sleeps on."""
        self.running = 0
        self.start, self.gap = 0.0, -1.0
        """A start that was reserved and not made yet, and how far it is from the next."""
        self.earliest = self.penalty = 0.0
        """When the next one may start, by the last start made here and by what the host said."""
        self.latest: Lease | None = None
        """The last start made here; how far it is from the next, and until when it is to leave."""
        self.apart = self.grace = self.leave_by = 0.0
        self.is_unsent = False
        """Whether it is still to leave, and somebody will tell."""
        self.was_full = 0.0
        """Seconds for which all slots were in use, up to the last time that one was free."""
        self._full_since = -1.0

    @property
    def is_full(self) -> bool:
        """Whether the first in line waits for a slot, not for a time."""
        return self._full_since >= 0

    def is_needed(self, now: float) -> bool:
        """Whether anything is known of the host that still counts."""
        return self.is_led or self.running > 0 or max(self.earliest, self.penalty) > now

    def full(self, now: float) -> float:
        """Seconds for which all slots have been in use, all in all."""
        return self.was_full + (now - self._full_since if self._full_since >= 0 else 0.0)

    def fill(self, now: float) -> None:
        """All slots are in use from now on."""
        self._full_since = now

    def empty(self, now: float) -> None:
        """There is a slot from now on."""
        self.was_full, self._full_since = self.full(now), -1.0

    def call_next(self) -> None:
        """Make the next one first, who begins at once."""
        self.is_led = False
        while self.waiting and not self.is_led:
            turn = self.waiting.popleft()
            if not turn.done():
                self.is_led = True
                turn.set_result(None)


class _Places:
    """How many requests are under way, all hosts together; who waits for a place comes in turn."""

    __slots__ = ("_waiting", "number", "used")

    def __init__(self, number: int) -> None:
        self.number, self.used = number, 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def are_taken(self) -> bool:
        """Whether a place has to be waited for."""
        return self.used >= self.number

    async def wait(self) -> None:
        """Wait for a place, and take it."""
        mine = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():
                self.leave()  # the place came too late to be used
            raise

    def leave(self) -> None:
        """Give a place back, or on to the first who waits."""
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():
                first.set_result(None)
                return
        self.used -= 1


class Gate:
    """Lets requests through to hosts, a few at a time, at their pace; in one event loop.

    No more than `places` of them are under way at once, all hosts together.
    """

    def __init__(
        self,
        backend: Backend,
        pace: Pace,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
        places: int = 256,
    ) -> None:
        self._backend, self._pace, self._draw, self._clock = backend, pace, draw, clock
        self._begins: Begin | None = getattr(backend, "begin", None)
        self._lines: dict[str, _Line] = {}
        self._room = _LINES
        self._fork = _forks.generation
        self._places = _Places(places)
        self._is_closed = False
        self._answer_time = 0.0
        """Seconds that a backend takes to answer, the latest counting most."""
        self._telling: set[asyncio.Task[None]] = set()

    async def enter(self, host: str, gap: Gap, tells: bool = False) -> Lease:
        """A slot of a host, at the time for it; `gap` says how far the next start is away.

        Who `tells` asks whether it `departs` right before its request leaves, and says when it has
        `left`: the gap counts from there. For others it counts from now.
        """
        line = self._lines.get(host)
        if line is None or self._fork != _forks.generation:
            line = self._line(host)
        now = self._clock()
        begun = line.was_full
        if line.is_led:
            begun = line.full(now)
            await self._wait_in(line)
            now = self._clock()
        line.is_led = True
        try:
            if self._is_closed:
                raise ClientClosed
            apart = gap(self._draw())
            if apart > line.gap:
                line.gap = -1.0
            else:  # somebody reserved a start and gave up: it is still there
                apart = line.gap
            while not self._is_closed:
                # A backend that has forgotten everything lets nobody start before this, either.
                start = max(line.earliest, line.penalty, line.start if line.gap >= 0 else 0.0)
                if line.is_unsent or start > now:
                    now = await self._wait_until(line, host, start, now)
                    continue
                taken = await self._take(line, host, apart)
                if isinstance(taken, Lease):
                    if self._starts(line, taken, apart, tells) or await self._starts_late(
                        line, taken
                    ):
                        return taken
                    now = self._clock()
                    continue
                line.start, line.gap = 0.0, apart
                if isinstance(taken, NotBefore):
                    line.start = taken
                else:
                    await self._wait_for_slot(line, host, taken, begun)
                now = self._clock()
            raise ClientClosed
        finally:
            line.call_next()

    def is_late(self, lease: Lease) -> bool:
        """Whether others may count with a request that has left, and it has not."""
        line = self._lines.get(lease.host)
        return (
            line is not None
            and line.is_unsent
            and line.latest is lease
            and self._clock() > line.leave_by
        )

    async def departs(self, lease: Lease) -> bool:
        """Whether a request that is late may leave now; else it has to take another turn."""
        line = self._lines.get(lease.host)
        if line is None or line.latest is not lease or await self._departs(line, lease):
            return True
        line.is_unsent = False  # it has made no start
        _ring(line.alarm)
        return False

    def left(self, lease: Lease) -> None:
        """A request has left just now, or never will: the gap to the next one counts from here."""
        line = self._lines.get(lease.host)
        if line is None or not line.is_unsent or line.latest is not lease:
            return
        line.is_unsent, now = False, self._clock()
        line.earliest = max(line.earliest, now + line.apart)
        _ring(line.alarm)
        if line.grace and now > line.leave_by:  # it stood still for a moment: the others are told
            task = asyncio.create_task(self._backend.penalise(lease.host, now + line.apart))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def leave(self, lease: Lease) -> None:
        """Give a slot back."""
        line = self._lines.get(lease.host)
        if line is not None and line.is_unsent:
            self.left(lease)
        try:
            await self._backend.release(lease)
        finally:
            self._places.leave()
            line = self._lines.get(lease.host)
            if line is not None:
                line.running -= 1
                if line.is_full:
                    _ring(line.alarm)

    async def renew(self, lease: Lease) -> Lease | None:
        """Hold a slot for longer; None when it is lost."""
        return await self._backend.renew(lease)

    async def penalise(self, host: str, until: float) -> None:
        """Let nothing start before a time."""
        line = self._line(host)
        line.penalty = max(line.penalty, until)
        await self._backend.penalise(host, until)

    def earliest(self, host: str) -> float:
        """When a request may start, as far as is known here; what others do is not."""
        line = self._lines.get(host)
        return 0.0 if line is None else max(line.earliest, line.penalty)

    async def pass_by(self, host: str, apart: float) -> None:
        """Wait until a host may be asked, and take no slot: for who has slots and delays itself.

        Where the host wants requests to be further apart than anything is waited for, one passes.
        """
        while (start := self.earliest(host)) > (now := self._clock()):
            answer = turn(self._pace, start, now)
            if isinstance(answer, Defer):
                raise HostDeferred(host, answer.until)
            await asyncio.sleep(answer.seconds)
        if self._is_closed:
            raise ClientClosed
        if apart > self._pace.defer_beyond:
            await self.penalise(host, now + apart)

    def shut(self) -> None:
        """Turn away whoever waits, and whoever comes; what is under way goes on."""
        self._is_closed = True
        for line in self._lines.values():
            for each in (*line.waiting, line.alarm):
                _ring(each)

    async def close(self) -> None:
        """Turn away whoever waits, and whoever comes."""
        self.shut()
        if self._telling:
            await asyncio.wait(self._telling)
        await self._backend.close()

    async def _take(self, line: _Line, host: str, apart: float) -> Lease | float:
        """A slot, and a place among all requests, or when to try again."""
        # The place comes first, and the slot counts as the start: nobody waits with a slot in hand.
        if self._places.are_taken:
            await self._places.wait()
        else:
            self._places.used += 1
        taken: Lease | float = 0.0
        try:
            if not self._is_closed:
                taken = await self._begin(line, host, apart)
        finally:
            if not isinstance(taken, Lease):
                self._places.leave()
        return taken

    def _starts(self, line: _Line, lease: Lease, apart: float, tells: bool) -> bool:
        """Whether a slot that was taken is a start at once."""
        now = self._clock()
        line.running, line.gap, line.latest = line.running + 1, -1.0, lease
        line.apart, line.earliest = apart, now + apart + line.grace
        line.is_unsent = tells and apart > 0
        # Without grace, nobody else has counted with this start while it was being taken.
        return not self._is_closed and (tells or line.grace == 0 or now <= line.leave_by)

    async def _starts_late(self, line: _Line, lease: Lease) -> bool:
        """Whether it is one now; if not, it is given back."""
        starts = False
        try:
            starts = not self._is_closed and await self._departs(line, lease)
        finally:
            if not starts:
                await self.leave(lease)
        return starts

    async def _departs(self, line: _Line, lease: Lease) -> bool:
        """Whether the start that was made last may be made now instead."""
        while True:
            asked, apart = self._clock(), line.apart + line.grace
            if await self._backend.renew(lease, None, apart) is None:
                return False
            now = self._clock()
            line.earliest = max(line.earliest, now + apart)
            line.leave_by = max(asked + line.grace, now if self._begins is None else 0.0)
            if now <= line.leave_by:
                return True
            line.grace = 2 * (now - asked)  # it answers too slowly for less

    async def _begin(self, line: _Line, host: str, apart: float) -> Lease | float:
        """A slot, for a start that is reserved now if none is."""
        backend, asked = self._backend, self._clock()
        is_far = apart > 0 and self._begins is not None
        line.grace = grace(apart, self._answer_time) if is_far else 0.0
        line.leave_by, delay = asked + line.grace, apart + line.grace
        taken: Lease | float
        if line.gap < 0:
            within = self._pace.defer_beyond + line.grace
            if self._begins is not None:
                taken = await self._begins(host, delay, None, within)
                self._answer_time += _WEIGHT * (self._clock() - asked - self._answer_time)
                return taken
            line.start = await backend.reserve(host, delay, None, within)
            line.gap = apart
            if line.start > self._clock():
                return NotBefore(line.start)
        return await backend.take(host, None, delay)

    async def _wait_until(self, line: _Line, host: str, start: float, now: float) -> float:
        """Wait for the request before to leave, or for a time; what time it is then."""
        if line.is_unsent:
            await self._sleep(line, None)
            return self._clock()
        answer = turn(self._pace, start - line.grace, now)
        if isinstance(answer, Defer):
            line.gap = -1.0
            raise HostDeferred(host, start)
        await self._sleep(line, start - now)
        return start

    async def _wait_for_slot(self, line: _Line, host: str, again: float, begun: float) -> None:
        now = self._clock()
        left = self._pace.patience(line.full(now) - begun)
        if left <= 0:
            raise SlotTimeout(host)
        # A slot that is given back here is noticed at once; those of others have to be tried for.
        line.fill(now)
        try:
            await self._sleep(line, min(left, max(again - now, 0.0), _RETRY))
        finally:
            line.empty(self._clock())

    @staticmethod
    async def _sleep(line: _Line, seconds: float | None) -> None:
        """Sleep, until it is time or something happens that the first in line has to know."""
        loop = asyncio.get_running_loop()
        alarm = line.alarm = loop.create_future()
        timer = None if seconds is None else loop.call_later(seconds, _ring, alarm)
        try:
            await alarm
        finally:
            if timer is not None:
                timer.cancel()
            line.alarm = None

    async def _wait_in(self, line: _Line) -> None:
        """Wait to be first. Nobody behind the first runs out of patience before the first does."""
        mine = asyncio.get_running_loop().create_future()
        line.waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():
                line.call_next()  # the turn came too late to be used
            raise

    def _line(self, host: str) -> _Line:
        if self._fork != _forks.generation:  # those who wait are the parent's
            self._lines, self._fork = {}, _forks.generation
            self._places = _Places(self._places.number)
        elif len(self._lines) >= self._room:
            now = self._clock()
            self._lines = {name: line for name, line in self._lines.items() if line.is_needed(now)}
            self._room = max(_LINES, 2 * len(self._lines))
        return self._lines.setdefault(host, _Line())


def _ring(alarm: "asyncio.Future[None] | None") -> None:
    if alarm is not None and not alarm.done():
        alarm.set_result(None)
