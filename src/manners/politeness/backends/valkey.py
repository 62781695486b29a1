"""Start times and slots in Valkey or Redis, shared by a fleet.

Each verb is one call of the script beside this file, in which the server's clock decides. The
clocks of processes may differ: what goes there and back are spans of time. A start counts from when
the answer is here, the end of a lease from when the question left, so that nobody starts too early,
or holds a slot for too long, because an answer took its time.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from manners import _forks, _valkey
from manners._text import cut, printable
from manners.errors import PolitenessError
from manners.politeness.backends import Lease, NotBefore

SCHEMES = _valkey.SCHEMES

_AGAIN = 1.0
"""Seconds after which a server that was away is told again what it has missed."""
_YEAR = 365 * 86_400
"""Seconds for which a host is left alone at the most."""
_AHEAD = 3 * _YEAR * 1_000_000
"""Microseconds: what is further ahead was never said by this package."""
_LATEST = 2**53
_WORDS = (b"start", b"held", b"early", b"full", b"lost", b"done")
_inherited: list[_valkey.Server] = []
"""Connections of the process this one was forked from: to close them would disturb it."""


class _Answer(NamedTuple):
    """What the server says."""

    word: bytes
    time: float
    """By the clock here, where the server's clock decided; else as it was told."""


class _Untold(NamedTuple):
    """What the server has to know, and may not."""

    verb: str
    host: str
    token: str
    until: float
    """When nobody needs to know any more."""
    times: int = 1
    """How often it is told, at least."""


class ValkeyBackend:
    """The five verbs, for any number of processes.

    `own` has the slots of hosts that have another number. The keys of slots begin with
    `concurrency_prefix`, those of start times with `delay_prefix`. The server has `timeout` seconds
    for each answer; one that takes longer is away.
    """

    def __init__(
        self,
        url: str,
        concurrency: int = 2,
        lease: float = 300.0,
        own: Mapping[str, int] | None = None,
        concurrency_prefix: str = "host_concurrency:",
        delay_prefix: str = "host_delay:",
        timeout: float = _valkey.TIMEOUT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._timeout = timeout
        self._url, self._concurrency, self._lease, self._clock = url, concurrency, lease, clock
        self._own = dict(own or {})
        self._prefixes = concurrency_prefix, delay_prefix
        self._lua = (files(__package__) / "valkey.lua").read_text("utf-8")
        self._connect()
        self.place = self._server.place
        """Where it is, as it may be shown."""

    def _connect(self) -> None:
        self._server, self._fork = _valkey.Server(self._url, self._timeout), _forks.generation
        self._script = self._server.redis.register_script(self._lua)
        self._asking, self._is_closed = 0, False
        self._untold: dict[tuple[str, str, str], _Untold] = {}
        self._telling: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # The five verbs, and two of them in one.

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one `delay` seconds later."""
        return (await self._ask("reserve", host, now, _us(delay), _us(within))).time

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again."""
        return await self._begin("take", host, now, delay)

    async def begin(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> Lease | float:
        """Reserve a start, and take a slot if it is now."""
        return await self._begin("begin", host, now, delay, within)

    async def release(self, lease: Lease) -> None:
        """Give a slot back; when the server is away, as soon as it is back."""
        await self._tell(_Untold("release", lease.host, lease.token, lease.until))

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Hold a slot for longer; with a delay, for a request that leaves only now."""
        answer = await self._ask("renew", lease.host, now, lease.token, _us(delay))
        return lease._replace(until=answer.time) if answer.word == b"held" else None

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:
        """Let nothing start before a time; when the server is away, as soon as it is back."""
        await self._tell(_Untold("penalise", host, "", until), now)

    async def close(self) -> None:
        """Tell what is still to be told, if the server answers in time, and close."""
        self._leave_the_parents()
        try:
            async with asyncio.timeout(self._timeout):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                # What is given back from now on closes the connection behind it, and is told once.
                self._is_closed = True
                await self._end_telling()
                await self._tell_all()
        except TimeoutError:
            pass
        finally:
            self._is_closed = True
            await self._end_telling()
            await _ended(self._tasks)
            await self._close_unused()

    async def _end_telling(self) -> None:
        if self._telling is not None:
            await _ended([self._telling])

    # Slots.

    async def _begin(
        self,
        verb: str,
        host: str,
        now: float | None,
        delay: float | None,
        within: float | None = None,
    ) -> Lease | float:
        # It is waited for even if nobody wants it any more: what comes then is given back.
        taking = self._start(self._take(verb, host, now, _us(delay), _us(within)))
        try:
            taken: Lease | float = await asyncio.shield(taking)
        except asyncio.CancelledError:
            if taking.cancelled():  # by `close`, and not whoever waits
                raise self._away("closed while it was waited for") from None
            taking.add_done_callback(self._came_too_late)
            raise
        return taken

    async def _take(self, verb: str, host: str, now: float | None, *more: str) -> Lease | float:
        token, slots = secrets.token_hex(8), self._own.get(host, self._concurrency)
        try:
            answer = await self._ask(verb, host, now, token, slots, *more)
        except PolitenessError:
            # It may have been taken all the same, even after it was given back: hence twice.
            self._keep(_Untold("release", host, token, self._clock() + self._lease, times=2))
            raise
        match answer.word:
            case b"early":
                return NotBefore(answer.time)
            case b"full":
                return answer.time
        return Lease(host, token, answer.time)

    def _came_too_late(self, taking: "asyncio.Task[Lease | float]") -> None:
        if not taking.cancelled() and taking.exception() is None:
            lease = taking.result()
            if isinstance(lease, Lease):
                self._start(self.release(lease))

    # What is told, sooner or later.

    async def _tell(self, what: _Untold, now: float | None = None) -> None:
        telling = self._start(self._try(what, now))
        try:
            await asyncio.shield(telling)
        except asyncio.CancelledError:
            if not telling.cancelled():  # else by `close`: it ends by itself
                raise

    async def _try(self, what: _Untold, now: float | None = None) -> bool:
        """Tell something, or remember to do so; whether the server knows."""
        argument = what.token
        if what.verb == "penalise":
            ahead = what.until - (self._clock() if now is None else now)
            argument = _us(min(max(ahead, 0.0), _YEAR))
        try:
            await self._ask(what.verb, what.host, now, argument)
        except PolitenessError:
            self._keep(what)
            return False
        return True

    def _keep(self, what: _Untold) -> None:
        if self._is_closed:
            return  # it ends by itself
        key = what.verb, what.host, what.token
        before = self._untold.get(key, what)
        self._untold[key] = what._replace(until=max(what.until, before.until))
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._go_on_telling())

    async def _go_on_telling(self) -> None:
        while self._untold and not self._is_closed:
            await asyncio.sleep(_AGAIN)
            await self._tell_all()

    async def _tell_all(self) -> None:
        for key, what in list(self._untold.items()):
            if what.until > self._clock() and not await self._try(what):
                return  # still away
            if what.times > 1 and what.until > self._clock():
                self._untold[key] = what._replace(times=what.times - 1)
            else:
                self._untold.pop(key, None)

    # The server.

    async def _ask(self, verb: str, host: str, now: float | None, *more: str | int) -> _Answer:
        self._leave_the_parents()
        keys = [f"{prefix}{{{host}}}" for prefix in self._prefixes]
        lease = round(self._lease * 1e6)
        sent, self._asking = self._clock(), self._asking + 1
        try:
            question = self._script(keys, [verb, _us(now), lease, *more])
            answer: Any = await self._server.answer(question)
        except self._server.failures as error:
            raise self._away(self._server.problem(error)) from None
        finally:
            self._asking -= 1
            if self._is_closed:
                await self._close_unused()
        received = self._clock()
        match answer:
            case [int(there), bytes(word), int(moment)] if (
                word in _WORDS and 0 <= there < _LATEST and 0 <= moment - there < _AHEAD
            ):
                pass
            case _:
                raise self._away(f"has something else in {keys[0]!r} or {keys[1]!r}")
        if now is not None:
            return _Answer(word, moment / 1e6)
        counts_from = sent if word == b"held" else received
        return _Answer(word, counts_from + (moment - there) / 1e6)

    def _away(self, problem: str) -> PolitenessError:
        return PolitenessError(self.place, printable(cut(problem.rstrip("."), 200)))

    def _leave_the_parents(self) -> None:
        """In a forked child: what is open, under way and untold is the parent's."""
        if self._fork != _forks.generation:
            _inherited.append(self._server)
            self._connect()

    async def _close_unused(self) -> None:
        if not self._asking:
            await self._server.close()

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Do something that ends also when nobody waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _ended(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks, and wait until they have ended."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


def _us(seconds: float | None) -> str:
    """Microseconds, as the script has them."""
    return "" if seconds is None else str(round(seconds * 1e6))


open_backend = ValkeyBackend
