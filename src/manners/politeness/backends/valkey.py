"""Start times and slots in Valkey or Redis, shared by several processes.

Each verb is one call of the Lua script beside this file, in which the server's clock decides. The
clocks of processes may differ, so only spans of time go over the network. A start counts from when
the answer arrives, the end of a lease from when the question left: with a slow answer, no
request starts too early or keeps its slot for too long.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple

from manners import _forks, _valkey
from manners._text import cut, printable
from manners.errors import PolitenessError
from manners.politeness.backends import Lease, NotBefore

SCHEMES = _valkey.SCHEMES

_RETRY = 1.0
"""Seconds after which notices that the server has missed are sent again."""
_YEAR = 365 * 86_400
"""Seconds: the longest penalty of a host."""
_AHEAD = 3 * _YEAR * 1_000_000
"""Microseconds: this package never writes a time that is further ahead."""
_LATEST = 2**53
_WORDS = (b"start", b"held", b"early", b"full", b"lost", b"done")
_INHERITED: list["_Script"] = []
"""Connections of the process this one was forked from: closing them would disturb it."""


class _Answer(NamedTuple):
    """The answer of the script."""

    word: bytes
    time: float
    """By the clock here, if the server's clock decided; otherwise as the server returned it."""


class _Script:
    """The script on the server, with the connections of one process."""

    def __init__(
        self,
        url: str,
        prefixes: tuple[str, str],
        lease: float,
        timeout: float,
        clock: Callable[[], float],
    ) -> None:
        self.server = _valkey.Server(url, timeout)
        self.is_closed = False
        self._prefixes, self._lease, self._clock = prefixes, lease, clock
        lua = (files(__package__) / "valkey.lua").read_text("utf-8")
        self._run = self.server.redis.register_script(lua)
        self._calls = 0

    async def call(self, verb: str, host: str, now: float | None, *more: str | int) -> _Answer:
        """The answer to a verb; raises `PolitenessError` when there is none."""
        keys = [f"{prefix}{{{host}}}" for prefix in self._prefixes]
        lease = round(self._lease * 1e6)
        sent, self._calls = self._clock(), self._calls + 1
        try:
            question = self._run(keys, [verb, _us(now), lease, *more])
            answer: Any = await self.server.answer(question)
        except self.server.failures as error:
            raise self.error(self.server.problem(error)) from None
        finally:
            self._calls -= 1
            if self.is_closed:
                await self.close_unused()
        received = self._clock()
        match answer:
            case [int(there), bytes(word), int(moment)] if (
                word in _WORDS and 0 <= there < _LATEST and 0 <= moment - there < _AHEAD
            ):
                pass
            case _:
                raise self.error(f"has something else in {keys[0]!r} or {keys[1]!r}")
        if now is not None:
            return _Answer(word, moment / 1e6)
        counts_from = sent if word == b"held" else received
        return _Answer(word, counts_from + (moment - there) / 1e6)

    def error(self, problem: str) -> PolitenessError:
        """The error for a server that cannot be used."""
        return PolitenessError(self.server.place, printable(cut(problem.rstrip("."), 200)))

    async def close_unused(self) -> None:
        """Close the connections, unless a call is under way."""
        if not self._calls:
            await self.server.close()


class _Notice(NamedTuple):
    """A release or a penalty that the server may not have received."""

    verb: str
    host: str
    token: str
    until: float
    """When it no longer matters."""
    times: int = 1
    """How often it is sent, at least."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies it."""
        return self.verb, self.host, self.token


class ValkeyBackend:
    """The five verbs, for any number of processes.

    `own` has the number of slots of single hosts. The keys of slots begin with
    `concurrency_prefix`, those of start times with `delay_prefix`. The server has `timeout` seconds
    for an answer; one that takes longer is unreachable.
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
        self._concurrency, self._lease, self._clock = concurrency, lease, clock
        self._own, self._timeout = dict(own or {}), timeout
        prefixes = concurrency_prefix, delay_prefix
        self._new_script = partial(_Script, url, prefixes, lease, timeout, clock)
        self._connect()
        self.place = self._script.server.place
        """The URL of the server, without its password."""

    def _connect(self) -> None:
        self._script, self._fork = self._new_script(), _forks.generation
        self._notices: dict[tuple[str, str, str], _Notice] = {}
        self._retrying: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # The five verbs, and two of them in one.

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one may `delay` seconds later."""
        return (await self._ask("reserve", host, now, _us(delay), _us(within))).time

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again."""
        return await self._take("take", host, now, delay)

    async def begin(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> Lease | float:
        """Reserve a start, and take a slot if it is now."""
        return await self._take("begin", host, now, delay, within)

    async def release(self, lease: Lease) -> None:
        """Give a slot back; if the server is unreachable, as soon as it answers again."""
        await self._notify(_Notice("release", lease.host, lease.token, lease.until))

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Extend a lease; with a delay, for a request that leaves only now."""
        answer = await self._ask("renew", lease.host, now, lease.token, _us(delay))
        return lease._replace(until=answer.time) if answer.word == b"held" else None

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:
        """Start nothing at a host before a time; if the server is unreachable, it is sent later."""
        await self._notify(_Notice("penalise", host, "", until), now)

    async def close(self) -> None:
        """Send the remaining notices, if the server answers in time, and close."""
        self._connect_in_child()
        try:
            async with asyncio.timeout(self._timeout):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                # A notice from now on is sent once, and closes the connection behind it.
                self._script.is_closed = True
                await self._stop_retrying()
                await self._send_notices()
        except TimeoutError:
            pass
        finally:
            self._script.is_closed = True
            await self._stop_retrying()
            await _cancel(self._tasks)
            await self._script.close_unused()

    # Slots.

    async def _take(
        self,
        verb: str,
        host: str,
        now: float | None,
        delay: float | None,
        within: float | None = None,
    ) -> Lease | float:
        # It goes on if the caller is cancelled: a slot that comes then is given back.
        taking = self._start(self._ask_for_slot(verb, host, now, _us(delay), _us(within)))
        try:
            taken: Lease | float = await asyncio.shield(taking)
        except asyncio.CancelledError:
            if taking.cancelled():  # by `close`, not by the caller
                raise self._script.error("closed while a request waited for it") from None
            taking.add_done_callback(self._give_back)
            raise
        return taken

    async def _ask_for_slot(
        self, verb: str, host: str, now: float | None, *more: str
    ) -> Lease | float:
        token, slots = secrets.token_hex(8), self._own.get(host, self._concurrency)
        try:
            answer = await self._ask(verb, host, now, token, slots, *more)
        except PolitenessError:
            # It may have been taken nevertheless, even after the first release: hence two.
            self._keep(_Notice("release", host, token, self._clock() + self._lease, times=2))
            raise
        match answer.word:
            case b"early":
                return NotBefore(answer.time)
            case b"full":
                return answer.time
        return Lease(host, token, answer.time)

    def _give_back(self, taking: "asyncio.Task[Lease | float]") -> None:
        if not taking.cancelled() and taking.exception() is None:
            lease = taking.result()
            if isinstance(lease, Lease):
                self._start(self.release(lease))

    # Notices, sent now or later.

    async def _notify(self, notice: _Notice, now: float | None = None) -> None:
        sending = self._start(self._send(notice, now))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:
            if not sending.cancelled():  # otherwise by `close`: the lease expires
                raise

    async def _send(self, notice: _Notice, now: float | None = None) -> bool:
        """Send a notice, or keep it for later; whether the server has received it."""
        argument = notice.token
        if notice.verb == "penalise":
            ahead = notice.until - (self._clock() if now is None else now)
            argument = _us(min(max(ahead, 0.0), _YEAR))
        try:
            await self._ask(notice.verb, notice.host, now, argument)
        except PolitenessError:
            self._keep(notice)
            return False
        return True

    def _keep(self, notice: _Notice) -> None:
        if self._script.is_closed:
            return  # the lease expires
        before = self._notices.get(notice.key, notice)
        self._notices[notice.key] = notice._replace(until=max(notice.until, before.until))
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        while self._notices and not self._script.is_closed:
            await asyncio.sleep(_RETRY)
            await self._send_notices()

    async def _stop_retrying(self) -> None:
        if self._retrying is not None:
            await _cancel([self._retrying])

    async def _send_notices(self) -> None:
        for key, notice in list(self._notices.items()):
            if notice.until > self._clock() and not await self._send(notice):
                return  # still unreachable
            if notice.times > 1 and notice.until > self._clock():
                self._notices[key] = notice._replace(times=notice.times - 1)
            else:
                self._notices.pop(key, None)

    # The server.

    async def _ask(self, verb: str, host: str, now: float | None, *more: str | int) -> _Answer:
        self._connect_in_child()
        return await self._script.call(verb, host, now, *more)

    def _connect_in_child(self) -> None:
        """In a forked child, connect anew: connections, tasks and notices are the parent's."""
        if self._fork != _forks.generation:
            _INHERITED.append(self._script)
            self._connect()

    def _start(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Start a task that goes on if its caller is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _cancel(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks, and wait until they have ended."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)


def _us(seconds: float | None) -> str:
    """Microseconds, as the script takes them."""
    return "" if seconds is None else str(round(seconds * 1e6))


open_backend = ValkeyBackend
