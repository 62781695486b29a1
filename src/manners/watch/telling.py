"""Delivering events: each channel takes what the journal has for it, one event after another."""

import asyncio
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress

from manners._text import count, duration, printable
from manners.watch.delivering import Channel
from manners.watch.journal import Delivery, Journal
from manners.watch.pace import Retries


class Teller:
    """Delivers the events of one channel until none is left, or until it is stopped.

    After a failure the whole channel waits, longer each time: a receiver that is down is not asked
    for each event. In a run that ends (`is_once`), it waits a few seconds only, and leaves the rest
    to the next run.
    """

    def __init__(
        self,
        channel: Channel,
        journal: Journal,
        warn: Callable[[str], None],
        retries: Retries,
        *,
        is_once: bool,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.channel = channel
        self.undelivered = 0
        """Deliveries that failed in the end, or that the next run has to make."""
        self._journal, self._warn, self._retries, self._is_once = journal, warn, retries, is_once
        self._draw, self._clock = draw, clock
        self._bell, self._stopping = asyncio.Event(), asyncio.Event()
        self._is_last = False

    def ring(self) -> None:
        """There is a new event."""
        self._bell.set()

    def expect_no_more(self) -> None:
        """No more events come: end when all are delivered."""
        self._is_last = True
        self.ring()

    def stop(self) -> None:
        """End after the delivery that is under way."""
        self._stopping.set()
        self.ring()

    async def run(self) -> None:
        """Deliver events as they come."""
        failures = 0
        while not self._stopping.is_set():
            self._bell.clear()
            delivery = await self._journal.first(self.channel.name)
            wait = 0.0 if delivery is None else delivery.due - self._clock()
            if delivery is None or wait > 0:
                if self._is_last and (delivery is None or wait > self._retries.patience):
                    self.undelivered += delivery is not None
                    return
                await _wait_for(self._bell, None if delivery is None else wait)
                continue
            problem = await self.channel.deliver(delivery)
            if not problem or not self.channel.is_retried:
                await self._journal.remove(delivery)
                if problem:
                    self.undelivered += 1
                    self._warn(f"{self.channel.name}: {problem}")
                failures = 0
                continue
            failures += 1
            pause = self._retries.wait(failures, self._draw())
            is_over = self._is_once and pause > self._retries.patience
            await self._note_failure(delivery, problem, is_over)
            if is_over:
                return
            await _wait_for(self._stopping, pause)

    async def _note_failure(self, delivery: Delivery, problem: str, is_over: bool) -> None:
        """Keep a delivery for another attempt, or give it up."""
        attempts, retries = delivery.attempts + 1, self._retries
        event = printable(json.loads(delivery.text)["id"])
        problem = f"{self.channel.name}: {problem}"
        if attempts >= retries.attempts:
            await self._journal.remove(delivery)
            self.undelivered += 1
            self._warn(f"{problem}; gave up event {event} after {count(attempts, 'attempt')}")
            return
        wait = retries.wait(attempts, self._draw())
        await self._journal.postpone(delivery, self._clock() + wait)
        if is_over:
            self.undelivered += 1
            self._warn(f"{problem}; the next run delivers event {event}")
        elif attempts == 1 or wait > retries.patience:
            self._warn(f"{problem}; trying event {event} again in {duration(wait)}")


async def _wait_for(bell: asyncio.Event, seconds: float | None) -> None:
    """Wait until a bell rings, or some seconds have passed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await bell.wait()
