"""How many URLs a crawl takes in, shared fairly among its hosts. Quiet."""

import heapq
from collections import Counter
from collections.abc import Iterator


class Room:
    """The limit on URLs of one kind, shared among hosts.

    Blocked URLs take half of it at most. The rest is for URLs to fetch. When it is full, the host
    with the most URLs loses some, down to an equal share of the limit: a host within its share
    never loses any, even if the total then exceeds the limit. Dropped URLs stay in the store and
    take no room.
    """

    __slots__ = ("_limit", "blocked", "by_host", "dropped", "kind", "queued", "setting", "total")

    def __init__(self, kind: str, limit: int, setting: str) -> None:
        self.kind, self._limit, self.setting = kind, limit, f"{setting} = {limit}"
        self.by_host: Counter[str] = Counter()
        """URLs of each host that are to be fetched, were, or are kept."""
        self.queued: Counter[str] = Counter()
        """Those of them that are queued: only these can be dropped."""
        self.clear()

    def clear(self) -> None:
        """Start counting from zero."""
        self.by_host.clear()
        self.queued.clear()
        self.total = self.blocked = self.dropped = 0

    def admit(self, host: str, state: str) -> bool:
        """Count a new URL of a host; False, and not counted, where a blocked one has no room."""
        if state != "blocked":
            self._open(host, state)  # `excess` decides whether it stays
        elif self.blocked < self._limit - self._limit // 2 and not self._is_full:
            self.blocked += 1
        else:
            return False
        return True

    @property
    def _is_full(self) -> bool:
        return self.total + self.blocked >= self._limit

    def move(self, host: str, before: str, after: str) -> None:
        """Count a known URL that was blocked or kept, and is queued or kept now."""
        if before == "blocked":
            self.blocked -= 1
            self._open(host, after)
        else:
            self.queued[host] += 1

    def _open(self, host: str, state: str) -> None:
        self.by_host[host] += 1
        self.total += 1
        self.queued[host] += state == "queued"

    def excess(self) -> Iterator[tuple[str, int]]:
        """How many URLs to drop of which hosts, so that the rest fits; they count as dropped."""
        excess = self.total + self.blocked - self._limit
        if excess <= 0:
            return
        share = max(self._limit // len(self.by_host), 1) if self.by_host else 1
        heap = [
            (-number, host)
            for host, number in self.by_host.items()
            if number > share and self.queued[host] > 0
        ]
        heapq.heapify(heap)
        losses: Counter[str] = Counter()
        while excess > 0 and heap:
            _, host = heap[0]
            # So many that it no longer has the most.
            second = -min((heap[place][0] for place in (1, 2) if place < len(heap)), default=0)
            floor = max(second, share)
            number = min(excess, self.queued[host], max(self.by_host[host] - floor, 1))
            self.by_host[host] -= number
            self.queued[host] -= number
            self.total -= number
            excess -= number
            losses[host] += number
            if self.queued[host] > 0 and self.by_host[host] > share:
                heapq.heapreplace(heap, (-self.by_host[host], host))
            else:
                heapq.heappop(heap)
        yield from losses.items()
