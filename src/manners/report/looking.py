"""Look at a crawl again and again, and leave its store time for those who write."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from manners.report.progress import HOSTS, CrawlProgress, Outcomes, outcomes_of, progress_of
from manners.report.rates import Rate, Rates
from manners.store.database import Store

_SECONDS, _PAUSE = 1.0, 10.0
"""Between two looks, at least; and how many times longer than a look took."""
_OUTCOMES, _SHARE = 5.0, 20.0
"""Seconds between two looks at all URLs, at least; and how many times longer than a look took."""


class LiveCrawl(NamedTuple):
    """What is shown of a crawl."""

    progress: CrawlProgress
    outcomes: Outcomes
    rate: Rate | None = None
    problem: str = ""
    """Why the store could not be read just now."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the rate, which depends on who looks."""
        return {
            "progress": self.progress.to_dict(),
            "status": self.outcomes.status.to_dict(),
            "latest": [page._asdict() for page in self.outcomes.latest],
            "slowest": [page._asdict() for page in self.outcomes.slowest],
        }


class CrawlLooks:
    """Looks at one crawl, by default the last one of the store.

    What reads every URL is read again only after twenty times as long as it took.

        with Store("manners.db", readonly=True) as store:
            looks = CrawlLooks(store)
            while looks.look().progress.is_running:
                time.sleep(looks.pause)
    """

    def __init__(
        self,
        store: Store,
        crawl: int | None = None,
        *,
        redact: bool = False,
        hosts: int = HOSTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._crawl = store, crawl
        self._redact, self._hosts, self._clock = redact, hosts, clock
        self._rates = Rates()
        self._outcomes: Outcomes | None = None
        self._due = 0.0
        self._counted: object = None
        self.pause = _SECONDS
        """Seconds to wait before the next look."""

    def look(self) -> LiveCrawl:
        """The crawl as it is now."""
        begun = self._clock()
        progress = progress_of(self._store, self._crawl, redact=self._redact, hosts=self._hosts)
        looked = self._clock()
        self._crawl = progress.crawl  # the same one, even if a later one begins
        self.pause = max(_SECONDS, _PAUSE * (looked - begun))
        # What is shown of a crawl that has ended belongs to its last numbers.
        counted = (progress.states, progress.sitemaps, progress.ended)
        has_changed = not progress.is_running and counted != self._counted
        if self._outcomes is None or has_changed or looked >= self._due:
            self._outcomes = outcomes_of(self._store, self._crawl, redact=self._redact)
            ended = self._clock()
            self._due = ended + max(_OUTCOMES, _SHARE * (ended - looked))
            self._counted = counted
        return LiveCrawl(progress, self._outcomes, self._rates.add(progress.sample))
