"""A parsed file, and a file bound to an agent: parse once, check many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from manners._compiled import kernel
from manners._text import to_text
from manners.robots.agents import Choice
from manners.robots.dialects import Dialect, get
from manners.robots.directives import RequestRate, VisitTime, request_rate, seconds, visit_time
from manners.robots.groups import Directive, Gathered, Group, Rule, Sitemap, gather
from manners.robots.lines import decode, read_lines, truncate
from manners.robots.matcher import PlainMatcher, is_elsewhere, is_robots_txt
from manners.robots.patterns import RuleSet
from manners.robots.verdict import Reason, Retrieval, Verdict
from manners.urls import match_path, without_credentials

if TYPE_CHECKING or kernel is None:
    Matcher = PlainMatcher
else:
    from manners.robots.matcher import CompiledMatcher as Matcher

_T = TypeVar("_T")

MAX_BYTES = 512_000
"""RFC 9309 section 2.5: at least 500 kibibytes are read."""

_POLICIES_KEPT = 64


def parse(
    body: bytes | str,
    dialect: str | Dialect = "rfc9309",
    url: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> "Robots":
    """Parse a robots.txt. Never raises on content, whatever the bytes.

    `url` is where the file came from; `max_bytes=None` is no limit.

    >>> robots = parse("User-agent: *\\nDisallow: /private/")
    >>> print(robots.check("https://example.com/private/x", agent="MyBot"))
    disallowed: rule-matched, line 2: /private/
    """
    chosen = get(dialect)
    data, truncated = decode(body, chosen), False
    if chosen.size_limit and max_bytes is not None and len(data) > max_bytes:
        data, truncated = truncate(data, max_bytes)
    return Robots(data, chosen, url, truncated)


class PlainFile:
    """A parsed file and the policies it keeps, in plain Python."""

    __slots__ = ("_gathered", "_policies", "body", "dialect", "truncated", "url")
    body: bytes
    dialect: Dialect
    url: str | None
    truncated: bool
    _gathered: Gathered | None
    _policies: "dict[tuple[str, ...], Policy]"

    def __init__(
        self, body: bytes, dialect: Dialect, url: str | None = None, truncated: bool = False
    ) -> None:
        values = {
            "body": body,
            "dialect": dialect,
            "url": url,
            "truncated": truncated,
            "_gathered": None,
            "_policies": {},
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def policy(self, agent: str | Sequence[str]) -> "Policy":
        """This file bound to an agent, or to an agent with several names."""
        names, kept = _agent_names(agent), self._policies
        policy = kept.get(names)
        if policy is None:
            policy = Policy(cast("Robots", self), names)
            if len(kept) >= _POLICIES_KEPT:
                kept.pop(next(iter(kept)), None)
            kept[names] = policy
        return policy


if TYPE_CHECKING or kernel is None:
    File = PlainFile
else:
    from manners.robots._kernel import File


@dataclass(frozen=True, init=False)
class Robots(File):
    """A parsed robots.txt. Immutable: shared between threads, pickled, copied and compared freely.

    Groups and directives are read on first use; a policy does not need them.

    >>> robots = parse("User-agent: a\\nDisallow: /\\nSitemap: https://example.com/s.xml")
    >>> robots.groups[0].agents, robots.sitemaps[0].url
    (('a',), 'https://example.com/s.xml')
    """

    __slots__ = ()

    body: bytes = field(repr=False)
    """The file, up to the size limit, as UTF-8."""
    dialect: Dialect
    url: str | None
    """Where the file came from, if known."""
    truncated: bool
    """True when the file was cut at the size limit."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Robots, (self.body, self.dialect, self.url, self.truncated)

    def _gather(self) -> Gathered:
        gathered = self._gathered
        if gathered is None:
            gathered = gather(read_lines(self.body, self.dialect, self.url), self.dialect)
            object.__setattr__(self, "_gathered", gathered)
        return gathered

    @property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in file order."""
        return self._gather().groups

    @property
    def directives(self) -> tuple[Directive, ...]:
        """Every line that is neither User-agent nor a rule, in file order."""
        return self._gather().directives

    @property
    def too_many_rules(self) -> bool:
        """True when the file has more rules than the dialect allows: then everything is allowed."""
        limit = self.dialect.max_rules
        return limit is not None and self._gather().rule_lines > limit

    @property
    def sitemaps(self) -> tuple[Sitemap, ...]:
        """The sitemaps that the file lists; they belong to no group.

        A relative URL is resolved if the URL of the file is known.
        """
        return tuple(
            Sitemap(_resolved(directive.value, self.url), directive.line)
            for directive in self.directives
            if directive.name == "sitemap" and isinstance(directive.value, str)
        )

    @property
    def host(self) -> str | None:
        """The main mirror (Yandex); the last Host line counts."""
        hosts = [
            directive.value
            for directive in self.directives
            if directive.name == "host" and directive.value
        ]
        return str(hosts[-1]) if hosts else None

    def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Whether the agent may fetch the URL.

        >>> parse("User-agent: *\\nDisallow: /a").allowed("https://example.com/b", agent="MyBot")
        True
        """
        return self.policy(agent).allowed(url)

    def check(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """Whether the agent may fetch the URL, and why.

        >>> parse("User-agent: *\\nDisallow: /a").check("https://example.com/a", agent="x").line
        2
        """
        return self.policy(agent).check(url)


class Policy(Matcher):
    """A parsed file bound to an agent: the fast way to check many URLs.

    `allowed(url)` is one answer, `allowed_many(urls)` a list of them.

    >>> policy = parse("User-agent: *\\nCrawl-delay: 2\\nDisallow: /a").policy("MyBot")
    >>> policy.crawl_delay, policy.allowed_many(["https://example.com/a", "https://example.com/b"])
    (2.0, [False, True])
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a policy does not change: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a policy does not change: {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return (self.robots, self.agents) == (other.robots, other.agents)

    def __hash__(self) -> int:
        return hash((self.robots, self.agents))

    def __repr__(self) -> str:
        return f"Policy(robots={self.robots!r}, agents={self.agents!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.robots, self.agents)

    def check(self, url: str, retrieval: Retrieval | None = None) -> Verdict:
        """Whether the agent may fetch the URL, and why.

        `retrieval` is how the file was retrieved; the verdict carries it.
        """
        robots = self.robots
        dialect = robots.dialect
        path = dialect.normalise_path(match_path(url))
        allowed, number = self._decide(url)
        rule = self._rule(number)
        elsewhere = is_elsewhere(url, robots)
        if is_robots_txt(path, dialect):
            allowed, reason, rule = True, Reason.ROBOTS_TXT_ITSELF, None
        elif elsewhere:
            allowed, reason, rule = True, Reason.NO_GROUP, None
        elif self.too_many_rules:
            reason = Reason.TOO_MANY_RULES
        elif rule is not None:
            reason = Reason.RULE_MATCHED
        else:
            reason = Reason.NO_RULE_MATCHED if self._has_group else Reason.NO_GROUP
        return Verdict(
            allowed=allowed,
            reason=reason,
            rule=rule,
            agent="" if elsewhere else self.agent,
            specificity=0 if elsewhere else self.specificity,
            crawl_delay=None if elsewhere else self.crawl_delay,
            url=without_credentials(url) if "@" in url else url,
            path=path if path.isascii() else to_text(path.encode("latin-1")),
            dialect=dialect.name,
            truncated=robots.truncated,
            retrieval=retrieval,
        )

    def matching(self, url: str) -> list[Rule]:
        """Every rule that matches the URL, the deciding one first.

        >>> policy = parse("User-agent: *\\nDisallow: /a\\nAllow: /a/b").policy("MyBot")
        >>> [rule.line for rule in policy.matching("https://example.com/a/b")]
        [3, 2]
        """
        dialect = self.robots.dialect
        path = dialect.normalise_path(match_path(url))
        ranked = RuleSet(self.rules, dialect).ranked
        # The rules that `index_html` adds are already among the ranked ones.
        dialect = dialect.but(index_html=False)
        return [rule for rule in reversed(ranked) if rule and RuleSet([rule], dialect).best(path)]

    @property
    def choice(self) -> Choice:
        """The groups that are for this agent, and why."""
        robots = self.robots
        select, dialect = robots.dialect.select, robots.dialect
        return self._once("choice", lambda: select(robots.groups, self.agents, dialect))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules for this agent, in file order."""
        groups = self.choice.groups
        return self._once("rules", lambda: tuple(rule for group in groups for rule in group.rules))

    @property
    def is_timed(self) -> bool:
        """Whether the file has a delay, a rate or hours for this agent."""
        return bool(self._timed_lines)

    @property
    def crawl_delay(self) -> float | None:
        """Seconds the site asks this agent to wait between requests; the slowest of several."""
        if not self._timed_lines:
            return None
        return self._once("delay", lambda: max(self._timed("crawl-delay", seconds), default=None))

    @property
    def request_rate(self) -> RequestRate | None:
        """The request rate the site asks of this agent; the slowest of several."""
        if not self._timed_lines:
            return None
        return self._once("rate", self._slowest_rate)

    @property
    def licences(self) -> tuple[str, ...]:
        """The URLs of RSL licences for this agent, as written: its groups', else the file's.

        RSL 1.0 section 4.4: those of a group replace those outside of any group, before the first
        User-agent line.

        >>> body = "License: https://a.example/all\\nUser-agent: x\\nLicense: https://a.example/x"
        >>> [parse(body).policy(name).licences for name in ("x", "y")]
        [('https://a.example/x',), ('https://a.example/all',)]
        """
        lines = [line for group in self.choice.groups for line in group.directives]
        own = tuple(line.written for line in lines if line.name == "license")
        if own:
            return own
        robots = self.robots
        first = robots.groups[0].line if robots.groups else len(robots.body) + 1
        return tuple(
            line.written
            for line in robots.directives
            if line.name == "license" and line.line < first
        )

    def _slowest_rate(self) -> RequestRate | None:
        rates = self._timed("request-rate", request_rate)
        return max(rates, key=lambda rate: rate.interval, default=None)

    @property
    def visit_time(self) -> VisitTime | None:
        """The hours in which this agent may visit; the shortest window of several."""
        if not self._timed_lines:
            return None
        return self._once("window", self._shortest_window)

    def _shortest_window(self) -> VisitTime | None:
        windows = self._timed("visit-time", visit_time)
        return min(windows, key=lambda window: window.minutes, default=None)

    def _timed(self, name: str, read: Callable[[str], _T | None]) -> list[_T]:
        values = [read(text) for key, text in self._timed_lines if key == name]
        return [value for value in values if value is not None]

    def _once(self, name: str, work_out: Callable[[], _T]) -> _T:
        """A value that is computed on first use, and kept."""
        kept = self._kept
        if kept is None:
            kept = {}
            object.__setattr__(self, "_kept", kept)
        if name not in kept:
            kept[name] = work_out()
        value: _T = kept[name]
        return value


def _agent_names(agent: str | Sequence[str]) -> tuple[str, ...]:
    """The names of an agent that has one or several."""
    if isinstance(agent, str):
        return (agent,)
    names: tuple[Any, ...] = tuple(agent) if isinstance(agent, Iterable) else (agent,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("an agent is a str or a sequence of str")
    return names


def _resolved(url: str, base: str | None) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base or "", url)
    except ValueError:  # brackets without an IPv6 address
        return url


if kernel is not None:
    kernel.connect(robots_class=Robots, policy_class=Policy, agent_names=_agent_names)
