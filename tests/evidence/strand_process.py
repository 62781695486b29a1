"""Processes that append to strands of their own: `python -m tests.evidence.strand_process`.

endless PLACE NUMBER        append without end, and print the numbers, until somebody kills it
counted PLACE NUMBER COUNT  append so many records, wait for a line, append as many; the numbers

Both add anchors all the while, in a thread, through a connection of their own.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from manners.evidence.strands import add_strand
from tests.evidence.drafts import drafts

TASKS = 8
OWN = 1_000_000
"""The records of a process are about paths from its number times this on."""


@contextmanager
def anchored(place: str) -> Iterator[None]:
    """Anchors meanwhile; a server that is away is no reason to end."""
    over = threading.Event()

    def anchor() -> None:
        store = EvidenceStore(place)
        while not over.wait(0.02):
            with suppress(StoreError):
                store.anchor(time.time())
        with suppress(StoreError):
            store.close()

    thread = threading.Thread(target=anchor, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def opened(place: str) -> Iterator[EvidenceStore]:
    """A store with a strand of its own."""
    with EvidenceStore(place) as store, anchored(place):
        with store.writing() as connection:
            strand = add_strand(connection)
        store.use_strand(strand)
        yield store


async def endless(place: str, number: int) -> None:
    """Append, and print each number when it is known."""
    with opened(place) as store:
        print("ready", flush=True)
        numbers = count(number * OWN)

        async def task() -> None:
            while True:
                print(await store.append(drafts(1, next(numbers))[0]), flush=True)

        await asyncio.gather(*(task() for _ in range(TASKS)))


async def counted(place: str, number: int, records: int) -> None:
    """Append in two halves; the second is told to begin."""
    with opened(place) as store:
        mine = iter(drafts(2 * records, number * OWN))
        numbers: list[int] = []

        async def task(limit: int) -> None:
            while len(numbers) + TASKS <= limit:
                numbers.append(await store.append(next(mine)))

        await asyncio.gather(*(task(records) for _ in range(TASKS)))
        print("half", flush=True)
        second = asyncio.gather(*(task(2 * records) for _ in range(TASKS)))
        await asyncio.to_thread(sys.stdin.readline)
        await second
        print(json.dumps(numbers), flush=True)


if __name__ == "__main__":
    verb, where, own, *rest = sys.argv[1:]
    if verb == "endless":
        asyncio.run(endless(where, int(own)))
    else:
        asyncio.run(counted(where, int(own), int(rest[0])))
