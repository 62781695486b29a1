"""How many URLs a crawl takes in, shared fairly among its hosts. Quiet."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from copy import copy

ROOM_NUMBERS = ("open", "refused", "dropped")
"""What `Room.numbers` are called in the store."""


class Room:
    """The limit on URLs of one kind, shared among hosts.

    Blocked URLs take half of it at most. The rest is for URLs to fetch. When it is full, the host
    with the most URLs loses some, down to an equal share of the limit: a host within its share
    never loses any, even if the total then exceeds the limit. Dropped URLs stay in the store and
    take no room.

    Only a full room has to know its hosts: `load` tells it how many URLs each has.
    """

    __slots__ = (
        *("_limit", "blocked", "by_host", "dropped", "kind", "loaded_at", "queued", "setting"),
        "total",
    )

    def __init__(self, kind: str, limit: int, setting: str) -> None:
        self.kind, self._limit, self.setting = kind, limit, f"{setting} = {limit}"
        self.by_host: Counter[str] | None = None
        """URLs of each host that are to be fetched, were, or are kept; None while there is room."""
        self.queued: Counter[str] = Counter()
        """Those of them that are queued: only these can be dropped."""
        self.total = self.blocked = self.dropped = 0
        self.loaded_at = 0.0
        """When it was told how many URLs each host has."""

    def copy(self) -> "Room":
        """The same room, to be changed by a transaction that may fail."""
        room = copy(self)
        room.by_host = None if self.by_host is None else self.by_host.copy()
        room.queued = self.queued.copy()
        return room

    def numbers(self) -> tuple[int, int, int]:
        """How many URLs are open, refused and dropped."""
        return self.total, self.blocked, self.dropped

    def set(self, total: int, blocked: int, dropped: int) -> None:
        """Begin with what the store has."""
        self.total, self.blocked, self.dropped = total, blocked, dropped
        self.forget_hosts()

    def load(self, hosts: Iterable[tuple[str, int, int]]) -> None:
        """Begin with what each host has: its name, and how many URLs are open and queued."""
        self.by_host, self.queued = Counter(), Counter()
        for name, number, queued in hosts:
            self.by_host[name], self.queued[name] = number, queued

    def forget_hosts(self) -> None:
        """What is known of hosts is too old."""
        self.by_host = None
        self.queued.clear()

    @property
    def is_near(self) -> bool:
        """Whether half of it is taken: from here on it matters what everybody adds."""
        return 2 * (self.total + self.blocked) >= self._limit

    @property
    def is_over(self) -> bool:
        """Whether there are more URLs than it has room for."""
        return self.total + self.blocked > self._limit

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
            self.queue(host, 1)

    def _open(self, host: str, state: str) -> None:
        self.total += 1
        if self.by_host is not None:
            self.by_host[host] += 1
            self.queued[host] += state == "queued"

    def queue(self, host: str, number: int) -> None:
        """Count URLs of a host that are queued now, or are no longer."""
        if self.by_host is not None:
            self.queued[host] += number

    def restore(self, host: str, number: int) -> None:
        """Count URLs of a host that `excess` named, and that could not be dropped."""
        self.total += number
        if self.by_host is not None:
            self.by_host[host] += number

    def excess(self) -> Iterator[tuple[str, int]]:
        """How many URLs to drop of which hosts, so that the rest fits; they count as dropped."""
        excess = self.total + self.blocked - self._limit
        if excess <= 0 or self.by_host is None:
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
