"""What workers of a crawl tell each other, as values; and why one cannot join."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from manners._text import count, duration
from manners.errors import StoreError

FINISHED, INTERRUPTED = "finished", "interrupted"
"""Why a crawl ended, unless a limit was reached: nothing is left to fetch; it was stopped."""


class LeaseWait(NamedTuple):
    """Workers that are not heard of; nobody else may ask their hosts while their lease lasts."""

    names: tuple[str, ...]
    """The number of each, with its machine and process."""
    until: float
    """When their hosts are free, at the latest."""

    def text(self, now: float) -> str:
        """What is waited for, and for how long at most, in one line.

        >>> LeaseWait(("worker 1 (db:4711)",), until=1_034.0).text(now=1_000.0)
        'waiting for worker 1 (db:4711), not heard of: its hosts are free in 34 s at the latest'
        """
        who, whose = self.names[0], "its"
        if len(self.names) > 1:
            who, whose = count(len(self.names), "worker"), "their"
        wait = duration(max(self.until - now, 0.0))
        return f"waiting for {who}, not heard of: {whose} hosts are free in {wait} at the latest"


class Beat(NamedTuple):
    """How far a crawl is, as all its workers have it."""

    seconds: float
    """Running time."""
    ended: str
    """Why it ended; empty while it runs."""
    joined: tuple[str, ...]
    """Hosts that belong to it besides those of its starts."""
    counted: "Counter[tuple[str, str]]"
    """Every number, by kind and what it counts."""
    own: "Counter[tuple[str, str]]"
    """The same of this worker."""
    closed: Sequence[int] = ()
    """Workers that this one has closed."""
    living: int = 1
    """Workers, this one included."""
    wanted: Sequence[str] = ()
    """Hosts of this worker that another one needs."""
    active: int = 0
    """Hosts that are owned, or have something queued, up to a limit; 0 for one worker."""
    wait: LeaseWait | None = None
    """Set if none of the other workers is heard of, and none was closed yet."""


class Conclusion(NamedTuple):
    """Whether a crawl has ended, for a worker that has nothing to do."""

    ended: str = ""
    """Why; empty where it has not."""
    next_at: float | None = None
    """When the next host may be taken; None where there is none."""
    is_idle: bool = False
    """Whether nothing is queued, and nobody owns a host."""
    is_waiting: bool = False
    """Whether something is queued, and nobody owns a host: none may be asked yet."""


class SettingsClash(StoreError):
    """A worker that would do other than the crawl was told to."""


class CrawlEnded(StoreError):
    """A crawl that is over; only a resume begins it again."""

    def __init__(self, place: str, number: int, reason: str) -> None:
        super().__init__(place, f"crawl {number} has ended: {reason}")
        self.number, self.reason = number, reason
