"""A record: what was decided about one URL, and all that is needed to decide it again. Quiet."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import msgspec

from manners._text import without_surrogates
from manners.cache.site import Site
from manners.evidence.anchoring import Anchor
from manners.evidence.chain import AnchorHead, ChainLink, Head, canonical
from manners.retrieval.profiles import Profile
from manners.robots.policy import Policy
from manners.robots.verdict import Reason, Verdict
from manners.urls import host

if TYPE_CHECKING:
    from manners.signals.decision import UsageDecision

Type = Literal[
    "robots_allowed",
    "blocked_by_robots",
    "blocked_by_exclusion",
    "usage_allowed",
    "blocked_by_usage",
]
TYPES: tuple[Type, ...] = get_args(Type)

_encode = msgspec.json.encode
"""Writes a str as RFC 8785 does, ten times as fast."""


class Snapshot(NamedTuple):
    """A robots.txt as it was received, decompressed; stored once for each SHA-256."""

    sha256: str
    body: bytes


class Draft(NamedTuple):
    """A record before it is in the chain, as it will be stored."""

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
    """Its number, counted from 1."""
    type: str
    content: Mapping[str, Any]
    """What was decided: `allowed`, `matchedRule`, `crawlDelay`, `timestamp`."""
    metadata: Mapping[str, Any]
    """About what, and why: `url`, `agent`, `reason`, `line`, `snapshot`, and more."""
    hash: str
    previous: str = ""
    """The hash of the record before it; empty if that is missing."""

    def to_dict(self) -> dict[str, Any]:
        """The record as plain values, ready for JSON: one line of an exported file."""
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
        """The record that `to_dict` wrote; ValueError if it is not one."""
        try:
            record = cls(
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
            type(record.id) is int
            and all(isinstance(text, str) for text in (record.type, record.hash, record.previous))
            and isinstance(record.content, dict)
            and isinstance(record.metadata, dict)
        )
        if not is_record:
            raise ValueError("not a record")
        return record

    @property
    def link(self) -> ChainLink:
        """The record as the chain sees it."""
        content, metadata = canonical(dict(self.content)), canonical(dict(self.metadata))
        return ChainLink(self.id, self.type, content, metadata, self.hash)

    @property
    def url(self) -> str:
        """The URL that was decided about."""
        return str(self.metadata.get("url", ""))

    def __str__(self) -> str:
        allowed = "allowed" if self.content.get("allowed") else "blocked"
        return f"{self.id} {allowed} {self.url} ({self.metadata.get('reason')})"


class StrandView(NamedTuple):
    """A strand of a store: where it begins and ends."""

    strand: int
    start: Head
    """After its last pruned record."""
    head: Head


class EvidenceView(NamedTuple):
    """Records of a store, and the chains they belong to."""

    start: Head | AnchorHead
    """Where the chain begins, after the last pruned record; with strands, the chain of anchors."""
    head: Head | AnchorHead
    """Where it ends."""
    total: int
    """How many records the store has."""
    records: Iterator[Record | Anchor]
    """Those that the filter chose; with strands, and without a filter, the anchors too."""
    strands: Sequence[StrandView] = ()
    """The strands; none for a store with one chain."""


class _Prefix(NamedTuple):
    """The beginning of a record's two texts, the same for all URLs that one rule decides."""

    type: Type
    content: str
    """Up to the timestamp, which is its last member."""
    metadata: str
    """Up to the URL; only the header that was sent comes after it."""


def _resolve(verdict: Verdict | Callable[[], Verdict]) -> Verdict:
    return verdict if isinstance(verdict, Verdict) else verdict()


class _Grounds:
    """The grounds of decisions about one site, and the prefixes written for it so far."""

    __slots__ = ("is_plain", "outcome", "prefixes", "site", "snapshot")

    def __init__(self, site: Site, outcome: dict[str, Any], snapshot: Snapshot | None) -> None:
        self.site, self.outcome, self.snapshot = site, outcome, snapshot
        robots = site.robots
        self.is_plain = (
            site.reason is None
            and site.outcome.complete
            and not robots.dialect.own_server_only
            and not robots.too_many_rules
        )
        """Whether only the rules of the file decide."""
        self.prefixes: dict[tuple[object, ...], _Prefix] = {}


_MAX_SITES = 128
"""Sites to remember: each with its parsed file."""
_MAX_PREFIXES = 1_000
"""Prefixes to remember for each site."""


@dataclass(slots=True)
class Clerk:
    """Writes records for one agent; what many records share is worked out once."""

    agent: str
    profile: Profile
    dialect: str
    engine: str
    include: tuple[str, ...] = ()
    redact_query: bool = False
    user_agent: str | None = None
    """The `User-Agent` header that is sent; None if unknown."""
    _known: dict[str, _Grounds] = field(default_factory=dict)
    _second: tuple[int, str] = (-1, "")
    _indexed_agent: str = ""
    _end: str = "}"
    _last_usage: "tuple[UsageDecision | None, str]" = (None, "")

    def __post_init__(self) -> None:
        self._indexed_agent = indexed_agent(without_surrogates(self.agent))
        if self.user_agent is not None:
            sent = _encode(without_surrogates(self.user_agent)).decode()
            self._end = f',"userAgent":{sent}}}'

    def draft(
        self,
        url: str,
        verdict: Verdict | Callable[[], Verdict],
        site: Site | None,
        now: float,
        policy: Policy | None = None,
        *,
        host_name: str = "",
        usage: "UsageDecision | None" = None,
    ) -> Draft:
        """The record of a decision that was made just now; `host_name` is the URL's, if known.

        With the agent's `policy`, a verdict is needed only for the first URL that a rule decides.
        `usage` is the decision for a purpose, if there is one.
        """
        at = int(now * 1000)
        grounds = None
        if site is not None:
            grounds = self._known.get(site.outcome.url)
            if grounds is None or grounds.site is not site:
                grounds = self._examine(site, grounds)
        is_redacted = self.redact_query and "?" in url
        prefix = self._prefix(url, verdict, grounds, is_redacted, policy)
        shown = _encode(without_surrogates(without_query(url) if is_redacted else url)).decode()
        kind = prefix.type
        if usage is not None:
            shown = f'{shown},"usage":{self._usage(usage)}'
            if usage.sources is not None and kind == "robots_allowed":
                kind = "usage_allowed"
        return Draft(
            kind,
            f'{prefix.content}"{self._stamp(at)}"}}',
            f"{prefix.metadata}{shown}{self._end}",
            host_name or host(url),
            self._indexed_agent,
            at,
            grounds.snapshot if grounds is not None else None,
        )

    def _usage(self, usage: "UsageDecision") -> str:
        """A decision for a purpose as canonical JSON; the last is remembered, most are the same."""
        if self._last_usage[0] is not usage:
            self._last_usage = usage, canonical(usage.recorded)
        return self._last_usage[1]

    def _prefix(
        self,
        url: str,
        verdict: Verdict | Callable[[], Verdict],
        grounds: _Grounds | None,
        is_redacted: bool,
        policy: Policy | None,
    ) -> _Prefix:
        if grounds is None:
            return self._compose(_resolve(verdict), None, is_redacted)
        # Where only rules decide, the number of the rule is the key. /robots.txt itself, however it
        # is escaped, is the exception.
        if policy is not None and grounds.is_plain and "%" not in url and "robots.txt" not in url:
            rule = (policy._decide(url), is_redacted)
            prefix = grounds.prefixes.get(rule)
            if prefix is None:
                prefix = self._compose(_resolve(verdict), grounds, is_redacted)
                if len(grounds.prefixes) < _MAX_PREFIXES:
                    grounds.prefixes[rule] = prefix
            return prefix
        verdict = _resolve(verdict)
        key = (verdict.reason, verdict.rule, verdict.allowed, verdict.agent, is_redacted)
        prefix = grounds.prefixes.get(key)
        if prefix is None:
            prefix = self._compose(verdict, grounds, is_redacted)
            if len(grounds.prefixes) < _MAX_PREFIXES:
                grounds.prefixes[key] = prefix
        return prefix

    def _compose(self, verdict: Verdict, grounds: _Grounds | None, is_redacted: bool) -> _Prefix:
        """The prefix of a record: all but the time, the URL and the header that was sent."""
        rule, matched = verdict.rule, matched_rule(verdict)
        metadata: dict[str, Any] = {
            "allowed": verdict.allowed,
            "matchedRule": matched,
            "crawlDelay": verdict.crawl_delay,
            "reason": verdict.reason.value,
            "line": verdict.line,
            "agent": without_surrogates(self.agent),
            "group": without_surrogates(verdict.agent),
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
                {"exclude": without_surrogates(rule.pattern)}
                if listed
                else {"include": [without_surrogates(pattern) for pattern in self.include]}
            )
        if grounds is not None:
            metadata["outcome"] = grounds.outcome
            metadata["confidence"] = grounds.site.outcome.confidence
            metadata["snapshot"] = grounds.snapshot.sha256 if grounds.snapshot else None
        content = {name: metadata[name] for name in ("allowed", "matchedRule", "crawlDelay")}
        # RFC 8785 sorts the keys: "timestamp" comes last, as do "url", "usage" and "userAgent".
        # These are added later.
        return _Prefix(
            type_of(verdict.allowed, verdict.reason),
            canonical(content)[:-1] + ',"timestamp":',
            canonical(metadata)[:-1] + ',"url":',
        )

    def _examine(self, site: Site, before: _Grounds | None) -> _Grounds:
        """The grounds that all URLs of a site share; a new `site` comes when its age changes."""
        entry, outcome = site.entry, site.outcome
        snapshot = None
        # An unreachable site may have a copy that did not decide: then it is not evidence.
        if entry is not None and entry.body is not None and (outcome.is_plain or outcome.copy):
            snapshot = before.snapshot if before and before.site.entry is entry else None
            snapshot = snapshot or Snapshot(hashlib.sha256(entry.body).hexdigest(), entry.body)
        recorded = {
            "availability": outcome.availability.value,
            "note": without_surrogates(outcome.note),
            "status": outcome.status,
            "url": without_surrogates(outcome.url),
            "at": stamp(int(outcome.at * 1000)),
            "age": round(outcome.age),
            "charset": without_surrogates(entry.charset) if entry else "",
            "complete": outcome.complete,
            "copy": outcome.copy,
            "unreachable": self.profile.unreachable,
        }
        if len(self._known) >= _MAX_SITES and before is None:
            del self._known[next(iter(self._known))]
        grounds = self._known[outcome.url] = _Grounds(site, recorded, snapshot)
        return grounds

    def _stamp(self, at: int) -> str:
        second, text = self._second
        if at // 1000 != second:
            second, text = at // 1000, stamp(at)[:-4]
            self._second = second, text
        return f"{text}{at % 1000:03}Z"


def engine() -> str:
    """What decided: this package, and its version."""
    from importlib.metadata import version

    return f"manners {version('manners')}"


def indexed_agent(agent: str) -> str:
    r"""An agent as the index has it: PostgreSQL cannot store NUL.

    >>> indexed_agent("MyBot\0")
    'MyBot�'
    """
    return agent.replace("\0", "\ufffd")


def stamp(at: int) -> str:
    """A time in milliseconds since the epoch, in ISO 8601.

    >>> stamp(1_704_067_200_000)
    '2024-01-01T00:00:00.000Z'
    """
    text = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def type_of(allowed: bool, reason: str, *, is_fetched: bool = False) -> Type:
    """The type of a record; `is_fetched` if it is about a page that was fetched.

    >>> type_of(False, "rule-matched")
    'blocked_by_robots'
    """
    if reason == Reason.EXCLUDED:
        return "blocked_by_exclusion"
    if reason == Reason.USAGE:
        return "blocked_by_usage"
    if allowed:
        return "usage_allowed" if is_fetched else "robots_allowed"
    return "blocked_by_robots"


def matched_rule(verdict: Verdict) -> str | None:
    """The deciding rule as people write it; the snapshot has its line."""
    rule = verdict.rule
    if rule is None:
        return None
    if verdict.reason in (Reason.EXCLUDED, Reason.USAGE):
        return without_surrogates(rule.text)
    return f"{'Allow' if rule.allow else 'Disallow'}: {without_surrogates(rule.pattern)}"


def without_query(url: str) -> str:
    """A URL without its query.

    >>> without_query("https://example.com/a?token=1")
    'https://example.com/a?…'
    """
    path, mark, _ = url.partition("?")
    return f"{path}?…" if mark else url


def parse(content: str, metadata: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The two texts of a stored record as values; an invalid text is empty."""
    return _parsed(content), _parsed(metadata)


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
