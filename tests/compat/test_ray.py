"""A crawl on Ray: a cluster of two nodes on loopback, of which one is killed.

`make cluster` installs Ray. The cluster is in a process of its own (`ray_process.py`), and what
happened is read from the store and from the log of the server.
"""

import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

import manners
from manners.errors import MissingExtra
from manners.evidence.store import EvidenceStore
from manners.evidence.strands import strand_of
from tests.contracts.postgres import Postgres
from tests.crawler.generated import AGENT, Spec, truth
from tests.crawler.generated_crawl import SETTINGS, check_store, stored
from tests.crawler.generated_server import ROOT, Server

PATIENCE = 300.0
"""Seconds for anything that has to happen; no promise depends on them."""
SPEC = Spec(seed=7, hosts=24, pages=500, crawl_delay=0.3)
CHANGES = {
    **SETTINGS,
    "agent": AGENT,
    "allow_private": True,
    "connections": 4,
    "min_delay": 0.15,
    "max_delay": 0.16,
    "worker_lease": 15.0,
}

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: make cluster"
)


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.05)


class Cluster:
    """The process with the cluster."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.compat.ray_process"],
            cwd=ROOT,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.nodes: list[str] = json.loads(self._answer(lambda line: line.startswith('["127.')))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate("", timeout=60)  # it ends by itself
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def tell(self, *command: object) -> Any:
        """Have something done, and wait for the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._answer(lambda line: line == "null" or line.startswith('"')))

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def _answer(self, is_answer: Callable[[str], bool]) -> str:
        """The next line that is one: Ray prints, too, and empty lines are not the end."""
        while (line := self._lines.get(timeout=PATIENCE)) is not None:
            if is_answer(line):
                return line
        raise AssertionError(f"the cluster has ended with {self._process.wait(PATIENCE)}")


class World:
    """A site, a crawl of it that nobody works on yet, and what its workers have listed."""

    def __init__(self, server: Server, store: str, folder: Path) -> None:
        self.server, self.store, self.folder = server, store, folder
        self.number = manners.crawl(server.site.starts, store=store, **CHANGES).start()

    def work(self, cluster: Cluster, workers: int) -> None:
        """Begin to work on it."""
        cluster.tell("crawl", self.store, self.number, workers, str(self.folder))

    @property
    def kept(self) -> list[dict[str, Any]]:
        """What was listed so far; of a line that is being written, nothing."""
        lines = [
            line
            for path in self.folder.glob("*.jsonl")
            for line in path.read_text().split("\n")[:-1]
        ]
        return list(map(json.loads, lines))

    @property
    def done(self) -> set[str]:
        """The URLs that are fetched."""
        return {url for url, row in stored(self.store).pages.items() if row.state == "done"}

    def check(self, done: Iterable[str] = ()) -> None:
        """Every URL has its fate, it is all on record, and nothing was asked for twice.

        But for what was under way with a worker that somebody closed: it asked for that, too, and
        it was not `done` then.
        """
        found = truth(self.server.site, self.server.site.starts)
        check_store(found, stored(self.store))
        fetched = {url for url, fate in found.pages.items() if fate.state != "blocked"}
        assert {page["url"] for page in self.kept if page["state"] != "blocked"} == fetched
        requests, (allowed, lost) = self.server.log().requests, self._records()
        assert not requests - allowed, "asked for without a record"
        twice = requests - Counter(found.requests)
        assert not twice - lost, "asked for twice by workers that live"
        assert not twice.keys() & set(done), "asked for although it was done"
        with EvidenceStore(self.store) as evidence:
            assert list(evidence.verify()) == []

    def _records(self) -> tuple[Counter[str], Counter[str]]:
        """How often there is a record that a URL may be asked for; the same, of closed workers."""
        import psycopg

        with psycopg.connect(self.store) as connection:
            query = "SELECT strand FROM workers WHERE ended LIKE 'closed%'"
            closed = {row[0] for row in connection.execute(query)}
        with EvidenceStore(self.store) as evidence:
            records = [each for each in evidence.records() if each.type == "robots_allowed"]
        lost = Counter(each.url for each in records if strand_of(each.id) in closed)
        return Counter(each.url for each in records), lost


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as started:
        yield started


@pytest.fixture
def world(postgres: Postgres, tmp_path: Path) -> Iterator[World]:
    with Server(SPEC) as server:
        yield World(server, postgres.database(), tmp_path)


@needs_ray
def test_a_crawl_ends_although_a_node_is_lost(cluster: Cluster, world: World) -> None:
    """Every page is done; only what was under way on the lost node is asked for twice."""
    world.work(cluster, workers=3)
    nodes = set(cluster.nodes)
    wait_until(lambda: {page["node"] for page in world.kept} == nodes, "both nodes at work")
    cluster.tell("lose")
    done = world.done
    assert cluster.tell("end") == "finished"
    world.check(done)


@needs_ray
def test_a_worker_that_is_killed_is_started_again(cluster: Cluster, world: World) -> None:
    """The only worker is killed in the middle: without another one the crawl would not end."""
    world.work(cluster, workers=1)
    wait_until(lambda: len(world.kept) > 50, "at work")
    killed = world.kept[0]["process"]
    os.kill(killed, signal.SIGKILL)
    done = world.done
    assert cluster.tell("end") == "finished"
    assert len({page["process"] for page in world.kept}) == 2
    world.check(done)


@needs_ray
def test_ctrl_c_finishes_what_is_under_way(cluster: Cluster, world: World) -> None:
    """Nothing is asked for twice. Workers for whom the cluster has no room do not matter."""
    world.work(cluster, workers=7)
    wait_until(lambda: len(world.kept) > 50, "at work")
    cluster.interrupt()
    assert cluster.tell("end").startswith("KeyboardInterrupt")
    world.work(cluster, workers=7)
    assert cluster.tell("end") == "finished"
    world.check()


def test_without_ray_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is loaded when a crawl begins, not before."""
    from manners.compat import ray

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"manners\[ray\]"):
        ray.crawl("postgresql://127.0.0.1:1/none", 1)


@needs_ray
def test_a_crawl_needs_a_worker() -> None:
    """Before anything is started."""
    from manners.compat import ray

    with pytest.raises(ValueError, match="at least one worker"):
        ray.crawl("postgresql://127.0.0.1:1/none", 1, workers=0)
