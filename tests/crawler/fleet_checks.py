"""What has to hold of a fleet's crawl: by the log of the server, and by the store.

Each check returns complaints, none where all is well; `test_fleet_checks.py` plants what each of
them has to find. Times of requests are those at which the kernel of the server had them
(`tests/faults/arrival.py`).
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.client.apart import AFTERMATH
from tests.crawler.fleet_store import FleetStore, RecordRow, UrlRow, WorkerRow
from tests.crawler.fleet_web import Ask, Fate, Seen
from tests.crawler.generated_crawl import LATE, RARELY

TICK = 0.002
"""Seconds by which two clocks of one machine may be read apart; records have whole milliseconds."""
AT_ONCE = 1.0
"""Seconds within which a process that goes on sends what it had all but sent."""
STATES = ("queued", "done", "failed", "blocked")


class Loss(NamedTuple):
    """A worker that could not finish what it had under way: killed, or closed by another."""

    pid: int
    wall: float


class Stop(NamedTuple):
    """A worker that was stopped by a signal, and when it went on."""

    pid: int
    began: float
    """By the clock on the wall, like the next."""
    ended: float


class Standstills:
    """When each process stood still through no fault of its own."""

    def __init__(self, folder: Path | None = None) -> None:
        self._of: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for path in folder.glob("standstills.*") if folder else ():
            for line in path.read_text().splitlines():
                ended, _, lost = line.partition(" ")
                if lost:  # whoever was killed may have been killed while writing
                    self.add(int(path.suffix[1:]), float(ended), float(lost))

    def add(self, pid: int, ended: float, lost: float) -> None:
        insort(self._of[pid], (ended, lost))

    def lost(self, pid: int, since: float, until: float) -> float:
        """Seconds that a process lost in standstills that ended between two moments."""
        found = self._of.get(pid, [])
        first = bisect_left(found, (since, 0.0))
        return sum(lost for _, lost in found[first : bisect_right(found, (until, 0.0))])


def assert_well(complaints: Iterable[str], what: str) -> None:
    """Fail with the first few complaints."""
    told = list(complaints)
    few = "\n".join(told[:12])
    assert not told, f"{what}: {len(told)} in all\n{few}"


# What became of URLs.


def unlike_truth(truth: Mapping[str, Fate], rows: Iterable[UrlRow]) -> list[str]:
    """URLs that are there twice, or not at all, or have another fate than they have to have."""
    found: dict[str, UrlRow] = {}
    complaints = []
    for row in rows:
        if row.kind != "page":
            continue
        if row.url in found:
            complaints.append(f"{row.url} is there twice: {found[row.url]}, and {row}")
        found[row.url] = row
    for url in sorted(truth.keys() | found.keys()):
        fate, known = truth.get(url), found.get(url)
        if fate is None or known is None:
            complaints.append(f"{url}: {fate or 'not to be found'}, but {known or 'is not there'}")
        elif (known.state, known.status) != (fate.state, fate.status) or (
            fate.reason is not None and known.reason != fate.reason
        ):
            complaints.append(f"{url}: {fate}, but {known}")
    return complaints


def asked_wrongly(
    truth: Mapping[str, Fate],
    seen: Seen,
    losses: Iterable[Loss],
    stops: Iterable[Stop] = (),
    *,
    is_all: bool = True,
) -> list[str]:
    """URLs that were asked for and may not be; never, or too often, though nobody was lost.

    Between two requests for one URL, besides those that the truth knows of, the process of the
    first must have been lost. Who was closed while a signal stopped it may send what it was about
    to send when it goes on; `asked_when_closed` says how often. `is_all` is whether all URLs have
    to be asked for.
    """
    lost: dict[int, list[tuple[float, float]]] = defaultdict(list)
    stops = list(stops)
    for loss in losses:
        ends = [
            s.ended + AT_ONCE
            for s in stops
            if s.pid == loss.pid and s.began <= loss.wall <= s.ended
        ]
        lost[loss.pid].append((loss.wall, max(ends, default=loss.wall)))
    complaints = []
    for url, asks in seen.by_url.items():
        wanted = truth[url].asked if url in truth else 0
        if not wanted:
            complaints.append(f"{url} may not be asked for:\n{_lines(asks)}")
            continue
        excused = sum(
            any(
                before.wall <= until and moment <= after.wall + TICK
                for moment, until in lost[before.pid]
            )
            for before, after in pairwise(asks)
        )
        if len(asks) > wanted + excused:
            complaints.append(f"{url} was asked for {len(asks)} times:\n{_lines(asks)}")
    if is_all:
        never = (url for url, fate in truth.items() if fate.asked and url not in seen.by_url)
        complaints += [f"{url} was never asked for" for url in never]
    return complaints


# Records.


def without_record(
    seen: Seen, records: Iterable[RecordRow], workers: Iterable[WorkerRow]
) -> list[str]:
    """Requests that came before a record of theirs was durable, in a strand of their process.

    A record is good for one request: the third of a process for a URL needs three. What counts is
    when the server read a request: when it came is told by ticks, and those of a machine that stood
    still are late.
    """
    strands: dict[int, set[int]] = defaultdict(set)
    for worker in workers:
        strands[worker.pid].add(worker.strand)
    by_url: dict[str, list[RecordRow]] = defaultdict(list)
    for record in records:
        by_url[record.url].append(record)
    complaints = []
    for url, asks in seen.by_url.items():
        for pid in sorted({ask.pid for ask in asks}):
            own = sorted(
                max(record.committed, record.at)
                for record in by_url[url]
                if record.strand in strands[pid]
            )
            of_process = [ask for ask in asks if ask.pid == pid]
            for number, ask in enumerate(of_process):
                if number >= len(own) or own[number] > ask.read + TICK:
                    late = f"{own[number] - ask.read:+.3f} s" if number < len(own) else "none"
                    others = [each for each in by_url[url] if each.strand not in strands[pid]]
                    complaints.append(
                        f"{url}: no record before the request (of the process: {late};"
                        f" in other strands: {others})\n{seen.around(ask)}"
                    )
    return complaints


# Workers.


def asked_when_closed(
    seen: Seen, workers: Iterable[WorkerRow], stops: Iterable[Stop], standstills: Standstills
) -> list[str]:
    """Requests of a process that came when all its workers were closed.

    Between the last look at the clock and the write to the socket there is a moment that nobody
    can exclude. So one request is let pass where the process stood still just then: at the end
    of a stop by a signal, or by as much as the machine kept it from running. One for each stop at
    most, and in all one, and one for every twenty stops.
    """
    of_process: dict[int, list[WorkerRow]] = defaultdict(list)
    for worker in workers:
        of_process[worker.pid].append(worker)
    complaints = []
    excused: list[Ask] = []
    stops = list(stops)
    used = Counter[Stop]()
    for ask in seen.asks:
        rows = of_process.get(ask.pid, [])
        if not rows:
            complaints.append(f"a process asks that is no worker:\n{seen.around(ask)}")
            continue
        if any(row.closed is None or row.closed >= ask.wall - TICK for row in rows):
            continue
        closed = max(row.closed or 0.0 for row in rows)
        lost = standstills.lost(ask.pid, ask.at - (ask.wall - closed), ask.at + AFTERMATH)
        stop = next(
            (each for each in stops if each.pid == ask.pid and each.began <= closed <= each.ended),
            None,
        )
        if stop is not None:
            used[stop] += 1
            is_first = used[stop] == 1 and ask.wall <= stop.ended + AT_ONCE
            lost = ask.wall - closed if is_first else 0.0
        if ask.wall - closed <= LATE + lost:
            excused.append(ask)
            continue
        complaints.append(
            f"process {ask.pid} asks {ask.wall - closed:.3f} s after worker"
            f" {[row.id for row in rows]} was closed ({[row.ended for row in rows]};"
            f" stopped: {stop})\n{seen.around(ask)}"
        )
    if len(excused) > 1 + len(stops) / 20:
        complaints.append("too many at the end of a stop:\n" + _lines(excused))
    return complaints


def several_at_a_host(seen: Seen, epochs: Mapping[str, int] | None = None) -> list[str]:
    """Hosts with requests of two processes at a time, or of more owners than there were."""
    complaints = []
    for host, asks in seen.by_host.items():
        running: list[Ask] = []
        for ask in asks:
            running = [each for each in running if each.left > ask.at + TICK]
            complaints += [
                f"{host}: processes {other.pid} and {ask.pid} at a time\n{seen.around(ask)}"
                for other in running
                if other.pid != ask.pid
            ]
            running.append(ask)
        turns = 1 + sum(before.pid != after.pid for before, after in pairwise(asks))
        if epochs is not None and turns > (told := epochs.get(name_of(host, seen.port, epochs), 0)):
            complaints.append(f"{host}: {turns} turns of workers, but it was taken {told} times")
    return complaints


def name_of(host: str, port: int, known: Mapping[str, object]) -> str:
    """How a store calls a host: with its port, or without."""
    return host if host in known else f"{host}:{port}"


# Pace.


def too_early(
    seen: Seen, delay_of: Callable[[str], float], least: float, standstills: Standstills
) -> list[str]:
    """Requests that came too soon after the one before at their host, whoever made that.

    `delay_of` is what the robots.txt of a host asks for; `least` is what is kept in any case, also
    before that is read. A request that was held up by the machine makes the next one seem early.
    As in the other tests of pace, one in a thousand may be early by a little more.
    """
    early: list[tuple[float, str]] = []
    for host, asks in seen.by_host.items():
        asked_for = max(delay_of(host), least)
        for before, after in pairwise(asks):
            is_unread = before.path == after.path == "/robots.txt"
            missing = (least if is_unread else asked_for) - (after.at - before.at)
            if missing > LATE:
                since = before.at - missing - AFTERMATH
                missing -= standstills.lost(before.pid, since, before.at + AFTERMATH)
            if missing > LATE:
                owner = "" if before.pid == after.pid else ", of another worker"
                text = f"{host}: {missing:.3f} s too early{owner}\n{seen.around(after)}"
                early.append((missing, text))
    early.sort(reverse=True)
    is_rare = len(early) <= len(seen.asks) / 1_000 and (not early or early[0][0] < RARELY)
    return [] if is_rare else [text for _, text in early]


def too_many_at_once(seen: Seen, concurrency: int, grace: float = 0.005) -> list[str]:
    """Hosts with more requests at a time than a host may have."""
    complaints = []
    for host, asks in seen.by_host.items():
        events = [(ask.at, 1) for ask in asks]
        events += [(max(ask.left - grace, ask.at), -1) for ask in asks]
        running = most = 0
        for _, step in sorted(events):
            running += step
            most = max(most, running)
        if most > concurrency:
            complaints.append(f"{host}: {most} requests at a time")
    return complaints


# Numbers.


def pages_counted(rows: Iterable[UrlRow]) -> int:
    """Pages by which a budget is used up: final replies, and attempts that failed."""
    return sum(
        row.attempts if row.state == "failed" or row.status is not None else 0
        for row in rows
        if row.kind == "page" and row.reason != "redirect" and row.state != "blocked"
    )


def not_added_up(store: FleetStore, status: Mapping[str, Any]) -> list[str]:
    """Where counters, the status and the tables disagree; or a host is still owned."""
    complaints = []
    pages = {state: number for (kind, state), number in store.states.items() if kind == "page"}
    told = {state: number for state, number in status["states"].items() if number}
    if told != pages:
        complaints.append(f"the status says {told}, the table has {pages}")
    counted = {key: number for key, number in store.counted.items() if key[1] in STATES}
    if counted != store.states:
        complaints.append(f"the counters say {counted}, the table has {store.states}")
    if store.owned:
        complaints.append(f"still owned: {store.owned}")
    return complaints


def printed_wrongly(
    lines: Mapping[int, Iterable[Mapping[str, Any]]], rows: Iterable[UrlRow], losses: Iterable[Loss]
) -> list[str]:
    """Pages that workers printed twice or otherwise than the store has them, or did not print.

    `lines` is what each process printed. What a lost process had no time to print is missing.
    """
    states = {row.url: row.state for row in rows if row.kind == "page"}
    printed: dict[str, int] = {}
    complaints = []
    for pid, own in lines.items():
        for line in own:
            if line.get("state") not in ("done", "failed"):
                continue
            url = line["url"]
            if url in printed:
                complaints.append(f"{url} was printed by {printed[url]} and by {pid}")
            if states.get(url) != line["state"]:
                complaints.append(f"{url}: printed {line['state']}, stored {states.get(url)}")
            printed[url] = pid
    missing = sorted(
        url for url, state in states.items() if state in ("done", "failed") and url not in printed
    )
    if missing and not list(losses):
        complaints.append(f"{len(missing)} were printed by nobody: {missing[:5]}")
    return complaints


def _lines(asks: Iterable[Ask]) -> str:
    return "\n".join(f"      {ask}" for ask in asks)
