"""The scheduler: which URL to ask for now, and when to look again.

It has no event loop, no clock and no network. Its owner reports what happened (a host has work,
URLs were leased, a request ended) and asks `next(now)` what to start:

    frontier --found--> [ host queues ] --start--> requests
        ^                 |    ^   ^                   |
        +------fill-------+    |   +-----returned------+   could not start: back to the front
                 leased -------+   <-----finished------+   the slot is free

- A heap has the hosts in the order in which they may be asked. A slow host, or one that asked for
  an hour of silence, delays no other.
- A host has one request at a time until it has answered once, then as many as it has slots.
- Hosts of three kinds may use a part of the connections only, and wait in line for it: new hosts,
  which may turn out to hang; silent hosts, which did; and hosts with large pages.
- URLs of a host are leased in small batches, about two seconds of work, so that an important URL
  that is found meanwhile does not wait behind a long list.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

MAX_BATCH = 64
"""URLs of a host that are leased at a time, at most."""
LEAD = 0.05
"""Seconds before a host may be asked at which to start: a verdict and a record come first."""
_BATCH_SECONDS = 2.0
"""Seconds of work that a batch is to last."""
_REMEMBERED = 10_000
"""Hosts that are remembered when they have nothing to do."""
_LARGE_PAGES = 8
"""Large pages that may wait to be read; then hosts with large pages are not asked."""

_Item = TypeVar("_Item")
PaceOf = Callable[[str], tuple[float, float]]
"""The delay of a host, in seconds, and the time from which its next request may be started."""


class HostKind(StrEnum):
    """What is known of a host. All kinds but one may use only a part of the connections."""

    QUICK = "quick"
    """It answers, with ordinary pages."""
    NEW = "new"
    """It has not answered yet; it may hang."""
    SILENT = "silent"
    """It did not answer the last request."""
    LARGE = "large"
    """Its last page was a large one."""


class HostQueue(Generic[_Item]):
    """What is to be asked of one host."""

    __slots__ = (
        *("heap_time", "is_filling", "is_waiting", "items", "kind", "more_at", "name"),
        *("not_before", "running", "slots"),
    )

    def __init__(self, name: str, slots: int) -> None:
        self.name, self.slots = name, slots
        self.items: deque[_Item] | tuple[()] = ()  # an empty deque takes 600 bytes
        self.more_at: float | None = None
        """From when on there is more to lease; None: nothing that anybody knows of."""
        self.not_before = 0.0
        """No request starts before this time, whatever the pace is."""
        self.running = 0
        self.kind = HostKind.NEW
        self.heap_time: float | None = None
        """Its time in the heap; None while it is not in it."""
        self.is_filling = False
        """Whether a batch is being leased."""
        self.is_waiting = False
        """Whether it waits in line with other hosts of its kind."""

    def put(self, items: Iterable[_Item]) -> None:
        """Add URLs behind the others."""
        waiting = self.items or deque()
        waiting.extend(items)
        self.items = waiting or ()

    def put_back(self, item: _Item) -> None:
        """Add a URL before the others."""
        waiting = self.items or deque()
        waiting.appendleft(item)
        self.items = waiting

    def pop(self) -> _Item:
        """The next URL; there must be one."""
        waiting = self.items or deque()
        item = waiting.popleft()
        self.items = waiting or ()
        return item

    @property
    def is_busy(self) -> bool:
        """Whether it has as many requests as it may."""
        has_answered = self.kind in (HostKind.QUICK, HostKind.LARGE)
        return self.running >= (self.slots if has_answered else 1)


class Request(Generic[_Item]):
    """A request that was started, until `finished` or `returned` is reported."""

    __slots__ = ("item", "kind", "queue")

    def __init__(self, queue: HostQueue[_Item], item: _Item) -> None:
        self.queue, self.item = queue, item
        self.kind: HostKind | None = queue.kind
        """The kind that its host had when it started; None when the request is over."""

    @property
    def host(self) -> str:
        """The name of its host."""
        return self.queue.name


class Batch(NamedTuple):
    """URLs to lease for a host: so many at most."""

    host: str
    size: int


class NextSteps(NamedTuple, Generic[_Item]):
    """What to do now."""

    start: list[Request[_Item]]
    fill: list[Batch]
    look_again_at: float | None
    """When the next host may be asked; None: not before something else is reported."""


class Scheduler(Generic[_Item]):
    """Decides which host is asked next. Reports come in any order, `next` answers.

    >>> scheduler = Scheduler[str](pace=lambda host: (1.0, 0.0), slots=lambda host: 2)
    >>> scheduler.found("example.com")
    >>> scheduler.next(now=0.0).fill
    [Batch(host='example.com', size=2)]
    >>> scheduler.leased("example.com", ["/a", "/b"])
    >>> [(request.host, request.item) for request in scheduler.next(now=0.0).start]
    [('example.com', '/a')]
    """

    def __init__(self, pace: PaceOf, slots: Callable[[str], int], connections: int = 256) -> None:
        self._pace, self._slots, self._connections = pace, slots, connections
        self.queues: dict[str, HostQueue[_Item]] = {}
        """The hosts that have something to do, by name."""
        self.running = 0
        """Requests that were started and are not over."""
        self._filling = 0
        self._heap: list[tuple[float, int, HostQueue[_Item]]] = []
        self._pushes = 0
        self._by_kind: Counter[HostKind] = Counter()
        """Requests under way, by the kind their hosts had when they started."""
        self._lines: dict[HostKind, deque[HostQueue[_Item]]] = {
            kind: deque() for kind in (HostKind.NEW, HostKind.SILENT, HostKind.LARGE)
        }
        """Hosts that wait until there is a connection for their kind, first come, first served."""
        self.idle: list[str] = []
        """Hosts that have nothing to do any more; their owner empties it."""
        self._kinds: dict[str, HostKind] = {}
        """What is known of hosts that have nothing to do now: one that was silent is not new."""

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that will be reported."""
        return self.running > 0 or self._filling > 0

    # What happened.

    def found(self, host: str, at: float = 0.0) -> None:
        """There are URLs to lease for a host, from a time on."""
        queue = self._queue(host)
        queue.more_at = at
        self._push(queue)

    def add(self, host: str, item: _Item) -> None:
        """There is a URL to ask a host for; nothing has to be leased."""
        queue = self._queue(host)
        queue.put((item,))
        self._push(queue)

    def leased(self, host: str, items: Iterable[_Item], more_at: float | None = None) -> None:
        """A batch was leased, or nothing; there is more from a time on, unless that is None."""
        queue = self._queue(host)
        queue.put(items)
        if queue.more_at is None:  # nothing was found meanwhile
            queue.more_at = more_at
        queue.is_filling = False
        self._filling -= 1
        self._push(queue)

    def finished(
        self,
        request: Request[_Item],
        *,
        answered: bool | None = None,
        is_large: bool | None = None,
    ) -> None:
        """A request is over, its slot is free; None is for what it tells nothing about.

        To report it again changes nothing.
        """
        queue = request.queue
        if not self._end(request):
            return
        if answered is False:
            queue.kind = HostKind.SILENT
        elif answered and queue.kind is not HostKind.LARGE:
            queue.kind = HostKind.QUICK
        if is_large is not None and queue.kind in (HostKind.QUICK, HostKind.LARGE):
            queue.kind = HostKind.LARGE if is_large else HostKind.QUICK
        self._push(queue)

    def returned(self, request: Request[_Item], not_before: float | None = None) -> None:
        """A request could not start; its URL is the next one of its host, not before a time."""
        if self._end(request):
            queue = request.queue
            queue.put_back(request.item)
            if not_before is not None:
                queue.not_before = not_before
            self._push(queue)

    def drop(self, host: str) -> bool:
        """Forget a host, and what was leased for it; False while something is under way there."""
        queue = self.queues.get(host)
        if queue is None or queue.running or queue.is_filling:
            return False
        queue.items, queue.more_at = (), None
        queue.heap_time = None  # what the heap has of it is passed over
        if queue.is_waiting:
            self._lines[queue.kind].remove(queue)
        del self.queues[host]
        return True

    def first_time(self) -> float | None:
        """When the next host has something to do, whatever it is."""
        return self._first_time()

    def time_of(self, host: str) -> float:
        """When a host has something to do; 0 is any time."""
        queue = self.queues[host]
        if queue.items or queue.heap_time is None:
            return queue.not_before
        return queue.heap_time

    def distant(self, after: float) -> list[str]:
        """Hosts that are not asked before a time, the furthest first; nothing runs there."""
        found = [
            (queue.heap_time, queue.name)
            for queue in self.queues.values()
            if queue.heap_time is not None and queue.heap_time > after and not queue.running
        ]
        return [name for _, name in sorted(found, reverse=True)]

    # What to do.

    def next(self, now: float, *, has_room: bool = True, large_pages: int = 0) -> NextSteps[_Item]:
        """What to start and what to lease now, and when to look again.

        `has_room` is whether there is room for more results; `large_pages` is how many large pages
        are being read or wait to be read, by requests that are under way.
        """
        start: list[Request[_Item]] = []
        fill: list[Batch] = []
        self._leave_lines(large_pages)
        while has_room and self.running < self._connections:
            queue = self._pop(now)
            if queue is None:
                break
            delay, at = self._pace(queue.name)
            if queue.items and not queue.is_busy and max(at, queue.not_before) <= now:
                if self._connections_for(queue.kind, large_pages) <= 0:
                    queue.is_waiting = True
                    self._lines[queue.kind].append(queue)
                    continue
                start.append(self._start(queue))
            size = _batch_size(delay, queue.slots)
            is_low = len(queue.items) <= size // 4
            if is_low and queue.more_at is not None and queue.more_at <= now:
                fill += self._fill(queue, size)
            self._push(queue)
        return NextSteps(start, fill, self._look_again_at(now))

    def _start(self, queue: HostQueue[_Item]) -> Request[_Item]:
        self.running += 1
        queue.running += 1
        self._by_kind[queue.kind] += 1
        return Request(queue, queue.pop())

    def _end(self, request: Request[_Item]) -> bool:
        """Take a request out of the counts; False when it was over before."""
        if request.kind is None:
            return False
        self._by_kind[request.kind] -= 1
        request.kind = None
        request.queue.running -= 1
        self.running -= 1
        return True

    def _fill(self, queue: HostQueue[_Item], size: int) -> Iterator[Batch]:
        if not queue.is_filling:
            queue.is_filling = True
            queue.more_at = None
            self._filling += 1
            yield Batch(queue.name, size)

    # Kinds of hosts.

    def _connections_for(self, kind: HostKind, large_pages: int) -> int:
        """How many more requests hosts of a kind may have."""
        if kind is HostKind.QUICK:
            return self._connections - self.running
        if kind is HostKind.LARGE:
            return _LARGE_PAGES - large_pages
        # A request that is never answered takes its connection until the timeout.
        quarter, silent = self._connections // 4, self._by_kind[HostKind.SILENT]
        if kind is HostKind.SILENT:
            return max(quarter, 1) - silent
        return max(self._connections - quarter, 1) - silent - self._by_kind[HostKind.NEW]

    def _leave_lines(self, large_pages: int) -> None:
        """Put hosts that wait in line back into the heap, as many as there are connections for."""
        for kind, line in self._lines.items():
            if not line:  # as nearly always
                continue
            places = self._connections_for(kind, large_pages)
            for _ in range(min(max(places, 0), len(line))):
                queue = line.popleft()
                queue.is_waiting = False
                self._push(queue)

    # The heap.

    def _queue(self, host: str) -> HostQueue[_Item]:
        queue = self.queues.get(host)
        if queue is None:
            queue = self.queues[host] = HostQueue(host, self._slots(host))
            queue.kind = self._kinds.pop(host, HostKind.NEW)
        return queue

    def _push(self, queue: HostQueue[_Item]) -> None:
        """Put a host into the heap if it has work and a free slot; forget it if it has nothing."""
        if queue.is_waiting:
            return
        if queue.items:
            if queue.is_busy:
                return
            at = max(self._pace(queue.name)[1], queue.not_before)
        elif queue.more_at is not None and not queue.is_filling:
            at = queue.more_at
        else:
            is_idle = not queue.running and not queue.is_filling and queue.heap_time is None
            if is_idle and self.queues.get(queue.name) is queue:
                del self.queues[queue.name]  # a crawl may have millions of hosts
                if len(self._kinds) >= _REMEMBERED:
                    del self._kinds[next(iter(self._kinds))]
                if queue.kind is not HostKind.NEW:
                    self._kinds[queue.name] = queue.kind
                self.idle.append(queue.name)
            return
        if queue.heap_time is None or at < queue.heap_time:
            queue.heap_time = at
            self._pushes += 1
            heapq.heappush(self._heap, (at, self._pushes, queue))

    def _pop(self, now: float) -> HostQueue[_Item] | None:
        """The first host whose time has come."""
        at = self._first_time()
        if at is None or at > now:
            return None
        *_, queue = heapq.heappop(self._heap)
        queue.heap_time = None
        return queue

    def _first_time(self) -> float | None:
        """The time of the first host in the heap, without entries that a sooner one replaced."""
        heap = self._heap
        while heap and heap[0][2].heap_time != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def _look_again_at(self, now: float) -> float | None:
        at = self._first_time()
        return at if at is not None and at > now else None


def _batch_size(delay: float, slots: int) -> int:
    by_time = int(_BATCH_SECONDS / delay) if delay else MAX_BATCH
    return max(min(MAX_BATCH, by_time), slots)
