"""What is logged: retrievals, failures and limits, and every match when that is asked for.

Nothing is printed unless somebody asks: a program by Python's `logging`, a user of the command by
its options. Nothing that came from a server reaches a line raw.

    manners.retrieval   INFO      host, status, fromCache, ageSec, bytes, for each retrieval
                        WARNING   what failed, and what is beyond a limit
    manners.cache       WARNING   a store that does not answer
    manners.client      WARNING   a budget that is nearly used, work that waits
    manners.matching    DEBUG     path, decision, winnerPattern, matchLen; see `log_matches`
"""

import json
import logging
import sys
from typing import Any, Literal

from manners._text import printable
from manners.robots.verdict import Verdict

_RETRIEVAL = logging.getLogger("manners.retrieval")
_CACHE = logging.getLogger("manners.cache")
_CLIENT = logging.getLogger("manners.client")
_MATCHING = logging.getLogger("manners.matching")
_NEVER = logging.CRITICAL + 1

logging.getLogger("manners").addHandler(logging.NullHandler())
_MATCHING.setLevel(_NEVER)


def log_matches(wanted: bool = True) -> None:
    """Log every match at level debug, or no longer."""
    _MATCHING.setLevel(logging.DEBUG if wanted else _NEVER)


def wants_matches() -> bool:
    """Whether matches are logged."""
    return _MATCHING.level != _NEVER and _MATCHING.isEnabledFor(logging.DEBUG)


def retrieved(host: str, status: int | None, from_cache: bool, age: float, size: int) -> None:
    """A robots.txt was retrieved, or found in a store."""
    values = {
        "host": printable(host),
        "status": status,
        "fromCache": from_cache,
        "ageSec": round(age),
        "bytes": size,
    }
    _RETRIEVAL.info(_text(values), values)


def failed(problem: str) -> None:
    """Something failed, or is beyond a limit, and work goes on."""
    _RETRIEVAL.warning("%s", printable(problem))


def cache_failed(problem: str) -> None:
    """A store does not answer, and work goes on without it."""
    _CACHE.warning("%s", printable(problem))


def warned(problem: str) -> None:
    """Something that whoever runs a client or a crawl should know of."""
    _CLIENT.warning("%s", printable(problem))


def matched(verdict: Verdict) -> None:
    """A URL was matched against the rules of a file."""
    if not wants_matches():
        return
    pattern = verdict.rule.pattern if verdict.rule else None
    values = {
        "path": printable(verdict.path),
        "decision": "ALLOW" if verdict.allowed else "DISALLOW",
        "winnerPattern": None if pattern is None else printable(pattern),
        "matchLen": len(pattern or ""),
    }
    _MATCHING.debug(_text(values), values)


def _text(values: dict[str, Any]) -> str:
    return " ".join(f"{name}=%({name})s" for name in values)


class _AsJson(logging.Formatter):
    """The values of a record, and nothing else; the message where it has none."""

    def format(self, record: logging.LogRecord) -> str:
        values = record.args if isinstance(record.args, dict) else {"message": record.getMessage()}
        return json.dumps(values)


def configure(level: str, form: Literal["text", "json"], matches: bool) -> None:
    """Print to standard error what is logged from a level on, as the command's options say.

    Without a level, there is still a word about a store that somebody named and that does not work.
    """
    log_matches(matches)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _AsJson() if form == "json" else logging.Formatter("manners: %(levelname)s: %(message)s")
    )
    quiet = level == "none"
    for logger in (_RETRIEVAL, _CACHE, _CLIENT, _MATCHING):
        logger.handlers = [] if quiet and logger is _RETRIEVAL else [handler]
        logger.propagate = False
    _RETRIEVAL.setLevel(_NEVER if quiet else level.upper())
    _CLIENT.setLevel(logging.WARNING if quiet else level.upper())
    _CACHE.setLevel(logging.WARNING if quiet else level.upper())
