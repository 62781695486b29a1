"""One crawl on several processes: one test for each promise.

Processes, PostgreSQL and the web are real. What happens to all of it at once is in
`test_fleet_chaos.py`.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.errors import StoreAway
from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres
from tests.crawler.fleet_checks import assert_well, not_added_up, several_at_a_host
from tests.crawler.fleet_crew import LEASE, PATIENCE, Crew, Member, judge
from tests.crawler.fleet_process import environment
from tests.crawler.fleet_store import OPTIONS, UrlRow
from tests.crawler.fleet_web import ROOT, FleetSite, Web, WebSpec

SMALL = WebSpec(hosts=8, pages=12)
WIDE = WebSpec(hosts=40, pages=6)
"""More hosts than one worker has at a time, so that others find something to do."""
SLOW: dict[str, Any] = {"min_delay": 0.2, "max_delay": 0.2, "connections": 4}
"""So that one worker alone would need a while, and the others are there before the end."""
QUICK: dict[str, Any] = {"min_delay": 0.0, "max_delay": 0.0}


class Scene:
    """A web, a crew, and what is looked for."""

    def __init__(self, web: Web, crew: Crew) -> None:
        self.web, self.crew = web, crew

    def workers(self, number: int) -> list[Member]:
        """Start the crawl, and so many workers."""
        self.crew.start()
        return [self.crew.add() for _ in range(number)]

    def wait_for_requests(self, number: int) -> None:
        self.crew.wait_until(lambda: self.web.count() >= number, f"{number} requests")

    def wait_for_requests_of(self, member: Member, number: int = 1) -> None:
        """Wait until a worker has asked so many times."""
        self.crew.wait_until(lambda: self.asked(member) >= number, f"worker {member} asks")

    def asked(self, member: Member) -> int:
        return Counter(ask.pid for ask in self.web.seen().asks)[member.pid]

    def judge(self, **more: Any) -> None:
        judge(self.crew, self.web, **more)


Make = Callable[..., Any]


@pytest.fixture
def scene(tmp_path: Path, postgres: Postgres) -> Callable[..., Any]:
    """Makes a scene: of a web, and settings of the crawl."""

    @contextmanager
    def make(spec: WebSpec = SMALL, **settings: Any) -> Iterator[Scene]:
        store = settings.pop("store", None) or postgres.database()
        folder = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        with (
            Web(spec, folder) as web,
            Crew(folder, store, web.site.starts, **SLOW | settings) as crew,
        ):
            yield Scene(web, crew)

    return make


# Coming and going.


def test_a_crawl_that_was_started_asks_nothing(scene: Make) -> None:
    """It is there, with its URLs queued, until somebody works on it."""
    with scene() as it:
        assert it.crew.start() == 1
        status = it.crew.status()
        assert status["states"] == {"queued": 1}
        assert status["workers"] == []
        assert status["ended"] != "finished"
        assert it.web.count() == 0
        it.crew.add()
        it.crew.finish()
        it.judge()


def test_workers_share_a_crawl(scene: Make) -> None:
    """Each asks some of the hosts, each prints its pages, and all see the end of it."""
    with scene(WIDE) as it:
        members = it.workers(3)
        it.crew.finish()
        it.judge()
        assert min(it.asked(member) for member in members) > 0
        assert {member.last["ended"] for member in members} == {"finished"}
        told = it.crew.status()["workers"]
        assert len(told) == 3
        assert {"worker", "name", "began", "seen", "ended"} <= told[0].keys()


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_workers_come_to_what_one_process_comes_to(scene: Make, tmp_path: Path) -> None:
    """The same URLs with the same fates, down to the rule that blocks, as in a file."""
    query = "SELECT url, state, reason, rule, line, status, attempts, kind, hops FROM urls"
    with scene(WIDE, **QUICK) as it:
        it.workers(3)
        it.crew.finish()
        store = tmp_path / "one.db"
        config = str(it.crew.config)
        it.crew.run("crawl", *it.web.site.starts, "--store", str(store), "--config", config)
        with closing(sqlite3.connect(store)) as connection:
            alone = sorted(connection.execute(query).fetchall())
        assert sorted(it.crew.rows(query)) == alone


def test_one_command_starts_several_workers(scene: Make) -> None:
    """`--workers 3` is a crawl and three workers; it ends when they have."""
    with scene(WIDE) as it:
        member = it.crew.whole("--workers", "3")
        it.crew.crawl = 1
        assert member.wait() == 0, member.errors
        stored = it.crew.stored()
        assert len(stored.workers) == 3
        assert {row.pid for row in stored.workers} == {ask.pid for ask in it.web.seen().asks}
        assert_well(not_added_up(stored, it.crew.status()), "does not add up")
        assert_well(several_at_a_host(it.web.seen(), stored.epochs), "several at a host")
        # What all of them fetched is printed by the command.
        lines = [line["url"] for line in member.lines if line.get("state") in ("done", "failed")]
        truth = it.web.site.truth
        assert sorted(lines) == sorted(url for url, fate in truth.items() if fate.asked)
        assert member.last["ended"] == "finished"


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_one_command_with_several_workers_can_be_interrupted(scene: Make) -> None:
    """Ctrl-C finishes what is under way in all of them; a resume asks for nothing twice."""
    with scene(WIDE) as it:
        member = it.crew.whole("--workers", "3")
        it.crew.crawl = 1
        it.wait_for_requests(60)
        member.tell(signal.SIGINT)
        assert member.wait() == 130, member.errors
        assert not it.crew.is_ended or it.crew.status()["resumable"]
        assert it.crew.stored().owned == {}
        done = it.crew.run("crawl", "resume", "--store", it.crew.store, "--json")
        assert json.loads(done.stdout.splitlines()[-1])["crawl"]["ended"] == "finished"
        wanted = {url: fate.asked for url, fate in it.web.site.truth.items() if fate.asked}
        assert it.web.seen().requests == wanted


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_one_command_does_without_a_worker_that_was_killed(scene: Make) -> None:
    """The others finish the crawl, and the command says what happened."""
    with scene(WIDE) as it:
        member = it.crew.whole("--workers", "3")
        it.crew.crawl = 1
        it.wait_for_requests(60)
        os.kill(min(ask.pid for ask in it.web.seen().asks), signal.SIGKILL)
        assert member.wait() == 0, member.errors
        assert "a worker was ended by signal 9" in member.errors
        assert member.last["ended"] == "finished"


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_one_command_that_is_interrupted_early_leaves_no_worker(scene: Make) -> None:
    """However many it has started by then, and whether the signal reaches them or only itself."""
    with scene(WIDE) as it:
        member = it.crew.whole("--workers", "8")
        started = Path(f"/proc/{member.pid}/task/{member.pid}/children")
        it.crew.wait_until(lambda: len(started.read_text().split()) >= 2, "one is started")
        member.tell(signal.SIGINT)
        assert member.wait() == 130, member.errors
        assert "Traceback" not in member.errors
        assert it.crew.rows("SELECT * FROM workers WHERE ended IS NULL") == []


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_a_worker_that_joins_later_gets_hosts(scene: Make) -> None:
    """Though one that was there before could go on alone; so slowly that it is there in time."""
    with scene(WIDE, min_delay=4.0, max_delay=4.0) as it:
        it.workers(1)
        it.wait_for_requests(10)
        late = it.crew.add()
        it.wait_for_requests_of(late, 5)


def test_a_worker_that_is_told_to_end_hands_everything_back(scene: Make) -> None:
    """SIGTERM: it finishes what is under way, nothing is asked for twice, and others go on."""
    with scene(WIDE._replace(answer_seconds=0.05), worker_lease=60.0) as it:
        first, second = it.workers(2)
        it.wait_for_requests_of(first, 20)
        it.wait_for_requests_of(second, 20)
        first.tell()
        assert first.wait() in (0, 130, 143), first.errors
        stored = it.crew.stored()
        own = [row for row in stored.workers if row.pid == first.pid]
        assert [bool(row.ended) for row in own] == [True]
        assert not set(stored.owned.values()) & {row.id for row in own}
        it.crew.finish()  # long before the lease of the first would be over
        it.judge()
        wanted = {url: fate.asked for url, fate in it.web.site.truth.items() if fate.asked}
        assert it.web.seen().requests == wanted


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_a_crawl_goes_on_where_nobody_is_left(scene: Make) -> None:
    """All are told to end; whoever comes next finishes it, and nothing is asked for twice."""
    with scene(WIDE) as it:
        members = it.workers(2)
        it.wait_for_requests(60)
        for member in members:
            member.tell()
        for member in members:
            member.wait()
        assert it.crew.status()["states"]["queued"] > 0
        it.crew.add()
        it.crew.finish()
        it.judge()
        wanted = {url: fate.asked for url, fate in it.web.site.truth.items() if fate.asked}
        assert it.web.seen().requests == wanted


@pytest.mark.soak(small="test_workers_share_a_crawl")
@pytest.mark.parametrize("how", ["work", "resume"])
def test_a_crawl_can_be_resumed_when_all_were_killed(scene: Make, how: str) -> None:
    """By another worker, or by `manners crawl resume`; every delay is kept."""
    with scene(WIDE) as it:
        members = it.workers(3)
        it.wait_for_requests(80)
        for member in members:
            member.kill()
        if how == "work":
            it.crew.add()
        else:
            it.crew.begin("crawl", "resume", "--store", it.crew.store, "--json")
        it.crew.finish()
        it.judge()


def test_a_worker_of_an_ended_crawl_ends_at_once(scene: Make) -> None:
    """With 0, and it says so; nothing is asked for, and the crawl does not change."""
    with scene() as it:
        it.workers(1)
        it.crew.finish()
        number, before = it.web.count(), it.crew.status()
        late = it.crew.add()
        assert late.wait() == 0, late.errors
        assert late.last["ended"] == "finished"
        done = it.crew.run("crawl", "work", "--store", it.crew.store)
        assert "finished" in done.stdout
        assert it.web.count() == number
        assert it.crew.status()["states"] == before["states"]


def test_a_worker_without_a_crawl_says_so(scene: Make) -> None:
    """A store in which nobody has started one, and a number that there is not."""
    with scene() as it:
        done = it.crew.run("crawl", "work", "--store", it.crew.store, code=None)
        assert done.returncode not in (0, 1)
        assert "in it" in done.stderr  # that nothing is
        it.crew.start()
        done = it.crew.run("crawl", "work", "--store", it.crew.store, "--crawl", "7", code=None)
        assert done.returncode not in (0, 1)
        assert "7" in done.stderr
        assert it.web.count() == 0


# Fences.


def test_a_stopped_worker_that_goes_on_makes_no_request(scene: Make) -> None:
    """Another has closed it meanwhile: what it had decided before is not asked for."""
    spec = WIDE._replace(crawl_delay=2.0)
    with scene(spec, min_delay=0.5, max_delay=0.5) as it:
        first, second = it.workers(2)
        it.wait_for_requests_of(first, 20)
        it.wait_for_requests_of(second, 5)
        first.stop()
        it.crew.wait_until(lambda: it.crew.is_closed(first), "another closes it")
        it.crew.go_on(first)
        it.crew.finish()
        it.judge()


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_a_stop_within_the_lease_changes_nothing(scene: Make) -> None:
    """Nobody closes it, nothing is asked for twice."""
    with scene(WIDE, worker_lease=120.0) as it:
        first, _ = it.workers(2)
        it.wait_for_requests_of(first, 20)
        first.stop()
        time.sleep(1.0)
        it.crew.go_on(first)
        it.crew.finish()
        it.judge()
        assert len(it.crew.stored().workers) == 2
        wanted = {url: fate.asked for url, fate in it.web.site.truth.items() if fate.asked}
        assert it.web.seen().requests == wanted


@pytest.mark.soak(small="test_a_stopped_worker_that_goes_on_makes_no_request")
def test_a_killed_worker_is_closed_by_another(scene: Make) -> None:
    """Its hosts are asked by others, not before their delay, and its row says what happened."""
    with scene(WIDE) as it:
        first, second = it.workers(2)
        it.wait_for_requests_of(first, 20)
        first.kill()
        it.crew.wait_until(lambda: it.crew.is_closed(first), "another closes it")
        it.crew.finish()
        it.judge()
        assert {ask.pid for ask in it.web.seen().asks} == {first.pid, second.pid}
        told = it.crew.status()["workers"]
        assert [bool(each["ended"]) for each in told] == [True, True]
        assert told[0]["ended"] != told[1]["ended"]


# The database.


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that tests here may stop."""
    with Postgres(*OPTIONS) as made:
        yield made


@pytest.mark.soak(small="test_a_database_that_is_restarted_ends_nobody")
def test_a_database_that_stands_still_stops_everybody_for_a_while(
    scene: Make, server: Postgres
) -> None:
    """For longer than a lease: no request meanwhile, and all go on when it is back."""
    with scene(WIDE, store=server.database()) as it:
        it.workers(3)
        it.wait_for_requests(100)
        server.stop()
        stopped = time.time()
        try:
            time.sleep(LEASE + 3.0)
        finally:
            resumed = time.time()
            server.go_on()
        it.crew.finish()
        it.judge()
        # Who cannot renew his lease asks nothing when it is over.
        silent = [ask for ask in it.web.seen().asks if stopped + LEASE + 1 < ask.wall < resumed]
        assert silent == []


def test_a_database_that_is_restarted_ends_nobody(scene: Make, server: Postgres) -> None:
    """All wait for it, and go on."""
    with scene(WIDE, store=server.database()) as it:
        it.workers(3)
        it.wait_for_requests(100)
        server.kill()
        server.start()
        it.crew.finish()
        it.judge()


def test_a_number_is_read_when_the_database_is_back(server: Postgres) -> None:
    """The last thing that a worker does is to read what all have done."""
    with EvidenceStore(server.database()) as store:
        frontier = Frontier(store, crawls.begin(store, ["https://example.com/"], now=1.0))
        server.kill()
        with ThreadPoolExecutor(1) as thread:
            read = thread.submit(frontier.seconds)
            server.start()
            assert read.result(PATIENCE) == 0.0
        assert frontier.counted() == Counter()


def test_whoever_is_stopped_waits_no_longer_for_the_database(server: Postgres) -> None:
    """Then the error is raised that there was."""
    with EvidenceStore(server.database()) as store:
        frontier = Frontier(store, crawls.begin(store, ["https://example.com/"], now=1.0))
        server.kill()
        try:
            with pytest.raises(StoreAway):
                store.when_back(frontier.store.reading().__enter__, lambda: True)
            store.stop_waiting()
            with pytest.raises(StoreAway):
                frontier.seconds()
        finally:
            server.start()


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_workers_that_find_the_same_urls_do_not_block_each_other(scene: Make) -> None:
    """Every page leads to all others, of all hosts, and nobody waits."""
    spec = WebSpec(hosts=16, pages=12, links=120)
    with scene(spec, **QUICK) as it:
        it.workers(4)
        it.crew.finish()
        it.judge()
        assert [member.errors for member in it.crew.members] == [""] * 4


# Limits.


def rows_of(it: Scene) -> list[UrlRow]:
    return it.crew.stored().urls


def depths_of(site: FleetSite, limit: int) -> dict[str, int]:
    """The shortest way to each URL that is not too deep; a redirect is no step."""
    depths, waiting = {site.url(0): 0}, deque([(0, "/")])
    while waiting:
        host, path = waiting.popleft()
        depth = depths[site.url(host, path)]
        page = site._page(path)
        links = [] if page is None else list(site.links(host, page))
        if path.startswith("/go/"):
            links = [site.target(host, path)]
        else:
            depth += 1
        for link in links:
            url = site.url(*link)
            if depth <= limit and depth < depths.get(url, limit + 1):
                depths[url] = depth
                waiting.append(link)
    return depths


@pytest.mark.soak(small="test_traps_are_counted_for_all_workers_together")
def test_a_depth_limit_holds_for_all_workers(scene: Make) -> None:
    """The shortest way counts, whoever finds it: as in one process."""
    with scene(WIDE, **QUICK, max_depth=4) as it:
        it.workers(4)
        it.crew.finish()
        site = it.web.site
        depths = depths_of(site, 4)
        done = {row.url: row.depth for row in rows_of(it) if row.state != "blocked"}
        wanted = {url: depth for url, depth in depths.items() if site.truth[url].asked}
        assert done == wanted
        assert {url: it.web.seen().requests[url] for url in wanted} == {
            url: site.truth[url].asked for url in wanted
        }
        assert_well(not_added_up(it.crew.stored(), it.crew.status()), "does not add up")


def test_traps_are_counted_for_all_workers_together(scene: Make) -> None:
    """Of one form and host so many are asked for, by whomever they were found."""
    spec = WebSpec(
        hosts=12, pages=40, links=8, specials=False
    )  # who redirects there vouches for it
    with scene(spec, **QUICK, trap_alike=3) as it:
        it.workers(4)
        it.crew.finish()
        forms: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for row in rows_of(it):
            origin, _, rest = row.url.removeprefix("http://").partition("/")
            section, _, number = rest.partition("/")
            if number.isdecimal():
                forms[origin, section][row.reason or row.state] += 1
        assert forms
        for form, counts in forms.items():
            assert counts.keys() <= {"done", "trap: too-many-alike"}, form
            assert counts["done"] == min(3, counts.total()), (form, counts)
        assert_well(not_added_up(it.crew.stored(), it.crew.status()), "does not add up")


def test_room_is_that_of_all_workers_together(scene: Make) -> None:
    """`max_discovered` URLs are kept, not so many by each: at most twice, as hosts have shares."""
    with scene(WebSpec(hosts=6, pages=60), **QUICK, max_discovered=80) as it:
        it.workers(4)
        it.crew.finish()
        kept = [row for row in rows_of(it) if row.reason != "no-room"]
        assert 80 <= len(kept) <= 160
        assert it.crew.status()["states"].get("queued", 0) == 0
        assert_well(not_added_up(it.crew.stored(), it.crew.status()), "does not add up")


@pytest.mark.soak(small="test_traps_are_counted_for_all_workers_together")
def test_what_is_set_for_a_host_holds_whoever_asks_it(scene: Make) -> None:
    """Its own delay, across workers that come and go."""
    slow = "127.16.0.2"
    with scene(SMALL, hosts={slow: {"delay": 0.6}}) as it:
        first, _ = it.workers(2)
        it.wait_for_requests(20)
        first.tell()
        it.crew.add()
        it.crew.finish()
        it.judge(delays={slow: 0.6})


def test_a_budget_is_met_to_the_page(scene: Make) -> None:
    """By four workers, at no delay, with blocks that do not come out even."""
    budget = 137
    with scene(WIDE, **QUICK, max_pages=budget) as it:
        members = it.workers(4)
        it.crew.finish()
        it.judge(budget=budget)
        assert len({member.last["ended"] for member in members}) == 1
        assert "page" in members[0].last["ended"]


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_a_host_is_asked_by_one_worker_only(scene: Make) -> None:
    """A crawl of one host: the others have nothing to do, and wait for the end."""
    with scene(WebSpec(hosts=1, pages=40)) as it:
        members = it.workers(3)
        it.crew.finish()
        it.judge()
        assert sorted(bool(it.asked(member)) for member in members) == [False, False, True]


# Agreement.


def test_settings_that_would_differ_are_refused(scene: Make) -> None:
    """All workers have those of the crawl: another wish is refused with the reason."""
    with scene() as it:
        it.workers(1)
        done = it.crew.run(
            *("crawl", "work", "--store", it.crew.store, "--max-pages", "5"), code=None
        )
        assert done.returncode == 2
        assert "max-pages" in done.stderr.replace("_", "-")
        it.crew.finish()
        it.judge()


def test_another_version_is_refused(scene: Make) -> None:
    """A worker of another version of the package does not join those that are there."""
    with scene(WIDE) as it:
        it.workers(1)
        it.wait_for_requests(20)
        with psycopg.connect(it.crew.store) as connection:
            connection.execute("UPDATE workers SET version = '0.0.1'")
        done = it.crew.run("crawl", "work", "--store", it.crew.store, code=None)
        assert done.returncode not in (0, 1)
        assert "0.0.1" in done.stderr
        it.crew.finish()


def test_a_file_has_one_worker(scene: Make, tmp_path: Path) -> None:
    """SQLite allows one process: a second is told so, and what to use instead."""
    store = str(tmp_path / "crawl.db")
    with scene(WIDE) as it:
        config = str(it.crew.config)
        words = ("crawl", *it.web.site.starts, "--store", store, "--config", config)
        done = it.crew.run(*words, "--workers", "2", code=None)
        assert done.returncode == 2
        assert "postgresql" in done.stderr.lower()
        it.crew.run("crawl", "start", *words[1:])
        worker = it.crew.begin("crawl", "work", "--store", store, "--json")
        it.wait_for_requests(10)
        done = it.crew.run("crawl", "work", "--store", store, code=None)
        assert done.returncode not in (0, 1)
        worker.process.wait(PATIENCE)
        assert worker.process.returncode == 0, worker.errors
        assert worker.last["ended"] == "finished"


@pytest.mark.soak(small="test_workers_share_a_crawl")
def test_workers_in_a_program_do_the_same(scene: Make) -> None:
    """`manners.crawl` with a number to work on is a worker; two of them share a crawl."""
    program = """
import sys, manners
store, number = sys.argv[1], int(sys.argv[2])
pages = manners.crawl([], store=store, work=number)
print(sum(page.state != "blocked" for page in pages))
"""
    with scene(WIDE) as it:
        number = it.crew.start()
        commands = [sys.executable, "-c", program, it.crew.store, str(number)]
        both = [
            subprocess.Popen(
                commands,
                cwd=ROOT,
                env=environment(it.crew.folder),
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        counts = [int(process.communicate(timeout=PATIENCE)[0]) for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert sum(counts) == sum(row.state in ("done", "failed") for row in rows_of(it))
        assert_well(not_added_up(it.crew.stored(), it.crew.status()), "does not add up")
