"""Manners for Scrapy: a middleware in place of Scrapy's own, or only a robots.txt parser.

DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "manners.compat.scrapy.MannersMiddleware": 100,
}

ROBOTSTXT_PARSER = "manners.compat.scrapy.MannersRobotParser"
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakKeyDictionary

from manners._text import to_text
from manners.errors import Disallowed, Extra, HostDeferred
from manners.robots.policy import parse
from manners.robots.verdict import Verdict

with Extra("scrapy"):
    from scrapy import Request, signals
    from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler

    from manners.client.visit import Visit

_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_EARLY = 0.05
"""Seconds before the end of a pause at which a slot gets its own delay back."""
log = logging.getLogger(__name__)


class MannersRobotParser(RobotParser):
    """A parser for Scrapy's RobotsTxtMiddleware, with the answers of RFC 9309.

    >>> robots = MannersRobotParser.from_crawler(None, b"User-agent: *\\nDisallow: /private/")
    >>> robots.allowed("https://example.com/private/x", "MyBot")
    False
    """

    def __init__(self, robotstxt_body: bytes) -> None:
        self.robots = parse(robotstxt_body)
        """The parsed file, for more than yes or no."""

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Self:  # noqa: ARG003
        """Parse a robots.txt that the crawler retrieved."""
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether the agent may fetch the URL."""
        return self.robots.policy(_text(user_agent)).allowed(_text(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The Crawl-delay for the agent; in the interface since Scrapy 2.18."""
        return self.robots.policy(_text(user_agent)).crawl_delay


def _text(value: str | bytes) -> str:
    return to_text(value) if isinstance(value, bytes) else value


class Forbidden(IgnoreRequest, Disallowed):
    """A disallowed or excluded request; `verdict` says why."""


class MannersMiddleware:
    """Decides which requests of a crawl are sent, in place of Scrapy's RobotsTxtMiddleware.

    With the setting `MANNERS_USAGE`, `response.meta["usage"]` is what a page may be used for. The
    setting `MANNERS` has the arguments of `manners.AsyncClient`. Without an agent there, it is
    that of Scrapy's settings ROBOTSTXT_USER_AGENT or USER_AGENT.
    """

    def __init__(self, crawler: "Crawler") -> None:
        with Extra("scrapy"):
            from manners.client.async_client import AsyncClient  # the parser does not need it

        if not _has_asyncio():
            raise RuntimeError(f"manners needs asyncio: set TWISTED_REACTOR = {_ASYNCIO!r}")
        settings = crawler.settings
        arguments = settings.getdict("MANNERS")
        agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        # Scrapy's default is sent only if no agent is set anywhere.
        if (settings.getpriority("USER_AGENT") or 0) > 0:
            arguments.setdefault("user_agent", settings["USER_AGENT"])
        self._crawler, self._stats = crawler, crawler.stats
        self._listener = arguments.pop("on_decision", None)
        self.client = AsyncClient(
            arguments.pop("agent", agent), on_decision=self._decided, **arguments
        )
        """Decides; has the robots.txt files and the evidence."""
        self._visits: WeakKeyDictionary[Request, Visit] = WeakKeyDictionary()
        self._pauses: dict[str, _Pause] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        """The middleware of a crawl."""
        middleware = cls(crawler)
        for listener, signal in (
            (middleware._opened, signals.spider_opened),
            (middleware._reached, signals.request_reached_downloader),
            (middleware._downloaded, signals.response_downloaded),
            (middleware._closed, signals.spider_closed),
        ):
            crawler.signals.connect(listener, signal)
        if crawler.settings.getbool("MANNERS_USAGE"):
            crawler.signals.connect(middleware._received, signals.response_received)
        return middleware

    async def process_request(self, request: Request, spider: Any = None) -> None:  # noqa: ARG002
        """Let a request pass when it may be sent, or ignore it."""
        from manners.client.dropins import judged

        if request.meta.get("dont_obey_robotstxt") or not request.url.startswith("http"):
            return
        url = judged(request.url, request.headers.get("Host"))
        try:
            sent = self._sent_as(request)
            request.headers["User-Agent"] = sent
            self._visits[request] = await self.client.visit(url, slot=False, user_agent=sent)
        except Disallowed as error:
            self._count("robotstxt/forbidden")  # as Scrapy's own has it
            log.debug("Forbidden: %s", error)
            raise Forbidden(error.verdict) from None
        except HostDeferred as error:
            self._count("manners/deferred")
            log.info("Ignored: %s", error)
            raise IgnoreRequest(str(error)) from error

    def _sent_as(self, request: Request) -> str:
        """The header User-Agent of a request: its own, the spider's, or that of the settings."""
        from manners.client.dropins import sent_as

        defaults = self._crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        defaults = {str(name).lower(): value for name, value in defaults.items()}
        header = (
            request.headers.get("User-Agent")
            or defaults.get("user-agent")
            or getattr(self._crawler.spider, "user_agent", None)
        )
        return sent_as(header, "", self.client.identity.user_agent)

    def _opened(self) -> None:
        """Warn if Scrapy's own middleware is on as well."""
        engine = self._crawler.engine
        active = engine.downloader.middleware.middlewares if engine is not None else ()
        if any(isinstance(middleware, RobotsTxtMiddleware) for middleware in active):
            log.warning(
                "Scrapy's own robots.txt handling is on as well: it requests every robots.txt once "
                "more, and what it ignores has no verdict. Turn it off: "
                'DOWNLOADER_MIDDLEWARES = {"%s.RobotsTxtMiddleware": None, …}',
                RobotsTxtMiddleware.__module__,
            )

    def _received(self, response: Response, request: Request) -> None:
        """A response is about to reach the spider, decompressed."""
        from manners.client.dropins import ResponseUsage

        visit = self._visits.get(request)
        if visit is None:
            return
        status, body, headers = response.status, response.body, response.headers
        lines = [(_text(name), _text(value)) for name in headers for value in headers.getlist(name)]
        request.meta["usage"] = ResponseUsage(response.url, visit, lambda: (status, lines, body))

    # The delays and pauses of Scrapy's slots.

    def _reached(self, request: Request) -> None:
        """A request is about to enter the queue of its slot."""
        visit = self._visits.get(request)
        if visit is not None:
            self._slow_down(_key(request), visit)

    def _downloaded(self, response: Response, request: Request) -> None:
        """A reply is here, and the next request of the slot has not started yet."""
        visit = self._visits.get(request)
        if visit is None:
            return
        asked = {"retry-after": (response.headers.get("Retry-After") or b"").decode("latin-1")}
        until = visit.note(response.status, asked, request.meta.get("download_latency"))
        if until is not None:
            self._count("manners/backoff")
            self._pause(_key(request), visit, until)
            task = asyncio.get_running_loop().create_task(visit.penalise(until))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._slow_down(_key(request), visit)

    def _slow_down(self, key: str, visit: "Visit") -> None:
        """Give a slot the delay that the host needs, whatever AutoThrottle has set."""
        slot, pause = self._slots.get(key), self._pauses.get(key)
        if slot is None:
            return
        if not isinstance(slot.queue, _CountedQueue):
            slot.queue = _CountedQueue(slot)
        slot.concurrency = min(slot.concurrency, self._concurrency(visit.name))
        # A delay that is too long to wait for is not the slot's: the client lets one request pass.
        least = visit.delay if visit.delay <= self.client.settings.defer_beyond else 0.0
        least = max(least, pause.delay if pause else 0.0)
        if _shortest(slot) < least:
            slot.delay = max(slot.delay, least)
            _set_jitter(slot, 0)

    def _concurrency(self, name: str) -> int:
        """How many requests may run at a host at a time."""
        settings = self.client.settings
        own = settings.hosts[name].concurrency if name in settings.hosts else None
        return settings.concurrency if own is None else own

    def _pause(self, key: str, visit: "Visit", until: float) -> None:
        """Start nothing from a slot before a time, not even requests that are in its queue."""
        slot, pause = self._slots.get(key), self._pauses.get(key)
        seconds = until - self.client.robots.clock()
        if slot is None or seconds <= _EARLY or (pause is not None and until <= pause.until):
            return
        own = slot.delay, _jitter(slot)
        if pause is not None:
            pause.timer.cancel()
            own = pause.own
        timer = asyncio.get_running_loop().call_later(seconds - _EARLY, self._resume, key, visit)
        self._pauses[key] = _Pause(until, seconds + _since(slot), own, timer)

    def _resume(self, key: str, visit: "Visit") -> None:
        pause, slot = self._pauses.pop(key), self._slots.get(key)
        if slot is not None:
            slot.delay = pause.own[0]
            _set_jitter(slot, pause.own[1])
        self._slow_down(key, visit)

    @property
    def _slots(self) -> Mapping[str, "Slot"]:
        engine = self._crawler.engine
        return engine.downloader.slots if engine is not None else {}

    # Statistics.

    def _decided(self, verdict: Verdict) -> None:
        self._count("manners/allowed" if verdict else "manners/blocked")
        self._count(f"manners/reason/{verdict.reason}")
        if self._listener is not None:
            self._listener(verdict)

    def _count(self, key: str) -> None:
        if self._stats is not None:
            self._stats.inc_value(key)

    async def _closed(self) -> None:
        statistics = self.client.robots.statistics()
        for name in ("retrievals", "not_modified", "unreachable"):
            if self._stats is not None:
                self._stats.set_value(f"manners/robotstxt/{name}", getattr(statistics, name))
        for pause in self._pauses.values():
            pause.timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()


class _Pause(NamedTuple):
    """A pause of a slot, by way of its delay, which is what Scrapy looks at."""

    until: float
    delay: float
    """The delay during the pause; it counts from the last start."""
    own: tuple[float, Any]
    """The delay and jitter of the slot otherwise."""
    timer: asyncio.TimerHandle


def _has_asyncio() -> bool:
    try:
        from scrapy.utils.asyncio import is_asyncio_available as has  # Scrapy 2.14
    except ImportError:
        from scrapy.utils.reactor import is_asyncio_reactor_installed as has
    return has()


def _key(request: Request) -> str:
    key: str = request.meta.get("download_slot", "")
    return key


class _CountedQueue(deque["tuple[Request, Any]"]):
    """The queue of a slot, from which a request counts as soon as it is taken.

    Scrapy 2.19 counts requests only once they have started, which is later: by then it may have
    taken more than the slot has room for.
    """

    def __init__(self, slot: "Slot") -> None:
        super().__init__(slot.queue)
        self._slot = slot

    def popleft(self) -> "tuple[Request, Any]":
        """Take the next request; Scrapy counts it again, in a set, and removes it at the end."""
        found = super().popleft()
        self._slot.transferring.add(found[0])
        return found


def _since(slot: "Slot") -> float:
    """Seconds since a slot was last used; which clock it uses depends on Scrapy's version."""
    return min(abs(clock() - slot.lastseen) for clock in (time.monotonic, time.time))


def _shortest(slot: "Slot") -> float:
    """The shortest delay between two starts of a slot, with jitter."""
    jitter = _jitter(slot)
    share: float = 0.5 if jitter is True else jitter
    return slot.delay * (1 - min(share, 1.0))


def _jitter(slot: "Slot") -> Any:
    return getattr(slot, _jitter_name(slot))


def _set_jitter(slot: "Slot", value: Any) -> None:
    setattr(slot, _jitter_name(slot), value)


def _jitter_name(slot: "Slot") -> str:
    return "jitter" if hasattr(slot, "jitter") else "randomize_delay"  # before Scrapy 2.19
