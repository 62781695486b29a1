"""A parsed file, and a file bound to an agent: parse once, check many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from manners._text import to_text
from manners.errors import InvalidURL
from manners.robots.agents import Choice
from manners.robots.dialects import Dialect, get
from manners.robots.directives import RequestRate, Value, VisitTime
from manners.robots.groups import Directive, Group, Rule, Sitemap, gather
from manners.robots.lines import decode, read_lines, truncate
from manners.robots.patterns import RuleSet
from manners.robots.verdict import Reason, Verdict
from manners.urls import match_path, origin

MAX_BYTES = 512_000
"""RFC 9309 section 2.5: at least 500 kibibytes are read."""

_POLICIES_KEPT = 16


def parse(
    body: bytes | str,
    dialect: str | Dialect = "rfc9309",
    url: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> "Robots":
    """A robots.txt, read. Never raises on content, whatever the bytes.

    `url` says where the file came from; `max_bytes=None` reads it whole.

    >>> robots = parse("User-agent: *\\nDisallow: /private/")
    >>> print(robots.check("https://example.com/private/x", agent="MyBot"))
    disallowed: rule-matched, line 2: /private/
    """
    chosen = get(dialect)
    data, truncated = truncate(decode(body, chosen), max_bytes if chosen.size_limit else None)
    return Robots(data, chosen, url, truncated)


@dataclass(frozen=True, slots=True)
class Robots:
    """A parsed robots.txt. Immutable: shared between threads, pickled, copied and compared freely.

    >>> robots = parse("User-agent: a\\nDisallow: /\\nSitemap: https://example.com/s.xml")
    >>> robots.groups[0].agents, robots.sitemaps[0].url
    (('a',), 'https://example.com/s.xml')
    """

    body: bytes = field(repr=False)
    """What was read of the file, as UTF-8."""
    dialect: Dialect
    url: str | None = None
    """Where the file came from, when that is known."""
    truncated: bool = False
    """True when the file was longer than what was read of it."""
    groups: tuple[Group, ...] = field(init=False, repr=False, compare=False)
    directives: tuple[Directive, ...] = field(init=False, repr=False, compare=False)
    """Every line that is neither User-agent nor a rule, in file order."""
    too_many_rules: bool = field(init=False, repr=False, compare=False)
    """True when the file has more rules than the dialect reads, so that it allows everything."""
    _policies: dict[object, "Policy"] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        gathered = gather(read_lines(self.body, self.dialect, self.url), self.dialect)
        limit = self.dialect.max_rules
        derived = {
            "groups": gathered.groups,
            "directives": gathered.directives,
            "too_many_rules": limit is not None and gathered.rule_lines > limit,
            "_policies": {},
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robots, (self.body, self.dialect, self.url, self.truncated)

    @property
    def sitemaps(self) -> tuple[Sitemap, ...]:
        """The sitemaps the file names; they belong to no group.

        A relative URL is resolved when it is known where the file came from.
        """
        return tuple(
            Sitemap(_resolved(each.value, self.url), each.line)
            for each in self.directives
            if each.name == "sitemap" and isinstance(each.value, str)
        )

    @property
    def host(self) -> str | None:
        """The main mirror the file names (Yandex); the last line counts."""
        hosts = [each.value for each in self.directives if each.name == "host" and each.value]
        return str(hosts[-1]) if hosts else None

    def policy(self, agent: str | Sequence[str]) -> "Policy":
        """This file bound to an agent; an agent with several names takes a sequence of them."""
        names = (agent,) if isinstance(agent, str) else tuple(agent)
        policy = self._policies.get(names)
        if policy is None:
            policy = Policy(self, names)
            if len(self._policies) >= _POLICIES_KEPT:
                self._policies.clear()
            self._policies[names] = policy
        return policy

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


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed file bound to an agent: the fast way to check many URLs.

    >>> policy = parse("User-agent: *\\nCrawl-delay: 2\\nDisallow: /a").policy("MyBot")
    >>> policy.crawl_delay, policy.allowed_many(["https://example.com/a", "https://example.com/b"])
    (2.0, [False, True])
    """

    robots: Robots
    agents: tuple[str, ...]
    """The names of the agent."""
    choice: Choice = field(init=False, repr=False, compare=False)
    """The groups that are for this agent, and why."""
    rules: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    """The rules that count, in file order."""
    _ranked: list[Rule | None] = field(init=False, repr=False, compare=False)
    _best: Callable[[str], int] = field(init=False, repr=False, compare=False)
    """From a normalised path to the rank of the deciding rule."""
    _normalise_path: Callable[[str], str] = field(init=False, repr=False, compare=False)
    _allows: list[bool] = field(init=False, repr=False, compare=False)
    """By rank: whether the rule allows."""

    def __post_init__(self) -> None:
        robots, dialect = self.robots, self.robots.dialect
        choice = dialect.select(robots.groups, self.agents, dialect)
        rules = tuple(rule for group in choice.groups for rule in group.rules)
        rule_set = RuleSet(() if robots.too_many_rules else rules, dialect)
        derived = {
            "choice": choice,
            "rules": rules,
            "_ranked": rule_set.ranked,
            "_best": rule_set.best,
            "_normalise_path": dialect.normalise_path,
            # An empty pattern, where the dialect keeps it, never disallows.
            "_allows": [rule is None or rule.allow or not rule.pattern for rule in rule_set.ranked],
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.robots, self.agents)

    def allowed(self, url: str) -> bool:
        """Whether the agent may fetch the URL."""
        path = self._normalise_path(match_path(url))
        if self._allows[self._best(path)]:
            return True
        return self._is_robots_txt(path) or self._is_elsewhere(url)

    def allowed_many(self, urls: Iterable[str]) -> list[bool]:
        """Whether the agent may fetch each of many URLs."""
        return [self.allowed(url) for url in urls]

    def check(self, url: str) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        robots, choice = self.robots, self.choice
        path = self._normalise_path(match_path(url))
        rank = self._best(path)
        rule = self._ranked[rank]
        allowed = self._allows[rank]
        if self._is_robots_txt(path):
            allowed, reason, rule = True, Reason.ROBOTS_TXT_ITSELF, None
        elif self._is_elsewhere(url):
            allowed, reason, rule, choice = True, Reason.NO_GROUP, None, Choice()
        elif robots.too_many_rules:
            reason = Reason.TOO_MANY_RULES
        elif rule is not None:
            reason = Reason.RULE_MATCHED
        else:
            reason = Reason.NO_RULE_MATCHED if choice.groups else Reason.NO_GROUP
        return Verdict(
            allowed=allowed,
            reason=reason,
            rule=rule,
            agent=choice.agent,
            specificity=choice.specificity,
            crawl_delay=self.crawl_delay,
            url=url,
            path=path if path.isascii() else to_text(path.encode("latin-1")),
            dialect=robots.dialect.name,
            truncated=robots.truncated,
        )

    def matching(self, url: str) -> list[Rule]:
        """Every rule that matches the URL, the deciding one first.

        >>> policy = parse("User-agent: *\\nDisallow: /a\\nAllow: /a/b").policy("MyBot")
        >>> [rule.line for rule in policy.matching("https://example.com/a/b")]
        [3, 2]
        """
        path = self._normalise_path(match_path(url))
        # The rules that `index_html` made are among the ranked ones already.
        dialect = self.robots.dialect.but(index_html=False)
        ranked = reversed(self._ranked)
        return [rule for rule in ranked if rule and RuleSet([rule], dialect).best(path)]

    @property
    def crawl_delay(self) -> float | None:
        """Seconds the site asks this agent to wait between requests; the slowest of several."""
        values = [value for value in self._timed("crawl-delay") if isinstance(value, float)]
        return max(values, default=None)

    @property
    def request_rate(self) -> RequestRate | None:
        """The rate the site asks this agent to keep to; the slowest of several."""
        values = [value for value in self._timed("request-rate") if isinstance(value, RequestRate)]
        return max(values, key=lambda rate: rate.interval, default=None)

    @property
    def visit_time(self) -> VisitTime | None:
        """The hours in which the site wants this agent; the shortest of several."""
        values = [value for value in self._timed("visit-time") if isinstance(value, VisitTime)]
        return min(values, key=lambda window: window.minutes, default=None)

    def _timed(self, name: str) -> list[Value | None]:
        key = self.robots.dialect.agent_key
        return [
            directive.value
            for group in self.choice.groups
            for directive in group.directives
            if directive.name == name and any(key(a) in self.choice.keys for a in directive.agents)
        ]

    def _is_elsewhere(self, url: str) -> bool:
        if self.robots.url is None or not self.robots.dialect.own_server_only:
            return False
        try:
            return origin(url) != origin(self.robots.url)
        except InvalidURL:  # a bare path is a path of this server
            return False

    def _is_robots_txt(self, path: str) -> bool:
        return self.robots.dialect.robots_txt_allowed and (
            path == "/robots.txt" or path.startswith("/robots.txt?")
        )


def _resolved(url: str, base: str | None) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base or "", url)
    except ValueError:  # brackets that are no IPv6 address: the text is all there is
        return url
