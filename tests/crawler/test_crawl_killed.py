"""A crawl may be killed at any moment: it goes on, and comes to the same.

The command is killed with SIGKILL at random moments: after some time, or when the server has had
so many requests, of sitemaps at times. Then it is told to resume. `KILLED_SEED` repeats the choices
of a run, as far as a machine repeats itself.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres
from tests.crawler.generated import Spec, Truth, truth
from tests.crawler.generated_crawl import (
    LATE,
    Crawl,
    check,
    check_lines,
    check_manners,
    check_requests,
    check_store,
    stored,
)
from tests.crawler.generated_server import Log, Server
from tests.sizes import seed, size

SPEC = Spec(seed=4, hosts=10, pages=320, crawl_delay=0.5)
IN_FLIGHT = 8
SETTINGS = {"connections": IN_FLIGHT, "min_delay": 0.06, "max_delay": 0.07, "worker_lease": 2.0}

Fates = dict[str, tuple[str, str, int | None]]


SEED = seed("KILLED_SEED")
KILLS = size("CRAWL_KILLS")


class World:
    """A server, and what a crawl comes to that nobody kills."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self._folder = server, folder
        self._undisturbed: dict[tuple[str, ...], Fates] = {}

    def crawl(self, folder: Path, options: tuple[str, ...]) -> Crawl:
        return Crawl(folder, self.server.site.starts, *options, **SETTINGS)

    def truth(self, options: tuple[str, ...]) -> Truth:
        chosen = dict(zip(options[::2], options[1::2], strict=True))
        depth, source = chosen.get("--depth"), chosen.get("--source", "auto")
        starts, most = self.server.site.starts, int(depth) if depth else None
        return truth(self.server.site, starts, max_depth=most, source=source)

    def undisturbed(self, options: tuple[str, ...]) -> Fates:
        if options not in self._undisturbed:
            folder = self._folder / str(len(self._undisturbed))
            folder.mkdir()
            self.server.forget()
            crawl = self.crawl(folder, options)
            crawl.run()
            check(self.server, crawl, self.truth(options))
            self._undisturbed[options] = stored(crawl.store).fates
        return self._undisturbed[options]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with Server(SPEC) as server:
        yield World(server, tmp_path_factory.mktemp("undisturbed"))


class Killer:
    """Kills a crawl so many times, and lets it resume."""

    def __init__(self, server: Server, crawl: Crawl, seed: str, requests: int) -> None:
        self._server, self._crawl, self._draw = server, crawl, random.Random(seed)
        self._requests = requests
        self.kills = 0

    def run(self, kills: int) -> None:
        """Kill the crawl, unless it is over before; then let it come to its end."""
        self._share = self._requests // (kills + 1)
        while self.kills < kills:
            process = self._crawl.start(resume=self._is_begun())
            self._wait()
            if process.poll() is not None:
                self._crawl.finish(process)
                return
            process.kill()
            process.wait()
            self.kills += 1
        self._crawl.finish(self._crawl.start(resume=self._is_begun()), codes=(0,))

    def _is_begun(self) -> bool:
        """Whether there is something to resume: a crawl may be killed before it is one."""
        if not self.kills:
            return False
        try:
            return bool(stored(self._crawl.store).crawls)
        except Exception:  # no table is there yet
            return False

    def _wait(self) -> None:
        draw = self._draw
        match draw.randrange(5):
            case 0:  # while it begins, or begins again
                time.sleep(draw.uniform(0.2, 1.5))
            case 1:
                self._server.wait(draw.randint(1, 6), 2.0, draw.choice(("/map/", "/sitemap")))
            case _:
                self._server.wait(draw.randint(1, 2 * self._share), 10.0)
        time.sleep(draw.choice((0.0, 0.0, 0.002, 0.01)))


def check_evidence(store: Path | str, log: Log) -> None:
    """Nothing was asked for without a record of it."""
    allowed: Counter[str] = Counter()
    with EvidenceStore(str(store)) as evidence:
        assert list(evidence.verify()) == []
        for record in evidence.records():
            if record.type == "robots_allowed":
                allowed[record.url] += 1
    assert not log.requests - allowed, "asked for without a record"


def kill(world: World, crawl: Crawl, kills: int, seed: str) -> int:
    """Kill a crawl, and compare; how often it was killed."""
    server, told = world.server, world.truth(crawl.options)
    undisturbed = world.undisturbed(crawl.options)
    server.forget()
    killer = Killer(server, crawl, seed, sum(told.requests.values()))
    try:
        killer.run(kills)
        log, found = server.log(crawl.standstills), stored(crawl.store)
        check_store(told, found)
        assert found.fates == undisturbed  # the words for what failed, too
        check_requests(told, log, surplus=killer.kills * IN_FLIGHT)
        check_manners(server.site, log, crawl.settings)
        check_evidence(crawl.store, log)
    except AssertionError as failure:
        raise AssertionError(f"KILLED_SEED={SEED}, {seed}: {failure}") from None
    return killer.kills


def kill_again_and_again(
    world: World, folder: Path, options: tuple[str, ...], kills: int, seed: str
) -> None:
    """Kill crawls until it is enough."""
    number = 0
    while kills > 0:
        number += 1
        (folder / str(number)).mkdir()
        crawl = world.crawl(folder / str(number), options)
        kills -= kill(world, crawl, kills, f"{seed} {number}")


CHOICES: list[tuple[str, ...]] = [(), ("--depth", "3"), ("--source", "sitemap"), ()]


@pytest.mark.long
@pytest.mark.parametrize(
    "part",
    [
        0,
        1,
        *(
            pytest.param(
                part, marks=pytest.mark.soak(small="test_a_crawl_may_be_killed_at_any_moment")
            )
            for part in (2, 3)
        ),
    ],
)
def test_a_crawl_may_be_killed_at_any_moment(world: World, tmp_path: Path, part: int) -> None:
    """Every URL has the fate it has otherwise, and little is asked for twice."""
    kill_again_and_again(world, tmp_path, CHOICES[part], KILLS, f"file {SEED} {part}")


def test_a_crawl_that_is_told_to_stop_asks_for_nothing_twice(world: World, tmp_path: Path) -> None:
    """With Ctrl-C, what is under way is finished first, and nothing is lost."""
    server, crawl, told = world.server, world.crawl(tmp_path, ()), world.truth(())
    server.forget()
    for number in range(4):
        process = crawl.start(resume=number > 0)
        server.wait(sum(told.requests.values()) // 6, 60.0)
        process.send_signal(signal.SIGINT)
        crawl.finish(process, codes=(130,))
    crawl.finish(crawl.start(resume=True))
    log = server.log(crawl.standstills)
    check_requests(told, log)
    check_store(told, stored(crawl.store))
    check_lines(told, crawl.lines)
    check_manners(server.site, log, crawl.settings)


PATIENT = Spec(seed=4, hosts=8, pages=60, crawl_delay=4.0, retry_after=4)
"""Here it takes longer until a host may be asked again than until a crawl is there again."""


def test_a_host_is_left_alone_whoever_is_killed(tmp_path: Path) -> None:
    """What a host asked for is not forgotten with the one whom it asked."""
    cases = [("delay", 0.0), ("delay", 0.5), ("busy", 0.5)]
    folders = [tmp_path / str(number) for number in range(len(cases))]
    with ThreadPoolExecutor() as pool:
        waits = list(pool.map(waited, folders, *zip(*cases, strict=True)))
    assert [case for case, wait in zip(cases, waits, strict=True) if wait < 4.0 - LATE] == []


def waited(folder: Path, role: str, seconds: float) -> float:
    """Kill a crawl so long after a request, resume it, and see how long the host is left alone."""
    folder.mkdir()
    with Server(PATIENT) as server:
        host = next(each for each in server.site.hosts.values() if each.role == role)
        refusing = [path for path, page in host.pages.items() if page.fails == "429 once"]
        crawl = Crawl(folder, [host.origin + "/"], **SETTINGS)
        process = crawl.start()
        server.wait(*((1, 60.0, refusing[0]) if role == "busy" else (2, 60.0)))
        time.sleep(seconds)
        process.kill()
        process.wait()
        before = server.log().at(host.address)
        process = crawl.start(resume=True)
        server.wait(1, 60.0)
        process.kill()
        assert process.wait() == -signal.SIGKILL  # it has not ended before
        after = server.log().at(host.address)[len(before)]
    return after.at - before[-1].at


def test_a_crawl_in_a_database_may_be_killed(
    world: World, tmp_path: Path, postgres: Postgres
) -> None:
    """On PostgreSQL it is the same."""
    crawl = world.crawl(tmp_path, ())
    crawl.store = postgres.database()
    assert kill(world, crawl, 3, f"database {SEED}") > 0
