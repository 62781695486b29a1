"""Logging: retrievals, requests, waits and retries, failures and limits, matches.

Nothing is printed by default: a program turns it on with Python's `logging`, a user of the command
with its options. Text from a server is escaped. Each function here is one kind of event;
`record.event` has its name.

    manners.retrieval   INFO      retrieval: host, status, fromCache, ageSec, bytes, for each use
                                  of a robots.txt
                        WARNING   retrieval-failure: a failure, or a limit exceeded
    manners.cache       WARNING   cache-failure: a store that does not answer
    manners.client      INFO      backoff: host, status, seconds
                        WARNING   warning: a budget that is nearly used up, work that waits
                        DEBUG     decision: url, decision, reason; wait: host, seconds;
                                  response: url, status, cause, seconds, waited, bytes;
                                  retry: url, cause, attempt
    manners.matching    DEBUG     match: path, decision, winnerPattern, matchLen; see `log_matches`
"""

import json
import logging
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from manners._text import printable
from manners.net.messages import Response, Unreachable
from manners.robots.verdict import Verdict

_RETRIEVAL = logging.getLogger("manners.retrieval")
_CACHE = logging.getLogger("manners.cache")
_CLIENT = logging.getLogger("manners.client")
_MATCHING = logging.getLogger("manners.matching")
_NEVER = logging.CRITICAL + 1

logging.getLogger("manners").addHandler(logging.NullHandler())
_MATCHING.setLevel(_NEVER)


def log_matches(wanted: bool = True) -> None:
    """Turn logging of every match, at level debug, on or off."""
    _MATCHING.setLevel(logging.DEBUG if wanted else _NEVER)


def wants_matches() -> bool:
    """Whether matches are logged."""
    return _MATCHING.level != _NEVER and _MATCHING.isEnabledFor(logging.DEBUG)


wants_uses = partial(_RETRIEVAL.isEnabledFor, logging.INFO)
"""Whether each use of a robots.txt is logged."""
wants_requests = partial(_CLIENT.isEnabledFor, logging.DEBUG)
"""Whether decisions, waits, responses and retries are logged."""


def retrieved(host: str, status: int | None, from_cache: bool, age: float, size: int) -> None:
    """A robots.txt was used: just retrieved, or from memory or a store."""
    _log(
        _RETRIEVAL,
        logging.INFO,
        "retrieval",
        host=printable(host),
        status=status,
        fromCache=from_cache,
        ageSec=round(age),
        bytes=size,
    )


def failed(problem: str) -> None:
    """A retrieval failed, or exceeded a limit."""
    _warn(_RETRIEVAL, "retrieval-failure", problem)


def cache_failed(problem: str) -> None:
    """A store does not answer; the cache goes on without it."""
    _warn(_CACHE, "cache-failure", problem)


def warned(problem: str) -> None:
    """A warning to the user of a client or a crawl."""
    _warn(_CLIENT, "warning", problem)


def decided(verdict: Verdict) -> None:
    """A URL was decided on."""
    _request(
        "decision",
        url=printable(verdict.url),
        decision="ALLOW" if verdict.allowed else "DISALLOW",
        reason=str(verdict.reason),
    )


def waiting(host: str, seconds: float) -> None:
    """A request waits for its start time; after that, it may wait for a slot."""
    _request("wait", host=printable(host), seconds=round(seconds, 3))


def responded(url: str, reply: Response | Unreachable, waited: float) -> None:
    """A request was answered, or failed."""
    status, cause, size = None, "", 0
    if isinstance(reply, Response):
        status, size = reply.status, len(reply.body)
    else:
        cause = printable(reply.full)
    _request(
        "response",
        url=printable(url),
        status=status,
        cause=cause,
        seconds=round(reply.seconds, 3),
        waited=round(waited, 3),
        bytes=size,
    )


def retried(url: str, cause: str, attempt: int) -> None:
    """A request is retried; `attempt` counts from 1, so that the first retry is 2."""
    _request("retry", url=printable(url), cause=printable(cause), attempt=attempt)


def backed_off(host: str, status: int, seconds: float) -> None:
    """A host is overloaded, and gets no requests for some seconds."""
    _log(
        _CLIENT,
        logging.INFO,
        "backoff",
        "backoff ",
        host=printable(host),
        status=status,
        seconds=round(seconds, 3),
    )


def matched(verdict: Verdict) -> None:
    """A URL was matched against the rules of a file."""
    if not wants_matches():
        return
    pattern = verdict.rule.pattern if verdict.rule else None
    _log(
        _MATCHING,
        logging.DEBUG,
        "match",
        path=printable(verdict.path),
        decision="ALLOW" if verdict.allowed else "DISALLOW",
        winnerPattern=None if pattern is None else printable(pattern),
        matchLen=len(pattern or ""),
    )


def _request(event: str, **values: Any) -> None:
    _log(_CLIENT, logging.DEBUG, event, f"{event} ", **values)


def _log(
    logger: logging.Logger, level: int, event: str, prefix: str = "", /, **values: Any
) -> None:
    text = prefix + " ".join(f"{name}=%({name})s" for name in values)
    logger.log(level, text, values, extra={"event": event})


def _warn(logger: logging.Logger, event: str, problem: str) -> None:
    logger.warning("%s", printable(problem), extra={"event": event})


class _AsJson(logging.Formatter):
    """Time, level and event of a record, then its values, or its message if it has none."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values = record.args if isinstance(record.args, dict) else {"message": record.getMessage()}
        return json.dumps(
            {
                "time": at.replace("+00:00", "Z"),
                "level": record.levelname.lower(),
                "event": getattr(record, "event", record.name),
                **values,
            }
        )


class _AsText(logging.Formatter):
    """A line that begins as the other messages of the command do."""

    def format(self, record: logging.LogRecord) -> str:
        return f"manners: {record.levelname.lower()}: {super().format(record)}"


def configure(level: str, form: Literal["text", "json"], matches: bool) -> None:
    """Print log records from a level on to standard error, for the options of the command.

    With level `none`, warnings are still printed, except those of retrievals.
    """
    log_matches(matches)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_AsJson() if form == "json" else _AsText())
    quiet = level == "none"
    for logger in (_RETRIEVAL, _CACHE, _CLIENT, _MATCHING):
        logger.handlers = [] if quiet and logger is _RETRIEVAL else [handler]
        logger.propagate = False
    _RETRIEVAL.setLevel(_NEVER if quiet else level.upper())
    _CLIENT.setLevel(logging.WARNING if quiet else level.upper())
    _CACHE.setLevel(logging.WARNING if quiet else level.upper())
