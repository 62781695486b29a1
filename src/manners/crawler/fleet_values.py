"""What workers of a crawl tell each other, as values; and why one cannot join."""

from collections import Counter
from typing import NamedTuple

from manners.errors import StoreError

FINISHED, INTERRUPTED = "finished", "interrupted"
"""Why a crawl ended, unless a limit was reached: nothing is left to fetch; it was stopped."""


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
    living: int
    """Workers, this one included."""
    wanted: list[str]
    """Hosts of this worker that another one needs."""
    active: int
    """Hosts that are owned, or have something queued, counted up to a limit."""


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
