"""The fleet: the processes that work on one crawl, and what they have to agree on.

A worker has a lease: it beats, and one that is late is closed by any other. Its hosts go back, each
as if it had been asked just now. Closing it closes its strand of evidence, with which each of its
transactions begins: so it writes nothing more, and what it cannot record, it may not request. It
stops by itself as well, because it knows when its lease ends.

    join      before anything else; refused where settings or versions differ
    beat      every second or so: I live; who does not; how far is the crawl
    grant     some more pages of the budget
    conclude  is nothing left, for anybody?
    leave     at the end: everything is handed back

Only the clock of the database counts. A store in a file has one worker at a time, which a lock
sees to: it goes through the same steps, and needs no lease.
"""

import json
import math
import os
import platform
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from manners.crawler.fleet_values import (
    FINISHED,
    INTERRUPTED,
    Beat,
    Conclusion,
    CrawlEnded,
    LeaseWait,
    SettingsClash,
)
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.queries import NOBODY, Queries
from manners.crawler.frontier.tables import crawls, workers
from manners.crawler.frontier.workers import close_late, end, living, server_time, unended
from manners.errors import BudgetExceeded, StoreError
from manners.evidence import anchors
from manners.evidence.store import EvidenceStore
from manners.evidence.strands import SHARED, add_strand, close_strand
from manners.politeness.budget import Budget, GrantedBudget
from manners.store.database import Store, first

_BLOCK = 1_000
"""Pages of the budget that are granted at a time, at most."""
_MAX_HOSTS = 10_000
"""Hosts of a worker that are counted at most."""
_ANCHORS = 0.9
"""Seconds between two anchors, at least: some worker writes one with every beat."""
_CONTACT = 5.0
"""Seconds for which a worker has to have been in contact before it closes others: the database may
have been away for everybody."""
_BEATS = 3
"""Beats that a worker has to miss to count as not heard of, before its lease is over."""


class Fleet:
    """One worker's place in the fleet of a crawl.

    fleet = Fleet(store, number, lease=30.0, clock=time.time)
    fleet.join(settings)
    """

    def __init__(
        self,
        store: Store,
        crawl: int,
        *,
        lease: float,
        clock: Callable[[], float],
        version: str = "",
    ) -> None:
        self._store, self._crawl, self._lease, self._clock = store, crawl, lease, clock
        self._version, self._is_alone = version, store.is_sqlite
        self.worker = NOBODY
        """Its number."""
        self._strand = SHARED
        self._valid_until = math.inf
        self._in_contact_since = -math.inf
        self._frontier: Frontier | None = None

    @property
    def interval(self) -> float:
        """Seconds between two beats."""
        return 1.0 if self._is_alone else min(1.0, self._lease / 6)

    @property
    def is_valid(self) -> bool:
        """Whether nobody else can have closed this worker: it may send a request."""
        return _elapsed() < self._valid_until

    # Joining.

    def join(
        self,
        settings: Mapping[str, Any],
        *,
        may_change: bool = False,
        reopen: Callable[[Queries, float], None] | None = None,
    ) -> None:
        """Become a worker of the crawl.

        `settings` have to be those of the crawl, unless `may_change` and nobody works on it now.
        `reopen` is called if nobody does, in the same transaction; without it, a crawl that has
        ended is refused. URLs to begin with may come from here: until `added`, the crawl does not
        end.
        """

        @first
        def job(connection: Connection, items: Sequence[None]) -> list[int]:
            now, queries = self._now(connection), Queries(connection, self._crawl)
            row = self._lock_crawl(connection)
            if self._is_alone:  # who was here before is dead
                close_late(
                    connection, self._crawl, self.worker, now, lease=self._lease, is_alone=True
                )
            living_now = self._living(connection, now)
            self._check(living_now, queries.settings(), settings, may_change)
            if not living_now:
                self._update_crawl(connection, seen=now)
                if reopen is not None:
                    # Those who were only late would go on with the settings that they have.
                    close_late(connection, self._crawl, self.worker, now, lease=self._lease)
                    reopen(queries, now)
                elif row.ended not in (None, INTERRUPTED) and not row.ended.startswith("failed"):
                    raise CrawlEnded(self._store.place, self._crawl, row.ended)
                else:
                    self._update_crawl(connection, ended=None)
            elif row.ended is not None:
                raise CrawlEnded(self._store.place, self._crawl, row.ended)
            has_strand = isinstance(self._store, EvidenceStore) and not self._is_alone
            self._strand = add_strand(connection) if has_strand else SHARED
            values = {
                "crawl": self._crawl,
                "name": f"{socket.gethostname() or platform.node()}:{os.getpid()}",
                "version": self._version,
                "strand": self._strand,
                "began": now,
                "seen": now,
                "until": now + self._lease,
                "is_adding": True,
            }
            inserted = connection.execute(insert(workers).values(values))
            return [int((inserted.inserted_primary_key or (0,))[0])] * len(items)

        asked = _elapsed()
        if not self._is_alone:
            self._store.limit_transactions(self._lease)  # if it is stopped now, others may join
        self.worker = self._store.write_blocking(job, None)
        if not self._is_alone:
            self._valid_until, self._in_contact_since = asked + self._lease, asked
        if isinstance(self._store, EvidenceStore) and self._strand != SHARED:
            self._store.use_strand(self._strand, self._lease)

    def _check(
        self,
        living_now: Sequence[Any],
        stored: Mapping[str, Any],
        settings: Mapping[str, Any],
        may_change: bool,
    ) -> None:
        """Raise where this worker would do other than the crawl was told to."""
        now = json.loads(json.dumps(settings))
        differing = sorted(
            name for name in stored.keys() | now if stored.get(name) != now.get(name)
        )
        if differing and (living_now or not may_change):
            name = differing[0]
            raise SettingsClash(
                self._store.place,
                f"crawl {self._crawl} has other settings: {name} is"
                f" {_shown(stored.get(name))}, and here {_shown(now.get(name))};"
                " leave it out, or stop all workers and change it with `manners crawl resume`",
            )
        for other in living_now:
            if other.version != self._version:
                raise SettingsClash(
                    self._store.place,
                    f"worker {other.id} of crawl {self._crawl} ({other.name}) has version"
                    f" {other.version} of this package, this one {self._version}:"
                    " use one version for all workers",
                )

    def wait_for_the_dead(
        self,
        tell: Callable[[LeaseWait | None], None],
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wait while others seem to live and are not heard of, until one is or none is left.

        Leases outlast a crash. `tell` is told who is waited for; `CrawlEnded` where it is stopped.
        """
        heard: dict[int, float] = {}
        while not self._is_alone:
            with self._store.reading() as connection:
                now = self._now(connection)
                rows = unended(connection, self._crawl, self.worker)
            living = {row.id: row.seen for row in rows if row.until > now}
            if not living or any(heard.get(one, seen) != seen for one, seen in living.items()):
                return
            if is_stopped():
                raise CrawlEnded(self._store.place, self._crawl, INTERRUPTED)
            tell(self._wait(rows, now))
            heard = living
            time.sleep(min(0.5, self._lease / 4))

    def _wait(self, rows: Sequence[Any], now: float) -> LeaseWait | None:
        """What this worker waits for, if none of the others is heard of."""
        if not rows or any(row.seen > now - _BEATS * self.interval for row in rows):
            return None
        since = max(_elapsed() - self._in_contact_since, 0.0) if self.worker != NOBODY else 0.0
        seconds = max(max(row.until for row in rows) - now, min(self._lease, _CONTACT) - since, 0.0)
        names = tuple(f"worker {row.id} ({row.name})" for row in rows)
        return LeaseWait(names, self._clock() + seconds + self.interval)

    # Living.

    async def join_host(self, name: str) -> None:
        """Let a host belong to the crawl; the other workers hear of it with their next beat."""

        @first
        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            row = self._lock_crawl(connection)
            joined = [*json.loads(row.joined), name]
            self._update_crawl(connection, joined=json.dumps(sorted(set(joined))))
            return items

        await self._store.write(job, None)

    def attach(self, frontier: Frontier) -> None:
        """Keep the frontier of this worker informed: of the time, and of what others found."""
        self._frontier = frontier

    async def beat(self) -> Beat:
        """Tell the others that this worker lives, close those that do not, and look around."""
        asked = _elapsed()
        beat: Beat = await self._store.write(self._beat, None)
        if not self._is_alone:
            if asked > self._valid_until:  # the database was away; the others may be late, too
                self._in_contact_since = asked
            self._valid_until = asked + self._lease
        return beat

    def _beat(self, connection: Connection, items: Sequence[None]) -> list[Beat]:
        asked = self._clock()
        now = self._now(connection)
        if self._frontier is not None and not self._is_alone:
            self._frontier.time.set(now, asked, self._clock())
        self._update_own(connection, seen=now, until=now + self._lease)
        self._run_on(connection, now, self.interval)
        contact, closed = min(self._lease, _CONTACT), list[int]()
        if not self._is_alone and _elapsed() - self._in_contact_since >= contact:
            closed = close_late(connection, self._crawl, self.worker, now, lease=self._lease)
        if self._strand != SHARED:
            anchors.append(connection, now, every=_ANCHORS)
            # Statements are planned for tables as they are; those of a crawl begin empty.
            connection.exec_driver_sql("DISCARD PLANS")
        row = connection.execute(select(crawls).where(crawls.c.id == self._crawl)).one()
        queries, joined = Queries(connection, self._crawl), tuple(json.loads(row.joined))
        counted, own = queries.counted(), queries.counted(self.worker)
        if self._frontier is not None and not self._is_alone:
            self._frontier.see(counted)
        beat = Beat(row.seconds, row.ended or "", joined, counted, own, closed)
        if not self._is_alone:
            rows = unended(connection, self._crawl, self.worker)
            number = sum(row.until > now for row in rows) + 1
            # Only those who share hosts have to know how many there are.
            active = queries.active_hosts(number * _MAX_HOSTS) if number > 1 else 0
            wanted = queries.wanted_hosts(self.worker)
            wait = self._wait(rows, now)
            beat = beat._replace(living=number, wanted=wanted, active=active, wait=wait)
        return [beat] * len(items)

    def _run_on(self, connection: Connection, now: float, at_least: float = 0.0) -> None:
        """Let the running time of the crawl go on: the time in which a worker was heard of.

        Every worker does that; one that comes too early, or finds another at it, leaves it to him.
        """
        own = (crawls.c.id == self._crawl) & crawls.c.ended.is_(None)
        own &= crawls.c.seen <= now - 0.5 * at_least
        query = select(crawls.c.seen).where(own).with_for_update(skip_locked=True)
        seen = connection.execute(query).scalar()
        if seen is None:
            return
        since = now - float(seen)
        running = since if 0 < since <= max(self._lease, _CONTACT) else 0.0
        self._update_crawl(connection, seconds=crawls.c.seconds + running, seen=now)

    async def added(self) -> None:
        """No more URLs come from here, but those that pages lead to."""

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            self._update_own(connection, is_adding=False)
            return items

        await self._store.write(job, None)

    # The budget.

    async def grant(self, budget: Budget) -> None:
        """Get some more pages, if any are left that nobody has been granted."""
        if not isinstance(budget, GrantedBudget):
            return
        if budget.pages is None:
            budget.granted = 2**62
            return
        limit, own, before = budget.pages, budget.own, budget.granted

        @first
        def job(connection: Connection, items: Sequence[None]) -> list[int]:
            self._lock_crawl(connection)
            is_other = (workers.c.crawl == self._crawl) & (workers.c.id != self.worker)
            query = select(func.coalesce(func.sum(workers.c.granted), 0)).where(is_other)
            used = int(connection.execute(query).scalar_one())
            used += Queries(connection, self._crawl).counted(NOBODY)["page", "attempts"]
            remaining = max(limit - used - own, 0)
            number = len(self._living(connection, self._now(connection))) + 1
            # Few in the end: pages that one has and cannot use are no use to the others.
            most = remaining if self._is_alone else min(_BLOCK, max(remaining // (4 * number), 1))
            granted = max(before, own + min(most, remaining))
            self._update_own(connection, granted=granted)
            return [granted] * len(items)

        budget.granted = await self._store.write(job, None)

    async def give_back(self, budget: Budget) -> None:
        """Give back the pages that were granted and are not used; nothing may be under way."""
        if not isinstance(budget, GrantedBudget) or budget.pages is None:
            return
        budget.granted = budget.own  # nothing is reserved from now on

        def job(connection: Connection, items: Sequence[None]) -> list[int]:
            spent = Queries(connection, self._crawl).counted(self.worker)["page", "attempts"]
            self._update_own(connection, granted=spent)
            return [spent] * len(items)

        budget.own = budget.granted = await self._store.write(job, None)

    # Ending.

    async def conclude(self, limit: BudgetExceeded | None, max_pages: int | None) -> Conclusion:
        """End the crawl if nothing is left for anybody, or all pages of its budget are spent."""

        @first
        def job(connection: Connection, items: Sequence[None]) -> list[Conclusion]:
            return [self._conclude(connection, limit, max_pages)] * len(items)

        conclusion: Conclusion = await self._store.write(job, None)
        return conclusion

    def _conclude(
        self, connection: Connection, limit: BudgetExceeded | None, max_pages: int | None
    ) -> Conclusion:
        row, queries = self._lock_crawl(connection), Queries(connection, self._crawl)
        if row.ended is not None:
            return Conclusion(row.ended)
        if queries.is_any_owned():
            return Conclusion(next_at=self._from_store(queries.next_host()))
        if queries.is_any_queued():
            spent = queries.counted()["page", "attempts"]
            if limit is not None and max_pages is not None and spent >= max_pages:
                return self._end(connection, str(limit))
            at = queries.next_host()
            if at is None:  # somebody added URLs, and died before he said so
                at = self._now(connection)
                queries.wake_all(at)
            return Conclusion(next_at=self._from_store(at), is_waiting=True)
        is_adding = (workers.c.crawl == self._crawl) & workers.c.is_adding
        is_adding &= workers.c.ended.is_(None)
        if connection.execute(select(workers.c.id).where(is_adding).limit(1)).first():
            return Conclusion(is_idle=True)
        return self._end(connection, FINISHED)

    def _end(self, connection: Connection, reason: str) -> Conclusion:
        self._run_on(connection, self._now(connection))
        self._update_crawl(connection, ended=reason)
        return Conclusion(reason, is_idle=True)

    def _from_store(self, at: float | None) -> float | None:
        if at is None or self._frontier is None:
            return at
        return self._frontier.time.from_store(at)

    async def leave(self, reason: str, *, is_final: bool) -> str:
        """End this worker, and the crawl, if that is final or nobody else works on it.

        Returns why the crawl ended; empty where it goes on.
        """

        @first
        def job(connection: Connection, items: Sequence[None]) -> list[str]:
            row, now = self._lock_crawl(connection), self._now(connection)
            end(connection, self._crawl, self.worker, reason, now)
            ended = row.ended
            if ended is None and (is_final or not self._living(connection, now)):
                self._run_on(connection, now)
                self._update_crawl(connection, ended=reason)
                ended = reason
            if self._strand != SHARED:
                close_strand(connection, self._strand)
                anchors.append(connection, now, wait=True)
            return [ended or ""] * len(items)

        ended: str = await self._store.write(job, None)
        self._valid_until = -math.inf
        if isinstance(self._store, EvidenceStore):
            self._store.use_strand(SHARED)
        return ended

    # The crawl as a whole.

    def _living(self, connection: Connection, now: float) -> Sequence[Any]:
        return living(connection, self._crawl, self.worker, now)

    def _lock_crawl(self, connection: Connection) -> Any:
        """The row of the crawl; nobody else joins, is granted pages or ends it meanwhile.

        Before any other lock of the transaction: jobs that do this are `first`. Else one who has
        it, and waits for another's lock, and the other who waits for it, would block each other.
        """
        query = select(crawls).where(crawls.c.id == self._crawl).with_for_update()
        row = connection.execute(query).first()
        if row is None:
            raise StoreError(self._store.place, f"there is no crawl {self._crawl} in it")
        return row

    def _update_crawl(self, connection: Connection, **values: Any) -> None:
        connection.execute(update(crawls).where(crawls.c.id == self._crawl).values(values))

    def _update_own(self, connection: Connection, **values: Any) -> None:
        connection.execute(update(workers).where(workers.c.id == self.worker).values(values))

    def _now(self, connection: Connection) -> float:
        """The time of the store: the database's clock, or one's own."""
        return self._clock() if self._is_alone else server_time(connection)


def _shown(value: Any) -> str:
    return "the default" if value is None else json.dumps(value)[:200]


def _elapsed() -> float:
    """Seconds on a clock that goes on while the machine sleeps, where there is one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
