"""A record: what was decided about one URL, and all that is needed to decide it again. Quiet."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from manners._text import to_bytes
from manners.cache.site import Site
from manners.evidence.chain import Link, canonical
from manners.retrieval.profiles import Profile
from manners.robots.policy import Policy
from manners.robots.verdict import Reason, Verdict
from manners.urls import host

Type = Literal["robots_allowed", "blocked_by_robots", "blocked_by_exclusion"]
TYPES: tuple[Type, ...] = ("robots_allowed", "blocked_by_robots", "blocked_by_exclusion")

_encode = msgspec.json.encode
"""For a str this is what RFC 8785 asks for, at a tenth of the time."""


class Snapshot(NamedTuple):
    """A robots.txt as it was received, decompressed; stored once for each content."""

    sha256: str
    body: bytes


class Draft(NamedTuple):
    """A record that is not in the chain yet, as it will be stored."""

    type: Type
    content: str
    """Canonical JSON, like the next."""
    metadata: str
    host: str
    agent: str
    at: int
    """Milliseconds since the epoch."""
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A record in the chain of a store."""

    id: int
    """Its number, counted from 1 in each store."""
    type: str
    content: Mapping[str, Any]
    """What was decided: `allowed`, `matchedRule`, `crawlDelay`, `timestamp`."""
    metadata: Mapping[str, Any]
    """About what, and on which grounds: `url`, `agent`, `reason`, `line`, `snapshot`, and more."""
    hash: str
    previous: str = ""
    """The hash of the record before it, where that is known."""

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, ready for JSON: what an exported file has line by line."""
        return {
            "id": self.id,
            "type": self.type,
            "content": dict(self.content),
            "metadata": dict(self.metadata),
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Record":
        """The record that `to_dict` wrote; what is none is a ValueError."""
        try:
            made = cls(
                values["id"],
                values["type"],
                values["content"],
                values["metadata"],
                values["hash"],
                values.get("previous", ""),
            )
        except (KeyError, TypeError, AttributeError):
            raise ValueError("not a record") from None
        is_record = (
            type(made.id) is int
            and all(isinstance(each, str) for each in (made.type, made.hash, made.previous))
            and isinstance(made.content, dict)
            and isinstance(made.metadata, dict)
        )
        if not is_record:
            raise ValueError("not a record")
        return made

    @property
    def link(self) -> Link:
        """The record as the chain sees it."""
        content, metadata = canonical(dict(self.content)), canonical(dict(self.metadata))
        return Link(self.id, self.type, content, metadata, self.hash)

    @property
    def url(self) -> str:
        """What was decided about."""
        return str(self.metadata.get("url", ""))

    def __str__(self) -> str:
        allowed = "allowed" if self.content.get("allowed") else "blocked"
        return f"{self.id} {allowed} {self.url} ({self.metadata.get('reason')})"


class _Words(NamedTuple):
    """The beginnings of a record's two texts, which are the same wherever the same decided."""

    type: Type
    content: str
    """Up to the timestamp, which comes last."""
    metadata: str
    """Up to the URL; behind it comes only the header that was sent."""


def _written(verdict: Verdict | Callable[[], Verdict]) -> Verdict:
    return verdict if isinstance(verdict, Verdict) else verdict()


class _Grounds:
    """What decisions about one site rest on, and what was said about it so far."""

    __slots__ = ("is_plain", "outcome", "site", "snapshot", "words")

    def __init__(self, site: Site, outcome: dict[str, Any], snapshot: Snapshot | None) -> None:
        self.site, self.outcome, self.snapshot = site, outcome, snapshot
        robots = site.robots
        self.is_plain = (
            site.reason is None
            and site.outcome.complete
            and not robots.dialect.own_server_only
            and not robots.too_many_rules
        )
        """Whether the rules of the file decide, and nothing else."""
        self.words: dict[tuple[object, ...], _Words] = {}


_SITES = 128
"""Sites of which it is remembered what decisions rest on: each is held with its whole file."""
_WORDS = 1_000
"""Ways to say it that are remembered for each."""


@dataclass(slots=True)
class Clerk:
    """Writes down decisions for one agent; what is the same for many is worked out once."""

    agent: str
    profile: Profile
    dialect: str
    engine: str
    include: tuple[str, ...] = ()
    redact_query: bool = False
    user_agent: str | None = None
    """The header that is sent; None where that is not known."""
    _known: dict[str, _Grounds] = field(default_factory=dict)
    _second: tuple[int, str] = (-1, "")
    _filed: str = ""
    _end: str = "}"

    def __post_init__(self) -> None:
        self._filed = filed_agent(_clean(self.agent))
        if self.user_agent is not None:
            sent = _encode(_clean(self.user_agent)).decode()
            self._end = f',"userAgent":{sent}}}'

    def draft(
        self,
        url: str,
        verdict: Verdict | Callable[[], Verdict],
        site: Site | None,
        now: float,
        policy: Policy | None = None,
    ) -> Draft:
        """The record of a decision that was made just now.

        With the agent's policy, which decided, the verdict need not be written out where one that
        rests on the same rule was before.
        """
        at = int(now * 1000)
        grounds = None
        if site is not None:
            grounds = self._known.get(site.outcome.url)
            if grounds is None or grounds.site is not site:
                grounds = self._look_at(site, grounds)
        is_redacted = self.redact_query and "?" in url
        words = self._words(url, verdict, grounds, is_redacted, policy)
        shown = _encode(_clean(without_query(url) if is_redacted else url)).decode()
        return Draft(
            words.type,
            f'{words.content}"{self._stamp(at)}"}}',
            f"{words.metadata}{shown}{self._end}",
            host(url),
            self._filed,
            at,
            grounds.snapshot if grounds is not None else None,
        )

    def _words(
        self,
        url: str,
        verdict: Verdict | Callable[[], Verdict],
        grounds: _Grounds | None,
        is_redacted: bool,
        policy: Policy | None,
    ) -> _Words:
        if grounds is None:
            return self._put(_written(verdict), None, is_redacted)
        # Where the rules alone decide, the number of the rule says it all: what is left is
        # /robots.txt itself, however it is escaped.
        if policy is not None and grounds.is_plain and "%" not in url and "robots.txt" not in url:
            rule = (policy._decide(url), is_redacted)
            words = grounds.words.get(rule)
            if words is None:
                words = self._put(_written(verdict), grounds, is_redacted)
                if len(grounds.words) < _WORDS:
                    grounds.words[rule] = words
            return words
        verdict = _written(verdict)
        # What decided, and how; where no rule did, the reason says it.
        key = (verdict.reason, verdict.rule, verdict.allowed, verdict.agent, is_redacted)
        words = grounds.words.get(key)
        if words is None:
            words = self._put(verdict, grounds, is_redacted)
            if len(grounds.words) < _WORDS:
                grounds.words[key] = words
        return words

    def _put(self, verdict: Verdict, grounds: _Grounds | None, is_redacted: bool) -> _Words:
        """The beginning of what is said about a decision: all but when, and about which URL."""
        rule, matched = verdict.rule, matched_rule(verdict)
        metadata: dict[str, Any] = {
            "allowed": verdict.allowed,
            "matchedRule": matched,
            "crawlDelay": verdict.crawl_delay,
            "reason": verdict.reason.value,
            "line": verdict.line,
            "agent": _clean(self.agent),
            "group": _clean(verdict.agent),
            "dialect": self.dialect,
            "profile": self.profile.name,
            "engine": self.engine,
            "confidence": "high",
            "snapshot": None,
            "outcome": None,
        }
        if is_redacted:
            metadata["redacted"] = True
        if verdict.reason is Reason.EXCLUDED and rule is not None:
            listed = rule.text.startswith("exclude: ")
            metadata["exclusion"] = (
                {"exclude": _clean(rule.pattern)} if listed else {"include": list(self.include)}
            )
        if grounds is not None:
            metadata["outcome"] = grounds.outcome
            metadata["confidence"] = grounds.site.outcome.confidence
            metadata["snapshot"] = grounds.snapshot.sha256 if grounds.snapshot else None
        content = {name: metadata[name] for name in ("allowed", "matchedRule", "crawlDelay")}
        # By RFC 8785 keys are sorted: "timestamp" comes last, and so do "url" and "userAgent". They
        # are put in later.
        return _Words(
            type_of(verdict.allowed, verdict.reason),
            canonical(content)[:-1] + ',"timestamp":',
            canonical(metadata)[:-1] + ',"url":',
        )

    def _look_at(self, site: Site, before: _Grounds | None) -> _Grounds:
        """What is the same for every URL of a site; it is looked at again when its age changes."""
        entry, outcome = site.entry, site.outcome
        snapshot = None
        # A site that cannot be reached may have a copy that does not decide: it is no ground then.
        if entry is not None and entry.body is not None and (outcome.is_plain or outcome.copy):
            snapshot = before.snapshot if before and before.site.entry is entry else None
            snapshot = snapshot or Snapshot(hashlib.sha256(entry.body).hexdigest(), entry.body)
        said = {
            "availability": outcome.availability.value,
            "note": _clean(outcome.note),
            "status": outcome.status,
            "url": _clean(outcome.url),
            "at": stamp(int(outcome.at * 1000)),
            "age": round(outcome.age),
            "charset": _clean(entry.charset) if entry else "",
            "complete": outcome.complete,
            "copy": outcome.copy,
            "unreachable": self.profile.unreachable,
        }
        if len(self._known) >= _SITES and before is None:
            del self._known[next(iter(self._known))]
        made = self._known[outcome.url] = _Grounds(site, said, snapshot)
        return made

    def _stamp(self, at: int) -> str:
        second, text = self._second
        if at // 1000 != second:
            second, text = at // 1000, stamp(at)[:-4]
            self._second = second, text
        return f"{text}{at % 1000:03}Z"


def engine() -> str:
    """What decides: this package, and its version."""
    from importlib.metadata import version

    return f"manners {version('manners')}"


def filed_agent(agent: str) -> str:
    r"""An agent as it is searched for: PostgreSQL keeps no NUL.

    >>> filed_agent("MyBot\0")
    'MyBot�'
    """
    return agent.replace("\0", "\ufffd")


def stamp(at: int) -> str:
    """A time in milliseconds since the epoch as ISO 8601 writes it.

    >>> stamp(1_704_067_200_000)
    '2024-01-01T00:00:00.000Z'
    """
    made = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return made.replace("+00:00", "Z")


def type_of(allowed: bool, reason: str) -> Type:
    """The type of a record.

    >>> type_of(False, "rule-matched")
    'blocked_by_robots'
    """
    if reason == Reason.EXCLUDED:
        return "blocked_by_exclusion"
    return "robots_allowed" if allowed else "blocked_by_robots"


def matched_rule(verdict: Verdict) -> str | None:
    """The deciding rule as people write it; its line stands in the snapshot."""
    rule = verdict.rule
    if rule is None:
        return None
    if verdict.reason is Reason.EXCLUDED:
        return _clean(rule.text)
    return f"{'Allow' if rule.allow else 'Disallow'}: {_clean(rule.pattern)}"


def _clean(text: str) -> str:
    """Text that JSON can hold: bytes that are no UTF-8 are replaced."""
    if text.isascii():
        return text
    return to_bytes(text).decode("utf-8", "replace")


def without_query(url: str) -> str:
    """A URL whose query is nobody's business.

    >>> without_query("https://example.com/a?token=1")
    'https://example.com/a?…'
    """
    path, mark, _ = url.partition("?")
    return f"{path}?…" if mark else url


def parse(content: str, metadata: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two texts of a stored record as values; what cannot be read is empty."""
    return _parsed(content), _parsed(metadata)


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
