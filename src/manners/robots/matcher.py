"""The rules for one agent, ready for checks: in plain Python, and compiled.

Both classes give the same answers. The plain one is the reference; the compiled one is faster, and
creates a `Rule` only on demand.
"""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from manners._compiled import kernel
from manners.errors import InvalidURL
from manners.robots import agents, patterns
from manners.robots.dialects import Dialect
from manners.robots.groups import Group, Rule
from manners.robots.lines import known_keys, read_line
from manners.robots.patterns import RuleSet, index_html_pattern
from manners.urls import match_path, origin

if TYPE_CHECKING:
    from manners.robots.policy import Robots

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*+):").match


class PlainMatcher:
    """The rules for one agent, in plain Python."""

    __slots__ = (
        *("agent", "agents", "robots", "specificity", "too_many_rules"),
        *("_allows", "_best", "_has_group", "_kept", "_normalise_path", "_ranked", "_timed_lines"),
    )
    robots: "Robots"
    agents: tuple[str, ...]
    """The names of the agent."""
    agent: str
    """The name of the chosen group, as written."""
    specificity: int
    """How that name matched: 3 exactly, 2 as a pattern or in part, 1 as `*`, 0 not at all."""
    _has_group: bool
    """Whether any group is for this agent."""
    too_many_rules: bool
    """Whether the file has more rules than the dialect reads, so that it allows everything."""
    _timed_lines: tuple[tuple[str, str], ...]
    """Names and texts of the Crawl-delay, Request-rate and Visit-time lines for this agent."""
    _kept: dict[str, Any] | None
    """Values that a policy computed once."""
    _normalise_path: Callable[[str], str]
    _best: Callable[[str], int]
    _ranked: list[Rule | None]
    _allows: list[bool]

    def __init__(self, robots: "Robots", names: tuple[str, ...]) -> None:
        dialect = robots.dialect
        choice = dialect.select(robots.groups, names, dialect)
        rules = [rule for group in choice.groups for rule in group.rules]
        rule_set = RuleSet([] if robots.too_many_rules else rules, dialect)
        values = {
            "robots": robots,
            "agents": names,
            "agent": choice.agent,
            "specificity": choice.specificity,
            "_has_group": bool(choice.groups),
            "too_many_rules": robots.too_many_rules,
            "_timed_lines": agents.timed_for(choice, dialect),
            "_normalise_path": dialect.normalise_path,
            "_kept": None,
            "_best": rule_set.best,
            "_ranked": rule_set.ranked,
            # An empty pattern, where the dialect keeps it, never disallows.
            "_allows": [rule is None or rule.allow or not rule.pattern for rule in rule_set.ranked],
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def allowed(self, url: str) -> bool:
        """Whether the agent may fetch the URL."""
        path = self._normalise_path(match_path(url))
        if self._allows[self._best(path)]:
            return True
        return is_robots_txt(path, self.robots.dialect) or is_elsewhere(url, self.robots)

    def allowed_many(self, urls: Iterable[str]) -> list[bool]:
        """Whether the agent may fetch each of many URLs."""
        return [self.allowed(url) for url in urls]

    def _decide(self, url: str) -> tuple[bool, int]:
        """Whether the rules allow a URL, and the number of the deciding rule; 0 for none."""
        rank = self._best(self._normalise_path(match_path(url)))
        return self._allows[rank], rank

    def _rule(self, number: int) -> Rule | None:
        """The rule with a number from `_decide`."""
        return self._ranked[number]


def is_robots_txt(path: str, dialect: Dialect) -> bool:
    """Whether a path is /robots.txt, where the dialect always allows that."""
    return dialect.robots_txt_allowed and (path == "/robots.txt" or path.startswith("/robots.txt?"))


def is_elsewhere(url: str, robots: "Robots") -> bool:
    """Whether a URL is on another server, to which the file does not apply."""
    if not robots.dialect.own_server_only:
        return False
    scheme = _SCHEME(url)
    if scheme is not None and scheme[1].lower() not in ("http", "https"):
        return True
    if robots.url is None:
        return False
    try:
        return origin(url) != origin(robots.url)
    except InvalidURL:  # a bare path is a path of this server
        return False


if kernel is None:
    CompiledMatcher: Any = None
else:

    class CompiledMatcher(kernel.Matcher):  # type: ignore[misc, no-redef]
        """The rules for one agent, compiled."""

        __slots__ = ()

        def _rule(self, number: int) -> Rule | None:
            """The rule with a number from `_decide`, read from its line."""
            if number == 0:
                return None
            robots = self.robots
            at, raw, derived = self._rule_line(number)
            line = read_line(at, raw, robots.dialect, known_keys(robots.dialect), robots.url)
            pattern = line.pattern or ""
            if derived:
                pattern = index_html_pattern(pattern) or pattern
            return Rule(line.kind == "allow", pattern, at, line.text)

    _CODES: dict[Any, int] = {
        agents.token_key: kernel.KEY_TOKEN,
        agents.google_token_key: kernel.KEY_GOOGLE,
        agents.whole_key: kernel.KEY_WHOLE,
        patterns.rfc_path: kernel.NORM_RFC_PATH,
        patterns.rfc_pattern: kernel.NORM_RFC_PATTERN,
        patterns.literal_path: kernel.NORM_LITERAL,
        patterns.literal_pattern: kernel.NORM_LITERAL,
        patterns.google_pattern: kernel.NORM_GOOGLE,
        patterns.raw_path: kernel.NORM_RAW,
        patterns.escaped_path: kernel.NORM_ESCAPED,
        patterns.resolved_pattern: kernel.NORM_ESCAPED,
        patterns.scanner_path: kernel.NORM_SCANNER_PATH,
        patterns.scanner_pattern: kernel.NORM_SCANNER_PATTERN,
    }

    def _config(dialect: Dialect) -> Any:
        """A dialect in the kernel's numbers; a function the kernel lacks is called from it."""
        known, prefixes = known_keys(dialect)
        return kernel.Config(
            dialect,
            known=known,
            prefixes=prefixes,
            selects_by_name=dialect.select is agents.by_name,
            needs_groups=_needs_groups(dialect),
            key_code=_CODES.get(dialect.agent_key, 0),
            path_code=_CODES.get(dialect.normalise_path, 0),
            pattern_code=_CODES.get(dialect.normalise_pattern, 0),
            make_group=Group,
        )

    def _needs_groups(dialect: Dialect) -> bool:
        """Whether choosing groups may depend on more than names; a user's own function may."""
        return dialect.empty_section_falls_back or dialect.select not in (
            agents.by_name,
            agents.by_specificity,
            agents.first_record,
            agents.exact_then_partial,
        )

    kernel.connect(make_config=_config, is_elsewhere=is_elsewhere)
