"""Which of the documented AI crawlers a robots.txt shuts out, and for what.

A site that shuts out a crawler by name says nothing to anybody else, so this is no usage signal: it
is what the owner of a site wants to see of a file. Rules are compared by automata, so "closed" and
"open" hold for every path.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from manners._text import count
from manners.lint.data.ai_crawlers import (
    AI_CRAWLERS,
    AS_OF,
    DOCUMENTED,
    OTHER_NAMES,
    AiCrawler,
)
from manners.lint.impact import Impact, compare_policies
from manners.lint.impact.agents import contents
from manners.robots.groups import Rule
from manners.robots.policy import Policy, Robots, parse
from manners.signals.claims import PURPOSES, Purpose

Access = Literal["open", "partly", "closed", "unknown"]
"""What a crawler may fetch: everything, a part, nothing. Unknown: not decided within the steps, or
a token that fetches nothing and that the file does not name, while it closes something for `*`."""

STEPS = 100_000
"""Steps of automata for each kind of rules in a file."""
MAX_NAMES = 100
"""Names without documentation that are listed."""
_UNDOCUMENTED = {crawler.name.lower() for crawler in AI_CRAWLERS if not crawler.source}


@dataclass(frozen=True, slots=True)
class CrawlerAccess:
    """What a file says to one AI crawler.

    >>> found = ai_access(parse("User-agent: GPTBot\\nDisallow: /")).crawlers[0]
    >>> print(found)
    GPTBot (OpenAI: ai-train): closed by its own group, line 2
    """

    crawler: AiCrawler
    access: Access
    may_fetch_home: bool
    """Whether it may fetch `/`."""
    group: str
    """The name of its group, as the file writes it: its own or `*`; empty if it has none."""
    rule: Rule | None = None
    """The rule that closes the home page, or else the shortest path that is closed."""
    closed_path: str = ""
    """The shortest path that it may not fetch; empty for none."""
    open_path: str = ""
    """The shortest path that it may fetch; empty for none. `/robots.txt` does not count."""

    @property
    def is_named(self) -> bool:
        """Whether the file has a group of its own for the crawler."""
        return self.group not in ("", "*")

    def __str__(self) -> str:
        crawler = self.crawler
        purposes = ", ".join(crawler.purposes)
        text = f"{crawler.name} ({crawler.company}: {purposes}): {self.access}"
        if self.access == "open":
            return text
        if self.access == "partly":
            text += f", such as {self.closed_path}"
        by = "its own group" if self.is_named else "the group for *"
        return f"{text} by {by}, line {self.rule.line}" if self.rule else text

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        crawler = self.crawler
        return {
            "name": crawler.name,
            "operator": crawler.company,
            "purposes": list(crawler.purposes),
            "fetches": crawler.fetches,
            "may_bypass": crawler.may_bypass,
            "source": crawler.source,
            "access": self.access,
            "home": self.may_fetch_home,
            "named": self.is_named,
            "group": self.group,
            "line": self.rule.line if self.rule else 0,
            "line_text": self.rule.text.strip() if self.rule else "",
            "closed_path": self.closed_path,
            "open_path": self.open_path,
        }


class PurposeAccess(NamedTuple):
    """How many of the crawlers for a purpose a file shuts out."""

    purpose: Purpose
    closed: tuple[str, ...]
    partly: tuple[str, ...]
    open: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many crawlers are documented for the purpose."""
        return len(self.closed) + len(self.partly) + len(self.open) + len(self.unknown)

    def __str__(self) -> str:
        crawlers = count(self.total, "documented crawler")
        text = f"{self.purpose}: {len(self.closed)} of {crawlers} shut out"
        return f"{text}, {len(self.partly)} in part" if self.partly else text


@dataclass(frozen=True)
class AiAccess:
    """What a file says to every documented AI crawler.

    >>> found = ai_access(parse("User-agent: GPTBot\\nUser-agent: CCBot\\nDisallow: /"))
    >>> print(found.purposes["ai-train"])
    ai-train: 2 of 16 documented crawlers shut out
    """

    crawlers: tuple[CrawlerAccess, ...]
    """One for each row of the table, in its order."""
    names_only: tuple[str, ...]
    """Other names of AI crawlers that the file has, as it writes them: not documented, or gone."""
    as_of: str = AS_OF
    """The day of the table."""

    @cached_property
    def purposes(self) -> dict[Purpose, PurposeAccess]:
        """The crawlers by what they do with pages; only purposes that one of them has."""
        found: dict[Purpose, PurposeAccess] = {}
        for purpose in PURPOSES:
            names: dict[Access, list[str]] = {"closed": [], "partly": [], "open": [], "unknown": []}
            for item in self.crawlers:
                if purpose in item.crawler.purposes:
                    names[item.access].append(item.crawler.name)
            if any(names.values()):
                found[purpose] = PurposeAccess(purpose, *map(tuple, names.values()))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "as_of": self.as_of,
            "crawlers": [item.to_dict() for item in self.crawlers],
            "purposes": {
                name: {
                    key: list(value) for key, value in item._asdict().items() if key != "purpose"
                }
                for name, item in self.purposes.items()
            },
            "names_only": list(self.names_only),
        }


def ai_access(robots: Robots, *, steps: int = STEPS) -> AiAccess:
    """Which of the documented AI crawlers a file shuts out, and for what.

    `steps` are for each kind of rules that a crawler of the table has.

    >>> found = ai_access(parse("User-agent: *\\nDisallow: /\\nAllow: /open/"))
    >>> print(found.crawlers[0])
    GPTBot (OpenAI: ai-train): partly, such as / by the group for *, line 2
    """
    policies = {crawler: robots.policy(crawler.name) for crawler in DOCUMENTED}
    impacts: dict[object, Impact] = {}
    rows: list[CrawlerAccess] = []
    for crawler, policy in policies.items():
        key = contents(policy.rules)
        if key not in impacts:
            impacts[key] = _impact(robots, policy, steps)
        rows.append(_access(crawler, policy, impacts[key]))
    return AiAccess(tuple(rows), tuple(_names_only(robots)))


def _impact(robots: Robots, policy: Policy, steps: int) -> Impact:
    """How the rules differ from a file that closes everything, or nothing: what "/" says."""
    is_open = policy.check("/").allowed
    extreme = parse(b"" if is_open else b"User-agent: *\nDisallow: /", robots.dialect)
    return compare_policies(policy, extreme.policy("*"), steps)


def _access(crawler: AiCrawler, policy: Policy, impact: Impact) -> CrawlerAccess:
    is_open, group = policy.check("/").allowed, policy.choice.agent
    witness = impact.opened if is_open else impact.closed
    path = witness.path if witness else ""
    closed_path, open_path = (path, "/") if is_open else ("/", path)
    if witness:
        access: Access = "partly"
    elif impact.is_equal:
        access = "open" if is_open else "closed"
    else:
        access = "unknown"
    # Whether `*` speaks for a token under whose name nothing is requested is documented nowhere.
    if not crawler.fetches and group in ("", "*") and access != "open":
        access = "unknown"
    # Asked for again: another crawler may have the same rules in other lines.
    rule = policy.check(closed_path).rule if closed_path else None
    return CrawlerAccess(crawler, access, is_open, group, rule, closed_path, open_path)


def _names_only(robots: Robots) -> Iterable[str]:
    """Names of AI crawlers in User-agent lines that have no row, each once."""
    found: dict[str, str] = {}
    for group in robots.groups:
        for name in group.agents:
            key = (robots.dialect.agent_key(name) or "").lower()
            if (key in OTHER_NAMES or key in _UNDOCUMENTED) and len(found) < MAX_NAMES:
                found.setdefault(key, name[: len(key)])
    return found.values()
