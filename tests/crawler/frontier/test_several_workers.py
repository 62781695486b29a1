"""Several workers of one crawl at the same time, on a real PostgreSQL: what they agree on."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from manners.crawler.fleet_values import FINISHED
from manners.crawler.frontier import tables
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.statements import POSTGRES
from manners.crawler.frontier.values import FetchResult, FoundUrl, LeasedUrl
from manners.crawler.frontier.ways import Alike
from manners.crawler.reasons import DEPTH, NOFOLLOW, REDIRECT
from tests.contracts.postgres import Postgres
from tests.crawler.frontier.checks import check
from tests.crawler.frontier.graphs import Edges, Model, made_up
from tests.crawler.members import PATIENCE, Member, Members, at_once
from tests.crawler.results import Answer, result
from tests.evidence.places import execute
from tests.sizes import examples

ANSWER = Answer()


@pytest.fixture(scope="module")
def server_place(postgres: Postgres) -> str:
    """One database for all tests of this file; each has a crawl of its own."""
    return postgres.database()


def link(url: str, depth: int = 1, **more: Any) -> FoundUrl:
    return FoundUrl(url, "link", "https://example.com/", depth, **more)


def rows(frontier: Frontier) -> dict[str, Any]:
    with frontier.store.reading() as connection:
        query = tables.urls.select().where(tables.urls.c.crawl == frontier.crawl)
        return {row.url: row for row in connection.execute(query)}


def done(asked: LeasedUrl, *targets: str) -> FetchResult:
    """A page that was fetched, and leads to others."""
    found = [link(target, asked.depth + 1) for target in targets]
    return result(asked, "done", answer=ANSWER, attempts=1, found=found, targets=targets)


# What two find at the same time.


def test_what_several_find_at_once_is_added_once(server_place: str) -> None:
    """With the shortest way and the highest priority; and it is told to one of them."""
    with Members(server_place) as members:
        workers = members.join(3)
        for turn in range(15):
            names = [f"https://h{n % 5}.example/{turn}/{n}" for n in range(40)]
            draw = random.Random(turn)

            def adding(worker: Member, number: int, names: list[str] = names) -> Callable[[], Any]:
                mixed = random.Random(number).sample(names, len(names))
                told = [link(each, 2 + number, priority=number / 10) for each in mixed]
                return lambda: worker.run(lambda: worker.add(told))

            order = draw.sample(range(3), 3)
            changes = at_once(*(adding(workers[n], n) for n in order))
            counted: Counter[str] = Counter()
            for change in changes:
                counted.update(change.states)
            assert +counted == {"queued": 40}
            found = rows(workers[0].frontier)
            assert {(found[name].depth, found[name].priority) for name in names} == {(2, 0.2)}
        assert len(rows(workers[0].frontier)) == 15 * 40
        check(workers[0].frontier)


def test_forms_are_counted_by_all_together(server_place: str) -> None:
    """So many of one form are taken, whoever finds them."""
    with Members(server_place) as members:
        how = {"judge": lambda *_: ("", "", 7), "alike": Alike(50, "trap: alike", "limit")}
        workers = members.join(3, **how)

        def adding(worker: Member, number: int) -> Callable[[], None]:
            async def main() -> None:
                for n in range(0, 40, 5):
                    own = [link(f"https://h.example/{number}/{n + each}") for each in range(5)]
                    await worker.add(own)

            return lambda: worker.run(main)

        at_once(*(adding(worker, number) for number, worker in enumerate(workers)))
        fates = Counter(row.reason for row in rows(workers[0].frontier).values())
        assert fates == {"": 50, "trap: alike": 70}
        check(workers[0].frontier)


CHAIN = [f"https://h{n}.example/" for n in range(6)]
SIDES = ["https://a.example/", "https://b.example/"]
END = "https://end.example/"


async def walk(worker: Member) -> None:
    """Fetch a chain of pages whose end is too deep; two pages beside it are left."""
    await worker.add([link(CHAIN[0], 3), link(SIDES[0], 1), link(SIDES[1], 0)])
    for here, there in zip(CHAIN, [*CHAIN[1:], END], strict=True):
        await worker.take()
        (asked,) = (await worker.frontier.take(here[8:-1], 1, time.time())).urls
        await worker.told(await worker.frontier.finish(done(asked, there)))
    await worker.release("b.example")


@pytest.mark.parametrize("turn", range(6))
def test_shorter_ways_that_are_found_at_once_end_with_the_shortest(
    server_place: str, turn: int
) -> None:
    """Through all pages that are done; what was too deep is queued."""
    targets = CHAIN[turn % 3], CHAIN[(turn + 1) % 3]
    with Members(server_place) as members:
        first, second = members.join(2, max_depth=8)
        first.run(lambda: walk(first))
        assert second.run(second.take) == ["b.example"]
        assert rows(first.frontier)[END].depth == 9

        def shortening(worker: Member, side: int) -> Callable[[], None]:
            async def main() -> None:
                name = SIDES[side][8:-1]
                (asked,) = (await worker.frontier.take(name, 1, time.time())).urls
                await worker.told(await worker.frontier.finish(done(asked, targets[side])))

            return lambda: worker.run(main)

        at_once(shortening(first, 0), shortening(second, 1))
        nearer = {targets[0]: 2, targets[1]: 1}
        expected: dict[str, int] = {}
        depth = 2
        for here in [*CHAIN, END]:
            depth = expected[here] = min(depth + 1, nearer.get(here, 9))
        found = {url: row.depth for url, row in rows(first.frontier).items()}
        assert {url: found[url] for url in expected} == expected
        assert rows(first.frontier)[END].state == "queued"
        check(first.frontier)


# Against a plain search.


def place(node: int) -> str:
    return f"https://h{node % 3}.example/{node}"


def node_of(url: str) -> int:
    return int(url.rpartition("/")[2])


def fetched(asked: LeasedUrl, edges: Edges, moved_to: dict[int, int]) -> FetchResult:
    """What a site answers."""
    node = node_of(asked.url)
    if node in moved_to:
        there = place(moved_to[node])
        found = FoundUrl(there, "redirect", asked.url, asked.depth, hops=asked.hops + 1)
        answer = ANSWER._replace(status=301, location=there)
        return result(asked, "done", REDIRECT, answer=answer, found=[found], targets=[there])
    mine = [(place(target), nofollow) for source, target, nofollow in edges if source == node]
    found_urls = [
        link(target, asked.depth + 1, reason=NOFOLLOW if nofollow else "")
        for target, nofollow in mine
    ]
    targets = [target for target, nofollow in mine if not nofollow]
    return result(asked, "done", answer=ANSWER, found=found_urls, targets=targets)


async def crawl(
    worker: Member, edges: Edges, moved_to: dict[int, int], draw: random.Random
) -> list[str]:
    """Work until the crawl is over: hosts are taken and handed back at random; what was asked."""
    asked: list[str] = []
    until = time.monotonic() + PATIENCE
    while (await worker.fleet.conclude(None, None)).ended != FINISHED:
        assert time.monotonic() < until, "the crawl does not end"
        await worker.take(draw.randint(1, 2))
        for name in draw.sample(sorted(worker.frontier.owned), len(worker.frontier.owned)):
            batch = await worker.frontier.take(name, draw.randint(1, 3), time.time())
            leased = draw.sample(batch.urls, len(batch.urls))
            for url in leased[: draw.randint(1, 3)]:
                asked.append(url.url)
                finished = await worker.frontier.finish(fetched(url, edges, moved_to))
                await worker.told(finished)
            if not leased or draw.random() < 0.5:  # with what was leased and not fetched
                await worker.release(name)
    return asked


@example(seed=2, limit=4, number=2)  # where each step of a shorter way matters
@example(seed=7, limit=4, number=3)
@given(
    seed=st.integers(0, 2**64),
    limit=st.sampled_from([None, 2, 3, 4, 5, 6]),
    number=st.integers(2, 4),
)
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_order_of_fetching_by_several_ends_as_a_plain_search_does(
    server_place: str, seed: int, limit: int | None, number: int
) -> None:
    """Every URL is asked for once, and ends as a plain search says: state, reason and depth."""
    draw = random.Random(seed)
    edges, moved_to = made_up(draw)
    with Members(server_place) as members:
        workers = members.join(number, max_depth=limit)
        workers[0].run(lambda: workers[0].add([FoundUrl(place(0), "start", "", 0)]))

        def working(worker: Member, own: int) -> Callable[[], list[str]]:
            return lambda: worker.run(lambda: crawl(worker, edges, moved_to, random.Random(own)))

        asked = at_once(*(working(worker, draw.getrandbits(32)) for worker in workers))
        assert max(Counter(url for own in asked for url in own).values()) == 1
        found = rows(workers[0].frontier)
        check(workers[0].frontier)
    model = Model(edges, moved_to, limit)
    fates = {
        f"/{node_of(url)}": (row.state, "" if row.reason == REDIRECT else row.reason)
        for url, row in found.items()
    }
    assert fates == model.fates()
    if limit is not None:
        depths = {node_of(url): row.depth for url, row in found.items() if row.reason != NOFOLLOW}
        assert depths == model.depths
        assert {row.depth > limit for row in found.values() if row.reason == DEPTH} <= {True}


# Hosts.


def test_no_host_is_given_to_two(server_place: str) -> None:
    """And each to one, once; also while they are handed back and taken again."""
    names = {f"h{n}.example" for n in range(150)}
    with Members(server_place) as members:
        workers = members.join(4)
        workers[0].run(lambda: workers[0].add([link(f"https://{name}/") for name in names]))

        def taking(worker: Member) -> Callable[[], list[str]]:
            async def main() -> list[str]:
                mine: list[str] = []
                while found := await worker.take(7):
                    mine += found
                return mine

            return lambda: worker.run(main)

        taken = at_once(*map(taking, workers))
        assert Counter(name for own in taken for name in own) == dict.fromkeys(names, 1)
        for worker, own in zip(workers, taken, strict=True):
            assert worker.frontier.owned == set(own)

        def changing(worker: Member, seed: int) -> Callable[[], None]:
            async def main() -> None:
                draw = random.Random(seed)
                for _ in range(15):
                    owned = sorted(worker.frontier.owned)
                    await worker.release(*draw.sample(owned, len(owned) // 2))
                    await worker.take(20)

            return lambda: worker.run(main)

        at_once(*(changing(worker, seed) for seed, worker in enumerate(workers)))
        owned = [name for worker in workers for name in worker.frontier.owned]
        assert max(Counter(owned).values()) == 1
        with workers[0].store.reading() as connection:
            query = tables.hosts.select().where(tables.hosts.c.crawl == members.crawl)
            found = connection.execute(query).all()
        for worker in workers:
            names_here = {row.host for row in found if row.owner == worker.number}
            assert names_here == worker.frontier.owned
        check(workers[0].frontier)


def test_no_wake_up_is_lost(server_place: str) -> None:
    """One hands a host back that has nothing to do, another finds something of it meanwhile."""
    with Members(server_place) as members:
        owner, finder = members.join(2)
        name, turns = "h.example", 60

        async def fetch() -> None:
            assert await owner.take() == [name]
            for url in (await owner.frontier.take(name, 100, time.time())).urls:
                await owner.told(await owner.frontier.finish(done(url)))

        owner.run(lambda: owner.add([link(f"https://{name}/")]))
        for turn in range(turns):
            owner.run(fetch)
            found = [link(f"https://{name}/{turn}")]
            pause = random.Random(turn).uniform(0.0, 0.01)

            def add(found: list[FoundUrl] = found, pause: float = pause) -> None:
                time.sleep(pause)  # not to wait for something: so that each order happens
                finder.run(lambda: finder.add(found))

            at_once(lambda: owner.run(lambda: owner.release(name)), add)
            check(owner.frontier)
        assert len(rows(owner.frontier)) == turns + 1


# Room.


def test_what_there_is_no_room_for_is_dropped_once(server_place: str) -> None:
    """Several workers fill a small room: the numbers stay right, and nothing under way is lost."""
    with Members(server_place) as members:
        workers = members.join(3, max_urls=40)

        def working(worker: Member, number: int) -> Callable[[], None]:
            async def main() -> None:
                draw = random.Random(number)
                for n in range(12):
                    name = f"h{draw.randrange(6)}.example"
                    own = [link(f"https://{name}/{number}/{n}/{each}") for each in range(5)]
                    await worker.add(own)
                    await worker.take(1)
                    for name in sorted(worker.frontier.owned):
                        batch = await worker.frontier.take(name, 2, time.time())
                        for url in batch.urls[:1]:
                            await worker.told(await worker.frontier.finish(done(url)))
                        if n % 2:
                            await worker.release(name)
                    if n % 4 == 3:
                        await worker.fleet.beat()

            return lambda: worker.run(main)

        at_once(*(working(worker, number) for number, worker in enumerate(workers)))
        check(workers[0].frontier)
        states = Counter(row.state for row in rows(workers[0].frontier).values())
        assert states["blocked"] > 0


# What the server reads for it.


@pytest.mark.parametrize(
    "name", ["known", "targets", "due", "later", "new_hosts", "take_hosts", "lock_hosts", "wake"]
)
def test_a_plan_for_empty_tables_is_good_for_full_ones(postgres: Postgres, name: str) -> None:
    """A session may keep it: each row is looked up by its host, or by when its host is due."""
    place = postgres.database()
    with Members(place):
        number = iter(range(1, 100))
        text = re.sub("%s", lambda _: f"${next(number)}", POSTGRES[name])
        plan = "\n".join(line for (line,) in execute(place, f"EXPLAIN (GENERIC_PLAN) {text}"))
    looked_up = re.findall(r"Index Cond: (.*)", plan)
    assert looked_up, plan
    assert all("host = " in each or "ready <= " in each for each in looked_up), plan
    assert not re.search("Seq Scan|Join Filter|Hash|Merge", plan), plan
