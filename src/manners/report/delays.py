"""The minimum delay behind a stored one."""

from collections.abc import Callable, Mapping
from typing import Any

from manners.report.stored import number, parsed
from manners.settings import Settings

_MAX_LOOKUPS = 1_000


class MinimumDelays:
    """The shortest gap that a delay permits, by host.

    Earlier versions stored a random delay as the middle of its range, even where the site asks for
    more than the minimum of that range; the last record of the host has what the site asks for.
    `last_content` returns the content of that record.
    """

    def __init__(
        self, settings: Mapping[str, Any], last_content: Callable[[str], str | None]
    ) -> None:
        defaults = Settings()
        self._minimum = number(settings.get("min_delay"), defaults.min_delay)
        maximum = number(settings.get("max_delay"), defaults.max_delay)
        self._middle = (self._minimum + maximum) / 2
        self._last_content = last_content
        self._crawl_delays: dict[str, float] = {}

    def __call__(self, host: str, delay: float) -> float:
        """The shortest gap that a delay permits."""
        if abs(delay - self._middle) >= 1e-6:
            return delay
        crawl_delay = self._crawl_delays.get(host)
        if crawl_delay is None and len(self._crawl_delays) < _MAX_LOOKUPS:
            content = parsed(self._last_content(host), dict)
            crawl_delay = self._crawl_delays[host] = number(content.get("crawlDelay"), 0.0)
        return min(max(self._minimum, crawl_delay or 0.0), delay)
