"""The log: events as lines, and who tells them.

Nothing is printed by default: a program turns it on with Python's `logging`, a user of the command
with its options. A record has the name of its event as `record.event`, and its values as `args`
and as attributes, so that formatters of other libraries find them. Text from a server is escaped,
secrets in URLs are hidden, and a warning that is repeated is counted instead of printed.

    manners.retrieval   INFO      retrieval: host, status, fromCache, ageSec, bytes, for each use
                                  of a robots.txt
                        WARNING   retrieval-failure: a failure, or a limit exceeded
    manners.cache       WARNING   cache-failure: a store that does not answer
    manners.client      INFO      backoff: host, status, seconds; deferral: host, url, seconds
                        WARNING   warning, budget, slot-lost
                        DEBUG     decision, evidence, wait, request, response, retry
    manners.crawl       INFO      crawl-start, worker-joined, host-done, crawl-end
                        WARNING   worker-died, lease-expired, store-away, store-back
                        DEBUG     blocked: host, url, reason
    manners.matching    DEBUG     match: path, decision, winnerPattern, matchLen; see `log_matches`
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, NamedTuple

from manners import events
from manners._secrets import without_url_secrets
from manners._text import cut, printable
from manners.events import NAMES, Event, Listener
from manners.robots.verdict import Verdict
from manners.urls import Target

_RETRIEVAL = logging.getLogger("manners.retrieval")
_CACHE = logging.getLogger("manners.cache")
_CLIENT = logging.getLogger("manners.client")
_CRAWL = logging.getLogger("manners.crawl")
_MATCHING = logging.getLogger("manners.matching")
_NEVER = logging.CRITICAL + 1
_DEBUG, _INFO, _WARNING = logging.DEBUG, logging.INFO, logging.WARNING
_REPEAT = 10.0
"""Seconds for which a warning is not printed again."""
_REMEMBERED = 1_000
"""Warnings that are remembered; beyond that the oldest is forgotten."""
_MAX_TEXT = 4_000
"""Characters of one value: a URL may be much longer, and is in the evidence."""

logging.getLogger("manners").addHandler(logging.NullHandler())
_MATCHING.setLevel(_NEVER)


def log_matches(wanted: bool = True) -> None:
    """Turn logging of every match, at level debug, on or off."""
    _MATCHING.setLevel(logging.DEBUG if wanted else _NEVER)


def wants_matches() -> bool:
    """Whether matches are logged."""
    return _MATCHING.level != _NEVER and _MATCHING.isEnabledFor(logging.DEBUG)


_logs_uses = partial(_RETRIEVAL.isEnabledFor, _INFO)
_logs_requests = partial(_CLIENT.isEnabledFor, _DEBUG)
_logs_deferrals = partial(_CLIENT.isEnabledFor, _INFO)


class Repeats:
    """Which lines were printed a short time ago, and how often they came since.

    >>> repeats = Repeats()
    >>> [repeats.number("a store is away", now) for now in (0.0, 1.0, 2.0, 11.0)]
    [0, None, None, 2]
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, int]] = {}

    def number(self, line: str, now: float) -> int | None:
        """How often a line came since it was last printed; None where it is not printed again."""
        at, times = self._seen.get(line, (-_REPEAT, 0))
        if 0 <= now - at < _REPEAT:
            self._seen[line] = at, times + 1
            return None
        self._seen.pop(line, None)
        if len(self._seen) >= _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[line] = now, 0
        return times


class Reporter:
    """Tells events to the log, and to the listener of a client, a cache or a crawl.

    A listener that raises breaks no request: the error is a warning in the log, and the listener is
    called again with the next event. One with `handlers`, a table of events and functions, is
    asked for these alone: what it takes no interest in need not be made.

    >>> heard = []
    >>> Reporter(heard.append).tell(events.HostEnd(0.0, "a.example"))
    >>> heard
    [HostEnd(at=0.0, host='a.example')]
    """

    __slots__ = (
        "_handlers",
        "_repeats",
        "clock",
        "crawl",
        "hears_pages",
        "hears_starts",
        "listener",
        "worker",
    )

    def __init__(
        self, listener: Listener | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.listener, self.clock = listener, clock
        self._handlers: Mapping[type, Listener] | None = getattr(listener, "handlers", None)
        self.hears_pages = self._hears(events.PageStart)
        """Whether the listener takes pages; so with the starts of requests."""
        self.hears_starts = self._hears(events.RequestStart)
        self.crawl = self.worker = 0
        """What is told belongs to them; 0 outside a crawl."""
        self._repeats = Repeats()

    @classmethod
    def of(cls, on_event: "Listener | Reporter | None", clock: Callable[[], float]) -> "Reporter":
        """A reporter as it is, or a new one for a listener."""
        return on_event if isinstance(on_event, Reporter) else cls(on_event, clock)

    def _hears(self, kind: type[Event]) -> bool:
        return self.listener is not None and (self._handlers is None or kind in self._handlers)

    @property
    def wants_uses(self) -> bool:
        """Whether somebody wants to know of each use of a robots.txt."""
        return self.listener is not None or _logs_uses()

    @property
    def wants_starts(self) -> bool:
        """Whether somebody wants to know when a request leaves."""
        return self.hears_starts or _logs_requests()

    @property
    def wants_requests(self) -> bool:
        """Whether somebody wants to know of each decision and request."""
        return self.listener is not None or _logs_requests()

    @property
    def wants_pages(self) -> bool:
        """Whether somebody wants to know of each page."""
        return self.hears_pages or _logs_deferrals()

    def tell(self, event: Event) -> None:
        """Tell an event."""
        line = _LINES.get(type(event))
        if line is not None and line.logger.isEnabledFor(line.level):
            self._log(line, event)
        handlers = self._handlers
        listener = self.listener if handlers is None else handlers.get(type(event))
        if listener is not None:
            try:
                listener(event)
            except Exception as error:
                self._log(_LISTENER, events.OperatorWarning(event.at, _failure(event, error)))

    def warn(self, message: str) -> None:
        """Tell the operator something."""
        self.tell(events.OperatorWarning(self.clock(), message))

    def warn_of_budget(self, message: str) -> None:
        """Tell that a budget is nearly used up."""
        self.tell(events.BudgetWarning(self.clock(), message))

    def tell_retry(self, target: Target, cause: str, attempt: int) -> None:
        """Tell that a URL is requested again, now or later."""
        now, page = self.clock(), events.PAGE.get()
        self.tell(events.RequestRetry(now, page, target.host, target.url, cause, attempt))

    def tell_outage(self, message: str) -> None:
        """Tell that the store does not answer."""
        self.tell(events.StoreOutage(self.clock(), message))

    def tell_return(self, message: str) -> None:
        """Tell that the store answers again."""
        self.tell(events.StoreReturn(self.clock(), message))

    def _log(self, line: "_Line", event: Any) -> None:
        values = line.values(event)
        if self.crawl:
            values |= {"crawl": self.crawl, "worker": self.worker}
        name = line.name or NAMES[type(event)]
        if line.level < _WARNING:
            _log(line.logger, line.level, name, line.prefix, **values)
            return
        message = _safe(line.message(event))
        times = self._repeats.number(message, event.at)
        if times is not None:
            message += f" ({times} times more since it was last told)" if times else ""
            extra = {"event": name, "fields": values, **values}
            line.logger.log(line.level, "%s", message, extra=extra)


# The lines.


def matched(verdict: Verdict) -> None:
    """A URL was matched against the rules of a file."""
    if not wants_matches():
        return
    pattern = verdict.rule.pattern if verdict.rule else None
    _log(
        _MATCHING,
        _DEBUG,
        "match",
        path=_safe(verdict.path),
        decision="ALLOW" if verdict.allowed else "DISALLOW",
        winnerPattern=None if pattern is None else printable(pattern),
        matchLen=len(pattern or ""),
    )


def warned(problem: str) -> None:
    """A warning to the user, where nobody listens."""
    Reporter().warn(problem)


def budget_warned(problem: str) -> None:
    """A budget is nearly used up, where nobody listens."""
    Reporter().warn_of_budget(problem)


class _Line(NamedTuple):
    """How an event is logged: with values, or as a message from level warning on."""

    logger: logging.Logger
    level: int
    values: Callable[[Any], dict[str, Any]] = lambda _: {}
    message: Callable[[Any], str] = lambda event: event.message
    prefix: str = ""
    name: str = ""


def _failure(event: Event, error: Exception) -> str:
    return f"on_event raised {type(error).__name__} for {type(event).__name__}: {error}"


def _safe(text: str) -> str:
    """A text that may be printed: without secrets, and with control characters escaped."""
    return cut(printable(without_url_secrets(text)), _MAX_TEXT)


def _place(event: Any) -> dict[str, Any]:
    return {"host": printable(event.host), "url": _safe(event.url)}


def _seconds(event: Any) -> float:
    return round(float(event.seconds), 3)


def _use(event: events.RobotsUse) -> dict[str, Any]:
    return {
        "host": printable(event.host),
        "status": event.status,
        "fromCache": event.source != "site",
        "ageSec": round(event.age),
        "bytes": event.bytes,
    }


def _decision(event: events.UrlDecision) -> dict[str, Any]:
    verdict = event.verdict
    decision = "ALLOW" if verdict.allowed else "DISALLOW"
    return _place(event) | {"decision": decision, "reason": str(verdict.reason)}


def _request(event: events.RequestStart) -> dict[str, Any]:
    return _place(event) | {"method": event.method, "attempt": event.attempt}


def _response(event: events.RequestEnd) -> dict[str, Any]:
    cause = f"{event.cause}: {event.detail}" if event.detail else event.cause
    return _place(event) | {
        "status": event.status,
        "cause": _safe(cause),
        "seconds": _seconds(event),
        "waited": round(event.waited, 3),
        "bytes": event.bytes,
    }


def _retry(event: events.RequestRetry) -> dict[str, Any]:
    return _place(event) | {"cause": _safe(event.cause), "attempt": event.attempt}


def _backoff(event: events.HostBackoff) -> dict[str, Any]:
    host = printable(event.host)
    return {"host": host, "status": event.status, "seconds": _seconds(event)}


def _host(event: Any) -> dict[str, Any]:
    return {"host": printable(event.host)}


def _crawl_end(event: events.CrawlEnd) -> dict[str, Any]:
    return {"reason": _safe(event.reason), "pages": event.pages, **event.states}


_LISTENER = _Line(_CLIENT, _WARNING, name="listener-failure")
_LINES: Mapping[type[Event], _Line] = {
    events.RobotsUse: _Line(_RETRIEVAL, _INFO, _use),
    events.RetrievalProblem: _Line(_RETRIEVAL, _WARNING, _host),
    events.CacheProblem: _Line(_CACHE, _WARNING),
    events.UrlDecision: _Line(_CLIENT, _DEBUG, _decision, prefix="decision "),
    events.RecordCommit: _Line(
        _CLIENT,
        _DEBUG,
        lambda event: _place(event) | {"seconds": _seconds(event)},
        prefix="evidence ",
    ),
    events.HostWait: _Line(
        _CLIENT, _DEBUG, lambda event: _host(event) | {"seconds": _seconds(event)}, prefix="wait "
    ),
    events.RequestStart: _Line(_CLIENT, _DEBUG, _request, prefix="request "),
    events.RequestEnd: _Line(_CLIENT, _DEBUG, _response, prefix="response "),
    events.RequestRetry: _Line(_CLIENT, _DEBUG, _retry, prefix="retry "),
    events.HostBackoff: _Line(_CLIENT, _INFO, _backoff, prefix="backoff "),
    events.HostDeferral: _Line(
        _CLIENT,
        _INFO,
        lambda event: _place(event) | {"seconds": round(event.until - event.at, 3)},
        prefix="deferral ",
    ),
    events.SlotLoss: _Line(
        _CLIENT,
        _WARNING,
        _host,
        lambda event: f"{event.host}: the slot of a running request is lost",
    ),
    events.OperatorWarning: _Line(_CLIENT, _WARNING),
    events.BudgetWarning: _Line(_CLIENT, _WARNING),
    events.StoreOutage: _Line(_CRAWL, _WARNING),
    events.StoreReturn: _Line(_CRAWL, _WARNING),
    events.LeaseExpiry: _Line(_CRAWL, _WARNING),
    events.WorkerDeath: _Line(
        _CRAWL,
        _WARNING,
        message=lambda event: f"worker {event.worker} was not heard of; its hosts are free again",
    ),
    events.CrawlStart: _Line(
        _CRAWL, _INFO, lambda event: {"resumed": event.is_resumed}, prefix="crawl-start "
    ),
    events.WorkerJoin: _Line(_CRAWL, _INFO, prefix="worker-joined "),
    events.UrlBlock: _Line(
        _CRAWL,
        _DEBUG,
        lambda event: _place(event) | {"reason": _safe(event.reason)},
        prefix="blocked ",
    ),
    events.HostEnd: _Line(_CRAWL, _INFO, _host, prefix="host-done "),
    events.CrawlEnd: _Line(_CRAWL, _INFO, _crawl_end, prefix="crawl-end "),
}
"""The line of each event; page-start, page-end and progress are for listeners only."""


def _log(
    logger: logging.Logger, level: int, event: str, prefix: str = "", /, **values: Any
) -> None:
    text = prefix + " ".join(f"{name}=%({name})s" for name in values)
    extra = {"event": event, "fields": values, **values}
    # A single empty mapping is no argument for `logging`.
    logger.log(level, text, *([values] if values else []), extra=extra)


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return at.replace("+00:00", "Z")


class _AsJson(logging.Formatter):
    """Time, level and event of a record, then its message from level warning on, and its values."""

    def format(self, record: logging.LogRecord) -> str:
        has_values = isinstance(record.args, dict)
        return json.dumps(
            {
                "time": _time(record),
                "level": record.levelname.lower(),
                "event": getattr(record, "event", record.name),
                **({} if has_values else {"message": record.getMessage()}),
                **getattr(record, "fields", {}),
            }
        )


class _AsText(logging.Formatter):
    """A line that begins as the other messages of the command do; with the time, if asked for."""

    def __init__(self, has_time: bool) -> None:
        super().__init__()
        self._has_time = has_time

    def format(self, record: logging.LogRecord) -> str:
        at = f"{_time(record)} " if self._has_time else ""
        return f"{at}manners: {record.levelname.lower()}: {super().format(record)}"


def configure(level: str, form: Literal["text", "json"], matches: bool) -> None:
    """Print log records from a level on to standard error, for the options of the command.

    With level `none`, warnings are still printed, except those of retrievals.
    """
    log_matches(matches)
    quiet = level == "none"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_AsJson() if form == "json" else _AsText(has_time=not quiet))
    for logger in (_RETRIEVAL, _CACHE, _CLIENT, _CRAWL, _MATCHING):
        logger.handlers = [] if quiet and logger is _RETRIEVAL else [handler]
        logger.propagate = False
    _RETRIEVAL.setLevel(_NEVER if quiet else level.upper())
    for logger in (_CLIENT, _CRAWL, _CACHE):
        logger.setLevel(logging.WARNING if quiet else level.upper())
