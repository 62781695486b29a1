"""Robots.txt files that an archive lacks, retrieved politely: as the client retrieves them."""

import asyncio
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from manners.bulk.readers.cache import records_of
from manners.bulk.records import RecordBuffer, RobotsRecord

if TYPE_CHECKING:
    from manners.client.async_client import AsyncClient
    from manners.settings import Settings

_AT_ONCE = 200
"""Sites that are asked at the same time; each host waits for its turn as always."""


def fetch(
    origins: Iterable[str], settings: "Settings", notice: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """The records of the robots.txt of many sites; `notice` gets how many were retrieved.

    Requests have the delays, the limits and the cache of the settings. A site that cannot be
    reached has a record that says so.
    """
    from manners._portal import portal
    from manners.client.async_client import AsyncClient

    # Robots.txt files are no evidence: nothing is decided here.
    client = AsyncClient(settings=settings.but(store=None))
    answers: queue.SimpleQueue[list[RobotsRecord] | None] = queue.SimpleQueue()
    work = portal.submit(_retrieve(client, iter(origins), answers))
    work.add_done_callback(lambda _: answers.put(None))
    buffer = RecordBuffer()
    try:
        while (records := answers.get()) is not None:
            for record in records:
                buffer.add(record)
            yield from buffer.full()
            notice(1)
        work.result()
        yield from buffer.rest()
    finally:
        work.cancel()
        portal.run(client.close())


async def _retrieve(
    client: "AsyncClient",
    origins: Iterator[str],
    answers: "queue.SimpleQueue[list[RobotsRecord] | None]",
) -> None:
    async def work() -> None:
        for origin in origins:
            site = await client.robots.get(origin)
            answers.put([] if site.entry is None else list(records_of(site.entry)))

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())
