"""A process that shares a cache file with others: `python -m tests.cache.sqlite_process`.

write FILE NUMBER OF      save entries of all sites, each newer than all others' once
read FILE                 read until standard input is closed, and check what is read
lock FILE HOW             hold a lock until standard input is closed
"""

import asyncio
import random
import sqlite3
import sys
import threading
from pathlib import Path

from manners.cache.backends import open_backend
from manners.cache.encoding import valid_entry
from manners.cache.entry import Entry
from manners.errors import StoreError
from tests.contracts.entries import START, entry

SITES = [f"https://{number}.example" for number in range(10)]
SAVES = 60
"""Entries that each process saves of each site."""


def made(site: str, at: float) -> Entry:
    """The entry of a time: the body tells which, so that nothing can be mixed up."""
    return entry(site, at, f"# {site} {at!r}\n".encode() * 50)


def newest(writers: int) -> float:
    """The time of the last entry that is saved by so many writers."""
    return START + SAVES * writers - 1


async def write(file: str, number: int, of: int) -> None:
    backend = open_backend(file)
    order = [(site, START + turn * of + number) for site in SITES for turn in range(SAVES)]
    random.Random(number).shuffle(order)
    waited = 0
    for site, at in order:
        while True:
            try:
                await backend.save(made(site, at))
                break
            except StoreError as error:
                if "locked" not in str(error):  # others were writing for too long
                    raise
                waited += 1
    await backend.close()
    print(waited)


async def read(file: str) -> None:
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    backend, last, looks = open_backend(file), dict.fromkeys(SITES, 0.0), 0
    while not over.is_set() or looks == 0:
        found = [await backend.load(site) for site in SITES]
        found += [each async for each in backend.entries()]
        for each in found:
            if each is not None:
                assert valid_entry(each)
                assert each == made(each.origin, each.outcome.at)
                assert each.outcome.at >= last[each.origin], "an older entry came back"
                last[each.origin] = each.outcome.at
        looks += 1
    await backend.close()
    print(looks)


def lock(file: str, how: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute(f"BEGIN {how}")
    print("locked", flush=True)
    sys.stdin.read()
    connection.execute("ROLLBACK")
    connection.close()


if __name__ == "__main__":
    verb, where, *others = sys.argv[1:]
    assert Path(where).parent.is_dir()
    if verb == "write":
        asyncio.run(write(where, *map(int, others)))
    elif verb == "read":
        asyncio.run(read(where))
    else:
        lock(where, *others)
