"""Manners for Scrapy: a middleware that takes the place of Scrapy's own, or a parser alone.

DOWNLOADER_MIDDLEWARES = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "manners.compat.scrapy.MannersMiddleware": 100,
}

ROBOTSTXT_PARSER = "manners.compat.scrapy.MannersRobotParser"
"""

import asyncio
import logging
import time
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

    from manners.visit import Visit

_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_EARLY = 0.05
"""Seconds by which a slot has its own delay back before it is used again."""
_APART = 0.01
"""Seconds that requests of a slot are apart at least.

Without any delay, Scrapy 2.19 starts all that stands in a slot's line at once: it counts what runs
only when it has started.
"""

log = logging.getLogger(__name__)


class MannersRobotParser(RobotParser):
    """A robots.txt as Scrapy's RobotsTxtMiddleware asks for it, with RFC 9309's answers.

    >>> robots = MannersRobotParser.from_crawler(None, b"User-agent: *\\nDisallow: /private/")
    >>> robots.allowed("https://example.com/private/x", "MyBot")
    False
    """

    def __init__(self, robotstxt_body: bytes) -> None:
        self.robots = parse(robotstxt_body)
        """The parsed file, for who wants more than yes or no."""

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Self:  # noqa: ARG003
        """Read the content of a robots.txt that the crawler retrieved."""
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether the agent may fetch the URL."""
        return self.robots.policy(_text(user_agent)).allowed(_text(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Seconds the site asks the agent to wait; in the interface since Scrapy 2.18."""
        return self.robots.policy(_text(user_agent)).crawl_delay


def _text(value: str | bytes) -> str:
    return to_text(value) if isinstance(value, bytes) else value


class Forbidden(IgnoreRequest, Disallowed):
    """A request that was left out; `verdict` says why."""


class MannersMiddleware:
    """Decides which requests of a crawl are made, in place of Scrapy's RobotsTxtMiddleware.

    The setting `MANNERS` has what `manners.AsyncClient` is to be given. The agent is that of
    Scrapy's settings ROBOTSTXT_USER_AGENT or USER_AGENT, unless it is named there.
    """

    def __init__(self, crawler: "Crawler") -> None:
        with Extra("scrapy"):
            from manners.client import AsyncClient  # the parser needs none

        if not _has_asyncio():
            raise RuntimeError(f"manners needs asyncio: set TWISTED_REACTOR = {_ASYNCIO!r}")
        settings = crawler.settings
        arguments = settings.getdict("MANNERS")
        agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        # Scrapy has a name for whoever gives none: it is sent only where nobody is named.
        if (settings.getpriority("USER_AGENT") or 0) > 0:
            arguments.setdefault("user_agent", settings["USER_AGENT"])
        self._crawler, self._stats = crawler, crawler.stats
        self._listener = arguments.pop("on_decision", None)
        self.client = AsyncClient(
            arguments.pop("agent", agent), on_decision=self._decided, **arguments
        )
        """What decides: its robots.txt files, its evidence."""
        self._visits: WeakKeyDictionary[Request, Visit] = WeakKeyDictionary()
        self._held: dict[str, _Held] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        """The middleware of a crawl."""
        made = cls(crawler)
        for listener, signal in (
            (made._opened, signals.spider_opened),
            (made._reached, signals.request_reached_downloader),
            (made._downloaded, signals.response_downloaded),
            (made._closed, signals.spider_closed),
        ):
            crawler.signals.connect(listener, signal)
        return made

    async def process_request(self, request: Request, spider: Any = None) -> None:  # noqa: ARG002
        """Let a request go on when it may, or leave it out."""
        from manners.visit import judged

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
            log.info("Left out: %s", error)
            raise IgnoreRequest(str(error)) from error

    def _sent_as(self, request: Request) -> str:
        """The header User-Agent of a request: its own, the spider's, or that of the settings."""
        from manners.visit import sent_as

        others = self._crawler.settings.getdict("DEFAULT_REQUEST_HEADERS")
        named = {str(name).lower(): value for name, value in others.items()}
        header = (
            request.headers.get("User-Agent")
            or named.get("user-agent")
            or getattr(self._crawler.spider, "user_agent", None)
        )
        return sent_as(header, "", self.client.identity.user_agent)

    def _opened(self) -> None:
        """A crawl begins, and it is known what else is in it."""
        engine = self._crawler.engine
        others = engine.downloader.middleware.middlewares if engine is not None else ()
        if any(isinstance(other, RobotsTxtMiddleware) for other in others):
            log.warning(
                "Scrapy's own robots.txt handling is on as well: it asks for every robots.txt once "
                "more, and what it leaves out has no verdict. Turn it off, with "
                'DOWNLOADER_MIDDLEWARES = {"%s.RobotsTxtMiddleware": None, …}',
                RobotsTxtMiddleware.__module__,
            )

    # What Scrapy's slots have to keep to.

    def _reached(self, request: Request) -> None:
        """A request is about to stand in the line of its slot."""
        visit = self._visits.get(request)
        if visit is not None:
            self._keep(_key(request), visit)

    def _downloaded(self, response: Response, request: Request) -> None:
        """A reply is here, and the next request of the slot has not started yet."""
        visit = self._visits.get(request)
        if visit is None:
            return
        asked = {"retry-after": (response.headers.get("Retry-After") or b"").decode("latin-1")}
        until = visit.note(response.status, asked, request.meta.get("download_latency"))
        if until is not None:
            self._count("manners/backoff")
            self._hold(_key(request), visit, until)
            task = asyncio.get_running_loop().create_task(visit.penalise(until))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._keep(_key(request), visit)

    def _keep(self, key: str, visit: "Visit") -> None:
        """Have a slot wait for as long as it has to, whatever AutoThrottle made of it."""
        slot, held = self._slots.get(key), self._held.get(key)
        if slot is None:
            return
        slot.concurrency = min(slot.concurrency, self._most(visit.name))
        # What is longer than anything is waited for is not left to the slot: one request passes.
        least = visit.delay if visit.delay <= self.client.settings.defer_beyond else 0.0
        least = max(least, held.delay if held else 0.0, _APART)
        if _shortest(slot) < least:
            slot.delay = max(slot.delay, least)
            _set_jitter(slot, 0)

    def _most(self, name: str) -> int:
        """How many requests run at a time at a host."""
        its = self.client.settings
        own = its.hosts[name].concurrency if name in its.hosts else None
        return its.concurrency if own is None else own

    def _hold(self, key: str, visit: "Visit", until: float) -> None:
        """Let nothing start from a slot before a time, not even what stands in its line."""
        slot, held, left = self._slots.get(key), self._held.get(key), until - time.time()
        if slot is None or left <= _EARLY or (held is not None and until <= held.until):
            return
        own = slot.delay, _jitter(slot)
        if held is not None:
            held.timer.cancel()
            own = held.own
        timer = asyncio.get_running_loop().call_later(left - _EARLY, self._let_go, key, visit)
        self._held[key] = _Held(until, left + _since(slot), own, timer)

    def _let_go(self, key: str, visit: "Visit") -> None:
        held, slot = self._held.pop(key), self._slots.get(key)
        if slot is not None:
            slot.delay = held.own[0]
            _set_jitter(slot, held.own[1])
        self._keep(key, visit)

    @property
    def _slots(self) -> Mapping[str, "Slot"]:
        engine = self._crawler.engine
        return engine.downloader.slots if engine is not None else {}

    # What is counted.

    def _decided(self, verdict: Verdict) -> None:
        self._count("manners/allowed" if verdict else "manners/blocked")
        self._count(f"manners/reason/{verdict.reason}")
        if self._listener is not None:
            self._listener(verdict)

    def _count(self, key: str) -> None:
        if self._stats is not None:
            self._stats.inc_value(key)

    async def _closed(self) -> None:
        found = self.client.robots.statistics()
        for name in ("retrievals", "not_modified", "unreachable"):
            if self._stats is not None:
                self._stats.set_value(f"manners/robotstxt/{name}", getattr(found, name))
        for held in self._held.values():
            held.timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()


class _Held(NamedTuple):
    """A slot that is closed for a while: by its delay, which is what Scrapy looks at."""

    until: float
    delay: float
    """The delay that keeps it closed: it counts from the last start."""
    own: tuple[float, Any]
    """Its delay and its jitter otherwise."""
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


def _since(slot: "Slot") -> float:
    """Seconds since a slot was last used; which clock that is told by depends on the version."""
    return min(abs(clock() - slot.lastseen) for clock in (time.monotonic, time.time))


def _shortest(slot: "Slot") -> float:
    """Seconds from one start to the next that jitter leaves of a slot's delay at least."""
    jitter = _jitter(slot)
    share: float = 0.5 if jitter is True else jitter
    return slot.delay * (1 - min(share, 1.0))


def _jitter(slot: "Slot") -> Any:
    return getattr(slot, _name_of_jitter(slot))


def _set_jitter(slot: "Slot", value: Any) -> None:
    setattr(slot, _name_of_jitter(slot), value)


def _name_of_jitter(slot: "Slot") -> str:
    return "jitter" if hasattr(slot, "jitter") else "randomize_delay"  # before Scrapy 2.19
