"""The steps of a fleet in one process: joining, closing, the budget of all, and the end."""

import asyncio
import math
import random
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import psycopg
import pytest

from manners.crawler import fleet as fleets
from manners.crawler.fleet import Fleet
from manners.crawler.fleet_values import (
    FINISHED,
    INTERRUPTED,
    CrawlEnded,
    LeaseWait,
    SettingsClash,
)
from manners.crawler.frontier import crawls, tables
from manners.crawler.frontier.queries import NOBODY, Queries
from manners.crawler.frontier.values import FoundUrl, LeasedUrl, ReturnedHost
from manners.errors import BudgetExceeded, StoreError, StrandClosed
from manners.evidence.store import EvidenceStore
from manners.politeness.budget import GrantedBudget
from tests.client.asking import run
from tests.contracts.postgres import Postgres
from tests.crawler.frontier.checks import check
from tests.crawler.members import LEASE, PATIENCE, Member, Members, at_once
from tests.crawler.results import Answer, result

SITE = "https://example.com"
New = Callable[[], str]
TABLES = (
    *(tables.crawls, tables.urls, tables.pages, tables.retries, tables.hosts),
    *(tables.workers, tables.counts, tables.forms),
)


@pytest.fixture
def shared(postgres: Postgres) -> str:
    """A place for a crawl of several workers."""
    return postgres.database()


def link(url: str, depth: int = 1) -> FoundUrl:
    return FoundUrl(url, "link", f"{SITE}/", depth)


def joined(store: EvidenceStore, crawl: int, *, version: str = "", **how: Any) -> Fleet:
    fleet = Fleet(store, crawl, lease=LEASE, clock=time.time, version=version)
    fleet.join(how.pop("settings", {}), **how)
    return fleet


def reopening(settings: dict[str, Any]) -> Callable[[Queries, float], None]:
    def reopen(queries: Queries, now: float) -> None:
        crawls.reopen(queries, settings, None, now)

    return reopen


def worker_rows(store: EvidenceStore) -> dict[int, Any]:
    with store.reading() as connection:
        return {row.id: row for row in connection.execute(tables.workers.select())}


def host_rows(store: EvidenceStore) -> dict[str, Any]:
    with store.reading() as connection:
        return {row.host: row for row in connection.execute(tables.hosts.select())}


def crawl_row(store: EvidenceStore, crawl: int) -> Any:
    with store.reading() as connection:
        query = tables.crawls.select().where(tables.crawls.c.id == crawl)
        return connection.execute(query).one()


def everything(store: EvidenceStore) -> dict[str, list[Any]]:
    """All rows of a store."""
    with store.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(table.select()).all()))
            for table in TABLES
        }


def database_time(store: EvidenceStore) -> float:
    with store.reading() as connection:
        query = "SELECT extract(epoch FROM clock_timestamp())::float8"
        return float(connection.exec_driver_sql(query).scalar_one())


def expire(member: Member) -> None:
    """Let the lease of a worker be over."""
    with member.store.writing() as connection:
        own = tables.workers.update().where(tables.workers.c.id == member.number)
        connection.execute(own.values(until=1.0))


async def closing(member: Member) -> None:
    """A beat of a worker that has been in contact for long enough to close others."""
    member.fleet._in_contact_since = -math.inf
    await member.fleet.beat()


async def leased(member: Member, name: str, most: int = 10) -> list[LeasedUrl]:
    return list((await member.frontier.take(name, most, time.time())).urls)


# Joining.


def test_a_worker_joins_and_leaves(store: EvidenceStore) -> None:
    """The crawl runs meanwhile, and the last to leave says why it ended."""
    crawl = crawls.begin(store, [f"{SITE}/"], now=1.0)
    fleet = joined(store, crawl, version="1.2")
    (row,) = worker_rows(store).values()
    assert (row.id, row.crawl, row.version, row.ended) == (fleet.worker, crawl, "1.2", None)
    assert row.until == row.seen + LEASE == row.began + LEASE
    assert (store.strand == 1) == store.is_sqlite
    assert fleet.is_valid
    assert run(partial(fleet.leave, INTERRUPTED, is_final=False)) == INTERRUPTED
    assert worker_rows(store)[fleet.worker].ended == INTERRUPTED
    assert crawl_row(store, crawl).ended == INTERRUPTED
    assert store.strand == 1
    assert not fleet.is_valid
    again = joined(store, crawl, version="1.2")  # whoever was interrupted may go on
    assert crawl_row(store, crawl).ended is None
    assert again.worker != fleet.worker
    assert run(partial(again.leave, FINISHED, is_final=True)) == FINISHED
    with pytest.raises(CrawlEnded, match=f"crawl {crawl} has ended: finished"):
        joined(store, crawl)
    with pytest.raises(StoreError, match="there is no crawl 99"):
        joined(store, 99)


def test_a_crawl_that_ended_is_opened_again_by_a_resume(store: EvidenceStore) -> None:
    """With its settings, which may be others then."""
    crawl = crawls.begin(store, [f"{SITE}/"], {"max_pages": 5}, now=1.0)
    with pytest.raises(SettingsClash, match="max_pages is 5, and here the default"):
        joined(store, crawl)
    fleet = joined(store, crawl, settings={"max_pages": 5})
    run(partial(fleet.leave, FINISHED, is_final=True))
    told = {"max_pages": 9}
    with pytest.raises(SettingsClash, match="max_pages is 5, and here 9"):
        joined(store, crawl, settings=told, reopen=reopening(told))
    joined(store, crawl, settings=told, may_change=True, reopen=reopening(told))
    assert crawls.stored_settings(store) == told
    assert crawl_row(store, crawl).ended is None


def test_all_workers_do_the_same(shared: str) -> None:
    """Other settings, or another version, are refused while somebody works on the crawl."""
    with Members(shared) as members, EvidenceStore(shared) as store:
        first = members.one()
        told = {"max_pages": 9}
        with pytest.raises(SettingsClash, match="max_pages is the default, and here 9"):
            joined(store, members.crawl, settings=told, may_change=True, reopen=reopening(told))
        with pytest.raises(SettingsClash, match=f"worker {first.number} of crawl"):
            joined(store, members.crawl, version="9.9")
        assert list(worker_rows(store)) == [first.number]
        assert crawls.stored_settings(store) == {}
        second = joined(store, members.crawl)
        assert run(second.beat).living == 2
        # One of two leaves: the crawl goes on.
        assert run(partial(second.leave, INTERRUPTED, is_final=False)) == ""
        assert crawl_row(store, members.crawl).ended is None
        assert first.run(first.fleet.beat).living == 1


def test_a_worker_that_was_late_does_not_go_on_as_before_a_resume(shared: str) -> None:
    """A resume closes it, because it has the settings of before; its hosts are free."""
    with Members(shared) as members, EvidenceStore(shared) as store:
        late = members.one()
        late.run(lambda: late.add([link(f"{SITE}/a")]))
        assert late.run(late.take) == ["example.com"]
        expire(late)
        told = {"max_pages": 9}
        joined(store, members.crawl, settings=told, may_change=True, reopen=reopening(told))
        with pytest.raises(StrandClosed, match="was closed"):
            late.run(late.fleet.beat)
        assert host_rows(store)["example.com"].owner is None


def test_in_a_file_whoever_was_there_before_is_dead(tmp_path: Any) -> None:
    """A lock sees to it: so the next closes him, and has his hosts at once."""
    with EvidenceStore(tmp_path / "crawl.db") as store:
        crawl = crawls.begin(store, [f"{SITE}/"], now=1.0)
        first = Member(store.place, crawl, is_adding=True)
        first.run(lambda: first.add([link(f"{SITE}/")]))
        assert first.run(first.take) == ["example.com"]
        first.close()
        second = Member(store.place, crawl)
        before = worker_rows(store)[first.number]
        assert before.ended is not None
        assert before.ended.startswith("closed: not heard of")
        assert not before.is_adding
        assert second.run(second.take) == ["example.com"]
        assert second.run(second.fleet.beat).living == 1
        assert second.fleet.is_valid
        second.close()


def test_a_host_that_joins_is_heard_of(shared: str) -> None:
    """By all workers, with their next beat; each once."""
    with Members(shared) as members:
        first, second = members.join(2)

        def joining(member: Member, *names: str) -> Callable[[], None]:
            async def main() -> None:
                for name in names:
                    await member.fleet.join_host(name)

            return lambda: member.run(main)

        at_once(joining(first, "a.example", "b.example"), joining(second, "b.example", "c.example"))
        assert second.run(second.fleet.beat).joined == ("a.example", "b.example", "c.example")


# Closing.


def test_a_worker_that_was_closed_writes_nothing(shared: str) -> None:
    """Whatever it tries raises; the store, and what the worker has in memory, stay as they are."""
    with Members(shared) as members:
        late, other = members.join(2)
        late.run(lambda: late.add([link(f"{SITE}/a"), link(f"{SITE}/b")]))
        assert late.run(late.take) == ["example.com"]
        one, two = late.run(lambda: leased(late, "example.com"))
        expire(late)
        other.run(lambda: closing(other))
        before, rooms = everything(other.store), late.frontier.rooms["page"].numbers()
        budget = GrantedBudget(pages=10, minutes=None)
        found = [link(f"{SITE}/new"), link("https://new.example/")]
        page = result(one, "done", answer=Answer(), attempts=1, found=found)
        steps: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: late.frontier.add(found),
            lambda: late.frontier.finish(page),
            lambda: late.frontier.give_up(two, "failed", "why"),
            lambda: late.frontier.postpone(two, 5.0),
            lambda: late.frontier.take_hosts(5, time.time()),
            lambda: late.frontier.take("example.com", 5, time.time()),
            lambda: late.frontier.release([ReturnedHost("example.com", 0.0, 0.0, 0.0)]),
            lambda: late.frontier.wake(["example.com"]),
            lambda: late.frontier.readmit("example.com"),
            late.fleet.beat,
            lambda: late.fleet.grant(budget),
            lambda: late.fleet.conclude(None, None),
            lambda: late.fleet.join_host("new.example"),
            late.fleet.added,
            lambda: late.fleet.leave(FINISHED, is_final=True),
        ]
        for step in steps:
            with pytest.raises(StrandClosed, match="was closed"):
                late.run(step)
        assert everything(other.store) == before
        assert late.frontier.rooms["page"].numbers() == rooms
        assert late.frontier.owned == {"example.com"}
        assert budget.granted == 0
        # Its URLs are another's now, once.
        other.store.write_blocking(wake_now, None)
        assert other.run(other.take) == ["example.com"]
        assert len(other.run(lambda: leased(other, "example.com"))) == 2
        check(other.frontier)


def wake_now(connection: Any, items: Any) -> Any:
    connection.execute(tables.hosts.update().values(ready=1.0))
    return items


def test_hosts_of_a_closed_worker_go_back_as_if_they_had_been_asked_just_now(shared: str) -> None:
    """Each not before its delay is over, or later, if it was to be left in peace for longer."""
    with Members(shared) as members:
        late, other = members.join(2)
        names = ["never.example", "paced.example", "resting.example"]
        late.run(lambda: late.add([link(f"https://{name}/") for name in names]))
        assert sorted(late.run(late.take)) == names
        now = database_time(other.store)

        async def fetch() -> None:
            for name, pace in (
                ("paced.example", (50.0, 1.0)),
                ("resting.example", (2.0, now + 1e6)),
            ):
                (url,) = await leased(late, name)
                await late.frontier.finish(
                    result(url, "done", answer=Answer(), attempts=1, pace=pace)
                )

        late.run(fetch)
        expire(late)
        other.run(other.fleet.beat)
        assert {row.owner for row in host_rows(other.store).values()} == {late.number}
        before = database_time(other.store)
        other.run(lambda: closing(other))
        after = database_time(other.store)
        found = host_rows(other.store)
        assert {row.owner for row in found.values()} == {None}
        assert all(row.ready == row.not_before for row in found.values())
        assert before <= found["never.example"].not_before <= after
        assert before + 50.0 <= found["paced.example"].not_before <= after + 50.0
        assert found["resting.example"].not_before == pytest.approx(now + 1e6, abs=PATIENCE)
        assert found["resting.example"].not_before >= now + 1e6
        assert worker_rows(other.store)[late.number].ended.startswith("closed: not heard of")
        check(other.frontier)


def test_pages_that_a_closed_worker_has_not_fetched_are_granted_to_others(shared: str) -> None:
    """All but those that it has fetched."""
    with Members(shared) as members:
        late, other = members.join(2)
        budget, others = (GrantedBudget(pages=100, minutes=None) for _ in range(2))

        async def fetch() -> None:
            await late.add([link(f"{SITE}/")])
            await late.take()
            await late.fleet.grant(budget)
            (url,) = await leased(late, "example.com")
            await late.frontier.finish(result(url, "done", answer=Answer(), attempts=1))

        late.run(fetch)
        assert worker_rows(other.store)[late.number].granted == budget.granted > 1
        expire(late)
        other.run(lambda: closing(other))
        assert worker_rows(other.store)[late.number].granted == 1

        async def spend() -> int:
            while True:
                before = others.granted
                await other.fleet.grant(others)
                if others.granted == before:
                    return others.granted
                while others.left_here:
                    others.reserve(0.0)

        assert other.run(spend) == 99


def test_a_worker_in_the_middle_of_a_transaction_is_closed_afterwards(shared: str) -> None:
    """Nobody waits for it."""
    with Members(shared) as members:
        late, other = members.join(2)
        expire(late)
        with members.one().store.writing() as connection:
            connection.exec_driver_sql(
                f"UPDATE evidence_head SET batch = batch WHERE one = {late.store.strand}"
            )
            other.run(lambda: closing(other))
            assert worker_rows(other.store)[late.number].ended is None
        other.run(lambda: closing(other))
        assert worker_rows(other.store)[late.number].ended is not None


def test_a_transaction_that_does_not_end_is_ended(shared: str) -> None:
    """One that was stopped in the middle of a batch would keep its locks for ever."""
    with Members(shared) as members:
        late, other = members.join(2)
        expire(late)
        with psycopg.connect(shared) as stopped:
            stopped.execute(
                "UPDATE evidence_head SET batch = 1 WHERE one = %s", [late.store.strand]
            )
            other.run(lambda: closing(other))
            stopped.execute("SELECT 1")  # it may take a while
            silence(late, 2 * LEASE + 60.0)
            other.run(lambda: closing(other))
            assert worker_rows(other.store)[late.number].ended is None
            with pytest.raises(psycopg.OperationalError):
                stopped.execute("SELECT 1")
        other.run(lambda: closing(other))
        assert worker_rows(other.store)[late.number].ended is not None


def test_the_crawl_is_locked_before_anything_else(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one transaction with a beat, too: else two workers would wait for each other."""
    with Members(shared) as members:
        member = members.one()
        seen: list[str] = []
        lock, beat = member.fleet._lock_crawl, member.fleet._beat

        def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                seen.append(name)
                return function(*arguments)

            return call

        monkeypatch.setattr(member.fleet, "_lock_crawl", noting("lock", lock))
        monkeypatch.setattr(member.fleet, "_beat", noting("beat", beat))

        async def work() -> None:
            budget = GrantedBudget(100, None)
            await asyncio.gather(  # in one round of the loop: one transaction
                member.fleet.beat(),
                member.fleet.grant(budget),
                member.fleet.conclude(None, None),
                member.fleet.join_host("b.example"),
            )

        member.run(work)
        assert seen == ["lock"] * 3 + ["beat"]


def test_whoever_was_out_of_contact_closes_nobody(
    shared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may have been away for all: the others are given time to be heard of."""
    monkeypatch.setattr(fleets, "_CONTACT", 1e6)
    with Members(shared) as members:
        late, other = members.one(lease=1e6), members.one(lease=1e6)
        expire(late)
        assert other.run(other.fleet.beat).living == 1
        assert worker_rows(other.store)[late.number].ended is None
        late.run(late.fleet.beat)  # it lives
        other.run(lambda: closing(other))
        assert worker_rows(other.store)[late.number].ended is None
        assert other.run(other.fleet.beat).living == 2


def test_several_that_close_one_close_it_once(shared: str) -> None:
    """Its hosts go back once, and the numbers stay right."""
    with Members(shared) as members:
        late, *others = members.join(4)
        late.run(lambda: late.add([link(f"https://h{n}.example/") for n in range(20)]))
        late.run(late.take)
        expire(late)

        def working(member: Member) -> Callable[[], list[str]]:
            async def main() -> list[str]:
                await closing(member)
                taken: list[str] = []
                until = time.monotonic() + PATIENCE
                while worker_rows(member.store)[late.number].ended is None:
                    await closing(member)
                    assert time.monotonic() < until
                while found := await member.take(3):
                    taken += found
                return taken

            return lambda: member.run(main)

        taken = at_once(*map(working, others))
        assert sorted(name for own in taken for name in own) == sorted(host_rows(late.store))
        assert {row.epoch for row in host_rows(late.store).values()} == {2}
        check(others[0].frontier)


def test_a_lease_that_is_over_is_known_without_the_database(shared: str) -> None:
    """A worker that cannot beat stops by itself."""
    with Members(shared) as members:
        member = members.one()
        assert member.fleet.is_valid
        member.fleet._valid_until = -math.inf
        assert not member.fleet.is_valid
        member.run(member.fleet.beat)
        assert member.fleet.is_valid


def test_a_resume_waits_until_the_dead_are_known_to_be_dead(shared: str) -> None:
    """Or until one of them is heard of: then it is not dead."""
    with Members(shared) as members, EvidenceStore(shared) as store:
        dead = members.one()
        fleet = Fleet(store, members.crawl, lease=LEASE, clock=time.time)

        def die() -> None:
            expire(dead)

        waiting = partial(fleet.wait_for_the_dead, lambda _: None)
        at_once(waiting, die)
        living = members.one()

        def live() -> None:
            for _ in range(5):
                living.run(living.fleet.beat)
                time.sleep(0.3)  # it beats, as a worker does

        at_once(waiting, live)


def silence(member: Member, seconds: float) -> None:
    """Let a worker not have been heard of for a while."""
    with member.store.writing() as connection:
        own = tables.workers.update().where(tables.workers.c.id == member.number)
        connection.execute(own.values(seen=tables.workers.c.seen - seconds))


def test_a_resume_tells_whom_it_waits_for(shared: str) -> None:
    """With the time that it takes at most; and nothing before one has missed some beats."""
    with Members(shared) as members, EvidenceStore(shared) as store:
        dead = members.one()
        fleet = Fleet(store, members.crawl, lease=LEASE, clock=time.time)
        told: list[LeaseWait | None] = []

        def tell(wait: LeaseWait | None) -> None:
            told.append(wait)
            if wait is not None:
                expire(dead)

        with pytest.raises(CrawlEnded):
            fleet.wait_for_the_dead(tell, lambda: bool(told))
        assert told == [None]
        silence(dead, 60.0)
        fleet.wait_for_the_dead(tell)
        _, wait = told
        assert wait is not None
        assert wait.names == (f"worker {dead.number} ({worker_rows(store)[dead.number].name})",)
        assert 0 < wait.until - time.time() <= LEASE + fleet.interval


def test_a_resume_that_is_stopped_waits_no_longer(shared: str) -> None:
    """And the crawl stays as it is."""
    with Members(shared) as members, EvidenceStore(shared) as store:
        members.one()
        before = everything(store)
        fleet = Fleet(store, members.crawl, lease=LEASE, clock=time.time)
        with pytest.raises(CrawlEnded, match=INTERRUPTED):
            fleet.wait_for_the_dead(lambda _: None, lambda: True)
        assert everything(store) == before


def test_a_worker_that_joined_knows_whom_it_waits_for(shared: str) -> None:
    """If none of the others is heard of, until they are closed."""
    with Members(shared) as members:
        first, second, joined_last = members.join(3)
        silence(first, 60.0)
        assert joined_last.run(joined_last.fleet.beat).wait is None  # the second lives
        silence(second, 60.0)
        wait = joined_last.run(joined_last.fleet.beat).wait
        assert wait is not None
        assert wait.text(wait.until - 9.0) == (
            "waiting for 2 workers, not heard of: their hosts are free in 9 s at the latest"
        )
        expire(first)
        expire(second)
        joined_last.run(lambda: closing(joined_last))
        assert joined_last.run(joined_last.fleet.beat).wait is None


# The budget.


def spend(member: Member, budget: GrantedBudget, limit: int, seed: int) -> Callable[[], int]:
    """Fetch pages as they are granted, until all are fetched; returns how many."""
    draw = random.Random(seed)

    async def main() -> int:
        fetched, until = 0, time.monotonic() + PATIENCE

        def count(connection: Any, items: Any) -> Any:
            queries = Queries(connection, member.frontier.crawl)
            for number in items:
                queries.count(member.number, {("page", "attempts"): number})
            return items

        while member.frontier.counted()["page", "attempts"] < limit:
            assert time.monotonic() < until, "the limit is not reached"
            await member.fleet.grant(budget)
            granted = sum(row.granted for row in worker_rows(member.store).values())
            assert granted + before(member) <= limit
            number = draw.randint(0, budget.left_here)
            for _ in range(number):
                budget.reserve(0.0)
            if number and draw.random() < 0.3:  # one was not sent after all
                budget.give_back()
                number -= 1
            if number:
                await member.store.write(count, number)
                fetched += number
            if draw.random() < 0.5:
                await member.fleet.give_back(budget)
        return fetched

    return lambda: member.run(main)


def before(member: Member) -> int:
    """Pages that were fetched before there were workers."""
    with member.store.reading() as connection:
        counted = Queries(connection, member.frontier.crawl).counted(NOBODY)
    return counted["page", "attempts"]


@pytest.mark.parametrize(("limit", "earlier"), [(1, 0), (7, 0), (100, 30), (2_500, 1)])
def test_several_workers_fetch_as_many_pages_as_the_limit_says(
    shared: str, limit: int, earlier: int
) -> None:
    """Never more are granted, and in the end all are fetched."""
    with Members(shared) as members:
        workers = members.join(3)

        def begin(connection: Any, items: Any) -> Any:
            queries = Queries(connection, members.crawl)
            queries.count(NOBODY, {("page", "attempts"): earlier})
            return items

        workers[0].store.write_blocking(begin, None)
        budgets = [GrantedBudget(pages=limit, minutes=None) for _ in workers]
        fetched = at_once(
            *(
                spend(member, budget, limit, seed)
                for seed, (member, budget) in enumerate(zip(workers, budgets, strict=True))
            )
        )
        assert sum(fetched) + earlier == limit
        for budget in budgets:
            while budget.left_here:
                budget.reserve(0.0)
            with pytest.raises(BudgetExceeded, match="page limit reached"):
                budget.reserve(0.0)


def test_in_a_file_all_pages_are_granted_at_once(tmp_path: Any) -> None:
    """There is one worker at a time; the next one has what is left."""
    with EvidenceStore(tmp_path / "crawl.db") as store:
        crawl = crawls.begin(store, [f"{SITE}/"], now=1.0)
        first = Member(store.place, crawl)
        budget = GrantedBudget(pages=5_000, minutes=None)
        first.run(lambda: first.fleet.grant(budget))
        assert budget.granted == 5_000
        first.run(lambda: first.add([link(f"{SITE}/")]))
        first.run(first.take)
        (url,) = first.run(lambda: leased(first, "example.com"))
        page = result(url, "done", answer=Answer(), attempts=3)
        first.run(lambda: first.frontier.finish(page))
        first.close()
        second = Member(store.place, crawl)
        budget = GrantedBudget(pages=5_000, minutes=None)
        second.run(lambda: second.fleet.grant(budget))
        assert budget.granted == 4_997
        unlimited = GrantedBudget(pages=None, minutes=None)
        second.run(lambda: second.fleet.grant(unlimited))
        unlimited.reserve(0.0)
        second.close()


# The end.


def test_a_crawl_ends_when_nothing_is_left_for_anybody(shared: str) -> None:
    """Not while somebody is adding, owns a host, or has something queued; then once, for all."""
    with Members(shared) as members:
        first, second = members.one(is_adding=True), members.one()

        def conclude(member: Member) -> Any:
            return member.run(lambda: member.fleet.conclude(None, None))

        found = conclude(second)
        assert (found.ended, found.is_idle, found.is_waiting) == ("", True, False)
        first.run(lambda: first.add([link(f"{SITE}/"), link("https://b.example/")]))
        first.run(first.fleet.added)
        found = conclude(second)
        assert (found.ended, found.is_idle, found.is_waiting) == ("", False, True)
        assert found.next_at is not None
        assert len(second.run(lambda: second.take(1))) == 1
        (name,) = second.frontier.owned
        found = conclude(first)
        assert (found.ended, found.is_idle, found.is_waiting) == ("", False, False)
        (other,) = first.run(first.take)
        for member, mine in ((first, other), (second, name)):
            (url,) = member.run(lambda member=member, mine=mine: leased(member, mine))  # type: ignore[misc]
            page = result(url, "done", answer=Answer(), attempts=1)
            member.run(lambda member=member, page=page: member.frontier.finish(page))  # type: ignore[misc]
            assert conclude(first).ended == ""  # done, and both are owned
        first.run(lambda: first.release(other))
        assert conclude(first).ended == ""
        second.run(lambda: second.release(name))
        assert crawl_row(first.store, members.crawl).ended is None
        ends = at_once(lambda: conclude(first), lambda: conclude(second))
        assert [end.ended for end in ends] == [FINISHED, FINISHED]
        assert first.run(first.fleet.beat).ended == FINISHED
        seconds = crawl_row(first.store, members.crawl).seconds
        assert conclude(second).ended == FINISHED
        for member in (first, second):  # why one leaves does not change why it ended
            leaving = partial(member.fleet.leave, "time limit", is_final=True)
            assert member.run(leaving) == FINISHED
        row = crawl_row(first.store, members.crawl)
        assert (row.ended, row.seconds) == (FINISHED, seconds)
        with pytest.raises(CrawlEnded):
            members.one()


def test_an_end_waits_for_what_is_tried_later(store: EvidenceStore) -> None:
    """It says when to look again."""
    crawl = crawls.begin(store, [f"{SITE}/"], now=1.0)
    place = store.engine.url.render_as_string(hide_password=False)
    member = Member(place if "postgresql" in place else store.place, crawl)
    at = time.time() + 1e6

    async def main() -> None:
        await member.add([link(f"{SITE}/")])
        await member.take()
        (url,) = await leased(member, "example.com")
        await member.frontier.finish(
            result(url, "queued", "status 500", answer=Answer(500), attempts=1, not_before=at)
        )
        await member.frontier.release([ReturnedHost("example.com", 0.0, 0.0, at)])
        found = await member.fleet.conclude(None, None)
        assert (found.ended, found.is_waiting) == ("", True)
        assert found.next_at is not None
        assert found.next_at >= at
        assert await member.take() == []
        # All pages of the budget are spent: what is queued is left.
        limit = BudgetExceeded("page", "2 pages")
        assert (await member.fleet.conclude(limit, 2)).ended == ""
        assert (await member.fleet.conclude(limit, 1)).ended == str(limit)

    member.run(main)
    assert crawl_row(store, crawl).ended == "page limit reached: 2 pages"
    check(member.frontier)
    member.close()


def test_urls_that_nobody_was_told_of_are_found_at_the_end(shared: str) -> None:
    """Somebody added them, and died before he could say so."""
    with Members(shared) as members:
        first, second = members.join(2)
        first.run(lambda: first.add([link(f"{SITE}/")]))
        first.run(first.take)
        (url,) = first.run(lambda: leased(first, "example.com"))
        first.run(lambda: first.frontier.finish(result(url, "done", answer=Answer(), attempts=1)))
        first.run(lambda: first.release("example.com"))
        change = second.run(lambda: second.frontier.add([link(f"{SITE}/lost")]))
        assert change.to_wake == {"example.com"}
        assert first.run(first.take) == []
        found = first.run(lambda: first.fleet.conclude(None, None))
        assert (found.ended, found.is_waiting) == ("", True)
        assert first.run(first.take) == ["example.com"]
        check(first.frontier)


def test_running_time_is_counted_once_for_all(shared: str) -> None:
    """However many workers beat: it is no longer than the time that has gone by."""
    with Members(shared) as members:
        began = database_time(members.one().store)
        workers = members.join(3)

        def beating(member: Member) -> Callable[[], None]:
            async def main() -> None:
                for _ in range(10):
                    await member.fleet.beat()
                    time.sleep(0.15)  # as beats do

            return lambda: member.run(main)

        at_once(*map(beating, workers))
        seconds = workers[0].run(workers[0].fleet.beat).seconds
        assert 0 < seconds <= database_time(workers[0].store) - began + PATIENCE / 100
