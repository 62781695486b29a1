"""A crawl by several processes, which are killed, stopped and told to end while it runs.

Everything is judged by the log of the server and by the store: `fleet_checks.py`. What happens,
and to whom, is drawn from a seed, which a failure prints: `CHAOS_SEED` repeats the choices of a
run, as far as a machine repeats itself. When something happens goes by how many requests there
were, so that a slow machine has the same troubles as a fast one.

A worker that is stopped stands still until another has closed it, or for a part of its lease. The
instant between its last look at the clock and the write to a socket cannot be excluded by anybody:
`asked_when_closed` says what is let pass.
"""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey
from tests.crawler.fleet_crew import LEASE, PATIENCE, Crew, Member, judge
from tests.crawler.fleet_store import OPTIONS
from tests.crawler.fleet_web import Web, WebSpec
from tests.sizes import seed, size

SEED = seed("CHAOS_SEED")
IN_FLIGHT = 16
"""Requests at a time of one process: no more can be lost with it."""
DELAY, CRAWL_DELAY = 0.2, 0.4
MOST_SECONDS = PATIENCE if size("CREW_MINUTES") < 30 else 3_000.0
"""After this a crawl does not end any more; none takes nearly as long."""

# What happens, in the short form, and by turns in the long one.
SHORT = ("kill", "stop", "tell", "pause")
RESTARTS = ("database", "pace")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that tests here may restart."""
    with Postgres(*OPTIONS) as made:
        yield made


class Trouble:
    """What happens to the processes of a crawl, and to the servers that it needs."""

    def __init__(
        self, crew: Crew, web: Web, draw: random.Random, restarts: dict[str, Callable[[], None]]
    ) -> None:
        self._crew, self._web, self._draw, self._restarts = crew, web, draw, restarts
        self._pauses: dict[int, float] = {}
        """Until when a process is to stand still, if nobody closes it before."""
        self.notes: list[str] = []
        """What happened."""

    def run(self, events: list[str], expected: int) -> None:
        """Let all of it happen, spread over the first three quarters of a crawl."""
        for number, event in enumerate(events, 1):
            self._wait(int(expected * 0.75 * number / len(events)))
            if self._crew.is_ended:
                break
            self._note(event)
            if event in self._restarts:
                self._restart(event)
            else:
                self._happen(event)
        while any(member.stopped for member in self._crew.members):
            self._tick()
            time.sleep(0.02)

    def _wait(self, requests: int) -> None:
        def is_there() -> bool:
            self._tick()
            return self._web.count() >= requests or self._crew.is_ended

        self._crew.wait_until(is_there, f"{requests} requests")

    def _tick(self) -> None:
        """Let those go on who have stood still for long enough."""
        for member in self._crew.members:
            if member.stopped is None:
                continue
            is_over = time.monotonic() > self._pauses[member.pid] or self._crew.is_ended
            if is_over or self._crew.is_closed(member):
                self._note(f"goes on: {member}")
                self._crew.go_on(member)

    def _happen(self, event: str) -> None:
        running = self._crew.running
        if event == "add" or not running:
            self._crew.add()
            return
        joined = [member for member in running if self._crew.has_joined(member)]
        # Nobody can close one that is still starting.
        member = self._draw.choice(joined or running if event == "stop" else running)
        self._note(f"{event}: {member}")
        match event:
            case "kill":
                member.kill()
            case "tell":
                member.tell()
            case "stop":  # until it is closed
                self._stop(member, PATIENCE if joined else LEASE)
            case "pause":  # not so long
                self._stop(member, LEASE * self._draw.uniform(0.1, 1.2))
        if event != "pause":
            self._crew.add()

    def _restart(self, event: str) -> None:
        for member in self._crew.running if event == "database" else ():
            member.may_fail = not self._crew.has_joined(member)
        self._restarts[event]()

    def _stop(self, member: Member, seconds: float) -> None:
        self._pauses[member.pid] = time.monotonic() + seconds
        member.stop()

    def _note(self, what: str) -> None:
        self.notes.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {what}")


def crawl(
    folder: Path,
    server: Postgres,
    name: str,
    events: list[str],
    *,
    budget: int | None = None,
    valkey: Valkey | None = None,
) -> None:
    """One crawl with all that happens, and the judgement."""
    hosts = size("CREW_HOSTS")
    spec = WebSpec(hosts=hosts, pages=size("CREW_PAGES") // hosts, crawl_delay=CRAWL_DELAY)
    settings: dict[str, Any] = {"min_delay": DELAY, "max_delay": DELAY, "connections": IN_FLIGHT}
    if budget is not None:
        settings["max_pages"] = budget
    if valkey is not None:
        settings["politeness"] = valkey.url
    folder.mkdir()
    with (
        Web(spec, folder) as web,
        Crew(folder, server.database(), web.site.starts, **settings) as crew,
    ):
        trouble = Trouble(crew, web, random.Random(name), _restarts(server, valkey))
        try:
            crew.start()
            assert web.count() == 0, "nobody works yet"
            for _ in range(size("CREW")):
                crew.add()
            expected = sum(fate.asked for fate in web.site.truth.values())
            trouble.run(events, min(expected, budget or expected))
            crew.finish(MOST_SECONDS)
            judge(crew, web, budget=budget)
        except AssertionError as failure:
            notes = "\n".join(trouble.notes)
            raise AssertionError(f"CHAOS_SEED={SEED}, {name}\n{failure}\n{notes}") from failure


def _restarts(server: Postgres, valkey: Valkey | None) -> dict[str, Callable[[], None]]:
    def database() -> None:
        server.kill()
        server.start()

    def pace() -> None:
        assert valkey is not None
        valkey.kill()
        valkey.start()

    return {"database": database, "pace": pace}


def events_of(draw: random.Random, number: int, *more: str) -> list[str]:
    """So many things that happen, in any order, each of the short form at least once."""
    found = [*SHORT, *more]
    found += draw.choices(("kill", "stop", "tell", "pause", "add"), k=max(number - len(found), 0))
    draw.shuffle(found)
    return found


@pytest.mark.long
def test_a_crawl_survives_whatever_happens_to_its_processes(
    tmp_path: Path, server: Postgres
) -> None:
    """Every URL is done once, nothing is asked for without a record, and every delay is kept."""
    events = list(SHORT) if size("CREW_MINUTES") < 30 else events_of(random.Random(SEED), 30)
    crawl(tmp_path / "crawl", server, f"processes {SEED}", events)


@pytest.mark.long
def test_a_budget_is_met_to_the_page_whatever_happens(tmp_path: Path, server: Postgres) -> None:
    """What a lost process had not spent comes back, and nothing more is spent."""
    budget = size("CREW_PAGES") * 2 // 5 + 7
    crawl(tmp_path / "crawl", server, f"budget {SEED}", list(SHORT), budget=budget)


@pytest.mark.soak(small="test_a_crawl_survives_whatever_happens_to_its_processes")
def test_a_crawl_survives_whatever_happens_to_its_servers(tmp_path: Path, server: Postgres) -> None:
    """PostgreSQL and Valkey are restarted, besides; for so many minutes, with new choices."""
    until, number = time.monotonic() + 60 * size("CREW_MINUTES"), 0
    with Valkey(tmp_path) as valkey:
        while number == 0 or time.monotonic() < until:
            number += 1
            draw = random.Random(f"servers {SEED} {number}")
            events = events_of(draw, 6 if size("CREW_MINUTES") < 30 else 40, *RESTARTS)
            folder = tmp_path / str(number)
            crawl(folder, server, f"servers {SEED} {number}", events, valkey=valkey)
