"""Processes that fetch pages with evidence until they are killed: `python -m … PORT [BUG]`.

Everything is imported once; each process is then a fork, and starts in milliseconds. Lines on
standard input say what to do, and each is answered by one line:

    start RUN PLACE     a client of the run fetches pages, with evidence at that place: its pid
    end PID             it is killed, if it is not dead yet: what it died of (-9: SIGKILL)

`BUG` is the name of a function below that breaks the package, for tests that look for it.
"""

import asyncio
import ctypes
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import alembic.command  # noqa: F401 (a new store needs it, and it takes long)
import psycopg  # noqa: F401 (so does PostgreSQL)
import sqlalchemy.dialects.postgresql.psycopg  # noqa: F401
from sqlalchemy import update

from manners.client.async_client import AsyncClient
from manners.errors import StoreError
from manners.evidence.record import Draft
from manners.evidence.store import EvidenceStore
from manners.evidence.tables import head
from manners.settings import Settings
from manners.store import writer

HOSTS, TASKS = 6, 24
STANDSTILL = 120
"""Seconds after which a process that nobody kills ends itself; no promise depends on them."""
_PR_SET_PDEATHSIG = 1


def url(port: int, host: int, path: str) -> str:
    """A URL on one of the hosts."""
    return f"http://127.0.9.{host % HOSTS + 1}:{port}{path}"


def opened(place: str) -> EvidenceStore:
    """A store; a database may be down just now."""
    while True:
        try:
            return EvidenceStore(place)
        except StoreError:
            if "://" not in place:
                raise
            time.sleep(0.02)


async def fetch(run: str, place: str, port: int) -> None:
    """Fetch pages without end, all different from those of other runs."""
    settings = Settings(
        min_delay=0.0,
        max_delay=0.0,
        adaptive_factor=0.0,
        concurrency=TASKS,
        allow_private=True,
        exclude=("*/excluded/*",),
    )
    draw, numbers = random.Random(run), count()
    async with AsyncClient(f"MyBot{run}", settings, evidence=opened(place)) as client:

        async def worker() -> None:
            for number in numbers:
                kind = draw.choice(("page", "page", "page", *KINDS))
                asked = url(port, draw.randrange(HOSTS), f"/{kind}/{run}/{number}")
                try:
                    match draw.randrange(8):
                        case 0:
                            await client.head(asked)
                        case 1:
                            async with client.stream(asked) as stream:
                                async for _ in stream.chunks():
                                    pass
                        case 2:
                            await asyncio.gather(client.get(asked), client.get(asked))
                        case _:
                            await client.get(asked)
                except StoreError:  # the database is down: nothing may be asked for
                    await asyncio.sleep(0.02)

        await asyncio.gather(*(worker() for _ in range(TASKS)))


KINDS = ("private", "excluded", "moved", "shut", "slammed")
"""What is not a plain page: the server knows what to do with it."""


# Bugs.


def not_waited_for() -> None:
    """A request leaves while its record is on the way."""
    append, tasks = EvidenceStore.append, set[asyncio.Task[int]]()

    async def early(self: EvidenceStore, draft: Draft) -> int:
        tasks.add(asyncio.ensure_future(append(self, draft)))
        await asyncio.sleep(0)
        return 0

    EvidenceStore.append = early  # type: ignore[method-assign]


def told_before_the_commit() -> None:
    """Whoever waits is woken when the rows are in the transaction, and the commit comes then."""

    def run(self: "writer.Writer[Any]") -> None:
        while waiting := self._queue.get():
            writer._resolve_all(waiting, [0] * len(waiting), None)
            self._write([item for item, _ in waiting])

    writer.Writer._run = run  # type: ignore[method-assign]


def only_the_first_hop() -> None:
    """A redirect is followed without a record."""
    append = EvidenceStore.append

    async def forgetful(self: EvidenceStore, draft: Draft) -> int:
        return 0 if "/target/" in draft.metadata else await append(self, draft)

    EvidenceStore.append = forgetful  # type: ignore[method-assign]


def head_in_another_transaction() -> None:
    """The records are durable a moment before the end of the chain is moved."""
    write = EvidenceStore._write

    def torn(self: EvidenceStore, batch: Sequence[Any]) -> Sequence[Any]:
        before = self.head()
        numbers = write(self, batch)
        with self.writing() as connection:
            after = self._locked_head(connection)
            moved = dict(zip(("number", "hash"), before, strict=True))
            connection.execute(update(head).values(moved))
        with self.writing() as connection:
            moved = dict(zip(("number", "hash"), after, strict=True))
            connection.execute(update(head).values(moved))
        return numbers

    EvidenceStore._write = torn  # type: ignore[method-assign]


def snapshots_later() -> None:
    """The robots.txt that a record rests on is kept in the next transaction."""
    write = EvidenceStore._write

    def late(self: EvidenceStore, batch: Sequence[Any]) -> Sequence[Any]:
        drafts = [item for _, item in batch]
        new = {each.snapshot.sha256 for each in drafts if each.snapshot} - self._snapshots._stored
        self._snapshots._stored |= new
        numbers = write(self, batch)
        self._snapshots._stored -= new
        with self.writing() as connection:
            for each in drafts:
                if each.snapshot is not None and each.snapshot.sha256 in new:
                    connection.exec_driver_sql(self._sql.insert_snapshot, tuple(each.snapshot))
        self._snapshots._stored |= new
        return numbers

    EvidenceStore._write = late  # type: ignore[method-assign]


BUGS = (
    not_waited_for,
    told_before_the_commit,
    only_the_first_hop,
    head_in_another_transaction,
    snapshots_later,
)


# The processes.


def start(run: str, place: str, port: int) -> int:
    """Fork off a process that fetches."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.alarm(STANDSTILL)
        if os.getppid() == parent:
            asyncio.run(fetch(run, place, port))
    except BaseException as error:
        print(f"run {run}: {error!r}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def end(child: int) -> int:
    """Kill a process, and tell what it died of."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    port, bugs = int(sys.argv[1]), sys.argv[2:]
    for bug in BUGS:
        if bug.__name__ in bugs:
            bug()
    print("ready", flush=True)
    for line in sys.stdin:
        match line.split():
            case ["start", run, place]:
                print(start(run, place, port), flush=True)
            case ["end", child]:
                print(end(int(child)), flush=True)


if __name__ == "__main__":
    main()
