"""A crawl by several processes, each started as a user would: by the command.

crew = Crew(folder, store, web.site.starts, min_delay=0.1, max_delay=0.1)
crew.start()                        manners crawl start URL…
worker = crew.add()                 manners crawl work
...
crew.finish()                       all of them end by themselves, with 0
"""

import ctypes
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, Self

import psycopg

from manners.cli import main
from tests.crawler import fleet_checks as checks
from tests.crawler.fleet_checks import Loss, Standstills, Stop, assert_well
from tests.crawler.fleet_process import environment
from tests.crawler.fleet_store import FleetStore, pid_in, read_store
from tests.crawler.fleet_web import ROOT, Web

PATIENCE = 180.0
"""Seconds after which what is waited for does not come; nothing takes nearly as long."""
LEASE = 3.0
AGENT = "FleetBot"
COMMAND = [sys.executable, "-m", "manners"]

SETTINGS: dict[str, Any] = {
    "agent": AGENT,
    "allow_private": True,
    "same_domain": False,
    "source": "links",
    "min_delay": 0.1,
    "max_delay": 0.1,
    "adaptive_factor": 0.0,
    "concurrency": 2,
    "connections": 32,
    "attempts": 2,
    "initial_backoff": 0.3,
    "backoff_jitter": 0.0,
    "max_pages": 1_000_000,
    "max_urls": 1_000_000,
    "max_minutes": 120.0,
    "worker_lease": LEASE,
    # On a busy machine an answer may take long, and every host answers.
    **dict.fromkeys(("connect_timeout", "read_timeout", "total_timeout"), 120.0),
    **dict.fromkeys(("page_connect_timeout", "page_read_timeout", "page_total_timeout"), 120.0),
}
STOPPED = (0, 130, 143)
"""Exit codes of a worker that was told to end."""
FAILED = (2, 3)
"""Exit codes of a command that could not begin; whoever supervises workers starts another."""


_SESSIONS = """
    SELECT pid, pg_blocking_pids(pid), state, wait_event, now() - xact_start, left(query, 200)
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
"""What the sessions of a store do, and who waits for whom."""
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def _end_with_parent() -> None:
    """Let no worker outlive the test, however that ends."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Member:
    """One process that works on a crawl."""

    def __init__(self, number: int, folder: Path, words: Iterable[str]) -> None:
        self.number, self.command = number, [*COMMAND, *words]
        self._out, self._err = folder / f"out.{number}", folder / f"err.{number}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=environment(folder),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 (a call into the C library, no lock)
            )
        self.pid = self.process.pid
        self.killed: float | None = None
        """When, by the clock on the wall."""
        self.is_told = False
        """Whether it was told to end."""
        self.stopped: float | None = None
        """Since when it stands still."""
        self.may_fail = False
        """Whether its database was away while it started: it may end with an error."""

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.killed = time.time()
        self.process.wait()

    def tell(self, what: signal.Signals = signal.SIGTERM) -> None:
        """Tell it to end."""
        self.is_told = True
        self.process.send_signal(what)

    def stop(self) -> None:
        """Let it stand still; what was on its way then is on its way."""
        self.stopped = time.time()
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> Stop:
        """Let it go on after `stop`."""
        assert self.stopped is not None
        stop = Stop(self.pid, self.stopped, time.time())
        self.stopped = None
        self.process.send_signal(signal.SIGCONT)
        return stop

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait until it ends; its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"worker {self} does not end: {self.errors}") from None

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it printed; a process that was killed may have been killed while printing."""
        lines = self._out.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    @property
    def last(self) -> dict[str, Any]:
        """The status that it printed at the end."""
        status: dict[str, Any] = self.lines[-1]["crawl"]
        return status

    @property
    def errors(self) -> str:
        """The end of what it told on standard error."""
        return self._err.read_text(errors="replace")[-3_000:]

    def __str__(self) -> str:
        return f"{self.number} (process {self.pid})"


class Crew:
    """A crawl in a PostgreSQL database, and the processes that work on it."""

    def __init__(self, folder: Path, store: str, starts: Iterable[str], **changes: Any) -> None:
        self.folder, self.store, self.starts = folder, store, list(starts)
        self.settings = SETTINGS | changes
        self.config = folder / "manners.toml"
        hosts = self.settings.get("hosts", {})
        own = {name: value for name, value in self.settings.items() if name != "hosts"}
        lines = [f"{name} = {json.dumps(value)}" for name, value in own.items()]
        for host, values in hosts.items():
            lines += [f"[hosts.{json.dumps(host)}]"]
            lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        self.config.write_text("\n".join(lines))
        self.members: list[Member] = []
        self.stops: list[Stop] = []
        self.crawl = 0

    # What is done.

    def run(self, *words: str, code: int | None = 0) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end; `code` is what it has to end with, None: anything."""
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=ROOT,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if code is not None:
            told = f"{done.stdout[-2_000:]}{done.stderr[-3_000:]}"
            assert done.returncode == code, f"{words}: exit code {done.returncode}\n{told}"
        return done

    def look(self, *words: str) -> tuple[str, str]:
        """What a command prints that asks no host, and what it tells on standard error.

        In this process, which does not have to start.
        """
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(words))
        assert code == 0, f"{words}: exit code {code}\n{out.getvalue()}{err.getvalue()}"
        return out.getvalue(), err.getvalue()

    def start(self) -> int:
        """Make the crawl; nothing is asked for."""
        shown, _ = self.look("crawl", "start", *self.starts, *self._options, "--json")
        self.crawl = json.loads(shown.splitlines()[-1])["crawl"]
        return self.crawl

    @property
    def _options(self) -> tuple[str, ...]:
        return ("--store", self.store, "--config", str(self.config))

    def add(self, *words: str) -> Member:
        """One more worker."""
        number = ("--crawl", str(self.crawl)) if self.crawl else ()
        return self.begin("crawl", "work", "--store", self.store, *number, "--json", *words)

    def whole(self, *words: str) -> Member:
        """The command that makes a crawl and works on it."""
        return self.begin("crawl", *self.starts, *self._options, "--json", *words)

    def begin(self, *words: str) -> Member:
        member = Member(len(self.members), self.folder, words)
        self.members.append(member)
        return member

    def go_on(self, member: Member) -> None:
        self.stops.append(member.go_on())

    @property
    def running(self) -> list[Member]:
        """Those that run and may do so: neither stopped nor told to end."""
        return [
            each
            for each in self.members
            if each.is_running and each.stopped is None and not each.is_told
        ]

    def finish(self, seconds: float = PATIENCE) -> None:
        """Wait until all have ended by themselves, and well."""
        until = time.monotonic() + seconds
        for member in self.members:
            if member.stopped is not None:
                self.go_on(member)
            code = member.wait(max(until - time.monotonic(), 1.0))
            if member.killed is None:
                codes = STOPPED if member.is_told else (0,)
                if member.is_told and not self.has_joined(member):  # it was still starting
                    codes = (*codes, -signal.SIGTERM)
                if member.may_fail:
                    codes = (*codes, *FAILED)
                assert code in codes, f"worker {member} ended with {code}: {member.errors}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            if member.is_running:
                member.process.kill()
                member.process.wait()

    # What is waited for.

    def wait_until(self, holds: Callable[[], object], what: str, *, running: bool = True) -> None:
        """Wait until something holds; `running`: fail if nobody is left that could bring it."""
        until = time.monotonic() + PATIENCE
        while not holds():
            gone = running and not any(each.is_running for each in self.members)
            if gone and holds():
                return
            if gone or time.monotonic() > until:
                told = "\n".join(f"{each}: {each.errors}" for each in self.members if each.errors)
                why = "all have ended" if gone else f"{PATIENCE:.0f} s are over"
                sessions = "\n".join(map(str, self.rows(_SESSIONS)))
                raise AssertionError(f"{what}: never, {why}\n{told}\n{sessions}")
            time.sleep(0.02)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the store answers; nothing while it is away."""
        with suppress(psycopg.Error), psycopg.connect(self.store, connect_timeout=5) as connection:
            return connection.execute(query.encode()).fetchall()
        return []

    def has_joined(self, member: Member) -> bool:
        """Whether a process is a worker, or was."""
        return bool(self._strands(member))

    def is_closed(self, member: Member) -> bool:
        """Whether all workers of a process are closed, as far as it has any."""
        own = self._strands(member)
        return bool(own) and all(own)

    def _strands(self, member: Member) -> list[bool]:
        """For each worker of a process, whether its strand is closed."""
        found = self.rows(
            "SELECT w.name, h.closed FROM workers w JOIN evidence_head h ON h.one = w.strand"
        )
        return [closed for name, closed in found if pid_in(name) == member.pid]

    @property
    def is_ended(self) -> bool:
        found = self.rows(f"SELECT ended FROM crawls WHERE id = {self.crawl or 1}")
        return bool(found and found[0][0])

    # What is left behind.

    def stored(self) -> FleetStore:
        return read_store(self.store)

    def status(self) -> dict[str, Any]:
        """What `manners crawl status` says."""
        shown, _ = self.look("crawl", "status", "--store", self.store, "--json")
        status: dict[str, Any] = json.loads(shown)
        return status

    def standstills(self) -> Standstills:
        return Standstills(self.folder)

    def losses(self, stored: FleetStore) -> list[Loss]:
        """Who was killed, and who was closed by another while it lived."""
        killed = {each.pid: each.killed for each in self.members if each.killed is not None}
        closed = [
            Loss(worker.pid, worker.closed)
            for worker in stored.workers
            # A process that was stopped, closed, and joined again may be killed later.
            if worker.closed is not None and is_lost(worker.ended)
        ]
        return [Loss(pid, wall) for pid, wall in killed.items()] + closed

    @property
    def lines(self) -> dict[int, list[dict[str, Any]]]:
        return {each.pid: each.lines for each in self.members}


def is_lost(ended: str | None) -> bool:
    """Whether a worker was closed by another, by what its row says."""
    return ended is not None and ended.startswith("closed")


def judge(
    crew: Crew, web: Web, *, budget: int | None = None, delays: Mapping[str, float] | None = None
) -> None:
    """Everything that has to hold of a crawl, whatever happened to its processes."""
    stored, seen, standstills = crew.stored(), web.seen(), crew.standstills()
    truth, losses = web.site.truth, crew.losses(stored)
    ended = [(number, bool(ended)) for number, ended in stored.crawls]
    assert ended == [(crew.crawl, True)], stored.crawls
    if budget is None:
        assert_well(checks.unlike_truth(truth, stored.urls), "not what one process comes to")
    else:
        spent = checks.pages_counted(stored.urls)
        assert spent == budget, f"{spent} pages of {budget}: {stored.counted}, {stored.workers}"
        finished = [row for row in stored.urls if row.state != "queued"]
        known = {row.url: truth[row.url] for row in finished if row.url in truth}
        assert_well(checks.unlike_truth(known, finished), "not what becomes of these URLs")
    wrongly = checks.asked_wrongly(truth, seen, losses, crew.stops, is_all=budget is None)
    assert_well(wrongly, "asked for wrongly")
    surplus = sum(max(len(asks) - truth[url].asked, 0) for url, asks in seen.by_url.items())
    most = len(losses) * crew.settings["connections"]
    assert surplus <= most, f"asked for once more: {surplus}, with {losses}"
    unrecorded = checks.without_record(seen, stored.records, stored.workers)
    assert_well(unrecorded, "without a durable record")
    closed = checks.asked_when_closed(seen, stored.workers, crew.stops, standstills)
    assert_well(closed, "asked by a closed worker")
    assert_well(checks.several_at_a_host(seen, stored.epochs), "several workers at a host")
    assert_well(checks.too_many_at_once(seen, crew.settings["concurrency"]), "too many at a time")

    def delay_of(host: str) -> float:
        return (delays or {}).get(host, web.site.delay(web.site.number(host)))

    early = checks.too_early(seen, delay_of, crew.settings["min_delay"], standstills)
    assert_well(early, "too early")
    assert_well(checks.not_added_up(stored, crew.status()), "does not add up")
    assert_well(checks.printed_wrongly(crew.lines, stored.urls, losses), "printed wrongly")
    _, verified = crew.look("evidence", "verify", "--store", crew.store)
    assert "OK" in verified, verified
