"""When more workers help a crawl, and when its largest host decides: a simulation.

    python -m benchmarks.fleet_sizing

Nothing is fetched and no clock is read: the same seed prints the same table, which
`docs/how-to/fleet.md` shows. Hosts have sizes as on the web, a few large ones and very many small
ones. A host is asked at most once in its delay, by the one worker that owns it; a worker owns so
many hosts at a time, and fetches so many pages a second. What the network, the database and slow
servers cost is in that last number, or left out.
"""

import random
from collections import deque
from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

SEED = 22
SHAPE = 1.1
"""How unequal hosts are: the exponent of the power law of their sizes. Smaller is more unequal."""


class Case(NamedTuple):
    """What is simulated."""

    hosts: int
    pages: int
    """Of all hosts together, roughly."""
    delay: float
    """Seconds between two requests to a host."""
    workers: int
    owned: int = 1_024
    """Hosts that a worker owns at a time."""
    rate: float = 100.0
    """Pages a second that one worker can fetch."""
    most: int = 5_000
    """Pages that are fetched of one host; larger ones are cut there."""


class Result(NamedTuple):
    """What came of it."""

    pages: int
    largest: int
    """Pages of the largest host."""
    seconds: float
    """Until the last page."""
    nine_tenths: float
    """Seconds until 90 % of the pages."""
    busy: float
    """The share of their time in which workers fetch."""
    late: float
    """Seconds that a page waits for its worker, on average, when its host could be asked."""
    limit: str
    """What decides how long it takes."""


def sizes(case: Case) -> list[int]:
    """Pages of each host."""
    draw = random.Random(SEED)
    raw = [draw.paretovariate(SHAPE) for _ in range(case.hosts)]
    scale = case.pages / sum(raw)
    for _ in range(20):  # what is cut off the largest goes to the others
        total = sum(min(case.most, max(1, round(size * scale))) for size in raw)
        scale *= case.pages / total
    return [min(case.most, max(1, round(size * scale))) for size in raw]


def simulate(case: Case) -> Result:
    """Fetch every page of every host, in the order in which workers would."""
    pages = sizes(case)
    free = deque(range(case.hosts))
    queues: list[list[tuple[float, int]]] = [[] for _ in range(case.workers)]
    for _ in range(case.owned):  # hosts are taken by turns
        for queue in queues:
            if free:
                queue.append((0.0, free.popleft()))
    left, service = pages.copy(), 1 / case.rate
    turns = [(0.0, worker) for worker in range(case.workers) if queues[worker]]
    total, done, late, now, nine_tenths = sum(pages), 0, 0.0, 0.0, 0.0
    while turns:
        now, worker = turns[0]
        queue = queues[worker]
        due, host = queue[0]
        if due > now:
            heapreplace(turns, (due, worker))  # nothing of its own may be asked before
            continue
        late += now - due
        done, left[host] = done + 1, left[host] - 1
        if done * 10 >= total * 9 and not nine_tenths:
            nine_tenths = now
        if left[host]:
            heapreplace(queue, (now + case.delay, host))
        else:
            heappop(queue)
            if free:
                heappush(queue, (now, free.popleft()))
        if queue:
            heapreplace(turns, (now + service, worker))
        else:
            heappop(turns)
    seconds = max(now, service)
    busy = total * service / (case.workers * seconds)
    return Result(total, max(pages), seconds, nine_tenths, busy, late / total, limit(case, pages))


def limit(case: Case, pages: list[int]) -> str:
    """The largest of three bounds, none of which a crawl can beat."""
    bounds = {
        "workers": sum(pages) / (case.workers * case.rate),
        "largest host": (max(pages) - 1) * case.delay,
        "hosts owned": sum(pages) * case.delay / (case.workers * case.owned),
    }
    return max(bounds, key=lambda name: bounds[name])


CASES = [
    *(Case(2_000, 100_000, 1.0, workers) for workers in (1, 4, 16)),
    *(Case(20_000, 100_000, 1.0, workers, most=100) for workers in (1, 4, 16)),
    *(Case(20_000, 100_000, 10.0, workers, most=100) for workers in (1, 4, 16)),
    *(Case(20_000, 100_000, 10.0, 4, owned, most=100) for owned in (256, 4_096)),
]


def table() -> str:
    """The table of the documentation."""
    lines = [
        "| hosts | largest host | delay | workers | hosts a worker | 90 % after | all after |"
        " pages/s | workers busy | a page waits | what limits |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for case in CASES:
        found = simulate(case)
        cells = (
            *(f"{case.hosts:,}", f"{found.largest:,}", f"{case.delay:g} s"),
            *(str(case.workers), f"{case.owned:,}", time(found.nine_tenths), time(found.seconds)),
            *(f"{found.pages / found.seconds:,.0f}", f"{found.busy:.0%}", f"{found.late:,.1f} s"),
            found.limit,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def time(seconds: float) -> str:
    """Seconds as people say them."""
    return f"{seconds / 60:,.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


if __name__ == "__main__":
    print(table())
