"""What a line of a robots.txt is, and who reads it how: text for people, in Markdown."""

from manners._text import count, cut, printable, to_text
from manners.lint.impact.automata import Automata
from manners.lint.impact.redundancy import RuleStatus, status_of
from manners.lint.impact.rule_list import RuleList
from manners.lint.impact.searching import SearchTools, StepBudget
from manners.lint.impact.spaces import space_of
from manners.lint.source import Source
from manners.robots.agents import WILDCARD
from manners.robots.directives import RULES
from manners.robots.groups import Group, Rule
from manners.robots.lines import Line, known_keys, read_line
from manners.robots.policy import MAX_BYTES, Policy, Robots

_STEPS = 200_000
"""Of automata, for what is said about a rule: about a tenth of a second."""
_MAX_RULES = 5_000
"""Of an agent with more rules, nothing is said about what each decides."""
_MAX_AGENTS = 8
"""The agents of a group for whom a rule is explained."""

DIRECTIVES = {
    "user-agent": "begins a group, or adds an agent to it",
    "allow": "opens paths that another rule disallows",
    "disallow": "closes paths",
    "sitemap": "names a sitemap; it belongs to the file, not to a group",
    "crawl-delay": "asks for so many seconds between requests; Google ignores it",
    "request-rate": "asks for a pace; hardly any crawler reads it",
    "visit-time": "asks for visits in some hours; hardly any crawler reads it",
    "host": "named the main mirror for Yandex; it belongs to the file, not to a group",
    "clean-param": "names parameters that do not change a page, for Yandex; belongs to the file",
    "content-signal": "says what the content may be used for (contentsignals.org)",
    "content-usage": "says what the content may be used for (IETF working group aipref)",
    "disallowaitraining": "refuses training with these paths (a draft that has expired)",
    "allowaitraining": "allows training with these paths (a draft that has expired)",
    "license": "names a licence (RSL) for its group; above all groups, for everybody else",
    "noindex": "is read by nobody since 2019; before, Google did",
}
"""What a directive does."""


def describe(source: Source, number: int) -> str | None:
    """What a line is, and who reads it how; None for blank lines, comments, and no line at all.

    >>> print(describe(Source(b"User-agent: *\\nDisallow: /a\\n"), 2))
    `Disallow: /a`
    <BLANKLINE>
    - **rfc9309, google**: for `*`: disallowed; the shortest URL it decides is `/a`
    """
    if not 1 <= number <= len(source.lines):
        return None
    line = source.lines[number - 1]
    if line.kind in ("blank", "comment"):
        return None
    readings: dict[str, list[str]] = {}
    for name, robots in source.robots.items():
        read = read_line(number, line.raw, robots.dialect, known_keys(robots.dialect), None)
        is_beyond = robots.truncated and line.start >= len(robots.body)
        text = f"not among the {MAX_BYTES:,} bytes that are read" if is_beyond else ""
        readings.setdefault(text or _reading(robots, read), []).append(name)
    points = [f"- **{', '.join(names)}**: {text}" for text, names in readings.items()]
    return "\n".join([_code(to_text(line.raw[line.key_at : line.value_end])), "", *points])


def _reading(robots: Robots, line: Line) -> str:
    """How an engine reads a line."""
    if line.kind in RULES:
        return _reading_of_rule(robots, line)
    if line.kind == "user-agent":
        return _reading_of_agent(robots, line)
    if line.kind == "unknown":
        return "an unknown key: the line is skipped"
    return DIRECTIVES.get(line.kind, "not a directive: the line is skipped")


def _reading_of_agent(robots: Robots, line: Line) -> str:
    key = robots.dialect.agent_key(line.value)
    if not key:
        return "names no crawler"
    policy = robots.policy(key)
    groups = len(policy.choice.groups)
    name = "every crawler that no other group names" if key == WILDCARD else _code(key)
    rules = sum(1 for rule in policy.rules if rule.pattern)
    several = f" of {groups} groups, which count as one" if groups > 1 else ""
    return f"for {name}: {count(rules, 'rule')}{several}"


def _reading_of_rule(robots: Robots, line: Line) -> str:
    if line.value == "":
        return "without a path: it matches nothing"
    for group in robots.groups:
        for rule in group.rules:
            if rule.line == line.number:
                return "; ".join(_effects(robots, group, rule)) or "for nobody"
    return "not a path: the line is skipped" if line.pattern is None else "in no group: for nobody"


def _effects(robots: Robots, group: Group, rule: Rule) -> list[str]:
    """What a rule does for the agents of its group; those for whom it does the same, together."""
    known: dict[tuple[int, ...], str] = {}
    agents: dict[str, list[str]] = {}
    for agent in dict.fromkeys(group.agents[:_MAX_AGENTS]):
        key = robots.dialect.agent_key(agent)
        if not key:
            continue
        policy = robots.policy(key)
        lines = tuple(other.line for other in policy.rules)
        if lines not in known:
            known[lines] = _effect(policy, rule)
        name = _code(agent) if key == agent.lower() else f"{_code(agent)} (read as {_code(key)})"
        agents.setdefault(known[lines], []).append(name)
    more = len(group.agents) - _MAX_AGENTS
    if more > 0 and agents:
        next(iter(agents.values())).append(f"and {more} more")
    return [f"for {', '.join(names)}: {effect}" for effect, names in agents.items()]


def _effect(policy: Policy, rule: Rule) -> str:
    if rule not in policy.rules:
        return "not used"
    status = _status(policy, rule)
    verdict = "allowed" if rule.allow else "disallowed"
    if not status.is_decided:
        return f"{verdict}; too hard to say what it decides"
    lines = [f"line {line}" for line in sorted({other.line for other in status.because}) if line]
    because = ", ".join(lines[:3])
    if status.decides is None:
        return f"never decides, {f'because of {because}' if because else 'no URL matches it'}"
    text = f"{verdict}; the shortest URL it decides is {_code(status.decides)}"
    if status.matters is None:
        text += ", and without it nothing would change"
        text += f" ({because})" if because else ""
    return text


def _status(policy: Policy, rule: Rule) -> RuleStatus:
    """Whether one rule of a policy ever decides, and matters."""
    dialect = policy.robots.dialect
    space = space_of(dialect)
    if space is None or len(policy.rules) > _MAX_RULES:
        return RuleStatus(rule, is_decided=False)
    automata = Automata()
    own = next(other for other in policy.rules if other == rule)
    tools = SearchTools(automata, space, StepBudget(_STEPS))
    return status_of(tools, RuleList.of(policy.rules, dialect, automata), own, exact=True)


def _code(value: str) -> str:
    """Text of the file as Markdown shows it unchanged, and not too long."""
    text = printable(cut(value, 200))
    return f"`` {text} ``" if "`" in text else f"`{text}`"
