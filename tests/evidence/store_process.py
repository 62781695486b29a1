"""A process that shares a store with others: `python -m tests.evidence.store_process`.

append PLACE NUMBER COUNT   append so many records, and print their numbers
open PLACE                  open the store when a line comes in, and print its head
fork PLACE                  append in a forked child, and then again; print what is there
exit PLACE                  leave while records are waiting
alone PLACE FILE            be alone at it, again and again; print how often, and who was there
modules PLACE               open the store, and print which modules are loaded
"""

import asyncio
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from manners.evidence.record import Draft
from manners.evidence.store import EvidenceStore
from manners.store.locks import InUse
from tests.evidence.drafts import NOW, draft, drafts

PATIENCE = 300.0
"""Seconds to wait for other processes: a disk that many tests write to may stand still for half a
minute, and no promise depends on it."""


def made(number: int, count: int) -> list[Draft]:
    """The records of one process: every tenth rests on a file of its own."""
    plain = drafts(count, number * 10_000)
    for each in range(0, count, 10):
        rules = b"User-agent: *\nDisallow: /%d/%d\n" % (number, each % 30)
        plain[each] = draft(f"/{number}/{each}", NOW + each, rules=rules)
    return plain


async def _append(place: str, number: int, count: int) -> None:
    with EvidenceStore(place) as store:
        mine, numbers = made(number, count), []
        for start in range(0, count, 7):
            numbers += await asyncio.gather(*map(store.append, mine[start : start + 7]))
        print(json.dumps(numbers))


def _fork(place: str) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, since 3.12
    store = EvidenceStore(place)
    told: dict[str, object] = {}
    mine = _connection(store)

    async def begin() -> int:
        await store.append(drafts(1)[0])
        waiting = asyncio.ensure_future(store.append(drafts(1, 1)[0]))
        await asyncio.sleep(0)  # it is gathered, and not handed over
        child = os.fork()
        if not child:
            os._exit(_child(store, mine))
        told["child"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return await waiting

    told["number"] = asyncio.run(begin())
    told["last"] = store.append_blocking(drafts(1, 2)[0])
    told["problems"] = [str(each) for each in store.verify()]
    child = os.fork()
    if not child:  # one that only closes what it did not open
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    told["after"] = store.append_blocking(drafts(1, 3)[0])
    told["same"] = _connection(store) is mine
    told["queued"] = _fork_beside_a_queue(store)
    told["head"] = store.head().number
    store.close()
    print(json.dumps(told))


def _fork_beside_a_queue(store: EvidenceStore) -> list[int]:
    """Fork while the writer is busy, and more is waiting: that is the parent's to write."""
    busy, gate, write = threading.Event(), threading.Event(), store._writer._write

    def held(made: Sequence[Any]) -> Sequence[Any]:
        busy.set()
        gate.wait(30)
        return write(made)

    store._writer._write, numbers = held, list[int]()
    threads = [
        threading.Thread(target=lambda each=each: numbers.append(store.append_blocking(each)))
        for each in drafts(3, 30)
    ]
    threads[0].start()
    busy.wait()  # else the writer may take two at once, and there are never two behind it
    for thread in threads[1:]:
        thread.start()
    while store._writer._queue.qsize() < 2:
        time.sleep(0.001)
    child = os.fork()
    if not child:
        gate.set()
        store.append_blocking(drafts(1, 40)[0])
        store.close()
        os._exit(0)
    os.waitpid(child, 0)
    gate.set()
    for thread in threads:
        thread.join()
    return sorted(numbers)


def _connection(store: EvidenceStore) -> object:
    """What is used to talk to the database."""
    with store.reading() as connection:
        return connection.connection.dbapi_connection


def _child(store: EvidenceStore, parents: object) -> int:
    try:
        assert _connection(store) is not parents
        first = store.append_blocking(drafts(1, 10)[0])
        both = asyncio.run(_two(store))
        is_well = list(store.verify()) == [] and store.head().number == both[1] == first + 2
        store.close()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        return 1
    return 0 if is_well else 2


async def _two(store: EvidenceStore) -> list[int]:
    async with asyncio.timeout(30):
        return await asyncio.gather(*map(store.append, drafts(2, 20)))


def _exit(place: str) -> None:
    store, begun = EvidenceStore(place), threading.Event()

    async def crowd() -> None:
        async def one(number: int) -> None:
            for each in drafts(200, number * 1000):
                await store.append(each)
                begun.set()

        await asyncio.gather(*map(one, range(20)))

    threading.Thread(target=lambda: asyncio.run(crowd()), daemon=True).start()
    threading.Thread(target=lambda: [*map(store.append_blocking, drafts(500))], daemon=True).start()
    begun.wait(30)
    time.sleep(0.05)


def _alone(place: str, mark: str) -> None:
    """Be alone again and again, and count whom one meets there."""
    found, until = {"was": 0, "met": 0}, time.monotonic() + 2.0
    with EvidenceStore(place) as store:
        while time.monotonic() < until or not found["was"]:
            with suppress(InUse), store.lock("crawl", 1):
                found["was"] += 1
                try:
                    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    found["met"] += 1
                else:
                    time.sleep(0.0005)
                    Path(mark).unlink()
    print(json.dumps(found))


if __name__ == "__main__":
    verb, where, *others = sys.argv[1:]
    if verb == "append":
        asyncio.run(_append(where, *map(int, others)))
    elif verb == "open":
        print("ready", flush=True)
        sys.stdin.readline()
        with EvidenceStore(where, timeout=PATIENCE) as opened:
            print(opened.head())
    elif verb == "fork":
        _fork(where)
    elif verb == "exit":
        _exit(where)
    elif verb == "alone":
        _alone(where, *others)
    elif verb == "modules":
        with EvidenceStore(where):
            print(json.dumps(sorted(sys.modules)))
