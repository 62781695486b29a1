"""Verdicts: may this agent fetch this URL, and what decided it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from manners._text import printable
from manners.robots.groups import Rule


class Reason(StrEnum):
    """Why a URL is allowed or disallowed.

    >>> print(Reason.RULE_MATCHED)
    rule-matched
    """

    RULE_MATCHED = "rule-matched"
    """A rule matched the path and decided."""
    NO_RULE_MATCHED = "no-rule-matched"
    """A group is for this agent, and none of its rules matches: allowed (RFC 9309 2.2.2)."""
    NO_GROUP = "no-group"
    """No group is for this agent, and there is none for `*`: allowed (RFC 9309 2.2.1)."""
    ROBOTS_TXT_ITSELF = "robots-txt-itself"
    """The URL is /robots.txt, which is always allowed (RFC 9309 2.2.2)."""
    TOO_LARGE = "too-large"
    """The file is larger than the profile reads: allowed, with a warning."""
    TOO_MANY_RULES = "too-many-rules"
    """The file has more rules than the dialect reads: allowed, with a warning."""
    EXCLUDED = "excluded"
    """The user's own settings exclude the URL."""
    UNAVAILABLE = "unavailable"
    """The site has no robots.txt: allowed (RFC 9309 2.3.1.3)."""
    UNREACHABLE = "unreachable"
    """The robots.txt could not be retrieved: disallowed (RFC 9309 2.3.1.4), unless the profile is
    open."""
    STALE_COPY = "stale-copy"
    """The robots.txt could not be retrieved, and an earlier copy decided (RFC 9309 2.4)."""
    NOT_RESPECTED = "not-respected"
    """The user's settings ignore the robots.txt of this site."""
    USAGE = "usage"
    """The site refuses the purpose that the user's settings name."""


class Retrieval(Protocol):
    """How a file was retrieved; `str()` is a short text that begins with the reason."""

    @property
    def is_plain(self) -> bool:
        """Whether the file was retrieved without anything worth a mention."""

    def to_dict(self) -> dict[str, Any]:
        """The retrieval as plain values, ready for JSON."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one agent may fetch one URL, and what decided it.

    A verdict is evidence: it can be stored, compared and printed months later, so it names the
    reason and the line instead of only saying yes or no.

    >>> str(Verdict(False, Reason.RULE_MATCHED, Rule(False, "/private/", line=3)))
    'disallowed: rule-matched, line 3: /private/'
    """

    allowed: bool
    reason: Reason
    rule: Rule | None = None
    """The deciding rule; None when no rule decided."""
    agent: str = ""
    """The name of the chosen group, as written; empty when there was none."""
    specificity: int = 0
    """How that name matched: 3 exactly, 2 as a pattern or in part, 1 as `*`, 0 not at all."""
    crawl_delay: float | None = None
    """Seconds the site asks this agent to wait between requests."""
    url: str = ""
    path: str = ""
    """The path as it was matched, after the dialect's normalisation."""
    dialect: str = ""
    truncated: bool = False
    """True when the file was cut at the size limit."""
    retrieval: Retrieval | None = None
    """How the file was retrieved, where this package retrieved it."""

    def __bool__(self) -> bool:
        return self.allowed

    def __str__(self) -> str:
        text = str(self.reason)
        if self.rule is not None:
            text += f", line {self.line}" if self.line else ""
            text += f": {printable(self.rule.pattern)}"
        if self.retrieval is not None and not self.retrieval.is_plain:
            outcome = str(self.retrieval)
            text = outcome if outcome.startswith(text) else f"{text}; {outcome}"
        return f"{'allowed' if self.allowed else 'disallowed'}: {text}"

    @property
    def line(self) -> int:
        """The number of the deciding line, counted from 1; 0 when no line decided."""
        return self.rule.line if self.rule else 0

    @property
    def line_text(self) -> str:
        """The deciding line, as written; empty when no line decided."""
        return self.rule.text if self.rule else ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as plain values, ready for JSON.

        >>> Verdict(True, Reason.NO_GROUP, url="https://example.com/").to_dict()["reason"]
        'no-group'
        """
        return {
            "allowed": self.allowed,
            "reason": self.reason.value,
            "rule": self.rule._asdict() if self.rule else None,
            "line": self.line,
            "line_text": self.line_text,
            "agent": self.agent,
            "specificity": self.specificity,
            "crawl_delay": self.crawl_delay,
            "url": self.url,
            "path": self.path,
            "dialect": self.dialect,
            "truncated": self.truncated,
            "retrieval": self.retrieval.to_dict() if self.retrieval else None,
        }
