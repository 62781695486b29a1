"""How much a crawl may fetch, and for how long. Quiet: the time is an argument."""

import math
from collections.abc import Callable

from manners.errors import BudgetExceeded


class Budget:
    """Pages and minutes, reserved before a request and given back when no page came of it.

    Minutes are running time, from the first page on; `pages_before` and `minutes_before` are what
    an earlier run has used. `warn` is told once for each when the part `warn_at` of it is used.

    >>> budget = Budget(pages=1, minutes=None)
    >>> budget.reserve(now=0.0)
    >>> budget.reserve(now=1.0)
    Traceback (most recent call last):
    manners.errors.BudgetExceeded: page limit reached: 1 page
    """

    def __init__(
        self,
        pages: int | None = 200,
        minutes: float | None = 60.0,
        *,
        warn_at: float = 0.8,
        warn: Callable[[str], None] | None = None,
        pages_before: int = 0,
        minutes_before: float = 0.0,
    ) -> None:
        for name, number in (("minutes", minutes), ("warn_at", warn_at)):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"{name} is a finite number, not {number}; None is no limit")
        self.pages, self.minutes = pages, minutes
        self.pages_used = pages_before
        """Pages that were fetched, or are under way."""
        self._minutes_before = minutes_before
        self._seconds, self._seen = 0.0, float("inf")
        self._warn_at, self._warn = warn_at, warn
        self._warned: set[str] = set()

    def minutes_used(self, now: float) -> float:
        """Minutes of running time, those of earlier runs included.

        A clock that is set back takes none of them away.
        """
        return self._minutes_before + (self._seconds + max(now - self._seen, 0.0)) / 60

    def run(self, now: float) -> None:
        """Let the minutes run, if they do not yet."""
        self._seconds, self._seen = self._seconds + max(now - self._seen, 0.0), now

    def reserve(self, now: float) -> None:
        """Set a page aside, or raise `BudgetExceeded`, which says which limit it was."""
        self.run(now)
        minutes = self.minutes_used(now)
        exceeded = self.exceeded(now)
        if exceeded is not None:
            raise exceeded
        self.pages_used += 1
        self._look("page", self.pages_used, self.pages)
        self._look("minute", minutes, self.minutes)

    def exceeded(self, now: float) -> BudgetExceeded | None:
        """What is used up, if anything is."""
        if self.seconds_left(now) <= 0:
            return BudgetExceeded("time", _amount(self.minutes or 0, "minute"))
        if self.pages is not None and self.pages_used >= self.pages:
            return BudgetExceeded("page", _amount(self.pages, "page"))
        return None

    def seconds_left(self, now: float) -> float:
        """How long the rest of the minutes is."""
        if self.minutes is None:
            return math.inf
        return (self.minutes - self.minutes_used(now)) * 60

    def give_back(self) -> None:
        """Return a page that was set aside and not fetched."""
        self.pages_used -= 1

    def _look(self, what: str, used: float, limit: float | None) -> None:
        if limit is None or what in self._warned or used < self._warn_at * limit:
            return
        self._warned.add(what)
        if self._warn is not None:
            self._warn(f"{round(used, 2):.15g} of {_amount(limit, what)} used")


def _amount(number: float, what: str) -> str:
    return f"{number:.15g} {what}{'' if number == 1 else 's'}"
