"""Limits of pages and running time. Quiet: the time is an argument."""

import math
from collections.abc import Callable

from manners.errors import BudgetExceeded


class Budget:
    """Limits of pages and minutes; a page is reserved before its request, and may be given back.

    Minutes are running time, from the first page on; `pages_before` and `minutes_before` were used
    by an earlier run. `warn` is called once for each limit, when the part `warn_at` of it is used.

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
                raise ValueError(f"{name} must be a finite number, not {number}; None is no limit")
        self.pages, self.minutes = pages, minutes
        self.pages_used = pages_before
        """Pages fetched or under way."""
        self._minutes_before = minutes_before
        self._seconds, self._seen = 0.0, float("inf")
        self._warn_at, self.warn = warn_at, warn
        """Called once for each limit."""
        self._warned: set[str] = set()

    def minutes_used(self, now: float) -> float:
        """Minutes of running time, those of earlier runs included.

        Setting the clock back does not reduce them.
        """
        return self._minutes_before + (self._seconds + max(now - self._seen, 0.0)) / 60

    def run(self, now: float) -> None:
        """Start the minutes, unless they run already."""
        self._seconds, self._seen = self._seconds + max(now - self._seen, 0.0), now

    def reserve(self, now: float) -> None:
        """Reserve a page, or raise `BudgetExceeded`, which names the limit."""
        self.run(now)
        minutes = self.minutes_used(now)
        exceeded = self.exceeded(now)
        if exceeded is not None:
            raise exceeded
        self.pages_used += 1
        self._warn_of("page", self.pages_used, self.pages)
        self._warn_of("minute", minutes, self.minutes)

    def exceeded(self, now: float) -> BudgetExceeded | None:
        """The limit that is reached, if any."""
        if self.seconds_left(now) <= 0:
            return BudgetExceeded("time", _amount(self.minutes or 0, "minute"))
        if self.pages is not None and self.pages_used >= self.pages:
            return BudgetExceeded("page", _amount(self.pages, "page"))
        return None

    def seconds_left(self, now: float) -> float:
        """Seconds until the time limit."""
        if self.minutes is None:
            return math.inf
        return (self.minutes - self.minutes_used(now)) * 60

    def give_back(self) -> None:
        """Give back a page that was reserved and not fetched."""
        self.pages_used -= 1

    def _warn_of(self, what: str, used: float, limit: float | None) -> None:
        if limit is None or what in self._warned or used < self._warn_at * limit:
            return
        self._warned.add(what)
        if self.warn is not None:
            self.warn(f"{round(used, 2):.15g} of {_amount(limit, what)} used")


def _amount(number: float, what: str) -> str:
    return f"{number:.15g} {what}{'' if number == 1 else 's'}"


class GrantedBudget(Budget):
    """The budget of one worker of several: pages are granted to it a few at a time.

    >>> budget = GrantedBudget(pages=100, minutes=None)
    >>> budget.reserve(now=0.0)
    Traceback (most recent call last):
    manners.errors.BudgetExceeded: page limit reached: 100 pages
    >>> budget.granted += 10
    >>> budget.reserve(now=0.0)
    >>> budget.left_here
    9
    """

    granted = 0
    """Pages that this worker may fetch, in all."""
    own = 0
    """Pages that it has fetched, or that are under way."""

    @property
    def left_here(self) -> int:
        """Pages that it may still fetch, without asking."""
        return self.granted - self.own

    def reserve(self, now: float) -> None:
        """Reserve a page, or raise `BudgetExceeded`."""
        super().reserve(now)
        self.own += 1

    def give_back(self) -> None:
        """Give back a page that was reserved and not fetched."""
        super().give_back()
        self.own -= 1

    def exceeded(self, now: float) -> BudgetExceeded | None:
        """The limit that is reached, if any; of pages, as long as no more are granted."""
        if self.seconds_left(now) <= 0:
            return BudgetExceeded("time", _amount(self.minutes or 0, "minute"))
        if self.pages is not None and self.left_here <= 0:
            return BudgetExceeded("page", _amount(self.pages, "page"))
        return None

    def set_used(self, pages: int, seconds: float, now: float) -> None:
        """What all workers have used, as the store has it."""
        self.pages_used = pages
        self._minutes_before, self._seconds, self._seen = seconds / 60, 0.0, now
